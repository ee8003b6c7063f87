"""Why whole jobs failed, by all that they printed: what ended them, and what the programs said before."""

import pytest

from seatrial.failures.job_output import explain_output
from tests.support.failure_texts import OUTPUTS, texts

ALL = [text for path in sorted(OUTPUTS.glob("*.txt")) for text in texts(path.stem, OUTPUTS)]


@pytest.mark.parametrize(("text", "meaning", "remedy"), ALL, ids=range(len(ALL)))
def test_the_cause_of_a_whole_job_is_named(text: str, meaning: str, remedy: str) -> None:
    failure = explain_output(text)
    assert failure is not None
    assert meaning in failure.meaning
    assert remedy in failure.remedy
    assert failure.meaning.endswith(".")
    assert not {"\\", "{", "\n"} & set(failure.meaning)
