"""Limits as JSON, for machines; docs/limits.md describes every field."""

from collections.abc import Sequence

from seatrial.model.limit import ComputePeak, Limit, LimitTerm, NoLimit
from seatrial.render.json_text import Json, json_text, number


def limits_json(limits: Sequence[Limit | NoLimit | ComputePeak]) -> list[Json]:
    """One object for each path, in order. Base units; what is not known is null, never infinity or NaN."""
    return [_entry(each) for each in limits]


def limits_json_text(limits: Sequence[Limit | NoLimit | ComputePeak]) -> str:
    """The same as text, in ASCII, so that it can do no harm to a terminal; ends in a newline."""
    return json_text(limits_json(limits))


def _entry(limit: Limit | NoLimit | ComputePeak) -> Json:
    match limit:
        case NoLimit():
            return {"path": limit.path, "limit_bytes_per_s": None, "reason": limit.reason}
        case ComputePeak():
            return _peak(limit)
        case Limit():
            return {
                "path": limit.path,
                "limit_bytes_per_s": number(limit.limit_bytes_per_s),
                "binding": limit.binding,
                "nominal": limit.nominal,
                "terms": [_term(term) for term in limit.terms],
                "gate_bytes_per_s": number(limit.gate_bytes_per_s),
                "unknown": list(limit.unknown),
            }


def _term(term: LimitTerm) -> Json:
    return {
        "name": term.name,
        "bytes_per_s": number(term.bytes_per_s),
        "inputs": {name: number(value) for name, value in term.inputs.items()},
        "source": term.source,
        "formula": term.formula,
        "nominal": term.nominal,
    }


def _peak(peak: ComputePeak) -> Json:
    return {
        "path": peak.path,
        "limit_flops_per_s": number(peak.flops_per_s),
        "limit_flops_per_s_per_core": number(peak.flops_per_s_per_core),
        "flops_per_cycle": peak.flops_per_cycle,
        "cores": peak.cores,
        "hz": number(peak.hz),
        "inputs": {name: number(value) for name, value in peak.inputs.items()},
        "source": peak.source,
        "formula": peak.formula,
        "nominal": peak.nominal,
        "unknown": list(peak.unknown),
    }
