"""How ranks are started: one contract; local MPI, Slurm, a launch line, a replay."""
