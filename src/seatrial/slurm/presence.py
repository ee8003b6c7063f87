"""Whether Slurm is here, whether all of its commands are, and what it answers about the site."""

import os
import re
import shutil
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from seatrial.failures.cause import causes, first_cause
from seatrial.model.errors import LaunchError, UsageError
from seatrial.model.node_list import expand
from seatrial.model.run import PARTITION_WORD
from seatrial.process.process import NOT_STARTED, Completed, run
from seatrial.slurm import argv as slurm_argv
from seatrial.slurm import text

COMMAND_TIMEOUT_S = 30.0
SETTLE_S = 10.0
NO_SITE = "Could not establish a configuration source"
"""What Slurm's commands print where they know of no controller."""
NEEDED = ("salloc", "srun", "squeue", "scancel", "scontrol")
"""The commands needed beside sinfo, which shows whether there is a Slurm at all."""
NO_SUCH_JOB = "Invalid job id"
QUESTION = ("sinfo", "--noheader", "--format=%D")


def is_here() -> bool:
    """Whether launches go through Slurm: False without its commands, and where they know of no controller.

    Raises LaunchError where Slurm is here and does not answer: nothing else is measured in its place by default.
    """
    done = asked(QUESTION)
    if absent(done):
        return False
    answer(done)
    return True


def asked(argv: Sequence[str]) -> Completed:
    """One of Slurm's commands, not begun where SLURM_CONF names no file: Slurm would look for it for a minute."""
    why = _no_file(os.environ.get("SLURM_CONF", ""))
    if why and shutil.which(argv[0]):
        complaint = f"{argv[0]}: error: SLURM_CONF: cannot stat file {why}"
        return Completed(argv=tuple(argv), returncode=1, stdout="", stderr=complaint)
    return run(argv, timeout_s=COMMAND_TIMEOUT_S)


def _no_file(named: str) -> str:
    try:
        return "" if not named or Path(named).stat() else named
    except OSError as error:
        return f"{named}: {error.strerror}"


def asked_settled(
    argv: Sequence[str],
    ask: Callable[[Sequence[str]], Completed] = asked,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Completed:
    """sinfo as `slurm_text.parse_sinfo` reads it, once nodes that clean up after a job are done, or `SETTLE_S` later.

    Only nodes that were cleaning up at the first answer are waited for: on a large cluster some node always does. The
    pauses grow, since each answer costs the controller a walk over all nodes.
    """
    deadline = clock() + SETTLE_S
    pause_s = 0.2
    awaited: set[str] | None = None
    while True:
        sinfo = ask(argv)
        completing = {line.node for line in text.parse_sinfo(sinfo.stdout) if line.completing}
        awaited = completing if awaited is None else awaited & completing
        if not sinfo.ok or not awaited or clock() > deadline:
            return sinfo
        sleep(pause_s)
        pause_s = 2 * pause_s


def cluster_name() -> str:
    """The name of the cluster whose Slurm answers here; empty where none does."""
    return own_cluster()[0]


def own_cluster() -> tuple[str, tuple[str, ...]]:
    """Name of the cluster whose Slurm answers here, and the hosts of its controllers; empty where none does."""
    config = run(slurm_argv.CONFIG, timeout_s=COMMAND_TIMEOUT_S).stdout
    return text.config_value(config, "ClusterName"), text.controllers(config)


def absent(done: Completed) -> bool:
    """Whether that answer of sinfo means that this machine belongs to no cluster of Slurm's."""
    return done.returncode == NOT_STARTED or (NO_SITE in done.stderr and not os.environ.get("SLURM_CONF"))


def silence(done: Completed) -> tuple[str, str]:
    """Why Slurm does not answer, and what to do about it."""
    cause = first_cause(causes("slurm"), done.stderr)
    if cause is not None:
        return cause
    if done.timed_out:
        return f"{done.argv[0]} had no answer within {COMMAND_TIMEOUT_S:.0f} s.", "Ask by hand: scontrol ping; sdiag."
    return f"{text.complaint(done.stderr)}.", "Run this where sinfo works."


OVER_SSH = "With --hosts nodes are reached over ssh, without Slurm."
"""What else a user can do whose nodes are to return to service: this machine is none of them."""


def answer(done: Completed, instead: str = "--launcher local measures this machine alone.") -> str:
    """What it printed. Raises LaunchError where it could not; `instead`: what else the user can do then."""
    if done.ok:
        return done.stdout
    meaning, remedy = silence(done)
    raise LaunchError(f"Slurm does not answer: {meaning}", f"{remedy} {instead}")


def queue_answer(argv: Sequence[str], whose: str) -> str:
    """What squeue printed of a job; nothing of one that it no longer knows. Raises LaunchError without an answer."""
    done = asked(argv)
    if done.ok or NO_SUCH_JOB in done.stderr:
        return done.stdout
    meaning, remedy = silence(done)
    raise LaunchError(f"The state of {whose} is not known, since Slurm does not answer: {meaning}", remedy)


def missing() -> tuple[str, ...]:
    """Slurm's commands that are not on PATH."""
    return tuple(name for name in NEEDED if shutil.which(name) is None)


def lacking(names: Sequence[str]) -> tuple[str, str]:
    """The sentence for commands that are missing, and what to do."""
    verb = "is" if len(names) == 1 else "are"
    says = f"sinfo is here, and {', '.join(names)} {verb} not on PATH."
    return says, "Load the module that has all of Slurm's commands, or run this on a login node."


def node_features(*, active: bool = False) -> dict[str, tuple[str, ...]]:
    """The words with which the site describes each node; `active`: those that are in effect now."""
    return text.parse_features(run(slurm_argv.FEATURES, timeout_s=COMMAND_TIMEOUT_S).stdout, active=active)


def node_descriptions(lines: Sequence[text.NodeLine]) -> dict[str, tuple[str, ...]]:
    """Node -> its active features, and the partitions that have it as `partition=NAME`."""
    features = node_features(active=True)
    partitions: dict[str, dict[str, None]] = {}
    for line in lines:
        partitions.setdefault(line.node, {})[f"{PARTITION_WORD}{line.partition}"] = None
    return {node: (*features.get(node, ()), *partitions.get(node, ())) for node in {**partitions, **features}}


def most_nodes(named: str, lines: Sequence[text.NodeLine]) -> int:
    """How many nodes the partition allows one job to have; 0: any number. None named: the cluster's default one."""
    partition = named or partition_told({line.partition for line in lines})
    partition = partition or next((line.partition for line in lines if line.default), "")
    done = run(slurm_argv.partition(partition), timeout_s=COMMAND_TIMEOUT_S) if partition else None
    limit = re.search(r"\bMaxNodes=(\d{1,9})\b", done.stdout) if done is not None else None
    return int(limit[1]) if limit else 0


def partition_told(partitions: Collection[str]) -> str:
    """The one of these that salloc's own variable names; empty where none is."""
    name = os.environ.get("SALLOC_PARTITION", "")
    return name if name in partitions else ""


def reserved_nodes(name: str = "") -> frozenset[str]:
    """The nodes of the reservation, or of that which salloc's own variable names.

    Raises UsageError for a named one that Slurm does not know.
    """
    chosen = name or os.environ.get("SALLOC_RESERVATION", "")
    done = run(slurm_argv.reservation(chosen), timeout_s=COMMAND_TIMEOUT_S) if chosen else None
    if done is not None and name and not done.ok:
        raise UsageError(
            f"There is no reservation {name!r} on this cluster.", "scontrol show reservation lists the existing ones."
        )
    return frozenset(expand(text.reservation_nodes(done.stdout))) if done else frozenset()
