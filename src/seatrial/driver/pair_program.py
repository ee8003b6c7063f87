"""A program in place of the probe: started on pairs of nodes, its figure read and checked, as a session of rounds."""

import shlex
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import msgspec

from seatrial.archive.journal import StepEnded
from seatrial.archive.working_folder import Use, WorkingFolder
from seatrial.archive.writer import RunWriter
from seatrial.benchmarks import catalogue, gates, generic
from seatrial.benchmarks.declaration import Benchmark
from seatrial.driver.benchmark.definition import SUFFIX, benchmark_and_text
from seatrial.driver.benchmark.scratch import MOST_BYTES, own_scratch
from seatrial.driver.measurer import Measurer
from seatrial.failures.rank_deaths import Ranks, read_loss
from seatrial.failures.start_failure import explain
from seatrial.files.inputs import read_beginning, read_end
from seatrial.launch.contract import Launcher, Session, StartsPrograms
from seatrial.model.benchmark import BenchmarkRequest, Better, StepResult
from seatrial.model.errors import LaunchError, ProbeLost, SeatrialError, UsageError
from seatrial.model.loss import LossCause
from seatrial.model.measurement import Measurement, Phase, Round
from seatrial.model.run import PairFigure
from seatrial.model.settings import PairProgram
from seatrial.model.words import count
from seatrial.pairs.survey import PROGRAM
from seatrial.process.file_output import Command, Ended, run_beside
from seatrial.statistics.estimates import median

Pair = tuple[str, str]
RATE = "B/s"
FIRST_START_S = 120.0
"""Time limit of a start while none has ended: a program may load libraries of gigabytes from a shared file system."""
SLOWEST_START = 20.0
"""Later starts may take this many times as long as usual; a link of a twentieth of the speed still delivers."""


class BadOutput(SeatrialError):
    """An output without a valid figure."""


def pair_program(text: str) -> PairProgram:
    """The program of --pair-program: a command, or a file that declares a benchmark with a command, and more words.

    Raises UsageError for what cannot be split into words, and for a file that declares no program of two ranks.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--pair-program {text!r}: {error}.", "Quote it as in a shell.") from error
    if not words:
        raise UsageError("--pair-program is empty.", "Write a command: --pair-program 'osu_bw -m 4194304:4194304'.")
    if not words[0].endswith(SUFFIX):
        return PairProgram(words=tuple(words))
    benchmark, definition = benchmark_and_text(words[0])
    _refuse_figure(benchmark, words[0])
    if benchmark.launch is None:
        raise UsageError(f"{words[0]} declares no command.", "Write a table [run] into it (docs/benchmarks.md).")
    request = BenchmarkRequest(program=benchmark.launch.programs[0], nodes=2, ranks_per_node=1)
    steps = benchmark.launch.plan(request).steps
    if any(step.output or not step.mpi for step in steps):
        what = f"{words[0]}: its program is not started by MPI, or writes its results into a file."
        raise UsageError(what, "Declare one that prints them: leave out run.mpi and run.output.")
    return PairProgram(words=(*steps[0].argv, *words[1:]), declared=words[0], definition=definition)


def _refuse_figure(benchmark: Benchmark, what: str) -> None:
    """Raises UsageError unless the main figure is a rate of data that is better if it is larger."""
    main = benchmark.main
    if main.unit != RATE or main.better is not Better.MORE:
        raise UsageError(
            f"{what}: its main figure {main.name} is not a rate of data ({main.unit or 'no unit'}).",
            "--pair-program compares bandwidths: choose a program that prints one, such as osu_bw.",
        )


def starting(launcher: Launcher) -> StartsPrograms:
    """The launcher, if it can start programs. Raises UsageError."""
    if not isinstance(launcher, StartsPrograms):
        raise UsageError(f"The launcher {launcher.name} cannot start programs.", "Leave out --pair-program.")
    return launcher


class PairStarts:
    """All starts of one check's program: they are numbered, archived with what they printed, and read."""

    def __init__(self, program: PairProgram, launcher: Launcher, writer: RunWriter) -> None:
        """Raises UsageError as `starting` does, SeatrialError where no scratch folder can be made."""
        self.figure: PairFigure | None = None
        """What the first valid output showed."""
        self._program = program
        self._launcher = starting(launcher)
        self._writer = writer
        self._declared = generic.generic_benchmark(program.definition, program.declared) if program.definition else None
        self._seconds: list[float] = []
        self._moment: tuple[object, ...] = ()
        """Phase, repetition and variant of the latest round."""
        self._other_way: dict[Pair, float] = {}
        """What starts of that moment showed of the opposite direction."""
        self._under_way: Generator[tuple[int, Ended], None, None] | None = None
        try:
            self._scratch = WorkingFolder(own_scratch(writer.archive), Use.SCRATCH)
        except OSError as error:
            raise SeatrialError(f"A scratch folder cannot be made in {writer.archive}: {error.strerror}.") from error

    @property
    def start_s(self) -> float:
        """What a start usually takes; 0 before the first one has ended."""
        return median(self._seconds) if self._seconds else 0.0

    def session(self, probe: Session) -> "ProgramSession":
        """A session on the nodes of the probe's, which has shown that ranks start there and is ended."""
        probe.close()
        return ProgramSession(self, probe)

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
                yield _measurement(wanted, pair, self._other_way.pop(pair))
        lost: ProbeLost | None = None
        interrupted = False
        for pair, step in self._starts(started, timeout_s):
            interrupted = interrupted or step.interrupted
            if step.interrupted:
                continue
            try:
                figure, bytes_per_s = self._read(step)
            except BadOutput as error:
                lost = lost or _lost(pair, step, error.what)
                continue
            self.figure = self.figure or figure
            if figure.both_ways:
                self._other_way[pair[::-1]] = bytes_per_s
            yield _measurement(wanted, pair, bytes_per_s)
        if interrupted:
            raise KeyboardInterrupt
        if lost is not None:
            raise lost

    def _starts(self, pairs: Sequence[Pair], timeout_s: float) -> Iterator[tuple[Pair, StepResult]]:
        """Start the program on each pair; its output is in the journal when it is yielded."""
        commands = []
        for place, pair in enumerate(pairs):
            command = self._launcher.program_command(pair, self._program.words, 1, self._scratch.path, in_order=True)
            commands.append(
                Command(
                    argv=command.argv,
                    output=self._scratch.place / f"{place}.out",
                    errors=self._scratch.place / f"{place}.err",
                    environment=command.environment,
                )
            )
        patience_s = max(timeout_s, SLOWEST_START * self.start_s if self._seconds else FIRST_START_S)
        self._under_way = run_beside(commands, timeout_s=patience_s, folder=self._scratch.path)
        for place, ended in self._under_way:
            if ended.returncode == 0:
                self._seconds.append(ended.seconds)
            step = StepResult(
                name=">".join(pairs[place]),
                argv=commands[place].argv,
                returncode=ended.returncode,
                seconds=ended.seconds,
                timed_out=ended.timed_out,
                interrupted=ended.interrupted,
                output=read_beginning(commands[place].output, MOST_BYTES),
                errors=read_end(commands[place].errors),
            )
            self._writer.append(StepEnded(step=step))
            yield pairs[place], step

    def _read(self, step: StepResult) -> tuple[PairFigure, float]:
        """The figure of one start, in bytes per second in each direction that it measures.

        Raises BadOutput where there is none that can be used, UsageError for a figure that is not a rate of data.
        """
        if step.timed_out:
            raise BadOutput(f"it did not end within {step.seconds:.0f} s")
        if step.returncode != 0:
            failure = explain(f"{step.errors}\n{step.output}", step.name.split(">"))
            code = f"signal {-step.returncode}" if step.returncode < 0 else f"exit code {step.returncode}"
            raise BadOutput(f"{code}, without a message" if failure.silent else failure.meaning.rstrip("."))
        try:
            if self._declared is not None:
                benchmark, output = self._declared, catalogue.parse_as(self._declared, step.output)
            else:  # the command line says up to which message size tables go on
                detected, output = catalogue.parse_auto(f"{shlex.join(self._program.words)}\n{step.output}")
                if detected is None:
                    raise BadOutput(f"its output is incomplete: {output.missing[0]}")
                benchmark = detected
        except UsageError as error:
            raise BadOutput(f"its output cannot be read: {error.what}") from error
        output = gates.judge(benchmark, output)
        if not output.complete:
            raise BadOutput(f"its output is incomplete: {output.missing[0]}")
        if not output.valid:
            raise BadOutput(f"its output is invalid: {output.breaches[0].reason}")
        _refuse_figure(benchmark, shlex.join(self._program.words))
        result = benchmark.main_result(output)
        if result is None or result.value <= 0:
            raise BadOutput(f"its output has no {benchmark.main_metric}")
        summed = gates.adds_both_ways(result, benchmark.main)
        figure = PairFigure(
            benchmark=benchmark.name,
            metric=result.metric,
            of_path=benchmark.main.of_path,
            both_ways=summed or benchmark.main.both_ways,
        )
        return figure, result.value / 2 if summed else result.value

    def close(self) -> None:
        """End what still runs, as after an error in the middle of a round."""
        if self._under_way is not None:
            self._under_way.close()

    def remove(self) -> None:
        """Remove the folder in which the programs ran."""
        self.close()
        self._scratch.remove()


class ProgramSession:
    """The session of a program: its rounds are starts, so that nothing runs between two rounds."""

    def __init__(self, starts: PairStarts, probe: Session) -> None:
        self.nodes = probe.nodes
        self.header: dict[str, Any] = probe.header
        self.ranks = probe.ranks
        self._starts = starts

    def measure(self, wanted: Round, timeout_s: float) -> Iterator[Measurement]:
        """See PairStarts.measure."""
        return self._starts.measure(wanted, timeout_s)

    def close(self, *, kill: bool = False) -> None:
        """End what a round that was cut off left."""
        self._starts.close()


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


def _measurement(wanted: Round, pair: Pair, bytes_per_s: float) -> Measurement:
    """The figure as the time in which a window of the round's shape crosses the pair."""
    shape = wanted.shape
    return Measurement(
        phase=wanted.phase,
        repetition=wanted.repetition,
        shape=shape,
        source=pair[0],
        target=pair[1],
        times_s=(shape.message_bytes * shape.window / bytes_per_s,),
        pairs_at_once=len(wanted.pairs),
        variant=wanted.variant,
    )


def _lost(pair: Pair, step: StepResult, why: str) -> ProbeLost:
    """A start without a figure, as the loss of a session; if the launcher names no rank, both nodes are suspected."""
    loss = read_loss(f"{step.errors}\n{step.output}", Ranks(places=pair))
    if not loss.suspects and loss.cause in (LossCause.EXIT, LossCause.UNKNOWN):
        loss = msgspec.structs.replace(loss, suspects=pair)
    return ProbeLost(why, "died", msgspec.structs.replace(loss, pair=pair))
