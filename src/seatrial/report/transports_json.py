"""Which transport carried the data, as JSON; docs/transports.md says what each field means."""

import json

import msgspec

from seatrial.diagnosis.transports.by_rail import TransportsByRail
from seatrial.diagnosis.transports.judged import Transports
from seatrial.model.limit import Limit, NoLimit
from seatrial.report.json_report import finding_as_json
from seatrial.report.json_text import Json, finite

FORMAT = 1


def transports_as_json(run: str, found: Transports | TransportsByRail) -> str:
    """One object; base units, no infinity and no NaN; ends in a newline."""
    body = _by_rail(found) if isinstance(found, TransportsByRail) else {**_surroundings(found), **_answer(found)}
    ends: Json = {"format": FORMAT, "run": run, "source": found.pair[0], "target": found.pair[1]}
    return json.dumps(finite({**ends, **body}), indent=1) + "\n"


def _by_rail(found: TransportsByRail) -> Json:
    return {
        **_surroundings(found.rails[0]),
        "verdict": found.verdict.value,
        "reason": found.reason,
        "exit_code": int(found.exit_code),
        "complete": found.complete,
        "rails": [{"rail": one.rail, "held": one.held, **_answer(one)} for one in found.rails],
        "findings": [finding_as_json(one) for one in found.findings],
        "notes": list(found.notes),
    }


def _surroundings(found: Transports) -> Json:
    """What is the same over each rail."""
    return {
        "within": found.within,
        "mpi_library": found.mpi_library,
        "offers": msgspec.to_builtins(found.offers),
    }


def _answer(found: Transports) -> Json:
    limit = found.limit
    return {
        "verdict": found.verdict.value,
        "reason": found.reason,
        "carried_by": found.carried_by.value if found.carried_by else None,
        "exit_code": int(found.exit_code),
        "complete": found.complete,
        "declared": msgspec.to_builtins(found.declared),
        "carriers": msgspec.to_builtins(found.carriers),
        "variants": [
            {**msgspec.to_builtins(one), "changed": one.changed, "slower": one.slower, "faster": one.faster}
            for one in found.effects
        ],
        "findings": [finding_as_json(one) for one in found.findings],
        "limit_bytes_per_s": limit.limit_bytes_per_s if isinstance(limit, Limit) else None,
        "limit_binding": limit.binding if isinstance(limit, Limit) else None,
        "no_limit_because": limit.reason if isinstance(limit, NoLimit) else None,
        "notes": list(found.notes),
    }
