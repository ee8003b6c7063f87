"""Runs of a benchmark are compared, planned, followed over time and kept as a baseline like any others."""

import shutil
from pathlib import Path

import pytest

from tests.support.builders import Cluster
from tests.support.collecting import program
from tests.support.command_line import Seatrial
from tests.support.launchers import use_launcher
from tests.support.program_launcher import ProgramLauncher

HEAT = """
name = "heat"
mark = '^Heat'
complete = '^Done'
main = "rate_per_s"
[metrics.setup_time_s]
pattern = 'Setup (\\S+) s'
unit = "s"
better = "less"
[metrics.rate_per_s]
pattern = 'Rate (\\S+)'
unit = "1/s"
better = "more"
[run]
command = ["PLACE/heat.sh"]
mpi = false
"""
RATES = {"a1": 760.5, "a2": 763.6, "a3": 764.1, "b1": 609.6, "b2": 604.4, "b3": 612.0}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("heat")


@pytest.fixture
def archive(recorded: Path, monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial) -> Path:
    """Three runs before and three after a change; the setup takes twice as long afterwards."""
    folder = recorded / "archive"
    monkeypatch.setenv("SEATRIAL_ARCHIVE", str(folder))
    use_launcher(ProgramLauncher(Cluster(nodes=("n1", "n2"))))
    if not folder.exists():
        for name, rate in RATES.items():
            measure(recorded, seatrial, name, rate)
    return folder


def measure(place: Path, seatrial: Seatrial, name: str, rate: object, *, code: int = 0) -> None:
    (place / "heat.toml").write_text(HEAT.replace("PLACE", str(place)))
    setup = 2 if name.startswith("b") else 1
    program(place, "heat.sh", f"echo Heat; echo Setup {setup}.{len(str(rate))} s; echo Rate {rate}; echo Done")
    seatrial("bench", "run", str(place / "heat.toml"), "--run", name, code=code)


def test_the_main_figure_makes_the_first_line(archive: Path, seatrial: Seatrial) -> None:
    found = seatrial("compare", "a1,a2,a3", "b1,b2,b3", "--json", code=1).data
    assert found["headline"].startswith("SLOWER  heat 763 ± 2 → 609 ± 4 1/s, 20.2 % slower (95 % CI ")
    assert "of 1 other figure 1 slower" in found["headline"]
    assert found["worst"]["metric"] == "heat rate_per_s [1/s]"
    assert found["metrics"][0]["before_deviation"] == pytest.approx(1.95, abs=0.1)
    back = seatrial("compare", "b1,b2,b3", "a1,a2,a3", "--json").data
    assert back["headline"].startswith("FASTER  heat 609 ± 4 → 763 ± 2 1/s, 25.3 % faster (95 % CI ")


def test_they_are_planned_and_followed(archive: Path, seatrial: Seatrial) -> None:
    needs = seatrial("compare", "--plan", "heat rate", "--runs", "a1,a2,a3", "--json").data["needs"]
    assert [(need["metric"], need["claim"]) for need in needs] == [("heat rate_per_s [1/s]", "everything")]
    assert needs[0]["runs_each"] <= 3
    history = seatrial("history", "heat rate_per_s", "--json", code=2).data["histories"][0]
    assert [value["value"] for value in history["values"]] == pytest.approx(list(RATES.values()))
    judged = seatrial("judge", "--runs", "a1,a2,a3,b1,b2,b3", "--as", "series", "--json", code=None).out
    assert "max() arg" not in judged


def test_a_baseline_keeps_them(archive: Path, seatrial: Seatrial, tmp_path: Path) -> None:
    copy = tmp_path / "archive"
    shutil.copytree(archive, copy)
    where = ("--archive", str(copy))
    seatrial("baseline", "set", "good", "a1", "a2", "a3", *where)
    for name in ("a1", "a2", "a3"):
        shutil.rmtree(copy / name)
    found = seatrial("compare", "good", "b1,b2,b3", "--json", *where, code=1).data
    assert found["headline"].startswith("SLOWER  heat 763 ± 2 → 609 ± 4 1/s, 20.2 % slower")


def test_a_run_that_cannot_be_used_is_refused_by_name_and_left_out_of_dates(
    recorded: Path, archive: Path, seatrial: Seatrial
) -> None:
    measure(recorded, seatrial, "c1", "nan", code=1)
    refused = seatrial("compare", "a1,a2", "b1,c1", code=2).err
    assert "The run c1 cannot be used: its output is INVALID: rate_per_s is nan. Leave it out" in refused
    assert "The run c1 is left out: its output is INVALID" in seatrial("history", "heat rate_per_s", code=2).err
    assert "The run c1 cannot be used" in seatrial("baseline", "set", "bad", "c1", code=2).err


def test_other_numbers_of_nodes_are_another_condition(recorded: Path, archive: Path, seatrial: Seatrial) -> None:
    seatrial("bench", "run", str(recorded / "heat.toml"), "--run", "two", "-N", "2", code=None)
    measure(recorded, seatrial, "b4", 610.0)
    seatrial("bench", "run", str(recorded / "heat.toml"), "--run", "two2", "-N", "2")
    refused = seatrial("compare", "a1,a2,a3", "two2", code=64).err
    assert "(benchmark: heat, 1 node and heat, 2 nodes)" in refused
    assert "--across benchmark" in refused
