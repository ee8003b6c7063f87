"""1,000 recorded nodes, parsed, compared and judged by one process: processor seconds of each phase, and memory.

The collector reads one made-up node (`made_up_node.py`); what commands would say on it is put in; then each node gets
a name, a boot, counters, temperatures and frequencies of its own, and three nodes a planted fault. Exit status 1: a
planted fault was not found, or more than the time or memory allowed was needed.
"""

import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import made_up_node
from made_up_commands import OUTPUTS, hwloc_xml

from seatrial.drift.comparison import FactDifference, drift
from seatrial.launch.collector import collector
from seatrial.model.facts import NodeFacts
from seatrial.node.node import parse_facts
from seatrial.process.process import run
from seatrial.rules.base import Readings
from seatrial.rules.catalogue import fact_findings

Result = TypeVar("Result")

NODES = 1000
ALLOWED_S, ALLOWED_BYTES = 5.0, 1e9
PLANTED = {
    137: ("hcas.mlx5_0.ports.1.rate_text", "200 Gb/sec (4X HDR)", "100 Gb/sec (2X HDR)"),
    512: ("settings.sysctls.kernel.numa_balancing", "numa_balancing|0", "numa_balancing|1"),
    777: ("system.firmware.bios_version", "bios_version|2.14.1", "bios_version|2.8.4"),
}
"""Node -> the fact that it has otherwise, the text of it, and what stands there instead."""


def recorded(*, with_hwloc: bool) -> str:
    """The stream of the made-up node, with what commands say on such a node."""
    with tempfile.TemporaryDirectory() as folder:
        made_up_node.write(Path(folder))
        done = run(["sh", "-s"], timeout_s=60, stdin=collector(), extra_environment={"SEATRIAL_SYSROOT": folder})
    text = done.stdout
    for command, (status, output) in {**OUTPUTS, **(hwloc_xml() if with_hwloc else {})}.items():
        block = "\n".join([f"@command {command}", *(f"|{line}" for line in output.splitlines()), f"@end {status}\n"])
        reasons = [f"@absent {command}|{why}\n" for why in ("recorded machine", "recorded or overlaid machine")]
        found = next((line for line in reasons if line in text), "")
        if not found:
            sys.exit(f"the collector did not ask for {command}")
        text = text.replace(found, block, 1)
    return text


def stream(template: str, number: int) -> str:
    """The stream of one node."""
    chance = random.Random(number)

    def fill(mark: str) -> str:
        if mark.startswith("7100"):
            return str(chance.randrange(2_400_000, 3_500_000))
        return str(chance.randrange(40_000, 70_000) if len(mark) == 5 else chance.randrange(10**9))

    text = made_up_node.MARKS.sub(lambda match: fill(match[0]), template)
    text = text.replace(made_up_node.HOSTNAME, f"n{number}").replace(made_up_node.BOOT_ID, f"{chance.random():.12f}")
    text = text.replace(made_up_node.LID, hex(number)).replace(made_up_node.BOOTED, str(1_700_000_000 + number))
    text = text.replace(made_up_node.SECOND_LID, hex(0x4000 + number))
    if number in PLANTED:
        _, usual, odd = PLANTED[number]
        if usual not in text:
            sys.exit(f"nothing to plant a fault in: {usual}")
        text = text.replace(usual, odd, 1)
    return text


def timed(what: str, work: Callable[[], Result]) -> tuple[float, Result]:
    """Seconds of the work, printed, and what came of it."""
    begin = time.process_time()
    result = work()
    seconds = time.process_time() - begin
    print(f"  {what:24} {seconds:6.2f} s")
    return seconds, result


def parsed(template: str) -> tuple[float, dict[str, NodeFacts]]:
    """Seconds of parsing alone, without making the streams up, and all nodes' facts."""
    facts, seconds = {}, 0.0
    for number in range(NODES):
        text = stream(template, number)
        begin = time.process_time()
        facts[f"n{number}"] = parse_facts(text)
        seconds += time.process_time() - begin
    print(f"  {'parse':24} {seconds:6.2f} s")
    return seconds, facts


def judged(facts: dict[str, NodeFacts]) -> tuple[float, int]:
    """Seconds of the rules, and how many findings they made."""
    seconds, findings = timed("rules", lambda: fact_findings(Readings(facts=facts)))
    return seconds, len(findings)


def not_found(differences: Sequence[FactDifference]) -> list[str]:
    """The planted faults that no difference tells of the right node alone."""
    told = {fact: each.odd for each in differences for fact in (each.fact, *each.along_with)}
    return [f"{fact} on n{number}" for number, (fact, *_) in PLANTED.items() if told.get(fact) != (f"n{number}",)]


def measure(*, with_hwloc: bool) -> bool:
    """One round; whether it found what was planted, in the time and the memory allowed."""
    template = recorded(with_hwloc=with_hwloc)
    told_by = "hwloc's XML" if with_hwloc else "sysfs"
    node = f"{made_up_node.PROCESSORS} processors, {len(template) / 1e3:.0f} kB each"
    print(f"\n{NODES} nodes of {node}; topology by {told_by}")
    parse_s, facts = parsed(template)
    compare_s, differences = timed("compare", lambda: drift(facts))
    rules_s, findings = judged(facts)
    total_s = parse_s + compare_s + rules_s
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"  {'together':24} {total_s:6.2f} s (allowed {ALLOWED_S:g}), at most {peak_bytes / 1e6:.0f} MB")
    print(f"  {len(differences)} differences, {findings} findings; first:")
    for difference in differences[: len(PLANTED)]:
        print(f"    {difference.fact} on {', '.join(difference.odd[:3])}")
    missed = not_found(differences)
    for fault in missed:
        print(f"  not found: {fault}")
    return not missed and total_s <= ALLOWED_S and peak_bytes <= ALLOWED_BYTES


def main() -> None:
    """Both ways in which a node tells its topology."""
    good = [measure(with_hwloc=with_hwloc) for with_hwloc in (False, True)]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
