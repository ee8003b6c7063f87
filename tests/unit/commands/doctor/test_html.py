"""The doctor's page: what is in the way first, everything from outside escaped, nothing fetched."""

from pathlib import Path

import pytest

from seatrial.commands.doctor import run
from seatrial.commands.doctor.starts import StartTrial, judge_ways, last_words
from seatrial.commands.doctor.view import doctor_report
from seatrial.frame import command_line
from seatrial.model.launching import MOST_LINES, Examination, blocked, fine, last_lines, noted, untried
from seatrial.model.verdict import Finding, FindingKind, Verdict
from seatrial.render.html import as_html

EVIL = "<script>alert(1)</script> & \x1b[31m\"'"


def page(*remarks: Finding) -> str:
    return as_html(doctor_report(Examination(remarks=remarks)))


def test_what_is_in_the_way_comes_first_with_what_was_printed_and_the_fix() -> None:
    made = page(
        fine("slurm", "It answers."),
        noted("start", FindingKind.MPI_TYPE, "pmi2 does not.", said="line 1\n  line 2"),
        untried("start", FindingKind.NO_ROOM, "Nothing is free."),
        blocked("start", FindingKind.NO_START, "It does not start.", "Mend it.", "srun: error: one\nsrun: error: two"),
    )
    assert made.count("Mend it.") == 2
    order = [made.index(text) for text in ("BLOCKED", "Obstacles", "Not tried", "Worth knowing", "All is well")]
    assert order == sorted(order)
    assert "srun: error: one\nsrun: error: two\n</pre>" in made
    assert "<pre>line 1\nline 2\n</pre>" in made
    assert made.count("<details open>") == 1


@pytest.mark.parametrize(
    ("remarks", "word"),
    [((), "PASS"), ((fine("slurm", "x"),), "PASS"), ((untried("start", FindingKind.NO_ROOM, "x"),), "INCOMPLETE")],
)
def test_the_word_is_the_verdict(remarks: tuple[Finding, ...], word: str) -> None:
    assert f'<header class="{word}"><p class="word">{word}</p>' in page(*remarks)


def test_the_command_writes_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = Examination(remarks=(blocked("start", FindingKind.NO_START, "Broken.", "Mend."),))
    monkeypatch.setattr(run, "examine", lambda *_: found)
    assert command_line.run(["doctor", "--html", str(tmp_path / "x.html")]) == 1
    assert "Page: " in capsys.readouterr().out
    assert "Broken." in (tmp_path / "x.html").read_text()
    assert command_line.run(["doctor", "--html", "/proc/x.html"]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_the_last_lines_of_a_failed_start_are_kept(tmp_path: Path) -> None:
    errors = tmp_path / "start.err"
    errors.write_bytes(b"\xff\n" + b"".join(b"%d\n" % number for number in range(20000)))
    said = last_words(errors)
    assert said.splitlines()[-1] == "19999"
    assert len(said.splitlines()) == MOST_LINES
    assert last_words(tmp_path / "none") == ""
    assert last_lines("") == ""
    tried = [StartTrial(how="--mpi=pmi2", why="no PMI", printed="OMPI was not built"), StartTrial(how="--mpi=pmix")]
    one = judge_ways(tried, "--mpi=pmi2")[0]
    assert (one.verdict, one.printed) == (Verdict.BLOCKED, "OMPI was not built")
