"""Recorded machines: formats, reading, writing, safe unpacking, scrubbing."""
