"""A curve as one JSON object; base units, null for what is unknown."""

import json
import math
from typing import Any

import msgspec

from seatrial.diagnosis.curve import Curve
from seatrial.model.limit import Limit, NoLimit
from seatrial.model.run import RunInfo
from seatrial.statistics.segments import Break, Segment, Segmentation

FORMAT = 1


def curve_as_json(run: RunInfo, curve: Curve) -> str:
    """docs/curves.md says what each field means."""
    limit = curve.limit
    found = {
        "format": FORMAT,
        "run": run.run,
        "source": curve.pair[0],
        "target": curve.pair[1],
        "launcher": run.launcher,
        "verdict": curve.verdict.value if curve.verdict else None,
        "reason": curve.reason,
        "exit_code": int(curve.exit_code),
        "complete": curve.complete,
        "limit_bytes_per_s": limit.limit_bytes_per_s if isinstance(limit, Limit) else None,
        "limit_binding": limit.binding if isinstance(limit, Limit) else None,
        "no_limit_because": limit.reason if isinstance(limit, NoLimit) else None,
        "plateau": msgspec.to_builtins(curve.plateau),
        "latency": _segmentation(curve.latency) if curve.latency else None,
        "points": msgspec.to_builtins(curve.points),
        "notes": list(curve.notes),
    }
    return json.dumps(finite(found), indent=1) + "\n"


def _segmentation(found: Segmentation) -> dict[str, Any]:
    return {
        "segments": [_segment(one) for one in found.segments],
        "switches": [_break(one) for one in found.breaks if one.switch],
        "bends": [_break(one) for one in found.breaks if not one.switch],
        "relative_scale": found.relative_scale,
        "method": found.method,
    }


def _segment(one: Segment) -> dict[str, Any]:
    return {
        "first_bytes": one.first_bytes,
        "last_bytes": one.last_bytes,
        "startup_s": msgspec.to_builtins(one.startup_s),
        "bytes_per_s": msgspec.to_builtins(one.bytes_per_s),
        "relative_error": one.relative_error,
    }


def _break(one: Break) -> dict[str, Any]:
    return {
        "at_bytes": round(math.sqrt(one.last_bytes * one.first_bytes)),
        "above_bytes": one.last_bytes,
        "at_most_bytes": one.first_bytes,
        "interval_bytes": [one.low_bytes, one.high_bytes],
        "jump": one.jump,
    }


def finite(value: Any) -> Any:  # noqa: ANN401 - whatever JSON can hold
    """The same with null for what is not finite, which JSON cannot say."""
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
