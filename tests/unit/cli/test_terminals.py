"""What users see in any locale, with any width, without a terminal, and the first time."""

import os
from io import StringIO
from pathlib import Path

import pytest

from seatrial.cli import progress
from seatrial.driver.clock import clock
from seatrial.frame.command_line import run
from tests.support.builders import Cluster, names, record, slow_part
from tests.support.command_line import Seatrial
from tests.support.command_server import server

LOCALES = {
    "latin-1": {"PYTHONIOENCODING": "latin-1"},
    "C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "ISO-8859-1": {"LC_ALL": "en_US.ISO-8859-1", "PYTHONUTF8": "0"},
    "ascii": {"PYTHONIOENCODING": "ascii:strict"},
}
COMMANDS = {
    "report run": (1,),
    "check --replay run": (1,),
    "runs list": (0,),
    "runs show run": (0,),
    "facts --from facts --drift": (0, 1),
    "facts --from facts": (0,),
    "limits --from facts": (0,),
    "fabric check fabric.txt": (1,),
    "judge table.csv": (1,),
}
"""What prints findings or numbers, and how it may end."""
FABRIC = """Switch\t2 "S-1"\t# "leaf1" base port 0 lid 3 lmc 0
[1]\t"H-1"[1](1)\t# "n1 mlx5_0" lid 7 1xEDR
[2]\t"H-2"[1](2)\t# "n2 mlx5_0" lid 8 4xEDR

Ca\t1 "H-1"\t# "n1 mlx5_0"
[1](1)\t"S-1"[1]\t# lid 7 lmc 0 "leaf1" lid 3 1xEDR

Ca\t1 "H-2"\t# "n2 mlx5_0"
[1](2)\t"S-1"[2]\t# lid 8 lmc 0 "leaf1" lid 3 4xEDR
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("terminals")
    sick = Cluster(nodes=names(4), parts=slow_part("node", "n2", 0.6))
    record(sick, made / "archive")
    (made / "facts").mkdir()
    for node in sick.nodes:
        (made / "facts" / f"{node}.facts").write_text(sick.facts_text(node))
    text = sick.facts_text("n3").replace("performance", "powersave")
    (made / "facts" / "n3.facts").write_text(text)
    (made / "fabric.txt").write_text(FABRIC)
    pairs = [(a, b, 0.6 if "n2" in (a, b) else 1.0) for a in names(6) for b in names(6) if a != b]
    rows = "".join(f"{a},{b},{share * 100:.1f}\n" for a, b, share in pairs)
    (made / "table.csv").write_text(f"source,target,bandwidth_MB_per_s\n{rows}")
    return made


@pytest.mark.parametrize("locale", LOCALES)
def test_findings_are_printed_in_any_locale(locale: str, folder: Path) -> None:
    """Measured before: on a Latin-1 terminal a report with findings was lost, with exit code 70."""
    environment = {**os.environ, "SEATRIAL_ARCHIVE": str(folder / "archive"), **LOCALES[locale]}
    whole = locale == "latin-1"  # the others differ from it in what Python reads, and in fewer letters
    for words, codes in [*COMMANDS.items()][: None if whole else 3]:
        done = server(**LOCALES[locale]).run(words.split(), folder, environment)
        assert done.returncode in codes, (words, done.stderr)
        assert done.stdout.strip(), words
        assert "Traceback" not in done.stderr, words
        assert "?" not in done.stdout, f"{words}: every character of ours has another in ASCII"


@pytest.mark.parametrize("columns", [80, 100, 132, 200])
@pytest.mark.parametrize("words", [["report", "run"], ["facts", "--from", "facts"]], ids=" ".join)
def test_lines_are_as_wide_as_the_terminal_at_most(
    words: list[str], columns: int, folder: Path, monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("SEATRIAL_ARCHIVE", str(folder / "archive"))
    monkeypatch.chdir(folder)
    ran = seatrial(*words, code=None)
    typed = ("`", "scontrol update ", str(folder))  # to be pasted whole
    lines = [line for line in ran.out.splitlines() if not any(word in line for word in typed)]
    assert lines
    assert [line for line in lines if len(line) > columns] == []


def test_a_log_has_a_line_now_and_then() -> None:
    stream = StringIO()
    now_s = 0.0
    token = clock.set(lambda: now_s)
    try:
        with progress.progress_on(stream) as shown:
            shown.stage("Measuring")
            shown.rounds(100)
            for _ in range(100):
                now_s += 1.0
                shown.advance()
    finally:
        clock.reset(token)
    lines = stream.getvalue().splitlines()
    assert lines[:2] == ["seatrial: Measuring", "seatrial: Measuring: 20 of 100 rounds"]
    assert len(lines) == 6


def test_the_default_archive_is_named_when_it_is_made(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial
) -> None:
    monkeypatch.delenv("SEATRIAL_ARCHIVE", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    words = ["check", "--replay", str(folder / "archive" / "run"), "--run"]
    runs = tmp_path / "seatrial" / "runs"
    said = f"seatrial: Runs are kept in {runs}; --archive DIR or SEATRIAL_ARCHIVE names another folder.\n"
    assert seatrial(*words, "first", code=1).err.startswith(said)
    assert (runs / "first" / "run.json").is_file()
    assert said not in seatrial(*words, "second", code=1).err
    assert said not in seatrial(*words, "third", "--archive", tmp_path / "other", code=1).err


@pytest.mark.parametrize(
    ("words", "code", "state"),
    [
        (["report", "run"], 1, "WARNING: SLOW n2: link at 60 % of its limit"),
        (["report", "nothing"], 3, "UNKNOWN: There is no run 'nothing'"),
        (["check", "--replay", "run"], 1, "WARNING: SLOW n2"),
        (["check", "--no-such-option"], 3, "UNKNOWN: No such option"),
        (["check", "--dry-run"], 3, "UNKNOWN: --nagios reports a check"),
        (["check", "--json"], 3, "UNKNOWN: --json and --nagios"),
        (["fabric", "check", "fabric.txt"], 1, "WARNING: MISCONFIGURED "),
        (["facts", "--from", "facts"], None, ""),
        (["check"], 3, "UNKNOWN: No Slurm answers here"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_one_line_for_monitoring(
    words: list[str],
    code: int | None,
    state: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SEATRIAL_ARCHIVE", str(folder / "archive"))
    monkeypatch.setenv("PATH", "")
    monkeypatch.chdir(folder)
    found = run([*words, "--nagios"])
    (line,) = capsys.readouterr().out.splitlines()
    assert code is None or found == code
    assert line.startswith(f"SEATRIAL {state}")
    assert (" | " in line) == (found < 3)


@pytest.mark.parametrize("command", [["facts", "--from", "facts"], ["fabric", "check", "fabric.txt"]])
def test_junit_of_facts_and_of_a_fabric(
    command: list[str], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    code = run([*command, "--junit", str(tmp_path / "r.xml")])
    text = (tmp_path / "r.xml").read_text()
    assert ("<failure " in text) == (code == 1)
    assert 'classname="seatrial.run" name="complete"' in text
