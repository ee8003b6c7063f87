"""The real driver over simulated fabrics under load: sharing is measured as built, and a narrow trunk is named."""

from pathlib import Path

import msgspec
import pytest

from seatrial.commands.check.run import CheckOutcome, run_check
from seatrial.fabric.parts import FabricParts, PartKind, Way, merged
from seatrial.fabric.routes import Routes
from seatrial.lab.simulator.faults import SimulatedFault
from seatrial.lab.simulator.launcher import SimulatedLauncher
from seatrial.lab.simulator.topology import parse_topology
from seatrial.model.fabric import DeviceKind, FabricMap
from seatrial.model.settings import CheckSettings
from seatrial.model.verdict import FindingKind


def with_wide_trunks(fabric: FabricMap) -> FabricMap:
    """Cables between switches carry twice what those of nodes do, so that one pair cannot fill half of one."""
    switches = {device.key for device in fabric.devices if device.kind is DeviceKind.SWITCH}
    links = tuple(
        msgspec.structs.replace(link, speed="XDR", other_speed="XDR")
        if {link.one.device, link.other.device} <= switches
        else link
        for link in fabric.links
    )
    return msgspec.structs.replace(fabric, links=links)


def checked(
    archive: Path, topology: str, *, routed: bool, slow: float | None = None, loaded: bool = True, spoilt: int = 0
) -> tuple[CheckOutcome, str]:
    """What a sparse check says; with `slow`, that share is left of one leaf's trunk, whose leaf is returned.

    `spoilt`: of so many cables of it only; 0: of all.
    """
    routes = Routes(with_wide_trunks(parse_topology(topology)))
    planted, leaf = [], ""
    if slow is not None:
        bundles = [part for part in FabricParts(routes).bundles if part.kind is PartKind.UPLINK]
        place = bundles[0].place
        part = next(merged([one for one in bundles if one.place == place]))
        assert part.way is Way.BOTH
        if spoilt:
            chosen = sorted({hop // 2 for hop in part.hops})[:spoilt]
            hops = tuple(hop for hop in part.hops if hop // 2 in chosen)
            part = msgspec.structs.replace(part, hops=hops)
        planted, leaf = [SimulatedFault(part=part, share=slow)], part.name.split(" ")[0]
    launcher = SimulatedLauncher(routes, planted, 3)
    settings = CheckSettings(archive=archive, design="sparse", seed=3, run="loaded", loaded=loaded)
    return run_check(settings, None, launcher, launcher.wiring() if routed else None), leaf


@pytest.mark.parametrize(
    ("topology", "over", "routed"), [("spines=4", 1.0, True), ("spines=2", 2.0, False), ("spines=1", 4.0, True)]
)
def test_over_subscription_comes_out_as_it_was_built(tmp_path: Path, topology: str, over: float, routed: bool) -> None:
    outcome, _ = checked(tmp_path, f"fat-tree:32,per-leaf=8,cables=1,{topology}", routed=routed)
    loaded = outcome.judgement.loaded
    assert loaded is not None
    assert outcome.judgement.findings == ()
    assert loaded.oversubscription == pytest.approx(over, rel=0.03)
    assert loaded.bisection_share == pytest.approx(1 / over, rel=0.03)
    assert loaded.design_oversubscription == (over if routed else None)
    assert all(one.of_peers == pytest.approx(1, abs=0.02) for one in loaded.leaves)


@pytest.mark.parametrize(("spines", "routed"), [(4, False), (2, True)])
def test_a_trunk_of_half_its_width_is_named_though_no_pair_is_slow(tmp_path: Path, spines: int, routed: bool) -> None:
    topology = f"fat-tree:32,per-leaf=8,cables=1,spines={spines}"
    outcome, leaf = checked(tmp_path / "with", topology, routed=routed, slow=0.5)
    assert [(one.kind, one.subject.text) for one in outcome.judgement.findings] == [
        (FindingKind.SLOW_UPLINK, f"uplink:{leaf}")
    ]


def test_without_load_the_same_trunk_is_not_found(tmp_path: Path) -> None:
    """So the load of whole leaves is what finds it."""
    outcome, _ = checked(tmp_path, "fat-tree:32,per-leaf=8,cables=1,spines=4", routed=True, slow=0.5, loaded=False)
    assert outcome.judgement.findings == ()
    assert outcome.judgement.loaded is None


@pytest.mark.parametrize("spoilt", [1, 2])
def test_with_the_routes_the_cables_of_the_trunk_are_named(tmp_path: Path, spoilt: int) -> None:
    """One cable alone is the finding; two of four are listed as what is wrong with the uplink."""
    outcome, leaf = checked(tmp_path, "fat-tree:32,per-leaf=8,cables=1,spines=4", routed=True, slow=0.5, spoilt=spoilt)
    (finding,) = outcome.judgement.findings
    listed = [one.outcome for one in finding.experiments if "Cable by cable" in one.description]
    if spoilt == 1:
        assert finding.kind is FindingKind.SLOW_CABLE
        assert finding.subject.text.startswith(f"link:{leaf}[")
    else:
        assert (finding.kind, finding.subject.text) == (FindingKind.SLOW_UPLINK, f"uplink:{leaf}")
        assert listed
        assert listed[0].count(f"{leaf}[") == 2


def test_a_run_under_load_is_replayed_as_it_was(tmp_path: Path) -> None:
    outcome, _ = checked(tmp_path / "first", "fat-tree:32,per-leaf=8,cables=1,spines=4", routed=False, slow=0.5)
    settings = CheckSettings(archive=tmp_path / "then", replay=outcome.folder, run="then")
    then = run_check(settings)
    assert then.judgement.findings == outcome.judgement.findings != ()
    assert then.judgement.loaded == outcome.judgement.loaded


def test_a_run_without_load_is_replayed_without_it(tmp_path: Path) -> None:
    topology = "fat-tree:32,per-leaf=8,cables=1,spines=4"
    outcome, _ = checked(tmp_path / "first", topology, routed=False, loaded=False)
    then = run_check(CheckSettings(archive=tmp_path / "then", replay=outcome.folder, run="then"))
    assert then.judgement.loaded is None
    assert then.judgement.complete
    assert not [note for note in then.judgement.notes if "recording" in note]
