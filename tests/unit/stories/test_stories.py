"""Stories: what of a step is not as pinned, and the table; the stories themselves need a lab."""

import re
import shlex

import pytest

from tests.stories.reports import STORIES
from tests.stories.story import Place, typed
from tests.stories.table import Told, text

STEP = typed("seatrial check", r"SLOW  n3: link at \d+ % of its limit", r"^to do ", code=1)


@pytest.mark.parametrize(
    ("code", "output", "complaint"),
    [
        (1, "SLOW  n3: link at 60 % of its limit\nto do  swap it\n", ""),
        (0, "PASS  4 nodes\n", "exit code 0 instead of 1, and 'PASS  4 nodes'"),
        (1, "SLOW  n4: link at 60 % of its limit\nto do  swap it\n",
         f"'SLOW  n4: link at 60 % of its limit' instead of {STEP.first!r}"),
        (1, "SLOW  n3: link at 60 % of its limit\n", "nothing like '^to do '"),
    ],
)  # fmt: skip
def test_what_is_not_as_pinned(code: int, output: str, complaint: str) -> None:
    assert STEP.complaint(code, output) == complaint


def test_the_table_says_what_went_wrong_and_what_replaces_what() -> None:
    good = Told(story="mesh", steps=7, seconds=7.4, repeated=0, stands_in="A recorded output.")
    bad = Told(story="upgrade", steps=3, seconds=301, repeated=2, complaints=("x: nothing like 'y'",))
    assert text([good, bad]).splitlines() == [
        "story    steps  seconds  repeated  verdict",
        "mesh     7      7        0         as pinned",
        "    A recorded output.",
        "upgrade  3      301      2         WRONG",
        "    x: nothing like 'y'",
    ]


def test_all_six_are_there_and_every_line_of_the_product_is_pinned() -> None:
    assert len({story.name for story in STORIES}) == len(STORIES) == 6
    for step in (step for story in STORIES for step in story.steps):
        assert all(re.compile(pattern) for pattern in (step.first, *step.shows))
        words = shlex.split(step.line)
        assert step.first or words[0] != "seatrial" or "material.txt;" in words or step.place is Place.MACHINE, (
            step.line
        )
