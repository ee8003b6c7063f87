"""Places of a lab's made-up facts, how a node's differ from its peers', and the script that sets up a host.

`facts/base` is seen by every host. `facts/here` is another folder on each: the host's own is mounted there, so that one
search path, passed on by srun, leads each node to its own.

The hardware that a virtual node lacks, as /sys would show it, is made up, constant and alike on every host of a lab:
its values are those of a server of about 2018.
"""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath

from seatrial.lab.cluster import state
from seatrial.lab.cluster.plan import LabPlan

PROCESSOR = "/sys/devices/system/cpu/cpu{number}/cpufreq"
GOVERNOR = "performance"
LOWEST_KHZ = 1_200_000
HIGHEST_KHZ = 3_400_000

DMI = "/sys/class/dmi/id"

ROOT_COMPLEX = "pci0000:40"
ROOT_PORT = "0000:40:01.0"
CARD = "0000:41:00.0"
CARDS = (CARD, "0000:41:00.1")
"""One function of the card for each of its ports, and with it for each rail."""
ROOT_PORT_FOLDER = f"/sys/devices/{ROOT_COMPLEX}/{ROOT_PORT}"
LINK_SPEED = "8.0 GT/s PCIe"
LINK_WIDTH = 8

ZONE = "/sys/class/thermal/thermal_zone0"
MILLICELSIUS = 61_000

BASE_SLICE_FILE = "/sys/kernel/debug/sched/base_slice_ns"
BASE_SLICE_NS = 2_800_000
"""What Linux 6.6 and later choose on eight processors and more: 0.7 ms times 1 + log2(8), kernel/sched/fair.c."""


def base_files(processors: Iterable[int], rails: int = 1) -> dict[str, str]:
    """Path -> content of every made-up file, for a machine with the processors of these numbers."""
    contents = {**FIRMWARE_FILES, **card_files(rails), BASE_SLICE_FILE: str(BASE_SLICE_NS)}
    contents["/sys/devices/system/cpu/cpufreq/boost"] = "1"
    contents |= {f"{ZONE}/type": "x86_pkg_temp", f"{ZONE}/temp": str(MILLICELSIUS)}
    for number in processors:
        contents |= frequency_files(number)
    return {path: f"{content}\n" for path, content in contents.items()}


def governor_files(processors: Iterable[int], governor: str) -> dict[str, str]:
    """The governor of every processor."""
    return {f"{PROCESSOR.format(number=number)}/scaling_governor": f"{governor}\n" for number in processors}


def width_files(lanes: int, rails: int = 1) -> dict[str, str]:
    """How many lanes of the card's link work, as both of its ends see it."""
    folders = (ROOT_PORT_FOLDER, *(f"{ROOT_PORT_FOLDER}/{card}" for card in CARDS[:rails]))
    return {f"{folder}/current_link_width": f"{lanes}\n" for folder in folders}


def frequency_files(number: int) -> dict[str, str]:
    """cpufreq of one processor: acpi-cpufreq, since its governors do what their names say; frequencies in kHz."""
    contents = {
        "scaling_driver": "acpi-cpufreq",
        "scaling_governor": GOVERNOR,
        "scaling_available_governors": "performance powersave schedutil",
        "scaling_min_freq": LOWEST_KHZ,
        "scaling_max_freq": HIGHEST_KHZ,
        "scaling_cur_freq": HIGHEST_KHZ,
        "cpuinfo_min_freq": LOWEST_KHZ,
        "cpuinfo_max_freq": HIGHEST_KHZ,
    }
    return {f"{PROCESSOR.format(number=number)}/{name}": str(content) for name, content in contents.items()}


FIRMWARE_FILES = {
    f"{DMI}/sys_vendor": "Seatrial",
    f"{DMI}/product_name": "Lab Node",
    f"{DMI}/board_vendor": "Seatrial",
    f"{DMI}/board_name": "Lab Board",
    f"{DMI}/bios_vendor": "Seatrial",
    f"{DMI}/bios_version": "2.4.1",
    f"{DMI}/bios_date": "03/14/2023",
}
"""What the firmware reports; the vendor's name shows that the hardware does not exist."""

SECOND_MODEL = {f"{DMI}/product_name": "Lab Node of another year"}
"""Nodes with another design rate are other machines, as on real sites, and no failed links."""


def card_files(rails: int = 1) -> dict[str, str]:
    """An Ethernet card (Intel X710 10GBASE-T) behind a root port (Intel Skylake-SP), PCIe 3.0 x8 both: pci.ids."""
    link = {
        "vendor": "0x8086",
        "numa_node": "0",
        "current_link_speed": LINK_SPEED,
        "max_link_speed": LINK_SPEED,
        "current_link_width": str(LINK_WIDTH),
        "max_link_width": str(LINK_WIDTH),
    }
    port = {**link, "class": "0x060400", "device": "0x2030"}
    card = {**link, "class": "0x020000", "device": "0x15ff"}
    return {
        **{f"{ROOT_PORT_FOLDER}/{name}": content for name, content in port.items()},
        **{f"{ROOT_PORT_FOLDER}/{each}/{name}": content for each in CARDS[:rails] for name, content in card.items()},
    }


def bus_links(rails: int = 1) -> dict[str, str]:
    """Path -> target of the links by which the bus lists port and card."""
    port = f"../../../devices/{ROOT_COMPLEX}/{ROOT_PORT}"
    cards = {f"/sys/bus/pci/devices/{card}": f"{port}/{card}" for card in CARDS[:rails]}
    return {f"/sys/bus/pci/devices/{ROOT_PORT}": port, **cards}


def base_links(rails: int = 1) -> dict[str, str]:
    """All links: those of the bus, the drivers, and each rail as an interface of the card."""
    links = {**bus_links(rails), f"{ROOT_PORT_FOLDER}/driver": "../../../bus/pci/drivers/pcieport"}
    for number, card in enumerate(CARDS[:rails]):
        folder, rail = f"{ROOT_PORT_FOLDER}/{card}", f"eth{number}"
        links |= {
            f"{folder}/driver": "../../../../bus/pci/drivers/i40e",
            f"/sys/class/net/{rail}": f"../../devices/{ROOT_COMPLEX}/{ROOT_PORT}/{card}/net/{rail}",
            f"{folder}/net/{rail}/device": f"../../../{card}",
        }
    return links


BASE_FOLDERS = ("/sys/bus/pci/drivers/pcieport", "/sys/bus/pci/drivers/i40e")
"""Targets of the drivers' links."""


PROCESSORS = Path("/sys/devices/system/cpu")
SETTINGS = {
    "net/ipv6/conf/all/disable_ipv6": "1",
    "net/ipv4/tcp_no_metrics_save": "1",
    "net/ipv4/tcp_congestion_control": "reno",
    "net/ipv4/tcp_rmem": "4096 131072 33554432",
}
SCRATCH = "/tmp/lab-scratch"  # noqa: S108 - every host has a /tmp of its own


def search_path(plan: LabPlan) -> str:
    """SEATRIAL_SYSROOT of the lab: what is planted on this host, what is made up on all, what is real."""
    home = state.folder(plan.name)
    return f"{here(home)}:{base(home)}:/"


def base(home: Path) -> Path:
    """The folder of what is made up on all hosts."""
    return home / "facts/base"


def here(home: Path) -> Path:
    """The path at which each host sees its own folder."""
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
        below(base(home), name).mkdir(parents=True)
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
        file = below(root, path)
        file.unlink(missing_ok=True)
        for folder in file.parents:
            if folder == root or not folder.is_dir() or any(folder.iterdir()):
                break
            folder.rmdir()


def write(root: Path, files: Mapping[str, str], links: Mapping[str, str]) -> None:
    """Write files and links below a root; a link that is there already stays."""
    for folder in {below(root, path).parent for path in (*files, *links)}:
        folder.mkdir(parents=True, exist_ok=True)
    for path, content in files.items():
        below(root, path).write_text(content, encoding="utf-8")
    for path, target in links.items():
        if not below(root, path).is_symlink():
            below(root, path).symlink_to(target)


def below(root: Path, path: str) -> Path:
    """The place of a path of the machine below a root."""
    return root / path.lstrip("/")


def dress_script(host: str, *, stage: str, folders: Sequence[str], overlay: Mapping[str, str]) -> str:
    """POSIX sh, to be run within the host's new namespaces.

    `stage` is an empty folder to hold mounts aside, `folders` what must stay visible under the private /tmp, `overlay`
    path -> our file to be seen there. The host's copies of handles of network namespaces are dropped, since they would
    keep a lab alive after its end. TCP gets the one congestion control that every kernel allows in a namespace, does
    not remember one measurement's losses in the next, and may fill as much memory as newer kernels let it.
    """
    lines = ["set -eu", "mount --make-rprivate /", f"hostname {host}", "umount -l -R /run/netns 2>/dev/null || true"]
    lines += [f"echo {value} > /proc/sys/{key} || true" for key, value in SETTINGS.items()]
    lines += [
        *own_sysfs(stage),
        *own_tmp(stage, folders),
        "mkdir -p /dev/shm",
        "mount -t tmpfs -o mode=1777 tmpfs /dev/shm",
        mount_scratch(),
    ]
    lines += [lay(path, source) for path, source in sorted(overlay.items())]
    return "\n".join([*lines, ""])


def own_sysfs(stage: str) -> list[str]:
    """A sysfs that shows the host's own network devices, with the machine's cgroups, which slurmd needs."""
    held = shlex.quote(stage)
    return [
        f"mount --rbind /sys/fs/cgroup {held}",
        "mount -t sysfs sysfs /sys",
        f"mount --rbind {held} /sys/fs/cgroup",
        f"umount -l -R {held}",
    ]


def own_tmp(stage: str, folders: Sequence[str]) -> list[str]:
    """An empty /tmp in which `folders` are as they were."""
    held = shlex.quote(stage)
    lines = [f"mount --rbind /tmp {held}", "mount -t tmpfs -o mode=1777 tmpfs /tmp"]
    for folder in outermost(folders):
        source = PurePath(stage) / PurePath(folder).relative_to("/tmp")  # noqa: S108
        lines.append(
            f"mkdir -p {shlex.quote(folder)} && mount --rbind {shlex.quote(str(source))} {shlex.quote(folder)}"
        )
    return [*lines, f"umount -l -R {held}"]


def mount_scratch() -> str:
    """The one file system that a host mounts as a cluster's nodes do, so that a node can lack it."""
    return f"mkdir -p {SCRATCH} && mount -t tmpfs -o size=16m,mode=1777 scratch {SCRATCH}"


def outermost(folders: Sequence[str]) -> list[str]:
    """Folders below /tmp that lie in no other one, sorted."""
    kept: list[PurePath] = []
    for folder in sorted({PurePath(text) for text in folders}):
        below_tmp = folder.is_relative_to("/tmp") and folder != PurePath("/tmp")  # noqa: S108
        if below_tmp and not any(folder.is_relative_to(other) for other in kept):
            kept.append(folder)
    return [str(folder) for folder in kept]


def lay(path: str, source: str) -> str:
    """Show `source` at `path`. A path that this machine does not have is left out."""
    target, ours = shlex.quote(path), shlex.quote(source)
    return f"if [ -e {target} ]; then mount --bind {ours} {target}; fi"


def sees(folders: Sequence[str], folder: str) -> bool:
    """Whether `folder` can be seen from within the lab."""
    path = PurePath(folder)
    if not path.is_relative_to("/tmp"):  # noqa: S108
        return True
    return any(path.is_relative_to(other) for other in outermost(folders))
