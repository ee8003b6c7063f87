"""Runs the collector over a recorded machine: a folder with its proc/ and sys/."""

import tempfile
from pathlib import Path

from seatrial.launch.sources import collector
from seatrial.model.errors import LaunchError
from seatrial.process.process import run

TIMEOUT_S = 120.0


def collect_tree(root: Path, label: object) -> str:
    """What facts.sh says of the tree; no command is run, since it would speak of this machine.

    `label`: what people call the tree. Raises LaunchError where the collector fails or falls silent.
    """
    with tempfile.TemporaryDirectory(prefix="seatrial-") as folder:
        tree = Path(folder) / "tree"  # the collector divides its roots at colons, which the real path may hold
        tree.symlink_to(root.resolve(), target_is_directory=True)
        done = run(
            ["sh", "-s"], stdin=collector(), timeout_s=TIMEOUT_S, extra_environment={"SEATRIAL_SYSROOT": str(tree)}
        )
    if not done.ok:
        why = f"it took more than {TIMEOUT_S:.0f} s" if done.timed_out else done.stderr.strip() or "it said nothing"
        raise LaunchError(f"The collector cannot read {label}: {why}.", "It needs a POSIX shell (sh) and cat on PATH.")
    return done.stdout
