"""Pictures of what accounting shows: ratios with intervals, and how many jobs and nodes have which run time."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from seatrial.commands.jobs.job_table import ORDER, JobEnding
from seatrial.commands.jobs.run import JobsOutcome
from seatrial.commands.jobs.single_family import FamilyTimes
from seatrial.model.verdict import ComparisonOutcome, Verdict
from seatrial.render.distribution import Distribution, Reference
from seatrial.render.forest import Forest, forest
from seatrial.render.report import Block, Drawing

BAR = 40
"""Characters of the longest bar of a histogram."""
BY_TIME, BY_NODE = "jobs by run time", "nodes by their median, times the family's"
MOST_DRAWN = 20
SLOWER = ComparisonOutcome.SLOWER.value


def ratios(outcome: JobsOutcome) -> Iterator[Forest]:
    """How many times as long jobs take on slow nodes, and in families before and after a day, with intervals."""
    families = outcome.result.change.families if outcome.result.change else ()
    rows = [(each.node, each.ratio, each.low, each.high, SLOWER) for each in outcome.result.slow]
    rows += [(each.family, each.ratio, each.low, each.high, each.outcome.value) for each in families]
    drawn = [row for row in rows if row[1] > 0][:MOST_DRAWN]
    if drawn:
        yield forest(
            "How many times as long jobs take",
            "Times the run time of the same jobs on other nodes, or before the day. A bar is the interval.",
            [
                (name, f"{ratio:.2f} times ({low:.2f}–{high:.2f})", style, (low, ratio, high))
                for name, ratio, low, high, style in drawn
            ],
        )


def histograms(family: FamilyTimes) -> Iterator[Block]:
    """How many jobs have which run time, and how many nodes which median."""
    yield from _histogram(BY_TIME, [(time_text(each.low_s), each.jobs) for each in family.bins])
    yield from _histogram(BY_NODE, [(f"{each.low:.2f}", each.nodes) for each in family.node_bins])


def distributions(outcome: JobsOutcome, family: FamilyTimes) -> Iterator[Block]:
    """Pictures of run times and of medians of nodes; slow nodes have the colour of their verdict."""
    table, measured = outcome.table, Verdict.MEASURED.value
    chosen = table.family == table.families.index(family.family)
    times = table.logs[chosen & (table.ending == ORDER[JobEnding.COMPLETED])]
    if not len(times):
        return
    slow = {node.node for node in outcome.result.slow}
    yield Distribution(
        caption=BY_TIME,
        values=tuple((seconds, measured) for seconds in np.exp(times).tolist()),
        order=(measured,),
        references=(Reference(value=family.median_s, style="peers", text=f"median {time_text(family.median_s)}"),),
        say=time_text,
        counted="jobs",
    )
    if family.nodes:
        yield Distribution(
            caption=BY_NODE,
            values=tuple((one.ratio, Verdict.SLOW.value if one.node in slow else measured) for one in family.nodes),
            order=(measured, Verdict.SLOW.value),
            references=(Reference(value=1.0, style="peers", text="the family's median"),),
            say=lambda ratio: f"{ratio:.2f}",
            counted="nodes",
        )


def _histogram(what: str, bars: Sequence[tuple[str, int]]) -> Iterator[Block]:
    """A bar for each range, named by its lower end."""
    most = max((number for _, number in bars), default=0)
    if most:
        lines = [
            ((f"{name:>9} ", ""), ("█" * math.ceil(BAR * number / most), ""), (f" {number}", ""))
            for name, number in bars
        ]
        yield Drawing(lines=(((what, ""),), *lines))


def time_text(seconds: float) -> str:
    """2 h 05 min; 90 s."""
    minutes = round(seconds / 60)
    if minutes < 2:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"
