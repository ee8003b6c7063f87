"""What the JSON of every measuring of one pair has."""

from seatrial.judgement.outcome import Outcome
from seatrial.model.limit import Limit, NoLimit
from seatrial.model.run import RunInfo, run_kind
from seatrial.render.json_text import Json


def outcome_fields(run: RunInfo, found: Outcome, form: int) -> Json:
    """Which run of which pair, and what it came to; `form`: of the whole object's format."""
    return {
        "format": form,
        "run": run.run,
        "kind": run_kind(run).value,
        "source": found.pair[0],
        "target": found.pair[1],
        **settled_fields(found),
    }


def settled_fields(found: Outcome) -> Json:
    """What it came to."""
    return {
        "verdict": found.verdict.value if found.verdict else None,
        "reason": found.reason,
        "exit_code": int(found.exit_code),
        "complete": found.complete,
        "notes": list(found.notes),
    }


def limit_fields(limit: Limit | NoLimit) -> Json:
    """The limit and what binds, or why there is none."""
    known = limit if isinstance(limit, Limit) else None
    return {
        "limit_bytes_per_s": known.limit_bytes_per_s if known else None,
        "limit_binding": known.binding if known else None,
        "no_limit_because": limit.reason if isinstance(limit, NoLimit) else None,
    }
