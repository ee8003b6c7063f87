"""Faults of known truth, one file each; the list of them is in `catalogue`."""
