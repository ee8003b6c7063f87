"""The collector of facts: its text, its use on a recorded machine, and how long nodes are given to answer."""

import os
import shlex
from pathlib import Path
from typing import NamedTuple

from seatrial.files.owners import temporary_folder
from seatrial.model.errors import LaunchError, SeatrialError
from seatrial.process.process import Completed, run


def source_folder(name: str) -> Path:
    """The folder `probe` or `collect`. Raises SeatrialError where the installation lost it."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "_sources" / name, package.parent.parent / name):
        if folder.is_dir():
            return folder
    raise SeatrialError(f"seatrial's own folder {name!r} is missing.", "Install seatrial again.")


QUICK_FACTS = {"SEATRIAL_FACTS": "quick"}
"""Environment in which the collector leaves out what takes long and changes no verdict of a check."""


PATHS = "SEATRIAL_PATHS"
"""Paths that every node should reach, with colons between them."""


def collector() -> str:
    """The text of facts.sh and its parts, which nodes read on their standard input, and the paths to ask for."""
    folder = source_folder("collect")
    files = [*sorted(folder.glob("parts/*.sh")), folder / "facts.sh"]
    paths = os.environ.get(PATHS, "")
    asked = [f"{PATHS}={shlex.quote(paths)}"] if paths and "\n" not in paths else []
    return "\n".join([*asked, *(file.read_text(encoding="utf-8") for file in files)])


TREE_TIMEOUT_S = 120.0
TREE_BYTES = 64 << 20
"""Bytes kept of a tree's facts; a node of a thousand processors has a few MiB."""
TREE_MEMORY_KIB = 1 << 19
"""Memory of each program of the collector: a tree may hold a file without end of line that is larger than that."""
TREE_SHELL = f"ulimit -v {TREE_MEMORY_KIB} 2>/dev/null; exec sh -s"


def collect_tree(root: Path, label: object) -> str:
    """What facts.sh says of the tree; no command is run, since it would speak of this machine.

    `label`: what people call the tree. Raises LaunchError where the collector fails or falls silent.
    """
    with temporary_folder() as folder:
        tree = folder / "tree"  # the collector divides its roots at colons, which the real path may hold
        tree.symlink_to(root.resolve(), target_is_directory=True)
        done = run(
            ["sh", "-c", TREE_SHELL],
            stdin=collector(),
            timeout_s=TREE_TIMEOUT_S,
            extra_environment={"SEATRIAL_SYSROOT": str(tree)},
            kept_bytes=TREE_BYTES,
        )
    return printed(done, f"The collector cannot read {label}", TREE_TIMEOUT_S)


def printed(done: Completed, failed: str, timeout_s: float) -> str:
    """What the collector printed on this machine. Raises LaunchError, which begins with `failed`, for its failure."""
    if done.ok:
        return done.stdout
    why = f"it took more than {timeout_s:.0f} s" if done.timed_out else done.stderr.strip() or "it said nothing"
    raise LaunchError(f"{failed}: {why}.", "It needs a POSIX shell (sh) and cat on PATH.")


# Nodes are given less time once others have shown how long a reading takes.

LONGEST_S = 15.0
FIRST_WORD_S = 5.0
"""A step that has started says its first word at once. Where one node hangs, srun starts none of them, and says nothing
until Slurm's MessageTimeout has passed a second time."""
SHORTEST_S = 11.0
TIMES = 8.0
"""A node that takes this many times as long as the slowest of its peers does not answer."""
EXTRA_S_PER_NODE = 0.02


class Bounds(NamedTuple):
    """Seconds that a step may take in any case, until its first word, and after the others; TIMES the slowest."""

    longest_s: float
    first_word_s: float
    shortest_s: float
    times: float


USUAL = Bounds(LONGEST_S, FIRST_WORD_S, SHORTEST_S, TIMES)
HURRIED = Bounds(longest_s=8.0, first_word_s=3.0, shortest_s=5.0, times=5.0)
"""Bounds if an answer is wanted soon."""


class Patience:
    """Patience of one reading, whose steps run side by side: each reports what it took, and asks whether to go on."""

    def __init__(self, *, hurried: bool = False) -> None:
        self._bounds = HURRIED if hurried else USUAL
        self.slowest_s = 0.0
        """Time of the slowest step in which all nodes answered; 0 while there is none."""

    def longest_s(self, nodes: int) -> float:
        """Seconds that a step on that number of nodes may take in any case."""
        return self._bounds.longest_s + EXTRA_S_PER_NODE * nodes

    def took(self, seconds: float) -> None:
        """All nodes of a step have answered within these seconds."""
        self.slowest_s = max(self.slowest_s, seconds)

    def over(self, nodes: int, seconds: float, said_anything: bool) -> bool:
        """Whether to give up a step on that number of nodes after `seconds`.

        Yes for a step on several nodes that has written nothing, since they can be asked apart, and for any step long
        after the others of the reading have ended.
        """
        bounds, extra_s = self._bounds, EXTRA_S_PER_NODE * nodes
        if nodes > 1 and not said_anything and seconds > bounds.first_word_s + extra_s:
            return True
        return bool(self.slowest_s) and seconds > max(bounds.shortest_s, bounds.times * self.slowest_s) + extra_s

    def compared(self) -> str:
        """What the others took, for a sentence on those that did not answer; empty where none did."""
        return f", where others took {self.slowest_s:.1f} s" if self.slowest_s else ""
