"""Every option of every command is given values that no user means: a sentence and 64 or 2, never a traceback or 70."""

import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest

from seatrial.archive import run_sets
from seatrial.archive.export import samples_or_problems
from seatrial.cli import operation
from seatrial.cli.site import SHARED
from seatrial.frame.command_line import run
from seatrial.judgement.rank_deaths import judge_deaths
from seatrial.model.node_list import expand, node_list
from seatrial.model.run import NodeState
from tests.support.builders import Cluster, names, record, sail
from tests.support.command_line import Seatrial, commands

HOSTILE = (
    "", " ", "-1", "0", "nan", "inf", "-inf", "1e999", "1e-320", "5e-324", "99999999999999999999", "9" * 5000, "1_0",
    "٣", "²", "１", "٣s", "٣%", "９0s", "99999999999999999999h", "8784h", "0.0000000000000000000000000001s", "x" * 300,
    "x" * 5000, "n" + "1" * 300, ",".join("n" * 200 for _ in range(30)), "a/b", "../x", ".", "..", "/", "/dev/null/x",
    "@x:y", "@*", "n[1-", "n[1-99999999999]", "n[1-10]/0", "n[1-10/0]", "n[]", "n[3-1]", "n[1-2][3-4]x", "n٣",
    "n[١-٣]", "n1!n1", "*", "~", "$(id)", "'", "%s%n", "\x00", "a\x00b", "\x1b[31mred", "a\nb", "\x9b31m",
    "\udcff\udcfe", "\u202egnp.exe", "\ufeff", "live", "auto", "last", "none", ":", ",", "a:b:c", "eth0,,eth1",
    "fat-tree:٣", "fat-tree:99999999999999999999", "link:nan", "link:-1", "²:0.5", "module:", "module:\x1b",
)  # fmt: skip
FEW = ("", "9" * 5000, "٣", "nan", "@x:y", "\udcff", "a\x00b")
"""For options that another option represents, with some of the others; see `values_of`."""
SHARE = 20


LEAVES = dict(commands())
CHANGING = {("lab", "up"), ("lab", "down"), ("lab", "run"), ("lab", "trial"), ("lab", "status")}
"""They would change this machine, or ask for root before they look at their options."""
WITH = {
    ("judge",): ["table"],
    ("placement",): ["--", "srun", "-n2", "app"],
    ("lab", "simulate"): ["--topology", "fat-tree:4"],
}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile") / "archive"
    record(Cluster(nodes=names(2)), folder, "good")
    return folder


SAMPLES_FILES = cache(samples_or_problems)
"""The archive is the same for all values: starting DuckDB takes longer than all else."""


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, archive: Path, monkeypatch: pytest.MonkeyPatch, tables_read_once: None) -> None:
    for name in [name for name in os.environ if name.startswith(("SLURM_", "SEATRIAL_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("SEATRIAL_ARCHIVE", str(archive))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run_sets, "samples_or_problems", lambda folders: SAMPLES_FILES(tuple(folders)))
    Path("table").write_text("n1 n2\n")


def words_of(path: tuple[str, ...], parameter: Any, value: str) -> list[str]:
    """A command line that gives one parameter that value, and the rest what it needs."""
    if parameter.param_type_name == "argument":
        given = [value, *["x"] * (max(parameter.nargs, 1) - 1)]
        rest = ["n2"] if path == ("lab", "fault", "add") and parameter.name == "kind" else []
        return [*path, "--", *given, *rest]
    long = next(name for name in parameter.opts if name.startswith("--"))
    given = [value, "x"] if parameter.nargs == 2 else [value]
    needed = WITH.get(path, [])
    return [*path, long, *given, *(needed if long not in needed else [])]  # the last of an option given twice counts


CASES = [
    (path, parameter)
    for path, command in LEAVES.items()
    for parameter in command.params
    if path not in CHANGING and not getattr(parameter, "is_flag", False)
]


FIRST_OF_ITS_TYPE = {
    (type(parameter.type), getattr(parameter.type, "parse", None)): place
    for place, (_, parameter) in reversed([*enumerate(CASES)])
}
"""Class of a type, and the function that makes its value -> place of the first option that has both."""


def values_of(place: int) -> tuple[str, ...]:
    """All values for the first option of a type, and for `check`'s of those that many commands share; a few for its
    other ones; and a share of the values for the rest, another one for each."""
    path, parameter = CASES[place]
    shared = parameter.name in {*SHARED, "html"}
    if place in FIRST_OF_ITS_TYPE.values() or (shared and path == ("check",)):
        return HOSTILE
    return FEW if shared else (*FEW, *HOSTILE[place % SHARE :: SHARE])


@pytest.mark.parametrize(
    "place", range(len(CASES)), ids=lambda place: "-".join((*CASES[place][0], CASES[place][1].name or ""))
)
def test_no_value_of_any_option_ends_in_an_internal_error(place: int, seatrial: Seatrial) -> None:
    survives(place, values_of(place), seatrial)


@pytest.mark.series
@pytest.mark.parametrize("place", range(len(CASES)))
def test_no_value_at_all_ends_in_an_internal_error(place: int, seatrial: Seatrial) -> None:
    survives(place, HOSTILE, seatrial)


def survives(place: int, values: tuple[str, ...], seatrial: Seatrial) -> None:
    """Give an option each of the values."""
    path, parameter = CASES[place]
    for value in values:
        words = words_of(path, parameter, value)
        code, out, err = seatrial(*words, code=None)
        shown = " ".join(word[:40] for word in words)
        assert code in (0, 1, 2, 64), f"{shown!r}: {code}\n{err}"
        assert "Traceback" not in err, f"{shown!r}\n{err}"
        assert "\x1b" not in out + err, f"{shown!r}"
        assert len(err) < 2500, f"{shown!r}: {len(err)} characters"


NUMBERS = [
    (path, one)
    for path, command in LEAVES.items()
    for one in command.params
    if isinstance(one.type, click.types.IntParamType | click.types.FloatParamType)
]


@pytest.mark.parametrize(("path", "parameter"), NUMBERS, ids=lambda part: getattr(part, "name", None) or "-".join(part))
def test_numbers_are_digits_from_0_to_9_and_finite(path: tuple[str, ...], parameter: Any, seatrial: Seatrial) -> None:
    for value in ("٣", "²", "１", "1_0", "nan", "inf", "1e999", "9" * 20, "9" * 400):
        if value == "9" * 20 and isinstance(parameter.type, click.types.FloatParamType):
            continue  # a number like others
        code, out, err = seatrial(
            *words_of(path, parameter, value), *(["n1", "n2"] if path == ("lab", "fault", "add") else []), code=None
        )
        assert (code, out) == (64, "")
        assert parameter.opts[0] in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check", "--round-timeout", "99999999999h"], "--round-timeout '99999999999h' is longer than a year."),
        (["check", "--budget", "nan"], "--budget 'nan' is not a valid duration. Write 90s, 2m or 1h."),
        (["check", "--budget", "٣s"], "is not a valid duration."),
        (["check", "--wait", "8785h"], "is longer than a year."),
        (["check", "--nodes", "@x:y"], "--nodes '@x:y' is not a valid list of nodes: '@' is not allowed in it."),
        (
            ["check", "--nodes", "n" * 300],
            "is not a valid list of nodes: a node name has 300 characters; at most 253 are allowed.",
        ),
        (["check", "--nodes", "n[1-10/0]"], "--nodes 'n[1-10/0]' is not a valid list of nodes"),
        (["check", "--run", "x" * 300], "is too long. Use at most 100 characters."),
        (["check", "--run", "."], "--run '.' is not a valid name for a run."),
        (["check", "--pair-program", ""], "--pair-program is empty."),
        (["nodes", "--program", ""], "--program is empty."),
        (["check", "--run", "baselines"], "--run 'baselines' is not a valid name for a run."),
        (["check", "--run=-1"], "--run '-1' is not a valid name for a run."),
        (["check", "--archive", "x" * 300], "It is too long: a name may have 255 bytes, and a whole path 4095."),
        (["check", "--archive", ""], "--archive '': It is empty."),
        (["check", "--html", "."], "--html '.' is a folder. Name a file in it."),
        (["check", "--node-hours", "0"], "--node-hours 0 allows no run at all. Give more than 0, or leave it out."),
        (["check", "--node-hours", "-1"], "--node-hours -1 allows no run at all."),
        (["check", "--node-hours", "nan"], "--node-hours 'nan': It is not a number."),
        (["check", "--node-hours", "1e999"], "--node-hours '1e999': It is too large."),
        (["check", "--seed", "9" * 20], "It is beyond 9223372036854775807. Give a smaller number."),
        (["check", "--mpi", "a\0b"], "It has control characters. Leave them out."),
        (["check", "--mpi", "\udcff"], "It has bytes that are not UTF-8. Write it in UTF-8."),
        (["report", "x" * 300], "There is no run 'xxx"),
        (["link", "--max-size", "٣MiB"], "is not a size."),
    ],
)
def test_wrong_values_are_refused_with_a_sentence(words: list[str], said: str, seatrial: Seatrial) -> None:
    assert said in seatrial(*words, code=64).err


def test_no_group_of_nodes_is_resolved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """ClusterShell runs the commands of $CLUSTERSHELL_CFGDIR/groups.conf for names such as @all."""
    touched = tmp_path / "touched"
    (tmp_path / "groups.conf").write_text(
        f"[Main]\ndefault: evil\n[evil]\nmap: /bin/touch {touched}; echo n1\nall: /bin/touch {touched}; echo n1\n"
    )
    monkeypatch.setenv("CLUSTERSHELL_CFGDIR", str(tmp_path))
    for text in ("@x", "@*", "@x:y", "n1,@x", "*", "n[1-2]&@x"):
        assert run(["check", f"--nodes={text}"]) == 64
    assert expand("n[1-2]") == ("n1", "n2")
    assert node_list(["n1", "@x"]) == "@x,n1"
    assert not touched.exists()
    assert "Traceback" not in capsys.readouterr().err


def test_a_command_that_is_told_has_no_word_that_a_shell_would_act_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """People paste it, and whoever wrote the run chose the names."""
    record(Cluster(nodes=names(3)), tmp_path, "$(id)")
    (tmp_path / "$(id)" / "headline.json").unlink(missing_ok=True)
    monkeypatch.setattr(operation, "ALL_S", 0.0)
    assert run(["runs", "list", "--json", "--archive", str(tmp_path)]) == 0
    assert "`seatrial report '$(id)'` judges it" in capsys.readouterr().out
    lost = NodeState(node="n1;id", reason="down", fault=True)
    (finding,) = judge_deaths(sail(Cluster(nodes=names(2)), lost=(lost,))).findings
    assert "(scontrol show node 'n1;id')" in finding.remedy
