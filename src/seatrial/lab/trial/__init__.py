"""Scenarios: a lab with planted faults, a check, and its score."""
