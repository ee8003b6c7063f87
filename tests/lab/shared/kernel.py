"""Boots a User Mode Linux kernel (Debian's user-mode-linux) that runs one Python module of this project and ends.

This machine's own kernel may lack NFS; that one has its client and its server.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from seatrial.process.process import run

PROJECT = Path(__file__).resolve().parents[3]
MEMORY = "1500M"
MODULES = Path("/usr/lib/uml/modules")
NEEDED = ("linux.uml", "exportfs", "rpc.nfsd", "rpc.mountd", "mount.nfs", "modprobe")


UNABLE = "userspace - ptrace set fp regs failed"
"""What it prints before it panics where the host saves more registers for a process than it knows, as those of AMX."""


def why_not() -> str:
    """What keeps such a kernel from being booted here; empty: nothing."""
    missing = [program for program in NEEDED if shutil.which(program) is None]
    if missing:
        return f"needs {', '.join(missing)} (Debian: user-mode-linux nfs-kernel-server nfs-common kmod)"
    return "" if MODULES.is_dir() else f"the modules of User Mode Linux are not in {MODULES}"


def boot(module: str, reports: Path, timeout_s: float, *arguments: str) -> str:
    """Run the module within a fresh kernel; all that it printed. What it writes to /run/reports comes to `reports`."""
    reports.mkdir(parents=True, exist_ok=True)
    argv = [
        "linux.uml",
        f"mem={MEMORY}",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        "quiet",
        "con=null",
        "con0=null,fd:1",
        f"init={Path(__file__).with_name('init.sh')}",
        f"PROGRAM={module}",
        f'ARGUMENTS="{" ".join(arguments)}"',
        f"PROJECT={PROJECT}",
        f"PYTHON={sys.executable}",
        f"REPORTS={reports}",
    ]
    with tempfile.TemporaryDirectory(prefix="seatrial-uml-") as home:
        done = run(argv, timeout_s=timeout_s, extra_environment={"HOME": home, "TMPDIR": "/dev/shm"})
    output = reports / "output.txt"
    said = output.read_text(encoding="utf-8", errors="replace") if output.exists() else ""
    return said if (reports / "ended").exists() else f"{said}\nthe kernel did not end by itself:\n{done.stdout[-3000:]}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="seatrial-shared-") as folder:
        print(why_not() or boot("tests.lab.shared.cluster", Path(folder), 600.0, *sys.argv[1:]))
