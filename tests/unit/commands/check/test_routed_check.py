"""Checks that know the fabric's cables: cable, bundle, spine or node is named, and again from the archive."""

import itertools
from pathlib import Path

import pytest

from seatrial.archive.reader import read_run
from seatrial.commands.check.judge import judge
from seatrial.commands.check.run import CheckOutcome, run_check
from seatrial.fabric.forwarding import parse_tables
from seatrial.fabric.ibnetdiscover import parse_fabric
from seatrial.fabric.routed_fabric import RoutedFabric, make_routing
from seatrial.model.errors import UsageError
from seatrial.model.fabric import NO_FABRIC, Component
from seatrial.model.settings import CheckSettings
from seatrial.model.subject import Direction, Subject, link, node, spine, uplink
from seatrial.model.verdict import Finding, FindingKind
from tests.support.builders import Cluster, names, slow_part
from tests.support.fabrics import fat_tree, tables_of
from tests.support.scripted import ScriptedLauncher

TEXT = fat_tree(4, 4, 4)
NODES = names(16)


def truth() -> RoutedFabric:
    fabric = parse_fabric(TEXT)
    tables = parse_tables(tables_of(TEXT, shift=1), fabric)
    known = RoutedFabric(make_routing(fabric, tables, NODES, NO_FABRIC))
    return known.measured(list(itertools.permutations(NODES, 2)))


def settings(archive: Path, **more: object) -> CheckSettings:
    """With map and tables as files."""
    (archive / "fabric.txt").write_text(TEXT)
    (archive / "tables.txt").write_text(tables_of(TEXT, shift=1))
    given = {"fabric": str(archive / "fabric.txt"), "routes": str(archive / "tables.txt"), "run": "trial", **more}
    return CheckSettings(archive=archive, round_timeout_s=0.5, **given)  # type: ignore[arg-type]


def sail(archive: Path, parts: dict[Component, float], **more: object) -> CheckOutcome:
    launcher = ScriptedLauncher(Cluster(nodes=NODES, parts=parts, wiring=truth()))
    return run_check(settings(archive, **more), launcher=launcher)


def only(outcome: CheckOutcome) -> Finding:
    (finding,) = outcome.judgement.findings
    return finding


CABLE = "leaf2[6]-spine2[2]"
SLOW = [
    (slow_part("link", CABLE, 0.5), FindingKind.SLOW_CABLE, link(CABLE), Direction.BOTH),
    (slow_part("link", CABLE, 0.5, (Direction.IN,)), FindingKind.SLOW_CABLE, link(CABLE), Direction.IN),
    (slow_part("uplink", "leaf3", 0.5), FindingKind.SLOW_UPLINK, uplink("leaf3"), Direction.BOTH),
    (slow_part("spine", "spine4", 0.5, (Direction.BOTH,)), FindingKind.SLOW_SPINE, spine("spine4"), Direction.BOTH),
    (slow_part("node", "n7", 0.5), FindingKind.SLOW_LINK, node("n7"), Direction.BOTH),
]


@pytest.mark.parametrize(
    ("parts", "kind", "subject", "way"), SLOW, ids=["cable", "one way of a cable", "uplink", "spine", "node"]
)
def test_the_part_is_named(
    tmp_path: Path, parts: dict[Component, float], kind: FindingKind, subject: Subject, way: Direction
) -> None:
    outcome = sail(tmp_path, parts, design="sparse", budget_s=40.0)
    finding = only(outcome)
    assert (finding.kind, finding.subject, finding.ambiguous_with) == (kind, subject, ())
    assert finding.direction is way
    assert finding.experiments[0].confirmed
    recorded = read_run(outcome.folder)
    assert recorded == outcome.recorded
    assert judge(recorded) == outcome.judgement


def test_two_cables_at_once_and_every_pair(tmp_path: Path) -> None:
    parts = slow_part("link", CABLE, 0.5) | slow_part("link", "leaf1[8]-spine4[1]", 0.7)
    found = {finding.subject for finding in sail(tmp_path, parts).judgement.findings}
    assert found == {link(CABLE), link("leaf1[8]-spine4[1]")}


def test_a_healthy_fabric(tmp_path: Path) -> None:
    outcome = sail(tmp_path, {})
    assert outcome.judgement.findings == ()
    assert outcome.recorded.info.fabric.leaf_of["n5"] == "leaf2"
    assert "fabric.txt: 8 switches" in outcome.recorded.info.fabric.source


def test_a_replay_knows_the_same_cables(tmp_path: Path) -> None:
    first = sail(tmp_path, slow_part("link", CABLE, 0.5))
    again = run_check(CheckSettings(archive=tmp_path, run="again", replay=first.folder, round_timeout_s=0.5))
    assert only(again).subject == link(CABLE)
    assert read_run(again.folder).wiring == first.recorded.wiring


def test_a_run_without_a_map_is_judged_with_one_afterwards(tmp_path: Path) -> None:
    first = sail(tmp_path, slow_part("link", CABLE, 0.5), fabric="", routes="", run="blind")
    assert {finding.kind for finding in first.judgement.findings} <= {FindingKind.SLOW_PAIR, FindingKind.SLOW_LINK}
    again = run_check(settings(tmp_path, replay=first.folder, run="seeing"))
    assert link(CABLE) in {finding.subject for finding in again.judgement.findings}


def test_options_that_need_a_fabric(tmp_path: Path) -> None:
    launcher = ScriptedLauncher(Cluster(nodes=NODES))
    for wrong in ({"routes": "tables"}, {"device": "mlx5_1"}):
        with pytest.raises(UsageError, match="not given"):
            run_check(CheckSettings(archive=tmp_path, **wrong), launcher=launcher)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="cannot be read"):
        run_check(CheckSettings(archive=tmp_path, fabric="/nowhere/to/be/found"), launcher=launcher)
    assert list(tmp_path.iterdir()) == []
