"""JSON Schema of what commands print: every field is there and no other, and what is not finite is null.

`msgspec.json.schema_components` describes what can be read back, and refuses records that are only printed: a field of
`NodeFacts` can hold one of two records without a tag.
"""

import enum
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from seatrial.archive.recovery import Recovery
from seatrial.commands.acceptance.view import AcceptanceFields
from seatrial.commands.baseline.view import BaselineListFields, BaselineSetFields
from seatrial.commands.benchmarks.view import BenchmarkFields, BenchmarkListFields
from seatrial.commands.check.dry_run import CheckRequest, SubmittedCheck
from seatrial.commands.check.fields import CheckFields
from seatrial.commands.check.requalified import RequalifyFields, RequalifyHistoryFields
from seatrial.commands.compare.side_by_side_view import SideBySideFields
from seatrial.commands.compare.view import ComparisonFields
from seatrial.commands.doctor.view import DoctorFields
from seatrial.commands.fabric.view import FabricFields
from seatrial.commands.facts.detached import FactsCollected, SubmittedFacts
from seatrial.commands.facts.drift_view import DriftFields
from seatrial.commands.facts.view import FactsFields
from seatrial.commands.history.view import HistoriesFields
from seatrial.commands.import_values.view import ImportedFields
from seatrial.commands.jobs.view import JobsFields
from seatrial.commands.judge.pairs.view import LocatedFields
from seatrial.commands.judge.series_view import ChangesFields
from seatrial.commands.limits.view import LimitsFields
from seatrial.commands.link.curve.rails.view import RailsFields
from seatrial.commands.link.curve.view import CurveFields
from seatrial.commands.link.saturate.view import SaturationFields
from seatrial.commands.link.transports.view import TransportsByRailFields, TransportsFields
from seatrial.commands.nodes.program_view import NodeProgramFields
from seatrial.commands.nodes.view import NodesFields
from seatrial.commands.placement.side_by_side import SideBySide
from seatrial.commands.placement.view import PlacementFields
from seatrial.commands.plan.view import PlanFields
from seatrial.commands.qualify.view import QualifyFields
from seatrial.commands.run.dry_run import BenchmarkPreview
from seatrial.commands.run.view import RunFields
from seatrial.commands.runs.view import RunListFields, RunShowFields, RunState
from seatrial.commands.scale.comparison_view import SeriesPreview
from seatrial.commands.scale.view import ScalingFields
from seatrial.commands.site.node_view import SiteNodeFields
from seatrial.commands.site.over_time import SiteHistoryFields
from seatrial.commands.site.run_pairs import SitePairsFields
from seatrial.commands.site.view import SiteFields
from seatrial.commands.soak.view import SoakFields
from seatrial.commands.status.view import StatusFields
from seatrial.commands.swap.judge import SwapJudgement
from seatrial.lab.cluster.daemons import FaultListFields, LabStatusFields
from seatrial.lab.simulator.view import SimulationFields
from seatrial.lab.trial.trial import LabTrialFields
from seatrial.model import formats
from seatrial.model.subject import Subject
from seatrial.render.benchmark_output import OutputFields
from seatrial.render.envelope import ERROR, Envelope
from seatrial.render.fleet.fields import FleetFields
from seatrial.render.json import MetricName

Schema = dict[str, Any]

KINDS: Mapping[str, Any] = {
    "baseline list": BaselineListFields,
    "baseline set": BaselineSetFields,
    "baseline show": BaselineListFields,
    "bench accept": AcceptanceFields,
    "bench list": BenchmarkListFields,
    "bench show": BenchmarkFields,
    "changepoints": ChangesFields,
    "check": CheckFields,
    "compare": ComparisonFields,
    "curve": CurveFields | CheckFields,
    "doctor": DoctorFields,
    "drift": DriftFields,
    "dry-run": CheckRequest | BenchmarkPreview | SeriesPreview,
    "fabric check": FabricFields,
    "fabric show": FabricFields,
    "facts": FactsFields,
    "fleet": FleetFields,
    "history": HistoriesFields,
    "import": ImportedFields,
    "jobs": JobsFields,
    "lab fault list": FaultListFields,
    "lab simulate": SimulationFields,
    "lab status": LabStatusFields,
    "lab trial": LabTrialFields,
    "limits": LimitsFields,
    "locate": LocatedFields,
    "nodes": NodesFields | NodeProgramFields,
    "parse": OutputFields,
    "placement": PlacementFields | CheckFields,
    "placements": SideBySide,
    "plan": PlanFields,
    "qualify": QualifyFields,
    "rails": RailsFields | CheckFields,
    "requalify": RequalifyFields,
    "requalify-history": RequalifyHistoryFields,
    "run": RunFields,
    "runs collect": FactsCollected | RunState,
    "runs list": RunListFields,
    "runs recover": Recovery,
    "runs show": RunShowFields,
    "saturate": SaturationFields | CheckFields,
    "scale": ScalingFields,
    "side-by-side": SideBySideFields,
    "site": SiteFields,
    "site history": SiteHistoryFields,
    "site node": SiteNodeFields,
    "site pairs": SitePairsFields,
    "soak": SoakFields,
    "status": StatusFields,
    "submitted": SubmittedCheck | SubmittedFacts,
    "swap record": SwapJudgement,
    "swap start": SwapJudgement,
    "swap status": SwapJudgement,
    "transports": TransportsFields | TransportsByRailFields | CheckFields,
}
"""What `data` holds, by `kind`. A run that is damaged, or that ended before it measured what its command is for, is
reported as a check is."""
TITLE = f"The JSON object that every seatrial command prints with --json, format {formats.REPORT}"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
PLAIN: Mapping[Any, Schema] = {
    str: {"type": "string"},
    Subject: {"type": "string"},
    MetricName: {"type": "string"},
    Path: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": ["number", "null"]},
    bool: {"type": "boolean"},
    types.NoneType: {"type": "null"},
    Any: {},
}


def published_schema() -> Schema:
    """JSON Schema 2020-12 of every object that this version prints."""
    described = RecordTypes()
    kinds = {kind: described.type(form) for kind, form in KINDS.items()}
    frame = described.record(Envelope)
    frame["properties"]["kind"]["enum"] = [*kinds, ERROR]
    failed = {"data": {"type": "null"}, "error": {"type": "object"}, "findings": {"maxItems": 0}}
    return {
        "$schema": DIALECT,
        "title": TITLE,
        **frame,
        "allOf": [_of_kind(ERROR, failed), *(_of_kind(kind, {"data": schema}) for kind, schema in kinds.items())],
        "$defs": dict(sorted(described.definitions.items())),
    }


def _of_kind(kind: str, fields: Schema) -> Schema:
    return {"if": {"properties": {"kind": {"const": kind}}}, "then": {"properties": fields}}


class RecordTypes:
    """Schemas of types; `definitions` collects those of the records and enumerations in them, by name."""

    def __init__(self) -> None:
        self.definitions: dict[str, Schema] = {}

    def type(self, hint: Any) -> Schema:
        """The schema of one type. Raises NotImplementedError for one that is not printed."""
        origin, parts = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Annotated:
            made = self.type(parts[0])
            for note in parts[1:]:
                made |= {"description": note.description} if note.description else {}
                made |= note.extra_json_schema or {}
            return made
        if hint in PLAIN:
            return dict(PLAIN[hint])
        if origin in (typing.Union, types.UnionType):
            return {"anyOf": [self.type(each) for each in parts]}
        if origin is typing.Literal:
            return {"enum": list(parts)}
        if origin is not None:
            return self._container(origin, parts)
        if isinstance(hint, type) and issubclass(hint, msgspec.Struct | enum.Enum):
            return self._reference(hint)
        raise NotImplementedError(f"{hint} has no schema")

    def _container(self, origin: Any, parts: tuple[Any, ...]) -> Schema:
        if origin is tuple and parts[-1] is not ...:
            ends = {"minItems": len(parts), "maxItems": len(parts)}
            return {"type": "array", "prefixItems": [self.type(each) for each in parts], **ends}
        if origin in (tuple, list):
            return {"type": "array", "items": self.type(parts[0])}
        if origin in (dict, Mapping):
            return {"type": "object", "additionalProperties": self.type(parts[1])}
        raise NotImplementedError(f"{origin} has no schema")

    def _reference(self, hint: Any) -> Schema:
        name = hint.__name__
        if name not in self.definitions:
            self.definitions[name] = {}  # it can hold itself
            made = {"enum": [member.value for member in hint]} if issubclass(hint, enum.Enum) else self.record(hint)
            self.definitions[name] = {"title": name, "description": " ".join((hint.__doc__ or "").split()), **made}
        return {"$ref": f"#/$defs/{name}"}

    def record(self, hint: Any) -> Schema:
        """An object with all fields of a record, and no other."""
        config = hint.__struct_config__
        described = msgspec.structs.fields(hint)
        fields = {config.tag_field: {"const": config.tag}} if config.tag is not None else {}
        fields |= {field.encode_name: self.type(field.type) for field in described}
        required = [field.encode_name for field in described if field.required] if config.omit_defaults else [*fields]
        return {"type": "object", "properties": fields, "required": required, "additionalProperties": False}
