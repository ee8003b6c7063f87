"""How many inputs hypothesis draws: those that decide in each run, ten times as many in `make properties`."""

import os

DRAWN = "drawn"
PROFILE = os.environ.get("SEATRIAL_PROPERTIES", "fixed")


def examples(usual: int) -> int:
    """The number for `settings(max_examples=...)`, which overrules that of the profile."""
    return usual * 10 if PROFILE == DRAWN else usual
