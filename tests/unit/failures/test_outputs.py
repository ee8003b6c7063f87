"""Why whole jobs failed, by all that they printed: what ended them, and what the programs said before."""

import re

import pytest

from seatrial.commands.doctor.run import examine_outputs
from seatrial.failures.job_output import explain_output
from seatrial.model.errors import ExitCode
from seatrial.model.verdict import Verdict
from tests.support.failure_texts import OUTPUTS, explained, texts

FAILED = [
    text
    for name in ("starts", "ends", "memory", "kernel", "folders", "modules", "files", "runtimes")
    for text in texts(name, OUTPUTS)
]
OVERCOME, SILENT = texts("overcome", OUTPUTS), texts("silent", OUTPUTS)


@pytest.mark.parametrize(("text", "meaning", "remedy"), FAILED, ids=range(len(FAILED)))
def test_the_cause_of_a_whole_job_is_named(text: str, meaning: str, remedy: str) -> None:
    failure = explained(text)
    assert meaning in failure.meaning
    assert remedy in failure.remedy
    assert failure.meaning.endswith(".")
    assert not failure.overcome
    assert re.search(r"[\\\n]|\{\w*\}", failure.meaning) is None


@pytest.mark.parametrize(("text", "meaning", "remedy"), OVERCOME, ids=range(len(OVERCOME)))
def test_a_complaint_after_which_a_job_went_on_is_a_note(text: str, meaning: str, remedy: str) -> None:
    found = examine_outputs({"job.out": text})
    assert [remark.verdict for remark in found.remarks] == [Verdict.NOTE, Verdict.NOT_RUN]
    assert meaning in found.remarks[0].statement
    assert remedy in found.remarks[0].remedy
    assert found.exit_code is ExitCode.INCOMPLETE


@pytest.mark.parametrize("text", [text for text, _, _ in SILENT], ids=range(len(SILENT)))
def test_what_reports_no_failure_of_this_job_explains_nothing(text: str) -> None:
    assert explain_output(text) is None


@pytest.mark.parametrize(
    "end",
    ["job exited with code 3", "Exit status: 1", "error: 2 of 3 steps failed", "slurm_script: line 9: x: not found"],
)
def test_a_complaint_that_an_end_or_another_follows_was_not_overcome(end: str) -> None:
    assert not explained(f"bash: line 3: bc: command not found\nstep 1\nstep 2\n{end}\n").overcome
