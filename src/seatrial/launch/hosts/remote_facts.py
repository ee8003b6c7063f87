"""Facts of hosts over ssh: the collector on each host, by a login of its own. No MPI and no scheduler is needed."""

import time
from collections.abc import Callable, Sequence

from seatrial.failures.entry import why_unreachable
from seatrial.launch.collector import Patience, collector
from seatrial.launch.contract import FactsReading
from seatrial.launch.hosts.reach import each_host
from seatrial.launch.hosts.ssh_argv import ssh_argv
from seatrial.node.frame import CLOSING, OPENING
from seatrial.process.process import run

QUICK = "SEATRIAL_FACTS=quick"
NO_VARIABLE = "SEATRIAL_FACTS="
KEPT_BYTES = 4 << 20
"""Of each output of one login. Facts of a node of a thousand processors are less; of many hosts that babble at the same
time no more than this stays in memory."""


def read_remote_facts(hosts: Sequence[str], *, quick: bool = False) -> FactsReading:
    """The raw facts of each host; a host that does not answer is silent, with the reason and the remedy.

    `quick`: without what takes long (launch.collector.QUICK_FACTS). What a login script prints before is left out.
    """
    text, patience = collector(), Patience()
    command = ["env", QUICK if quick else NO_VARIABLE, "sh", "-s"]

    def read(host: str, give_up: Callable[[bool], bool]) -> tuple[str, str]:
        began = time.monotonic()
        longest_s = patience.longest_s(len(hosts))
        done = run(ssh_argv(host, command), stdin=text, timeout_s=longest_s, kept_bytes=KEPT_BYTES, give_up=give_up)
        start = done.stdout.find(OPENING)
        seen = done.stdout[start:] if start >= 0 else ""
        if f"\n{CLOSING}" in seen:
            patience.took(time.monotonic() - began)
            return seen, ""
        return "", why_unreachable(host, done.stderr, timed_out=done.timed_out, limit_s=longest_s)

    answers = each_host(hosts, read)
    return FactsReading(
        texts={host: seen for host, (seen, _) in answers.items() if seen},
        silent={host: why for host, (seen, why) in answers.items() if not seen},
    )
