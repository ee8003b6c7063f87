"""seatrial baseline: set, replace, list, show, drop; nothing changes silently and deleted runs do not matter."""

import gzip
import json
import os
import re
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from seatrial.archive import baselines
from seatrial.archive.run_sets import find_runs
from seatrial.archive.working_folder import remove_leftovers
from seatrial.commands.baseline.run import write
from seatrial.frame.command_line import run
from seatrial.model import formats
from seatrial.model.errors import SeatrialError
from tests.support.command_line import Seatrial
from tests.support.processes import killed_at_each_step
from tests.support.run_archives import healthy_run, slow_run

Read = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    for number in (1, 2, 3):
        healthy_run(folder, number)
        slow_run(folder, number)
    return folder


@pytest.fixture
def archive(recorded: Path, tmp_path: Path) -> Path:
    if not (recorded / "baselines").exists():
        assert run(["baseline", "set", "good", "h1", "h2,h3", "--archive", str(recorded)]) == 0
    return Path(shutil.copytree(recorded, tmp_path / "archive"))


def printed(seatrial: Seatrial, *words: str, archive: Path, code: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = seatrial(*words, "--archive", archive, "--json", code=code).data
    return found


def test_later_runs_are_compared_with_it_after_its_own_runs_are_gone(archive: Path, seatrial: Seatrial) -> None:
    before = printed(seatrial, "compare", "h1,h2,h3", "s1,s2,s3", archive=archive, code=1)
    for name in ("h1", "h2", "h3"):
        shutil.rmtree(archive / name)
    after = printed(seatrial, "compare", "good", "s1,s2,s3", archive=archive, code=1)
    assert after["headline"] == before["headline"]
    for found in (before, after):  # sums over iterations may differ in the last bit
        for metric in found["metrics"]:
            del metric["spread"]
    assert after["metrics"] == before["metrics"]
    assert after["suspects"] == before["suspects"]
    assert after["first"] == {"name": "good", "runs": ["h1", "h2", "h3"]}


def test_replacing_asks_and_says_what_it_would_hide(archive: Path, seatrial: Seatrial) -> None:
    """There is no terminal here, so nobody agrees."""
    before = printed(seatrial, "baseline", "show", "good", archive=archive)
    said = seatrial("baseline", "set", "good", "s1", "s2", "s3", "--archive", archive, code=64).err
    assert "would hide" in said
    assert re.search(r"n3: bandwidth 1 MiB x 4 (19\.9|20\.\d) % lower \(95 % CI -2[0-9.]+ to -[12][0-9.]+ %\), ", said)
    assert "was not changed. Add --replace" in said
    after = printed(seatrial, "baseline", "show", "good", archive=archive)
    assert {**after, "time": ""} == {**before, "time": ""}


def test_a_replaced_version_is_kept_and_can_be_compared(archive: Path, seatrial: Seatrial) -> None:
    found = printed(seatrial, "baseline", "set", "good", "s1", "s2", "s3", "--replace", archive=archive)
    assert (found["written"]["version"], found["replaced"]) == (2, 1)
    assert "node:n3" in [each["subject"] for each in found["hides"]]
    shown = printed(seatrial, "baseline", "show", "good", archive=archive)
    assert [each["version"] for each in shown["baselines"]] == [2, 1]
    assert printed(seatrial, "compare", "good@1", "good", archive=archive, code=1)["worst"]["subject"] == "node:n3"


def test_a_replacement_that_hides_nothing_says_so(archive: Path, seatrial: Seatrial) -> None:
    assert printed(seatrial, "baseline", "set", "good", "h2", "h3", "--replace", archive=archive)["hides"] == []
    ran = seatrial("baseline", "set", "good", "h1", "--archive", archive, code=64)
    assert "Nothing is shown to be slower" in ran.err


def test_a_loss_of_all_pairs_that_one_run_each_cannot_decide_is_not_nothing(tmp_path: Path, seatrial: Seatrial) -> None:
    for name, share in (("fast", 1.0), ("slow", 0.5)):
        rows = "".join(f"n{node},{share * (100 + node)}\n" for node in range(1, 6))
        (tmp_path / f"{name}.csv").write_text(f"node,triad\n{rows}")
        seatrial("import", tmp_path / f"{name}.csv", "--name", name, "--archive", tmp_path)
    ran = seatrial("baseline", "set", "good", "fast-0001", "--archive", tmp_path)
    assert "One run cannot show how much runs vary" in ran.out
    said = seatrial("baseline", "set", "good", "slow-0001", "--archive", tmp_path, code=64).err
    assert "may hide" in said
    assert "all nodes: triad 50.0 % lower (no interval over runs), " in said
    assert "in too few runs to be certain" in said


def test_a_replacement_that_could_not_be_compared_says_so(tmp_path: Path, seatrial: Seatrial) -> None:
    for name in ("triad", "dgemm"):
        (tmp_path / f"{name}.csv").write_text(f"node,{name}\nn1,5\nn2,6\n")
        seatrial("import", tmp_path / f"{name}.csv", "--name", name, "--archive", tmp_path)
    seatrial("baseline", "set", "good", "triad-0001", "--archive", tmp_path)
    ran = seatrial("baseline", "set", "good", "dgemm-0001", "--replace", "--archive", tmp_path)
    assert "Whether that hides a regression is not known: good and " in ran.out
    found = printed(seatrial, "baseline", "set", "good", "triad-0001", "--replace", archive=tmp_path)
    assert "triad" in found["not_compared"]
    assert found["hides"] == []


def test_two_at_the_same_time_do_not_overwrite_each_other(archive: Path) -> None:
    runs = find_runs(archive, "h1")
    write(archive, "good", runs, 1)
    with pytest.raises(SeatrialError, match="changed by somebody else"):
        write(archive, "good", runs, 1)
    assert baselines.versions(archive, "good") == [1, 2]
    assert [path.name for path in (archive / "baselines").iterdir()] == ["good"]


@pytest.mark.parametrize("replaces", [1, 0])
def test_a_change_that_is_killed_anywhere_is_made_or_not_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replaces: int
) -> None:
    """`replaces` 0: the baseline is dropped."""
    monkeypatch.setattr(baselines, "write_values", lambda _, path: path.write_bytes(b"values"))  # not in a fork

    archive = tmp_path / "archive"

    def set_version(replaced: int) -> None:
        baselines.write_baseline(archive, "good", [], [], {"n1": "facts"}, "", replaces=replaced)

    set_version(0)
    before = shutil.copytree(archive, tmp_path / "before")
    change = partial(set_version, 1) if replaces else partial(baselines.drop_baseline, archive, "good")
    for _ in killed_at_each_step(change):
        numbers = baselines.versions(archive, "good")
        assert numbers in ([1], [1, 2] if replaces else [])
        for number in numbers:
            assert baselines.read_baseline(baselines.folder_of(archive, "good", number)).version == number
        for left in archive.glob(".*"):  # without a lease it may just be being made
            os.utime(left, (1, 1))
        remove_leftovers([archive])
        assert [path.name for path in archive.iterdir()] == ["baselines"]
        assert {path.name for path in (archive / "baselines").iterdir()} <= {"good"}
        shutil.rmtree(archive)
        shutil.copytree(before, archive)
    assert baselines.versions(archive, "good") == ([1, 2] if replaces else [])


def test_list_and_drop(archive: Path, seatrial: Seatrial) -> None:
    (known,) = printed(seatrial, "baseline", "list", archive=archive)["baselines"]
    assert (known["name"], len(known["runs"])) == ("good", 3)
    assert "good" in seatrial("baseline", "list", "--archive", archive).out
    assert "its runs are kept" in seatrial("baseline", "drop", "good", "--archive", archive).out
    assert printed(seatrial, "baseline", "list", archive=archive)["baselines"] == []
    seatrial("baseline", "show", "good", "--archive", archive, code=64)
    seatrial("runs", "list", "--archive", archive)


def test_others_can_read_it(archive: Path) -> None:
    """Its folder has the mode of any new folder, and not that of a private temporary one."""
    (archive / "plain").mkdir()
    plain = (archive / "plain").stat().st_mode
    assert (archive / "baselines" / "good" / "0001").stat().st_mode == plain


@pytest.mark.parametrize("name", ["../x", "a b", "", "x" * 101, ".new"])
def test_wrong_names_are_refused(name: str, archive: Path, seatrial: Seatrial) -> None:
    assert "not a valid name" in seatrial("baseline", "set", name, "h1", "--archive", archive, code=64).err


def test_the_name_of_a_run_is_refused(archive: Path, seatrial: Seatrial) -> None:
    assert "is the name of a run" in seatrial("baseline", "set", "h1", "h2", "--archive", archive, code=64).err


class TestDamage:
    """Files that are damaged are reported with their names."""

    def damaged(self, archive: Path, name: str, content: bytes, seatrial: Seatrial) -> str:
        (archive / "baselines" / "good" / "0001" / name).write_bytes(content)
        return seatrial("compare", "good", "s1", "--archive", archive, code=2).err

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("baseline.json", b"nonsense"),
            ("values.parquet", b"nonsense"),
            ("facts.json.gz", b"nonsense"),
            ("facts.json.gz", gzip.compress(b"[" * 100_000, mtime=0)),
            ("facts.json.gz", gzip.compress(b'{"n1": "\xff"}', mtime=0)),
        ],
    )
    def test_a_file_that_is_not_what_it_should_be(
        self, name: str, content: bytes, archive: Path, seatrial: Seatrial
    ) -> None:
        assert "cannot be read" in self.damaged(archive, name, content, seatrial)

    def test_a_damaged_baseline_hides_no_other(self, archive: Path, seatrial: Seatrial) -> None:
        shutil.copytree(archive / "baselines" / "good", archive / "baselines" / "bad")
        (archive / "baselines" / "bad" / "0001" / "baseline.json").write_bytes(b"nonsense")
        listed = printed(seatrial, "baseline", "list", archive=archive)
        assert [each["name"] for each in listed["baselines"]] == ["good"]
        ((name, version, problem),) = ((each["name"], each["version"], each["problem"]) for each in listed["damaged"])
        assert (name, version) == ("bad", 1)
        assert "baseline.json cannot be read" in problem
        assert "bad@1:" in seatrial("baseline", "list", "--archive", archive).out
        ran = seatrial("baseline", "show", "bad", "--archive", archive, code=2)
        assert "baseline drop bad deletes it" in ran.err

    def test_a_baseline_that_may_not_be_read_hides_no_other(self, archive: Path, seatrial: Seatrial) -> None:
        loop = archive / "baselines" / "loop"
        loop.symlink_to(loop)
        listed = printed(seatrial, "baseline", "list", archive=archive)
        assert [each["name"] for each in listed["baselines"]] == ["good"]
        assert [(each["name"], each["version"]) for each in listed["damaged"]] == [("loop", 0)]
        assert "loop:" in seatrial("baseline", "list", "--archive", archive).out.split()

    def test_a_damaged_version_is_named_and_can_be_replaced(self, archive: Path, seatrial: Seatrial) -> None:
        (archive / "baselines" / "good" / "0001" / "values.parquet").write_bytes(b"nonsense")
        assert run(["baseline", "set", "good", "h1", "--replace", "--archive", str(archive)]) == 0
        (archive / "baselines" / "good" / "0001" / "baseline.json").write_bytes(b"nonsense")
        shown = printed(seatrial, "baseline", "show", "good", archive=archive, code=2)
        assert [each["version"] for each in shown["baselines"]] == [2]
        assert [each["version"] for each in shown["damaged"]] == [1]

    @pytest.mark.parametrize("version", ["9" * 5000, "٣", "²", "-1", "x"])
    def test_a_version_that_is_no_number(self, version: str, archive: Path, seatrial: Seatrial) -> None:
        assert "There is no run" in seatrial("compare", f"good@{version}", "s1", "--archive", archive, code=64).err

    def test_another_thing_in_place_of_the_folder(self, archive: Path, seatrial: Seatrial) -> None:
        shutil.rmtree(archive / "baselines")
        (archive / "baselines").write_bytes(b"")
        assert printed(seatrial, "baseline", "list", archive=archive)["baselines"] == []
        assert "cannot be written" in seatrial("baseline", "set", "good", "h1", "--archive", archive, code=2).err

    def test_samples_that_are_a_device(self, archive: Path, seatrial: Seatrial) -> None:
        path = archive / "baselines" / "good" / "0001" / "values.parquet"
        path.unlink()
        path.symlink_to("/dev/zero")
        assert "leads out of the folder" in seatrial("compare", "good", "s1", "--archive", archive, code=2).err

    def test_a_later_format(self, archive: Path, seatrial: Seatrial) -> None:
        path = archive / "baselines" / "good" / "0001" / "baseline.json"
        later = json.loads(path.read_text()) | {"format": formats.BASELINE + 1}
        said = self.damaged(archive, "baseline.json", json.dumps(later).encode(), seatrial)
        assert f"has format {formats.BASELINE + 1}" in said
        assert "Use a newer version" in said
