"""Reads two sets of runs from the archive and compares them."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from seatrial.archive.clusters import controllers_of, distinguished
from seatrial.archive.run_sets import StoredSet, find_runs, load_tables, without
from seatrial.judgement.comparison.judge import RunSet, compare
from seatrial.judgement.comparison.records import CONDITIONS, Comparison
from seatrial.model.errors import UsageError
from seatrial.model.settings import PRACTICAL


def run_comparison(
    archive: Path,
    first: str,
    second: str,
    *,
    threshold: float = PRACTICAL,
    across: Sequence[str] = (),
    names: tuple[str, str] = ("", ""),
) -> Comparison:
    """`first`, `second`: as `find_runs` takes them. Runs of both are left out of the second. `names`: of both sets,
    where these words do not say what they are.

    Raises UsageError for words that name no runs, and for runs of unlike conditions; DamagedRun.
    """
    for condition in across:
        if condition not in CONDITIONS:
            raise UsageError(f"--across {condition!r} is not a condition.", f"Name one of {', '.join(CONDITIONS)}.")
    before = find_runs(archive, first)
    before, after = _of_common_kinds(before, without(find_runs(archive, second), before))
    sets, left_out = _run_sets(before, after, names)
    tables = load_tables([before, after], note=left_out.append)
    comparison = compare(*sets, tables, threshold=threshold, across=across)
    return msgspec.structs.replace(comparison, notes=(*comparison.notes, *left_out))


def _of_common_kinds(first: StoredSet, second: StoredSet) -> tuple[StoredSet, StoredSet]:
    """Only the runs of commands that both sets have: a range of dates has whatever was measured then.

    All of them where no command is common, for the message that says so.
    """
    kinds = {run.summary.kind for run in first.runs} & {run.summary.kind for run in second.runs}
    if not kinds:
        return first, second
    chosen = [tuple(run for run in each.runs if run.summary.kind in kinds) for each in (first, second)]
    return msgspec.structs.replace(first, runs=chosen[0]), msgspec.structs.replace(second, runs=chosen[1])


def _run_sets(before: StoredSet, after: StoredSet, names: tuple[str, str]) -> tuple[tuple[RunSet, RunSet], list[str]]:
    """The sets, each with the facts of its newest run, and a note if they differ in the controllers of their cluster.

    Another cluster that has the name of the newest run's is another condition.
    """
    runs = sorted((*before.summaries, *after.summaries), key=lambda run: run.started)
    apart = {run.run: run for run in distinguished(runs)}
    first, second = (tuple(apart[run.run] for run in each.summaries) for each in (before, after))
    hosts = [{host for run in each for host in run.controllers} for each in (first, second)]
    notes = []
    if all(hosts) and hosts[0].isdisjoint(hosts[1]) and len({run.cluster for run in apart.values()}) == 1:
        what = f"The controllers of {first[0].cluster} were {controllers_of(first)}, and then {controllers_of(second)}"
        notes.append(f"{what}: if these are two clusters of one name, compare runs of one of them.")
    return (
        RunSet(name=names[0] or before.name, runs=first, facts=before.parsed_facts()),
        RunSet(name=names[1] or after.name, runs=second, facts=after.parsed_facts()),
    ), notes
