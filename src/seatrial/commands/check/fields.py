"""The JSON fields of a check's report; docs/report.md describes each of them."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from seatrial.commands.check.headline import machine
from seatrial.commands.check.ticket import ticket
from seatrial.model.facts import NodeFacts
from seatrial.model.judgement import (
    Before,
    Judgement,
    Loaded,
    NodeVerdict,
    Power,
    Threshold,
    VerdictBasis,
    Withheld,
)
from seatrial.model.measurement import Estimate
from seatrial.model.pair_faults import Population
from seatrial.model.run import Design, NodeState, RunInfo
from seatrial.model.verdict import Verdict
from seatrial.render.envelope import PastFields, past_fields
from seatrial.render.json import filled
from seatrial.render.node_trials import TrialFields, trial_fields


class PairFields(msgspec.Struct, frozen=True, kw_only=True):
    """One ordered pair, beside the limit of its path."""

    source: str
    target: str
    verdict: Verdict
    bandwidth_verdict: Verdict | None
    latency_verdict: Verdict | None
    reason: str
    bandwidth_bytes_per_s: Estimate | None
    latency_s: Estimate | None
    limit_bytes_per_s: float | None
    binding: str | None = msgspec.field(name="limit_binding")
    of_limit: float | None
    retested: bool


class JobRank(msgspec.Struct, frozen=True, kw_only=True):
    """One rank of the user's program, and the logical processors on which it may run."""

    rank: int
    node: str
    cpus: tuple[int, ...]


class OwnJobFields(msgspec.Struct, frozen=True, kw_only=True):
    """The job around a check in a user's own job, and the text for a ticket to the site."""

    job: str
    machine: Literal["good", "bad", "undecided"]
    steps: tuple[str, ...]
    line: str = msgspec.field(name="ranks_of")
    ranks: tuple[JobRank, ...]
    variables: dict[str, str]
    ticket: tuple[str, ...]


class CheckFields(msgspec.Struct, frozen=True, kw_only=True):
    """All verdicts of a check, and what they rest on; docs/report.md describes each field."""

    complete: bool
    damage: tuple[str, ...]
    launcher: str
    nodes: tuple[NodeVerdict, ...]
    pairs: tuple[PairFields, ...]
    median_bandwidth_bytes_per_s: float | None
    median_latency_s: float | None
    peers_bandwidth_bytes_per_s: float | None
    peers_latency_s: float | None
    powers: tuple[Power, ...]
    thresholds: tuple[Threshold, ...]
    populations: tuple[Population, ...]
    late_pairs: tuple[str, ...]
    withheld: tuple[Withheld, ...]
    compared: VerdictBasis | None
    loaded: Loaded | None
    trials: TrialFields | None
    own_job: OwnJobFields | None
    before: tuple[Before, ...]
    past: PastFields | None
    notes: tuple[str, ...]
    lost: tuple[NodeState, ...]
    design: Design | None


def check_fields(run: RunInfo, judgement: Judgement, facts: Mapping[str, NodeFacts]) -> CheckFields:
    """All that a check prints for programs."""
    return filled(
        CheckFields,
        judgement,
        launcher=run.launcher,
        trials=judgement.trials and trial_fields(judgement.trials),
        own_job=_own_job(run, judgement, facts),
        past=past_fields(run.past, judgement.past),
        lost=judgement.lost or run.lost,
        design=judgement.design or run.design,
    )


def _own_job(run: RunInfo, judgement: Judgement, facts: Mapping[str, NodeFacts]) -> OwnJobFields | None:
    own = run.own_job
    if own is None:
        return None
    return filled(
        OwnJobFields,
        own,
        machine=machine(judgement).name.lower(),
        steps=[step.text for step in own.steps],
        ticket=ticket(run, own, judgement, facts),
    )
