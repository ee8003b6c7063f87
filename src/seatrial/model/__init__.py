"""Frozen records and domain values; imports nothing of ours."""
