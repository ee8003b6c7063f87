"""Trials on a simulated fabric as text and as JSON data."""

from collections.abc import Sequence

import msgspec

from seatrial.lab.simulator.score import JudgedFinding, Match, ScoredFault, Truth
from seatrial.lab.simulator.trial import FabricTrial, Share, Totals, totals
from seatrial.model.subject import Direction, Subject
from seatrial.model.words import count
from seatrial.render.escape import clean
from seatrial.render.json import filled

MEGABYTE = 1e6
MATCHES = {Match.NAMED: "named", Match.IN_SET: "in a set", Match.MISSED: "MISSED", Match.UNSEEN: "never measured"}


def trial_text(trial: FabricTrial) -> str:
    """Truth, findings that no fault explains, score and cost of one trial; ends with a line break."""
    score = trial.score
    lines = [f"Planted: {'' if score.faults else 'nothing.'}".rstrip()]
    lines += [f"  {_planted(fault)}: {MATCHES[fault.match]}" for fault in score.faults]
    wrong = [claim for claim in score.claims if claim.truth is not Truth.TRUE]
    if wrong:
        lines.append("Findings on parts that are not at fault:")
        lines += [f"  {_claim(claim)}" for claim in wrong]
    total = totals([trial])
    lines.append(
        f"{'Right' if score.right else 'WRONG'}: recall {_share(total.recall)}, precision {_share(total.precision)}, "
        f"verdict {trial.verdict}."
    )
    lines.append(
        f"Cost: {trial.cost.measurements} measurements, {trial.cost.node_s:.0f} node-seconds (simulated), "
        f"{trial.cost.wall_s:.1f} s, {trial.cost.peak_bytes / MEGABYTE:.0f} MB."
    )
    return "\n".join(lines) + "\n"


def trial_line(trial: FabricTrial) -> str:
    """One trial of several."""
    score = trial.score
    missed = [_planted(fault) for fault in score.faults if fault.match is Match.MISSED]
    false = [clean(claim.subject) for claim in score.claims if claim.truth is Truth.FALSE]
    parts = [f"missed: {', '.join(missed)}"] if missed else []
    parts += [f"false: {', '.join(false[:5])}" + (f" and {len(false) - 5} more" if len(false) > 5 else "")] * bool(
        false
    )
    return (
        f"Seed {trial.seed}: {'right' if score.right else 'WRONG'}, {trial.verdict}, {len(score.faults)} planted, "
        f"{count(len(score.claims), 'finding')}, {trial.cost.measurements} measurements, {trial.cost.cpu_s:.1f} s"
        + "".join(f"; {part}" for part in parts)
    )


def totals_text(total: Totals) -> str:
    """Several trials together; ends with a line break."""
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in total.verdicts.items())
    lines = [
        f"{total.right} of {total.trials} trials right ({verdicts}; {total.false_pass} false PASS).",
        f"Recall {_share(total.recall)}, precision {_share(total.precision)}, mean set {total.mean_set:.2f}, "
        f"{total.partial} partial findings, {total.unseen} faulty pairs never measured.",
    ]
    for title, shares in (("kind", total.recall_by_kind), ("loss", total.recall_by_loss)):
        if shares:
            lines.append(f"Recall by {title}: " + "; ".join(f"{name} {_share(one)}" for name, one in shares.items()))
    lines.append(
        f"Mean cost of a trial: {total.measurements:.0f} measurements, {total.node_s:.0f} node-seconds (simulated), "
        f"{total.wall_s:.1f} s, {total.cpu_s:.1f} s of the processor "
        f"(most: {total.cpu_s_max:.1f} s); peak memory {total.peak_bytes / MEGABYTE:.0f} MB."
    )
    return "\n".join(lines) + "\n"


class SimulatedTrial(FabricTrial, frozen=True, kw_only=True):
    """One check of the simulated fabric."""

    right: bool


class SimulationFields(msgspec.Struct, frozen=True, kw_only=True):
    """All trials of a simulation, and their totals; docs/simulator.md describes each field."""

    right: bool
    topology: str
    totals: Totals
    trials: tuple[SimulatedTrial, ...]


def simulation_fields(topology: str, trials: Sequence[FabricTrial]) -> SimulationFields:
    """What programs read of all trials."""
    rows = [filled(SimulatedTrial, trial, right=trial.score.right) for trial in trials]
    right = all(trial.score.right for trial in trials)
    return filled(SimulationFields, right=right, topology=topology, totals=totals(trials), trials=rows)


def _planted(fault: ScoredFault) -> str:
    return f"{_subject(fault.subject, fault.direction)}, {100 * fault.loss_ratio:.1f} % lost"


def _claim(claim: JudgedFinding) -> str:
    others = "".join(f", or {clean(one)}" for one in claim.ambiguous_with)
    return f"{claim.kind} {_subject(claim.subject, claim.direction)}{others}: {claim.truth}"


def _subject(subject: Subject, direction: Direction) -> str:
    return clean(subject) + ("" if direction is Direction.BOTH else f" ({direction})")


def _share(share: Share) -> str:
    if not share.count:
        return "1 (nothing to count)"
    return f"{share.ratio:.3f} ({share.hits} of {share.count}, 95 %: {share.low:.3f} to {share.high:.3f})"
