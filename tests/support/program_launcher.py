"""A cluster of made-up nodes on which programs can be started: they run on this machine, once, without MPI."""

from collections.abc import Sequence
from pathlib import Path

from seatrial.launch.contract import ProgramCommand
from tests.support.scripted import ScriptedLauncher


class ProgramLauncher(ScriptedLauncher):
    """As ScriptedLauncher; keeps the ranks that each program was to be started with, and on which nodes."""

    started: list[tuple[tuple[str, ...], int]]

    def program_command(
        self, nodes: Sequence[str], argv: Sequence[str], ranks_per_node: int, folder: Path
    ) -> ProgramCommand:
        self.started = [*getattr(self, "started", []), (tuple(nodes), ranks_per_node)]
        return ProgramCommand(argv=tuple(argv))
