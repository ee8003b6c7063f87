"""Options of every measuring command: where and how it measures, and the settings made from them."""

import sys
from collections.abc import Callable, Collection
from functools import wraps
from inspect import Signature, signature
from typing import Annotated, Any

import typer

from seatrial.archive import reader
from seatrial.cli.options import (
    Archive,
    EnvironmentSpec,
    IdleOnly,
    LauncherName,
    Mpicc,
    MpiType,
    NodeHours,
    Partition,
    Probe,
    ProbeDir,
    Replay,
    RoundTimeout,
    RunName,
    Seed,
    Wait,
    Wrap,
    archive_folder,
    node_hours_limit,
    run_name,
    seconds,
    time_text,
)
from seatrial.model.errors import UsageError
from seatrial.model.settings import DEFAULTS, PAIR_BUDGET_S, SiteSettings


def site_settings(
    *,
    budget: Annotated[str, typer.Option(help="Time budget for measuring: 90s, 10m, 1h.", metavar="TIME")] = time_text(
        PAIR_BUDGET_S
    ),
    archive: Archive = None,
    launcher: LauncherName = DEFAULTS.launcher,
    partition: Partition = "",
    mpi: MpiType = "",
    mpicc: Mpicc = "",
    probe: Probe = None,
    probe_dir: ProbeDir = None,
    environment: EnvironmentSpec = "",
    wrap: Wrap = DEFAULTS.wrap,
    round_timeout: RoundTimeout = time_text(DEFAULTS.round_timeout_s),
    wait: Wait = time_text(DEFAULTS.wait_s),
    idle_only: IdleOnly = DEFAULTS.idle_only,
    node_hours: NodeHours = None,
    replay: Replay = "",
    run: RunName = DEFAULTS.run,
    seed: Seed = DEFAULTS.seed,
) -> SiteSettings:
    """The settings that the shared options make; its parameters are these options. Raises UsageError for a value."""

    folder = archive_folder(archive)
    return SiteSettings(
        archive=folder,
        launcher=launcher,
        partition=partition,
        budget_s=seconds(budget, "--budget"),
        wait_s=seconds(wait, "--wait"),
        idle_only=idle_only,
        node_hours=node_hours_limit(node_hours),
        round_timeout_s=seconds(round_timeout, "--round-timeout"),
        mpi=mpi,
        mpicc=mpicc,
        probe=probe,
        probe_dir=probe_dir,
        environment=environment,
        wrap=wrap,
        replay=reader.find_run(folder, replay) if replay else None,
        run=run_name(run),
        seed=seed,
        command=tuple(sys.argv[1:]),
    )


def refuse_idle_only(site: SiteSettings) -> None:
    """Raises UsageError where a job is to be submitted and must not wait in the queue."""
    if site.idle_only:
        raise UsageError("--idle-only never waits in the queue, and --detach always does.", "Give only one of them.")


QUEUE = ("partition", "wait", "idle_only", "node_hours")
"""The options of a command that needs nodes and measures nothing."""


def with_site_options(
    *without: str, only: Collection[str] = (), **defaults: str
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Give a command the options of `site_settings` behind its own, and hand them to it ready, as its `site`.

    `without`: those that make no sense for it; `only`: or those alone that do; `defaults`: those that have another
    value there, where it is not given or cannot be given.
    """
    offered = signature(site_settings).parameters
    wanted = only or [name for name in offered if name not in without]
    shared = [
        each.replace(default=defaults.get(name, each.default)) for name, each in offered.items() if name in wanted
    ]

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        own = [each for each in signature(command).parameters.values() if each.name != "site"]

        @wraps(command)
        def with_settings(*words: Any, **given: Any) -> int:  # noqa: ANN401 - the command's own
            asked = {each.name: given.pop(each.name, each.default) for each in shared}
            return command(*words, site=site_settings(**{**defaults, **asked}), **given)

        seen = [*own, *shared]  # Typer reads both of these
        vars(with_settings)["__signature__"] = Signature(seen, return_annotation=int)
        with_settings.__annotations__ = {each.name: each.annotation for each in seen}
        return with_settings

    return decorate
