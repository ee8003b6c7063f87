"""All that is known of a run: what an archive holds, read back."""

from collections.abc import Mapping

import msgspec

from seatrial.model.fabric import Wiring
from seatrial.model.facts import NodeFacts
from seatrial.model.loss import SessionLoss
from seatrial.model.measurement import Measurement
from seatrial.model.placement import DefaultStart, Start
from seatrial.model.run import RunInfo


class RecordedRun(msgspec.Struct, frozen=True, kw_only=True):
    """The input of every verdict and every report."""

    info: RunInfo
    planned: tuple[tuple[str, str], ...]
    """Ordered pairs that the survey was to measure."""
    facts: Mapping[str, NodeFacts]
    facts_after: Mapping[str, NodeFacts]
    measurements: tuple[Measurement, ...]
    starts: tuple[Start, ...] = ()
    """Launches of the probe, in order, with what their ranks said of where they were."""
    default_start: DefaultStart | None = None
    """Where the MPI's own launcher would have put the ranks, where that was looked at."""
    losses: tuple[SessionLoss, ...] = ()
    """Sessions of the probe that were lost, in order."""
    sessions: int = 0
    """How often the probe was started."""
    wiring: Wiring | None = None
    """The fabric's cables and routes, where they were given."""
    damage: tuple[str, ...] = ()
    """How the files of a closed run differ from what was recorded when it was closed, a sentence each."""

    @property
    def fabric(self) -> Wiring:
        """All that is known of the fabric: cables, else leaves."""
        return self.wiring or self.info.fabric
