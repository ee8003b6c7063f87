"""A program in place of the probe: started on pairs of nodes, its figure read and checked, as a session of rounds."""

import shlex
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from seatrial.archive.writer import RunWriter
from seatrial.benchmarks import gates
from seatrial.benchmarks.declaration import PAIR, Benchmark
from seatrial.driver.measurer import Measurer
from seatrial.driver.site_program import ProgramLaunches, site_program, starting
from seatrial.failures.rank_deaths import Ranks, read_loss
from seatrial.judgement.program_output import BadOutput, declared_by, read_start
from seatrial.launch.contract import Launcher, Session
from seatrial.launch.probe_text import rank_waits
from seatrial.limits.collectives import is_rooted
from seatrial.model.benchmark import Better, StepResult
from seatrial.model.errors import LaunchError, ProbeLost, UsageError
from seatrial.model.loss import LossCause
from seatrial.model.measurement import Measurement, Phase, Round
from seatrial.model.run import PairFigure
from seatrial.model.settings import SiteProgram
from seatrial.model.words import count
from seatrial.pairs.survey import PROGRAM
from seatrial.process.time_limit import PARSE_S, limited

Pair = tuple[str, str]
OPTION = "--pair-program"
RATE = "B/s"
FIRST_START_S = 120.0
"""Time limit of a start while none has ended: a program may load libraries of gigabytes from a shared file system."""
SLOWEST_START = 20.0
"""Later starts may take this many times as long as usual; a link of a twentieth of the speed still delivers."""


def pair_program(text: str) -> SiteProgram:
    """The program of --pair-program. Raises UsageError as `site_program`, and for any figure but a rate of data."""
    program = site_program(text, OPTION, nodes=PAIR)
    if (declared := declared_by(program)) is not None:
        _refuse_figure(declared, program.declared)
    return program


def _refuse_figure(benchmark: Benchmark, what: str) -> None:
    """Raises UsageError unless the main figure is a rate of data that is better if it is larger."""
    main = benchmark.main
    if main.unit != RATE or main.better is not Better.MORE:
        raise UsageError(
            f"{what}: its main figure {main.name} is not a rate of data ({main.unit or 'no unit'}).",
            f"{OPTION} compares bandwidths: choose a program that prints one, such as osu_bw.",
        )


def _refuse_one_way(test: str) -> None:
    """Raises UsageError for a collective with a root: one direction of a pair would never be measured."""
    if is_rooted(test):
        raise UsageError(
            f"{test} moves data from or to one rank: with two ranks it uses one direction of a link.",
            "Use sendrecv_perf, which uses both.",
        )


class _Seen(NamedTuple):
    """The figure of a start, and the shares of time for which its ranks waited for a processor."""

    bytes_per_s: float
    waits: tuple[float, ...]
    """Shares of source and target; empty: not known."""

    def measurement(self, wanted: Round, pair: Pair) -> Measurement:
        """The figure as the time in which a window of the round's shape crosses the pair, with waits in proportion."""
        window_s = wanted.shape.window_bytes / self.bytes_per_s
        waited_s = tuple(share * window_s for share in self.waits)
        return wanted.delivered(pair, times_s=(window_s,), waited_s=waited_s)


class PairStarts:
    """All starts of one check's program, with the figure of each pair; the session of its rounds, which are starts.

    Nothing runs between two rounds.
    """

    def __init__(self, program: SiteProgram, launcher: Launcher, writer: RunWriter) -> None:
        """Raises UsageError as `starting` does, SeatrialError as `ProgramLaunches`."""
        self.nodes: tuple[str, ...] = ()
        self.header: dict[str, Any] = {}
        self.ranks: tuple[dict[str, Any], ...] = ()
        self.figure: PairFigure | None = None
        """What the first valid output showed."""
        self._starts = ProgramLaunches(program, starting(launcher, OPTION), writer)
        self._moment: tuple[object, ...] = ()
        """Phase, repetition and variant of the latest round."""
        self._other_way: dict[Pair, _Seen] = {}
        """What starts of that moment showed of the opposite direction."""
        self.remove = self._starts.remove

    @property
    def start_s(self) -> float:
        """What a start usually takes; 0 before the first one has ended."""
        return self._starts.start_s

    def session(self, probe: Session) -> Session:
        """This as a session on the nodes of the probe's, which has shown that ranks start there and is ended."""
        probe.close()
        self.nodes, self.header, self.ranks = probe.nodes, probe.header, probe.ranks
        self._starts.by_probe = bool(probe.header.get("runs_programs"))
        return self

    def close(self, *, kill: bool = False) -> None:
        """End what a round that was cut off left."""
        self._starts.close()

    def measure(self, wanted: Round, timeout_s: float) -> Iterator[Measurement]:
        """See launch.contract.Session.measure: one start for each pair, all of the round at the same time.

        The other direction of a pair is not started again in the same repetition if one start measures both. All pairs
        that answer are delivered before ProbeLost is raised for the first one that did not.
        """
        moment = (wanted.phase, wanted.repetition, wanted.variant)
        if moment != self._moment:
            self._moment, self._other_way = moment, {}
        started = [pair for pair in wanted.pairs if pair not in self._other_way]
        for pair in wanted.pairs:
            if pair in self._other_way:
                yield self._other_way.pop(pair).measurement(wanted, pair)
        lost: ProbeLost | None = None
        interrupted = False
        patience_s = max(timeout_s, SLOWEST_START * self.start_s or FIRST_START_S)
        named = [(">".join(pair), pair) for pair in started]
        for place, step in self._starts.beside(named, patience_s, ranks_per_node=1):
            pair = started[place]
            interrupted = interrupted or step.interrupted
            if step.interrupted:
                continue
            try:
                figure, bytes_per_s = self._read(pair, step)
            except BadOutput as error:
                lost = lost or _lost(pair, step, error.what)
                continue
            self.figure = self.figure or figure
            seen = _Seen(bytes_per_s, rank_waits(step.errors, PAIR))
            if figure.both_ways:
                self._other_way[pair[::-1]] = _Seen(bytes_per_s, seen.waits[::-1])
            yield seen.measurement(wanted, pair)
        if interrupted:
            raise KeyboardInterrupt
        if lost is not None:
            raise lost

    def _read(self, pair: Pair, step: StepResult) -> tuple[PairFigure, float]:
        """The figure of one start, in bytes per second in each direction that it measures.

        Raises BadOutput where there is none that can be used, UsageError for a figure that is not a rate of data and
        for patterns that take too long.
        """
        with limited(PARSE_S, "Reading the output of the program"):
            benchmark, output = read_start(self._starts.program, step, pair)
        if not output.valid:
            raise BadOutput(f"its output is invalid: {output.breaches[0].reason}")
        _refuse_figure(benchmark, shlex.join(self._starts.program.words))
        result = benchmark.main_result(output)
        if result is None or result.value <= 0:
            raise BadOutput(f"its output has no {benchmark.main_metric}")
        ran_on = result.labels.get("nodes", PAIR)
        if isinstance(ran_on, int) and ran_on != PAIR:
            raise BadOutput(f"its ranks were on {count(ran_on, 'node')}, not on the {PAIR} of the pair")
        _refuse_one_way(str(result.labels.get("test", "")))
        summed = gates.adds_both_ways(result, benchmark.main)
        figure = PairFigure(
            benchmark=benchmark.name,
            metric=result.metric,
            of_path=gates.has_limit_of_path(result, benchmark.main),
            both_ways=summed or benchmark.main.both_ways,
            unchecked=output.unchecked,
        )
        return figure, result.value / 2 if summed else result.value


def first_figure(measurer: Measurer, pairs: Sequence[Pair]) -> None:
    """Start the program on a pair, and on the next one if that fails.

    Raises LaunchError where no start gave a figure.
    """
    for pair in pairs:
        measurer.measure(Round(phase=Phase.PILOT, repetition=0, shape=PROGRAM, pairs=(pair,)))
        if measurer.measurements:
            return
    causes = [one.detail for one in measurer.losses if one.loss.pair is not None]
    why = causes[-1] if causes else "no pair is left"
    raise LaunchError(
        f"The program gave no figure on any of {count(len(pairs), 'pair')}: {why}.",
        "Start it on two nodes yourself, and give its output to `seatrial judge`.",
    )


def _lost(pair: Pair, step: StepResult, why: str) -> ProbeLost:
    """A start without a figure, as the loss of a session; if the launcher names no rank, both nodes are suspected."""
    loss = read_loss(f"{step.errors}\n{step.output}", Ranks(places=pair))
    if not loss.suspects and loss.cause in (LossCause.EXIT, LossCause.UNKNOWN):
        loss = msgspec.structs.replace(loss, suspects=pair)
    return ProbeLost(why, "died", msgspec.structs.replace(loss, pair=pair))
