"""What changes after the survey: every node and uplink is measured once more at the end."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest

from seatrial.commands.check.retests import last_rounds
from seatrial.commands.check.run import CheckOutcome, run_check
from seatrial.locate.explanation import Crossings
from seatrial.model.fabric import Component
from seatrial.model.measurement import Kernel, Measurement, Phase, Round
from seatrial.model.settings import CheckSettings
from seatrial.model.subject import Direction, node, pair, uplink
from seatrial.model.units import BANDWIDTH, LATENCY
from seatrial.model.verdict import FindingKind
from tests.support.builders import Cluster, leaves, names, sail, slow_part, survey_rounds
from tests.support.scripted import ScriptedLauncher


@dataclass(frozen=True, kw_only=True)
class Falling(Cluster):
    """These parts are good until the check looks a last time."""

    at_last: Mapping[Component, float] = field(default_factory=dict)
    late_at_last: Mapping[str, float] = field(default_factory=dict)
    loss_at_last: Mapping[str, float] = field(default_factory=dict)

    def measure(self, wanted: Round, draw: random.Random) -> list[Measurement]:
        if wanted.phase is Phase.LAST:
            self.__dict__["parts"] = {**self.parts, **self.at_last}
            self.__dict__["late"] = {**self.late, **self.late_at_last}
            self.__dict__["loss"] = {**self.loss, **self.loss_at_last}
        return super().measure(wanted, draw)


def checked(archive: Path, cluster: Cluster, **options: object) -> CheckOutcome:
    settings = CheckSettings(archive=archive, run="trial", round_timeout_s=0.5)
    return run_check(msgspec.structs.replace(settings, **options), launcher=ScriptedLauncher(cluster))


@pytest.mark.parametrize("share", [0.5, 0.9])
@pytest.mark.parametrize(
    ("count", "per_leaf", "boot_id"),
    [(4, 2, "one"), (6, 2, "one"), (7, 7, "one"), (6, 2, ""), (17, 8, "")],
)
def test_a_link_that_falls_at_the_end_is_named(
    count: int, per_leaf: int, boot_id: str, share: float, tmp_path: Path
) -> None:
    cluster = Falling(
        nodes=names(count),
        leaf_of=leaves(count, per_leaf),
        boot_id=boot_id,
        at_last=slow_part("node", "n3", share),
    )
    outcome = checked(tmp_path, cluster)
    (finding,) = outcome.judgement.findings
    assert (finding.kind, finding.subject, finding.ambiguous_with) == (FindingKind.SLOW_LINK, node("n3"), ())


@pytest.mark.parametrize("way", [Direction.OUT, Direction.IN])
def test_one_direction_that_falls_at_the_end_is_named(way: Direction, tmp_path: Path) -> None:
    cluster = Falling(nodes=names(8), boot_id="one", at_last=slow_part("node", "n5", 0.7, [way]))
    (finding,) = checked(tmp_path, cluster).judgement.findings
    assert (finding.subject, finding.direction) == (node("n5"), way)


def test_an_uplink_that_falls_at_the_end_is_named(tmp_path: Path) -> None:
    cluster = Falling(nodes=names(24), leaf_of=leaves(24, 6), at_last=slow_part("uplink", "leaf2", 0.5))
    (finding,) = checked(tmp_path, cluster).judgement.findings
    assert finding.subject == uplink("leaf2")


@pytest.mark.parametrize(
    ("count", "per_leaf", "boot_id", "factor"),
    [(4, 2, "one", 3.0), (6, 2, "one", 3.0), (7, 7, "one", 2.5), (6, 2, "", 1.4), (17, 8, "", 1.4), (17, 8, "", 3.0)],
)
def test_latency_that_rises_at_the_end_is_named(
    count: int, per_leaf: int, boot_id: str, factor: float, tmp_path: Path
) -> None:
    cluster = Falling(nodes=names(count), leaf_of=leaves(count, per_leaf), boot_id=boot_id, late_at_last={"n3": factor})
    (finding,) = checked(tmp_path, cluster).judgement.findings
    assert (finding.kind, finding.subject, finding.ambiguous_with) == (FindingKind.HIGH_LATENCY, node("n3"), ())


@pytest.mark.parametrize(
    ("count", "per_leaf", "boot_id", "share"),
    [
        (4, 2, "one", 0.02),
        (6, 2, "one", 0.2),
        (7, 7, "one", 0.02),
        (6, 2, "", 0.02),
        (6, 2, "", 0.2),
        (17, 8, "", 0.02),
    ],
)
def test_packets_that_are_lost_from_the_end_on_are_named(
    count: int, per_leaf: int, boot_id: str, share: float, tmp_path: Path
) -> None:
    cluster = Falling(nodes=names(count), leaf_of=leaves(count, per_leaf), boot_id=boot_id, loss_at_last={"n3": share})
    (finding,) = checked(tmp_path, cluster).judgement.findings
    assert (finding.kind, finding.subject, finding.ambiguous_with) == (FindingKind.PACKET_LOSS, node("n3"), ())


@pytest.mark.parametrize(("count", "boot_id"), [(3, "one"), (4, ""), (6, "one"), (6, ""), (17, "")])
def test_latency_that_rises_everywhere_at_the_end_is_no_fault_of_a_node(
    count: int, boot_id: str, tmp_path: Path
) -> None:
    cluster = Falling(nodes=names(count), boot_id=boot_id, late_at_last=dict.fromkeys(names(count), 1.5))
    assert checked(tmp_path, cluster).judgement.findings == ()


@dataclass(frozen=True, kw_only=True)
class Twice(Falling):
    """A disturbance in the survey, which the retest clears; from the last look on the same for good."""

    def measure(self, wanted: Round, draw: random.Random) -> list[Measurement]:
        if wanted.phase is Phase.LAST:
            self.__dict__["fallen"] = True
        bad = "fallen" in self.__dict__ or wanted.phase is Phase.SURVEY
        self.__dict__["parts"] = self.at_last if bad else {}
        self.__dict__["late"] = self.late_at_last if bad else {}
        self.__dict__["loss"] = self.loss_at_last if bad else {}
        return Cluster.measure(self, wanted, draw)


@pytest.mark.parametrize("fault", [FindingKind.SLOW_LINK, FindingKind.HIGH_LATENCY, FindingKind.PACKET_LOSS])
@pytest.mark.parametrize(("count", "boot_id"), [(4, "one"), (6, "one"), (8, "")])
def test_a_retest_does_not_excuse_what_turns_bad_after_it(
    fault: FindingKind, count: int, boot_id: str, tmp_path: Path
) -> None:
    cluster = Twice(
        nodes=names(count), boot_id=boot_id, noise=0.01,
        at_last=slow_part("node", "n3", 0.6) if fault is FindingKind.SLOW_LINK else {},
        late_at_last={"n3": 3.0} if fault is FindingKind.HIGH_LATENCY else {},
        loss_at_last={"n3": 0.05} if fault is FindingKind.PACKET_LOSS else {},
    )  # fmt: skip
    (finding,) = checked(tmp_path, cluster).judgement.findings
    assert (finding.kind, finding.subject) == (fault, node("n3"))


@dataclass(frozen=True, kw_only=True)
class Disturbed(Falling):
    """Most bandwidths of the last look are low once, whatever is at fault."""

    def measure(self, wanted: Round, draw: random.Random) -> list[Measurement]:
        measured = super().measure(wanted, draw)
        if wanted.phase is not Phase.LAST or wanted.shape.kernel is not Kernel.ONEWAY:
            return measured
        low = [msgspec.structs.replace(one, times_s=[time_s / 0.6 for time_s in one.times_s]) for one in measured]
        return [slow if draw.random() < 0.6 else one for one, slow in zip(measured, low, strict=True)]


@pytest.mark.parametrize(("per_leaf", "seed"), [(2, 8), (2, 14), (2, 16), (6, 19)])
def test_a_part_is_located_by_the_retest_where_the_last_look_was_disturbed(
    per_leaf: int, seed: int, tmp_path: Path
) -> None:
    """The last look sees the slow node with one that loses packets only; the retest of others meets it again."""
    cluster = Disturbed(
        nodes=names(6),
        leaf_of=leaves(6, per_leaf),
        boot_id="one",
        at_last=slow_part("node", "n5", 0.6),
        loss_at_last={"n2": 0.03},
    )
    findings = checked(tmp_path, cluster, seed=seed).judgement.findings
    named = {(one.kind, one.subject) for one in findings}
    assert named == {(FindingKind.SLOW_LINK, node("n5")), (FindingKind.PACKET_LOSS, node("n2"))}


def test_a_fault_that_was_known_is_not_measured_again_at_the_end(tmp_path: Path) -> None:
    slow = slow_part("node", "n2", 0.6)
    outcome = checked(tmp_path, Falling(nodes=names(8), parts=slow, at_last=slow_part("node", "n5", 0.6)))
    assert {one.subject for one in outcome.judgement.findings} == {node("n2"), node("n5")}
    last = [one for one in outcome.recorded.measurements if one.phase is Phase.LAST]
    again = [one for one in last if one.shape.kernel is Kernel.ONEWAY]
    assert again
    assert all("n2" not in one.pair for one in again)


@pytest.mark.parametrize(("at_once", "most"), [(1, 12), (4, 5)])
def test_every_part_is_crossed_again_both_ways_by_few_rounds(at_once: int, most: int) -> None:
    cluster = Cluster(nodes=names(9), leaf_of=leaves(9, 3))
    draw = random.Random(1)
    measured = [
        msgspec.structs.replace(one, at_s=float(number))
        for number, wanted in enumerate(survey_rounds(cluster, at_once))
        for one in cluster.measure(wanted, draw)
    ]
    every = {one.pair for one in measured}
    last = last_rounds(measured, {BANDWIDTH: every, LATENCY: every}, cluster.fabric)
    for kernel, bound, ways in ((Kernel.ONEWAY, most, 1), (Kernel.PINGPONG, 3 * most, 2)):
        rounds = [one for one in last if one.shape.kernel is kernel]
        pairs = {way for one in rounds for pair in one.pairs for way in (pair, pair[::-1])[:ways]}
        assert Crossings(cluster.fabric, pairs).parts == Crossings(cluster.fabric, every).parts
        assert len(rounds) <= bound
    assert {one.phase for one in last} == {Phase.LAST}


def test_pairs_that_are_slow_already_are_left_out() -> None:
    cluster = Cluster(nodes=names(4))
    measured = sail(cluster).measurements
    good = {one.pair for one in measured if "n1" not in one.pair}
    both = {BANDWIDTH: good, LATENCY: good}
    assert {pair for one in last_rounds(measured, both, cluster.fabric) for pair in one.pairs} <= good
    assert last_rounds(measured, dict.fromkeys(both, ()), cluster.fabric) == []


@dataclass(frozen=True, kw_only=True)
class Lossy(Cluster):
    """Two per cent of the round trips between n2 and n3 stall; from the retest on those of n3 with others, too."""

    pair_only: bool

    def measure(self, wanted: Round, draw: random.Random) -> list[Measurement]:
        together = any({"n2", "n3"} == {*one} for one in wanted.pairs)
        anywhere = wanted.phase is not Phase.SURVEY and not self.pair_only
        self.__dict__["loss"] = {"n3": 0.02} if together or anywhere else {}
        return super().measure(wanted, draw)


def test_loss_that_fell_on_one_pair_by_chance_is_settled_by_third_nodes(tmp_path: Path) -> None:
    """The pair's other node has a slow link, which the loss does not excuse."""
    slow = slow_part("node", "n2", 0.9)
    cluster = Lossy(nodes=names(4), leaf_of=leaves(4, 2), boot_id="one", parts=slow, pair_only=False)
    found = checked(tmp_path, cluster).judgement.findings
    assert {(one.kind, one.subject, one.ambiguous_with) for one in found} == {
        (FindingKind.PACKET_LOSS, node("n3"), ()),
        (FindingKind.SLOW_LINK, node("n2"), ()),
    }


@pytest.mark.parametrize("count", [4, 8])
def test_loss_of_a_single_pair_is_not_blamed_on_a_node(count: int, tmp_path: Path) -> None:
    cluster = Lossy(nodes=names(count), leaf_of=leaves(count, 2), boot_id="one", pair_only=True)
    (finding,) = checked(tmp_path, cluster).judgement.findings
    assert (finding.kind, finding.subject) == (FindingKind.PACKET_LOSS, pair("n2", "n3"))


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(("count", "seed"), [(4, 1), (4, 2), (6, 1), (8, 1)])
def test_a_loss_from_the_end_on_is_named_beside_a_slow_link(count: int, seed: int, known: bool, tmp_path: Path) -> None:
    """`known`: the link was slow from the beginning, so that the pair of both nodes had been measured again."""
    slow = slow_part("node", "n3", 0.7)
    cluster = Falling(
        nodes=names(count), boot_id="one", noise=0.01, seed=seed,
        parts=slow if known else {}, at_last={} if known else slow, loss_at_last={"n2": 0.05},
    )  # fmt: skip
    found = checked(tmp_path, cluster).judgement.findings
    assert {(one.kind, one.subject) for one in found} == {
        (FindingKind.SLOW_LINK, node("n3")),
        (FindingKind.PACKET_LOSS, node("n2")),
    }


@pytest.mark.parametrize("slow", ["n1", "n2", "n4", "n5", "n6"])
def test_loss_excuses_no_link_that_fell_as_well(slow: str, tmp_path: Path) -> None:
    """A node whose only partner in the last look loses packets is measured with another one."""
    cluster = Falling(nodes=names(6), boot_id="one", at_last=slow_part("node", slow, 0.6), loss_at_last={"n3": 0.05})
    findings = checked(tmp_path, cluster).judgement.findings
    assert {(one.kind, one.subject) for one in findings} == {
        (FindingKind.PACKET_LOSS, node("n3")),
        (FindingKind.SLOW_LINK, node(slow)),
    }
