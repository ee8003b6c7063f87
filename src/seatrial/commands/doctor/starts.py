"""Starts of the probe, tried in one way after the other, and the result of each."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from seatrial.files.inputs import read_end
from seatrial.files.owners import temporary_folder
from seatrial.launch.contract import MPIEXEC, Launcher, Session, StartManner
from seatrial.launch.environments.judge import Tried, judge_environment
from seatrial.launch.slurm import SlurmLauncher
from seatrial.model.errors import LaunchError, ProbeLost, RoundRefused
from seatrial.model.launching import blocked, fine, last_lines, noted, untried
from seatrial.model.measurement import Phase, Round, Shape
from seatrial.model.verdict import Finding, FindingKind, Verdict
from seatrial.model.words import count, verb

STEP = "start"
START_TIMEOUT_S = 30.0
NONE_WORKS = (
    "None of srun's types works with this MPI: use the MPI's own mpirun, or an MPI that was built for one of them "
    "(configure --with-pmix or --with-pmi)."
)
TRAFFIC_TIMEOUT_S = 20.0


class StartTrial(msgspec.Struct, frozen=True, kw_only=True):
    """One way to start, and why it does not work; empty if it works."""

    how: str
    why: str = ""
    remedy: str = ""
    printed: str = ""
    """What was printed meanwhile."""
    hosts: tuple[str, ...] = ()
    """The hosts on which ranks came up."""
    other_mpi_type: bool = False
    """The remedy is another type, which is useless once all types were tried."""

    @property
    def works(self) -> bool:
        """Whether all ranks came up, as one world, where they were asked for."""
        return not self.why


def last_words(errors: Path) -> str:
    """The last lines of a file that programs wrote to; empty where it cannot be read."""
    return last_lines(read_end(errors))


def way_text(way: str) -> str:
    """A way to start as it is typed, or the site's own."""
    return way if way == MPIEXEC else f"--mpi={way}" if way else "the site's own --mpi"


def _start(launcher: Launcher, nodes: Sequence[str], way: str, errors: Path) -> Session:
    """The probe, one rank a node, by mpiexec or a type of srun's; empty: in the site's own way. Raises LaunchError."""
    if way == MPIEXEC and isinstance(launcher, SlurmLauncher):
        return launcher.start_by_mpiexec(nodes, errors)
    return launcher.start(nodes, errors, StartManner(options=(f"--mpi={way}",) if way else ()))


def try_start(launcher: Launcher, nodes: Sequence[str], way: str) -> StartTrial:
    """Start the probe in that way, and end it; twice if the reason of a failure is not recognised.

    Of a step that Slurm aborts, what its ranks printed is sometimes lost.
    """
    trial = _start_once(launcher, nodes, way)
    return _start_once(launcher, nodes, way) if trial.why and not trial.remedy else trial


def _start_once(launcher: Launcher, nodes: Sequence[str], way: str) -> StartTrial:
    return trial_of(way_text(way), lambda errors: _start(launcher, nodes, way, errors))


def trial_of(how: str, start: Callable[[Path], Session]) -> StartTrial:
    """A start that is ended at once: on which hosts its ranks came up, or why not. `start` writes errors to a file."""
    with temporary_folder() as folder:
        errors = folder / "start.err"
        try:
            session = start(errors)
        except LaunchError as error:
            why = error.what.partition(" ranks: ")[2] or error.what
            printed = last_words(errors)
            return StartTrial(
                how=how, why=why, remedy=error.remedy, printed=printed, other_mpi_type=error.other_mpi_type
            )
        session.close()
    return StartTrial(how=how, hosts=tuple(dict.fromkeys(str(rank.get("host", "")) for rank in session.ranks)))


def try_traffic(launcher: Launcher, nodes: Sequence[str], way: str, shape: Shape) -> Finding:
    """The probe on all nodes, and a few messages between the first and the last of them."""
    by = f" by {way_text(way)}" if way else ""
    with temporary_folder() as folder:
        errors = folder / "start.err"
        try:
            session = _start(launcher, nodes, way, errors)
        except LaunchError as error:
            return blocked(STEP, FindingKind.NO_START, error.what, error.remedy, last_words(errors))
        try:
            remark = _traffic(session, shape, by)
            said = last_words(errors) if remark.verdict is Verdict.BLOCKED else ""
            return msgspec.structs.replace(remark, printed=said)
        finally:
            session.close()


def _traffic(session: Session, shape: Shape, by: str) -> Finding:
    pair = (session.nodes[0], session.nodes[-1])
    wanted = Round(phase=Phase.PILOT, repetition=0, shape=shape, pairs=(pair,))
    try:
        list(session.measure(wanted, TRAFFIC_TIMEOUT_S))
    except (ProbeLost, RoundRefused) as error:
        session.close(kill=True)
        return blocked(
            STEP,
            FindingKind.NO_TRAFFIC,
            f"{count(len(session.nodes), 'rank')} came up{by}, but no message gets from {pair[0]} to {pair[1]}: "
            f"{error.what}",
            "Check whether a firewall blocks traffic between the nodes, and which network MPI uses.",
        )
    many = len(session.nodes)
    where = "this machine" if ":" in session.nodes[0] else f"{many} nodes"
    return fine(STEP, f"{many} ranks came up on {where}{by}, as one world, and messages pass.")


def judge_ways(tried: Sequence[StartTrial], chosen: str) -> list[Finding]:
    """Which ways work; the one that would be used comes first. `chosen`: its text."""
    works = [one.how for one in tried if one.works]
    used = next((one for one in tried if one.how == chosen), None)
    remarks = []
    if used is not None and not used.works:
        remedy = f"Use {' or '.join(works)}, which {verb(len(works), 'works', 'work')} here." if works else used.remedy
        if not works and used.other_mpi_type:
            remedy = NONE_WORKS
        obstacle = FindingKind.MPI_TYPE if works else FindingKind.NO_START
        remarks.append(blocked(STEP, obstacle, f"{chosen}: {used.why}", remedy, used.printed))
    if works:
        remarks.append(fine(STEP, f"{', '.join(works)} {verb(len(works), 'works', 'work')} with this MPI."))
    others: dict[str, list[StartTrial]] = {}
    for one in tried:
        if not one.works and one is not used and (used is None or one.why != used.why):
            others.setdefault(one.why, []).append(one)
    for why, ways in others.items():
        says = f"{' and '.join(one.how for one in ways)} {verb(len(ways), 'does', 'do')} not: {why}"
        remarks.append(noted(STEP, FindingKind.MPI_TYPE, says, said=ways[0].printed))
    return remarks


def judge_mpiexec(inside: StartTrial, outside: StartTrial | None) -> list[Finding]:
    """Starts by the MPI's own launcher. `inside`: an allocation of two nodes; `outside`: without one, if tried."""
    alone = f", and without an allocation on {', '.join(outside.hosts)} alone" if outside and outside.hosts else ""
    if inside.works:
        on = ", ".join(inside.hosts)
        return [fine(STEP, f"{inside.how} starts ranks on {on} within an allocation{alone}.")]
    return [
        noted(
            STEP,
            FindingKind.MPIRUN,
            f"{inside.how} does not start ranks within an allocation: {inside.why}",
            inside.remedy or "Use srun, or an mpirun that was built with support for Slurm.",
            inside.printed,
        )
    ]


ENVIRONMENT_STEP = "environment"


def judge_environment_trial(tried: Tried) -> list[Finding]:
    """A remark for each fault; one remark if there is no fault, or if nothing ran outside of the environment either."""
    spec = tried.environment.spec
    if not tried.plain:
        says = f"The effect of {spec} on a launch is unknown: no launch outside it started either."
        return [untried(ENVIRONMENT_STEP, FindingKind.ENVIRONMENT, says)]
    faults = judge_environment(tried)
    if not faults:
        return [fine(ENVIRONMENT_STEP, f"{spec} is entered on the nodes, and a launch works inside it.")]
    return [
        (blocked if fault.fatal else noted)(ENVIRONMENT_STEP, FindingKind.ENVIRONMENT, fault.what, fault.remedy)
        for fault in faults
    ]
