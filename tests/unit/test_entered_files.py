"""A reader of `check` or `compare` need not enter more files than bench/README.md says."""

import re
from pathlib import Path

from bench.entered_files import entered_by_command

from tests.support.paths import ROOT

STATED = re.compile(r"`entered_files\.py`:[^:]*: (\d+) and (\d+)\.")


def test_commands_enter_at_most_the_stated_number_of_files(tmp_path: Path) -> None:
    match = STATED.search((ROOT / "bench" / "README.md").read_text())
    assert match
    most = dict(zip(("check", "compare"), map(int, match.groups()), strict=True))
    files = entered_by_command(tmp_path)
    assert {command: len(files[command]) for command in most if len(files[command]) > most[command]} == {}
    assert "commands/check/run.py" in files["check"] and "commands/compare/run.py" in files["compare"]
