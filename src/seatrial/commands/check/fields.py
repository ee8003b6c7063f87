"""The JSON fields of a check's report; docs/report.md describes each of them."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec

from seatrial.commands.check.headline import answer, could_show, machine, medians
from seatrial.judgement.past import references_text
from seatrial.model.facts import NodeFacts
from seatrial.model.judgement import (
    Judgement,
    Loaded,
    NodeVerdict,
    Power,
    Spectrum,
    Threshold,
    VerdictBasis,
    Withheld,
)
from seatrial.model.measurement import Estimate
from seatrial.model.node_list import node_list
from seatrial.model.pair_faults import Population
from seatrial.model.past import OwnJob
from seatrial.model.run import Design, NodeState, RunInfo
from seatrial.model.verdict import Verdict
from seatrial.model.words import count, some
from seatrial.render.envelope import PastFields, past_fields
from seatrial.render.escape import clean
from seatrial.render.finding_text import rows, title
from seatrial.render.json import filled
from seatrial.render.node_trials import TrialFields, trial_fields

MOST_FINDINGS = 8


def ticket(run: RunInfo, own: OwnJob, judgement: Judgement, facts: Mapping[str, NodeFacts]) -> tuple[str, ...]:
    """Plain lines, without control characters; empty texts are left out."""
    return tuple(clean(line) for line in _lines(run, own, judgement, facts))


def _lines(run: RunInfo, own: OwnJob, judgement: Judgement, facts: Mapping[str, NodeFacts]) -> Iterator[str]:
    where = f" on {run.cluster}" if run.cluster else ""
    yield f"Job {own.job}{where}, {count(len(run.nodes), 'node')}: {node_list(run.nodes)}"
    yield f"seatrial {run.seatrial} check, {run.started}: {answer(judgement)}."
    for finding in judgement.findings[:MOST_FINDINGS]:
        yield f"- {title(finding)}: {finding.statement}"
        yield from (f"  {label}: {text}" for label, text in rows(finding) if label != "to do")
    if len(judgement.findings) > MOST_FINDINGS:
        yield f"- {count(len(judgement.findings) - MOST_FINDINGS, 'more finding')}"
    for label, text in (
        ("All pairs", medians(judgement)),
        ("Would have been seen", could_show(judgement)),
        ("Before", _before(run, judgement)),
        ("MPI", run.mpi_library),
        ("Kernel", some(sorted({known.kernel for known in facts.values()} - {""}))),
        ("Processor", some(sorted({known.cpu_model for known in facts.values()} - {""}))),
        ("Ran beside it", ", ".join(one.text for one in own.steps)),
    ):
        if text:
            yield f"{label}: {text}"
    yield f"All numbers: seatrial report {shlex.quote(run.run)} --json"


def _before(run: RunInfo, judgement: Judgement) -> str:
    """What the nodes did before; empty where no earlier run is known."""
    return references_text(run.past, judgement.past) if run.past and judgement.past else ""


def job_rows(run: RunInfo, own: OwnJob, judgement: Judgement) -> Iterator[tuple[str, str]]:
    """Label and text of what was seen of the job, for the report."""
    yield "before", _before(run, judgement) or "no earlier run of these nodes is in the archive"
    if own.steps:
        yield (
            "beside it",
            f"{', '.join(one.text for one in own.steps)}: the traffic of these steps may have slowed pairs down",
        )
    ranks = f"{count(len(own.ranks), 'rank')} of {own.line}" if own.ranks else "where its ranks run was not read"
    yield "job", f"{own.job}; {ranks}"


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
    crashed_starts: tuple[str, ...]
    late_pairs: tuple[str, ...]
    unchecked_program: str
    withheld: tuple[Withheld, ...]
    compared: VerdictBasis | None
    loaded: Loaded | None
    trials: TrialFields | None
    own_job: OwnJobFields | None
    past: PastFields | None
    spectra: tuple[Spectrum, ...]
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
