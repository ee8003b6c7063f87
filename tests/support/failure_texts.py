"""Texts of failures on other machines than ours: tests/data/wild/*.txt; and of whole jobs: tests/data/outputs/*.txt.

A block is `# program and version that printed it`, `= what the sentence has to say`, `> what the advice has to say`,
and the telling lines as they were printed; `%%` stands between blocks. Names of people, machines and paths are changed.
"""

from pathlib import Path

from seatrial.failures.job_output import JobFailure, explain_output
from tests.support.paths import DATA

WILD, OUTPUTS = DATA / "wild", DATA / "outputs"


def texts(name: str, folder: Path = WILD) -> list[tuple[str, str, str]]:
    """Text, meaning and remedy of each block."""
    found = []
    for block in (folder / f"{name}.txt").read_text(encoding="utf-8").split("%%\n"):
        source, meaning, remedy, text = block.split("\n", 3)
        assert (source[:2], meaning[:2], remedy[:1]) == ("# ", "= ", ">"), block
        found.append((text, meaning[2:], remedy[2:]))
    return found


def explained(output: str) -> JobFailure:
    """The failure that an output of a job shows; there must be one."""
    failure = explain_output(output)
    assert failure is not None
    return failure
