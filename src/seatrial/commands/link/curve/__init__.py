"""Latency and bandwidth of a pair over message sizes."""
