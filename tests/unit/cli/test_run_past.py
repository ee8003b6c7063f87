"""Runs of a benchmark are compared, planned, followed over time and kept as a baseline like any others."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from seatrial.archive import run_values
from seatrial.cli import operation, report
from seatrial.commands.acceptance.judge import AcceptanceThreshold, Item
from seatrial.commands.acceptance.run import baselines_of
from seatrial.model.errors import SeatrialError
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


def measure(
    place: Path, seatrial: Seatrial, name: str, rate: object, *words: str, code: int | None = 0
) -> dict[str, Any]:
    (place / "heat.toml").write_text(HEAT.replace("PLACE", str(place)))
    setup = 2 if name.startswith("b") else 1
    program(place, "heat.sh", f"echo Heat; echo Setup {setup}.{len(str(rate))} s; echo Rate {rate}; echo Done")
    ran = seatrial("bench", "run", place / "heat.toml", "--run", name, "--json", *words, code=code)
    return ran.data if ran.out else {"error": ran.err}


def test_the_main_figure_makes_the_first_line(archive: Path, seatrial: Seatrial) -> None:
    found = seatrial("compare", "a1,a2,a3", "b1,b2,b3", "--json", code=1).data
    assert found["headline"].startswith("SLOWER  heat 763 ± 2 → 609 ± 4 1/s, 20.2 % slower (95 % CI ")
    assert "of 1 other figure 1 slower" in found["headline"]
    assert found["worst"]["metric"] == "heat rate_per_s [1/s]"
    assert found["metrics"][0]["before_deviation"] == pytest.approx(1.95, abs=0.1)
    back = seatrial("compare", "b1,b2,b3", "a1,a2,a3", "--json").data
    assert back["headline"].startswith("FASTER  heat 609 ± 4 → 763 ± 2 1/s, 25.3 % faster (95 % CI ")


def test_they_are_planned_and_followed(archive: Path, seatrial: Seatrial) -> None:
    planned = seatrial("compare", "--plan", "heat", "--runs", "a1,a2,a3", "--json").data["headline"]
    assert planned.endswith("after show a change of 2.0 % in heat rate_per_s [1/s] with 90 % power")
    fleet = seatrial("judge", "--runs", "a1,a2,a3", "--as", "fleet", "--json", code=None).err
    assert "Several metrics" not in fleet
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
    seatrial("bench", "run", recorded / "heat.toml", "--run", "two", "-N", "2", code=None)
    measure(recorded, seatrial, "b4", 610.0)
    seatrial("bench", "run", recorded / "heat.toml", "--run", "two2", "-N", "2")
    refused = seatrial("compare", "a1,a2,a3", "two2", code=64).err
    assert "(benchmark: heat, 1 node and heat, 2 nodes)" in refused
    assert "--across benchmark" in refused


def test_a_run_is_compared_with_the_last_one_that_was_made_alike(
    recorded: Path, seatrial: Seatrial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEATRIAL_ARCHIVE", str(tmp_path / "archive"))
    use_launcher(ProgramLauncher(Cluster(nodes=("n1", "n2"))))
    first = measure(tmp_path, seatrial, "first", 100.0)
    assert (first["verdict"], first["past"]) == ("MEASURED", None)
    assert first["headline"] == "MEASURED  heat on 1 node: 100 1/s; compared with nothing"
    measure(tmp_path, seatrial, "wrong", "nan", code=1)
    measure(tmp_path, seatrial, "other", 500.0, "-N", "2")
    second = measure(tmp_path, seatrial, "second", 95.0)
    assert second["headline"] == "MEASURED  heat on 1 node: 95 1/s, 5.0 % slower than first"
    assert second["past"]["runs"] == ["first"] and not second["past"]["slower"]
    assert measure(tmp_path, seatrial, "third", 95.0)["headline"].endswith(": 95 1/s, as fast as second")


def test_a_baseline_is_a_reference(recorded: Path, seatrial: Seatrial, archive: Path) -> None:
    runs = ("--baseline", "a1,a2,a3")
    good = measure(recorded, seatrial, "good", 765.0, *runs)
    assert (good["verdict"], good["references"]) == ("PASS", ["baseline"])
    assert good["headline"].startswith("PASS  heat on 1 node: 765 1/s, 0.3 % faster than 3 runs of a1,a2,a3, ")
    slow = measure(recorded, seatrial, "slow", 610.0, *runs, code=1)
    assert slow["verdict"] == "SLOW"
    assert "heat on 1 node: 610 1/s, 20 % slower than 3 runs of a1,a2,a3" in slow["headline"]
    assert [finding["kind"] for finding in slow["findings"]] == ["slower-than-before"]
    again = seatrial("report", "slow", "--json", code=1).data
    assert (again["headline"], again["past"]) == (slow["headline"], slow["past"])
    other = measure(recorded, seatrial, "no", 1.0, "-N", "2", *runs, code=None)
    assert "has no run of `seatrial bench run` of heat, 2 nodes" in other["error"]["what"]


def test_a_command_prepares_each_node_before_the_programs(recorded: Path, seatrial: Seatrial, archive: Path) -> None:
    program(recorded, "prepare.sh", f"echo prepared >> {recorded}/prepared")
    found = measure(recorded, seatrial, "p1", 700.0, "-N", "2", "--prepare", f"'{recorded}/prepare.sh' now")
    assert (recorded / "prepared").read_text() == "prepared\n" * 2
    assert [step["name"] for step in found["steps"]] == ["prepare n1", "prepare n2", "run"]
    assert found["past"] is None, "runs that were not prepared are no reference"
    failed = measure(recorded, seatrial, "p2", 700.0, "--prepare", "false", code=2)
    assert failed["headline"] == "INCOMPLETE  prepare n1 ended with exit code 1."
    assert [step["name"] for step in failed["steps"]] == ["prepare n1"]
    assert (
        "cannot be divided into words"
        in measure(recorded, seatrial, "p3", 1.0, "--prepare", "'x", code=64)["error"]["what"]
    )


def test_patterns_of_somebody_else_do_not_take_for_ever(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(archive / "b3", tmp_path / "b3")
    info, journal = tmp_path / "b3" / "run.json", tmp_path / "b3" / "journal.jsonl"
    journal.write_text(journal.read_text().replace("Rate 612", f"Rate {'a' * 80}"))
    described = json.loads(info.read_text().replace(r"Rate (\\S+)", "Rate ((a|aa)+)x"))
    described["contents"] |= {
        "journal_bytes": journal.stat().st_size, "journal_sha256": hashlib.sha256(journal.read_bytes()).hexdigest(),
    }  # fmt: skip
    info.write_text(json.dumps(described))
    monkeypatch.setattr(run_values, "is_own", lambda _: False)
    monkeypatch.setattr(run_values.judged_benchmark, "__defaults__", (0.3,))
    with pytest.raises(SeatrialError, match=r"Reading the output of b3 took more than 0\.3 s"):
        run_values.printed_values(tmp_path / "b3")
    monkeypatch.setattr(report, "NAMED_S", 0.2)
    with pytest.raises(SeatrialError, match=r"Reading the output of b3 took more than 0\.2 s"):
        report.report_of(tmp_path / "b3")
    with pytest.raises(operation.Unjudged, match=r"judging it takes more than 0\.1 s"):
        operation.judge(tmp_path / "b3", 0.1)
    item = Item(
        name="heat", benchmark="heat.toml", threshold=(AcceptanceThreshold(metric="rate_per_s", baseline="b3"),)
    )
    with pytest.raises(SeatrialError, match=r"Reading the output of b3 took more than 0\.3 s"):
        baselines_of(item, tmp_path)
