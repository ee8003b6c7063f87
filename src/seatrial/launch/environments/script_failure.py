"""Why a script that is there cannot be started: the kernel names the script for what its first line lacks."""

import os
from pathlib import Path

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
        return f"{interpreter!r} in the first line of {program} is no program here", "Name the full path of one."
    return None
