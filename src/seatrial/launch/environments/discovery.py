"""Looks for the MPI inside an environment, which this process does not see by itself."""

import os
import shutil
from pathlib import Path

import msgspec

from seatrial.failures.start_failure import why_not_entered
from seatrial.launch.environments.environment import SHELL, Environment, Where
from seatrial.launch.environments.kinds import SCRIPT
from seatrial.model.errors import LaunchError, UsageError
from seatrial.process.process import NOT_STARTED, Completed, run
from seatrial.slurm.text import complaint

TIMEOUT_S = 300.0
"""Guix, Nix and Spack may have to fetch or build first."""
ABSENT = 44
KEPT_BYTES = 1 << 20
QUESTION = r"""
found=$(command -v -- "$1") || exit 44
printf 'seatrial-mpicc %s\n' "$found"
folder=${found%/*}
name=${found##*/}
case $name in
    *mpicc*)
        for stem in mpiexec mpirun; do
            beside=$folder/${name%%mpicc*}$stem${name#*mpicc}
            [ -x "$beside" ] && { printf 'seatrial-mpirun %s\n' "$beside"; exit 0; }
        done
        ;;
esac
found=$(command -v mpirun) && printf 'seatrial-mpirun %s\n' "$found"
exit 0
"""
"""Only what the shell can do itself: a pure environment may hold nothing but the MPI."""
WHICH = r"""
found=$(command -v -- "$1") || exit 44
printf 'seatrial-program %s\n' "$found"
"""


class FoundMpi(msgspec.Struct, frozen=True, kw_only=True):
    """Paths as they are inside; `mpirun` is empty where there is none."""

    mpicc: str
    mpirun: str


def look_inside(environment: Environment, mpicc: str) -> FoundMpi:
    """The compiler of that name, or `mpicc`, on the environment's PATH, and the launcher beside it.

    Raises LaunchError where the environment cannot be entered or has no MPI, UsageError where it lacks the one named.
    """
    argv = environment.wrap([SHELL, "-c", QUESTION, "sh", mpicc or "mpicc"])
    done = run(argv, timeout_s=TIMEOUT_S, kept_bytes=KEPT_BYTES)
    mpi = FoundMpi(mpicc=_answer(done.stdout, "seatrial-mpicc"), mpirun=_answer(done.stdout, "seatrial-mpirun"))
    if done.ok and mpi.mpicc:
        return mpi
    if done.returncode == ABSENT and mpicc:
        raise UsageError(f"There is no MPI compiler {mpicc!r} in {environment.spec}.", "Name one that is in it.")
    if done.returncode == ABSENT:
        raise LaunchError(
            f"There is no MPI compiler (mpicc) in {environment.spec}.",
            "Add an MPI to the environment, or name a prebuilt probe with --probe.",
        )
    raise _not_entered(environment, done)


def find_program(environment: Environment, word: str) -> str:
    """The path of the program that `word` calls: on PATH, inside or outside as the launch is; empty: none."""
    if not environment or environment.where is Where.INSIDE:
        return shutil.which(word) or ""
    argv = environment.wrap([SHELL, "-c", WHICH, "sh", word])
    done = run(argv, timeout_s=TIMEOUT_S, kept_bytes=KEPT_BYTES)
    if not done.ok and done.returncode != ABSENT:
        raise _not_entered(environment, done)
    return _answer(done.stdout, "seatrial-program")


def _not_entered(environment: Environment, done: Completed) -> LaunchError:
    what = f"The environment {environment.spec} cannot be entered here"
    if done.timed_out:
        return LaunchError(
            f"{what}: it took more than {TIMEOUT_S:.0f} s.",
            "Enter it once by hand: what it fetches or builds is there afterwards.",
        )
    if done.returncode == NOT_STARTED and done.stderr.startswith(f"{done.argv[0]}: "):
        absent = f"there is no {done.argv[0]} here", "Put it on PATH, or name another environment."
        trouble = script_trouble(environment.words[0]) if environment.kind is SCRIPT else absent
        if trouble is not None:
            return LaunchError(f"{what}: {trouble[0]}.", trouble[1])
    why, remedy = why_not_entered(done.stderr) or (complaint(done.stderr) if done.stderr.strip() else ended(done), "")
    return LaunchError(f"{what}: {why.rstrip('.')}.", remedy)


def ended(done: Completed) -> str:
    """How a program ended that said nothing, for a sentence about what it was to run."""
    if done.returncode == 0:
        return 'it ended with 0 and did not run the command it was given (a script has to end with exec "$@")'
    return f"it ended with {done.returncode} and said nothing"


def _answer(text: str, key: str) -> str:
    lines = [line.partition(" ") for line in text.splitlines()]
    return next((rest for word, _, rest in lines if word == key), "")


# The kernel says "no such file" of a script whose interpreter is missing, so the first line is read here.

FIRST_BYTES = 256
"""More of a first line the kernel does not read."""


def script_trouble(program: str) -> tuple[str, str] | None:
    """What is wrong with it and what to do; None where nothing is seen, as where only other nodes have it."""
    if not os.path.isfile(program):  # noqa: PTH113 - Path.is_file raises for a name that is too long
        return None
    if not os.access(program, os.X_OK):
        return f"{program} may not be run", f"chmod +x {program}; its folder must not be mounted noexec."
    try:
        with Path(program).open("rb") as file:
            first = file.read(FIRST_BYTES).partition(b"\n")[0]
    except OSError:
        return None
    return _wrong_first_line(program, first)


def _wrong_first_line(program: str, first: bytes) -> tuple[str, str] | None:
    if not first.startswith((b"#!", b"\x7fELF")):
        return f"{program} does not begin with #!", "Make #!/bin/sh its first line."
    if first.endswith(b"\r"):
        return f"the lines of {program} end as on Windows", f"sed -i 's/\\r$//' {program}"
    interpreter = next(iter(first[2:].split()), b"").decode("utf-8", errors="replace")
    if first.startswith(b"#!") and not os.access(interpreter, os.X_OK):
        return f"{interpreter!r} in the first line of {program} is not a program here", "Name the full path of one."
    return None
