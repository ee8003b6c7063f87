"""What tests expect of a lab's network and made-up hardware, and how they use a lab without its Slurm."""

from collections.abc import Sequence
from pathlib import Path

from seatrial.lab.cluster.host_argv import inside, settings
from seatrial.lab.cluster.network import FRAME_WIRE_BYTES
from seatrial.lab.cluster.plan import LOGIN, LabPlan
from seatrial.lab.cluster.sysroot import CARD, ROOT_PORT_FOLDER

CARD_FOLDER = f"{ROOT_PORT_FOLDER}/{CARD}"
TCP_HEADER_BYTES = 52


def tcp_limit_bytes_per_s(design_bit_per_s: float, mtu: int) -> float:
    """What TCP over IPv4 with time stamps carries at most: each frame of MTU + 38 bytes brings MTU - 52 of payload."""
    return design_bit_per_s / 8 * (mtu - TCP_HEADER_BYTES) / (mtu + FRAME_WIRE_BYTES)


def without_slurm(
    plan: LabPlan, argv: Sequence[str], *, host: str = LOGIN, cwd: str | None = None, extra: Sequence[str] = ()
) -> list[str]:
    """`argv` as a user runs it on a cluster without Slurm: its variables are missing, so that no command answers.

    `extra`: more settings, NAME=value.
    """
    shown = [setting for setting in settings(plan) if not setting.startswith("SLURM_")]
    return inside(plan, host, ["env", "-u", "SLURM_CONF", "-C", cwd or str(Path.cwd()), *shown, *extra, *argv])
