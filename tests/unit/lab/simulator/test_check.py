"""The real driver over a simulated fabric: what is planted is named, and nothing else."""

import random
from pathlib import Path

import pytest

from seatrial.commands.check.run import CheckOutcome, run_check
from seatrial.commands.check.survey_plan import recorded_survey
from seatrial.fabric.parts import FabricParts
from seatrial.fabric.routes import Routes
from seatrial.lab.simulator.faults import draw_faults, parse_fault
from seatrial.lab.simulator.launcher import SimulatedLauncher
from seatrial.lab.simulator.score import Match, Truth
from seatrial.lab.simulator.topology import parse_topology
from seatrial.lab.simulator.trial import SimulatedFabric, TrialSettings, run_trial
from seatrial.launch.contract import StartManner
from seatrial.model.errors import ExitCode, ProbeLost, RoundRefused
from seatrial.model.measurement import Phase, Round
from seatrial.model.settings import CheckSettings
from seatrial.model.subject import Direction
from seatrial.model.verdict import FindingKind
from seatrial.pairs.survey import BANDWIDTH, LATENCY
from seatrial.statistics.estimates import median
from tests.support import launcher_contract


def launcher_of(topology: str, *faults: str, seed: int = 1) -> SimulatedLauncher:
    routes = Routes(parse_topology(topology))
    planted = draw_faults(FabricParts(routes), [parse_fault(fault) for fault in faults], random.Random(seed))
    return SimulatedLauncher(routes, planted, seed)


def checked(archive: Path, topology: str, *faults: str, seed: int = 1) -> tuple[CheckOutcome, str]:
    """What a sparse check says, and the short name of what was planted first."""
    launcher = launcher_of(topology, *faults, seed=seed)
    parts = draw_faults(FabricParts(launcher.routes), [parse_fault(fault) for fault in faults], random.Random(seed))
    settings = CheckSettings(archive=archive, design="sparse", seed=seed, run=f"{topology.replace(':', '-')}-{seed}")
    outcome = run_check(settings, launcher=launcher)
    return outcome, parts[0].part.name.split(" ")[0] if parts else ""


def test_it_keeps_to_the_contract(tmp_path: Path) -> None:
    launcher = launcher_of("fat-tree:8")
    nodes = launcher_contract.check_hosts(launcher)
    launcher_contract.check_facts(launcher, nodes)
    launcher.allocate(nodes, 60)
    session = launcher.start(nodes, tmp_path / "launch.err")
    launcher_contract.check_greeting(session, nodes)
    launcher_contract.check_measuring(session)
    launcher_contract.check_refusal(session)
    launcher_contract.check_ending(launcher, nodes, tmp_path)
    places = launcher.start(nodes, tmp_path / "launch.err", StartManner(ranks_per_node=2))
    assert places.nodes[:3] == (f"{nodes[0]}:0", f"{nodes[0]}:1", f"{nodes[1]}:0")


def test_pairs_that_share_a_cable_share_its_bandwidth(tmp_path: Path) -> None:
    """Four nodes on two leaves with one cable between them."""
    launcher = launcher_of("fat-tree:4,per-leaf=2,cables=1,spines=1")
    session = launcher.start(launcher.hosts().nodes, tmp_path / "log")

    def typical_s(*pairs: tuple[str, str]) -> float:
        wanted = Round(phase=Phase.SURVEY, repetition=0, shape=BANDWIDTH, pairs=pairs)
        return median([one for each in session.measure(wanted, 60) for one in each.times_s])

    assert typical_s(("n1", "n3"), ("n2", "n4")) == pytest.approx(2 * typical_s(("n1", "n3")), rel=0.1)
    assert typical_s(("n1", "n2"), ("n3", "n4")) == pytest.approx(typical_s(("n1", "n2")), rel=0.1)


def test_latency_grows_with_the_cables_on_the_way(tmp_path: Path) -> None:
    launcher = launcher_of("fat-tree:8,per-leaf=4")
    session = launcher.start(launcher.hosts().nodes, tmp_path / "log")
    near, far = session.measure(
        Round(phase=Phase.SURVEY, repetition=0, shape=LATENCY, pairs=(("n1", "n2"), ("n3", "n5"))), 60
    )
    assert 1e-6 < median(near.times_s) / 2 < median(far.times_s) / 2 < 5e-6


def test_a_dead_cable_never_answers(tmp_path: Path) -> None:
    launcher = launcher_of("fat-tree:4", "node:0:both", seed=2)
    (faulty,) = draw_faults(FabricParts(launcher.routes), [parse_fault("node:0:both")], random.Random(2))
    dead = faulty.part.name.split(" ")[0]
    others = [name for name in launcher.hosts().nodes if name != dead]
    session = launcher.start(launcher.hosts().nodes, tmp_path / "log")
    wanted = launcher_contract.round_of(BANDWIDTH, (dead, others[0]), (others[1], others[2]))
    answers = session.measure(wanted, 20.0)
    assert next(answers).pair == (others[1], others[2])
    with pytest.raises(ProbeLost, match=f"nothing came from {dead}"):
        next(answers)
    with pytest.raises(RoundRefused):
        list(session.measure(launcher_contract.round_of(LATENCY, ("nobody", others[0])), 20.0))


def test_a_healthy_fabric_is_healthy_whatever_is_in_whose_way(tmp_path: Path) -> None:
    outcome, _ = checked(tmp_path, "fat-tree:60")
    assert outcome.judgement.findings == ()
    assert outcome.judgement.exit_code is ExitCode.PASS
    assert any("contention, no fault" in note for note in outcome.judgement.notes)
    plan = recorded_survey(outcome.folder)
    assert plan is not None
    assert not plan.separate


def test_a_large_healthy_fabric_is_measured_so_that_nothing_is_in_the_way(tmp_path: Path) -> None:
    outcome, _ = checked(tmp_path, "fat-tree:64")
    assert outcome.judgement.findings == ()
    assert outcome.judgement.exit_code is ExitCode.PASS
    assert not any("fewer pairs at once" in note for note in outcome.judgement.notes)
    assert not any(one.phase is Phase.NEXT for one in outcome.recorded.measurements)
    plan = recorded_survey(outcome.folder)
    assert plan is not None
    assert plan.separate, "a replay chooses the next rounds by it"


@pytest.mark.parametrize(
    ("fault", "kind", "subject", "direction"),
    [
        ("node:0.8:both", FindingKind.SLOW_LINK, "node:{}", Direction.BOTH),
        ("node:0.7:in", FindingKind.SLOW_LINK, "node:{}", Direction.IN),
        ("node:0.7:out", FindingKind.SLOW_LINK, "node:{}", Direction.OUT),
        ("uplink:0.5:both", FindingKind.SLOW_UPLINK, "uplink:{}", Direction.BOTH),
    ],
)
def test_what_is_planted_is_named_and_nothing_else(
    tmp_path: Path, fault: str, kind: FindingKind, subject: str, direction: Direction
) -> None:
    outcome, planted = checked(tmp_path, "fat-tree:64", fault, seed=5)
    (finding,) = outcome.judgement.findings
    assert (finding.kind, finding.subject.text, finding.direction) == (kind, subject.format(planted), direction)
    assert finding.ambiguous_with == ()
    assert ("ibstat, perfquery" in finding.remedy, "ethtool" in finding.remedy) == (fault.startswith("node"), False)
    assert outcome.judgement.exit_code is ExitCode.FINDINGS


@pytest.mark.parametrize(
    ("topology", "fault", "seed", "kind", "subject"),
    [
        ("fat-tree:64", "link:0.5", 2, FindingKind.SLOW_CABLE, "link"),
        ("fat-tree:128", "spine:0.7", 1, FindingKind.SLOW_SPINE, "spine"),
        ("dragonfly:128", "uplink:0.5", 1, FindingKind.SLOW_UPLINK, "uplink"),
    ],
)
def test_with_the_routes_cables_spines_and_routers_have_names(
    tmp_path: Path, topology: str, fault: str, seed: int, kind: FindingKind, subject: str
) -> None:
    launcher = launcher_of(topology, fault, seed=seed)
    (planted,) = draw_faults(FabricParts(launcher.routes), [parse_fault(fault)], random.Random(seed))
    settings = CheckSettings(archive=tmp_path, design="sparse", seed=seed, run="routed")
    (finding,) = run_check(settings, None, launcher, launcher.wiring()).judgement.findings
    assert finding.kind is kind
    assert finding.subject.text == f"{subject}:{planted.part.name.replace(' ', '')}"


# Contention on a healthy oversubscribed fabric is not a fault, whatever is known of the fabric.


@pytest.mark.parametrize("routed", [False, True])
def test_a_healthy_over_subscribed_fabric_passes_with_and_without_routes(tmp_path: Path, routed: bool) -> None:
    """Hundreds of pairs were left INCONCLUSIVE; more knowledge must never give a worse answer."""
    fabric = SimulatedFabric(parse_topology("fat-tree:400,oversubscription=4"))
    trial, outcome = run_trial(fabric, TrialSettings(routed=routed), [], seed=1, archive=tmp_path)
    assert trial.score.claims == ()
    assert trial.exit_code is ExitCode.PASS
    assert not any("fewer pairs at once" in note for note in outcome.judgement.notes)
    at_the_end = 400 + 3 * 200  # each node once more, and all its round trips three times
    assert trial.cost.measurements < 4_000 + at_the_end


# A slow uplink just at the old threshold of a pair is found, with and without routes.


@pytest.mark.parametrize(("seed", "routed"), [(1, False), (2, True)])
def test_an_uplink_at_exactly_nine_tenths_is_named(tmp_path: Path, seed: int, routed: bool) -> None:
    """90 % was the threshold: half of its pairs lay above, acquitted it, and the other half was named one by one."""
    fabric = SimulatedFabric(parse_topology("fat-tree:100"))
    settings = TrialSettings(specs=(parse_fault("uplink:0.9"),), routed=routed)
    trial, _ = run_trial(fabric, settings, fabric.plant(settings, seed), seed=seed, archive=tmp_path)
    assert trial.score.faults[0].match in (Match.NAMED, Match.IN_SET), trial.score.claims
    assert [one for one in trial.score.claims if one.truth is Truth.FALSE] == []
