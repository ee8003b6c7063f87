"""Spack: loaded packages, and environments of its own kind."""

from collections.abc import Sequence

from seatrial.launch.environments.kind import Kind, Where, Words, shell_argv

FIND = r"""
seatrial_left=$1
shift
seatrial_spack=$(command -v spack) || seatrial_spack=${SPACK_ROOT:-}/bin/spack
"""
LOOP = r"""
    [ "$?" = 0 ] || {
        printf 'seatrial: spack cannot bring %s in\n' "$1" >&2
        exit 96
    }
    eval "$seatrial_said" </dev/null >&2
    shift
    seatrial_left=$((seatrial_left - 1))
done
exec "$@"
"""
LOAD = (
    FIND
    + r"""while [ "$seatrial_left" -gt 0 ]; do
    seatrial_said=$("$seatrial_spack" load --sh "$1" </dev/null)"""
    + LOOP
)
ACTIVATE = (
    FIND
    + r"""while [ "$seatrial_left" -gt 0 ]; do
    case $1 in
        */*) seatrial_said=$("$seatrial_spack" env activate --sh --dir "$1" </dev/null) ;;
        *) seatrial_said=$("$seatrial_spack" env activate --sh "$1" </dev/null) ;;
    esac"""
    + LOOP
)
"""What is evaluated is what spack prints to be evaluated; its own shell function does the same."""


def wrap_load(words: Words, _folders: Words, argv: Sequence[str]) -> list[str]:
    """Load one spec after the other, then become argv."""
    return shell_argv(LOAD, "seatrial-spack", words, argv)


def wrap_activate(words: Words, _folders: Words, argv: Sequence[str]) -> list[str]:
    """Activate the environment of that name, or in that folder, then become argv."""
    return shell_argv(ACTIVATE, "seatrial-spack", words, argv)


KEEPING = "See by `spack load --sh` or `spack env activate --sh` which package unsets them."
SPACK = Kind(name="spack", form="SPEC...", where=Where.OUTSIDE, wrap=wrap_load, keeping=KEEPING)
SPACK_ENV = Kind(name="spack-env", form="NAME or FOLDER", where=Where.OUTSIDE, wrap=wrap_activate, keeping=KEEPING)
