"""The known cost of a fact that differs, by which differences are sorted."""

import re
from collections.abc import Iterable
from functools import lru_cache

import msgspec

REST = 10


class Weight(msgspec.Struct, frozen=True, kw_only=True):
    """Facts whose dotted names begin with `pattern`, and their weight; the first that matches counts."""

    pattern: str
    weight: int
    why: str


WEIGHTS = (
    Weight(pattern=r"complete$", weight=100, why="the node's facts are truncated: its other facts are in doubt"),
    Weight(pattern=r"node$", weight=95, why="a node that was read at one time and not at the other"),
    Weight(pattern=r"boot_id$", weight=45, why="a node that was rebooted, and may have changed"),
    Weight(pattern=r"hcas\..*\.rate_text$", weight=91, why="a port's rate in the kernel's words shows width and speed"),
    Weight(
        pattern=r"hcas\..*\.(state|physical_state|speed_name|width|data_bits_per_s|link_layer|family)$",
        weight=90,
        why="a port that is down or trained below its rate sets the node's bandwidth",
    ),
    Weight(
        pattern=r"hcas\..*\.mtu_bytes$", weight=85, why="packets of another size, or none where the path is narrower"
    ),
    Weight(pattern=r"hcas\.[^.]+(\.ports\.[0-9]+)?$", weight=92, why="an adapter or a port is missing, or additional"),
    Weight(pattern=r"hcas\..*\.firmware$", weight=50, why="odd firmware"),
    Weight(
        pattern=r"hcas\..*\.(subnet_manager_lid|subnet_prefix)$",
        weight=60,
        why="no subnet manager, or another's subnet",
    ),
    Weight(pattern=r"hcas\..*\.counters", weight=REST, why="the growth of counters matters, not their difference"),
    Weight(pattern=r"hcas\.", weight=55, why="another adapter, or in another place"),
    Weight(
        pattern=r"pci\..*\.(current|max)_(width|transfers_per_s|bytes_per_s)$",
        weight=88,
        why="a PCIe link trained below what it can bounds every device under it",
    ),
    Weight(
        pattern=r"pci\..*\.max_(payload|payload_supported|read_request)_bytes$", weight=70, why="packets on the bus"
    ),
    Weight(pattern=r"pci\..*\.numa_node$", weight=65, why="a device on another socket than on the peers"),
    Weight(pattern=r"pci\.[0-9a-f:]+\.[0-9a-f]+$", weight=82, why="a device is missing, or additional"),
    Weight(pattern=r"pci\.", weight=40, why="another device, driver or place"),
    Weight(pattern=r"interfaces\..*\.(speed_bits_per_s|duplex)$", weight=90, why="a link negotiated below its rate"),
    Weight(pattern=r"interfaces\..*\.(state|carrier)$", weight=86, why="a link that is down"),
    Weight(pattern=r"interfaces\..*\.mtu_bytes$", weight=85, why="packets of another size, or lost ones"),
    Weight(pattern=r"interfaces\..*\.mode$", weight=75, why="IPoIB in another mode sends packets of another size"),
    Weight(pattern=r"interfaces\.", weight=45, why="another interface, or another driver"),
    Weight(
        pattern=r"processor\.(governors|energy_preferences|frequency_driver|turbo|.*_hz)",
        weight=80,
        why="the frequency sets what is computed, and how fast messages are handled",
    ),
    Weight(pattern=r"processor\.quota_processors$", weight=84, why="ranks stop when the quota is used up"),
    Weight(pattern=r"system\.power_limits_w\.", weight=78, why="a lower power limit lowers the frequency under load"),
    Weight(
        pattern=r"(processors|cores|sockets|numa_nodes|cpu_model)$",
        weight=76,
        why="cores that are missing or of another kind",
    ),
    Weight(pattern=r"memory_bytes$|memory\.dimms\.|topology\.numa_nodes\..*\.memory_bytes$", weight=75, why="memory"),
    Weight(pattern=r"system\.firmware\.(memory_mode|cluster_mode)$", weight=75, why="another memory or cluster mode"),
    Weight(pattern=r"processor\.smt_active$|topology\.(cores|numa_nodes|caches)", weight=72, why="another topology"),
    Weight(pattern=r"kernel$", weight=70, why="another kernel"),
    Weight(pattern=r"settings\.scheduler\.", weight=66, why="how long a process waits for its core"),
    Weight(pattern=r"settings\.(command_line\.|transparent_huge_pages$)", weight=64, why="how the kernel was started"),
    Weight(
        pattern=r"processor\.(mitigations|idle_states)", weight=62, why="the cost of a system call and of a wake-up"
    ),
    Weight(pattern=r"settings\.sysctls\.", weight=60, why="the kernel's settings"),
    Weight(
        pattern=r"system\.limits\.locked_memory_bytes$", weight=58, why="RDMA registers its buffers as locked memory"
    ),
    Weight(pattern=r"system\.firmware\.|processor\.microcode$", weight=55, why="odd firmware"),
    Weight(pattern=r"system\.clock\.", weight=54, why="a slow clock source, or a clock that is not synchronised"),
    Weight(pattern=r"system\.(mounts|paths)\.", weight=52, why="a file system that is not there fails the job"),
    Weight(pattern=r"mpi_versions$|software\.", weight=50, why="another version runs other code"),
    Weight(pattern=r"processor\.", weight=48, why="another processor"),
    Weight(pattern=r"system\.limits\.", weight=40, why="limits of the job's processes"),
    Weight(pattern=r"settings\.modules\.", weight=30, why="another driver, or one not loaded"),
)
"""What is not in the table weighs `REST`."""

_PATTERNS = tuple((re.compile(each.pattern, re.DOTALL), each.weight) for each in WEIGHTS)

_FAMILIES = re.compile(
    r"hcas\.[^.]+|interfaces\.[^.]+|pci|memory\.dimms|topology|system\.(?:firmware|sensors|power_limits_w)"
    r"|system\.mounts\..*?(?=\.(?:source|kind|options|reachable)$|$)"
    r"|processor\.(?:mitigations|idle_states|minimum_hz|maximum_hz|hardware_maximum_hz)|settings\.modules"
    r"|software\.libraries\.[^.]+|software\.mpi_files"
)
_DEVICES = re.compile(r"(?:hcas|interfaces|pci|system\.sensors|system\.power_limits_w)\.")


@lru_cache(maxsize=1 << 14)
def weight(fact: str) -> int:
    """The weight of a fact: from 100, known to affect everything, down to `REST`, no known effect."""
    return next((weight for pattern, weight in _PATTERNS if pattern.match(fact)), REST)


def known_cost(fact: str) -> tuple[int, str]:
    """The weight of a fact and how it can change performance; `REST` and nothing where no effect is known."""
    matching = (each for each, (pattern, _) in zip(WEIGHTS, _PATTERNS, strict=True) if pattern.match(fact))
    first = next(matching, None)
    return (first.weight, first.why) if first else (REST, "")


def leading(facts: Iterable[str]) -> tuple[str, int, tuple[str, ...]]:
    """The fact to name of several that go together, the weight of all, and the others, heaviest first.

    The heaviest is named, or the device that it is a fact of where that itself is among them.
    """
    in_order = sorted(facts, key=lambda fact: (-weight(fact), fact.count("."), fact))
    heaviest = in_order[0]
    named = min((fact for fact in in_order if heaviest.startswith(f"{fact}.")), key=len, default=heaviest)
    return named, weight(heaviest), tuple(fact for fact in in_order if fact != named)


def family(fact: str, *, of_presence: bool) -> str:
    """What a fact belongs to: differences of one family on the same nodes have one cause.

    `of_presence`: it is there on some nodes and missing on others; then all devices are one family, since an adapter
    also lacks its interfaces and its place on the bus.
    """
    if of_presence and _DEVICES.match(fact):
        return "devices"
    match = _FAMILIES.match(fact)
    return match[0] if match else fact
