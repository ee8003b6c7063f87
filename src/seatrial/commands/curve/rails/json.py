"""A comparison of rails as one JSON object; base units, null for what is unknown."""

import msgspec

from seatrial.commands.curve.rails.curves import RailCurve, RailRatio
from seatrial.commands.curve.rails.judge import RailComparison
from seatrial.model.run import RunInfo
from seatrial.render.finding_json import finding_as_json
from seatrial.render.json_text import Json, finite, json_text
from seatrial.render.pair_json import limit_fields, outcome_fields

FORMAT = 1


def rails_as_json(run: RunInfo, found: RailComparison) -> str:
    """docs/curve.md says what each field means."""
    content = {
        **outcome_fields(run, found, FORMAT),
        "launcher": run.launcher,
        "findings": [finding_as_json(finding) for finding in found.findings],
        "rails": [_curve(curve) for curve in found.curves],
        "ratios": [_ratio(ratio) for ratio in found.ratios],
        "gain": _ratio(found.gain) if found.gain else None,
    }
    return json_text(finite(content))


def _curve(curve: RailCurve) -> Json:
    return {
        "variant": curve.variant,
        "rails": list(curve.rails),
        "verdict": curve.verdict.value if curve.verdict else None,
        "reason": curve.reason,
        "plateau": msgspec.to_builtins(curve.plateau),
        "latency_s": msgspec.to_builtins(curve.latency_s),
        **limit_fields(curve.limit),
        "points": msgspec.to_builtins(curve.points),
    }


def _ratio(one: RailRatio) -> Json:
    return {
        "variant": one.variant,
        "beside": one.beside,
        "ratio": msgspec.to_builtins(one.ratio),
        "permitted": one.permitted,
    }
