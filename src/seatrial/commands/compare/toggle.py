"""A reversible change, measured: the benchmark before and after it in the order A B B A, and the change taken back.

A drift of the machine that is steady falls on both settings alike. The command of setting A runs before every switch
to A, and once more at the end whatever happens: after an error, after Ctrl-C, after SIGTERM.
"""

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from seatrial.archive.reader import read_info
from seatrial.benchmarks.catalogue import detected
from seatrial.benchmarks.output_values import last_number, output_batch
from seatrial.driver.clock import new_run_name, now_text
from seatrial.driver.imported_run import write_batch
from seatrial.driver.progress import Progress
from seatrial.model.errors import ExitCode, LaunchError, SeatrialError, UsageError
from seatrial.model.imported import Batch, Sense, Source
from seatrial.process.process import Completed, own_program, run

TOGGLE_S = 300.0
"""For one of the commands that change the setting."""
BENCHMARK_S = 6 * 3600.0
BLOCK = "abba"
OWN = "seatrial"
GOOD_CODES = (0, 1)
"""Of a command of ours: 1 means that it measured, and found something."""
LAST_LINES = 3


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One program that changes a setting; never given to a shell."""

    argv: tuple[str, ...]
    stdin: str = ""

    @property
    def text(self) -> str:
        """For a person who has to do it by hand."""
        return (f"echo {shlex.quote(self.stdin.strip())} | " if self.stdin else "") + shlex.join(self.argv)


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """How one of the two settings is established."""

    steps: tuple[Step, ...] = ()
    environment: dict[str, str] = {}
    """Of the benchmark under this setting."""

    @property
    def text(self) -> str:
        """All steps."""
        return "; ".join(step.text for step in self.steps)


class Toggle(msgspec.Struct, frozen=True, kw_only=True):
    """Two settings, and a benchmark as words."""

    first: Setting
    """Setting A, which is also the one to be restored."""
    second: Setting
    benchmark: tuple[str, ...]
    blocks: int
    """Each measures both settings twice."""
    sense: Sense = Sense.HIGHER
    """Which values are good of a program that is not a known benchmark."""


class Unrestored(LaunchError):
    """Something failed, and setting A could not be established again."""


class Toggled(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of both settings, oldest first, and why setting A was not restored; empty: it was."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    unrestored: str = ""


def toggle_of(first: str, second: str, benchmark: Sequence[str], blocks: int, sense: Sense) -> Toggle:
    """From texts of the command line, which are divided as a shell does, and never given to one. Raises UsageError."""
    if not benchmark:
        raise UsageError("--toggle needs a benchmark to measure.", "Write compare --toggle 'A' 'B' -- BENCHMARK ...")
    if blocks < 1:
        raise UsageError(f"--blocks {blocks} is not a positive number.", "Write 3, for example.")
    words = []
    for text in (first, second):
        try:
            words.append(tuple(shlex.split(text)))
        except ValueError as error:
            raise UsageError(
                f"--toggle {text!r} cannot be divided into words: {error}.", "Close all quotes."
            ) from error
        if not words[-1]:
            raise UsageError("--toggle has an empty command.", "Use `true` for a setting that needs no command.")
    first_setting, second_setting = (Setting(steps=(Step(argv=each),)) for each in words)
    return Toggle(first=first_setting, second=second_setting, benchmark=tuple(benchmark), blocks=blocks, sense=sense)


def order_of(blocks: int) -> str:
    """`abbaabba`: which setting each run has."""
    return BLOCK * blocks


def run_toggled(archive: Path, toggle: Toggle, progress: Progress) -> Toggled:
    """Measure, and restore setting A. Raises LaunchError where a command or the benchmark fails, and Ctrl-C.

    Raises Unrestored where setting A was not restored after such an error.
    """
    name = new_run_name("toggle")
    runs: dict[str, list[str]] = {"a": [], "b": []}
    if toggle.first.steps:
        progress.stage(f"If this command is killed, restore the setting with: {toggle.first.text}")
    try:
        _measure(archive, toggle, progress, name, runs)
    except BaseException as error:
        why = _restored(toggle)
        if why and isinstance(error, SeatrialError):
            raise Unrestored(f"{error.what} {why}", error.remedy) from error
        if why:
            progress.stage(why)
        raise
    return Toggled(first=tuple(runs["a"]), second=tuple(runs["b"]), unrestored=_restored(toggle))


def _measure(archive: Path, toggle: Toggle, progress: Progress, name: str, runs: dict[str, list[str]]) -> None:
    established = ""
    for number, wanted in enumerate(order_of(toggle.blocks), 1):
        setting = toggle.first if wanted == "a" else toggle.second
        if wanted != established:
            progress.stage(f"Setting {wanted.upper()}: {setting.text or shlex.join(_variables(setting)) or 'as it is'}")
            for step in setting.steps:
                _refuse_failure(_run(step), "The command of a setting")
            established = wanted
        progress.stage(f"Run {number} of {4 * toggle.blocks}, setting {wanted.upper()}")
        runs[wanted].append(f"{name}-{number:03d}{wanted}")
        _benchmark(archive, toggle, runs[wanted][-1], setting.environment)


def _variables(setting: Setting) -> list[str]:
    return [f"{name}={value}" for name, value in setting.environment.items()]


def _run(step: Step) -> Completed:
    return run(step.argv, stdin=step.stdin, timeout_s=TOGGLE_S)


def _benchmark(archive: Path, toggle: Toggle, name: str, environment: Mapping[str, str]) -> None:
    """One run of the benchmark, into the archive."""
    if toggle.benchmark[0] == OWN:
        words = (*own_program(), *toggle.benchmark[1:], "--run", name, "--archive", str(archive))
        done = run(words, timeout_s=BENCHMARK_S, extra_environment=environment)
        if done.timed_out or (done.returncode not in GOOD_CODES and not _complete(archive, name, done.returncode)):
            _refuse_failure(done, "The benchmark")
        return
    began = now_text("milliseconds")
    done = run(toggle.benchmark, timeout_s=BENCHMARK_S, extra_environment=environment)
    _refuse_failure(done, "The benchmark")
    content = done.stdout.encode()
    source = Source(file=name, sha256=hashlib.sha256(content).hexdigest(), file_bytes=len(content), form="")
    write_batch(archive, name, (_batch(source, done.stdout, toggle.sense),), began, command=toggle.benchmark)


def _complete(archive: Path, name: str, code: int) -> bool:
    """Whether a command of ours measured everything, although it could not judge all of it."""
    if code != ExitCode.INCOMPLETE or not (archive / name).is_dir():
        return False
    return read_info(archive / name).whole


def _batch(source: Source, text: str, sense: Sense) -> Batch:
    """Of a known benchmark, or else the last number. Raises UsageError."""
    return last_number(source, text, sense) if detected(text) is None else output_batch(source, text)


def _refuse_failure(done: Completed, what: str) -> None:
    """Raise LaunchError for a program that failed."""
    if done.ok:
        return
    how = "was ended at its time limit" if done.timed_out else f"ended with exit code {done.returncode}"
    printed = " ".join((done.stderr or done.stdout).split("\n")[-LAST_LINES:]).strip()
    words = f"{what} {how}: {shlex.join(done.argv)}" + (f" ({printed})" if printed else "")
    raise LaunchError(f"{words}.", "Try the command by itself.")


def _restored(toggle: Toggle) -> str:
    """Establish setting A again, each step a second time where Ctrl-C comes meanwhile; why that failed, or nothing.

    A step that fails, as on a node that died, does not keep the others from theirs.
    """
    failed = []
    for step in toggle.first.steps:
        try:
            done = _run(step)
        except KeyboardInterrupt:
            done = _run(step)
        if not done.ok:
            how = "was ended at its time limit" if done.timed_out else f"ended with exit code {done.returncode}"
            failed.append(f"{step.text} {how}")
    return f"Setting A was NOT restored: {'; '.join(failed)}." if failed else ""
