"""Folders in which tests find their inputs: the checkout and its recorded data."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
"""Inputs that every clone has."""


def data(name: str) -> str:
    """The text of one of these inputs."""
    return (DATA / name).read_text(encoding="utf-8")
