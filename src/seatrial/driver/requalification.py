"""Nodes to requalify: which wait for it, which an administrator keeps out, and what has become of them."""

import enum
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from seatrial.archive.gate import ask_gate
from seatrial.driver.returning import WAITING
from seatrial.model.gate import FOREIGN_CHARACTER, MOST_TEXT, OURS, GatePolicy, Step
from seatrial.model.words import natural_sorted
from seatrial.process.process import run
from seatrial.slurm import argv, text
from seatrial.slurm.census import EPOCH
from seatrial.slurm.presence import COMMAND_TIMEOUT_S, answer, asked, is_here
from seatrial.slurm.queue import parse_boots
from seatrial.slurm.text import NodeLine

REQUALIFIED = f"{OURS}requalified"
"""Reason of a good node between its measurement and the gate's answer."""


class Act(enum.StrEnum):
    """What has become of a node, to follow its name."""

    RESUMED = "resumed"
    DRAINED = "drained"
    KEPT = "kept"
    """Out of service, as before."""
    SERVES = "stays in service"


def node_states(names: Sequence[str]) -> dict[str, NodeLine]:
    """The nodes as Slurm has them; nothing where there is no Slurm. Raises LaunchError where it does not answer."""
    return {line.node: line for line in text.parse_sinfo(answer(asked(argv.state_of(names))))} if is_here() else {}


def administrators(states: Mapping[str, NodeLine]) -> dict[str, str]:
    """Nodes that somebody else has drained, and why: they stay out, whatever would be measured."""
    return {
        name: f"{line.state}: {line.reason}"
        for name, line in states.items()
        if line.state in text.DRAINED and line.state != "inval" and not line.reason.startswith((OURS, WAITING))
    }


def ask(policy: GatePolicy, decided: Mapping[str, str], leave: Callable[[], None]) -> dict[str, str]:
    """Let the gate resume or drain the nodes after the verdicts that `leave` leaves for it; its answer for each.

    `decided`: what is wrong with each node, empty for a good one. A node that waits no longer does: its drain becomes
    one that the gate may end, which must not see an older good verdict then.
    """
    waited = [name for name, line in node_states(tuple(decided)).items() if _waits(line)] if decided else []
    _take_over({name: REQUALIFIED for name in waited if not decided[name]})
    leave()
    _take_over({name: OURS + FOREIGN_CHARACTER.sub("_", decided[name])[:MOST_TEXT] for name in waited if decided[name]})
    return {name: ask_gate(policy, name, Step.DRAIN).text for name in decided}


def _take_over(reasons: Mapping[str, str]) -> None:
    for name, reason in reasons.items():
        run(argv.drain(name, reason), timeout_s=COMMAND_TIMEOUT_S)


def acts(before: Mapping[str, NodeLine], after: Mapping[str, NodeLine]) -> dict[str, Act]:
    """What changed between two states of the nodes; of those alone that Slurm knows."""
    words = {(True, False): Act.RESUMED, (False, True): Act.DRAINED, (True, True): Act.KEPT, (False, False): Act.SERVES}
    return {name: words[before[name].out_of_service, after[name].out_of_service] for name in before if name in after}


def _waits(line: NodeLine) -> bool:
    """Whether the node is to be requalified, or was, and whoever did that ended before the gate could answer."""
    return line.out_of_service and (line.reason.startswith(WAITING) or line.reason == REQUALIFIED)


def waiting_nodes(judged: Mapping[str, str]) -> tuple[str, ...]:
    """Free nodes that are out of service until they are requalified, or that started again since a run judged them.

    `judged`: when that was, by node, in ISO 8601. Raises LaunchError where Slurm does not answer.
    """
    lines = text.parse_sinfo(answer(asked(argv.SINFO)))
    lines = tuple(line for line in lines if not set(line.flags) - {"+", "$"} and line.state not in text.DRAINING)
    names = {line.node for line in lines if _waits(line)}
    able = {line.node for line in lines if line.idle or (line.out_of_service and line.reason.startswith(OURS))}
    shown = run(argv.SHOW_NODES, timeout_s=COMMAND_TIMEOUT_S, extra_environment=EPOCH)
    for name, booted_s in parse_boots(answer(shown)).items():
        if name in able & judged.keys() and booted_s > datetime.fromisoformat(judged[name]).timestamp():
            names.add(name)
    return tuple(natural_sorted(names))
