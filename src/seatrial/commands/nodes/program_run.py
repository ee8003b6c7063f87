"""A program of the site is started on each node by itself, several times, and more often if a node is out of line."""

from collections.abc import Sequence

import msgspec

from seatrial.archive import layout
from seatrial.archive.writer import RunWriter
from seatrial.commands.nodes.program_judge import ProgramResult, judge_program
from seatrial.drift.peer_groups import one_kernel
from seatrial.driver.clock import monotonic_s
from seatrial.driver.node_selection import allocation_s
from seatrial.driver.progress import SILENT, Progress
from seatrial.driver.run import MeasuredRun, Run, all_nodes, find_hosts, open_run
from seatrial.driver.site_program import ProgramLaunches, site_program, starting
from seatrial.experiment.controls import RETEST_RUNS
from seatrial.launch.contract import Launcher
from seatrial.model.benchmark import StepResult
from seatrial.model.errors import UsageError
from seatrial.model.measurement import node_of
from seatrial.model.run import Design, RecordedRun
from seatrial.model.settings import NodesSettings, SiteProgram
from seatrial.model.words import count

OPTION = "--program"
SAMPLES = 360
"""Samples of each GPU over the time of --for."""
LEAST_SAMPLING_S = 2.0
"""Seconds between two samples, at least."""
SLOWEST_START = 5.0
"""Later starts may take this many times as long as usual: what is a fifth as fast as its peers delivers in time."""
LEAST_START_S = 5.0
"""Time that each start has, however short the usual one is: a busy slurmctld lets srun wait for seconds."""


def node_program(text: str) -> SiteProgram:
    """The program of --program. Raises UsageError as `site_program`."""
    return site_program(text, OPTION, nodes=1)


def run_program(settings: NodesSettings, progress: Progress = SILENT) -> MeasuredRun[ProgramResult]:
    """Carry out `seatrial nodes --program`. Whatever ends it, the run is closed and keeps what was printed.

    Raises UsageError, LaunchError, ArchiveError and other SeatrialErrors; KeyboardInterrupt only before the nodes are
    asked for.
    """
    launcher, hosts = find_hosts(settings.site, progress)
    starting(launcher, OPTION)
    opening = open_run(settings, settings.site, launcher, hosts, all_nodes(hosts), fewest=1)
    frame = opening.frame(progress, fewest=1)
    work = ProgramRun(settings, frame, launcher, opening.writer)
    folder = frame.carry_out(lambda: work.measure(opening.nodes, hosts.asleep), lambda: bool(work.steps))
    recorded = work.recorded()
    return MeasuredRun(folder=folder, recorded=recorded, result=judge_program(recorded))


class ProgramRun:
    """The work inside a run."""

    def __init__(self, settings: NodesSettings, frame: Run, launcher: Launcher, writer: RunWriter) -> None:
        """Raises UsageError for settings without a program and as `starting`, SeatrialError as `ProgramLaunches`."""
        if settings.program is None:
            raise UsageError("There is no program to start.", f"Name one with {OPTION}.")
        self.steps: list[StepResult] = []
        self._settings = settings
        self._frame = frame
        every_s = max(LEAST_SAMPLING_S, settings.length_s / SAMPLES) if settings.length_s else 0.0
        self._starts = ProgramLaunches(settings.program, starting(launcher, OPTION), writer, sample_every_s=every_s)
        frame.afterwards.append(self._starts.remove)

    def recorded(self) -> RecordedRun:
        """The run as its judge sees it."""
        return msgspec.structs.replace(self._frame.recorded(), steps=tuple(self.steps))

    def measure(self, nodes: Sequence[str], asleep: Sequence[str]) -> str:
        """Get the nodes and start the program on each; a remark for the report, or nothing."""
        frame, budget_s = self._frame, self._frame.settings.budget_s
        granted = frame.get_nodes(nodes, allocation_s(budget_s), asleep)
        places = tuple({node_of(name): name for name in reversed(granted)}.items())[::-1]
        shared = one_kernel({name: frame.facts[place] for name, place in places if place in frame.facts}.values())
        together = 1 if shared else len(places)
        turns = [places[first : first + together] for first in range(0, len(places), together)]
        frame.designed(self._design(len(places), len(turns)))
        remark = self._repeat(turns, monotonic_s() + budget_s)
        frame.progress.stage("Reading the facts again")
        frame.facts_after = frame.read_facts(granted, layout.AFTER, "did not answer after the program")
        return remark

    def _repeat(self, turns: Sequence[Sequence[tuple[str, str]]], deadline: float) -> str:
        """Start it on all nodes again and again until `deadline` (monotonic_s); a remark if it ended earlier.

        Before a start has ended, each may take its share of the time.
        """
        wanted, done, usual_s = self._settings.repetitions, 0, 0.0
        while done < wanted or self._settings.length_s:
            self._frame.progress.stage(f"Start {done + 1} on {count(sum(map(len, turns)), 'node')}")
            for place, turn in enumerate(turns):
                left_s = deadline - monotonic_s()
                if done and left_s < usual_s:
                    why = f"after {done} of {count(wanted, 'start')} on each node"
                    return "" if self._settings.length_s else self._frame.spent(why)
                shared_s = left_s / max((wanted - done) * len(turns) - place, 1)
                most_s = min(left_s, SLOWEST_START * usual_s) if usual_s else shared_s
                self._turn(turn, done + 1, max(most_s, LEAST_START_S))
                usual_s = self._starts.start_s
            done += 1
            if done == 1 and not judge_program(self.recorded()).benchmark:
                return "The program gave no output on any node: start it on one yourself, or give more time (--budget)."
            if done == self._settings.repetitions and judge_program(self.recorded()).out_of_line:
                wanted += RETEST_RUNS
        return ""

    def _turn(self, turn: Sequence[tuple[str, str]], number: int, timeout_s: float) -> None:
        """One start on each of these nodes, at the same time. Raises KeyboardInterrupt when all have ended."""
        named = [(f"{name} {number}", (place,)) for name, place in turn]
        self.steps += (step for _, step in self._starts.beside(named, timeout_s, ranks_per_node=0))
        if self.steps and self.steps[-1].interrupted:
            raise KeyboardInterrupt

    def _design(self, nodes: int, turns: int) -> Design:
        settings = self._settings
        how = "at the same time" if turns == 1 else "one after the other, since they share a kernel"
        often = f"for {settings.length_s:.0f} s" if settings.length_s else f"{count(settings.repetitions, 'time')}"
        return Design(
            name="nodes",
            pairs_at_once=0,
            repetitions=settings.repetitions,
            rounds=settings.repetitions * turns,
            ordered_pairs=0,
            planned_pairs=0,
            statement=f"The program on {count(nodes, 'node')}, {how}, {often}, and {RETEST_RUNS} times more if one is "
            "out of line.",
        )
