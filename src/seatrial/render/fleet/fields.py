"""What programs read of one benchmark over many nodes."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from seatrial.importers.column_roles import ColumnRoles
from seatrial.importers.fleets import FleetTable
from seatrial.importers.lone_cells import LoneCell
from seatrial.judgement.fleet.judge import JudgedStratum, node_verdict
from seatrial.judgement.fleet.strata import FileShift, FleetJudgement, Named
from seatrial.judgement.peer_suspects import PeerSuspect
from seatrial.model.verdict import Verdict
from seatrial.render.fleet.sentence import all_lone
from seatrial.render.json import filled
from seatrial.statistics.fleets import NodeRuns


class FleetNode(NodeRuns, frozen=True, kw_only=True):
    """One node, or one part of one, with its values and its verdict."""

    verdict: Verdict


class FleetFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Median, scatter and power of one fleet; null where nothing was compared."""

    populations: tuple[tuple[str, ...], ...] = ()
    median: float | None = None
    run_scatter: float | None = None
    node_scatter: float | None = None
    threshold: float | None = None
    detectable: float | None = None
    planned_runs: int | None = None
    intraclass: float | None = msgspec.field(default=None, name="intraclass_correlation")
    reliability: float | None = None


class FleetStratum(FleetFigures, frozen=True, kw_only=True):
    """The values of one condition."""

    conditions: tuple[tuple[str, str], ...]
    unit: str
    better: Literal["higher", "lower"]
    unmeasured: tuple[str, ...]
    nodes: tuple[FleetNode, ...]


class PeerSuspectFields(PeerSuspect, frozen=True, kw_only=True):
    """Facts that the same nodes have, and whether that is more than chance."""

    proved: bool


class FleetColumns(ColumnRoles, frozen=True, kw_only=True):
    """Which columns of a table were read as what."""

    file: str


class FleetFields(FleetFigures, frozen=True, kw_only=True):
    """Nodes compared with each other in one benchmark; docs/judge-fleet.md describes each field."""

    effect: float
    better: Literal["higher", "lower"]
    sense_known: bool = msgspec.field(name="better_known")
    ahead: tuple[str, ...]
    impossible: tuple[str, ...]
    slow: tuple[str, ...]
    unstable: tuple[str, ...]
    suspected: tuple[str, ...]
    unmeasured: tuple[str, ...]
    nodes: tuple[FleetNode, ...]
    named: tuple[Named, ...]
    strata: tuple[FleetStratum, ...]
    suspects: tuple[PeerSuspectFields, ...]
    without_facts: tuple[str, ...]
    columns: tuple[FleetColumns, ...]
    without_value: tuple[str, ...]
    failed: tuple[str, ...]
    shifts: tuple[FileShift, ...]
    lone: tuple[LoneCell, ...]


def fleet_fields(judged: FleetJudgement, tables: Mapping[str, FleetTable]) -> FleetFields:
    """The only condition as the fleet, or each of several as a stratum."""
    strata, only = judged.strata, judged.only
    figures = (only, only.result or FleetFigures()) if only else (FleetFigures(),)
    return filled(
        FleetFields,
        judged,
        *figures,
        better=strata[0].better,
        sense_known=all(stratum.sense_known for stratum in strata),
        ahead=list(dict.fromkeys(name for stratum in strata for name in stratum.ahead)),
        impossible=list(dict.fromkeys(name for stratum in strata for name, _ in stratum.impossible)),
        slow=[each.subject for each in judged.of(Verdict.SLOW)],
        unstable=[each.subject for each in judged.of(Verdict.UNSTABLE)],
        suspected=[each.subject for each in judged.of(Verdict.INCONCLUSIVE)],
        unmeasured=list(dict.fromkeys(name for stratum in strata for name in stratum.missing)),
        nodes=_nodes(only) if only else (),
        strata=() if only else [_stratum(stratum) for stratum in strata],
        columns=[filled(FleetColumns, table.roles, file=file) for file, table in tables.items() if table.roles.node],
        without_value=[node for table in tables.values() for node in table.without_value],
        lone=all_lone(tables),
    )


def _stratum(stratum: JudgedStratum) -> FleetStratum:
    return filled(
        FleetStratum, stratum, stratum.result or FleetFigures(), unmeasured=stratum.missing, nodes=_nodes(stratum)
    )


def _nodes(stratum: JudgedStratum) -> list[FleetNode]:
    return [filled(FleetNode, runs, verdict=node_verdict(runs)) for runs in stratum.nodes]
