"""What a site's own commands say, kept raw beside the facts: Slurm's topology and nodes, the InfiniBand fabric."""

import os

from seatrial.process.process import run
from seatrial.slurm import argv as slurm_argv

COMMAND_TIMEOUT_S = 30.0
FABRIC_TIMEOUT_S = 120.0
IBNETDISCOVER = ("ibnetdiscover",)


def slurm_outputs() -> dict[str, str]:
    """File name -> output, of the commands that succeed."""
    asked = {
        "scontrol-show-topology.txt": slurm_argv.TOPOLOGY,
        "sinfo.txt": slurm_argv.SINFO,
        "sinfo-features.txt": slurm_argv.FEATURES,
    }
    done = {name: run(argv, timeout_s=COMMAND_TIMEOUT_S) for name, argv in asked.items()}
    return {name: each.stdout for name, each in done.items() if each.ok and each.stdout.strip()}


def fabric_outputs() -> dict[str, str]:
    """ibnetdiscover, which needs root and an InfiniBand port here; nothing without."""
    if os.geteuid() != 0:
        return {}
    done = run(IBNETDISCOVER, timeout_s=FABRIC_TIMEOUT_S)
    return {"ibnetdiscover.txt": done.stdout} if done.ok and done.stdout.strip() else {}
