"""What the first line of a comparison claims: what was compared, and what is not shown."""

import json
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import ArrayLike

from seatrial.commands.baseline.run import Replacement
from seatrial.commands.baseline.view import hidden
from seatrial.commands.compare.view import comparison_report
from seatrial.commands.compare.wording import in_one_text, sentence
from seatrial.judgement.comparison.judge import RunSet, compare
from seatrial.judgement.comparison.records import Comparison
from seatrial.model.errors import ExitCode
from seatrial.model.imported import Sense
from seatrial.model.measurement import Kernel, Phase
from seatrial.model.run_values import MetricTable, RunMetric
from seatrial.model.verdict import ComparisonOutcome
from seatrial.render.json import json_text
from tests.support.run_tables import LATENCY, summaries, table, table_of

TRIAD = RunMetric(phase=Phase.SURVEY, variant="triad [B/s]", kernel=Sense.HIGHER, message_bytes=0, window_messages=0)
ALL = ("n1", "n2", "n3", "n4")


def of_nodes(rows: ArrayLike) -> MetricTable:
    """Rows are runs, columns are nodes."""
    return table_of(TRIAD, tuple((node, node) for node in ALL), np.array(rows))


def compared(tables: list[MetricTable], nodes: Sequence[str] = ALL, runs: int = 3) -> Comparison:
    first = RunSet(name="A", runs=summaries(1, runs, nodes=ALL))
    second = RunSet(name="B", runs=summaries(1 + runs, runs, nodes=tuple(nodes)))
    return compare(first, second, tables)


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ([table((3, 3))], "all pairs together within 2.0 %;"),
        ([table((3, 3)), table((3, 3), metric=LATENCY)], "all pairs together within 2.0 % in every metric;"),
        ([of_nodes(np.full((6, 4), 100.0))], "all nodes together within 2.0 %;"),
        (
            [table((3, 3)), of_nodes(np.full((6, 4), 100.0))],
            "all pairs together and all nodes together within 2.0 % in every metric;",
        ),
        ([of_nodes([[100.0, np.nan, np.nan, np.nan]] * 6)], "n1 within 2.0 %;"),
    ],
    ids=["pairs", "two metrics", "nodes", "both", "one subject"],
)
def test_same_says_what_was_compared(tables: list[MetricTable], words: str) -> None:
    found = compared(tables)
    assert found.outcome is ComparisonOutcome.SAME
    assert sentence(found).startswith(words)


def test_same_names_the_undecided_node_that_lost_most() -> None:
    rows = [[100.0, 100.1, 100.0, 99.9]] * 3 + [[100.0, 100.0, 100.0, 100.0]] * 2
    found = compared([of_nodes([*rows[:2], *rows[3:4], [100.0, 100.0, 55.0, 100.0]])], runs=2)
    assert (found.outcome, found.metrics[0].together.outcome) == (
        ComparisonOutcome.INCONCLUSIVE,
        ComparisonOutcome.SAME,
    )
    assert sentence(found).startswith("not decided for 1 of 4 nodes, worst n3: triad [B/s] 25.8 % lower (95 % CI -")
    assert "; all nodes together within 2.0 %; 2 runs compared" in sentence(found)
    report = comparison_report(found)
    assert (report.word, report.exit_code) == ("INCONCLUSIVE", ExitCode.INCOMPLETE)
    data = json.loads(json_text(report.payload()))
    assert data["outcome"] == "inconclusive"
    assert data["worst"] == data["undecided"] == data["metrics"][0]["undecided"]
    assert data["worst"]["subject"] == "node:n3"
    (lost,) = hidden(Replacement(name="good", replaced=1, comparison=found))
    assert lost.subject.text == "node:n3", "a baseline of these runs may hide it"


@pytest.mark.parametrize(("low", "code"), [(98.2, ExitCode.PASS), (93.0, ExitCode.INCOMPLETE)])
def test_a_good_outcome_is_withheld_if_an_undecided_node_lost_as_much_as_matters(low: float, code: ExitCode) -> None:
    rows = np.array([[100.0, 100.1, 100.0, 99.9], [100.1, 100.0, 99.9, 100.0]] * 2)
    rows[2:, :2] *= 1.2
    rows[3, 2] = low
    found = compared([of_nodes(rows)], runs=2)
    assert found.outcome is ComparisonOutcome.FASTER
    assert comparison_report(found).exit_code is code
    assert ("not decided for 1 of 4 nodes, worst n3: " in sentence(found)) is (code is not ExitCode.PASS)


def test_runs_of_the_same_values_are_noted() -> None:
    rows = np.random.default_rng(3).normal(100, 0.1, (6, 4))
    assert not any("same values" in note for note in compared([of_nodes(rows)]).notes)
    rows[4] = rows[0]
    note = next(note for note in compared([of_nodes(rows)]).notes if "same values" in note)
    assert note.startswith("r1, r5 have exactly the same values. If they are one measurement, or are rounded, ")


def test_all_decided_is_not_in_the_line() -> None:
    found = compared([table((3, 3))])
    assert found.metrics[0].undecided is None
    assert "not decided" not in sentence(found)
    assert "not measured again" not in sentence(found)


@pytest.mark.parametrize("change", [1.0, 1.1])
def test_a_node_that_is_gone_is_named_beside_a_good_outcome(change: float) -> None:
    rows = np.full((6, 4), 100.0) * np.array([[1.0]] * 3 + [[change]] * 3)
    rows[3:, 2] = np.nan
    found = compared([of_nodes(rows)], nodes=("n1", "n2", "n4"))
    assert found.outcome is (ComparisonOutcome.SAME if change == 1 else ComparisonOutcome.FASTER)
    assert "; not measured again: n3; " in sentence(found)
    assert in_one_text(found.metrics[0]) == "triad [B/s]: 3 in both, 1 in one of them alone"


def of_curve(size: int, change: float, kernel: Kernel = Kernel.ONEWAY, of_runs: float = 0.003) -> MetricTable:
    metric = RunMetric(phase=Phase.CURVE, variant="", kernel=kernel, message_bytes=size, window_messages=1)
    values = np.random.default_rng(size).normal(1, of_runs, (6, 1)) * np.array([[1.0]] * 3 + [[change]] * 3)
    return table_of(metric, (("n1", "n2"),), values)


def test_a_curve_is_named_by_the_bandwidth_at_its_largest_size_and_the_sizes_that_gain() -> None:
    rates = [of_curve(size, change) for size, change in ((64, 1.0), (4096, 2.2), (1 << 16, 1.9), (1 << 20, 2.0))]
    found = compared([*rates, of_curve(16, 0.02, Kernel.PINGPONG)], nodes=ALL)
    assert found.outcome is ComparisonOutcome.FASTER
    said = sentence(found)
    assert said.startswith("n1>n2: bandwidth 1 MiB, curve 100.8 % higher")
    assert "); faster at 3 of 4 sizes, 4 KiB to 1 MiB; " in said
    slower = compared([*rates, of_curve(16, 1.5, Kernel.PINGPONG)], nodes=ALL)
    assert sentence(slower).startswith("n1>n2: latency 16 B, curve ")
    assert "); slower at 1 of 1 size; " in sentence(slower)
