"""The published JSON Schema: the frame of all objects, and the fields of `data` for each kind."""

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import msgspec

from seatrial.archive.listing import RunRow
from seatrial.archive.recovery import Recovery
from seatrial.cli.json_schema import KINDS, RecordTypes, schema_of
from seatrial.cli.schema.notation import Notation
from seatrial.commands.check.dry_run import Request
from seatrial.commands.check.fields import CheckFields
from seatrial.commands.placement.rows import RankRow
from seatrial.judgement.comparison.records import ChangedFact, Counts, ProofOutcome, Unlike
from seatrial.judgement.peer_suspects import PeerFact
from seatrial.lab.cluster.daemons import LabStatus
from seatrial.lab.faults.base import Planted
from seatrial.lab.simulator.totals import Totals
from seatrial.lab.simulator.trial import Cost
from seatrial.lab.trial.trial import RunResult
from seatrial.model.imported import Source
from seatrial.model.measurement import Estimate
from seatrial.model.pair_faults import Population
from seatrial.model.run import RunInfo
from seatrial.model.subject import Direction
from seatrial.model.verdict import Outcome, Verdict
from seatrial.render.envelope import Envelope

RECORDS: tuple[type, ...] = (
    CheckFields, Cost, Counts, ChangedFact, Direction, Estimate, LabStatus, Outcome, PeerFact, Planted, Population,
    ProofOutcome, RankRow, Recovery, Request, RunInfo, RunResult, RunRow, Source, Totals, Unlike, Verdict,
)  # fmt: skip
"""Records that are printed as they are; the tables name them."""
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
    types.definitions |= {name: notation.record(name) for name in table.records}
    kinds = {
        name: {"description": f"docs/{kind.page}.md describes the fields.", **notation.type(kind.type)}
        for name, kind in table.kinds.items()
    } | {kind: types.type(form) for kind, form in KINDS.items()}
    named = _named(kinds, types.definitions)
    types.record(Envelope)
    named |= _named(types.record(Envelope), types.definitions)
    types.definitions = {name: schema for name, schema in types.definitions.items() if name in named}
    return schema_of(types, kinds)


def _named(part: object, definitions: Mapping[str, object], seen: frozenset[str] = frozenset()) -> frozenset[str]:
    """The definitions that a part of the schema refers to, those that these refer to included."""
    names = frozenset(REFERENCE.findall(msgspec.json.encode(part).decode())) - seen
    seen |= names
    for name in names:
        seen = _named(definitions[name], definitions, seen)
    return seen
