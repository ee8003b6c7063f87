"""Two sets of runs: what is slower, faster, the same or undecided, and which conditions refuse a comparison."""

import msgspec
import numpy as np
import pytest

from seatrial.commands.compare.wording import sentence
from seatrial.judgement.comparison.judge import RunSet, compare
from seatrial.judgement.comparison.records import Comparison
from seatrial.model.errors import UsageError
from seatrial.model.facts import NodeFacts
from seatrial.model.imported import Sense
from seatrial.model.measurement import Phase
from seatrial.model.run_values import MetricTable, RunMetric, VerifiedData
from seatrial.model.verdict import ComparisonOutcome
from tests.support.builders import names
from tests.support.facts_examples import server
from tests.support.limits_examples import hca, intel
from tests.support.run_tables import BANDWIDTH, LATENCY, complete_pairs, summaries, table, table_of


def compared(tables: list[MetricTable], runs: tuple[int, int] = (5, 5), **options: object) -> Comparison:
    first = RunSet(name="A", runs=summaries(1, runs[0]))
    second = RunSet(name="B", runs=summaries(1 + runs[0], runs[1]))
    return compare(first, second, tables, **options)  # type: ignore[arg-type]


def named(found: Comparison, outcome: ComparisonOutcome = ComparisonOutcome.SLOWER) -> set[str]:
    return {row.subject.text for metric in found.metrics for row in metric.changed if row.outcome is outcome}


def test_a_slow_node_is_named_with_an_interval_that_holds_its_loss() -> None:
    found = compared([table((5, 5), slow={"n3": 0.9})])
    assert found.outcome is ComparisonOutcome.SLOWER
    assert found.worst is not None and found.worst.subject.text == "node:n3"
    assert found.worst.ratio.low < 0.9 < found.worst.ratio.high
    assert named(found) == {"node:n3"}
    assert found.metrics[0].nodes.same >= 6


def test_all_pairs_slower_are_one_row_and_not_one_for_each() -> None:
    found = compared([table((5, 5), everything=0.95)])
    assert found.outcome is ComparisonOutcome.SLOWER
    assert found.worst is not None and found.worst.subject.text == "fabric:all"
    assert found.worst.ratio.low < 0.95 < found.worst.ratio.high
    assert found.metrics[0].changed == ()


def test_a_higher_latency_is_slower_and_a_lower_one_faster() -> None:
    assert compared([table((5, 5), metric=LATENCY, everything=1.1)]).outcome is ComparisonOutcome.SLOWER
    assert compared([table((5, 5), metric=LATENCY, everything=0.9)]).outcome is ComparisonOutcome.FASTER
    worse = compared([table((5, 5), metric=LATENCY, everything=1.25)]).worst
    assert worse is not None and worse.loss == pytest.approx(0.2, abs=0.01)


def test_no_change_is_shown_to_be_none_with_enough_runs_and_open_with_few() -> None:
    assert compared([table((5, 5))]).outcome is ComparisonOutcome.SAME
    few = compared([table((2, 2), of_runs=0.02)], (2, 2))
    assert few.outcome is ComparisonOutcome.INCONCLUSIVE
    assert few.worst is not None and few.worst.more_runs is not None and few.worst.more_runs >= 1


@pytest.mark.parametrize("seed", [0, 3, 5])
def test_the_first_line_of_an_open_comparison_names_what_is_nearest_to_a_decision(seed: int) -> None:
    """On a busy machine, a latency that runs varied by 175 % was named, and not a bandwidth 5 % lower."""
    tables = [
        table((4, 4), nodes=4, everything=0.94, of_runs=0.03, seed=seed),
        table((4, 4), nodes=4, metric=LATENCY, of_runs=1.5, seed=100 + seed),
    ]
    found = compared(tables, (4, 4))
    assert found.outcome is ComparisonOutcome.INCONCLUSIVE
    assert found.worst is not None and found.worst.metric == BANDWIDTH


@pytest.mark.parametrize("seed", range(20))
def test_with_no_change_planted_nothing_is_slower_or_faster(seed: int) -> None:
    tables = [table((3, 3), nodes=5, seed=seed), table((3, 3), nodes=5, metric=LATENCY, seed=100 + seed)]
    assert compared(tables, (3, 3)).outcome in (ComparisonOutcome.SAME, ComparisonOutcome.INCONCLUSIVE)


def draws_of_nodes(changes: list[float], deviation: float, count: int, runs: int = 5) -> list[Comparison]:
    """Comparisons of a figure of nodes; `changes`: the factor on each node's values in the second set."""
    metric = RunMetric(phase=Phase.SURVEY, variant="f [B/s]", kernel=Sense.HIGHER, message_bytes=0, window_messages=0)
    nodes, chance = tuple((name, name) for name in names(len(changes))), np.random.default_rng(7)
    found = []
    for _ in range(count):
        logs = chance.normal(0, deviation, (2 * runs, 1)) + chance.normal(0, deviation, (2 * runs, len(nodes)))
        logs[runs:] += np.log(changes)
        found.append(compared([table_of(metric, nodes, 1e9 * np.exp(logs))], (runs, runs)))
    return found


def test_nodes_that_did_not_change_are_not_named_where_half_of_the_nodes_did() -> None:
    """All of them differ from the middle of all: the interval of each, of 95 %, named one of 40 by chance."""
    healthy, wrong = {f"node:{name}" for name in names(16)[8:]}, 0
    for change, outcome in ((0.5, ComparisonOutcome.SLOWER), (1.5, ComparisonOutcome.FASTER)):
        found = draws_of_nodes([change] * 8 + [1.0] * 8, 0.02, 40)
        assert all(len(named(each, outcome) - healthy) == 8 for each in found)
        wrong += sum(len(healthy & (named(each) | named(each, ComparisonOutcome.FASTER))) for each in found)
    assert wrong <= 2


def test_a_change_of_all_that_does_not_matter_is_no_change_of_single_nodes() -> None:
    found = draws_of_nodes([0.99] * 16, 0.003, 30)
    assert not any(named(each) for each in found)
    assert sum(each.outcome is ComparisonOutcome.SAME for each in found) >= 25
    assert all("node:n1" in named(each) for each in draws_of_nodes([0.95] + [0.99] * 15, 0.003, 5))


def test_one_run_each_decides_nothing_and_names_who_changed_otherwise() -> None:
    found = compared([table((1, 1), slow={"n3": 0.8})], (1, 1))
    assert found.outcome is ComparisonOutcome.INCONCLUSIVE
    assert found.worst is not None and found.worst.subject.text == "node:n3"
    assert found.worst.deviates and (found.worst.more_runs or 0) >= 1
    assert any("One run each" in note for note in found.notes)


def test_one_bad_run_of_several_is_not_slower() -> None:
    found = compared([table((5, 5), slow={"n3": 0.7}, only_last=True)])
    assert named(found) == set()


def test_a_pair_needs_two_runs_and_a_node_is_seen_over_several_pairs() -> None:
    values = table((5, 1), nodes=6).values
    pairs = complete_pairs(6)
    values[5, pairs.index(("n1", "n2"))] *= 0.5
    assert named(compared([table_of(BANDWIDTH, pairs, values)], (5, 1))) == set()
    slow = table((5, 1), nodes=6, slow={"n2": 0.9})
    assert named(compared([slow], (5, 1))) == {"node:n2"}


def test_a_pair_is_named_where_its_nodes_do_not_explain_it() -> None:
    values = table((3, 3), nodes=6).values
    pairs = complete_pairs(6)
    values[3:, pairs.index(("n1", "n2"))] *= 0.5
    assert named(compared([table_of(BANDWIDTH, pairs, values)], (3, 3))) == {"pair:n1>n2"}


def test_a_single_pair_is_its_own_subject() -> None:
    values = 1e9 * np.exp(np.random.default_rng(1).normal(0, 0.003, (8, 1)))
    values[4:] *= 0.8
    found = compared([table_of(BANDWIDTH, (("n1", "n2"),), values)], (4, 4))
    assert found.outcome is ComparisonOutcome.SLOWER
    assert found.worst is not None and found.worst.subject.text == "pair:n1>n2"


@pytest.mark.parametrize(
    ("field", "value", "condition"),
    [
        ("mpi_library", "MPICH 4.1", "mpi-library"),
        ("launcher", "ssh", "launcher"),
        ("ranks_per_node", 2.0, "ranks-per-node"),
        ("environment", "module:gcc", "environment"),
        ("kind", "curve", "command"),
        ("mpirun_options", ("--bind-to", "none"), "mpirun-options"),
    ],
)
def test_an_unlike_condition_is_refused_by_name_and_permitted_on_request(
    field: str, value: object, condition: str
) -> None:
    first = RunSet(name="A", runs=summaries(1, 3))
    second = RunSet(name="B", runs=summaries(4, 3, **{field: value}))
    with pytest.raises(UsageError, match=rf"{condition}: .*--across {condition}"):
        compare(first, second, [table((3, 3))])
    found = compare(first, second, [table((3, 3))], across=(condition,))
    assert [each.condition for each in found.across] == [condition]


def test_a_run_that_differs_within_its_own_set_is_refused() -> None:
    mixed = (*summaries(1, 1), *summaries(2, 1, launcher="ssh"))
    with pytest.raises(UsageError, match="launcher: slurm and ssh and slurm"):
        compare(RunSet(name="A", runs=mixed), RunSet(name="B", runs=summaries(3, 2)), [table((2, 2))])


def refused(changed: MetricTable, condition: str) -> None:
    with pytest.raises(UsageError, match=condition):
        compared([changed], (2, 2))


def test_conditions_of_the_measurements_are_refused_by_name() -> None:
    whole = table((2, 2))
    change = msgspec.structs.replace
    refused(
        change(whole, compared=(VerifiedData.ENDS, VerifiedData.ENDS, VerifiedData.ALL, VerifiedData.ALL)),
        "verification",
    )
    refused(change(whole, pairs_at_once=np.array([1.0, 1.0, 4.0, 4.0])), "pairs-at-once: 1 and 4")
    values = whole.values.copy()
    values[:2, : len(whole.pairs) // 2] = np.nan
    values[2:, len(whole.pairs) // 2 :] = np.nan
    apart = tuple((f"a{n}", f"b{n}") if n < len(whole.pairs) // 2 else (f"c{n}", f"d{n}") for n in range(56))
    refused(
        table_of(BANDWIDTH, apart, values),
        "nodes: c28, c29, c30, c31 and 52 more before, a0, a1, a2, a3 and 52 more after",
    )


def test_other_message_sizes_are_refused_and_shown() -> None:
    small, large = table((2, 2)), table((2, 2))
    other = msgspec.structs.replace(BANDWIDTH, message_bytes=4096)
    before = msgspec.structs.replace(small, compared=(VerifiedData.ENDS, VerifiedData.ENDS, None, None))
    after = msgspec.structs.replace(large, metric=other, compared=(None, None, VerifiedData.ENDS, VerifiedData.ENDS))
    with pytest.raises(UsageError, match="messages: oneway of 4 x 1 MiB and oneway of 4 x 4 KiB"):
        compared([before, after], (2, 2))


def sparse(nodes: int, leaf_of: dict[str, str], far: float, runs: int, seed: int) -> MetricTable:
    """Each run draws a fifth of the pairs; pairs across leaves take `far` times as long."""
    draw = np.random.default_rng(seed)
    pairs = complete_pairs(nodes)
    logs = draw.normal(0, 0.004, (runs, len(pairs))) + draw.normal(0, 0.002, (runs, 1))
    logs += np.array([0.0 if leaf_of[a] == leaf_of[b] else np.log(far) for a, b in pairs])
    values = 1e-6 * np.exp(logs)
    values[draw.random(values.shape) > 0.2] = np.nan
    return table_of(LATENCY, pairs, values)


def test_nodes_of_sparse_designs_are_compared_by_distance_if_leaves_are_known() -> None:
    leaf_of = {f"n{number}": f"leaf{number % 3}" for number in range(1, 13)}
    tables = [sparse(12, leaf_of, 1.6, 6, seed) for seed in range(4)]
    first = RunSet(name="A", runs=summaries(1, 3, leaf_of=leaf_of))
    second = RunSet(name="B", runs=summaries(4, 3, leaf_of=leaf_of))
    for each in tables:
        found = compare(first, second, [each])
        assert named(found) | named(found, ComparisonOutcome.FASTER) == set()
        assert found.metrics[0].nodes.same >= 8
    unknown = compared([tables[0]], (3, 3))
    assert unknown.metrics[0].nodes == type(unknown.metrics[0].nodes)()


def test_who_lost_less_than_the_others_is_not_one_of_the_slower_nodes() -> None:
    """One run each decides nothing; the node that kept its rate deviates, but it is not what suspects must explain."""
    everyone = [f"n{number}" for number in range(1, 9)]
    tables = [table((1, 1), slow={name: 0.7 for name in everyone if name != "n5"})]
    facts = {name: server(name) for name in everyone}
    newer = {**facts, "n5": msgspec.structs.replace(facts["n5"], kernel="6.9")}
    first = RunSet(name="A", runs=summaries(1, 1), facts=facts)
    second = RunSet(name="B", runs=summaries(2, 1), facts=newer)
    (suspect,) = compare(first, second, tables).suspects
    assert suspect.slower_nodes == 0


def microseconds(rows: list[list[float]]) -> MetricTable:
    """Latencies of the six pairs of four nodes, a row for each run."""
    pairs = tuple((source, target) for source, target in complete_pairs(4) if source < target)
    return table_of(LATENCY, pairs, 1e-6 * np.array(rows))


def test_one_wild_value_in_each_of_a_nodes_pairs_does_not_make_the_node_faster() -> None:
    """Latencies of a lab in microseconds: another program delayed three round trips in three of the runs."""
    rows = [
        [10.105, 445.174, 12.894, 12.989, 12.389, 16.667],
        [16.655, 13.28, 511.099, 19.158, 13.28, 16.57],
        [16.695, 19.063, 12.932, 385.576, 12.812, 16.474],
        [16.482, 13.144, 13.142, 13.202, 13.317, 10.473],
    ]
    found = compared([microseconds(rows)], (2, 2))
    assert found.outcome is ComparisonOutcome.INCONCLUSIVE
    assert named(found, ComparisonOutcome.FASTER) == set()


def test_two_modes_of_a_latency_are_no_change_of_a_node() -> None:
    """Latencies of a lab in microseconds: ranks share cores in some rounds. The variances of four nodes are alike."""
    rows = [
        [16.669, 10.904, 18.237, 10.814, 11.056, 8.462],
        [10.428, 19.196, 12.982, 13.277, 13.237, 10.874],
        [16.65, 19.273, 13.107, 19.173, 11.79, 16.524],
        [10.037, 13.367, 13.09, 19.787, 13.222, 16.695],
    ]
    found = compared([microseconds(rows)], (2, 2))
    assert found.outcome is ComparisonOutcome.INCONCLUSIVE
    assert named(found) == set()


def with_clocks(facts: NodeFacts) -> NodeFacts:
    processor = msgspec.structs.replace(facts.processor, base_hz=2.1e9, hardware_maximum_hz=(3.0e9,))
    return msgspec.structs.replace(facts, processor=processor)


def test_forty_ranks_on_two_and_on_four_nodes_have_unlike_shares_of_memory_and_link() -> None:
    rate = RunMetric(
        phase=Phase.MAIN, variant="hpl r [flop/s]", kernel=Sense.HIGHER, message_bytes=0, window_messages=0
    )
    values = table_of(rate, (("all", "all"),), np.array([[1.0], [1.01], [1.02], [1.3], [1.31], [1.32]]) * 1e12)
    two, four = (
        RunSet(
            name=name,
            runs=summaries(1 + 3 * place, 3, ranks_per_node=each, benchmark=f"hpl, 40 ranks on {nodes} nodes"),
            facts={
                node: with_clocks(intel(node, "Intel(R) Xeon(R) CPU E5-2683 v4 @ 2.10GHz", 79, hcas=(hca(address=""),)))
                for node in names(nodes)
            },
        )
        for place, (name, nodes, each) in enumerate((("two", 2, 20.0), ("four", 4, 10.0)))
    )
    found = compare(two, four, [values], across=("benchmark", "ranks-per-node"))
    shares = {share.of: share for share in found.rank_shares}
    assert set(shares) == {"memory", "link"}
    for share in shares.values():
        assert share.after_bytes_per_s == pytest.approx(2 * share.before_bytes_per_s)
    assert shares["link"].before_bytes_per_s == pytest.approx(12.4e9 / 20, rel=0.02)
    assert sentence(found).startswith("hpl 1.01 ± 0.01 → 1.31 ± 0.01 Tflop/s, 29.7 % faster (95 % CI ")
    assert "a rank has 3.84 GB/s → 7.68 GB/s of memory, 621.1 MB/s → 1.24 GB/s of the link; " in sentence(found)
    (clocks,) = [note for note in found.notes if note.startswith("Clocks: ")]
    assert "with 10 instead of 20 ranks a node" in clocks
    assert "all cores have 2.10 GHz in any case, one core at most 3.00 GHz" in clocks
    with pytest.raises(UsageError, match="benchmark: hpl, 40 ranks on 2 nodes and hpl, 40 ranks on 4 nodes"):
        compare(two, four, [values])
