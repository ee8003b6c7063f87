"""How many more runs a claim needs: read from the archive, in words and as JSON."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from seatrial.archive.run_sets import StoredSet, find_runs, like_usual, load_tables
from seatrial.judgement.comparison.planning import Claim, ComparisonPlan, Need, plan_runs
from seatrial.judgement.comparison.subjects import FEWEST_RUNS
from seatrial.model.errors import ExitCode, UsageError
from seatrial.model.run import RunKind
from seatrial.model.run_values import MetricTable
from seatrial.model.units import fine_share, share
from seatrial.model.words import count, some
from seatrial.render.json import MetricName, filled
from seatrial.render.report import Block, Cells, Lines, Report, record_table

ALL_RUNS = ".."
"""Every closed run of the archive."""


def plan(archive: Path, wanted: str, effect: float, note: Callable[[str], None], runs: str = "") -> ComparisonPlan:
    """`wanted`: a kind of run, or the beginning of a metric's name. `runs`: which; empty: of all in the
    archive the usual ones. `note`: as `load_tables` takes it.

    Raises UsageError where nothing fits, DamagedRun.
    """
    chosen = find_runs(archive, runs or ALL_RUNS)
    is_kind = wanted in tuple(RunKind)
    if is_kind:
        chosen = msgspec.structs.replace(chosen, runs=tuple(run for run in chosen.runs if run.summary.kind == wanted))
    tables = [] if not chosen.runs else list(load_tables([chosen], note=note))
    if not is_kind:
        tables = [table for table in tables if table.metric.name.startswith(wanted)]
    chosen, tables = _that_measured(chosen, tables)
    if not tables:
        raise UsageError(
            f"No run of {archive} measured {wanted!r}.",
            f"Name a kind of run ({', '.join(RunKind)}), or a metric as reports name it: bandwidth, latency 8 B.",
        )
    alike = like_usual(chosen.runs)
    rows = [place for place, run in enumerate(chosen.runs) if run in alike]
    leaf_of = {node: leaf for run in alike for node, leaf in run.summary.leaf_of.items()}
    return plan_runs([run.summary for run in alike], [table.rows(rows) for table in tables], effect, leaf_of)


def _that_measured(chosen: StoredSet, tables: Sequence[MetricTable]) -> tuple[StoredSet, list[MetricTable]]:
    """Only the runs that have any of these metrics."""
    rows = [place for place in range(len(chosen.runs)) if any(table.compared[place] is not None for table in tables)]
    runs = tuple(chosen.runs[place] for place in rows)
    return msgspec.structs.replace(chosen, runs=runs), [table.rows(rows) for table in tables]


MOST_RUNS = 5
UNKNOWN = "> 1000"


class PlanNeed(msgspec.Struct, frozen=True, kw_only=True):
    """What one claim in one metric needs."""

    metric: MetricName
    claim: str
    deviation: float
    runs: int | None = msgspec.field(name="runs_each")
    more_runs: int | None
    node_hours: float | None


class PlanFields(msgspec.Struct, frozen=True, kw_only=True):
    """Runs that claims need; docs/plan.md describes each field."""

    effect: float
    runs: tuple[str, ...]
    nodes: int
    node_hours_a_run: float | None
    needs: tuple[PlanNeed, ...]


NEEDS: Cells[Need] = {
    "metric": lambda need: need.metric.name,
    "claim": lambda need: (
        f"{need.metric.together} together changed" if need.claim is Claim.EVERYTHING else need.claim.value
    ),
    "#one run varies by": lambda need: fine_share(need.deviation),
    "#runs before and after": lambda need: str(need.runs or UNKNOWN),
    "#more runs": lambda need: str(need.more_runs or UNKNOWN),
    "#node-hours": lambda need: "" if need.node_hours is None else f"{need.node_hours:.3g}",
}


def plan_report(plan: ComparisonPlan) -> Report:
    """How many runs each claim needs. Without enough runs to know how much they vary it is incomplete."""
    return Report(
        kind="plan",
        answers=True,
        sentence=_sentence(plan),
        exit_code=ExitCode.PASS if plan.enough_known else ExitCode.INCOMPLETE,
        payload=lambda: filled(
            PlanFields,
            plan,
            runs=[run.run for run in plan.runs],
            needs=[filled(PlanNeed, need, claim=need.claim.name.lower().replace("_", "-")) for need in plan.needs],
        ),
        terminal=lambda _: _blocks(plan),
    )


def _sentence(plan: ComparisonPlan) -> str:
    """What the first metric needs to show that all changed."""
    if not plan.enough_known:
        return (
            f"{count(len(plan.runs), 'run')}: at least {FEWEST_RUNS} runs of common pairs are needed to know how much "
            "runs vary. Measure again, then plan."
        )
    first = plan.needs[0]
    needed = f"{first.runs} runs before and {first.runs} after" if first.runs else "More than 1000 runs"
    whose = "" if first.metric.main else f" of {first.metric.together}"
    shown = f"a change of {share(plan.effect)}{whose} in {first.metric.name}"
    return f"{needed} show {shown} with 90 % power"


def _blocks(plan: ComparisonPlan) -> Iterable[Block]:
    names = some([run.run for run in plan.runs], MOST_RUNS)
    if not plan.enough_known:
        yield Lines(rows=(("from", names or "no run"),))
        return
    yield record_table(NEEDS, plan.needs, None)
    hours = (
        "how long one takes is unknown"
        if plan.node_hours_a_run is None
        else f"{plan.node_hours_a_run:.3g} node-hours each"
    )
    yield Lines(
        rows=(
            ("from", f"{count(len(plan.runs), 'run')}: {names}; {count(plan.nodes, 'node')}, {hours}"),
            ("more runs", "are those after the change, if the runs of the archive are the ones before it"),
            ("any one", "of the nodes: tested for all of them, so that 1 % of such comparisons name a wrong one"),
        )
    )
