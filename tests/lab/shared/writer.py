"""A check in a lab of the second kernel that notes what it delivers outside of the archive.

usage: python -m tests.lab.shared.writer ARCHIVE RUN DELIVERED NODES
NODES: those that a real check takes from Slurm; empty: a synthetic cluster is measured, and all else is as in a check.
Every line that the journal took is written to the file DELIVERED as well.
"""

import signal
import sys
import time
from pathlib import Path

from seatrial.archive import lease
from seatrial.archive.journal import Entry, encode
from seatrial.archive.writer import RunWriter
from seatrial.commands.check.run import run_check
from seatrial.frame.command_line import explain
from seatrial.frame.command_line import run as command_line
from seatrial.model.settings import CheckSettings
from tests.support.builders import Cluster, names
from tests.support.scripted import ScriptedLauncher

BUDGET = "15s"
SECONDS_PER_ROUND = 1.2
SLOW_ROUNDS = 10
"""After so many a synthetic check waits for its leave to end: the file LEAVE beside what it delivered."""
LEAVE = "leave"
BEAT_S = 2.0
"""Shorter than usual, so that a run that nobody writes any more is known as such in 12 s instead of 30."""


def main(archive: str, run: str, delivered: str, nodes: str = "") -> int:
    """The exit code of the check."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    append = RunWriter.append
    with Path(delivered).open("ab", buffering=0) as noted:

        def noting(self: RunWriter, entry: Entry) -> None:
            append(self, entry)
            noted.write(encode(entry))

        RunWriter.append = noting  # type: ignore[method-assign]
        return real(archive, run, nodes) if nodes else synthetic(archive, run, Path(delivered).with_name(LEAVE))


def real(archive: str, run: str, nodes: str) -> int:
    """A check of these nodes, through Slurm and MPI."""
    return command_line(["check", "--nodes", nodes, "--archive", archive, "--run", run, "--budget", BUDGET])


def synthetic(archive: str, run: str, leave: Path) -> int:
    """A check of nodes that do not exist."""
    lease.BEAT_S = BEAT_S

    def slowly(number: int) -> None:
        while not leave.exists():
            time.sleep(SECONDS_PER_ROUND)
            if number < SLOW_ROUNDS:
                return

    launcher = ScriptedLauncher(Cluster(nodes=names(6)), on_round=slowly)
    try:
        outcome = run_check(CheckSettings(archive=Path(archive), run=run), launcher=launcher)
    except BaseException as error:
        failure = explain(error)
        print(f"{run}: {failure.sentence}")
        return failure.exit_code
    print(f"{run}: {outcome.recorded.info.ending} in {outcome.folder.name}")
    return outcome.judgement.exit_code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
