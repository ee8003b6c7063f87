"""Where the made-up facts of a lab lie, and how a node's differ from its peers'.

`facts/base` is seen by every host. `facts/here` is another folder on each: the host's own is mounted there, so that one
search path, passed on by srun, leads each node to its own.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from seatrial.lab.cluster import state
from seatrial.lab.cluster.hardware import BASE_FOLDERS, SECOND_MODEL, base_files, base_links
from seatrial.lab.cluster.plan import LabPlan

PROCESSORS = Path("/sys/devices/system/cpu")


def search_path(plan: LabPlan) -> str:
    """SEATRIAL_SYSROOT of the lab: what is planted on this host, what is made up on all, what is real."""
    home = state.folder(plan.name)
    return f"{here(home)}:{base(home)}:/"


def base(home: Path) -> Path:
    """The folder of what is made up on all hosts."""
    return home / "facts/base"


def here(home: Path) -> Path:
    """Where each host sees the folder of its own."""
    return home / "facts/here"


def own(home: Path, host: str) -> Path:
    """The folder of a host's own, as it is seen from outside."""
    return home / "facts" / host


def processors() -> list[int]:
    """The numbers of this machine's processors, which every node has too."""
    numbers = [entry.name.removeprefix("cpu") for entry in PROCESSORS.glob("cpu[0-9]*")]
    return sorted(int(number) for number in numbers if number.isdigit())


def write_base(plan: LabPlan) -> None:
    """Make the folders of all hosts, and write what they share."""
    home = state.folder(plan.name)
    for folder in (here(home), *(own(home, host) for host in plan.hosts)):
        folder.mkdir(parents=True)
    for name in BASE_FOLDERS:
        inside(base(home), name).mkdir(parents=True)
    write(base(home), base_files(processors(), plan.rails), base_links(plan.rails))
    for node in plan.second_nodes:
        plant_facts(plan, node, SECOND_MODEL)


def plant_facts(plan: LabPlan, node: str, files: Mapping[str, str], links: Mapping[str, str] | None = None) -> None:
    """Let a node have files of its own. A file that is reached through links needs these too."""
    write(own(state.folder(plan.name), node), files, links or {})


def clear_facts(plan: LabPlan, node: str, paths: Iterable[str]) -> None:
    """Take files and links of a node's own away, and the folders that become empty."""
    root = own(state.folder(plan.name), node)
    for path in paths:
        file = inside(root, path)
        file.unlink(missing_ok=True)
        for folder in file.parents:
            if folder == root or not folder.is_dir() or any(folder.iterdir()):
                break
            folder.rmdir()


def write(root: Path, files: Mapping[str, str], links: Mapping[str, str]) -> None:
    """Write files and links below a root; a link that is there already stays."""
    for folder in {inside(root, path).parent for path in (*files, *links)}:
        folder.mkdir(parents=True, exist_ok=True)
    for path, content in files.items():
        inside(root, path).write_text(content, encoding="utf-8")
    for path, target in links.items():
        if not inside(root, path).is_symlink():
            inside(root, path).symlink_to(target)


def inside(root: Path, path: str) -> Path:
    """The place of a path of the machine below a root."""
    return root / path.lstrip("/")
