"""A comparison of rails as one JSON object; base units, null for what is unknown."""

import json
from typing import Any

import msgspec

from seatrial.diagnosis.rail_curves import RailCurve, RailRatio
from seatrial.diagnosis.rails import RailComparison
from seatrial.model.limit import Limit, NoLimit
from seatrial.model.run import RunInfo
from seatrial.report.curve_json import finite

FORMAT = 1


def rails_as_json(run: RunInfo, found: RailComparison) -> str:
    """docs/curves.md says what each field means."""
    content = {
        "format": FORMAT,
        "run": run.run,
        "source": found.pair[0],
        "target": found.pair[1],
        "launcher": run.launcher,
        "verdict": found.verdict.value if found.verdict else None,
        "reason": found.reason,
        "exit_code": int(found.exit_code),
        "complete": found.complete,
        "findings": msgspec.to_builtins(found.findings),
        "rails": [_curve(curve) for curve in found.curves],
        "ratios": [_ratio(ratio) for ratio in found.ratios],
        "gain": _ratio(found.gain) if found.gain else None,
        "notes": list(found.notes),
    }
    return json.dumps(finite(content), indent=1) + "\n"


def _curve(curve: RailCurve) -> dict[str, Any]:
    limit = curve.limit
    return {
        "variant": curve.variant,
        "rails": list(curve.rails),
        "verdict": curve.verdict.value if curve.verdict else None,
        "reason": curve.reason,
        "plateau": msgspec.to_builtins(curve.plateau),
        "latency_s": msgspec.to_builtins(curve.latency_s),
        "limit_bytes_per_s": limit.limit_bytes_per_s if isinstance(limit, Limit) else None,
        "limit_binding": limit.binding if isinstance(limit, Limit) else None,
        "no_limit_because": limit.reason if isinstance(limit, NoLimit) else None,
        "points": msgspec.to_builtins(curve.points),
    }


def _ratio(one: RailRatio) -> dict[str, Any]:
    return {
        "variant": one.variant,
        "beside": one.beside,
        "ratio": msgspec.to_builtins(one.ratio),
        "permitted": one.permitted,
    }
