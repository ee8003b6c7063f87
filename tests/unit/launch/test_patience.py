"""How long a node that hangs is waited for: its peers show what it takes, and one that hangs keeps srun from all."""

import time
from pathlib import Path

import pytest

from seatrial.launch import collector
from seatrial.launch.collector import FIRST_WORD_S, LONGEST_S, SHORTEST_S, TIMES, Patience
from seatrial.launch.slurm import SlurmLauncher
from seatrial.model.settings import SiteSettings
from seatrial.process.process import run
from tests.support.slurm_scripts import SlurmScripts, in_place_of_slurm


def test_a_step_on_several_nodes_is_given_up_where_none_says_a_word() -> None:
    one = Patience()
    assert not one.over(4, FIRST_WORD_S - 0.1, False)
    assert one.over(4, FIRST_WORD_S + 0.1, False)
    assert not one.over(4, LONGEST_S, True)
    assert not one.over(1000, 2 * FIRST_WORD_S, False)


def test_a_node_alone_has_as_long_as_ever_unless_others_were_there_long_ago() -> None:
    one = Patience()
    assert not one.over(1, LONGEST_S, False)
    one.took(0.5)
    assert not one.over(1, SHORTEST_S - 0.1, False)
    assert one.over(1, SHORTEST_S + 0.1, False)
    one.took(2.0)
    one.took(1.0)
    assert not one.over(1, 2 * TIMES - 0.1, True)
    assert one.over(1, 2 * TIMES + 0.1, True)


def test_where_an_answer_is_wanted_soon_all_of_it_is_shorter() -> None:
    usual, hurried = Patience(), Patience(hurried=True)
    assert hurried.longest_s(1) < usual.longest_s(1)
    assert hurried.over(4, FIRST_WORD_S - 0.1, False)
    for one in (usual, hurried):
        one.took(0.5)
    assert hurried.over(1, SHORTEST_S - 0.1, False)
    assert not usual.over(1, SHORTEST_S - 0.1, False)
    hurried.took(4.0)
    assert not hurried.over(1, SHORTEST_S, False), "slow peers give it more time"


def test_a_program_that_is_given_up_is_ended_and_what_it_said_is_kept() -> None:
    began = time.monotonic()
    silent = run(["sleep", "30"], timeout_s=25, give_up=lambda said: not said)
    assert (silent.timed_out, silent.ok) == (True, False)
    loud = run(["sh", "-c", "echo word; exec sleep 30"], timeout_s=25, give_up=lambda said: said)
    assert (loud.timed_out, loud.stdout) == (True, "word\n")
    assert time.monotonic() - began < 20
    assert run(["sh", "-c", "echo word; sleep 0.5"], timeout_s=25, give_up=lambda _: False).ok


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SlurmScripts:
    """srun that starts nothing where n2 is among the nodes."""
    monkeypatch.setattr(collector, "USUAL", collector.USUAL._replace(first_word_s=0.2, shortest_s=3.0))
    scripts = in_place_of_slurm(tmp_path / "bin", tmp_path / "archive", monkeypatch)
    scripts.says("squeue", "42|RUNNING|0|n[1-3]\n")
    scripts.runs(
        "srun",
        "for word; do case $word in --nodelist=*) nodes=${word#--nodelist=} ;; esac; done\ncase $nodes in\n"
        '    n1|n3) printf "0: #seatrial-facts 1 $nodes\\n0: #end $nodes\\n" ;;\n'
        "    *) exec sleep 30 ;;\nesac",
    )
    return scripts


def test_a_node_that_hangs_is_silent_and_its_peers_are_read(slurm: SlurmScripts) -> None:
    launcher = SlurmLauncher(SiteSettings(archive=Path()), probe=Path())
    launcher.job = "42"
    began = time.monotonic()
    found = launcher.read_facts(("n1", "n2", "n3"))
    assert time.monotonic() - began < 1.7 * LONGEST_S, "it was waited for twice, to the end"
    assert set(found.texts) == {"n1", "n3"}
    assert set(found.silent) == {"n2"}
    assert found.silent["n2"].startswith("no answer within ")
    assert ", where others took " in found.silent["n2"]


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("down*|p|Not responding", "Slurm says down, not responding (Not responding)"),
        ("mixed*|p|none", "Slurm says mixed, not responding"),
        ("drained|p|bad fan", "no answer within "),
        ("allocated|p|none", "no answer within "),
    ],
)
def test_the_reason_of_a_silent_node_that_is_down_is_that_of_slurm(
    state: str, reason: str, slurm: SlurmScripts
) -> None:
    slurm.says("sinfo", f"n2|{state}\n")
    launcher = SlurmLauncher(SiteSettings(archive=Path()), probe=Path())
    launcher.job = "42"
    assert launcher.read_facts(("n1", "n2")).silent["n2"].startswith(reason)
