"""Measurements in, verdicts and findings out; pure."""
