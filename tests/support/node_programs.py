"""Programs that are started on each node by itself, on a synthetic cluster: each start prints what the test says."""

import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from seatrial.driver.site_program import SAMPLED, WATCHED
from seatrial.launch.contract import ProgramCommand
from tests.support.builders import Cluster
from tests.support.scripted import ScriptedLauncher

NO_DEVICE = "echo 'no CUDA-capable device is detected' >&2; exit 3"


class NodeProgramLauncher(ScriptedLauncher):
    """Starts no program but a shell, with the words that `does` gives for a node and the number of its start."""

    def __init__(self, cluster: Cluster, does: Callable[[str, int], str]) -> None:
        super().__init__(cluster)
        self.does = does
        self.begun: Counter[str] = Counter()

    def program_command(
        self, nodes: Sequence[str], argv: Sequence[str], ranks_per_node: int, folder: Path, *, in_order: bool = False
    ) -> ProgramCommand:
        assert (ranks_per_node, in_order, len(nodes)) == (0, False, 1)
        self.begun[nodes[0]] += 1
        assert WATCHED in argv
        watching = argv[: argv.index(WATCHED) - 2] if SAMPLED in argv else ()
        return ProgramCommand(argv=(*watching, "sh", "-c", self.does(nodes[0], self.begun[nodes[0]])))


def prints(text: str, code: int = 0) -> str:
    """A shell's words that print a text and end with a code."""
    return f"printf %s {shlex.quote(text)}; exit {code}"
