"""Faults that a virtual cluster can have, so that the truth about it is known."""
