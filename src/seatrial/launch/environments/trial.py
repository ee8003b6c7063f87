"""Tries an environment out: a tiny step outside of it and one inside, on every node, before the probe is started."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from seatrial.launch.environments.discovery import TIMEOUT_S, ended
from seatrial.launch.environments.environment import NO_ENVIRONMENT, Environment
from seatrial.launch.environments.judge import WITNESSES, EnvironmentFault, Tried, judge_environment
from seatrial.launch.environments.report import TaskReport, ask, parse_reports, question
from seatrial.model.errors import LaunchError
from seatrial.process.process import Completed


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


def has_environment(launcher: object) -> bool:
    """Whether the launcher starts things in an environment; not so where nothing is started (a replay)."""
    return isinstance(launcher, Reporting) and bool(launcher.environment)


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
