"""The only users of subprocess: local MPI, Slurm, replay, behind one contract."""
