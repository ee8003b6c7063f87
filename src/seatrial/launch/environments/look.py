"""Looks for the MPI inside an environment, which this process does not see by itself."""

import msgspec

from seatrial.launch.contract import LaunchError
from seatrial.launch.environments.environment import Environment
from seatrial.launch.environments.kind import SHELL
from seatrial.launch.process import run
from seatrial.launch.slurm_text import complaint
from seatrial.model.errors import UsageError

TIMEOUT_S = 300.0
"""Guix, Nix and Spack may have to fetch or build first."""
ABSENT = 44
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


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Paths as they are inside; `mpirun` is empty where there is none."""

    mpicc: str
    mpirun: str


def look_inside(environment: Environment, mpicc: str) -> Found:
    """The compiler of that name, or `mpicc`, on the environment's PATH, and the launcher beside it.

    Raises LaunchError where the environment cannot be entered or has no MPI, UsageError where it lacks the one named.
    """
    done = run(environment.wrap([SHELL, "-c", QUESTION, "sh", mpicc or "mpicc"]), timeout_s=TIMEOUT_S)
    found = Found(mpicc=_answer(done.stdout, "seatrial-mpicc"), mpirun=_answer(done.stdout, "seatrial-mpirun"))
    if done.ok and found.mpicc:
        return found
    if done.returncode == ABSENT and mpicc:
        raise UsageError(f"There is no MPI compiler {mpicc!r} in {environment.spec}.", "Name one that is in it.")
    if done.returncode == ABSENT:
        raise LaunchError(
            f"There is no MPI compiler (mpicc) in {environment.spec}.",
            "Add an MPI to the environment, or name a prebuilt probe with --probe.",
        )
    why = f"it took more than {TIMEOUT_S:.0f} s" if done.timed_out else complaint(done.stderr)
    raise LaunchError(f"The environment {environment.spec} cannot be entered here: {why}.")


def _answer(text: str, key: str) -> str:
    lines = [line.partition(" ") for line in text.splitlines()]
    return next((rest for word, _, rest in lines if word == key), "")
