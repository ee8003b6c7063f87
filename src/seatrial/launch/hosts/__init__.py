"""Hosts without Slurm: which there are, how ssh reaches them, and mpirun over ssh."""
