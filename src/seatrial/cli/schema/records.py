"""The published JSON Schema: the frame of all objects, and the fields of `data` for each kind."""

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import msgspec

from seatrial.archive.listing import RunRow
from seatrial.archive.recovery import Recovery
from seatrial.cli.schema.notation import Notation
from seatrial.cli.schema.record_types import RecordTypes
from seatrial.commands.check.dry_run import Request
from seatrial.commands.curve.judge import Plateau
from seatrial.commands.curve.points import ClockReading, CurvePoint
from seatrial.commands.curve.rank_places import CurvePlaces
from seatrial.commands.placement.rows import RankRow
from seatrial.commands.saturate.judge import AtOnce, AtSize
from seatrial.commands.transports.carriers import CarrierVerdict
from seatrial.commands.transports.effects import Effect
from seatrial.commands.transports.inventory import Offer
from seatrial.judgement.comparison.records import ChangedFact, Counts, ProofOutcome, Unlike
from seatrial.judgement.peer_suspects import PeerFact
from seatrial.lab.cluster.daemons import LabStatus
from seatrial.lab.faults.base import Planted
from seatrial.lab.simulator.totals import Totals
from seatrial.lab.simulator.trial import Cost
from seatrial.lab.trial.trial import RunResult
from seatrial.model.facts import NodeFacts
from seatrial.model.imported import Source
from seatrial.model.judgement import Compared
from seatrial.model.measurement import Estimate
from seatrial.model.node_trials import Clock, Heat, NodeConditions, NodeLimits, Noise, Storage, StorageRates
from seatrial.model.past import FactChange
from seatrial.model.run import NodeCause, RunInfo
from seatrial.model.run_values import RunSummary
from seatrial.model.subject import Direction
from seatrial.model.transport import Carrier, Declared
from seatrial.model.verdict import Outcome, Verdict
from seatrial.render.envelope import report_schema
from seatrial.render.fields import EstimateFields
from seatrial.statistics.max_rate import MaxRate
from seatrial.statistics.segments import Segment

RECORDS: tuple[type, ...] = (
    AtOnce, AtSize, Carrier, CarrierVerdict, ChangedFact, Clock, ClockReading, Compared, Cost, Counts, CurvePlaces,
    CurvePoint, Declared, Direction, Effect, Estimate, EstimateFields, FactChange, Heat, LabStatus, MaxRate,
    NodeCause, NodeConditions, NodeFacts, NodeLimits, Noise, Offer, Outcome, PeerFact, Planted, Plateau,
    ProofOutcome, RankRow, Recovery, Request,
    RunInfo, RunResult, RunRow, RunSummary, Segment, Source, Storage, StorageRates, Totals, Unlike, Verdict,
)  # fmt: skip
"""That are printed as they are; the tables name them."""
REFERENCE = re.compile(r"#/\$defs/([\w.]+)")
TABLES = ("runs.toml", "tables.toml")


class Kind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one kind of object has in `data`, and the page of docs/ that describes it."""

    page: str
    type: str


class FieldTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of the tables."""

    kinds: dict[str, Kind]
    records: dict[str, dict[str, str]]


def field_tables() -> FieldTable:
    """Both tables as one. Raises msgspec.ValidationError where they are not well-formed."""
    kinds: dict[str, Kind] = {}
    records: dict[str, dict[str, str]] = {}
    for name in TABLES:
        text = files("seatrial.cli.schema").joinpath(name).read_text(encoding="utf-8")
        table = msgspec.toml.decode(text, type=FieldTable)
        kinds |= table.kinds
        records |= table.records
    return FieldTable(kinds=dict(sorted(kinds.items())), records=records)


def published_schema() -> dict[str, Any]:
    """JSON Schema 2020-12 of every object that this version prints."""
    table = field_tables()
    types = RecordTypes()
    references = {record.__name__: types.type(record) for record in RECORDS}
    notation = Notation(table.records, references, types.definitions)
    definitions = {**types.definitions, **{name: notation.record(name) for name in table.records}}
    kinds = {
        name: {"description": f"docs/{kind.page}.md describes the fields.", **notation.type(kind.type)}
        for name, kind in table.kinds.items()
    }
    named = _named(kinds, definitions)
    return report_schema(kinds, {name: schema for name, schema in definitions.items() if name in named})


def _named(part: object, definitions: Mapping[str, object], seen: frozenset[str] = frozenset()) -> frozenset[str]:
    """The definitions that a part of the schema refers to, those that these refer to included."""
    names = frozenset(REFERENCE.findall(msgspec.json.encode(part).decode())) - seen
    seen |= names
    for name in names:
        seen = _named(definitions[name], definitions, seen)
    return seen
