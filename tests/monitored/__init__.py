"""A lab with accounts, Prometheus and Graphite, and whether both stores have what Slurm said."""
