"""What shells are answered: commands, options, nodes, partitions and runs; nothing where something fails."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from seatrial.cli import completion
from seatrial.cli.main import ASKED
from seatrial.cli.main import seatrial as program
from seatrial.cli.parameters import Text, node_names
from seatrial.model.errors import ExitCode
from tests.support.command_line import Seatrial
from tests.support.paths import ROOT

ARCHIVES = ROOT / "tests" / "data" / "archives"
SINFO = """#!/bin/sh
case "$*" in
    *%N*) printf 'n%s\\n' 1 2 10 1 '3$(id)' ;;
    *%R*) printf 'main\\nmaintenance\\ngpu\\n' ;;
esac
"""
SEATRIAL = f'#!/bin/sh\nexec {sys.executable} -P -m seatrial "$@"\n'


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with a Slurm of three nodes and two partitions, and with seatrial."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in (("sinfo", SINFO), ("seatrial", SEATRIAL)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder


OFFERED = {
    "plac": "placement",
    "check --part": "--partition",
    "check --partition mai": "main maintenance",
    "check -w n1,n": "n1,n1 n1,n2 n1,n10",
    "facts n1": "n1 n10",
    "runs sho": "show",
    "runs show sat": "saturate",
    "report la": "last",
    "link n1 n": "n1 n2 n10",
    "check --run sat": "",
}
"""What is typed, and what may be in the place of its last word."""
IN_BASH = """source <(seatrial completion bash)
for line; do
    COMPREPLY=() COMP_WORDS=(seatrial $line) COMP_CWORD=$(set -- $line; echo $#)
    _seatrial_completion seatrial
    echo "${COMPREPLY[@]}"
done"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_offers(programs: Path) -> None:
    argv = ["bash", "--norc", "-c", IN_BASH, "bash", *OFFERED]
    environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}", "SEATRIAL_ARCHIVE": str(ARCHIVES)}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    assert dict(zip(OFFERED, done.stdout.splitlines(), strict=True)) == OFFERED


def answered(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str, shell: str) -> str:
    """What is printed for a shell that asks about the last word of the line."""
    monkeypatch.setenv(ASKED, f"{shell}_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", line.rpartition(" ")[2] if shell == "fish" else str(line.count(" ")))
    monkeypatch.setenv("SEATRIAL_ARCHIVE", str(ARCHIVES))
    completion.answer()
    return capsys.readouterr().out


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_are_answered_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], shell: str
) -> None:
    assert "placement" in answered(monkeypatch, capsys, "seatrial plac", shell)
    assert "transports" in answered(monkeypatch, capsys, "seatrial runs show tr", shell)


def test_a_name_that_a_shell_would_expand_is_not_offered(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    assert node_names({}) == ["n1", "n2", "n3$(id)", "n10"]
    context, argument = click.Context(program), click.Argument(["nodes"])
    offered = Text(names=node_names).shell_complete(context, argument, "n")
    assert [word.value for word in offered] == ["n1", "n2", "n10"]


def test_what_fails_is_answered_by_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert answered(monkeypatch, capsys, "seatrial facts n", "zsh").strip() == ""
    monkeypatch.setenv("SEATRIAL_SITE", str(tmp_path))  # a folder in place of a file
    answered(monkeypatch, capsys, "seatrial check --parti", "zsh")
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish")
def test_fish_offers_a_list_as_one_word(programs: Path) -> None:
    script = "seatrial completion fish | source; complete --do-complete 'seatrial check -w n1,n'"
    environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["/usr/bin/env", "fish", "-c", script], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.split() == ["n1,n1", "n1,n2", "n1,n10"]


@pytest.mark.parametrize(
    ("short", "long"),
    [("-p", "--partition"), ("-w", "--nodes"), ("-x", "--exclude"), ("-A", "--account"), ("-n", "--ranks")],
)
def test_short_forms_are_slurms(short: str, long: str, seatrial: Seatrial) -> None:
    assert f"{short}, {long}" in seatrial("check", "--help").out


def test_a_short_form_does_what_the_long_one_does(seatrial: Seatrial) -> None:
    assert "--exclude 'n[1-' is not a valid list of nodes" in seatrial("check", "-x", "n[1-", code=ExitCode.USAGE).err
    assert "--ranks 'x'" in seatrial("check", "-n", "x", code=ExitCode.USAGE).err
