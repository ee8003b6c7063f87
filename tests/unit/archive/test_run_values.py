"""Values of runs in columns: what reports mean by latency and bandwidth, and the conditions of a run."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import numpy as np
import pytest

from seatrial.archive import layout, reader
from seatrial.archive.export import samples_file
from seatrial.archive.reader import read_run
from seatrial.archive.run_sets import find_runs, read_summary, runs_between
from seatrial.archive.run_values import ValuesFile, read_tables, write_values
from seatrial.locate.evidence import deciding
from seatrial.model.errors import SeatrialError
from seatrial.model.run_values import VerifiedData
from seatrial.model.units import BANDWIDTH
from seatrial.model.words import utc_text
from seatrial.statistics.estimates import median
from tests.support.builders import Cluster, names, record, sail, slow_part
from tests.support.evidence import gather
from tests.support.paths import DATA
from tests.support.run_archives import healthy_run

AHEAD_S = 600.0


def values_file(folder: Path) -> ValuesFile:
    return ValuesFile(path=samples_file(folder), run=folder.name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cluster = Cluster(nodes=names(4), parts=slow_part("node", "n2", 0.6), noise=0.02)
    return record(cluster, tmp_path_factory.mktemp("archive"), "run")


def test_values_are_those_that_verdicts_are_made_from(folder: Path) -> None:
    """The runs of the retest decide where there are any, as in `locate.evidence`."""
    evidence = gather(read_run(folder).measurements)
    tables = read_tables([values_file(folder)])
    assert {table.metric.unit for table in tables} == {BANDWIDTH, "latency_s"}
    for table in tables:
        for pair, value in zip(table.pairs, table.values[0], strict=True):
            of_pair = evidence[pair]
            runs = deciding(of_pair.bandwidth if table.metric.unit == BANDWIDTH else of_pair.latency)
            assert value == pytest.approx(median(runs), rel=1e-12), (table.metric.name, pair)


def test_a_run_that_lacks_a_pair_has_no_number_there(folder: Path, tmp_path: Path) -> None:
    other = record(Cluster(nodes=names(3)), tmp_path, "small")
    tables = read_tables([values_file(folder), values_file(other)])
    bandwidth = next(table for table in tables if table.metric.unit == BANDWIDTH)
    assert bandwidth.values.shape == (2, 12)
    assert np.isnan(bandwidth.values[1]).sum() == 6
    assert not np.isnan(bandwidth.values[0]).any()


def test_a_baselines_file_gives_the_same_tables(folder: Path, tmp_path: Path) -> None:
    write_values([values_file(folder)], tmp_path / "values.parquet")
    kept = ValuesFile(path=tmp_path / "values.parquet", run="run", in_baseline=True)
    for before, after in zip(read_tables([values_file(folder)]), read_tables([kept]), strict=True):
        assert before.metric == after.metric
        assert before.pairs == after.pairs
        assert np.array_equal(before.values, after.values)
        assert before.compared == after.compared == (VerifiedData.ENDS,)


def test_rounds_of_two_iterations_compare_as_those_of_more(tmp_path: Path) -> None:
    """On a fabric that became slow, first and last are all iterations; `compare` refused the two runs."""
    recorded = sail(Cluster(nodes=names(3)))
    few = [msgspec.structs.replace(one, times_s=one.times_s[:2]) for one in recorded.measurements]
    slow = msgspec.structs.replace(recorded, measurements=tuple(few))
    folder = record(Cluster(nodes=names(3)), tmp_path, "slow", slow)
    assert {table.compared for table in read_tables([values_file(folder)])} == {(VerifiedData.ENDS,)}


@pytest.mark.parametrize(("kind", "name"), [("curve", "latency 8 KiB"), ("saturate", "2 ranks")])
def test_curves_and_saturations(kind: str, name: str, tmp_path: Path) -> None:
    shutil.copytree(DATA / "archives" / kind, tmp_path / kind)
    tables = read_tables([values_file(tmp_path / kind)])
    chosen = [table for table in tables if name in table.metric.name]
    assert chosen
    for table in chosen:
        assert len(table.pairs) == 1
        assert (table.values > 0).all()


def test_ranks_of_a_node_at_once_count_as_one_pair_that_carries_the_sum(tmp_path: Path) -> None:
    shutil.copytree(DATA / "archives" / "saturate", tmp_path / "saturate")
    tables = read_tables([values_file(tmp_path / "saturate")])
    largest = max(table.metric.message_bytes for table in tables if table.metric.unit == BANDWIDTH)
    rate = {
        table.metric.variant: float(table.values[0, 0])
        for table in tables
        if table.metric.unit == BANDWIDTH and table.metric.message_bytes == largest
    }
    assert set(rate) == {"1 ranks", "2 ranks"}
    assert table_pairs(tables) == {("n1", "n2")}


def table_pairs(tables: tuple[object, ...]) -> set[tuple[str, str]]:
    return {pair for table in tables for pair in table.pairs}  # type: ignore[attr-defined]


def test_the_conditions_of_a_run(tmp_path: Path) -> None:
    shutil.copytree(DATA / "archives" / "check", tmp_path / "check")
    found = read_summary(tmp_path / "check")
    assert (found.kind, found.launcher, found.ranks_per_node, found.seconds) == ("check", "local", 2.0, 6.0)
    assert found.mpi_library.startswith("Open MPI v4.1.4")


def test_open_runs_have_no_summary(tmp_path: Path) -> None:
    folder = healthy_run(tmp_path, 1)
    with pytest.raises(SeatrialError, match="still growing"):
        read_summary(folder.rename(folder.with_name(f"h1{layout.PARTIAL}")))


def test_runs_of_a_range_of_dates(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        healthy_run(tmp_path, number, nodes=2)
    found = {
        words: [folder.name for folder in runs_between(tmp_path, words, pytest.fail)]
        for words in ("..", "2026-11-02..", "..2026-11-01", "2026-11-02..2026-11-02", "2026-11-02T10:00:01..2026-11-03")
    }
    assert list(found.values()) == [["h1", "h2", "h3"], ["h2", "h3"], ["h1"], ["h2"], ["h3"]]


@pytest.mark.parametrize(("ahead_s", "expected"), [(AHEAD_S - 60, ["h1", "h2"]), (AHEAD_S + 60, ["h1"])])
def test_a_run_of_a_clock_that_was_ahead_is_never_the_newest_of_a_range(
    ahead_s: float, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "AHEAD_S", AHEAD_S)
    healthy_run(tmp_path, 1, nodes=2)
    started = utc_text(datetime.now(UTC) + timedelta(seconds=ahead_s))
    record(Cluster(nodes=names(2)), tmp_path, "h2", started=started, ended=started)
    found = find_runs(tmp_path, "..")
    assert [run.summary.run for run in found.runs] == expected
    assert len(found.left_out) == 2 - len(expected)
    assert [run.summary.run for run in find_runs(tmp_path, "h1,h2").runs] == ["h1", "h2"], "one that is named counts"
