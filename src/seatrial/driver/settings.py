"""What a check is asked to do."""

from pathlib import Path

import msgspec

CHECK_BUDGET_S = 600.0
"""Time for `seatrial check` to measure in, where none is given."""
PAIR_BUDGET_S = 300.0
"""The same for the commands that measure one pair or one launch line: curve, saturate, transports, placement."""
DOCTOR_WAIT_S = 60.0
"""Time for `seatrial doctor` to wait in the Slurm queue."""


class CheckSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `seatrial check`, parsed. The defaults of the command line are the defaults here."""

    archive: Path
    launcher: str = "auto"
    nodes: tuple[str, ...] = ()
    partition: str = ""
    budget_s: float = CHECK_BUDGET_S
    design: str = "auto"
    """A `pairs.survey.DesignChoice`."""
    wait_s: float = 600.0
    round_timeout_s: float = 10.0
    pairs_at_once: int = 0
    """0: half the nodes, or one where nodes share a kernel."""
    loaded: bool = True
    """Also measure rounds in which many nodes send at once, for what uplinks carry."""
    ranks: int = 2
    """Ranks of the local launcher."""
    mpi: str = ""
    mpicc: str = ""
    probe: Path | None = None
    probe_dir: Path | None = None
    environment: str = ""
    """A SPEC, see docs/environments.md: what the probe is built and started in."""
    wrap: str = "auto"
    """Where it is entered: auto, inside, outside."""
    fabric: str = ""
    """A file with the output of ibnetdiscover, or `live`; empty: leaves alone are known."""
    routes: str = ""
    """A file with forwarding tables, or `live`."""
    device: str = ""
    """Which adapter of each node is used, where it has several: mlx5_1. Empty: the first."""
    effect: float | None = None
    """Practical effect of bandwidth, as a share; None: the default of `locate.effects`."""
    latency_effect: float | None = None
    """The same of latency."""
    idle_only: bool = False
    """Take what is free now, and never wait in the queue."""
    node_hours: float = 0.0
    """What the allocation may cost at most, in node-hours; 0: whatever it takes."""
    replay: Path | None = None
    run: str = ""
    """The run's name; empty: a new one."""
    seed: int = 1
    quick_facts: bool = True
    """Leave out of the facts what takes long: which components libraries have compiled in."""
    command: tuple[str, ...] = ()


DEFAULTS = CheckSettings(archive=Path())
