"""Sequences in, values out: every estimate with interval, number of runs and method."""
