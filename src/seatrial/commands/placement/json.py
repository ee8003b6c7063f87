"""Where ranks are, as JSON; docs/placement.md says what each field means."""

import shlex

import msgspec

from seatrial.commands.placement.gain import Gain
from seatrial.commands.placement.judge import Placement
from seatrial.model.run import RunInfo, run_kind
from seatrial.render.finding_json import finding_as_json
from seatrial.render.json_text import Json, finite, json_text

FORMAT = 1


def placement_as_json(run: RunInfo, found: Placement) -> str:
    """One object; ends in a newline."""
    advice = found.advice
    content = {
        "format": FORMAT,
        "run": run.run,
        "kind": run_kind(run).value,
        "verdict": found.verdict.value,
        "exit_code": int(found.exit_code),
        "complete": found.complete,
        "launcher": found.dialect.value,
        "mpi_library": run.mpi_library,
        "line": list(found.line),
        "ranks": msgspec.to_builtins(found.rows),
        "findings": [finding_as_json(finding) for finding in found.findings],
        "fix": found.fix.value,
        "why": found.failure or found.why,
        "advised_line": list(found.advised_line),
        "advised_command": shlex.join(found.advised_line),
        "srun": list(advice.srun) if advice else [],
        "hydra": list(advice.hydra) if advice else [],
        "intel_mpi": list(advice.intel) if advice else [],
        "rankfile": advice.rankfile if advice else "",
        "gains": [_gain(gain) for gain in found.gains],
        "notes": list(found.notes),
    }
    return json_text(finite(content))


def _gain(gain: Gain) -> Json:
    return {
        "metric": gain.metric,
        "outcome": gain.outcome.value,
        "asked": msgspec.to_builtins(gain.asked),
        "advised": msgspec.to_builtins(gain.advised),
        "ratio": msgspec.to_builtins(gain.ratio),
    }
