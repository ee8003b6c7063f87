"""Rules fed with what the collector prints: one node of four has one line otherwise, and is named for it.

The stream is that of a made-up node of 128 processors (bench/made_up_node.py), read by the real collector from a tree
of files; a line is changed as the fault would change it on a real node.
"""

import re
import sys
from collections.abc import Callable, Iterator

import pytest

from seatrial.model.facts import NodeFacts
from seatrial.node.node import parse_facts
from seatrial.rules.base import Readings
from seatrial.rules.catalogue import RULES, fact_findings
from tests.support.paths import ROOT

BENCH = ROOT / "bench"
WIDTHS, SLOT = "16\t4\t4\t16\t8\t16\t4\t4\t16", "{0}\t4\t4\t16\t8\t{0}\t4\t4\t16"
LUSTRE = re.compile(r"\|[^\n]* /scratch lustre [^\n]*\n")

PLANTED: dict[str, tuple[tuple[str, str], ...]] = {
    "governor": (("scaling_governor|performance", "scaling_governor|powersave"),),
    "turbo-off": (("cpufreq/boost|1", "cpufreq/boost|0"),),
    "smt-differs": (("smt/active|1", "smt/active|0"),),
    "cores-differ": (("cpu/online|0-127", "cpu/online|0-119"),),
    "microcode-differs": (("microcode\t: 0xa0011d1", "microcode\t: 0xa001173"),),
    "mitigations-differ": (("retbleed|Not affected", "retbleed|Vulnerable"),),
    "idle-states-differ": (("disable|0\t0\t0", "disable|0\t0\t1"),),
    "kernel-differs": (("osrelease|5.14.0-362.24.1", "osrelease|5.14.0-362.8.1"),),
    "kernel-parameters-differ": (("mitigations=auto console", "mitigations=off console"),),
    "scheduler-granularity-differs": (("min_granularity_ns|10000000", "min_granularity_ns|3000000"),),
    "sysctl-differs": (("vm/zone_reclaim_mode|0", "vm/zone_reclaim_mode|1"),),
    "huge-pages-differ": (("always [madvise] never", "[always] madvise never"),),
    "memory-differs": (("MemTotal: 536870912 kB", "MemTotal: 503316480 kB"),),
    "memory-channel-empty": (("32 GB\n|Locator: P0_DIMM_H1", "No Module Installed\n|Locator: P0_DIMM_H1"),),
    "memory-slow": (("Configured Memory Speed: 3200 MT/s", "Configured Memory Speed: 2933 MT/s"),),
    "mtu-differs": (("eno1/mtu|9000", "eno1/mtu|1500"),),
    "interface-speed-differs": (("eno1/speed|25000", "eno1/speed|10000"), ("eno2/speed|25000", "eno2/speed|10000")),
    "half-duplex": (("eno1/duplex|full", "eno1/duplex|half"),),
    "port-rate-differs": (("1/rate|200 Gb/sec (4X HDR)", "1/rate|100 Gb/sec (2X HDR)"),),
    "port-down": (("1/state|4: ACTIVE", "1/state|1: DOWN"), ("phys_state|5: LinkUp", "phys_state|2: Polling")),
    "no-subnet-manager": (("1/state|4: ACTIVE", "1/state|2: INIT"),),
    "hca-firmware-differs": (("fw_ver|20.35.3006", "fw_ver|20.31.1014"),),
    "hca-missing": (("infiniband/*|mlx5_0 mlx5_1", "infiniband/*|mlx5_0"),),
    "pcie-link-degraded": ((f"current_link_width|8\t8\t{WIDTHS}", f"current_link_width|8\t8\t{SLOT.format(8)}"),),
    "pcie-starves-port": (
        (f"current_link_width|8\t8\t{WIDTHS}", f"current_link_width|8\t8\t{SLOT.format(4)}"),
        (f"max_link_width|8\t8\t{WIDTHS}", f"max_link_width|8\t8\t{WIDTHS}".replace("8\t16\t4\t4", "8\t4\t4\t4")),
    ),
    "bios-differs": (("bios_version|2.14.1", "bios_version|2.8.4"),),
    "clock-unsynchronised": (("Leap status     : Normal", "Leap status     : Not synchronised"),),
    "clock-source-differs": (("current_clocksource|tsc", "current_clocksource|hpet"),),
    "mount-options-differ": (("/home nfs4 rw,relatime,vers=4.2", "/home nfs4 rw,relatime,vers=3"),),
    "mount-dead": (("@command uname -m\n", "@value mount /home|no answer\n@command uname -m\n"),),
    "memlock-too-small": (("locked memory         unlimited ", "locked memory         65536     "),),
    "software-differs": (("mpirun (Open MPI) 4.1.6", "mpirun (Open MPI) 4.1.4"),),
}
"""Kind of finding -> what stands in the stream, and what the fault makes of it."""

COMPANY: dict[str, set[str]] = {"no-subnet-manager": {"port-down"}, "memory-channel-empty": {"memory-differs"}}
"""What else may rightly be said of the same node."""


@pytest.fixture(scope="module")
def node() -> Iterator[Callable[[int], str]]:
    """The stream of node number so and so."""
    sys.path.insert(0, str(BENCH))
    try:
        from facts_of_1000_nodes import recorded, stream  # type: ignore[import-not-found]

        template = recorded(with_hwloc=False)
        yield lambda number: stream(template, number)
    finally:
        sys.path.remove(str(BENCH))


def changed(text: str, plants: tuple[tuple[str, str], ...]) -> str:
    for usual, odd in plants:
        assert usual in text, usual
        text = text.replace(usual, odd, 1)
    return text


def found(facts: dict[str, NodeFacts], after: dict[str, NodeFacts] | None = None) -> set[tuple[str, str]]:
    return {(one.kind, one.subject.text) for one in fact_findings(Readings(facts=facts, after=after or {}))}


def cluster(node: Callable[[int], str], second: str = "") -> dict[str, NodeFacts]:
    texts = {f"n{number}": node(number) for number in (1, 2, 3, 4)}
    return {name: parse_facts(second if second and name == "n2" else text) for name, text in texts.items()}


def test_a_quiet_cluster_names_no_node(node: Callable[[int], str]) -> None:
    assert not [subject for _, subject in found(cluster(node)) if subject.startswith("node:")]


@pytest.mark.parametrize("kind", PLANTED)
def test_one_line_otherwise_names_the_node_and_nothing_else(node: Callable[[int], str], kind: str) -> None:
    assert kind in {rule.kind for rule in RULES}
    odd = found(cluster(node, changed(node(2), PLANTED[kind]))) - found(cluster(node))
    assert (kind, "node:n2") in odd
    assert {name for name, _ in odd} <= {kind, *COMPANY.get(kind, set())}
    assert {subject for _, subject in odd} == {"node:n2"}


def test_a_file_system_that_is_gone(node: Callable[[int], str]) -> None:
    text = LUSTRE.sub("", node(2), count=1)
    assert found(cluster(node, text)) - found(cluster(node)) == {("mount-missing", "node:n2")}


def test_error_counters_that_rise_between_two_readings(node: Callable[[int], str]) -> None:
    before = cluster(node)
    risen = re.sub(r"(counters/symbol_error\|)(\d+)", lambda at: f"{at[1]}{int(at[2]) + 5}", node(2), count=1)
    assert found(before, cluster(node)) == found(before)
    assert found(before, cluster(node, risen)) - found(before) == {("error-counters-rising", "node:n2")}
