"""Differences between nodes that should be alike, and between two times."""
