"""The virtual cluster: real Slurm, real MPI and real TCP between network namespaces, with faults of known truth."""
