"""Replacements for programs that cannot be installed: each records its argv, drops its own words, runs the rest."""

from collections.abc import Sequence
from pathlib import Path

SCRIPT = r"""#!/bin/sh
printf '%s\0' "$@" >"$0.argv"
shift "$STAND_IN_DROPS"
exec "$@"
"""
RECORDER = r"""#!/bin/sh
: >"$0.argv"
[ $# = 0 ] || printf '%s\0' "$@" >"$0.argv"
"""
MODULE_INIT = r"""
module() {
    printf '%s\0' "$@" >>"$MODULE_RECORD"
    echo 'loaded, says the module'
    cat
    export LOADEDMODULES="${LOADEDMODULES:-}:$2"
}
"""
"""It talks on standard output and eats standard input, as site's modulefiles do."""
OLD_MODULES = r"""
modulecmd() {
    case $3 in
        here) echo "LOADEDMODULES=${LOADEDMODULES:-}:here; export LOADEDMODULES;" ;;
        *) echo "ModuleCmd_Load.c(213):ERROR:105: Unable to locate a modulefile for '$3'" >&2; return 1 ;;
    esac
}
module() { eval `modulecmd sh $*`; }
"""
"""As of version 3.2: a load that fails is told on standard error only."""
SPACK = r"""#!/bin/sh
printf '%s\0' "$@" >>"$0.argv"
printf 'export WITNESS=%s;\n' "loaded"
"""


def put(folder: Path, name: str, text: str) -> Path:
    """A program of that text."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(text)
    program.chmod(0o755)
    return program


def written(program: Path) -> list[str]:
    """The argv that a program wrote down last, or all that it wrote."""
    return read_words(Path(f"{program}.argv"))


def read_words(path: Path) -> list[str]:
    """Words, each with a NUL after it."""
    return path.read_bytes().decode().split("\0")[:-1]


def drops(wrapped: Sequence[str], argv: Sequence[str]) -> dict[str, str]:
    """How many words are the stand-in's own."""
    return {"STAND_IN_DROPS": str(len(wrapped) - len(argv) - 1)}
