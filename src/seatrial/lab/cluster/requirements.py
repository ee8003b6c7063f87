"""What a machine must have before a lab can start on it."""

import os
import shutil

from seatrial.model.errors import SeatrialError

PACKAGES = {
    "slurmctld": "slurm-wlm",
    "slurmd": "slurm-wlm",
    "srun": "slurm-wlm",
    "sinfo": "slurm-wlm",
    "mpirun": "openmpi-bin",
    "ip": "iproute2",
    "tc": "iproute2",
    "nft": "nftables",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "mount": "mount",
}


def missing_packages() -> list[str]:
    """The Debian packages whose programs are not to be found, sorted."""
    return sorted({package for program, package in PACKAGES.items() if shutil.which(program) is None})


def why_not() -> SeatrialError | None:
    """Why a lab cannot start here, or None."""
    if os.geteuid() != 0:
        return SeatrialError("A lab needs network namespaces and mounts of its own.", "Run seatrial lab as root.")
    packages = missing_packages()
    if packages:
        return SeatrialError(
            f"A lab needs packages that are not installed: {', '.join(packages)}.",
            f"Run: apt-get install {' '.join(packages)}",
        )
    return None


def require_root() -> None:
    """Raise SeatrialError unless run as root: no other user may see or change a lab's state."""
    if os.geteuid() != 0:
        raise SeatrialError("Only root can see and change labs.", "Run seatrial lab as root.")


def require_lab() -> None:
    """Raise SeatrialError unless a lab can be raised here."""
    problem = why_not()
    if problem:
        raise problem
