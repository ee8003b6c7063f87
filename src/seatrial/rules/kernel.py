"""Rules about firmware, clock and kernel: modes, versions, parameters and settings."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from seatrial.drift.expected_differences import excused_between_nodes, own_to_each, tolerated_share
from seatrial.model.facts import NodeFacts
from seatrial.model.verdict import FindingKind
from seatrial.model.words import count
from seatrial.rules.base import Readings, Rule, Violation
from seatrial.rules.memory import HUGE_PAGES
from seatrial.rules.peers import compare_values, differs, items_differ, known, peers_with_same

MEMORY_MODES = {
    "flat": "flat",
    "cache": "cache",
    "hybrid": "hybrid",
    "hybrid25": "hybrid",
    "hybrid50": "hybrid",
    "equal": "hybrid",
    "split": "hybrid",
}
CLUSTER_MODES = {
    "quad": "quadrant",
    "quadrant": "quadrant",
    "hemi": "hemisphere",
    "hemisphere": "hemisphere",
    "a2a": "all2all",
    "all2all": "all2all",
    "alltoall": "all2all",
    "all-to-all": "all2all",
    "snc2": "snc2",
    "snc-2": "snc2",
    "snc4": "snc4",
    "snc-4": "snc4",
    "nps0": "nps0",
    "nps1": "nps1",
    "nps2": "nps2",
    "nps4": "nps4",
}
SMT_MODES = {
    "smt": "on",
    "smt_on": "on",
    "smt-on": "on",
    "ht": "on",
    "ht_on": "on",
    "nosmt": "off",
    "smt_off": "off",
    "smt-off": "off",
    "noht": "off",
    "ht_off": "off",
}
"""Words of Slurm (knl.conf: AllowMCDRAM, AllowNUMA), of vendors and of sites, each -> one name."""

PARAMETERS = (
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
"""Parameters known to change what is measured; names, addresses and disks of the single node are not listed."""

NOT_SET = "not set"
SETTINGS_FACT = "system.firmware.settings.any"


MODE_REMEDY = (
    "Set the mode in the BIOS as on the other nodes: NUMA nodes per socket (NPS) of AMD, sub-NUMA clustering (SNC) of "
    "Intel, node interleaving off, the same memory mode. It decides which part of the memory bandwidth a rank has, and "
    "binding by NUMA node selects other cores where it differs."
)

SETTING_REMEDY = (
    "Set it as on the other nodes: in the BIOS, or below /sys/class/firmware-attributes, which takes effect at the "
    "next start."
)


def unlike_modes(readings: Readings) -> Iterator[Violation]:
    """Modes of the BIOS beside those of the peers; nodes whose features promise a mode, beside that promise."""
    for what, modes, read in (
        ("the NUMA mode of its BIOS", CLUSTER_MODES, numa_mode),
        ("the memory mode of its BIOS", MEMORY_MODES, lambda facts: facts.system.firmware.memory_mode),
    ):
        for group in readings.peers:
            unpromised = [name for name in group if not promised(readings.features.get(name, ()), modes)]
            values = known((name, read(readings.facts[name])) for name in unpromised)
            for violation in compare_values(values, what):
                yield msgspec.structs.replace(violation, remedy=MODE_REMEDY)
    for violation in items_differ(firmware_settings)(readings):
        undecided = violation.details if violation.node is None else ()
        if not (isinstance(undecided, tuple) and undecided and own_to_each(SETTINGS_FACT, dict(undecided))):
            yield msgspec.structs.replace(violation, remedy=SETTING_REMEDY)
    yield from broken_promises(readings)


def firmware_settings(facts: NodeFacts) -> dict[str, str | None]:
    """Settings of the BIOS that the kernel shows."""
    return {f"the BIOS setting {name}": value for name, value in facts.system.firmware.settings.items()}


def promised(features: Iterable[str], modes: Mapping[str, str]) -> set[str]:
    """The modes that the scheduler's features of a node name."""
    return {modes[word.lower()] for word in features if word.lower() in modes}


def numa_mode(facts: NodeFacts) -> str | None:
    """`4 NUMA nodes per socket (nps4)`: NUMA nodes with processors, for each socket; None where either is unknown."""
    topology, mode = facts.topology, facts.system.firmware.cluster_mode
    nodes = len({core.numa_node for core in topology.cores if core.numa_node is not None})
    if not topology.cores and len(topology.numa_nodes) == facts.numa_nodes:  # a text of lscpu
        nodes = sum(bool(each.processors) for each in topology.numa_nodes)
    packages = len(topology.packages) or facts.sockets
    if not nodes or not packages:
        return None
    many = count(nodes // packages, "NUMA node") if nodes % packages == 0 else ""
    words = f"{many} per socket" if many else f"{count(nodes, 'NUMA node')} for {count(packages, 'socket')}"
    return f"{words} ({mode})" if mode else words


def broken_promises(readings: Readings) -> Iterator[Violation]:
    """Only if the features name one mode: a list of several says what is possible, not what is set."""
    for node, facts in readings.facts.items():
        firmware, smt = facts.system.firmware, facts.processor.smt_active
        for what, modes, reported in (
            ("memory mode", MEMORY_MODES, firmware.memory_mode),
            ("cluster mode", CLUSTER_MODES, firmware.cluster_mode),
            ("SMT", SMT_MODES, "" if smt is None else "smt" if smt else "nosmt"),
        ):
            claimed = promised(readings.features.get(node, ()), modes)
            actual = modes.get(reported.lower())
            if actual is not None and len(claimed) == 1 and actual not in claimed:
                promise = claimed.pop()
                clause = f"its {what} is {actual}, where the scheduler's features say {promise}"
                yield Violation(node=node, clause=clause, key=(what, actual, promise))


def unsynchronised_clocks(readings: Readings) -> Iterator[Violation]:
    """Clocks of at least two kernels: a single clock, or one that all nodes share, cannot be out of step."""
    reported = {node: facts for node, facts in readings.facts.items() if reports_synchronisation(facts)}
    if len({facts.boot_id or node for node, facts in reported.items()}) < 2:
        return
    for node, facts in reported.items():
        clock = facts.system.clock
        if clock.synchronised is False:
            source = f" (according to {clock.source})" if clock.source else ""
            offset = "" if clock.offset_s is None else f", by its own estimate {clock.offset_s:+.3g} s off"
            clause, brief = (f"its clock is not synchronised{source}{more}" for more in (offset, ""))
            details = clock.source, clock.offset_s
            yield Violation(node=node, clause=clause, key="unsynchronised", details=details, brief=brief)


def reports_synchronisation(facts: NodeFacts) -> bool:
    """Whether it is known if its clock is synchronised."""
    return facts.system.clock.synchronised is not None


def parameters(facts: NodeFacts) -> dict[str, str | None]:
    """The relevant parameters as written, or that they are not set; nothing if the command line is unknown."""
    if not facts.settings.command_line:
        return {}
    words: dict[str, list[str]] = {}
    for word in facts.settings.command_line.split():
        words.setdefault(word.partition("=")[0], []).append(word)
    return {f"the kernel's parameter {name}": " ".join(words.get(name, [NOT_SET])) for name in PARAMETERS}


def scheduler_settings(facts: NodeFacts) -> dict[str, str | None]:
    """The kernel scheduler's settings by name: kernels of three generations have three sets of names."""
    return {f"the scheduler's {name}": value for name, value in facts.settings.scheduler.items()}


def sysctls(facts: NodeFacts) -> dict[str, str | None]:
    """Name -> value with single blanks, without those that must differ and those that other rules compare."""
    return {
        name: " ".join(content.split())
        for name, content in facts.settings.sysctls.items()
        if name not in HUGE_PAGES
        and name.removeprefix("kernel.sched_") not in facts.settings.scheduler
        and _comparable(name)
    }


def _comparable(name: str) -> bool:
    """Neither different by nature nor computed by the kernel from its memory at boot."""
    fact = f"settings.sysctls.{name}"
    return not excused_between_nodes(fact) and tolerated_share(fact) == 0


def firmware_versions(facts: NodeFacts) -> dict[str, str | None]:
    """BIOS with its date, and BMC."""
    firmware = facts.system.firmware
    date = f" of {firmware.bios_date}" if firmware.bios_version and firmware.bios_date else ""
    return {
        "the BIOS": f"{firmware.bios_version}{date}",
        "the BMC's firmware": firmware.bmc_version,
        "the Management Engine's firmware": firmware.management_engine,
    }


def module_versions(facts: NodeFacts) -> dict[str, str | None]:
    """Module -> version; modules without a version belong to the kernel itself."""
    return {f"the module {name}": version for name, version in facts.settings.modules.items() if version}


KERNEL = (
    Rule(
        kind=FindingKind.FIRMWARE_MODE,
        order=310,
        look=unlike_modes,
        knows=lambda facts: bool(
            facts.system.firmware.settings
            or facts.system.firmware.memory_mode
            or facts.system.firmware.cluster_mode
            or numa_mode(facts)
        ),
        remedy="Set the mode in the BIOS (or let Slurm do it by a restart: node_features/knl_generic) as the feature "
        "says, or correct the node's features (scontrol update NodeName=NODE ActiveFeatures=...).",
    ),
    Rule(
        kind=FindingKind.CLOCK_UNSYNCHRONISED,
        order=330,
        look=unsynchronised_clocks,
        knows=reports_synchronisation,
        remedy="Start chronyd (or ntpd) and check whether it reaches a server (chronyc sources, chronyc tracking). "
        "Munge and Kerberos reject clocks that are minutes apart, and on shared file systems files seem older than "
        "their sources.",
    ),
    Rule(
        kind=FindingKind.CLOCK_SOURCE_DIFFERS,
        order=340,
        look=differs("the kernel's clock source", lambda facts: facts.system.clock.kernel_clock),
        remedy='Find out from the kernel\'s log why it gave up the tsc (dmesg: clocksource, "Marking TSC unstable"), '
        "then restart; reading hpet or acpi_pm takes a microsecond and a system call, in every timed MPI call.",
    ),
    Rule(
        kind=FindingKind.KERNEL_DIFFERS,
        order=350,
        look=differs("the kernel", lambda facts: facts.kernel),
        remedy="Install and boot the same kernel on all nodes: a node that was not restarted after an update, or boots "
        "another image, runs the old one. What depends on the kernel (modules, mitigations) is compared only among "
        "nodes with the same kernel.",
    ),
    Rule(
        kind=FindingKind.KERNEL_PARAMETERS_DIFFER,
        order=360,
        look=items_differ(parameters),
        remedy="Boot all nodes with the same parameters (grubby, or the image's boot parameters), then restart this "
        "one: its last start may have been before a change, or from another entry of its boot menu.",
    ),
    Rule(
        kind=FindingKind.SCHEDULER_GRANULARITY_DIFFERS,
        order=370,
        look=items_differ(scheduler_settings),
        remedy="Set it as on the other nodes (/sys/kernel/debug/sched, or kernel.sched_* on kernels up to 5.12) and "
        "find out what sets it: a tuned profile, sap or database tuning, sysctl.d. Otherwise daemons take a core from "
        "a rank for longer.",
    ),
    Rule(
        kind=FindingKind.SYSCTL_DIFFERS,
        order=380,
        look=items_differ(sysctls),
        remedy="Set it as on the other nodes (sysctl -w NAME=VALUE, and a file in /etc/sysctl.d), and find out why "
        "this node lacks it: sysctl --system shows which file sets what.",
    ),
    Rule(
        kind=FindingKind.BIOS_DIFFERS,
        order=420,
        look=items_differ(firmware_versions),
        remedy="Bring all nodes of this model to the same version, and check the BIOS settings afterwards: a new "
        "version or a new board starts with its vendor's defaults.",
    ),
    Rule(
        kind=FindingKind.MODULE_VERSION_DIFFERS,
        order=450,
        look=items_differ(module_versions, groups=peers_with_same(lambda facts: facts.kernel)),
        remedy="Install the same driver package on all nodes (OFED, the GPU's, the file system's) and reload it, or "
        "restart: the loaded module may be older than the installed one (compare modinfo with /sys/module).",
    ),
)
