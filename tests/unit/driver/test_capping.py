"""Pairs across a part with a gross fault are cut short or left out, and no other fault hides behind them."""

import random
from collections.abc import Sequence

import msgspec
import pytest

from seatrial.driver.capping import LEAST_PAIRS, Caps
from seatrial.model.fabric import Fabric
from seatrial.model.loss import CapCause, CappedPair
from seatrial.model.measurement import Kernel, Measurement, Phase, Round, Shape
from seatrial.pairs.survey import BANDWIDTH, LATENCY
from tests.support.builders import Cluster, leaves, names, slow_part

Pair = tuple[str, str]
NODES = names(10)
FABRIC = Fabric(leaf_of=leaves(10, 5), source="test")
USUAL_S = 0.018
A = ("n3", "n4")


def windows(pair: Pair, each_s: float, *, at_once: int = 1, phase: Phase = Phase.SURVEY) -> Measurement:
    return _measurement(pair, BANDWIDTH, [each_s] * BANDWIDTH.iterations, at_once, phase)


def trips(pair: Pair, stalls: int, *, at_once: int = 1, phase: Phase = Phase.SURVEY) -> Measurement:
    times = [30e-6] * (LATENCY.iterations - stalls) + [0.204] * stalls
    return _measurement(pair, LATENCY, times, at_once, phase)


def _measurement(pair: Pair, shape: Shape, times: Sequence[float], at_once: int, phase: Phase) -> Measurement:
    return Measurement(
        phase=phase,
        repetition=0,
        shape=shape,
        source=pair[0],
        target=pair[1],
        times_s=tuple(times),
        warmup_times_s=tuple(times[:1]),
        pairs_at_once=at_once,
    )


def asked(shape: Shape, *pairs: Pair, phase: Phase = Phase.SURVEY, repetition: int = 0) -> Round:
    return Round(phase=phase, repetition=repetition, shape=shape, pairs=pairs)


def caps_of(*seen: Measurement, fabric: Fabric = FABRIC) -> Caps:
    """Two healthy pairs of each leaf and across were measured first, so that the usual time is known."""
    caps = Caps(fabric)
    for pair in (("n1", "n2"), ("n6", "n7"), ("n1", "n6"), ("n4", "n9")):
        caps.take(windows(pair, USUAL_S))
        caps.take(trips(pair, 0))
    for one in seen:
        caps.take(one)
    return caps


def left_out(caps: Caps, wanted: Round) -> dict[Pair, CappedPair]:
    return {one.pair: one for one in caps.sort(wanted, wanted.pairs).left_out}


LOSSY = [trips(pair, 9) for pair in (("n3", "n8"), ("n10", "n3"), ("n2", "n3"))]


def test_pairs_of_a_lossy_node_are_left_out_after_three_partners() -> None:
    rest = asked(LATENCY, ("n3", "n4"), ("n5", "n7"), ("n1", "n9"))
    for count in range(LEAST_PAIRS):
        caps = caps_of(*LOSSY[:count])
        assert not left_out(caps, rest)
    caps = caps_of(*LOSSY)
    assert left_out(caps, rest) == {
        ("n3", "n4"): CappedPair(source="n3", target="n4", part="node:n3", cause=CapCause.LOSS)
    }


def test_the_same_partner_again_and_again_proves_nothing_about_the_node() -> None:
    caps = caps_of(*[trips(("n3", "n8"), 9)] * 6)
    assert not left_out(caps, asked(LATENCY, ("n3", "n4"), ("n8", "n4")))


def test_one_lucky_pair_does_not_acquit_a_lossy_node_and_two_do() -> None:
    """With 5 % packet loss one of a hundred short rounds sees no stall."""
    caps = caps_of(*LOSSY, trips(("n3", "n5"), 0))
    assert left_out(caps, asked(LATENCY, ("n3", "n4")))
    caps.take(trips(("n3", "n7"), 0))
    found = caps.sort(asked(LATENCY, ("n3", "n4")), [("n3", "n4")])
    assert found.plain == (("n3", "n4"),)


def test_each_direction_and_each_kernel_is_judged_by_itself() -> None:
    slow_out = [windows(("n3", other), 12 * USUAL_S) for other in ("n8", "n10", "n2")]
    good_in = [windows((other, "n3"), USUAL_S) for other in ("n8", "n10", "n2")]
    caps = caps_of(*slow_out, *good_in, *[trips(("n3", other), 0) for other in ("n8", "n10", "n2")])
    assert set(left_out(caps, asked(BANDWIDTH, ("n3", "n4"), ("n4", "n3")))) == {("n3", "n4")}
    assert not left_out(caps, asked(LATENCY, ("n3", "n4")))
    assert left_out(caps, asked(BANDWIDTH, ("n3", "n4")))["n3", "n4"].cause is CapCause.SLOW


@pytest.mark.parametrize(
    "seen",
    [
        [trips((one, other), 1) for one, other in (("n3", "n8"), ("n10", "n3"), ("n2", "n3"), ("n3", "n5"))],
        [windows(("n3", other), 4 * USUAL_S) for other in ("n8", "n10", "n2", "n5")],
        [windows(("n3", other), 20 * USUAL_S, at_once=5) for other in ("n8", "n10", "n2", "n5")],
    ],
    ids=["one passing stall each", "not grossly slow", "slow beside others: contention"],
)
def test_what_is_no_gross_fault_caps_nothing(seen: list[Measurement]) -> None:
    wanted = asked(LATENCY, ("n3", "n4"))
    assert caps_of(*seen).sort(wanted, wanted.pairs).plain == wanted.pairs
    wanted = asked(BANDWIDTH, ("n3", "n4"))
    assert caps_of(*seen).sort(wanted, wanted.pairs).plain == wanted.pairs


def test_one_long_window_among_good_ones_is_no_gross_fault() -> None:
    seen = [
        msgspec.structs.replace(windows(("n3", other), USUAL_S), times_s=(0.4, USUAL_S, 0.4), warmup_times_s=())
        for other in ("n8", "n10", "n2")
    ]
    assert not left_out(caps_of(*seen), asked(BANDWIDTH, ("n3", "n4")))


def test_of_two_windows_a_lucky_one_does_not_acquit() -> None:
    """A short round across a lossy node: its warm-up window took 40 times the usual, the other was not hit."""
    caps = caps_of(*LOSSY)
    short = msgspec.structs.replace(windows(A, USUAL_S), times_s=(USUAL_S,), warmup_times_s=(40 * USUAL_S,))
    assert not caps.is_good(short)
    assert caps.is_good(msgspec.structs.replace(short, warmup_times_s=(USUAL_S,)))
    caps.take(short)
    assert caps.sort(asked(BANDWIDTH, A), [A]).doubtful == (A,)


def test_a_lossy_uplink_caps_pairs_across_it_and_none_inside_the_leaf() -> None:
    """Two healthy pairs that cross would acquit the uplink, so that nothing across was measured before."""
    caps = Caps(FABRIC)
    for pair in (("n1", "n2"), ("n6", "n7")):
        caps.take(trips(pair, 0))
    for pair in (("n1", "n6"), ("n2", "n7"), ("n3", "n8")):
        caps.take(trips(pair, 9))
    found = left_out(caps, asked(LATENCY, ("n4", "n9"), ("n1", "n3"), ("n3", "n5"), ("n8", "n9")))
    assert set(found) == {("n4", "n9")}
    assert found["n4", "n9"].part == "uplink:leaf1"


def test_a_pair_that_tells_node_and_uplink_apart_is_measured() -> None:
    """The three bad pairs share both n3 and the two uplinks."""
    caps = Caps(FABRIC)
    for other in ("n6", "n7", "n8"):
        caps.take(trips(("n3", other), 9))
    found = left_out(caps, asked(LATENCY, ("n3", "n9"), ("n3", "n1"), ("n2", "n9")))
    assert set(found) == {("n3", "n9")}


def test_of_three_leaves_only_the_pair_that_both_explanations_predict_is_left_out() -> None:
    caps = Caps(Fabric(leaf_of=leaves(9, 3), source="test"))
    for pair in (("n1", "n4"), ("n2", "n5"), ("n3", "n6")):
        caps.take(trips(pair, 9))
    wanted = asked(LATENCY, ("n1", "n5"), ("n1", "n7"), ("n4", "n7"))
    assert set(left_out(caps, wanted)) == {("n1", "n5")}


def test_doubtful_pairs_are_measured_apart_from_the_others() -> None:
    wanted = asked(BANDWIDTH, ("n3", "n4"), ("n5", "n7"))
    found = caps_of(LOSSY[0]).sort(wanted, wanted.pairs)
    assert (found.plain, found.doubtful) == ((("n5", "n7"),), (("n3", "n4"),))


def test_a_pilot_makes_a_node_doubtful_and_convicts_nobody() -> None:
    seen = [windows(("n3", other), 40 * USUAL_S, phase=Phase.PILOT) for other in ("n8", "n10", "n2")]
    wanted = asked(BANDWIDTH, ("n3", "n4"))
    found = caps_of(*seen).sort(wanted, wanted.pairs)
    assert (found.doubtful, found.left_out) == ((("n3", "n4"),), ())


def test_doubtful_pairs_get_as_many_iterations_as_last_a_second() -> None:
    caps = caps_of(trips(("n3", "n8"), 10), windows(("n3", "n8"), 0.3))
    wide = msgspec.structs.replace(BANDWIDTH, iterations=30, warmup=2)
    assert (caps.cut(wide, [A]).warmup, caps.cut(wide, [A]).iterations) == (1, 2)
    assert 40 <= caps.cut(LATENCY, [A]).iterations <= 50
    slower = caps_of(windows(("n3", "n8"), 5.0))
    assert (slower.cut(wide, [A]).warmup, slower.cut(wide, [A]).iterations) == (1, 1)
    assert caps.cut(msgspec.structs.replace(LATENCY, iterations=10, warmup=2), [A]).iterations == 10


def test_a_retest_of_a_lossy_part_is_a_few_round_trips() -> None:
    caps = caps_of(*LOSSY, *[windows(("n3", other), 40 * USUAL_S) for other in ("n8", "n10", "n2")])
    pair = ("n3", "n8")
    first = asked(LATENCY, pair, phase=Phase.RETEST)
    assert caps.sort(first, first.pairs).doubtful == (pair,)
    again = asked(LATENCY, pair, phase=Phase.RETEST, repetition=1)
    assert left_out(caps, again)
    assert left_out(caps, asked(BANDWIDTH, pair, phase=Phase.RETEST))


def test_a_retest_of_a_very_slow_part_keeps_all_its_runs() -> None:
    caps = caps_of(*[windows(("n3", other), 20 * USUAL_S) for other in ("n8", "n10", "n2")])
    again = asked(BANDWIDTH, ("n3", "n8"), phase=Phase.RETEST, repetition=5)
    assert caps.sort(again, again.pairs).doubtful == (("n3", "n8"),)


def test_what_is_measured_of_capped_pairs_is_one_message_at_a_time() -> None:
    caps = caps_of(*[windows(("n3", other), 2.0) for other in ("n8", "n10", "n2")])
    for pair, window, warmup in ((A, 1, 0), (("n5", "n4"), BANDWIDTH.window, 1)):
        short = caps.cut(BANDWIDTH, [pair])
        assert (short.window, short.warmup) == (window, warmup)
    assert caps.cut(BANDWIDTH, [A]).iterations == 2


def test_a_curve_is_measured_as_it_was_asked_for() -> None:
    wanted = asked(BANDWIDTH, ("n3", "n8"), phase=Phase.CURVE)
    assert caps_of(*LOSSY).sort(wanted, wanted.pairs).plain == (("n3", "n8"),)


def test_hangs_count_and_a_good_pair_ends_them() -> None:
    caps = caps_of()
    assert not caps.hangs_again(("n3", "n8"), Kernel.ONEWAY)
    caps.hang(("n3", "n8"), Kernel.ONEWAY)
    assert caps.hangs_again(("n3", "n4"), Kernel.ONEWAY)
    assert not caps.hangs_again(("n3", "n4"), Kernel.PINGPONG)
    assert not caps.hangs_again(("n5", "n4"), Kernel.ONEWAY)
    for other in ("n10", "n2"):
        caps.hang(("n3", other), Kernel.ONEWAY)
    assert left_out(caps, asked(BANDWIDTH, ("n3", "n4")))["n3", "n4"].cause is CapCause.HANG
    caps.take(windows(("n3", "n4"), USUAL_S))
    assert not caps.hangs_again(("n3", "n5"), Kernel.ONEWAY)
    assert not left_out(caps, asked(BANDWIDTH, ("n3", "n5")))


def test_what_is_usual_is_learnt_although_the_first_pairs_are_slow() -> None:
    """The pilot of a lossy uplink: all of its pairs cross it."""
    caps = Caps(FABRIC)
    for pair in (("n1", "n10"), ("n2", "n9"), ("n3", "n8")):
        caps.take(windows(pair, 1.0))
    assert not left_out(caps, asked(BANDWIDTH, ("n4", "n7")))
    for pair in (("n1", "n2"), ("n6", "n7")):
        caps.take(windows(pair, USUAL_S))
    assert set(left_out(caps, asked(BANDWIDTH, ("n4", "n7"), ("n4", "n5")))) == {("n4", "n7")}


@pytest.mark.parametrize("seed", range(5))
def test_noise_caps_nobody(seed: int) -> None:
    """Windows that waver by half, one stall of 0.2 s in a hundred rounds: nothing of a healthy cluster is left out."""
    cluster = Cluster(nodes=NODES, leaf_of=leaves(10, 5), noise=0.5, loss=dict.fromkeys(NODES, 1e-4))
    caps, draw = Caps(cluster.fabric), random.Random(seed)
    for repetition in range(3):
        for source in NODES:
            for target in NODES:
                for shape in (LATENCY, BANDWIDTH) if source != target else ():
                    wanted = asked(shape, (source, target), repetition=repetition)
                    assert not left_out(caps, wanted)
                    for one in cluster.measure(wanted, draw):
                        caps.take(one)


@pytest.mark.parametrize("seed", range(5))
def test_a_slow_node_beside_a_lossy_one_is_measured_with_all_healthy_partners(seed: int) -> None:
    cluster = Cluster(
        nodes=NODES,
        leaf_of=leaves(10, 5),
        loss={"n3": 0.1},
        parts=slow_part("node", "n3", 0.02) | slow_part("node", "n8", 0.5),
    )
    caps, draw = Caps(cluster.fabric), random.Random(seed)
    pairs = [(one, other) for one in NODES for other in NODES if one != other]
    draw.shuffle(pairs)
    measured, spared = set(), set()
    for pair in pairs:
        for shape in (LATENCY, BANDWIDTH):
            wanted = asked(shape, pair)
            if left_out(caps, wanted):
                spared.add(pair)
                continue
            for one in cluster.measure(wanted, draw):
                caps.take(one)
            measured.add(pair)
    assert all("n3" in pair for pair in spared)
    assert {pair for pair in pairs if "n3" not in pair} <= measured
    assert len({frozenset(pair) for pair in measured if "n3" in pair}) <= 6
