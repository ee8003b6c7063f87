"""Options of every measuring command: where and how it measures, and the settings made from them.

`SharedOptions` declares them once, and Typer reads it as it reads any command. A command's module says in
`SHARED = Shared(...)` which of them it offers, and finds the settings in its context: `settings_of(context)`.
"""

import sys
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

import msgspec
import typer
from typer.core import TyperCommand

from seatrial.archive import baselines, reader
from seatrial.cli.options import (
    Archive,
    EnvironmentSpec,
    HostFile,
    Hosts,
    IdleOnly,
    LauncherName,
    Mpicc,
    MpirunOptions,
    MpiType,
    NodeHours,
    Partition,
    Probe,
    ProbeDir,
    Replay,
    RoundTimeout,
    RunName,
    Seed,
    StartedBy,
    Verify,
    Wait,
    Wrap,
    archive_folder,
    hosts_of,
    mpirun_words,
    node_hours_limit,
    parse_nodes,
    run_name,
    say_first_use,
    say_left_settings,
    seconds,
    slurm_arguments,
    time_text,
)
from seatrial.cli.site_file import site_defaults
from seatrial.model.errors import UsageError
from seatrial.model.run import RunKind
from seatrial.model.settings import DEFAULTS, PAIR_BUDGET_S, SiteSettings, SlurmRequest
from seatrial.render.escape import clean


class SharedOptions(NamedTuple):
    """The shared options as given, one line each. An option that is called like its setting needs nothing else."""

    budget: Annotated[str, typer.Option(help="Time budget for measuring: 90s, 10m, 1h.", metavar="TIME")] = time_text(
        PAIR_BUDGET_S
    )
    archive: Archive = None
    launcher: LauncherName = DEFAULTS.launcher
    hosts: Hosts = ""
    hostfile: HostFile = None
    mpirun_options: MpirunOptions = ""
    partition: Partition = DEFAULTS.partition
    account: Annotated[str, typer.Option(help="Account of the job.", metavar="NAME")] = DEFAULTS.slurm.account
    qos: Annotated[str, typer.Option(help="Quality of service of the job.", metavar="NAME")] = DEFAULTS.slurm.qos
    reservation: Annotated[str, typer.Option(help="Reservation to run in; its nodes are taken.", metavar="NAME")] = (
        DEFAULTS.slurm.reservation
    )
    constraint: Annotated[
        str, typer.Option(help="Only nodes with these features: hdr&(rome|milan).", metavar="FEATURES")
    ] = DEFAULTS.slurm.constraint
    exclude: Annotated[str, typer.Option(help="Never these nodes: n[7-9].", metavar="NODES")] = ""
    gres: Annotated[str, typer.Option(help="Generic resources to ask for: gpu:4.", metavar="LIST")] = (
        DEFAULTS.slurm.gres
    )
    slurm_arg: Annotated[
        list[str] | None,
        typer.Option(help="Argument for salloc, sbatch and srun: --comment=x. May be repeated.", metavar="ARG"),
    ] = None
    mpi: MpiType = DEFAULTS.mpi
    start: StartedBy = DEFAULTS.start
    mpicc: Mpicc = DEFAULTS.mpicc
    probe: Probe = DEFAULTS.probe
    probe_dir: ProbeDir = DEFAULTS.probe_dir
    environment: EnvironmentSpec = DEFAULTS.environment
    wrap: Wrap = DEFAULTS.wrap
    round_timeout: RoundTimeout = time_text(DEFAULTS.round_timeout_s)
    wait: Wait = time_text(DEFAULTS.wait_s)
    idle_only: IdleOnly = DEFAULTS.idle_only
    node_hours: NodeHours = None
    replay: Replay = ""
    run: RunName = DEFAULTS.run
    seed: Seed = DEFAULTS.seed
    verify: Verify = DEFAULTS.verify

    def settings(self) -> SiteSettings:
        """The settings that they make. Raises UsageError for a value."""
        folder = archive_folder(self.archive)
        parsed = {
            "archive": folder,
            "budget_s": seconds(self.budget, "--budget"),
            "wait_s": seconds(self.wait, "--wait"),
            "round_timeout_s": seconds(self.round_timeout, "--round-timeout"),
            "hosts": hosts_of(self.hosts, self.hostfile),
            "mpirun_options": mpirun_words(self.mpirun_options),
            "node_hours": node_hours_limit(self.node_hours),
            "replay": reader.find_run(folder, self.replay) if self.replay else None,
            "run": run_name(self.run),
            "slurm": self._request(),
            "command": tuple(sys.argv[1:]),
        }
        plain = {name: getattr(self, name) for name in self._fields if name in SETTINGS_NAMES}
        return SiteSettings(**{**plain, **parsed})

    def _request(self) -> SlurmRequest:
        """What the job is to ask for. Raises UsageError for a value."""
        return SlurmRequest(
            account=self.account,
            qos=self.qos,
            reservation=self.reservation,
            constraint=self.constraint,
            exclude=parse_nodes(self.exclude, "--exclude"),
            gres=self.gres,
            arguments=slurm_arguments(self.slurm_arg or ()),
        )


SETTINGS_NAMES = frozenset(field.name for field in msgspec.structs.fields(SiteSettings))
HOSTS = ("hosts", "hostfile")
"""The options that name hosts without Slurm."""
JOB = ("account", "qos", "reservation", "constraint", "exclude", "gres", "slurm_arg")
"""What the rules of a site want of every job."""
QUEUE = ("partition", *JOB, "wait", "idle_only", "node_hours")
"""The options of a command that needs nodes and measures nothing."""
OF_A_SITE = (*SharedOptions._fields, "leaves", "baseline", "storage")
"""Options that a site's file may set: the shared ones, and some of a single command."""


class Shared(NamedTuple):
    """Which shared options a command offers; those that it does not offer have their default."""

    only: tuple[str, ...] = SharedOptions._fields
    without: tuple[str, ...] = ()
    defaults: Mapping[str, str] = {}
    """Where they differ from those of `SharedOptions`, also of options that are not offered."""

    def command_class(self) -> type[TyperCommand]:
        """For Typer's `cls`: a command with these options behind its own."""

        class CommandWithShared(SharedCommand):
            shared = self

        return CommandWithShared


class SharedCommand(TyperCommand):
    """A command of Typer's that has more parameters than its function: these become settings in the context."""

    shared = Shared()

    def __init__(self, *words: Any, **named: Any) -> None:  # noqa: ANN401 - Typer's own
        super().__init__(*words, **named)
        self._own = tuple(self.params)
        offered = [one for one in self._options.params if one.name in self.shared.only]
        self.params = [*self._own, *(one for one in offered if one.name not in self.shared.without)]
        for option in self.params[len(self._own) :]:
            option.default = self.shared.defaults.get(str(option.name), option.default)

    @cached_property
    def _options(self) -> Any:  # noqa: ANN401 - Typer's own
        """`SharedOptions` as a command by itself; its callback makes one from parsed values."""
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command()(SharedOptions)
        return typer.main.get_command(app)

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:  # noqa: ANN401
        """Parse the command line, with the defaults of the site's files. Raises UsageError for these."""
        options = self._options.params
        flags = [one.name for one in options if one.is_flag]
        lists = [one.name for one in options if one.multiple]
        extra["default_map"] = site_defaults(OF_A_SITE, flags, lists)
        return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - Typer's own
        """Run the command's function. Raises UsageError for a value of a shared option."""
        given: dict[str, Any] = {str(one.name): ctx.params.pop(one.name) for one in self.params[len(self._own) :]}
        settings = self._options.callback(**{**self.shared.defaults, **given}).settings()
        own = (name for name in OF_A_SITE if name in ctx.params)
        from_site = [name for name in (*given, *own) if ctx.get_parameter_source(name).name == "DEFAULT_MAP"]
        words = tuple(f"--{name.replace('_', '-')}" for name in from_site)
        if {"budget", "archive"} <= given.keys() and not (
            ctx.params.get("dry_run") or ctx.params.get("source")
        ):  # a command that measures
            say_first_use(given["archive"])
            say_left_settings()
        ctx.obj = msgspec.structs.replace(settings, from_site=words)
        return super().invoke(ctx)


def settings_of(context: typer.Context) -> SiteSettings:
    """The settings that the shared options of this command line make."""
    return cast(SiteSettings, context.obj)


def refuse_idle_only(site: SiteSettings) -> None:
    """Raises UsageError where a job is to be submitted and must not wait in the queue."""
    if site.idle_only:
        raise UsageError("--idle-only never waits in the queue, and --detach always does.", "Give only one of them.")


def known_baseline(context: typer.Context, archive: Path, name: str, kind: RunKind) -> str:
    """The baseline to compare with; one of the site's file counts from the moment it is set, for its kinds of runs."""
    source = context.get_parameter_source("baseline")
    if not name or source is None or source.name != "DEFAULT_MAP":
        return name
    if not baselines.versions(archive, name):
        missing = f"is not set in {archive}"
    elif kind not in {run.kind for run in baselines.read_baseline(baselines.folder_of(archive, name)).runs}:
        missing = f"has no run of `{kind.command}`"
    else:
        return name
    print(clean(f"The site's baseline {name!r} {missing}: not compared with the past."), file=sys.stderr)
    return ""
