"""Runs collect/facts.sh on generated machines, in every shell that is installed."""

import os
import shutil
import subprocess
from pathlib import Path

from seatrial.launch.collector import collector
from seatrial.node.frame import Frame, parse_frame

SHELLS = [shell for shell in ("sh", "dash", "busybox sh", "bash") if shutil.which(shell.split()[0])]


def start(sysroot: str, shell: str = "sh", **environment: str) -> "subprocess.Popen[bytes]":
    """The script, fed as the launcher feeds it; quick, where the test asks for nothing else."""
    process = subprocess.Popen(
        [*shell.split(), "-s"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "SEATRIAL_FACTS": "quick", "SEATRIAL_SYSROOT": sysroot, **environment},
    )
    assert process.stdin
    process.stdin.write(collector().encode())
    return process


def finish(process: "subprocess.Popen[bytes]") -> Frame:
    """Wait for the end of both outputs, as whoever started the script must."""
    output, errors = process.communicate(timeout=60)
    assert errors == b""
    frame = parse_frame(output.decode("utf-8", "replace"))
    assert frame.complete and frame.unknown == ()
    return frame


def collect(sysroot: str, shell: str = "sh", **environment: str) -> Frame:
    """A whole stream; the script must be silent on standard error and use no unknown line."""
    return finish(start(sysroot, shell, **environment))


def collected_text(sysroot: str = "/", shell: str = "sh", **environment: str) -> str:
    """A full stream as text, with everything that the script reads when it is not asked to be quick."""
    done = subprocess.run(
        [*shell.split(), "-s"],
        input=collector().encode(),
        capture_output=True,
        check=True,
        timeout=60,
        env={**os.environ, "SEATRIAL_SYSROOT": sysroot, **environment},
    )
    assert done.stderr == b""
    return done.stdout.decode("utf-8", "replace")


def facts_text(*lines: str, host: str = "n1") -> str:
    """A whole stream with these lines."""
    return "\n".join([f"#seatrial-facts 1 {host}", *lines, f"#end {host}", ""])


def write(root: Path, path: str, content: str) -> None:
    """A file of a made-up machine."""
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)


def program(folder: Path, name: str, body: str) -> None:
    """A stand-in for a command."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
