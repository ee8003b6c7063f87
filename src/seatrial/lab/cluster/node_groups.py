"""A control group of its own for the processes of one node: what they use of the processors, and how much they may."""

import os
import re
import time
from pathlib import Path

import msgspec

from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.processes import named, pids_in
from seatrial.model.errors import SeatrialError

MOUNTS = Path("/proc/self/mounts")
EMPTY_S = 10.0
PERIOD_S = 0.01
"""Period of a quota: short, so that the node is slower and not interrupted for a while."""


class NodeGroup(msgspec.Struct, frozen=True, kw_only=True):
    """The folders of a node's group; with cgroup v2 they are the same one."""

    cpu: Path
    accounting: Path
    version: int
    blocks: Path | None = None
    """The folder that limits block devices; None: this machine has no such controller."""

    @property
    def usage(self) -> Path:
        """The file that says how much processor time the group has used."""
        return self.accounting / ("cpuacct.usage" if self.version == 1 else "cpu.stat")

    @property
    def folders(self) -> tuple[Path, ...]:
        """All of them, each once."""
        folders = (self.cpu, self.accounting, self.blocks)
        return tuple(dict.fromkeys(folder for folder in folders if folder is not None))

    @property
    def quota_file(self) -> Path:
        """The file that limits the group's processor time."""
        return self.cpu / ("cpu.cfs_quota_us" if self.version == 1 else "cpu.max")

    def limit(self, cores: float) -> None:
        """Let the group use that many processors at most."""
        self.quota_file.write_text(self.limit_texts(cores)[0], encoding="ascii")

    def limit_texts(self, cores: float) -> tuple[str, str]:
        """What to write into `quota_file` for that many processors, and for all."""
        period_us = round(PERIOD_S * 1e6)
        quota_us = max(round(cores * period_us), 1000)
        if self.version == 1:
            (self.cpu / "cpu.cfs_period_us").write_text(str(period_us), encoding="ascii")
            return str(quota_us), "-1"
        return f"{quota_us} {period_us}", f"max {period_us}"

    def limit_device(self, device: str, bytes_per_s: int) -> None:
        """Let the group read and write that block device (major:minor) no faster. Raises SeatrialError."""
        if self.blocks is None:
            raise SeatrialError("This machine has no cgroup that limits block devices.", "Plant another fault.")
        if self.version == 1:
            for way in ("read", "write"):
                limit = self.blocks / f"blkio.throttle.{way}_bps_device"
                limit.write_text(f"{device} {bytes_per_s}", encoding="ascii")
        else:
            (self.blocks / "io.max").write_text(f"{device} rbps={bytes_per_s} wbps={bytes_per_s}", encoding="ascii")


def hierarchies(mounts: str) -> dict[str, Path]:
    """`cpu`, `cpuacct` and `blkio` -> where cgroup v1 has them; `unified` -> where cgroup v2 is."""
    points: dict[str, Path] = {}
    for line in mounts.splitlines():
        words = line.split()
        if len(words) < 4:
            continue
        point, kind, options = Path(words[1]), words[2], words[3].split(",")
        if kind == "cgroup2":
            points.setdefault("unified", point)
        for controller in ("cpu", "cpuacct", "blkio"):
            if kind == "cgroup" and controller in options:
                points.setdefault(controller, point)
    return points


def own_group(text: str, controller: str) -> str:
    """The path of a process's group, from /proc/PID/cgroup; `/` where it is not listed."""
    for line in text.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controller in controllers.split(","):
            return path
    return "/"


def name_of(lab: str, node: str) -> str:
    """The folder's name."""
    return f"seatrial-lab-{lab}-{node}"


def form(plan: LabPlan, node: str) -> NodeGroup:
    """Put all processes of a node, and all that they start, into a group below the one they are in.

    Raises SeatrialError where this machine has no cgroup with a cpu controller.
    """
    group = _made(plan, node)
    moved: set[int] = set()
    while new := set(pids_in([plan.space(node)])) - moved:
        for pid in new:
            _move(pid, group.folders)
        moved |= new
    return group


def dissolve(plan: LabPlan, node: str) -> None:
    """Return the processes of a node to the group above, and remove its own."""
    for folder in _folders(plan.name, node):
        deadline = time.monotonic() + EMPTY_S
        while True:
            for pid in (folder / "cgroup.procs").read_text(encoding="ascii").split():
                _move(int(pid), (folder.parent,))
            try:
                folder.rmdir()
                break
            except OSError:  # a process was started meanwhile, or one that has ended is not yet collected
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)


def remove_groups(lab: str) -> None:
    """Remove what is left of the groups of a lab whose processes are gone."""
    for folder in _folders(lab, "*"):
        try:
            folder.rmdir()
        except OSError:
            continue


def _made(plan: LabPlan, node: str) -> NodeGroup:
    points = hierarchies(MOUNTS.read_text(encoding="utf-8", errors="replace"))
    name = name_of(plan.name, node)
    texts = map(_groups_of, named(pids_in([plan.space(node)]), "slurmd"))
    text = next(filter(None, texts), "")
    try:
        if {"cpu", "cpuacct"} <= points.keys():
            words = [word for word in ("cpu", "cpuacct", "blkio") if word in points]
            own = {word: points[word] / own_group(text, word).lstrip("/") / name for word in words}
            group = NodeGroup(cpu=own["cpu"], accounting=own["cpuacct"], version=1, blocks=own.get("blkio"))
        elif "unified" in points:  # a group with processes has no others below it, except the root
            limits_io = _enable(points["unified"] / "cgroup.subtree_control")
            own_folder = points["unified"] / name
            blocks = own_folder if limits_io else None
            group = NodeGroup(cpu=own_folder, accounting=own_folder, version=2, blocks=blocks)
        else:
            raise SeatrialError("This machine has no cgroup with a cpu controller.", "Plant another fault.")
        for folder in group.folders:
            folder.mkdir(exist_ok=True)
    except OSError as error:
        raise SeatrialError(f"No cgroup could be made for {node}: {error}.", "Plant another fault.") from None
    return group


def _groups_of(pid: int) -> str:
    """The text of /proc/PID/cgroup, empty when the process has gone: slurmd forks for a moment."""
    try:
        return Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8")
    except OSError:
        return ""


def _enable(control: Path) -> bool:
    """Switch on the controllers of cgroup v2 that faults use; whether that of block devices is there."""
    control.write_text("+cpu", encoding="ascii")
    try:
        control.write_text("+io", encoding="ascii")
    except OSError:
        return False
    return True


def _move(pid: int, folders: tuple[Path, ...]) -> None:
    for folder in folders:
        try:
            (folder / "cgroup.procs").write_text(str(pid), encoding="ascii")
        except OSError:  # it has ended
            continue


def _folders(lab: str, node: str) -> list[Path]:
    points = set(hierarchies(MOUNTS.read_text(encoding="utf-8", errors="replace")).values())
    wanted = re.compile(re.escape(name_of(lab, "")) + ("n[0-9]+" if node == "*" else re.escape(node)))
    folders = [folder for point in points for above in (point, *_below(point)) for folder in _below(above)]
    return [folder for folder in folders if wanted.fullmatch(folder.name)]


def _below(folder: Path) -> list[Path]:
    """The groups right below one; none where it has gone, as those of other labs and of containers do at any time."""
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
