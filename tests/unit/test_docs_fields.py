"""Every field, kind and setting has a line of its own in its document: a table row, a list item or a heading."""

import enum
import types
import typing
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from seatrial.archive.lease import Lease
from seatrial.archive.recovery import LeftAlone, NotClosed, Recovered, Recovery
from seatrial.commands.qualify.view import QualifyFields
from seatrial.lab.cluster.planting import FAULTS
from seatrial.lab.trial.scenario import Scenario
from seatrial.model.facts import NodeFacts
from seatrial.model.judgement import Judgement
from seatrial.model.run import Contents, RunInfo
from seatrial.model.verdict import Finding, FindingKind, Verdict
from seatrial.recordings.recording import Gathered
from tests.support.documents import own_lines
from tests.support.paths import ROOT


def records(hint: typing.Any) -> Iterator[type[msgspec.Struct]]:
    """The records in a type, those inside their fields included."""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        yield hint
        for field in msgspec.structs.fields(hint):
            yield from records(field.type)
    for part in typing.get_args(hint):
        if not isinstance(part, types.EllipsisType):
            yield from records(part)


def fields(*kinds: type[msgspec.Struct]) -> list[str]:
    return [name for kind in kinds for name in kind.__struct_fields__]


def values(words: type[enum.Enum]) -> list[str]:
    return [str(word.value) for word in words]


CASES: dict[str, tuple[str, list[str]]] = {
    **{
        f"facts: {kind.__name__}": ("facts*.md", fields(kind))
        for kind in dict.fromkeys(records(NodeFacts))
        if kind.__name__ != "Unknown"
    },
    "findings": ("findings.md", [*(kind.value for kind in FindingKind if kind.page == "findings"), *values(Verdict)]),
    "gates": ("benchmarks.md", [kind.value for kind in FindingKind if kind.page == "benchmarks"]),
    "obstacles": ("doctor.md", [kind.value for kind in FindingKind if kind.page == "doctor"]),
    "run.json": ("archive.md", fields(RunInfo)),
    "report": ("report.md", fields(Judgement, Finding)),
    "scenario": ("lab.md", fields(Scenario)),
    "faults": ("lab.md", [fault.kind for fault in FAULTS]),
    "contents": ("archive.md", fields(Contents)),
    "lease": ("archive.md", fields(Lease)),
    "qualify": ("qualify.md", fields(QualifyFields)),
    "recording": ("recordings.md", fields(Gathered)),
    "recovery": ("commands.md", fields(Recovery, Recovered, LeftAlone, NotClosed)),
}
"""Documents -> the names that must each have a line there."""


def left_out(pages: str, names: list[str], folder: Path = ROOT / "docs") -> list[str]:
    lines = own_lines("\n\n".join(path.read_text() for path in sorted(folder.glob(pages))))
    return [name for name in dict.fromkeys(names) if name not in lines]


@pytest.mark.parametrize("case", CASES)
def test_every_name_has_a_line_of_its_own(case: str) -> None:
    pages, names = CASES[case]
    assert names
    assert left_out(pages, names) == []


class TestTheseTestsCanFail:
    """A line that is taken out of a document is missed; a mention in prose does not replace it."""

    @pytest.mark.parametrize("case", CASES)
    def test_a_name_in_prose_only(self, case: str, tmp_path: Path) -> None:
        pages, names = CASES[case]
        name = names[-1]
        text = "\n\n".join(path.read_text() for path in sorted((ROOT / "docs").glob(pages)))
        lines = [line for line in text.splitlines() if name not in own_lines_of(line)]
        (tmp_path / pages.replace("*", "")).write_text("\n".join([*lines, f"The field `{name}` is in prose."]))
        assert name in left_out(pages, names, tmp_path)

    def test_lines_of_every_form(self) -> None:
        text = "| field | meaning |\n|---|---|\n| `a`, `b` | `c` |\n\n- `d`: `e`\n- **`f`**\n\n### g\n\n`h` is here."
        assert own_lines(text) == {"a", "b", "d", "f", "g"}


def own_lines_of(line: str) -> set[str]:
    """The names of one line, which is a row of a table where it looks like one."""
    return own_lines(f"| head |\n|---|\n{line}\n" if line.startswith("|") else line)
