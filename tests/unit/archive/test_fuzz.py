"""Runs whose files were damaged in any way: a sentence and exit code 2, or a sane report; never a traceback or 70."""

import json
import random
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from seatrial.archive.reader import read_run
from seatrial.commands.check.judge import judge
from seatrial.commands.link.curve.judge import judge_curve
from seatrial.commands.link.saturate.judge import judge_saturation
from seatrial.frame.command_line import run
from seatrial.model.errors import SeatrialError
from tests.support.builders import Cluster, leaves, names, record, slow_part, without_checksums
from tests.support.launchers import launching_with
from tests.support.properties import examples
from tests.support.scripted import ScriptedLauncher

NUMBERS = (0, -1, 1, 2**31, 2**53 + 1, 2**62, 2**63, 2**64, 0.0, -0.0, 5e-324, 1e-300, 1e-12, 1e9, 1e308, -1e308)
WORDS = ("", "n1", "n9", "n\x1b[31m", "²", "@x", "x" * 300, "retest", "survey", "pingpong", "oneway", "\ud800")
OTHERS: tuple[Any, ...] = (None, [], {}, True, [5e-324] * 3, [1e308] * 3, [0.0] * 3, [1e308, 5e-324], ["n1", "n1"])
values = st.sampled_from((*NUMBERS, *WORDS, *OTHERS))
keys = st.sampled_from(
    ("times_s", "warmup_times_s", "message_bytes", "window", "iterations", "errors", "pairs_at_once", "repetition")
)
FEW = settings(max_examples=examples(8), deadline=None, suppress_health_check=list(HealthCheck))
FEWER = settings(FEW, max_examples=examples(4))


def places(value: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value inside."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in inside:
        yield (*here, key)
        yield from places(child, (*here, key))


def put(value: Any, way: tuple[Any, ...], new: Any) -> Any:
    if not way:
        return new
    changed = value.copy()
    changed[way[0]] = put(value[way[0]], way[1:], new)
    return changed


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    archive = tmp_path_factory.mktemp("fuzz")
    cluster = Cluster(nodes=names(4), leaf_of=leaves(2, 2), parts=slow_part("node", "n2", 0.6))
    record(cluster, archive, "run")
    with launching_with(ScriptedLauncher(Cluster(nodes=names(2)))):
        assert run(["link", "--run", "curve", "--max-size", "2KiB", "--archive", str(archive)]) in (0, 1, 2)
        assert run(["link", "--run", "saturation", "--ranks-per-node", "1,2", "--archive", str(archive)]) in (0, 1, 2)
    return archive


def refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


read_strictly = partial(json.loads, parse_constant=refuse)


def look(folder: Path, capsys: pytest.CaptureFixture[str], *commands: tuple[str, ...]) -> None:
    """Let each of the commands read the run in `folder`."""
    for words in commands:
        code = run([*words, "--archive", str(folder.parent)])
        out, err = capsys.readouterr()
        assert code in (0, 1, 2), (words, err)
        assert "Traceback" not in err and "\x1b" not in out + err
        if "--json" in words and out:
            read_strictly(out)


def damaged(good: Path, folder: Path, kind: str) -> Path:
    """A copy of a good run, which may be damaged, without the checksums that would show it first."""
    shutil.rmtree(folder, ignore_errors=True)
    return without_checksums(Path(shutil.copytree(good / kind, folder / "run")))


KINDS = st.sampled_from(("run", "run", "curve", "saturation"))
REPORTS = (("report", "run"), ("report", "run", "--json"))


@FEW
@given(kind=KINDS, key=keys, value=values, share=st.sampled_from((1.0, 0.5, 0.1)), seed=st.integers(0, 99))
@example(kind="curve", key="message_bytes", value=0, share=0.5, seed=0)
def test_measurements_of_impossible_times_and_counts(
    good: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    kind: str,
    key: str,
    value: Any,
    share: float,
    seed: int,
) -> None:
    folder = damaged(good, tmp_path / "archive", kind)
    draw, lines = random.Random(seed), []
    for line in (folder / "journal.jsonl").read_bytes().splitlines():
        entry = json.loads(line)
        if entry["entry"] == "measurement" and draw.random() < share:
            measured = entry["measurement"]
            box = measured if key in measured else measured["shape"]
            several = key.endswith("times_s") and isinstance(value, int | float)
            box[key] = [value] * len(box[key]) if several else value
        lines.append(json.dumps(entry))
    (folder / "journal.jsonl").write_text("\n".join(lines) + "\n")
    look(folder, capsys, *REPORTS)


@FEW
@given(
    kind=KINDS,
    changes=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6), values), min_size=1, max_size=4),
)
@example(kind="run", changes=[(21, 3821, [5e-324] * 3)])
def test_journals_with_other_values_anywhere(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, changes: list[tuple[int, int, Any]]
) -> None:
    folder = damaged(good, tmp_path / "archive", kind)
    entries = [json.loads(line) for line in (folder / "journal.jsonl").read_bytes().splitlines()]
    for line, way, value in changes:
        entry = entries[line % len(entries)]
        ways = list(places(entry))
        entries[line % len(entries)] = put(entry, ways[way % len(ways)], value)
    (folder / "journal.jsonl").write_text("\n".join(map(json.dumps, entries)) + "\n")
    look(folder, capsys, *REPORTS)


@FEW
@given(
    kind=KINDS,
    cut=st.integers(0, 10**6),
    changes=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=4),
)
def test_journals_with_other_bytes_or_cut_off(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, cut: int, changes: list[tuple[int, int]]
) -> None:
    folder = damaged(good, tmp_path / "archive", kind)
    content = bytearray((folder / "journal.jsonl").read_bytes())
    for place, byte in changes:
        content[place % len(content)] = byte
    (folder / "journal.jsonl").write_bytes(content[: len(content) - cut % len(content) if cut % 2 else None])
    look(folder, capsys, *REPORTS)


@FEW
@given(kind=KINDS, changes=st.lists(st.tuples(st.integers(0, 10**6), values), min_size=1, max_size=3))
def test_descriptions_with_other_values(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, changes: list[tuple[int, Any]]
) -> None:
    folder = damaged(good, tmp_path / "archive", kind)
    described = json.loads((folder / "run.json").read_bytes())
    for way, value in changes:
        ways = list(places(described))
        described = put(described, ways[way % len(ways)], value)
    (folder / "run.json").write_text(json.dumps(described))
    look(folder, capsys, *REPORTS, ("runs", "list"), ("runs", "list", "--json"))


@FEWER
@given(key=keys, value=values, seed=st.integers(0, 99))
def test_samples_are_shown_and_exported_or_refused(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str, value: Any, seed: int
) -> None:
    test_measurements_of_impossible_times_and_counts.hypothesis.inner_test(  # type: ignore[attr-defined]
        good, tmp_path, capsys, "run", key, value, 0.5, seed
    )
    folder = tmp_path / "archive" / "run"
    (folder / "samples.parquet").unlink(missing_ok=True)
    look(
        folder,
        capsys,
        ("runs", "show", "run", "--json"),
        ("runs", "show", "run"),
        ("runs", "export", "run", "--format", "jsonl", "--output", str(tmp_path / "samples.jsonl")),
        ("report", "run", "--html", str(tmp_path / "page.html")),
    )


def test_values_at_the_ends_of_the_scale_give_numbers(good: Path, tmp_path: Path) -> None:
    """The judgement itself, of times that the journal admits."""
    for kind, judged in (("run", judge), ("curve", judge_curve), ("saturation", judge_saturation)):
        for time_s in (0.0, 5e-324, 1e9):
            folder = damaged(good, tmp_path / f"{kind}{time_s}", kind)
            journal = folder / "journal.jsonl"
            entries = [json.loads(line) for line in journal.read_bytes().splitlines()]
            for entry in entries:
                if entry["entry"] == "measurement":
                    entry["measurement"]["times_s"] = [time_s] * len(entry["measurement"]["times_s"])
            journal.write_text("\n".join(map(json.dumps, entries)) + "\n")
            judged(read_run(folder))


@pytest.mark.parametrize("time_s", ["1e308", "-1e308", "-5e-324", "1000000001"])
def test_times_that_no_clock_gives_are_damage(good: Path, tmp_path: Path, time_s: str) -> None:
    folder = damaged(good, tmp_path / "archive", "run")
    lines = (folder / "journal.jsonl").read_text().splitlines()
    place = next(place for place, line in enumerate(lines) if '"measurement"' in line)
    entry = json.loads(lines[place])
    entry["measurement"]["times_s"][0] = float(time_s)
    lines[place] = json.dumps(entry)
    (folder / "journal.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.raises(SeatrialError, match="cannot be read"):
        read_run(folder)


def test_a_repetition_beyond_every_count_takes_no_time(good: Path, tmp_path: Path) -> None:
    folder = damaged(good, tmp_path / "archive", "curve")
    journal = folder / "journal.jsonl"
    journal.write_text(journal.read_text().replace('"repetition":1,', '"repetition":4611686018427387904,'))
    judge_curve(read_run(folder))
