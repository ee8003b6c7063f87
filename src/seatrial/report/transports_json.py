"""Which transport carried the data, as JSON; docs/transports.md says what each field means."""

import json

import msgspec

from seatrial.diagnosis.transports.judged import Transports
from seatrial.model.limit import Limit, NoLimit
from seatrial.report.curve_json import finite
from seatrial.report.json_report import Json, finding_as_json

FORMAT = 1


def transports_as_json(run: str, found: Transports) -> str:
    """One object; base units, no infinity and no NaN; ends in a newline."""
    limit = found.limit
    content: Json = {
        "format": FORMAT,
        "run": run,
        "source": found.pair[0],
        "target": found.pair[1],
        "within": found.within,
        "verdict": found.verdict.value,
        "reason": found.reason,
        "carried_by": found.carried_by.value if found.carried_by else None,
        "exit_code": int(found.exit_code),
        "complete": found.complete,
        "mpi_library": found.mpi_library,
        "declared": msgspec.to_builtins(found.declared),
        "offers": msgspec.to_builtins(found.offers),
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
    return json.dumps(finite(content), indent=1) + "\n"
