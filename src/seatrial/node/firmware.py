"""The machine's vendor, its firmware, and the modes that firmware sets, from a frame."""

import re
from collections import defaultdict

from seatrial.model.system import Firmware
from seatrial.node.frame import Frame
from seatrial.node.processor_counts import cpuinfo
from seatrial.node.topology_sysfs import NODES, ROWS

DMI = "/sys/class/dmi/id"
DMI_FILES = {
    "vendor": "sys_vendor",
    "product": "product_name",
    "board": "board_name",
    "bios_vendor": "bios_vendor",
    "bios_version": "bios_version",
    "bios_date": "bios_date",
}
BMC = "/sys/devices/platform/ipmi_bmc."
BMC_PATTERN = f"{BMC}*"
HWLOC_DUMP = "/var/run/hwloc/knl_memoryside_cache"
SIDE_CACHES = f"{NODES}/memory_side_cache"
FIRST = re.compile(r"[0-9]{1,9}")
ZEN = 23
"""The first family of AMD processors whose firmware has a setting "NUMA nodes per socket"."""


def read_firmware(frame: Frame) -> tuple[Firmware, dict[str, str]]:
    """Texts as the firmware has them, blanks around them gone; modes in lower case.

    Second: name of a fact ("system.firmware.vendor") -> why it is not known; "system.firmware" where there is no DMI.
    """
    dmi = {name: frame.values.get(f"{DMI}/{file}", "").strip() for name, file in DMI_FILES.items()}
    bmc = [frame.values[path].strip() for path in sorted(path for path in frame.values if path.startswith(BMC))]
    modes = _dumped_modes(frame)
    memory_mode = modes.get("memory_mode") or ("cache" if frame.lists.get(SIDE_CACHES) else "")
    cluster_mode = modes.get("cluster_mode") or _sub_numa_mode(frame)
    firmware = Firmware(**dmi, bmc_version=bmc[0] if bmc else "", memory_mode=memory_mode, cluster_mode=cluster_mode)
    if any(dmi.values()):
        absent = {
            f"system.firmware.{name}": frame.reason(f"{DMI}/{file}")
            for name, file in DMI_FILES.items()
            if not dmi[name]
        }
    else:
        absent = {"system.firmware": frame.reason(DMI)}
    if not firmware.bmc_version:
        absent["system.firmware.bmc_version"] = frame.reason(BMC_PATTERN)
    if not memory_mode:
        absent["system.firmware.memory_mode"] = f"{frame.reason(HWLOC_DUMP)}; no memory-side cache"
    if not cluster_mode:
        absent["system.firmware.cluster_mode"] = f"{frame.reason(HWLOC_DUMP)}; one NUMA node per package, or unknown"
    return firmware, absent


def _dumped_modes(frame: Frame) -> dict[str, str]:
    """What hwloc-dump-hwdata wrote at boot, on Knights Landing and Knights Mill alone: "memory_mode: Cache"."""
    pairs = (line.partition(":") for line in frame.files.get(HWLOC_DUMP, ()))
    words = {key.strip(): value.strip().lower() for key, _, value in pairs}
    return {key: word for key, word in words.items() if word != "unknown"}


def _sub_numa_mode(frame: Frame) -> str:
    """snc2 (Intel: two NUMA nodes a package, Cluster-on-Die included), nps4 (AMD from Zen on); "" where unknown.

    Counts the NUMA nodes that have processors, by package. One node for each Intel package is not a mode: quadrant,
    hemisphere and all-to-all look the same; one node for several AMD packages is nps0. A virtual machine's NUMA nodes
    are as configured, which is not a mode either.
    """
    packages = {row["*"]: row.get("physical_package_id", "?") for row in frame.tables.get(ROWS, ()) if "*" in row}
    nodes: defaultdict[str, int] = defaultdict(int)
    for cpulist in _cpulists(frame):
        first = FIRST.match(cpulist)
        if first:
            nodes[packages.get(first[0], "?")] += 1
    counts = set(nodes.values())
    if "?" in nodes or len(counts) != 1:
        return ""
    count = counts.pop()
    says = cpuinfo(frame)
    if "hypervisor" in says.get("flags", "").split():
        return ""
    if says.get("vendor_id") == "GenuineIntel":
        return f"snc{count}" if count > 1 else ""
    family = says.get("cpu family", "")
    if says.get("vendor_id") != "AuthenticAMD" or not FIRST.fullmatch(family) or int(family) < ZEN:
        return ""
    return "nps0" if len(nodes) < len(set(packages.values())) else f"nps{count}"


def _cpulists(frame: Frame) -> list[str]:
    cpulists = frame.columns.get((NODES, "cpulist"), {})
    return [
        cpulists.get(number) or frame.values.get(NODES.replace("[0-9]*", f"{number}/cpulist"), "")
        for number in frame.lists.get(NODES, ())
    ]
