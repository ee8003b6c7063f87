"""Trials of `seatrial jobs` on histories that are resampled from recorded jobs, and whether it was right."""

import enum
from datetime import timedelta

import msgspec

from seatrial.commands.jobs.families import Names
from seatrial.commands.jobs.job_table import job_table
from seatrial.commands.jobs.judge import judge_jobs
from seatrial.importers.accounting import read_accounting
from seatrial.model.verdict import ComparisonOutcome
from tests.support.resampled_histories import BEGINNING, Resampled, resampled

CHANGED = 60
FACTORS = (1.3, 2.0, 4.0)
SLOW, SLOW_FACTOR = "n77", 1.15
ALONE = "n9"
FAULTY = "n33"


class Trial(enum.StrEnum):
    """What is planted."""

    CHANGE = "three families slower"
    SLOW_NODE = "a node 15 % slower"
    HEALTHY = "nothing"
    HEALTHY_AT_A_DATE = "nothing, at a date"
    CONFOUNDED = "a node with one slow family"
    BREAKING = "a node that breaks one program"
    TRIED = "three users' trials on a node"


class TrialOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Whether exactly what was planted was named, and what was."""

    right: bool
    jobs: int
    text: str


def trial(kind: Trial, seed: int) -> TrialOutcome:
    """One history, judged."""
    history = resampled(
        Resampled(
            seed=seed,
            changed=CHANGED,
            planted=FACTORS if kind is Trial.CHANGE else (),
            slow_nodes={SLOW: SLOW_FACTOR} if kind is Trial.SLOW_NODE else {},
            only=ALONE if kind is Trial.CONFOUNDED else "",
            breaking=FAULTY if kind is Trial.BREAKING else "",
            tried_on=FAULTY if kind is Trial.TRIED else "",
        )
    )
    asked = kind in (Trial.CHANGE, Trial.HEALTHY_AT_A_DATE)
    table = job_table(read_accounting(history.lines), Names())
    result = judge_jobs(table, changed=(BEGINNING + timedelta(days=CHANGED)).date() if asked else None)
    slower = result.change.changed(ComparisonOutcome.SLOWER) if result.change else ()
    slow = [node.node for node in result.slow]
    right = {change.family.partition(" ")[0] for change in slower} == set(history.planted)
    right &= all(one.low <= history.planted.get(one.family.partition(" ")[0], 0) <= one.high for one in slower)
    right &= slow == ([SLOW] if kind is Trial.SLOW_NODE else [])
    failing = {node.node for node in result.failing}
    right &= failing == {FAULTY} if kind is Trial.BREAKING else failing <= set(slow)  # slow ones may reach time limits
    right &= kind is not Trial.CONFOUNDED or result.comparison.alone == (ALONE,)
    named = [f"{one.family} {one.ratio:.2f} ({one.low:.2f} to {one.high:.2f})" for one in slower]
    named += [f"{one.node} {one.ratio:.3f} ({one.low:.3f} to {one.high:.3f})" for one in result.slow]
    named += [f"{one.node} {one.ending}" for one in result.failing]
    planted = ", ".join(f"{name} {factor}" for name, factor in history.planted.items())
    text = f"{planted and 'planted '}{planted}{planted and '; '}named {', '.join(named) or 'nobody'}"
    return TrialOutcome(right=right, jobs=len(table.jobs), text=text)
