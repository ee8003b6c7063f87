"""Nodes and a keeper, held from before a setting is changed until after it is restored.

The keeper outlives this process: however that ends, it ends the benchmark, restores the setting, and then, and only
then, gives the nodes back.
"""

import contextlib
import math
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from seatrial.archive import changed_settings
from seatrial.archive.changed_settings import Changed, changes_folder, refuse_left_settings
from seatrial.driver.reach import Reach
from seatrial.driver.restoration import restore, step_of
from seatrial.launch.mpi import job_variables
from seatrial.process.after_driver import end_bearers
from seatrial.process.keeper import MARK, Duty, EndProcesses, Keeper, KeeperCommand
from seatrial.process.process import Completed, own_program
from seatrial.slurm.held_nodes import HELD_JOB, HeldNodes, hold, only_job
from seatrial.slurm.presence import cluster_name
from seatrial.slurm.queue import job_ending

OWN = "seatrial"
RESTORE_TRIES = 20
RESTORE_PAUSE_S = 15.0
RESTORE_S = 900.0
"""Time limit of one restoration of many nodes, each of which is tried three times."""
LEAST_RUN_S = 1.0
GOES_ON = "The keeper tries on for some minutes; `seatrial doctor` names what is left."


class Custody:
    """A context: at its end the nodes are given back, unless something could not be restored."""

    def __init__(self, name: str, reach: Reach, nodes: Sequence[str], seconds: float, wait_s: float = 600.0) -> None:
        """`name`: of what is measured; `nodes`: to be held, for `seconds` of measuring; none: nothing is held."""
        self.held: HeldNodes | None = None
        self.settings = changed_settings.describe(name)
        self._reach, self._nodes, self._seconds, self._wait_s = reach, tuple(nodes), seconds, wait_s
        self._end = EndProcesses(words=(f"{MARK}={name}",))
        self._unrestored = False
        self._keeper = Keeper([self._end])

    def __enter__(self) -> Self:
        """Raises LaunchError where the nodes are not granted, and while an earlier change is not restored."""
        try:
            refuse_left_settings()
            if self._nodes:
                reach = self._reach
                self.held = hold(
                    self._nodes, self._seconds, reach.partition, reach.slurm, self._wait_s, self._keeper
                )  # fmt: skip
                self._reach = msgspec.structs.replace(reach, job=self.held.job)
        except BaseException:
            self._keeper.dismiss()
            raise
        return self

    @property
    def name(self) -> str:
        """The name of what is measured, and of the note of what is changed."""
        return self.settings.name

    @property
    def job(self) -> str:
        """The job that holds the nodes; empty: none does."""
        return self.held.job if self.held else ""

    @property
    def reach(self) -> Reach:
        """How nodes are reached: in the job that holds them, if there is one."""
        return self._reach

    @property
    def left_s(self) -> float:
        """Seconds for which a benchmark may run."""
        return max(self.held.left_s(), LEAST_RUN_S) if self.held else math.inf

    def environment(self, program: str) -> dict[str, str]:
        """The environment of a program that measures: srun and our own commands find the job, others get what salloc
        sets.
        """
        mark = {MARK: self.settings.name}
        if self.held is None:
            return mark
        if program == OWN:
            return {**mark, HELD_JOB: self.held.job}
        if Path(program).name == "srun":
            return {**mark, **only_job(self.held.job)}
        return {**mark, **job_variables(self.held.job, self.held.nodes)}

    def protect(self, changes: Sequence[Changed]) -> None:
        """Note down what is about to be changed, and have the keeper restore it. Raises LaunchError: change nothing."""
        self.settings = msgspec.structs.replace(
            self.settings,
            changes=tuple(changes),
            **msgspec.structs.asdict(self._reach),
            cluster=cluster_name() if self.held or self._reach.launcher == "slurm" else "",
            nodes=self.held.nodes if self.held else (),
            job_name=self.held.name if self.held else "",
        )
        self._keeper.take([self._end, *self._restoring(), *self._ending()])
        if changes:
            changed_settings.write(changes_folder(), self.settings)  # a keeper that finds none changes nothing
            self._unrestored = True

    def _restoring(self) -> Sequence[Duty]:
        """A setting that is not restored keeps its nodes: no foreign job may run on them."""
        if not self.settings.changes:
            return ()
        words = (*own_program(), "compare", "--restore", self.settings.name)
        return [
            KeeperCommand(argv=words, tries=RESTORE_TRIES, pause_s=RESTORE_PAUSE_S, timeout_s=RESTORE_S, needed=True)
        ]  # fmt: skip

    def _ending(self) -> Sequence[Duty]:
        return job_ending(self.held.name) if self.held else ()

    def switch(self, *, usual: bool) -> list[Completed]:
        """Establish one of the two settings; what each program did, up to the first that failed."""
        done: list[Completed] = []
        self._keeper.take([self._end, *self._restoring(), *self._ending()])
        for change in self.settings.changes:
            done.append(step_of(self.settings, change, usual=usual).run({MARK: self.settings.name}))
            if not done[-1].ok:
                break
        return done

    def forget(self) -> None:
        """What was about to be changed was not."""
        changed_settings.remove(changes_folder(), self.settings.name)
        self._unrestored = False
        self._keeper.take([self._end, *self._ending()])

    def restore(self) -> str:
        """End what the benchmark left running, and restore the setting; why that failed, or nothing."""
        end_bearers(self._end.words, self._end.patience_s, self._end.grace_s)
        why = restore(self.settings)
        self._unrestored = bool(why)
        if not why:
            with contextlib.suppress(Exception):
                self._keeper.take([self._end, *self._ending()])
        return f"The usual setting was NOT restored: {why} {GOES_ON}" if why else ""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Give the nodes back, or leave all that is left to the keeper."""
        try:
            done = not self._unrestored and (self.held is None or self.held.give_back())
        except BaseException:
            self._keeper.release()
            raise
        (self._keeper.dismiss if done else self._keeper.release)()
