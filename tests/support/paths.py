"""Where tests find their inputs: the checkout, its recorded data, and the larger data set beside the checkout."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
"""Inputs that every clone has."""
SHARED = Path(os.environ.get("SEATRIAL_SHARED_DATA") or ROOT.parent / "shared" / "data")
"""Recordings of many real clusters, beside the checkout. They repeat on real inputs what generated inputs test in
every clone. `SEATRIAL_SHARED_DATA=/nowhere` hides them."""


def needs_shared(path: Path) -> pytest.MarkDecorator:
    """Skip a test where the larger data set lacks this file or folder."""
    return pytest.mark.skipif(not path.exists(), reason=f"the larger data set is missing: {path.relative_to(SHARED)}")
