"""A curve as one JSON object; base units, null for what is unknown."""

import msgspec

from seatrial.commands.curve.judge import Curve
from seatrial.model.run import RunInfo
from seatrial.render.json_text import Json, finite, json_text
from seatrial.render.pair_json import limit_fields, outcome_fields
from seatrial.statistics.segments import Break, Segmentation

FORMAT = 1


def curve_as_json(run: RunInfo, curve: Curve) -> str:
    """docs/curve.md says what each field means."""
    found = {
        **outcome_fields(run, curve, FORMAT),
        "launcher": run.launcher,
        **limit_fields(curve.limit),
        "plateau": msgspec.to_builtins(curve.plateau),
        "latency": _segmentation(curve.latency) if curve.latency else None,
        "points": msgspec.to_builtins(curve.points),
        "ranks": msgspec.to_builtins(curve.places),
        "clock": msgspec.to_builtins(curve.clock),
    }
    return json_text(finite(found))


def _segmentation(found: Segmentation) -> Json:
    return {
        "segments": msgspec.to_builtins(found.segments),
        "switches": [_break(one) for one in found.breaks if one.switch],
        "unconfirmed": [_break(one) for one in found.steps if not one.switch],
        "bends": [_break(one) for one in found.breaks if not one.step],
        "relative_scale": found.relative_scale,
        "method": found.method,
    }


def _break(one: Break) -> Json:
    return {
        "at_bytes": round(one.at_bytes),
        "above_bytes": one.last_bytes,
        "at_most_bytes": one.first_bytes,
        "interval_bytes": [one.low_bytes, one.high_bytes],
        "jump": one.jump,
        "found_share": one.found_share,
    }
