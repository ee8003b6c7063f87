"""Options of every measuring command: where and how it measures, and the settings made from them.

`SHARED` declares them once. A command says in `@site_options(...)` which of them it offers, and gets the settings as
`site`; with `cls=SiteCommand` the site's files may set them, see `site_file`.
"""

import functools
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click
from click.core import ParameterSource

from seatrial.archive import baselines, changed_settings, reader
from seatrial.cli.options import DURATION, NODES, PATH, RUN, RUN_NAME, archive_option_of, read_text, time_text
from seatrial.cli.outcome import say
from seatrial.cli.parameters import Text, Word, archive_folder, node_names, option, partition_names
from seatrial.cli.site_file import site_defaults, site_gate, site_kinds
from seatrial.launch.hosts.host_file import parse_host_file
from seatrial.model.errors import UsageError
from seatrial.model.node_list import parse_nodes
from seatrial.model.run import RunKind
from seatrial.model.settings import DEFAULTS, PAIR_BUDGET_S, SiteSettings, SlurmRequest, Start
from seatrial.model.words import shell_words

BRACKETED = re.compile(r"\[([0-9A-Fa-f.]*:[0-9A-Fa-f:.%\w]*)\]")
"""An IPv6 address as URLs have it, which would be read as a range of numbers."""
Decorator = Callable[[Callable[..., int]], Callable[..., int]]
OURS = (
    "nodes", "N", "nodelist", "w", "ntasks", "n", "ntasks-per-node", "time", "t", "partition", "p", "job-name", "J",
    "jobid", "account", "A", "qos", "q", "reservation", "constraint", "C", "exclude", "x", "gres", "immediate", "I",
    "output", "o", "parsable", "overlap", "label", "l", "input", "i", "mpi", "export",
)  # fmt: skip
"""Options of salloc, sbatch and srun that seatrial sets itself, or has an option of its own for."""


def slurm_argument(word: str, what: str) -> str:
    """An argument for Slurm's commands. Raises UsageError for one that seatrial sets itself, or that is none."""
    name = re.match(r"--([^=]+)", word) or re.match(r"-([A-Za-z])", word)
    if name is None:
        raise UsageError(f"{what} {word!r} is not an option.", f"Write {what}=--comment=acceptance.")
    if name.group(1) in ("clusters", "M"):
        remedy = "Set SLURM_CLUSTERS to that cluster: then its nodes are also those that are chosen."
        raise UsageError(f"{what} {word!r} asks another cluster, which may have nodes of equal names.", remedy)
    if name.group(1) in OURS:
        remedy = "Use the option of seatrial, or leave it out."
        raise UsageError(f"{what} {word!r}: seatrial sets this option of Slurm itself.", remedy)
    return word


def host_names(text: str, what: str) -> tuple[str, ...]:
    """Hosts as nodes are named. Raises UsageError for what is not valid."""
    if address := BRACKETED.search(text):
        raise UsageError(
            f"{what} {text!r}: the IPv6 address {address[1]} cannot be given to mpirun.",
            "Give the host a name in DNS or /etc/hosts.",
        )
    return parse_nodes(text, what)


def node_hours_limit(_: click.Context, param: click.Parameter, given: float | None) -> float:
    """Node-hours as given; 0 where there is no limit. Raises UsageError for a limit that allows no run."""
    if given is not None and not given > 0:
        raise UsageError(f"{param.opts[0]} {given:g} allows no run at all.", "Give more than 0, or leave it out.")
    return given or 0.0


def shared(name: str, *short: str, **settings: Any) -> tuple[str, Callable[..., Decorator]]:
    """The name of a parameter, and what makes its option with other keywords of `click.option`."""
    return name[2:].partition(" ")[0].replace("-", "_"), partial(option, name, *short, **settings)


SHARED: dict[str, Callable[..., Decorator]] = dict([
    shared("--budget TIME", type=DURATION, default=time_text(PAIR_BUDGET_S),
           help="Time budget for measuring: 90s, 10m, 1h."),
    ("archive", archive_option_of),
    shared("--launcher NAME", default=DEFAULTS.launcher, help="auto, slurm, local or ssh."),
    shared("--hosts HOSTS", type=Text(host_names, node_names), default="",
           help="Hosts to measure over ssh, without Slurm: n[1-4] or n1,n3."),
    shared("--hostfile FILE", type=PATH, help="The same from a host file of Open MPI or MPICH."),
    shared("--mpirun-options WORDS", type=Text(shell_words), default="", envvar="SEATRIAL_MPIRUN_OPTIONS",
           help="More options for the MPI's own launcher: '--bind-to none'."),
    shared("--partition NAME", "-p", type=Text(names=partition_names), default="",
           help="Slurm partition.  [default: the cluster's]"),
    shared("--account NAME", "-A", help="Account of the job."),
    shared("--qos NAME", "-q", help="Quality of service of the job."),
    shared("--reservation NAME", help="Reservation to run in; its nodes are taken."),
    shared("--constraint FEATURES", "-C", help="Only nodes with these features: hdr&(rome|milan)."),
    shared("--exclude NODES", "-x", type=NODES, help="Never these nodes: n[7-9]."),
    shared("--gres LIST", help="Generic resources to ask for: gpu:4."),
    shared("--slurm-arg ARG", type=Text(slurm_argument), multiple=True,
           help="Argument for salloc, sbatch and srun: --comment=x. May be repeated."),
    shared("--mpi TYPE", help="srun's --mpi.  [default: the site's]"),
    shared("--start", type=Word(Start), default=DEFAULTS.start.value,
           help="What starts ranks through Slurm: srun, mpiexec (the MPI's own launcher inside the allocation), or "
                "auto: srun, and mpiexec where none of its --mpi works."),
    shared("--mpicc FILE", help="MPI compiler to build the probe with."),
    shared("--probe FILE", type=PATH, help="A prebuilt probe."),
    shared("--probe-dir DIR", type=PATH, help="Where to build the probe; all nodes must see it."),
    shared("--environment SPEC", envvar="SEATRIAL_ENVIRONMENT",
           help="Environment to build and start the probe in: module:gcc openmpi."),
    shared("--wrap WHERE", default=DEFAULTS.wrap, envvar="SEATRIAL_WRAP",
           help="Where the environment is entered: inside or outside of srun; auto: as its kind needs."),
    shared("--round-timeout TIME", type=DURATION, default=time_text(DEFAULTS.round_timeout_s),
           help="Treat a round as hung after this long without output."),
    shared("--wait TIME", type=DURATION, default=time_text(DEFAULTS.wait_s),
           help="Maximum time to wait in the Slurm queue."),
    shared("--idle-only", is_flag=True, help="Only nodes that are free now; never wait in the queue."),
    shared("--node-hours N", type=float, callback=node_hours_limit,
           help="Node-hour limit; nodes or time are reduced to stay within it.  [default: no limit]"),
    shared("--replay RUN", type=RUN, help="Play a recorded run instead of measuring."),
    shared("--run NAME", type=RUN_NAME, help="Name of the run.  [default: time and four digits]"),
    shared("--seed N", type=click.IntRange(min=0), default=DEFAULTS.seed,
           help="Seed for the random order of rounds."),
    shared("--verify", is_flag=True,
           help="Compare the data of as many iterations as are timed, not only of the first and the last."),
])  # fmt: skip
"""The shared options in their order."""
HOSTS = ("hosts", "hostfile")
"""The options that name hosts without Slurm."""
JOB = ("account", "qos", "reservation", "constraint", "exclude", "gres", "slurm_arg")
"""What the rules of a site want of every job."""
QUEUE = ("partition", *JOB, "wait", "idle_only", "node_hours")
"""The options of a command that needs nodes and measures nothing."""
OF_A_SITE = (*SHARED, "leaves", "baseline", "storage", "path", "family_pattern")
"""Options that a site's file may set: the shared ones, and some of a single command."""


def site_options(
    *,
    only: Sequence[str] = tuple(SHARED),
    without: Sequence[str] = (),
    modes: Mapping[str, Sequence[str]] = MappingProxyType({}),
    **defaults: str,
) -> Decorator:
    """Decorator: the function gets `site`, the settings that these options make; write it below all other options.

    `defaults`: those that differ from the ones of `SHARED`. An option that is not offered has that of the settings.
    `modes`: of options that go with some modes of the command only.
    """
    offered = [name for name in SHARED if name in only and name not in without]

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(function)
        def with_site(**values: Any) -> int:
            return function(site=site_settings({name: values.pop(name) for name in offered}), **values)

        decorated: Callable[..., int] = with_site
        for name in reversed(offered):
            settings: dict[str, Any] = {"default": defaults[name]} if name in defaults else {}
            settings |= {"modes": modes[name]} if name in modes else {}
            decorated = SHARED[name](**settings)(decorated)
        return decorated

    return decorate


class SiteCommand(click.Command):
    """A command whose options the site's files may set."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the command line, with the defaults of the site's files. Raises UsageError for these."""
        extra["default_map"] = site_defaults(OF_A_SITE, *_flags_and_lists())
        return super().make_context(info_name, args, parent, **extra)


@functools.cache
def _flags_and_lists() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the options of a site's file that are flags, and of those that take several values."""
    shared = click.command()(site_options()(lambda **_: 0)).params
    flags = (option.name for option in shared if isinstance(option, click.Option) and option.is_flag)
    lists = (option.name for option in shared if option.multiple)
    return tuple(filter(None, flags)), (*filter(None, lists), "path", "family_pattern")


def site_settings(given: dict[str, Any]) -> SiteSettings:
    """The settings that shared options make. Raises UsageError for values that do not fit together."""
    context = click.get_current_context()
    sources = {one.opts[0]: context.get_parameter_source(one.name) for one in context.command.params}
    measures = {"budget", "archive"} <= given.keys()
    site_gate()  # raises UsageError before anything is measured
    request = {name: given.pop(name) for name in SlurmRequest.__struct_fields__ if name in given}
    given |= {f"{name}_s": given.pop(name) for name in ("budget", "wait", "round_timeout") if name in given}
    folder = given.setdefault("archive", archive_folder())
    if replay := given.pop("replay", ""):
        given["replay"] = reader.find_run(folder, replay)
    given["hosts"] = hosts_of(given.pop("hosts", ()), given.pop("hostfile", None))
    given["slurm"] = SlurmRequest(**request, arguments=given.pop("slurm_arg", ()))
    from_site = tuple(name for name, source in sources.items() if source is ParameterSource.DEFAULT_MAP)
    settings = SiteSettings(**given, kinds=site_kinds(), from_site=from_site, command=tuple(sys.argv[1:]))
    if measures and not (context.params.get("dry_run") or context.params.get("source")):
        say_first_use(folder, named=sources["--archive"] is not ParameterSource.DEFAULT)
        for left in changed_settings.left_settings():
            say(changed_settings.warning(left))
    return settings


def hosts_of(names: tuple[str, ...], file: Path | None) -> tuple[str, ...]:
    """What --hosts and --hostfile name. Raises UsageError for both at once, and for a file that is not valid."""
    if file is None:
        return names
    if names:
        raise UsageError("--hosts and --hostfile cannot be given together.", "Give only one of them.")
    try:
        hosts = parse_host_file(read_text(file))
    except ValueError as error:
        raise UsageError(
            f"--hostfile {str(file)!r}: {error}.", "Write one host on each line: n1, n1:2 or n1 slots=2."
        ) from error
    if not hosts:
        raise UsageError(f"--hostfile {str(file)!r} names no host.", "Write one host on each line: n1 or n1 slots=2.")
    return hosts


def say_first_use(archive: Path, *, named: bool) -> None:
    """Say on standard error where runs will be kept, if nobody named the folder and it does not exist yet."""
    if not named and not archive.exists():
        other = "--archive DIR or SEATRIAL_ARCHIVE names another folder"
        say(f"Runs are kept in {archive}; {other}.")


def refuse_idle_only(site: SiteSettings) -> None:
    """Raises UsageError where a job is to be submitted and must not wait in the queue."""
    if site.idle_only:
        raise UsageError("--idle-only never waits in the queue, and --detach always does.", "Give only one of them.")


def known_baseline(site: SiteSettings, name: str, kind: RunKind) -> str:
    """The baseline to compare with; one of the site's file counts from the moment it is set, for its kinds of runs."""
    if not name or "--baseline" not in site.from_site:
        return name
    if not baselines.versions(site.archive, name):
        missing = f"is not set in {site.archive}"
    elif kind not in {run.kind for run in baselines.read_baseline(baselines.folder_of(site.archive, name)).runs}:
        missing = f"has no run of `{kind.command}`"
    else:
        return name
    say(f"The site's baseline {name!r} {missing}: not compared with the past.")
    return ""
