"""What every run that is described step by step keeps: its measurer, its facts, and what is known of it by now."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from seatrial.archive.writer import RunWriter
from seatrial.driver.closing import closed
from seatrial.driver.measurer import Measurer
from seatrial.launch.contract import Launcher
from seatrial.model.facts import NodeFacts
from seatrial.model.run import Design, Ending, RecordedRun, RunInfo


class RunUnderWay:
    """Such a run; `planned`: the ordered pairs that it is about."""

    def __init__(
        self, launcher: Launcher, writer: RunWriter, measurer: Measurer, planned: Sequence[tuple[str, str]]
    ) -> None:
        self.measurer = measurer
        self.facts: dict[str, NodeFacts] = {}
        self._launcher = launcher
        self._writer = writer
        self._planned = tuple(planned)

    def designed(self, design: Design) -> None:
        """Write down what is going to be measured."""
        self._writer.describe(msgspec.structs.replace(self._writer.info, design=design))

    def recorded(self) -> RecordedRun:
        """What is known by now."""
        return RecordedRun(
            info=self._info(),
            planned=self._planned,
            facts=self.facts,
            facts_after={},
            measurements=tuple(self.measurer.measurements),
            starts=tuple(self.measurer.starts),
            losses=tuple(self.measurer.losses),
            sessions=self.measurer.sessions,
        )

    def _info(self) -> RunInfo:
        return msgspec.structs.replace(
            self._writer.info,
            mpi_library=str(self.measurer.header.get("mpi_library", "")),
            lost=tuple(self.measurer.lost.values()),
            hanging_pairs=tuple(self.measurer.hung),
        )

    def finish(self, ending: Ending, reason: str) -> Path:
        """Give everything back, close the run, and return its folder."""
        return closed(self._launcher, self._writer, self.measurer, self._info, ending, reason)
