"""The trial of storage: who is slow, what limits all of them, and what cannot be storage."""

import msgspec
import pytest

from seatrial.commands.nodes.judge import judge_nodes
from seatrial.judgement.nodes.peers import compare, outliers
from seatrial.judgement.nodes.storage import binding_limit
from seatrial.judgement.nodes.trials import judge_trials, trial_notes
from seatrial.model.measurement import Conditions, GroupMeasurement, Kernel
from seatrial.model.node_trials import Measure, NodeFigures, Storage, StorageRates
from seatrial.model.settings import Trial
from seatrial.model.verdict import FindingKind
from seatrial.render.finding_text import first_line
from seatrial.render.node_trials import in_words
from seatrial.statistics.estimates import median_estimate
from tests.support.builders import names
from tests.support.node_series import GOOD, Machine, recorded

FOUR = names(4)
ALIKE = dict.fromkeys(FOUR, GOOD)


def rates(stream: float, node: float | None, total: float | None) -> StorageRates:
    return StorageRates(
        reading=False, stream_bytes_per_s=stream, node_bytes_per_s=node, node_streams=8, total_bytes_per_s=total,
        total_streams=32, total_nodes=4,
    )  # fmt: skip


def changed(one: GroupMeasurement, **conditions: int) -> GroupMeasurement:
    return msgspec.structs.replace(one, conditions=Conditions(wall_s=1.0, **conditions))


@pytest.mark.parametrize(
    ("measured", "said"),
    [
        (
            rates(120e6, 410e6, 420e6),
            "one stream 120.0 MB/s, 8 streams of a node 410.0 MB/s, all 4 nodes 420.0 MB/s: one stream reaches 29 % of "
            "what a node does, a limit of each stream; the total limit is that of the file system, not of the nodes",
        ),
        (
            rates(400e6, 410e6, 1600e6),
            "one stream 400.0 MB/s, 8 streams of a node 410.0 MB/s, all 4 nodes 1.60 GB/s: more streams of a node are "
            "not faster; the nodes add up, no common limit is reached",
        ),
        (rates(400e6, None, None), "one stream 400.0 MB/s"),
        (rates(100e6, 130e6, None), "one stream 100.0 MB/s, 8 streams of a node 130.0 MB/s"),
    ],
)
def test_the_limit_that_binds_is_said_in_words(measured: StorageRates, said: str) -> None:
    assert in_words(measured) == said


@pytest.mark.parametrize(
    ("measured", "binds"),
    [
        (
            rates(120e6, 410e6, 420e6),
            "writing: the file system limits 4 nodes to 420.0 MB/s (one stream 120.0 MB/s, one node 410.0 MB/s)",
        ),
        (
            rates(120e6, 410e6, 1600e6),
            "writing: each stream is limited to 120.0 MB/s, a node reaches 410.0 MB/s (4 nodes 1.60 GB/s)",
        ),
        (
            rates(400e6, 410e6, 1600e6),
            "writing: each node is limited to 410.0 MB/s, and nodes add up (one stream 400.0 MB/s, 4 nodes 1.60 GB/s)",
        ),
        (rates(400e6, None, 1600e6), "writing: one stream 400.0 MB/s (4 nodes 1.60 GB/s)"),
        (rates(100e6, 130e6, None), "writing: each node is limited to 130.0 MB/s (one stream 100.0 MB/s)"),
    ],
)
def test_which_of_the_limits_binds_fits_into_a_first_line(measured: StorageRates, binds: str) -> None:
    assert binding_limit(Storage(write=measured)) == binds
    assert first_line(binds, 74)[0] == binds.partition(" (")[0] or len(binds) <= 74, "with PASS, in 80 columns"
    alike = msgspec.structs.replace(measured, reading=True)
    assert binding_limit(Storage(write=measured, read=alike)) == f"writing and reading: {binds.partition(': ')[2]}"
    assert binding_limit(None) == ""


@pytest.mark.parametrize(
    ("total", "slowest", "limit"),
    [
        (90e6, 25e6, "n1 limits 4 nodes to 90.0 MB/s (one stream 390.0 MB/s, one node 270.0 MB/s)"),
        (60e6, 100e6, "the file system limits 4 nodes to 60.0 MB/s (one stream 390.0 MB/s, one node 270.0 MB/s)"),
        (420e6, 260e6, "the file system limits 4 nodes to 420.0 MB/s (one stream 390.0 MB/s, one node 270.0 MB/s)"),
    ],
)
def test_a_node_for_which_all_others_wait_is_not_taken_for_the_file_system(
    total: float, slowest: float, limit: str
) -> None:
    """The file system was said to limit all nodes of a lab to three times the rate of its only slow mount."""
    measured = msgspec.structs.replace(rates(390e6, 270e6, total), slowest_node="n1", slowest_bytes_per_s=slowest)
    assert binding_limit(Storage(write=measured)) == f"writing: {limit}"
    assert f"the total limit is that of {limit.partition(' limits')[0]}, " in in_words(measured)


def test_the_slowest_node_is_that_of_the_figures() -> None:
    run = recorded({**ALIKE, "n3": Machine(storage=0.1)}, trials=(Trial.STORAGE,))
    storage = judge_trials(run.group_measurements, run.facts).storage
    assert storage is not None
    assert storage.write is not None
    assert storage.write.slowest_node == "n3"
    assert storage.write.slowest_bytes_per_s < 0.2 * (storage.write.node_bytes_per_s or 0.0)


WRITES = {"n1": (20e6, 18e6, 48e6), "n2": (514e6, 380e6, 530e6), "n3": (389e6, 391e6, 385e6)}
"""Rates of a lab: n1 is limited to 20 MB/s, and bursts; the others differ by a third."""


def test_a_node_beyond_the_line_is_not_passed_over_though_its_peers_scatter() -> None:
    figures = [
        NodeFigures(
            node=name,
            values={Measure.STREAM_WRITE: median_estimate(runs)},
            runs={Measure.STREAM_WRITE: dict(enumerate(runs))},
        )
        for name, runs in WRITES.items()
    ]
    (comparison,) = compare(figures, {})
    assert comparison.resolution > 0.75, "a node that does half as much would not be named"
    (outlier,) = outliers(figures, (comparison,))
    assert (outlier.node, outlier.proved) == ("n1", False)


def test_the_first_line_of_a_trial_of_storage_names_it() -> None:
    run = recorded(ALIKE, trials=(Trial.STORAGE,))
    result = judge_nodes(run)
    assert result.reason.startswith("writing: the file system limits 4 nodes to 4")


def test_a_gateway_is_described_and_nobody_named() -> None:
    run = recorded(ALIKE, trials=(Trial.STORAGE,))
    trials = judge_trials(run.group_measurements, run.facts)
    assert trials.findings == ()
    assert trials.storage is not None
    assert trials.storage.write is not None
    assert trials.storage.write.stream_bytes_per_s == pytest.approx(120e6, rel=0.01)
    assert trials.storage.write.total_bytes_per_s == pytest.approx(420e6, rel=0.01)
    assert (trials.storage.write.node_streams, trials.storage.write.total_nodes) == (4, 4)
    assert len(trials.figures) == 4
    assert trials.figures[0].values[Measure.FILES].value == pytest.approx(200e-6, rel=0.02)


def test_a_slow_mount_is_named_with_its_number() -> None:
    run = recorded({**ALIKE, "n3": Machine(storage=0.4)}, trials=(Trial.STORAGE,))
    (finding,) = judge_trials(run.group_measurements, run.facts).findings
    assert (finding.kind, finding.subject.text) == (FindingKind.SLOW_STORAGE, "node:n3")
    assert finding.of_peers is not None
    assert finding.of_peers.value == pytest.approx(0.4, abs=0.02) or finding.of_peers.value == pytest.approx(
        2.5, abs=0.1
    )


def test_what_is_faster_than_memory_is_invalid_and_not_compared() -> None:
    machines = {**dict.fromkeys(FOUR, Machine(storage=200.0)), "n3": Machine(storage=100.0)}
    run = recorded(machines, trials=(Trial.MEMORY, Trial.STORAGE))
    trials = judge_trials(run.group_measurements, run.facts)
    assert not any(Measure.STREAM_WRITE in each.values for each in trials.figures if each.node != "n3")
    assert any(note.startswith("INVALID: writing of one stream on n1 is") for note in trial_notes(trials, run.facts))


def test_a_node_that_cannot_write_is_not_measured_and_the_reason_is_said() -> None:
    run = recorded(ALIKE, trials=(Trial.STORAGE,))
    measured = [changed(one, failed=28) if one.nodes[0].startswith("n2") else one for one in run.group_measurements]
    trials = judge_trials(measured, run.facts)
    assert "Storage was not measured on n2: no space left." in trial_notes(trials, run.facts)
    assert all(not each.values for each in trials.figures if each.node == "n2")
    odd = [changed(one, failed=99) if one.nodes[0].startswith("n2") else one for one in run.group_measurements]
    assert "Storage was not measured on n2: error 99." in trial_notes(judge_trials(odd, run.facts), run.facts)


def test_the_page_cache_is_said() -> None:
    run = recorded(ALIKE, trials=(Trial.STORAGE,))
    measured = [changed(one, cached=1) for one in run.group_measurements if one.shape.kernel is Kernel.STORAGE_WRITE]
    assert any("refuses O_DIRECT" in note for note in trial_notes(judge_trials(measured, run.facts), run.facts))
