"""Slurm's commands, their output, allocations and jobs."""
