"""Every command that has --json prints one value of strict JSON, whatever the archive holds."""

import math
import shutil
from pathlib import Path

import pytest

from seatrial.frame.command_line import run
from tests.support.builders import Cluster, names, record, slow_part
from tests.support.command_line import Seatrial
from tests.support.job_histories import History, sacct_text
from tests.support.json_objects import frame
from tests.support.paths import ROOT
from tests.unit.cli.test_hostile import LEAVES

WITH_JSON = {path for path, command in LEAVES.items() if any("--json" in one.opts for one in command.params)}
MEASURING = {("link",), ("placement",), ("nodes",), ("bench", "accept"), ("requalify",)}
"""Their tests read what they print, and `test_every_json_goes_through_one_writer` covers the form."""
ELSEWHERE = {
    ("runs", "collect"), ("lab", "status"), ("lab", "trial"), ("fabric", "show"), ("fabric", "check"),
    ("bench", "show"), ("bench", "scale"), ("bench", "run"), ("import",), ("qualify",),
}  # fmt: skip
PRINTING = [
    ["report", "run"],
    ["runs", "list"],
    ["runs", "show", "run"],
    ["runs", "recover"],
    ["baseline", "set", "good", "run"],
    ["baseline", "list"],
    ["bench", "list"],
    ["baseline", "show", "kept"],
    ["compare", "run", "second"],
    ["compare", "--plan", "check"],
    ["compare", "--side-by-side", "run", "second"],
    ["history", "bandwidth"],
    ["check", "--replay", "run", "--run", "again"],
    ["facts", "--from", "facts.txt"],
    ["facts", "--from", "facts.txt", "--drift"],
    ["limits", "--from", "facts.txt"],
    ["judge", "table.csv"],
    ["judge", "series.csv"],
    ["judge", "fleet.csv"],
    ["doctor"],
    ["jobs", "--from", "sacct.txt"],
    ["site", "pages"],
    ["status"],
    ["swap", "start", "gpu", "node=n1,card=c1", "node=n2,card=c2"],
    ["swap", "record", "known", "n1=bad", "n2=good"],
    ["swap", "status", "known"],
    ["lab", "fault", "list"],
    ["lab", "simulate", "--topology", "fat-tree:8"],
]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an archive and inputs, which each test gets a copy of."""
    folder = tmp_path_factory.mktemp("recorded")
    cluster = Cluster(nodes=names(4), parts=slow_part("node", "n2", 0.6))
    (folder / "facts.txt").write_text(cluster.facts_text("n1"))
    (folder / "fleet.csv").write_text("node,value\nn1,1e99\nn2,1e-99\nn3,1\n")
    (folder / "series.csv").write_text("time,value\n1,1e99\n2,1e-99\n3,1\n")
    (folder / "sacct.txt").write_text(sacct_text(History(jobs=60)))
    (folder / "table.csv").write_text("source,target,latency_us\nn1,n2,1e99\nn2,n1,20\nn1,n3,20\nn3,n1,1e-99\n")
    archive = folder / "archive"
    record(cluster, archive, "run")
    record(cluster, archive, "second")
    assert run(["swap", "start", "known", "node=n1,card=c1", "node=n2,card=c2", "--archive", str(archive)]) == 2
    assert run(["baseline", "set", "kept", "run", "--archive", str(archive)]) == 0
    return folder


@pytest.fixture
def archive(tmp_path: Path, recorded: Path, monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial) -> Path:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("SEATRIAL_ARCHIVE", str(tmp_path / "archive"))
    monkeypatch.chdir(tmp_path)
    shutil.copytree(recorded, tmp_path, dirs_exist_ok=True, symlinks=True)
    return tmp_path / "archive"


@pytest.mark.parametrize("words", PRINTING, ids=" ".join)
def test_json_is_strict(words: list[str], archive: Path, seatrial: Seatrial) -> None:
    code, out, err = seatrial(*words, "--json", code=None)
    assert code in (0, 1, 2), err
    found = frame(out)
    assert found["exit_code"] == code
    assert found["data"] and found["error"] is None
    word, gap, _ = found["headline"].partition("  ")
    assert (found["verdict"] or "") == (word if gap else "")


def test_no_command_that_has_json_is_forgotten() -> None:
    printed = {path for path in WITH_JSON if any(tuple(words[: len(path)]) == path for words in PRINTING)}
    assert WITH_JSON - printed == MEASURING | ELSEWHERE


def test_every_json_goes_through_one_writer() -> None:
    source = ROOT / "src" / "seatrial"
    users = [
        path.relative_to(source).as_posix()
        for path in [*source.glob("cli/*.py"), *source.glob("render/**/*.py"), *source.glob("commands/**/*.py")]
        if "json.dumps(" in path.read_text() or "msgspec.json.encode(" in path.read_text()
    ]
    # limits/paths encodes facts as keys to group nodes by, and prints none of it
    assert sorted(users) == ["commands/limits/paths.py", "render/json.py"]


def test_samples_beyond_every_number_are_null(
    archive: Path, monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial
) -> None:
    """A median of times such as 1e308 overflows, or is not a number."""
    table = [
        ("survey", "pingpong", 8, 2, 2, math.nan, None, math.nan),
        ("survey", "oneway", 8, 2, 2, None, math.inf, math.inf),
    ]
    monkeypatch.setattr("seatrial.archive.export.kernel_table", lambda _: table)
    found = seatrial("runs", "show", "run", "--json").data
    for name in ("latency_s", "bandwidth_bytes_per_s", "median_time_s"):
        assert [row[name] for row in found["kernels"]] == [None, None]
