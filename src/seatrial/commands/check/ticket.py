"""The text that a user can paste into a ticket to the site: what was measured in the job, and what is wrong."""

import shlex
from collections.abc import Iterator, Mapping

from seatrial.commands.check.earlier import before_text
from seatrial.commands.check.headline import answer, could_show, medians
from seatrial.model.facts import NodeFacts
from seatrial.model.judgement import Judgement
from seatrial.model.node_list import node_list
from seatrial.model.past import OwnJob
from seatrial.model.run import RunInfo
from seatrial.model.words import count
from seatrial.render.escape import clean
from seatrial.render.finding_text import rows, title

MOST_FINDINGS = 8
MOST_VALUES = 3
"""Different kernels or models that a line names."""


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
        ("Before", before_text(own, judgement.before)),
        ("MPI", run.mpi_library),
        ("Kernel", _few({known.kernel for known in facts.values()})),
        ("Processor", _few({known.cpu_model for known in facts.values()})),
        ("Ran beside it", ", ".join(one.text for one in own.steps)),
    ):
        if text:
            yield f"{label}: {text}"
    yield f"All numbers: seatrial report {shlex.quote(run.run)} --json"


def job_rows(own: OwnJob, judgement: Judgement) -> Iterator[tuple[str, str]]:
    """Label and text of what was seen of the job, for the report."""
    yield "before", before_text(own, judgement.before) or "no earlier run of these nodes is in the archive"
    if own.steps:
        yield (
            "beside it",
            f"{', '.join(one.text for one in own.steps)}: the traffic of these steps may have slowed pairs down",
        )
    ranks = f"{count(len(own.ranks), 'rank')} of {own.line}" if own.ranks else "where its ranks run was not read"
    yield "job", f"{own.job}; {ranks}"


def _few(values: set[str]) -> str:
    texts = sorted(value for value in values if value)
    return ", ".join(texts[:MOST_VALUES]) + (
        f" and {len(texts) - MOST_VALUES} more" if len(texts) > MOST_VALUES else ""
    )
