"""Tables that hold each pair of nodes once have no directions: pairs are slow, and no node because of its place."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from seatrial.importers.formats import read_matrix, read_matrix_files
from seatrial.locate.table import locate_in_table
from seatrial.model.pair_faults import Instability, Located
from seatrial.model.subject import Direction
from seatrial.model.verdict import Verdict
from tests.support.matrices import FORMATS, PairMatrix
from tests.support.pair_tables import pair_table

Pair = tuple[str, str]
NAMES = tuple(f"n{number}" for number in range(1, 18))
TWO_ROUTES = {("n13", "n16"): 0.58, ("n13", "n17"): 0.66}


def once(
    names: Sequence[str] = NAMES, slow: Mapping[Pair, float] | None = None, noise: float = 0.003, seed: int = 3
) -> dict[Pair, float]:
    """Each pair in the order of the names; some at a share of what the others reach."""
    draw = np.random.default_rng(seed)
    pairs = [(a, b) for place, a in enumerate(names) for b in names[place + 1 :]]
    return {
        pair: 13.6e9 * (slow or {}).get(pair, 1.0) * float(np.exp(noise * draw.standard_normal())) for pair in pairs
    }


def to_measure_again(found: Located) -> set[str]:
    """Subjects that withhold the PASS."""
    return {one.subject.name for one in found.unstable if one.gross}


def judged(measured: Mapping[Pair, float], names: Sequence[str] = NAMES) -> Located:
    found = locate_in_table(pair_table(names, measured))
    assert not found.resolutions[0].directed
    return found


def test_two_slow_pairs_of_sixteen_are_two_pairs() -> None:
    found = judged(once(slow=TWO_ROUTES))
    assert (found.faults, found.verdict) == ((), Verdict.UNSTABLE)
    assert to_measure_again(found) == {"n13>n16", "n13>n17"}
    assert {one.cause for one in found.unstable} == {Instability.SINGLE}
    (one,) = found.resolutions
    assert (one.measured_pairs, one.expected_pairs, one.complete) == (136, 136, True)


@pytest.mark.parametrize("good", [2, 4, 8])
def test_a_node_that_is_slow_with_most_partners_has_no_slow_link_if_others_clear_it(good: int) -> None:
    """A slow link is slow with all partners; a value or two in which it is not may be the disturbed ones."""
    found = judged(once(slow={(one, "n17"): 0.1 for one in NAMES[good:-1]}))
    if good < 3:
        assert [fault.subject.text for fault in found.faults] == ["node:n17"]
    else:
        assert (found.faults, found.verdict) == ((), Verdict.UNSTABLE)
        (node,) = found.unstable
        assert (node.subject.text, node.cause, node.pairs) == ("node:n17", Instability.SOME_PARTNERS, 16 - good)


def test_a_node_that_is_slow_with_most_partners_is_named_beside_two_populations() -> None:
    half = dict.fromkeys(((a, b) for a in NAMES[:8] for b in NAMES if a < b or b not in NAMES[:8]), 0.9)
    found = judged(once(slow=half | {(one, "n17"): 0.1 for one in NAMES[4:16]}))
    assert (found.faults, found.verdict, len(found.populations)) == ((), Verdict.UNSTABLE, 2)
    assert found.unstable[0].subject.text == "node:n17"


@pytest.mark.parametrize("order", ["shuffled", "from the last", "names in odd order", "either node first"])
def test_the_order_of_rows_and_names_changes_nothing(order: str) -> None:
    draw = np.random.default_rng(8)
    rows = list(once(slow=TWO_ROUTES).items())
    if order == "shuffled":
        draw.shuffle(rows)
    elif order == "from the last":
        rows = [(pair[::-1], rate) for pair, rate in reversed(rows)]
    elif order == "names in odd order":
        rows = sorted(rows)
    else:
        rows = [(pair[::-1] if draw.random() < 0.5 else pair, rate) for pair, rate in rows]
    measured = {(str(pair[0]), str(pair[1])): float(rate) for pair, rate in rows}
    names = list(dict.fromkeys(name for pair in measured for name in pair))
    found = judged(measured, names)
    assert found.faults == ()
    assert {frozenset(name.split(">")) for name in to_measure_again(found)} == {frozenset(pair) for pair in TWO_ROUTES}


def test_missing_pairs_and_a_few_that_were_measured_again_the_other_way() -> None:
    measured = once(slow=TWO_ROUTES)
    for pair in [("n1", "n2"), ("n3", "n9"), ("n4", "n5")]:
        del measured[pair]
    measured |= {("n9", "n2"): 13.6e9, ("n12", "n11"): 13.55e9}
    found = judged(measured)
    assert found.faults == ()
    assert to_measure_again(found) == {"n13>n16", "n13>n17"}
    assert (found.resolutions[0].measured_pairs, found.resolutions[0].complete) == (133, False)


def test_a_slow_pair_that_was_measured_both_ways_is_named() -> None:
    measured = once(slow=TWO_ROUTES) | {("n16", "n13"): 13.6e9 * 0.581}
    (fault,) = judged(measured).faults
    assert (fault.subject.name, fault.direction) == ("n13>n16", Direction.BOTH)


@pytest.mark.parametrize("place", [0, 8, 12, 16])
def test_a_slow_node_is_named_wherever_it_stands(place: int) -> None:
    name = NAMES[place]
    measured = {pair: rate * (0.8 if name in pair else 1) for pair, rate in once().items()}
    (fault,) = judged(measured).faults
    assert (fault.subject.text, fault.direction, fault.pairs) == (f"node:{name}", Direction.BOTH, 16)
    assert fault.loss_ratio == pytest.approx(0.2, abs=0.01)


def test_a_slow_node_beside_two_slow_pairs_of_another() -> None:
    measured = {pair: rate * (0.9 if "n4" in pair else 1) for pair, rate in once(slow=TWO_ROUTES).items()}
    found = judged(measured)
    assert [fault.subject.text for fault in found.faults] == ["node:n4"]
    assert to_measure_again(found) == {"n13>n16", "n13>n17"}


def test_eight_slow_pairs_of_which_three_share_a_node() -> None:
    slow = {
        ("n1", "n4"): 0.62, ("n2", "n3"): 0.57, ("n2", "n6"): 0.65, ("n4", "n6"): 0.68, ("n4", "n9"): 0.64,
        ("n11", "n12"): 0.56, **TWO_ROUTES,
    }  # fmt: skip
    found = judged(once(slow=slow))
    assert found.faults == ()
    assert to_measure_again(found) == {">".join(pair) for pair in slow}


def test_a_dead_node_and_a_dead_pair() -> None:
    measured = once() | {("n5", "n9"): 0.0}
    measured |= {pair: 0.0 for pair in measured if "n7" in pair}
    found = judged(measured)
    assert [(one.subject.text, one.direction, one.dead) for one in found.faults] == [
        ("node:n7", Direction.BOTH, True),
        ("pair:n5>n9", Direction.BOTH, True),
    ]
    assert found.faults[0].pairs == 16


def test_zeros_in_the_other_half_are_not_dead_pairs() -> None:
    measured = once(slow=TWO_ROUTES)
    found = judged(measured | {pair[::-1]: 0.0 for pair in measured})
    assert found.faults == ()
    assert to_measure_again(found) == {"n13>n16", "n13>n17"}


def test_the_same_number_for_both_directions_is_one_measurement() -> None:
    measured = once(slow=TWO_ROUTES)
    found = judged(measured | {pair[::-1]: rate for pair, rate in measured.items()})
    assert found.faults == ()
    assert to_measure_again(found) == {"n13>n16", "n13>n17"}
    assert found.resolutions[0].expected_pairs == 136


def test_one_number_of_a_mirrored_table_that_differs_is_a_repetition_that_differs() -> None:
    measured = once()
    measured |= {pair[::-1]: rate for pair, rate in measured.items()} | {("n9", "n2"): 13.6e9 * 0.7}
    found = judged(measured)
    assert found.faults == ()
    (unstable,) = found.unstable
    assert (unstable.subject.name, unstable.cause, unstable.gross) == ("n2>n9", Instability.REPETITIONS, True)


def test_both_directions_of_which_one_is_a_copy_keep_their_directions() -> None:
    """One way of a node is slow: that is a direction, whatever a single pair of equal numbers says."""
    there = once()
    back = {pair[::-1]: rate for pair, rate in once(seed=4).items()}
    back["n2", "n1"] = there["n1", "n2"]
    both = {pair: rate * (0.9 if pair[0] == "n13" else 1) for pair, rate in (there | back).items()}
    found = locate_in_table(pair_table(NAMES, both))
    assert found.resolutions[0].directed
    assert [(one.subject.text, one.direction) for one in found.faults] == [("node:n13", Direction.OUT)]


def test_a_sparse_table_in_the_order_of_the_names() -> None:
    """Each node with six partners; n13 has two slow pairs, both with later nodes."""
    names = [f"n{number}" for number in range(1, 41)]
    draw = np.random.default_rng(2)
    measured = {
        (names[place], names[place + step]): 1e10 * (1 + 0.002 * float(draw.standard_normal()))
        for step in (1, 5, 9)
        for place in range(40 - step)
    }
    measured["n13", "n14"] *= 0.6
    measured["n13", "n18"] *= 0.6
    found = judged(measured, names)
    assert found.faults == ()
    assert to_measure_again(found) >= {"n13>n14", "n13>n18"} or found.ambiguous


@pytest.mark.parametrize("form", ["nxnlatbw", "csv", "linktest", "osu"])
def test_every_reader_of_a_table_of_each_pair_once(form: str) -> None:
    names = tuple(f"n{number}" for number in range(16))
    slow = {("n11", "n14"): 0.58, ("n11", "n15"): 0.66}
    rates = once(names, slow)
    text = FORMATS[form](PairMatrix(nodes=names, latency_s=dict.fromkeys(rates, 1.3e-6), bandwidth_bytes_per_s=rates))
    found = locate_in_table(read_matrix(text, form))
    bandwidth = found.resolutions[0]
    assert (found.faults, bandwidth.directed, bandwidth.measured_pairs) == ((), False, 120)
    ends = {
        frozenset(int("".join(filter(str.isdigit, end))) for end in name.split(">")) for name in to_measure_again(found)
    }
    assert ends == {frozenset((11, 14)), frozenset((11, 15))}


@pytest.mark.parametrize("left", ["", "0.000000"])
def test_one_half_of_a_matrix_of_mpigraph(left: str) -> None:
    rates = once(slow=TWO_ROUTES)
    text = FORMATS["mpigraph"](PairMatrix(nodes=NAMES, latency_s={}, bandwidth_bytes_per_s=rates))
    found = locate_in_table(read_matrix(text.replace("0.000000", left) if not left else text))
    assert found.faults == ()
    assert not found.resolutions[0].directed
    assert {frozenset(name.split(">")) for name in to_measure_again(found)} == {frozenset(pair) for pair in TWO_ROUTES}


def test_missing_pairs_in_ranks_without_names() -> None:
    rates = once([str(number) for number in range(17)])
    rows = [f"{a},{b},1.3,{rate / 1e6:.4f}" for (a, b), rate in rates.items()]
    table = read_matrix("\n".join(rows[:40] + rows[45:]), "nxnlatbw")
    assert locate_in_table(table).resolutions[0].measured_pairs == 131


def test_a_folder_of_one_file_for_each_pair() -> None:
    names = tuple(f"n{number}" for number in range(1, 9))
    files = {
        f"{a}--{b}.out": f"# OSU MPI Bandwidth Test v7.4\n# Size Bandwidth (MB/s)\n1048576 {rate / 1e6:.2f}\n"
        for (a, b), rate in once(names, {("n6", "n7"): 0.5, ("n6", "n8"): 0.5}).items()
    }
    found = locate_in_table(read_matrix_files(files))
    assert found.faults == ()
    assert to_measure_again(found) == {"n6>n7", "n6>n8"}


def test_a_pair_five_percent_slow_is_noted_since_no_second_value_clears_it() -> None:
    noted = judged(once(slow={("n4", "n9"): 0.95}, noise=0.004))
    assert (noted.verdict, [one.subject.name for one in noted.unstable]) == (Verdict.NOTE, ["n4>n9"])
    assert judged(once(noise=0.004)).verdict is Verdict.PASS


def test_a_node_far_faster_with_all_partners_is_noted() -> None:
    fast = {(a, b): 1.5 for place, a in enumerate(NAMES) for b in NAMES[place + 1 :] if "n7" in (a, b)}
    noted = judged(once(slow=fast))
    assert noted.verdict is Verdict.NOTE
    (observed,) = noted.observations
    assert (observed.subject.name, observed.direction) == ("n7", Direction.BOTH)
    assert observed.loss_ratio == pytest.approx(-0.5, abs=0.02)
