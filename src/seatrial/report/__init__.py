"""Renderers: a run and its judgement in, text, JSON or one HTML page out. No I/O and no clock."""
