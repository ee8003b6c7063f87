"""A program of the site in place of the probe: its command, and its starts, archived with what they printed."""

from collections.abc import Generator, Iterator, Sequence

from msgspec.structs import asdict

from seatrial.archive.journal import StepEnded
from seatrial.archive.working_folder import Use, WorkingFolder
from seatrial.archive.writer import RunWriter
from seatrial.driver.benchmark.definition import SUFFIX, benchmark_and_text
from seatrial.driver.benchmark.scratch import MOST_BYTES, own_scratch
from seatrial.files.inputs import read_beginning, read_end
from seatrial.launch.contract import Launcher, StartsPrograms
from seatrial.launch.probe_text import RUN_OPTION
from seatrial.model.benchmark import BenchmarkRequest, Ended, StepResult
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.settings import SiteProgram
from seatrial.model.words import shell_words
from seatrial.node.gpus import QUERY, REASONS
from seatrial.process.file_output import Command, run_beside
from seatrial.statistics.estimates import median


def site_program(text: str, option: str, *, nodes: int) -> SiteProgram:
    """A command, or a file that declares a benchmark with a command, and more words.

    `option`: which one has the text; `nodes`: how many each start is on. Raises UsageError for what cannot be split
    into words, and for a file that declares no command, or one that is started otherwise.
    """
    words = shell_words(text, option)
    if not words:
        raise UsageError(f"{option} is empty.", f"Write a command: {option} 'PROGRAM ARGUMENTS'.")
    if not words[0].endswith(SUFFIX):
        return SiteProgram(words=words)
    benchmark, definition = benchmark_and_text(words[0])
    if benchmark.launch is None:
        raise UsageError(f"{words[0]} declares no command.", "Write a table [run] into it (docs/benchmarks.md).")
    request = BenchmarkRequest(program=benchmark.launch.programs[0], nodes=nodes, ranks_per_node=1)
    steps = benchmark.launch.plan(request).steps
    by_mpi = nodes > 1
    if any(step.output or step.mpi is not by_mpi for step in steps):
        how = "not started by MPI" if by_mpi else "started by MPI"
        what = f"{words[0]}: its program is {how}, or writes its results into a file."
        remedy = "leave out run.mpi" if by_mpi else "write run.mpi = false"
        raise UsageError(what, f"Declare one that prints them: {remedy}, and leave out run.output.")
    return SiteProgram(words=(*steps[0].argv, *words[1:]), declared=words[0], definition=definition)


def starting(launcher: Launcher, option: str) -> StartsPrograms:
    """The launcher, if it can start programs. Raises UsageError."""
    if not isinstance(launcher, StartsPrograms):
        raise UsageError(f"The launcher {launcher.name} cannot start programs.", f"Leave out {option}.")
    return launcher


SAMPLES = ".gpus"
"""End of the name of the file with the samples of a start."""
SAMPLED = f"""into=$1 start=$2 every=$3
shift 3
command -v nvidia-smi >/dev/null 2>&1 || exec "$@"
for reasons in {" ".join(REASONS)}; do
  nvidia-smi --query-gpu="$reasons" --format=csv,noheader >/dev/null 2>&1 </dev/null && break
done
(
  trap 'kill "$nap" 2>/dev/null; exit 0' TERM
  printf '%s\\n' "$start"
  sleep 1 & nap=$!
  while wait "$nap"; do
    sleep "$every" & nap=$!
    nvidia-smi --query-gpu={QUERY},"$reasons" --format=csv,noheader,nounits
  done
) >"$into" 2>/dev/null </dev/null &
sampler=$!
"$@"
ended=$?
kill "$sampler" 2>/dev/null
wait "$sampler" 2>/dev/null
exit "$ended"
"""
"""Runs a program and asks nvidia-smi for the GPUs meanwhile, if it is there. The first line of the file says of which
start the samples are: a file may be left from an earlier one."""


WATCHED = f""""$0" {RUN_OPTION} true >/dev/null 2>&1 && exec "$0" {RUN_OPTION} "$@"
exec "$@"
"""
"""Runs a program by the probe, which reports how long it waited for a processor, if the node has one that does that."""


class ProgramLaunches:
    """All starts of one run's program: each is archived with what it printed."""

    def __init__(
        self, program: SiteProgram, launcher: StartsPrograms, writer: RunWriter, *, sample_every_s: float = 0.0
    ) -> None:
        """`sample_every_s`: how often GPUs are sampled while it runs; 0: never.

        Raises SeatrialError where no scratch folder can be made.
        """
        self.program = program
        self._sample_every_s = sample_every_s
        self.by_probe = False
        """Whether the probe, which the nodes have then, starts the ranks of MPI and reports how long they waited."""
        self._launcher = launcher
        self._writer = writer
        self._seconds: list[float] = []
        self._under_way: Generator[tuple[int, Ended], None, None] | None = None
        try:
            self._scratch = WorkingFolder(own_scratch(writer.archive), Use.SCRATCH)
        except OSError as error:
            raise SeatrialError(f"A scratch folder cannot be made in {writer.archive}: {error.strerror}.") from error

    @property
    def start_s(self) -> float:
        """What a start usually takes; 0 before the first one has ended."""
        return median(self._seconds) if self._seconds else 0.0

    def beside(
        self, starts: Sequence[tuple[str, Sequence[str]]], timeout_s: float, *, ranks_per_node: int
    ) -> Iterator[tuple[int, StepResult]]:
        """Start the program at the same time on each of the nodes; yields the place of each start as it ends.

        `starts`: the name of each start in the journal, which has its output by then, and the nodes in the order of
        their ranks. `ranks_per_node`: 0 without MPI, once.
        """
        commands = []
        for place, (name, nodes) in enumerate(starts):
            command = self._launcher.program_command(
                nodes,
                self._words(place, name, ranks_per_node),
                ranks_per_node,
                self._scratch.path,
                in_order=ranks_per_node > 0,
            )
            commands.append(
                Command(
                    argv=command.argv,
                    output=self._scratch.place / f"{place}.out",
                    errors=self._scratch.place / f"{place}.err",
                    environment=command.environment,
                )
            )
        self._under_way = run_beside(commands, timeout_s=timeout_s, folder=self._scratch.path)
        for place, ended in self._under_way:
            if ended.returncode == 0:
                self._seconds.append(ended.seconds)
            step = StepResult(
                name=starts[place][0],
                argv=commands[place].argv,
                **asdict(ended),
                output=read_beginning(commands[place].output, MOST_BYTES),
                errors=read_end(commands[place].errors),
                samples=self._samples(place, starts[place][0]),
            )
            self._writer.append(StepEnded(step=step))
            yield place, step

    def _words(self, place: int, name: str, ranks_per_node: int) -> tuple[str, ...]:
        """The program's own words, behind those of what watches it."""
        words = self.program.words
        if self.by_probe:
            return (self._launcher.program, RUN_OPTION, *words)
        if not ranks_per_node:
            words = ("sh", "-c", WATCHED, self._launcher.program, *words)
        if self._sample_every_s:
            return ("sh", "-c", SAMPLED, "sh", f"{place}{SAMPLES}", name, f"{self._sample_every_s:.0f}", *words)
        return words

    def _samples(self, place: int, name: str) -> str:
        """What was sampled while that start ran."""
        if not self._sample_every_s:
            return ""
        first, _, samples = read_beginning(self._scratch.place / f"{place}{SAMPLES}", MOST_BYTES).partition("\n")
        return samples if first == name else ""

    def close(self) -> None:
        """End what still runs, as after an error in the middle of a round."""
        if self._under_way is not None:
            self._under_way.close()

    def remove(self) -> None:
        """Remove the folder in which the programs ran."""
        self.close()
        self._scratch.remove()
