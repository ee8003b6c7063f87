"""Known ways to fail, by theme, recognised by what Slurm and MPI really print."""
