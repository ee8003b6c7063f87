"""docs/check.md explains the decision procedure: who knows no more than the page predicts what the program says."""

import re

import pytest

from tests.support.drawn_examples import EXAMPLES, drawn
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "check.md").read_text()
PROCEDURE, _, TABLE = PAGE.partition("\n## Ten examples\n")
MOST_WORDS = 900
EFFECT, UNSTABLE, GOOD, GOOD_MEDIAN, HIDING = 3.0, 10.0, 0.85 * 3.0, 1.5, 10.0
"""Losses in percent, as the page gives them: the last is the smallest that noise may not hide."""


def predicted(row: str) -> str:
    """The verdict by the rules of the page, from one row of its table."""
    _, _, scatter, part, survey, *again, stalls = (cell.strip(" %") for cell in row.strip("|").split("|"))
    if (repeated := re.findall(r"(\d+) of", stalls)[1:]) and int(repeated[0]):
        return f"`UNSTABLE` {part}"
    least, middle, most = (100 - float(value) if value != "–" else 0.0 for value in reversed(again))
    if least > EFFECT:
        return f"`SLOW` {part}"
    if most >= UNSTABLE and least < GOOD_MEDIAN:
        return f"`UNSTABLE` {part}"
    hidden = 4.5 * float(scatter) > HIDING
    suspected = 100 - float(survey) >= max(2 / 3 * EFFECT, 4.5 * float(scatter))
    good = not suspected or most < GOOD or middle < GOOD_MEDIAN
    return "`PASS`" if good and not hidden else "`INCONCLUSIVE`"


def without_way(answer: str) -> str:
    """The answer without the direction of a node, which follows from its pairs in the survey."""
    return re.sub(r" (out|in|both)$", "", answer)


def test_the_procedure_has_900_words() -> None:
    assert len(PROCEDURE.split()) <= MOST_WORDS


@pytest.mark.parametrize("number", EXAMPLES)
def test_the_examples_are_what_was_measured_and_said(number: int) -> None:
    example = drawn(number)
    assert f"\n{example.row}\n" in TABLE
    answers = " ".join(TABLE[TABLE.index("Answers:") :].split())
    assert re.search(rf"\b{number} {re.escape(example.answer)}[;.]", answers)


def test_among_the_examples_are_undecided_ones_and_a_healthy_one() -> None:
    examples = [drawn(number) for number in EXAMPLES]
    assert len(examples) == 10
    assert sum(example.answer == "`INCONCLUSIVE`" for example in examples) >= 2
    assert any(example.healthy and example.answer == "`PASS`" for example in examples)


@pytest.mark.parametrize("number", EXAMPLES)
def test_the_page_predicts_its_answers(number: int) -> None:
    example = drawn(number)
    assert without_way(predicted(example.row)) == without_way(example.answer)


def test_the_page_predicts_nine_of_ten_others() -> None:
    """The program judges each pair of a part as well, so at the very lines a row does not say enough."""
    others = [drawn(number) for number in range(1, 41) if number not in EXAMPLES]
    right = sum(without_way(predicted(other.row)) == without_way(other.answer) for other in others)
    assert right >= 0.9 * len(others)
