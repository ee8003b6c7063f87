"""Which runs are of another cluster of the same name: the hosts of Slurm's controllers and the nodes decide.

A cluster may be given other controllers and other nodes, but both do not change between two runs, and controllers that
were replaced do not come back. Runs that do not record their controllers are of any cluster of their name.
"""

from collections.abc import Collection, Iterable, Sequence

import msgspec

from seatrial.model.run import RunInfo
from seatrial.model.run_values import RunSummary
from seatrial.model.words import count, verb

Described = RunInfo | RunSummary


def of_others(runs: Sequence[Described], own: Described | None = None) -> frozenset[str]:
    """Names of runs of another cluster that has the name of the one of `own`, else of the newest with controllers."""
    own = own or max((run for run in runs if run.controllers), key=lambda run: run.started, default=None)
    if own is None or not own.controllers:
        return frozenset()
    groups: list[list[Described]] = []
    for run in (*runs, own):
        if run.cluster == own.cluster and run.controllers:
            joined = [group for group in groups if any(set(run.controllers) & set(each.controllers) for each in group)]
            groups = [group for group in groups if group not in joined]
            groups.append([*(each for group in joined for each in group), run])
    *others, ours = groups
    since, nodes = min(run.started for run in ours), {node for run in ours for node in run.nodes}
    return frozenset(
        run.run
        for group in others
        if max(each.started for each in group) > since or not any(nodes.intersection(each.nodes) for each in group)
        for run in group
    )


def left_out(runs: Sequence[Described], others: Collection[str]) -> str:
    """A sentence on the runs of another cluster; empty without any."""
    away = [run for run in runs if run.run in others]
    which = f"{count(len(away), 'run')} of another cluster of the same name {verb(len(away))} left out"
    return f"{which}, whose controllers are {controllers_of(away)} ({away[0].cluster})." if away else ""


def distinguished(runs: Sequence[RunSummary], own: RunSummary | None = None) -> list[RunSummary]:
    """The runs; the name of another cluster of the same name as the one of `own` gets its controllers."""
    others = of_others(runs, own)
    return [
        msgspec.structs.replace(run, cluster=f"{run.cluster} of {controllers_of([run])}") if run.run in others else run
        for run in runs
    ]


def controllers_of(runs: Iterable[Described]) -> str:
    """Hosts of controllers as texts name them, in the order of the runs."""
    return ", ".join(dict.fromkeys(host for run in runs for host in run.controllers))
