"""The command metrics: how nodes are and what Slurm does, as numbers for a monitor."""
