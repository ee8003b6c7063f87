"""The shared file system of a lab: ext4 in a file, mounted once and seen by all hosts in the folder `work`.

All hosts have one kernel, so a single mount is coherent as that of a parallel file system is. Where it has no loop
device, `work` is a plain folder, and faults of storage cannot be planted.
"""

import os
import shutil
from pathlib import Path

from seatrial.lab.cluster import state
from seatrial.lab.cluster.processes import attempt

FOLDER, IMAGE = "work", "work.img"
IMAGE_BYTES = 1 << 30
"""Sparse: it takes what is written to it."""
LOOP_MAJOR = 7


def mount_shared(name: str) -> bool:
    """Make and mount the file system of a lab; False where this machine cannot, and the folder stays as it is."""
    home = state.folder(name)
    image, folder = home / IMAGE, home / FOLDER
    if shutil.which("mkfs.ext4") is None:
        return False
    with image.open("wb") as file:
        file.truncate(IMAGE_BYTES)
    options = "lazy_itable_init=1,nodiscard"
    made = attempt(["mkfs.ext4", "-q", "-O", "^has_journal", "-m", "0", "-E", options, str(image)])
    mounted = made.ok and _mount(str(image), str(folder))
    if not mounted:
        image.unlink()
    return mounted


def _mount(image: str, folder: str) -> bool:
    """Mount the image past the page cache of this machine, whose rates vary by factors, where its own file system can.

    The device is released when the last mount of it is gone.
    """
    attached = attempt(["losetup", "--find", "--show", "--direct-io=on", image])
    if not attached.ok:
        attached = attempt(["losetup", "--find", "--show", image])
    if not attached.ok:
        return False
    device = attached.stdout.strip()
    mounted = attempt(["mount", "-o", "noatime", device, folder]).ok
    attempt(["losetup", "--detach", device])
    return mounted


def device_of(name: str) -> str | None:
    """`7:0`: the block device of that file system; None where the folder is a plain one."""
    return _loop(state.folder(name) / FOLDER)


def _loop(folder: Path) -> str | None:
    try:
        device = folder.stat().st_dev
    except OSError:
        return None
    return f"{os.major(device)}:{os.minor(device)}" if os.major(device) == LOOP_MAJOR else None
