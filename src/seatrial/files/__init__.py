"""Writes files in folders that other users may share, and decides which programs may be executed."""
