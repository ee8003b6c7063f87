"""Reports on many nodes that ran one benchmark, and on their parts."""
