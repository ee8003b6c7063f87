"""kernel-parameters-differ: the kernel was started with other words than on the peers."""

from collections.abc import Iterator

from seatrial.model.facts import NodeFacts
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation
from seatrial.rules.peers import unlike_items

TELLING = (
    "mitigations",
    "spectre_v2",
    "pti",
    "nopti",
    "nosmt",
    "isolcpus",
    "nohz",
    "nohz_full",
    "rcu_nocbs",
    "irqaffinity",
    "maxcpus",
    "nr_cpus",
    "mem",
    "numa",
    "numa_balancing",
    "idle",
    "intel_idle.max_cstate",
    "processor.max_cstate",
    "intel_pstate",
    "amd_pstate",
    "cpufreq.default_governor",
    "transparent_hugepage",
    "hugepages",
    "hugepagesz",
    "default_hugepagesz",
    "iommu",
    "intel_iommu",
    "amd_iommu",
    "pci",
    "pcie_aspm",
    "tsc",
    "clocksource",
    "hpet",
    "preempt",
    "skew_tick",
    "audit",
    "selinux",
    "nmi_watchdog",
    "nowatchdog",
    "systemd.unified_cgroup_hierarchy",
)
"""Those that are known to change what is measured; names, addresses and disks of the node's own are not among them."""

NOT_SET = "not set"
REMEDY = (
    "Start all nodes with the same words (grubby, or the image's boot parameters), then restart this one: it may "
    "have been started last before a change, or from another entry of its boot menu."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Word by word, among nodes that tell their command line."""
    return unlike_items(readings, parameters, REMEDY)


def parameters(facts: NodeFacts) -> dict[str, str | None]:
    """The telling words as they stand, or that they are not there."""
    if not facts.settings.command_line:
        return {}
    found: dict[str, list[str]] = {}
    for word in facts.settings.command_line.split():
        found.setdefault(word.partition("=")[0], []).append(word)
    return {f"the kernel's parameter {name}": " ".join(found.get(name, [NOT_SET])) for name in TELLING}


RULE = Rule(kind=FindingKind.KERNEL_PARAMETERS_DIFFER, title="kernel parameters differ", look=look)
