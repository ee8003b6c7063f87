"""Hosts that never stop writing: little of it is kept."""

from pathlib import Path

import pytest

from seatrial.launch.hosts import reach
from seatrial.process.process import Completed, run

BABBLE = """\
#!/bin/sh
head -c 20000000 /dev/zero | tr '\\0' x
head -c 20000000 /dev/zero | tr '\\0' y >&2
"""


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Completed]:
    """All that is kept of what an ssh writes that babbles."""
    (tmp_path / "ssh").write_text(BABBLE)
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    kept: list[Completed] = []

    def recorded(*words: object, **options: object) -> Completed:
        kept.append(run(*words, **options))  # type: ignore[arg-type]
        return kept[-1]

    monkeypatch.setattr(reach, "run", recorded)
    return kept


def test_facts(answers: list[Completed]) -> None:
    read = reach.read_remote_facts(["n1", "n2"])
    assert set(read.silent) == {"n1", "n2"}
    assert all(len(text) <= reach.KEPT_BYTES for done in answers for text in (done.stdout, done.stderr))


def test_questions_and_copies(answers: list[Completed]) -> None:
    assert reach.ask("n1", ["/bin/probe"], lambda _: False).failure
    reach.copy_program("n1", Path("/probe"), b"x", lambda _: False)
    assert all(len(text) <= reach.ANSWER_BYTES for done in answers for text in (done.stdout, done.stderr))
