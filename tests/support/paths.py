"""Where tests find their inputs: the checkout and its recorded data."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
"""Inputs that every clone has."""
