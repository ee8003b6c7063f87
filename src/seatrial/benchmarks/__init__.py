"""Benchmarks that sites run: one declaration each."""
