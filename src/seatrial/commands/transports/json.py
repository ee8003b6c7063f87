"""Which transport carried the data, as JSON; docs/transports.md says what each field means."""

import msgspec

from seatrial.commands.transports.judge import Transports, TransportsByRail
from seatrial.model.run import RunInfo
from seatrial.render.finding_json import finding_as_json
from seatrial.render.json_text import Json, finite, json_text
from seatrial.render.pair_json import limit_fields, outcome_fields, settled_fields

FORMAT = 1


def transports_as_json(run: RunInfo, found: Transports | TransportsByRail) -> str:
    """One object; base units, no infinity and no NaN; ends in a newline."""
    body = _by_rail(found) if isinstance(found, TransportsByRail) else {**_surroundings(found), **_answer(found)}
    return json_text(finite({**outcome_fields(run, found, FORMAT), **body}))


def _by_rail(found: TransportsByRail) -> Json:
    return {
        **_surroundings(found.rails[0]),
        "rails": [{"rail": one.rail, "held": one.held, **settled_fields(one), **_answer(one)} for one in found.rails],
        "findings": [finding_as_json(one) for one in found.findings],
    }


def _surroundings(found: Transports) -> Json:
    """What is the same over each rail."""
    return {
        "within": found.within,
        "mpi_library": found.mpi_library,
        "offers": msgspec.to_builtins(found.offers),
    }


def _answer(found: Transports) -> Json:
    return {
        "carried_by": found.carried_by.value if found.carried_by else None,
        "declared": msgspec.to_builtins(found.declared),
        "carriers": msgspec.to_builtins(found.carriers),
        "variants": [
            {**msgspec.to_builtins(one), "changed": one.changed, "slower": one.slower, "faster": one.faster}
            for one in found.effects
        ],
        "findings": [finding_as_json(one) for one in found.findings],
        **limit_fields(found.limit),
    }
