"""Rules about processors: frequency, power, cores, SMT, idle states, microcode and mitigations."""

from collections.abc import Iterator
from operator import lt

import msgspec

from seatrial.drift.peer_groups import growth, lone_machines
from seatrial.model.facts import NodeFacts, ProcessorFacts
from seatrial.model.verdict import FindingKind
from seatrial.model.words import count
from seatrial.rules.base import LONGEST_BRIEF, Readings, Rule, Violation, on_each_node
from seatrial.rules.kernel import SMT_MODES, promised
from seatrial.rules.peers import differs, items_differ, peers_with_same

BEST_GOVERNOR = "performance"
HARDWARE_CHOOSES = ("intel_pstate", "amd-pstate-epp", "amd_pstate_epp", "")
"""Drivers in active mode: the processor itself chooses its frequency and only receives a preference; "powersave" does
not mean the lowest frequency there (kernel: admin-guide/pm/intel_pstate, amd-pstate). In passive mode the drivers have
other names: intel_cpufreq, amd-pstate. An unknown driver gets the benefit of the doubt."""

BOOST_IN_MAXIMUM = "acpi-cpufreq"
"""A driver whose cpuinfo_max_freq is the boost frequency from Linux 5.11 on, while scaling_max_freq never exceeds the
highest P-state, from which the processor boosts by itself."""

ALLOWED_SHARE = 0.95
"""Steps of 100 MHz and rounding in firmware tables stay within a twentieth."""

MOST_WATTS = 1e6
"""Larger power limits mean that there is none."""


def slow_governors(node: str, facts: NodeFacts) -> Iterator[Violation]:
    """Every governor but performance, unless the hardware chooses the frequency and prefers performance."""
    processor = facts.processor
    slow = {name: count for name, count in processor.governors.items() if name and name != BEST_GOVERNOR and count}
    if slow and not hardware_prefers_performance(processor):
        total = sum(processor.governors.values())
        clause = " and ".join(f"governor {name} on {count} of {total} processors" for name, count in slow.items())
        if processor.energy_preferences:
            clause += f", energy preference {', '.join(processor.energy_preferences)}"
        details = (total, tuple(slow.items()), tuple(processor.energy_preferences))
        brief = f"governor {' and '.join(slow)}, energy preference {', '.join(processor.energy_preferences)}"
        brief = brief if len(clause) > LONGEST_BRIEF else ""
        yield Violation(node=node, clause=clause, key=frozenset(slow), details=details, brief=brief)


def hardware_prefers_performance(facts: ProcessorFacts) -> bool:
    """powersave in active mode with the energy preference performance is as fast as the governor performance."""
    return (
        facts.frequency_driver in HARDWARE_CHOOSES
        and set(facts.governors) <= {"powersave", BEST_GOVERNOR}
        and set(facts.energy_preferences) == {BEST_GOVERNOR}
    )


def capped_frequencies(readings: Readings) -> Iterator[Violation]:
    """scaling_max_freq against what the processor can, processor by processor; else against the peers' lowest."""
    for node, facts in readings.facts.items():
        if capped := capped_processors(facts.processor):
            allowed, able = min(capped)
            total = len(facts.processor.maximum_hz)
            clause = f"{len(capped)} of {total} processors may run at {ghz(allowed)} at most and can at {ghz(able)}"
            yield Violation(node=node, clause=clause, key=(allowed, able), details=(len(capped), total))
    yield from lower_than_peers(readings)


def capped_processors(facts: ProcessorFacts) -> list[tuple[float, float]]:
    """Allowed and possible frequency of each capped processor, in Hz; none where the possible one is unknown."""
    if len(facts.maximum_hz) != len(facts.hardware_maximum_hz):
        return []
    base = (facts.base_hz or 0.0,) * len(facts.maximum_hz)
    reachable = base if only_base_is_comparable(facts) else facts.hardware_maximum_hz
    return [
        (allowed, able)
        for allowed, able in zip(facts.maximum_hz, reachable, strict=True)
        if 0 < allowed < ALLOWED_SHARE * able
    ]


def only_base_is_comparable(facts: ProcessorFacts) -> bool:
    """Whether cpuinfo_max_freq is not a frequency that the policy can allow: turbo is off, or the driver leaves the way
    from the highest P-state to the boost frequency to the processor."""
    return facts.turbo is False or (
        facts.frequency_driver == BOOST_IN_MAXIMUM and (facts.turbo is True or facts.base_hz is not None)
    )


def lower_than_peers(readings: Readings) -> Iterator[Violation]:
    """Nodes of unknown base frequency: what most peers with the same driver and turbo allow counts as possible."""
    rule = differs(
        "the highest frequency that its policy allows",
        _lowest_allowed_hz,
        show=ghz,
        worse=lambda own, peers: own < ALLOWED_SHARE * peers,
        groups=peers_with_same(lambda facts: (facts.processor.frequency_driver, facts.processor.turbo)),
    )
    yield from rule(readings)


def _lowest_allowed_hz(facts: NodeFacts) -> float | None:
    processor = facts.processor
    if processor.base_hz or not only_base_is_comparable(processor):
        return None
    return min(processor.maximum_hz, default=None)


def limited_by_quota(node: str, facts: NodeFacts) -> Iterator[Violation]:
    """Control groups that leave less processor time than there are processors to run on."""
    quota = facts.processor.quota_processors
    usable = len(facts.processor.allowed) or facts.processors
    if quota is not None and usable and 0 < quota < usable:
        clause = f"a quota leaves its job the time of {quota:.3g} of {usable} processors"
        yield Violation(node=node, clause=clause, key=(quota, usable))


def ghz(frequency_hz: float) -> str:
    """3.4 GHz."""
    return f"{frequency_hz / 1e9:.3g} GHz"


def throttled(readings: Readings) -> Iterator[Violation]:
    """The growth between two readings: earlier events may be months old."""
    for node, before, after in readings.read_twice():
        if grown := growth(before.processor.throttle_events, after.processor.throttle_events):
            clause = f"its processors were throttled {grown} times for heat during the run"
            yield Violation(node=node, clause=clause, key="throttled", details=grown)


def power_limits(facts: NodeFacts) -> dict[str, int | None]:
    """RAPL domain -> whole watts: the hardware counts in eighths and rounds what was set."""
    return {
        f"the power limit {name}": round(watts)
        for name, watts in facts.system.power_limits_w.items()
        if 0 < watts < MOST_WATTS
    }


def missing_cores(readings: Readings) -> Iterator[Violation]:
    """Cores first; processors only among nodes with as many cores and the same SMT: nothing is reported twice."""
    yield from differs("the number of its cores", lambda facts: facts.cores, worse=lt)(readings)
    yield from items_differ(processor_counts, worse=lt)(readings)


def processor_counts(facts: NodeFacts) -> dict[str, int | None]:
    """Number of processors, under a name that only comparable nodes share."""
    smt = {True: ", SMT on", False: ", SMT off", None: ""}[has_smt(facts)]
    cores = "" if facts.cores is None else f" ({count(facts.cores, 'core')}{smt})"
    return {f"the number of its processors{cores}": facts.processors}


def turbo_disabled(readings: Readings) -> Iterator[Violation]:
    """Turbo is off on a node, and on none of its peers is it on."""
    for group in readings.peers:
        if not any(readings.facts[name].processor.turbo for name in group):
            for name in group:
                processor = readings.facts[name].processor
                if processor.turbo is False:
                    most = f", cores run at {ghz(processor.base_hz)} at most" if processor.base_hz else ""
                    yield Violation(node=name, clause=f"turbo is off{most}", key=processor.base_hz)


def on_or_off(state: bool) -> str:
    """On, off."""
    return "on" if state else "off"


def allowed_idle_states(facts: NodeFacts) -> str | None:
    """The names of the allowed idle states of processor 0, from shallow to deep; None if none are reported."""
    states = facts.processor.idle_states
    return " ".join(state.name for state in states if not state.disabled) or "empty" if states else None


def stepping(facts: NodeFacts) -> tuple[int | None, int | None, int | None]:
    """Family, model and stepping: each stepping has a microcode of its own."""
    return facts.processor.family, facts.processor.model_number, facts.processor.stepping


def mitigations(facts: NodeFacts) -> dict[str, str | None]:
    """Vulnerability -> mitigation, without the part that only follows from SMT being on or off."""
    return {
        f"the mitigation of {name}": "; ".join(
            part for each in words.split(";") if not (part := each.strip()).upper().startswith("SMT")
        )
        for name, words in facts.processor.mitigations.items()
    }


THROTTLED = Rule(
    kind=FindingKind.THROTTLED,
    order=140,
    look=throttled,
    remedy="Check inlet temperature, fans and dust, then the paste under the heat sink, and the BMC's log; compare "
    "the temperatures of the node's neighbours in the rack.",
)


def other_machines(readings: Readings) -> Iterator[Violation]:
    """Nodes that are alone in their peer group among many: no comparison within the group would show them."""
    for lone in lone_machines(readings.facts):
        own, peer = machine_text(readings.facts[lone.node]), machine_text(readings.facts[lone.peer])
        clause = f"1 of {lone.of} is a different machine: {own}, where {lone.peers} have {peer}"
        yield Violation(node=lone.node, clause=clause, key=own)


def machine_text(facts: NodeFacts) -> str:
    """Vendor, product, processor and cores, as far as they are known."""
    firmware = facts.system.firmware
    cores = count(facts.cores, "core") if facts.cores else ""
    return ", ".join(filter(None, (f"{firmware.vendor} {firmware.product}".strip(), facts.cpu_model, cores)))


def has_smt(facts: NodeFacts) -> bool | None:
    """What the kernel says of SMT; kernels that do not say it, by the processors of a core; None: unknown."""
    if facts.processor.smt_active is None and facts.processors and facts.cores:
        return facts.processors > facts.cores
    return facts.processor.smt_active


def unlike_smt(readings: Readings) -> Iterator[Violation]:
    """SMT beside the peers' on nodes whose features promise neither state of it."""
    unpromised = {
        name: facts
        for name, facts in readings.facts.items()
        if not promised(readings.features.get(name, ()), SMT_MODES)
    }
    rule = differs("SMT", has_smt, show=on_or_off)
    yield from rule(msgspec.structs.replace(readings, facts=unpromised, groups=()))


PROCESSORS = (
    Rule(
        kind=FindingKind.MACHINE_DIFFERS,
        order=115,
        look=other_machines,
        knows=lambda facts: bool(facts.cpu_model),
        remedy="Find out whether this node belongs to the others: a wrong host in the list, a replaced board, a "
        "virtual machine beside real ones. Measure it apart if it is meant to be different; every job that uses it "
        "with the others waits for the slower.",
    ),
    Rule(
        kind=FindingKind.GOVERNOR,
        order=120,
        look=on_each_node(slow_governors),
        knows=lambda facts: bool(facts.processor.governors),  # virtual machines have none
        remedy="Set it to performance on all processors and make that survive a restart (cpupower frequency-set -g "
        "performance; tuned-adm profile hpc-compute or latency-performance); if Slurm sets it, check CpuFreqDef.",
    ),
    Rule(
        kind=FindingKind.FREQUENCY_CAPPED,
        order=130,
        look=capped_frequencies,
        knows=lambda facts: bool(facts.processor.maximum_hz and facts.processor.hardware_maximum_hz),
        remedy="Lift the cap (cpupower frequency-set -u MAX) and find out what sets it: a tuned profile, Slurm's "
        "CpuFreqDef, thermald, the BMC's power capping.",
    ),
    Rule(
        kind=FindingKind.PROCESSOR_QUOTA,
        order=135,
        look=on_each_node(limited_by_quota),
        knows=lambda facts: facts.processor.quota_processors is not None,
        remedy="Find the control group that limits it (cpu.max, or cpu.cfs_quota_us, of those that /proc/self/cgroup "
        "of the job names and of all above them), and who set it: CPUQuota= of slurmd.service or a slice, a container, "
        "a site's prolog. Ranks stop whenever the quota is used up, and all others wait for them.",
    ),
    THROTTLED,
    Rule(
        kind=FindingKind.TURBO_OFF,
        order=150,
        look=differs("turbo", lambda facts: facts.processor.turbo, show=on_or_off, worse=lt),
        remedy="Set it as on the other nodes: in the BIOS, or by /sys/devices/system/cpu/intel_pstate/no_turbo or "
        "cpufreq/boost. All nodes off is a choice that a site may make; one node off makes every job wait for it.",
    ),
    Rule(
        kind=FindingKind.POWER_LIMIT_DIFFERS,
        order=160,
        look=items_differ(power_limits, show=lambda watts: f"{watts} W"),
        remedy="Set it as on the other nodes: power profile and cTDP in the BIOS, power capping of the BMC, intel-rapl "
        "in /sys/class/powercap. A lower limit lowers the frequency under load, and nothing else shows it.",
    ),
    Rule(
        kind=FindingKind.CORES_DIFFER,
        order=180,
        look=missing_cores,
        remedy="Find out which processors are offline (/sys/devices/system/cpu/offline) and why: nr_cpus, maxcpus or "
        "isolcpus on the kernel's command line, cores switched off in the BIOS, a processor that the BMC reports as "
        "failed.",
    ),
    Rule(
        kind=FindingKind.SMT_DIFFERS,
        order=320,
        look=unlike_smt,
        remedy="Set it as on the other nodes, in the BIOS or by /sys/devices/system/cpu/smt/control, and compare it "
        "with ThreadsPerCore in slurm.conf: binding by number selects other cores where it differs.",
    ),
    Rule(
        kind=FindingKind.IDLE_STATES_DIFFER,
        order=400,
        look=differs("the set of allowed idle states", allowed_idle_states),
        remedy="Set them as on the other nodes: C-states in the BIOS, intel_idle.max_cstate and processor.max_cstate "
        "on the kernel's command line, the tuned profile. Waking from a deep state takes tens of microseconds, which "
        "delays small messages.",
    ),
    Rule(
        kind=FindingKind.MICROCODE_DIFFERS,
        order=430,
        look=differs("the microcode", lambda facts: facts.processor.microcode, groups=peers_with_same(stepping)),
        remedy="Bring all nodes to the same microcode: the same BIOS, the same microcode package in the image, then "
        "restart. Revisions have changed frequency tables and the cost of mitigations.",
    ),
    Rule(
        kind=FindingKind.MITIGATIONS_DIFFER,
        order=440,
        # another kernel knows other vulnerabilities and describes them in other words
        look=items_differ(mitigations, groups=peers_with_same(lambda facts: facts.kernel)),
        remedy="Start all nodes with the same mitigations= and the same microcode. Mitigations slow down system calls "
        "and interrupts, which shows most in latency over TCP.",
    ),
)

PROCESSOR_NOTES = (
    Rule(
        kind=FindingKind.TURBO_DISABLED,
        order=915,
        look=turbo_disabled,
        knows=lambda facts: facts.processor.turbo is not None,
        remedy="If that is not meant, switch it on: in the BIOS, which loses its settings with its battery or when a "
        "processor is replaced, or by /sys/devices/system/cpu/intel_pstate/no_turbo or cpufreq/boost.",
    ),
)
