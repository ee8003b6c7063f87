"""What a check is asked to do."""

from pathlib import Path

import msgspec


class CheckSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `seatrial check`, parsed."""

    archive: Path
    launcher: str = "auto"
    nodes: tuple[str, ...] = ()
    partition: str = ""
    budget_s: float = 600.0
    design: str = "auto"
    """A `pairing.survey.DesignChoice`."""
    wait_s: float = 600.0
    round_timeout_s: float = 20.0
    pairs_at_once: int = 0
    """0: half the nodes, or one where nodes share a kernel."""
    ranks: int = 2
    """Ranks of the local launcher."""
    mpi: str = ""
    mpicc: str = ""
    probe: Path | None = None
    probe_dir: Path | None = None
    replay: Path | None = None
    run: str = ""
    """The run's name; empty: a new one."""
    seed: int = 1
    command: tuple[str, ...] = ()
