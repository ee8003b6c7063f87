"""The known cost of a fact that differs, by which differences are sorted."""

import re
from collections.abc import Iterable
from functools import lru_cache

import msgspec

REST = 10


class Weight(msgspec.Struct, frozen=True):
    """Facts whose dotted names begin with `pattern`, and their weight; the first that matches counts."""

    pattern: str
    weight: int
    why: str


WEIGHTS = (
    Weight(r"complete$", 100, "the node's facts are truncated: its other facts are in doubt"),
    Weight(r"node$", 95, "a node that was read at one time and not at the other"),
    Weight(r"boot_id$", 45, "a node that was rebooted, and may have changed"),
    Weight(r"hcas\..*\.rate_text$", 91, "a port's rate in the kernel's words shows width and speed"),
    Weight(
        r"hcas\..*\.(state|physical_state|speed_name|width|data_bits_per_s|link_layer|family)$",
        90,
        "a port that is down or trained below its rate sets the node's bandwidth",
    ),
    Weight(r"hcas\..*\.mtu_bytes$", 85, "packets of another size, or none where the path is narrower"),
    Weight(r"hcas\.[^.]+(\.ports\.[0-9]+)?$", 92, "an adapter or a port is missing, or additional"),
    Weight(r"hcas\..*\.firmware$", 50, "odd firmware"),
    Weight(r"hcas\..*\.(subnet_manager_lid|subnet_prefix)$", 60, "no subnet manager, or another's subnet"),
    Weight(r"hcas\..*\.counters", REST, "the growth of counters matters, not their difference"),
    Weight(r"hcas\.", 55, "another adapter, or in another place"),
    Weight(
        r"pci\..*\.(current|max)_(width|transfers_per_s|bytes_per_s)$",
        88,
        "a PCIe link trained below what it can bounds every device under it",
    ),
    Weight(r"pci\..*\.max_(payload|payload_supported|read_request)_bytes$", 70, "packets on the bus"),
    Weight(r"pci\..*\.iommu_type$", 64, "an IOMMU that translates sends what devices exchange through the processor"),
    Weight(r"pci\..*\.numa_node$", 65, "a device on another socket than on the peers"),
    Weight(r"pci\.[0-9a-f:]+\.[0-9a-f]+$", 82, "a device is missing, or additional"),
    Weight(r"pci\.", 40, "another device, driver or place"),
    Weight(r"attached_gpus$|gpus\.[0-9a-f:]+\.[0-9a-f]+$", 82, "a GPU is missing, or additional"),
    Weight(r"gpus\..*\.link_(width|width_max|generation_max)$", 88, "a GPU's PCIe link bounds its copies"),
    Weight(r"gpus\..*\.(power_limit|clock_|ecc$|mig$|nvlinks)", 78, "what a GPU may do, or its links to others"),
    Weight(r"gpus\.", 50, "another GPU, driver or firmware"),
    Weight(r"interfaces\..*\.(speed_bits_per_s|duplex)$", 90, "a link negotiated below its rate"),
    Weight(r"interfaces\..*\.(state|carrier)$", 86, "a link that is down"),
    Weight(r"interfaces\..*\.mtu_bytes$", 85, "packets of another size, or lost ones"),
    Weight(r"interfaces\..*\.mode$", 75, "IPoIB in another mode sends packets of another size"),
    Weight(r"interfaces\.", 45, "another interface, or another driver"),
    Weight(
        r"processor\.(governors|energy_preferences|frequency_driver|turbo|.*_hz)",
        80,
        "the frequency sets what is computed, and how fast messages are handled",
    ),
    Weight(r"processor\.quota_processors$", 84, "ranks stop when the quota is used up"),
    Weight(r"system\.power_limits_w\.", 78, "a lower power limit lowers the frequency under load"),
    Weight(r"(processors|cores|sockets|numa_nodes|cpu_model)$", 76, "cores that are missing or of another kind"),
    Weight(r"memory_bytes$|memory\.dimms\.|topology\.numa_nodes\..*\.memory_bytes$", 75, "memory"),
    Weight(r"system\.firmware\.(memory_mode|cluster_mode)$", 75, "another memory or cluster mode"),
    Weight(r"processor\.smt_active$|topology\.(cores|numa_nodes|caches)", 72, "another topology"),
    Weight(r"kernel$", 70, "another kernel"),
    Weight(r"settings\.scheduler\.", 66, "how long a process waits for its core"),
    Weight(r"settings\.(command_line\.|transparent_huge_pages$)", 64, "how the kernel was started"),
    Weight(r"processor\.(mitigations|idle_states)", 62, "the cost of a system call and of a wake-up"),
    Weight(r"settings\.sysctls\.", 60, "the kernel's settings"),
    Weight(r"system\.limits\.locked_memory_bytes$", 58, "RDMA registers its buffers as locked memory"),
    Weight(r"system\.firmware\.|processor\.microcode$", 55, "odd firmware"),
    Weight(r"system\.clock\.", 54, "a slow clock source, or a clock that is not synchronised"),
    Weight(r"system\.(mounts|paths)\.", 52, "a file system that is not there fails the job"),
    Weight(r"mpi_versions$|software\.", 50, "another version runs other code"),
    Weight(r"processor\.", 48, "another processor"),
    Weight(r"system\.limits\.", 40, "limits of the job's processes"),
    Weight(r"settings\.modules\.", 30, "another driver, or one not loaded"),
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
