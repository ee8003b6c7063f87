"""Where tests find their inputs: the checkout, its recorded data, and the larger data set beside the checkout."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
"""Inputs that every clone has."""
SHARED = ROOT.parent / "shared" / "data"
"""Inputs from many real clusters, beside the checkout; tests that need them are skipped where they are missing."""
