"""Processes killed while a setting is changed: it is restored, nothing is left, and no foreign job saw the change."""
