"""A reversible change, measured: the benchmark before and after it in the order A B B A, and the change taken back.

A drift of the machine that is steady falls on both settings alike. Setting A is established before every switch to A,
and once more at the end whatever happens: after an error, after Ctrl-C, after SIGTERM, and after SIGKILL by the keeper.
"""

import hashlib
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from seatrial.archive import changed_settings, samples
from seatrial.archive.changed_settings import ChangedByCommand, ChangedFile
from seatrial.archive.contents import own_run
from seatrial.archive.reader import read_info
from seatrial.benchmarks.catalogue import detected, last_number, output_batch
from seatrial.driver.clock import new_run_name, now_text
from seatrial.driver.custody import OWN, Custody
from seatrial.driver.progress import Progress
from seatrial.driver.reach import Reach
from seatrial.driver.restoration import by_hand
from seatrial.driver.run import write_batch
from seatrial.experiment.controls import alternating
from seatrial.model.errors import ExitCode, LaunchError, SeatrialError, UsageError
from seatrial.model.imported import Sense, Source
from seatrial.model.node_list import node_list
from seatrial.model.words import shell_words
from seatrial.process.process import Completed, own_program, run
from seatrial.slurm.held_nodes import named_nodes

BENCHMARK_S = 6 * 3600.0
UNKNOWN_RUN_S = 3600.0
"""Seconds for which nodes are held for a run of a program that does not say how long it takes."""
RUN_IN_JOB = frozenset({OWN, "srun", "mpirun", "mpiexec", "mpiexec.hydra", "prterun"})
"""Programs that start in a job that is there; others might ask for one of their own, and wait for ours to end."""
GOOD_CODES = (0, 1)
"""Good exit codes of our own commands: 1 means that the command measured, and has findings."""
LAST_LINES = 3


class Toggle(msgspec.Struct, frozen=True, kw_only=True):
    """Two settings, and a benchmark as words."""

    changes: tuple[ChangedByCommand | ChangedFile, ...]
    """What differs; the usual setting of each is A, which is also the one to be restored."""
    environment: dict[str, str] = {}
    """The environment of the benchmark under setting B."""
    benchmark: tuple[str, ...]
    blocks: int
    """Each measures both settings twice."""
    sense: Sense = Sense.HIGHER
    """Which values are good of a program that is not a known benchmark."""

    @property
    def texts(self) -> tuple[str, str]:
        """Both settings, for a person."""
        variables = " ".join(f"{name}={value}" for name, value in self.environment.items())
        usual = "; ".join(_text(change, usual=True) for change in self.changes)
        return usual or "as it is", "; ".join(_text(change, usual=False) for change in self.changes) or variables


def _text(change: ChangedByCommand | ChangedFile, *, usual: bool) -> str:
    if isinstance(change, ChangedFile):
        return f"{change.fact} of {change.node}: {change.usual if usual else change.changed}"
    return shlex.join(change.usual if usual else change.changed)


class Unrestored(LaunchError):
    """Something failed, and setting A could not be established again."""


class Toggled(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of both settings, oldest first, and why setting A was not restored; empty: it was."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    unrestored: str = ""


def toggle_of(first: str, second: str, benchmark: Sequence[str], blocks: int, sense: Sense) -> Toggle:
    """The toggle of texts of the command line, divided as a shell does, and never given to one. Raises UsageError."""
    if not benchmark:
        raise UsageError("--toggle needs a benchmark to measure.", "Write compare --toggle 'A' 'B' -- BENCHMARK ...")
    if blocks < 1:
        raise UsageError(f"--blocks {blocks} is not a positive number.", "Write 3, for example.")
    words = []
    for text in (first, second):
        words.append(shell_words(text, "--toggle"))
        if not words[-1]:
            raise UsageError("--toggle has an empty command.", "Use `true` for a setting that needs no command.")
    change = ChangedByCommand(
        usual=words[0], changed=words[1], folder=str(Path.cwd()), nodes=named_nodes((*words[0], *words[1], *benchmark))
    )
    return Toggle(changes=(change,), benchmark=tuple(benchmark), blocks=blocks, sense=sense)


def held_nodes(toggle: Toggle) -> tuple[str, ...]:
    """Nodes to be held while the user's commands change a setting: those of a benchmark that names its nodes, and of
    the commands.

    None in a job, whose nodes the user has already, and for a program that might ask for a job of its own.
    """
    named = named_nodes(toggle.benchmark) if Path(toggle.benchmark[0]).name in RUN_IN_JOB else ()
    if not named or os.environ.get("SLURM_JOB_ID"):
        return ()
    return tuple(dict.fromkeys((*named, *(node for change in toggle.changes for node in _nodes(change)))))


def _nodes(change: ChangedByCommand | ChangedFile) -> tuple[str, ...]:
    return (change.node,) if isinstance(change, ChangedFile) else change.nodes


def toggle_settings(archive: Path, toggle: Toggle, run_s: float, progress: Progress) -> Toggled:
    """Change a setting by the user's commands, and measure; `run_s`: for which nodes are held for each run.

    Errors as of `run_toggled`, and LaunchError where the nodes are not granted.
    """
    nodes = held_nodes(toggle)
    seconds = 4 * toggle.blocks * run_s
    with Custody(new_run_name("toggle"), Reach(launcher="local"), nodes, seconds) as custody:
        if nodes:
            progress.stage(f"Job {custody.job} holds {node_list(nodes)} until the setting is restored")
        return run_toggled(archive, toggle, custody, progress)


def run_toggled(archive: Path, toggle: Toggle, custody: Custody, progress: Progress) -> Toggled:
    """Measure, and restore setting A. Raises LaunchError where a command or the benchmark fails, and Ctrl-C.

    Raises Unrestored where setting A was not restored after such an error.
    """
    samples.require()
    runs: dict[str, list[str]] = {"a": [], "b": []}
    custody.protect(toggle.changes)
    if toggle.changes:
        progress.stage(
            f"If this command is killed, its keeper restores the setting; by hand restore the setting with: "
            f"{changed_settings.RESTORE} {custody.name}, or {by_hand(custody.settings)}"
        )
    try:
        _measure(archive, toggle, custody, progress, runs)
    except BaseException as error:
        why = custody.restore()
        if why and isinstance(error, SeatrialError):
            raise Unrestored(f"{error.what} {why}", error.remedy) from error
        if why:
            progress.stage(why)
        raise
    return Toggled(first=tuple(runs["a"]), second=tuple(runs["b"]), unrestored=custody.restore())


def _measure(
    archive: Path, toggle: Toggle, custody: Custody, progress: Progress, runs: Mapping[str, list[str]]
) -> None:
    established = ""
    for number, (_, wanted) in enumerate(alternating("ab", 2 * toggle.blocks), 1):
        usual = wanted == "a"
        if wanted != established:
            progress.stage(f"Setting {wanted.upper()}: {toggle.texts[0 if usual else 1]}")
            for done in custody.switch(usual=usual):
                _refuse_failure(done, "The command of a setting")
            established = wanted
        progress.stage(f"Run {number} of {4 * toggle.blocks}, setting {wanted.upper()}")
        name = f"{custody.name}-{number:03d}{wanted}"
        runs[wanted].append(_benchmark(archive, toggle, custody, name, {} if usual else toggle.environment).name)


def _benchmark(archive: Path, toggle: Toggle, custody: Custody, name: str, environment: Mapping[str, str]) -> Path:
    """One run of the benchmark, into the archive; its folder, which has another name if others have taken this one."""
    own = toggle.benchmark[0] == OWN
    longest_s = min(BENCHMARK_S, custody.left_s)
    variables = {**custody.environment(toggle.benchmark[0]), **environment}
    if own:
        words = (*own_program(), *toggle.benchmark[1:], "--run", name, "--archive", str(archive))
        done = run(words, timeout_s=longest_s, extra_environment=variables)
        folder = own_run(archive, name)
        if done.timed_out or folder is None or not _complete(folder, done.returncode):
            _refuse_failure(done, "The benchmark")
        if folder is None:
            raise LaunchError(f"Others have taken the place of the run {name} in {archive}.", "Use another archive.")
        return folder
    began = now_text("milliseconds")
    done = run(toggle.benchmark, timeout_s=longest_s, extra_environment=variables)
    _refuse_failure(done, "The benchmark")
    content = done.stdout.encode()
    source = Source(file=name, sha256=hashlib.sha256(content).hexdigest(), file_bytes=len(content), form="")
    of_benchmark = detected(done.stdout) is not None
    batch = output_batch(source, done.stdout) if of_benchmark else last_number(source, done.stdout, toggle.sense)
    return write_batch(archive, name, (batch,), began, command=toggle.benchmark)


def _complete(folder: Path, code: int) -> bool:
    """Whether a command of ours measured everything, although it may not have been able to judge all of it."""
    return code in GOOD_CODES or (code == ExitCode.INCOMPLETE and read_info(folder).whole)


def _refuse_failure(done: Completed, what: str) -> None:
    """Raise LaunchError for a program that failed."""
    if done.ok:
        return
    how = "was ended at its time limit" if done.timed_out else f"ended with exit code {done.returncode}"
    printed = " ".join((done.stderr or done.stdout).split("\n")[-LAST_LINES:]).strip()
    words = f"{what} {how}: {shlex.join(done.argv)}" + (f" ({printed})" if printed else "")
    raise LaunchError(f"{words}.", "Try the command by itself.")
