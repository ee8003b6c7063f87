"""seatrial nodes on this machine: what it prints, keeps and judges again."""

import shutil
from pathlib import Path

import pytest

from seatrial.archive.reader import read_run
from seatrial.cli.nodes import trials_of
from seatrial.model.errors import UsageError
from seatrial.model.run import RunKind
from seatrial.model.settings import SOAK_TRIALS, SoakSettings, Trial
from tests.support.command_line import Seatrial
from tests.support.node_series import GOOD, Machine, recorded
from tests.support.run_archives import archived_groups

QUICK = ["nodes", "--launcher", "local", "--trials", "pipe,arithmetic,collectives", "--repetitions", "1"]


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEATRIAL_ARCHIVE", str(tmp_path / "archive"))
    return tmp_path / "archive"


@pytest.mark.skipif(shutil.which("mpicc") is None, reason="no mpicc on PATH")
def test_this_machine_is_measured_kept_and_replayed(archive: Path, seatrial: Seatrial) -> None:
    report = seatrial(*QUICK, "--run", "first", "--json").data
    assert (report["kind"], report["verdict"], report["complete"], report["findings"]) == (
        "nodes",
        "MEASURED",
        True,
        [],
    )
    (node,) = report["nodes"]
    assert node["values"]["arithmetic"]["value"] > 1e8
    assert node["values"]["slowest_core"]["value"] <= node["values"]["arithmetic"]["value"]
    assert (node["wrong_bytes"], node["verified"] > 0) == (0, True)
    kept = read_run(archive / "first")
    assert kept.info.kind is RunKind.NODES
    assert len(kept.group_measurements) >= 3
    again = seatrial("nodes", *QUICK[3:], "--replay", "first", "--run", "again", "--baseline", "first", "--json").data
    assert again["nodes"] == report["nodes"]
    ratios = {one["metric"]: one["ratio"]["value"] for one in again["past"]["nodes"]}
    assert ratios.keys() >= {"arithmetic of all cores", "arithmetic of the slowest core"}
    assert set(ratios.values()) == {1.0}, "compared with itself"
    assert "at least 3 nodes of one model are needed" in " ".join(seatrial("report", "first").out.split())


def archived(archive: Path, machines: dict[str, Machine]) -> None:
    """A run of nodes of known truth."""
    archived_groups(archive, recorded(machines), [*machines])


def test_a_report_names_the_slow_node_in_every_form(archive: Path, seatrial: Seatrial) -> None:
    archived(archive, {"n1": GOOD, "n2": GOOD, "n3": Machine(memory=0.8), "n4": GOOD})
    page, markdown, junit = archive / "page.html", archive / "report.md", archive / "junit.xml"
    files = ["--html", str(page), "--markdown", str(markdown), "--junit", str(junit)]
    text = " ".join(seatrial("report", "run", *files, code=1).out.split())
    assert text.startswith("SLOW n3: ")
    assert ", 80 % of its peers' 40.0 GB/s" in text
    assert "a node that is worse than its peers: " in text
    for path in (page, markdown, junit):
        assert "n3" in path.read_text()
    report = seatrial("report", "run", "--json", code=1).data
    assert [finding["kind"] for finding in report["findings"]] == ["low-memory-bandwidth"]
    assert {one["node"] for one in report["nodes"]} == {"n1", "n2", "n3", "n4"}
    assert {one["measure"] for one in report["comparisons"]} >= {"triad", "noise", "pipe_wake"}
    assert report["nodes"][0]["noise"]["slowdown"].keys() == {"1000", "10000"}


def test_trials_are_taken_in_their_order_and_others_refused(seatrial: Seatrial) -> None:
    assert trials_of("pipe, memory", "--trials") == (Trial.MEMORY, Trial.PIPE)
    with pytest.raises(UsageError, match="'gpu' is not a valid trial"):
        trials_of("memory,gpu", "--trials")
    ran = seatrial("nodes", "--trials", "gpu", code=64)
    assert "Choose from memory,arithmetic,noise,pipe,scheduler,collectives,storage" in ran.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--for", "soon"], "--for 'soon' is not a valid duration"),
        (["--for", "5s"], "--for '5s' is not a time from 6 seconds to 7 days"),
        (["--for", "8d"], "--for '8d' is not a valid duration"),
        (["--for", "169h"], "--for '169h' is not a time from 6 seconds to 7 days"),
        (["--for", "10m", "--repetitions", "2"], "--repetitions does not go with --for, only with single trials"),
        (["--for", "10m", "--budget", "5m"], "--budget does not go with --for"),
        (["--for", "10m", "--baseline", "good"], "--baseline does not go with --for"),
        (["--for", "10m", "--storage", "/tmp"], "--storage does not go with --for"),
        (["--for", "10m", "--trials", "noise,storage"], "--trials storage does not go with --for"),
        (["--program", "gpu_burn 60", "--trials", "noise"], "--trials does not go with --program, only with single"),
        (["--program", "gpu_burn 60", "--baseline", "good"], "--baseline does not go with --program"),
        (["--program", "gpu_burn", "--for", "10m", "--budget", "5m"], "--budget does not go with --program and --for"),
        (["--program", "gpu_burn '60"], "--program"),
    ],
)
def test_what_does_not_go_with_a_soak_or_a_program_is_refused(
    archive: Path, seatrial: Seatrial, words: list[str], said: str
) -> None:
    assert said in seatrial("nodes", "--launcher", "local", *words, code=64).err
    assert not archive.exists()


def test_a_soak_repeats_all_trials_but_storage_for_the_time_that_is_given(
    archive: Path, seatrial: Seatrial, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[SoakSettings] = []

    def begun(settings: SoakSettings, progress: object) -> None:
        asked.append(settings)
        raise KeyboardInterrupt

    monkeypatch.setattr("seatrial.commands.soak.run.run_soak", begun)
    seatrial("nodes", "n[1-2]", "--for", "60m", code=2)
    assert (asked[0].site.budget_s, asked[0].site.nodes, asked[0].trials) == (3600.0, ("n1", "n2"), SOAK_TRIALS)


CORES = "cores,solve_time_s\n"


@pytest.mark.parametrize(
    ("times", "line"),
    [
        ("1,100\n2,52\n4,45\n", "more than 2 cores do not pay: memory is full with 3 of 4 cores"),
        ("1,100\n2,90\n4,85\n", "more than 1 core does not pay: not for memory, which takes 3 of 4 cores to fill"),
        ("1,100\n2,51\n4,26\n", "efficiency 96 % a fall of 50 % would show. taken as"),
    ],
)
def test_a_run_says_whether_memory_is_why_more_cores_do_not_pay(
    archive: Path, tmp_path: Path, seatrial: Seatrial, times: str, line: str
) -> None:
    archived(archive, {"n1": GOOD})
    (run,) = archive.iterdir()
    (table := tmp_path / "cores.csv").write_text(CORES + times)
    ran = seatrial("judge", str(table), "--memory", run.name)
    assert line in " ".join(ran.out.split())


def test_memory_explains_curves_within_a_node_and_only_by_runs_that_measured_it(
    archive: Path, tmp_path: Path, seatrial: Seatrial
) -> None:
    archived(archive, {"n1": GOOD})
    (run,) = archive.iterdir()
    (table := tmp_path / "nodes.csv").write_text("nodes,solve_time_s\n1,100\n2,52\n4,45\n")
    assert "is over nodes, up to 4" in seatrial("judge", str(table), "--memory", run.name, code=64).err
    (table := tmp_path / "cores.csv").write_text(CORES + "1,100\n2,52\n8,45\n")
    assert "The run is of nodes of 4 cores" in seatrial("judge", str(table), "--memory", run.name, code=64).err
