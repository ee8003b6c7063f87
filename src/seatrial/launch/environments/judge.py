"""What an environment does to a launch: a tiny step outside of it and one inside, on every node, compared."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec

from seatrial.failures.start_failure import ENTERED, why_not_entered
from seatrial.launch.environments.discovery import TIMEOUT_S, ended
from seatrial.launch.environments.environment import NO_ENVIRONMENT, Environment, Where
from seatrial.launch.environments.report import TaskReport, ask, parse_reports, question
from seatrial.model.errors import LaunchError
from seatrial.model.words import count, natural_sorted, some
from seatrial.node.mpi import told, told_apart
from seatrial.process.process import Completed
from seatrial.slurm.text import complaint, launch_failures

WITNESSES = {"OMPI_MCA_seatrial_witness": "1", "UCX_SEATRIAL_WITNESS": "1", "FI_SEATRIAL_WITNESS": "1"}
"""Set for the trial only: what becomes of them becomes of a user's own settings."""
SETTINGS = ("OMPI_MCA_", "UCX_", "FI_", "MPICH_")
SHOWN = 4
MOST_HIDDEN = 8
"""File systems and devices that a sentence names."""
WAITS = (
    "Something in it waits: for input, a lock, a licence or a download. Start it on one node by hand "
    "(srun -N1 ...), and leave out the nodes where it hangs."
)


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """What came of the trial."""

    environment: Environment
    nodes: tuple[str, ...]
    plain: tuple[TaskReport, ...]
    """Reports of tasks outside of the environment, the control."""
    within: tuple[TaskReport, ...]
    """Reports of tasks inside."""
    here: TaskReport | None = None
    """Inside, where the probe was built, without a launcher."""
    here_plain: TaskReport | None = None
    job: str = ""
    """Empty where no scheduler is between this machine and the tasks."""
    said: str = ""
    """Standard error of the launch inside."""
    late: bool = False
    """Whether the launch inside had to be ended."""


class EnvironmentFault(msgspec.Struct, frozen=True, kw_only=True):
    """One thing wrong with it, and what to do. `fatal`: no MPI program can work so."""

    what: str
    remedy: str
    fatal: bool


def judge_environment(tried: Tried) -> tuple[EnvironmentFault, ...]:
    """What is wrong, the gravest first. Nothing where the control did not run either: no fault of the environment."""
    if not tried.plain:
        return ()
    if not tried.within:
        return (_not_entered(tried),)
    rules: Sequence[Callable[[Tried], Iterable[EnvironmentFault]]] = (
        _silent,
        _repeated,
        _deaf,
        _without_program,
        _without_library,
        _lost_launcher,
        _lost_words,
        _hidden,
        _unequal,
        _without_effect,
    )
    return tuple(fault for rule in rules for fault in rule(tried))


def _not_entered(tried: Tried) -> EnvironmentFault:
    if tried.late:
        return EnvironmentFault(
            what=f"A start in {tried.environment.spec} failed: no task ended in time.", remedy=WAITS, fatal=True
        )
    outside = tried.environment.where is Where.OUTSIDE
    failures = sorted(set(launch_failures(tried.said).values()))
    why, remedy = why_not_entered(tried.said) or (failures[0] if failures else _complaint(tried.said), "")
    return EnvironmentFault(
        what=f"Nothing can be started in {tried.environment.spec}: {why.rstrip('.')}.",
        remedy=remedy
        or (
            "It may hide the launcher or its settings (PATH, SLURM_CONF): choose --wrap inside."
            if outside
            else "Check whether the nodes have it; --wrap outside enters it here alone."
        ),
        fatal=True,
    )


def _silent(tried: Tried) -> Iterable[EnvironmentFault]:
    """Nodes whose task ran outside of it and not inside."""
    silent = _named(tried, _hosts(tried.plain) - _hosts(tried.within))
    if silent:
        failures = launch_failures(tried.said)
        reason = why_not_entered(tried.said)
        complaint = "no task ended in time there" if tried.late else _complaint(tried.said)
        why = reason[0] if reason else next((failures[node] for node in silent if node in failures), complaint)
        yield EnvironmentFault(
            what=f"{tried.environment.spec} cannot be entered on {some(silent, SHOWN)}: {why.rstrip('.')}.",
            remedy=WAITS if tried.late else "Install there what it needs, or leave the nodes out.",
            fatal=True,
        )


def _repeated(tried: Tried) -> Iterable[EnvironmentFault]:
    """More tasks answered inside than were started: one on each node, or for each place on this machine."""
    if len(tried.within) > len(tried.nodes):
        yield EnvironmentFault(
            what=f"{tried.environment.spec} runs what it is given more than once "
            f"({count(len(tried.nodes), 'task')} started, {len(tried.within)} answered).",
            remedy='Have it run its command once, at its end, by exec "$@".',
            fatal=True,
        )


def _deaf(tried: Tried) -> Iterable[EnvironmentFault]:
    """What was sent to standard input arrives outside of it and not inside."""
    sent = any(one.heard for one in tried.plain) or not tried.job  # the control of a local launch may be inside, too
    if sent and [one.heard for one in tried.within if one.heard is not None] == [""]:
        yield EnvironmentFault(
            what=f"{tried.environment.spec} keeps standard input from what it runs, and the probe receives nothing.",
            remedy="Something in it reads it: put </dev/null behind each command before the last.",
            fatal=True,
        )


def _without_program(tried: Tried) -> Iterable[EnvironmentFault]:
    nodes = _named(tried, {one.host for one in tried.within if not one.program})
    if nodes:
        yield EnvironmentFault(
            what=f"The probe is not visible in {tried.environment.spec} on {some(nodes, SHOWN)}.",
            remedy="Name a folder by --probe-dir that all nodes share and that the environment does not hide.",
            fatal=True,
        )


def _without_library(tried: Tried) -> Iterable[EnvironmentFault]:
    missing = {name for one in tried.within for name in one.missing}
    nodes = _named(tried, {one.host for one in tried.within if one.missing})
    if missing:
        yield EnvironmentFault(
            what=f"{some(nodes, SHOWN)} {'miss' if len(nodes) > 1 else 'misses'} {some(sorted(missing), SHOWN)} "
            f"in {tried.environment.spec}.",
            remedy="Install the same software on all nodes, or share it.",
            fatal=True,
        )


def _lost_launcher(tried: Tried) -> Iterable[EnvironmentFault]:
    ours = tried.here_plain.variables if tried.here_plain is not None else frozenset()

    def of_launcher(name: str) -> bool:
        return name.startswith("PMI") or (name not in ours and not name.startswith(("SLURM_", *SETTINGS)))

    return _lost(
        tried, of_launcher, "without which each rank is a world of its own: MPI does not see its launcher", fatal=True
    )


def _lost_words(tried: Tried) -> Iterable[EnvironmentFault]:
    """Variables of Slurm, and settings of MPI."""
    place = "by which programs know their job and their place in it"
    yield from _lost(tried, lambda name: name.startswith("SLURM_"), place, fatal=False)
    effect = "so settings of MPI and its transports have no effect"
    yield from _lost(tried, lambda name: name.startswith(SETTINGS), effect, fatal=False)


def _lost(tried: Tried, mine: Callable[[str], bool], meaning: str, *, fatal: bool) -> Iterable[EnvironmentFault]:
    """Variables of which `mine` is true, that a task has outside and its like on the same node has not inside."""
    had = {one.host: one.variables for one in tried.plain}
    lost = {
        one.host: {name for name in had.get(one.host, frozenset()) - one.variables if mine(name)}
        for one in tried.within
    }
    names = {name for some in lost.values() for name in some}
    nodes = _named(tried, {host for host, some in lost.items() if some})
    if names and tried.environment.kind is not None:
        where = "" if len(nodes) == len(tried.nodes) else f" on {some(nodes, SHOWN)}"
        yield EnvironmentFault(
            what=f"{tried.environment.spec} loses {some(_telling(names), SHOWN)}{where}, {meaning}.",
            remedy=tried.environment.kind.keeping,
            fatal=fatal,
        )


def _hidden(tried: Tried) -> Iterable[EnvironmentFault]:
    """File systems and devices of a node that nothing within sees, nor a part of them."""
    had = {report.host: (*report.mounts, *report.devices) for report in tried.plain}
    hidden: dict[str, set[str]] = {}
    for report in tried.within:
        seen = (*report.mounts, *report.devices)
        for place in had.get(report.host, ()):
            if not any(other == place or other.startswith(f"{place}/") for other in seen):
                hidden.setdefault(place, set()).add(report.host)
    if hidden:
        nodes = _named(tried, set().union(*hidden.values()))
        where = "" if len(nodes) == len(tried.nodes) else f" on {some(nodes, SHOWN)}"
        yield EnvironmentFault(
            what=f"{tried.environment.spec} hides {some(natural_sorted(hidden), MOST_HIDDEN)}{where}.",
            remedy="Share what programs need: --share=FOLDER (Guix), --bind FOLDER (Apptainer), in the SPEC.",
            fatal=False,
        )


def _unequal(tried: Tried) -> Iterable[EnvironmentFault]:
    """The MPI library: the nodes' against each other, and against the one that the probe was built with."""
    of = {one.host: one.library for one in tried.within if one.library is not None}
    several = told_apart(of)
    if len(several) > 1:
        parts = "; ".join(
            f"{some(_named(tried, hosts), SHOWN)}: {what}" for what, hosts in list(several.items())[:SHOWN]
        )
        yield EnvironmentFault(
            what=f"In {tried.environment.spec} the nodes do not have the same MPI library ({parts}).",
            remedy="Install the same on all nodes, or share it.",
            fatal=False,
        )
    elif of and tried.here is not None and tried.here.library is not None:
        ours, theirs = tried.here.library, next(iter(of.values()))
        if len(told_apart({"here": ours, "there": theirs})) < 2:
            return
        yield EnvironmentFault(
            what=f"The probe was built with {told(ours)}, and the nodes load {told(theirs)}.",
            remedy="Enter the environment on the nodes, too (--wrap inside), or build with theirs by --mpicc.",
            fatal=False,
        )


def _without_effect(tried: Tried) -> Iterable[EnvironmentFault]:
    """Entered outside of srun, and its variables do not reach the tasks."""
    if tried.environment.where is not Where.OUTSIDE or tried.here is None or not tried.job:
        return
    outside = {(one.path, one.libraries) for one in tried.plain}
    inside = {(one.path, one.libraries) for one in tried.within}
    if (tried.here.path, tried.here.libraries) not in inside and inside <= outside:
        yield EnvironmentFault(
            what=f"{tried.environment.spec} sets PATH or LD_LIBRARY_PATH here, and tasks on the nodes see none of it.",
            remedy="SLURM_EXPORT_ENV or srun's --export keeps variables back; choose --wrap inside.",
            fatal=False,
        )


def _complaint(text: str) -> str:
    """What srun itself holds to be the end of it, else the first error."""
    lines = [line for line in text.splitlines() if not line.endswith(ENTERED)]
    fatal = [line for line in lines if line.startswith("srun: fatal: ")]
    return complaint("\n".join(fatal or lines))


def _hosts(reports: Iterable[TaskReport]) -> set[str]:
    return {one.host for one in reports}


def _named(tried: Tried, hosts: Iterable[str]) -> list[str]:
    """Hosts as the nodes are called; with or without their domain."""
    by_host = {node.partition(".")[0]: node for node in tried.nodes}
    return sorted({by_host.get(host.partition(".")[0], host) for host in hosts})


def _telling(names: Iterable[str]) -> list[str]:
    """The names that say most first."""
    first = ("SLURM_JOB_ID", "SLURM_PROCID", "PMIX_RANK", "PMIX_NAMESPACE", "PMI_RANK", "PMI_FD")
    return sorted(names, key=lambda name: (first.index(name) if name in first else len(first), name))


@runtime_checkable
class Reporting(Protocol):
    """A launcher that can start other programs as it starts the probe."""

    environment: Environment
    probe: Path
    job: str

    def report(
        self, nodes: Sequence[str], argv: Sequence[str], variables: Mapping[str, str], *, within: bool
    ) -> Completed:
        """Run argv once on every node, under the same PMI; `within`: in the environment.

        The first task gets a line on its standard input (see launch.trial_step).
        """


def check_environment(launcher: object, nodes: Sequence[str]) -> tuple[EnvironmentFault, ...]:
    """What is wrong with the launcher's environment on these nodes, the gravest first.

    Nothing for a launcher that has none. Under Slurm the nodes must be allocated.
    """
    if not isinstance(launcher, Reporting) or not launcher.environment:
        return ()
    return judge_environment(try_out(launcher, nodes))


def try_out(launcher: Reporting, nodes: Sequence[str]) -> Tried:
    """Both steps, and the same question to this machine."""
    asked = question(str(launcher.probe))
    plain = launcher.report(nodes, asked, WITNESSES, within=False)
    within = launcher.report(nodes, asked, WITNESSES, within=True)
    return Tried(
        environment=launcher.environment,
        nodes=tuple(nodes),
        job=launcher.job,
        plain=parse_reports(plain.stdout),
        within=parse_reports(within.stdout),
        here=_here(launcher.environment, asked),
        here_plain=_here(NO_ENVIRONMENT, asked),
        said=within.stderr or ended(within),
        late=within.timed_out,
    )


def refuse_fatal(faults: Sequence[EnvironmentFault]) -> None:
    """Raise LaunchError where an MPI program cannot work so."""
    fatal = [fault for fault in faults if fault.fatal]
    if fatal:
        raise LaunchError(" ".join(fault.what for fault in fatal), " ".join(dict.fromkeys(f.remedy for f in fatal)))


def _here(environment: Environment, asked: Sequence[str]) -> TaskReport | None:
    return next(iter(parse_reports(ask(environment.wrap(asked), 1, timeout_s=TIMEOUT_S).stdout)), None)
