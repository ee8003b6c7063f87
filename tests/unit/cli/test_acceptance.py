"""seatrial bench accept: thresholds, budget, and how it is continued."""

import os
from pathlib import Path

import pytest

from tests.support.builders import Cluster
from tests.support.collecting import program
from tests.support.command_line import Seatrial
from tests.support.launchers import use_launcher
from tests.support.program_launcher import ProgramLauncher

OWN = """
name = "heat"
complete = '^Done'
[metrics.solve_time_s]
pattern = 'Solved in (\\S+) ms'
unit = "ms"
better = "less"
[run]
command = ["./heat.sh"]
mpi = false
"""
SPEC = """
name = "spring"
{top}
[[benchmark]]
name = "heat"
benchmark = "heat.toml"
repetitions = 2
[[benchmark.threshold]]
metric = "solve_time_s"
{threshold}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A benchmark that takes 10 ms in the first run and 14 ms in each later one."""
    monkeypatch.setenv("SEATRIAL_ARCHIVE", str(tmp_path / "archive"))
    use_launcher(ProgramLauncher(Cluster(nodes=("n1", "n2"))))
    (tmp_path / "heat.toml").write_text(OWN.replace("./heat.sh", str(tmp_path / "heat.sh")))
    count = tmp_path / "count"
    program(
        tmp_path,
        "heat.sh",
        f'echo x >>"{count}"; [ $(wc -l <"{count}") = 1 ] && t=10 || t=14; echo "Solved in $t ms"; echo Done',
    )
    return tmp_path


def spec(folder: Path, threshold: str, top: str = "") -> str:
    file = folder / "spec.toml"
    file.write_text(SPEC.format(threshold=threshold, top=top))
    return str(file)


def test_thresholds_are_compared_with_the_median_and_complete_runs_are_not_repeated(
    folder: Path, seatrial: Seatrial
) -> None:
    page, junit = folder / "page.html", folder / "junit.xml"
    passing = spec(folder, "most = 0.0121")
    report = seatrial("bench", "accept", passing, "--html", str(page), "--junit", str(junit), "--json").data
    (item,) = report["benchmarks"]
    assert [one["run"] for one in item["runs"]] == ["spring-heat-1", "spring-heat-2"]
    assert (item["thresholds"][0]["value"], item["thresholds"][0]["passed"]) == (0.012, True)
    assert "12.0 ms" in page.read_text()
    assert 'name="acceptance:heat"' in junit.read_text()
    report = seatrial("bench", "accept", spec(folder, "most = 0.0119"), "--json", code=1).data
    assert all(one["earlier"] for one in report["benchmarks"][0]["runs"])
    assert (folder / "count").read_text() == "x\nx\n"
    assert "solve_time_s 12.0 ms, the bound is 11.9 ms (most)" in report["headline"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to own runs as two users")
def test_runs_of_others_are_not_continued(folder: Path, seatrial: Seatrial) -> None:
    passing = spec(folder, "most = 0.0121")
    for first in ("spring-heat-1", "spring-heat-1.2"):
        report = seatrial("bench", "accept", passing, "--json", code=None).data
        runs = report["benchmarks"][0]["runs"]
        assert (runs[0]["run"], runs[0]["earlier"], runs[1]["earlier"]) == (first, False, first.endswith(".2"))
        os.chown(folder / "archive" / first, 65534, 65534)
    assert (folder / "count").read_text() == "x\n" * 3
    (folder / "archive" / "spring-heat-1.2").rename(folder / "archive" / "spring-heat-1-closed")
    os.chown(folder / "archive" / "spring-heat-1-closed", 0, 0)
    report = seatrial("bench", "accept", passing, "--json", code=None).data
    assert all(one["earlier"] for one in report["benchmarks"][0]["runs"]), "others had taken its name as it was closed"


def test_a_baseline_of_times_is_a_share_of_speed(folder: Path, seatrial: Seatrial) -> None:
    good = 'of_baseline = 0.8\nbaseline = "spring-heat-1"'
    seatrial("bench", "accept", spec(folder, good))
    ran = seatrial("bench", "accept", spec(folder, good.replace("0.8", "0.9")), code=1)
    assert "of spring-heat-1: 10.0 ms" in " ".join(ran.out.split())
    ran = seatrial("bench", "accept", spec(folder, good.replace("spring-heat-1", "winter-heat-1")), code=1)
    assert "its reference is not known" in " ".join(ran.out.split())


def test_a_baseline_that_failed_is_no_reference(folder: Path, seatrial: Seatrial) -> None:
    whole = (folder / "heat.sh").read_text().partition("\n")[2]
    program(folder, "heat.sh", "echo Solved in 100 ms; echo Segmentation fault; echo Done")
    seatrial("bench", "accept", spec(folder, "most = 1.0"), "--run", "old", code=1)
    program(folder, "heat.sh", whole)
    ran = seatrial("bench", "accept", spec(folder, 'of_baseline = 0.8\nbaseline = "old-heat-1"'), code=1)
    assert "its reference is not known (of old-heat-1: not a valid run)" in " ".join(ran.out.split())


def test_a_run_that_fails_leaves_it_incomplete_and_is_repeated_later(folder: Path, seatrial: Seatrial) -> None:
    whole = (folder / "heat.sh").read_text().partition("\n")[2]
    (folder / "heat.sh").unlink()
    words = ["bench", "accept", spec(folder, "most = 1.0"), "--json"]
    assert "is not on PATH on n1" in seatrial(*words, code=2).data["benchmarks"][0]["left"]
    program(folder, "heat.sh", whole)
    runs = [one["run"] for one in seatrial(*words).data["benchmarks"][0]["runs"]]
    assert runs == ["spring-heat-1.2", "spring-heat-2"]


def test_what_does_not_fit_the_node_hours_is_not_started(folder: Path, seatrial: Seatrial) -> None:
    ran = seatrial("bench", "accept", spec(folder, "most = 1.0", "node_hours = 0.5"), "--json", code=2)
    assert "of 0.5 node-hours are used" in ran.data["benchmarks"][0]["left"]
    assert not (folder / "count").exists()


@pytest.mark.parametrize(
    ("threshold", "top", "says"),
    [
        ("least = 1", "colour = 1", "unknown field `colour`"),
        ("", "", "compares with nothing"),
        ("of_limit = -0.9", "", "is not a number, or a share that is not above 0"),
        ("least = nan", "", "is not a number, or a share that is not above 0"),
        ("of_baseline = 0.9", "", "of_baseline and baseline go together"),
        ('least = 1\n[[benchmark]]\nname = "heat"\nbenchmark = "hpl"', "", "1 of them with different names"),
        ('least = 1\n[[benchmark.threshold]]\nmetric = "speed"\nleast = 1', "", "has no metric 'speed'"),
        ('least = 1\n[[benchmark]]\nname = "s"\nbenchmark = "read.toml"', "", "heat has no command"),
    ],
)
def test_a_file_that_is_wrong_is_refused_before_anything_runs(
    folder: Path, seatrial: Seatrial, threshold: str, top: str, says: str
) -> None:
    (folder / "read.toml").write_text(OWN.partition("[run]")[0])
    assert says in seatrial("bench", "accept", spec(folder, threshold, top), code=64).err
    assert not (folder / "archive").exists()


def test_runs_of_other_settings_are_refused(folder: Path, seatrial: Seatrial) -> None:
    seatrial("bench", "accept", spec(folder, "most = 1.0"))
    changed = Path(spec(folder, "most = 1.0"))
    changed.write_text(changed.read_text().replace("repetitions = 2", "repetitions = 2\nnode_count = 2"))
    assert "was made with other settings" in seatrial("bench", "accept", str(changed), code=64).err
    seatrial("bench", "accept", str(changed), "--run", "other")
