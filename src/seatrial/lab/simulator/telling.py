"""Truth and names of trials, as text and as data."""

from collections.abc import Sequence

import msgspec

from seatrial.lab.simulator.outcome import Outcome, Totals
from seatrial.lab.simulator.parts import Part, Way

TOLD = 40
"""Lines of one kind; a fabric with more faults than that needs no list."""
WORDS = {Way.OUT: "outwards", Way.IN: "inwards", Way.BOTH: "both directions"}
MEGABYTE = 1e6


def as_text(outcome: Outcome) -> str:
    """What was planted, what was named, the score, the cost; ends with a line break."""
    score, proof = outcome.score, outcome.proof
    lines = [f"Seed {outcome.seed}: {outcome.adapters} adapters. {outcome.statement}"]
    lines += _listed("Planted", [f"{_part(one.part)}: {_percent(one.share)} left" for one in outcome.planted])
    lines += _listed(
        "Named",
        [f"{_part(one.part)}: {_percent(one.loss)} lost, seen on {_counted(one.rows, 'pair')}" for one in proof.named],
    )
    lines += _listed(
        "One of these, and no pair tells which",
        [f"{', or '.join(map(_part, one.parts))}: {_percent(one.loss)} lost" for one in proof.ambiguous],
        nothing=False,
    )
    told = [
        f"recall {score.recall:.3f} of {score.planted} directions",
        f"precision {score.precision:.3f} of {score.claims} claims",
        f"mean set {score.mean_set:.2f}",
    ]
    lines.append(f"{'Right' if score.right else 'WRONG'}: {', '.join(told)}.")
    lines += _notes(outcome)
    return "\n".join([*lines, _cost(outcome)]) + "\n"


def as_line(outcome: Outcome) -> str:
    """One trial of several."""
    score = outcome.score
    return (
        f"Seed {outcome.seed}: {'right' if score.right else 'WRONG'}, {score.found} of {score.planted} found, "
        f"{score.false_claims} of {score.claims} claims false, {outcome.cost.pairs} measurements"
    )


def totals_text(total: Totals) -> str:
    """Several trials in one sentence."""
    return (
        f"{total.right} of {total.trials} trials right: recall {total.recall:.4f} ({total.found} of {total.planted}), "
        f"precision {total.precision:.4f} ({total.false_claims} of {total.claims} claims false), "
        f"mean set {total.mean_set:.2f}, {total.pairs:.0f} measurements a trial, "
        f"{total.adaptive_pairs:.0f} of them adaptive, in {total.pieces:.0f} pieces."
    )


def as_data(outcome: Outcome) -> dict[str, object]:
    """One element of `trials` in the JSON object."""
    score, proof = outcome.score, outcome.proof
    return {
        "seed": outcome.seed,
        "right": score.right,
        "design": outcome.statement,
        "planted": [{**_keyed(one.part), "share": one.share} for one in outcome.planted],
        "named": [{**_keyed(one.part), "loss_ratio": one.loss, "pairs": one.rows} for one in proof.named],
        "ambiguous": [
            {"parts": [_keyed(part) for part in one.parts], "loss_ratio": one.loss} for one in proof.ambiguous
        ],
        "passing": proof.passing,
        "contended": outcome.contended,
        "untold": proof.untold,
        "unused": proof.unused,
        "score": {
            "planted": score.planted,
            "found": score.found,
            "unseen": score.unseen,
            "claims": score.claims,
            "false_claims": score.false_claims,
            "recall": score.recall,
            "precision": score.precision,
            "mean_set": score.mean_set,
        },
        "cost": msgspec.to_builtins(outcome.cost),
    }


def _keyed(part: Part) -> dict[str, str]:
    return {"kind": part.kind.value, "name": part.name, "direction": part.way.value}


def _part(part: Part) -> str:
    return f"{part.kind} {part.name}" + ("" if part.pair else f", {WORDS[part.way]}")


def _listed(title: str, items: Sequence[str], *, nothing: bool = True) -> list[str]:
    if not items:
        return [f"{title}: nothing."] if nothing else []
    more = [f"  ... and {len(items) - TOLD} more"] if len(items) > TOLD else []
    return [f"{title}:", *(f"  {item}" for item in items[:TOLD]), *more]


def _notes(outcome: Outcome) -> list[str]:
    notes = []
    if outcome.score.unseen:
        notes.append(
            f"{_counted(outcome.score.unseen, 'planted pair')} never measured: this design could not see that."
        )
    if outcome.contended:
        notes.append(f"{_counted(outcome.contended, 'pair')} slow beside others and good alone: contention, no fault.")
    if outcome.proof.passing:
        notes.append(f"{_counted(outcome.proof.passing, 'pair')} slow once and good again: passing, not named.")
    if outcome.proof.unused:
        notes.append(
            f"{_counted(outcome.proof.unused, 'direction')} of cables that no route was found to cross: not tested."
        )
    if outcome.proof.untold:
        notes.append(f"{_counted(outcome.proof.untold, 'direction')} of cables neither acquitted nor named.")
    return notes


def _cost(outcome: Outcome) -> str:
    cost = outcome.cost
    return (
        f"Cost: {cost.pairs} measurements ({cost.adaptive_pairs} after the rounds) in {cost.pieces} pieces, "
        f"{cost.turns} turns; plan {cost.plan_s:.2f} s, locate {cost.locate_s:.2f} s, report {cost.report_s:.2f} s, "
        f"simulated measuring {cost.simulate_s:.2f} s; peak memory {cost.peak_bytes / MEGABYTE:.0f} MB."
    )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
