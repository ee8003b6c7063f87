"""Whether there are nodes enough to measure a pair; if not, why, and what to do."""

import os
import re
from collections.abc import Iterable

from seatrial.driver.settings import CheckSettings
from seatrial.launch.contract import Hosts
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.node_list import node_list
from seatrial.model.run import NodeState
from seatrial.model.words import by_text
from seatrial.slurm.text import BUSY

FEWEST = 2
MOST_REASONS = 4


def enough(hosts: Hosts, settings: CheckSettings) -> tuple[str, ...]:
    """The nodes to measure. Raises an error that says why where there are not two of them."""
    left_out = {state.node for state in hosts.left_out}
    nodes = tuple(node for node in hosts.nodes if node not in left_out)
    if len(nodes) >= FEWEST:
        return nodes
    why = grouped(hosts.left_out)
    there = f"There is only one node to measure ({nodes[0]})" if nodes else "There is no node to measure"
    what = f"{there}, and a pair needs two{f' ({why})' if why else ''}."
    if len(settings.nodes) == 1:
        raise UsageError(what, "Name at least two with --nodes.")
    raise SeatrialError(what, _remedy(hosts, settings))


def grouped(states: Iterable[NodeState]) -> str:
    """`n[1-3]: Slurm says down; n4: ...`: each reason once, with the nodes that have it."""
    reasons = by_text((state.node, state.reason) for state in states)
    told = [f"{node_list(nodes)}: {reason}" for reason, nodes in reasons.items()]
    return "; ".join([*told[:MOST_REASONS], *(["..."] if len(told) > MOST_REASONS else [])])


def _remedy(hosts: Hosts, settings: CheckSettings) -> str:
    if settings.idle_only and settings.nodes:
        return "Wait until they are free, or stand in the queue for them: without --idle-only."
    if any(_busy(state) for state in hosts.left_out):
        return "Wait for idle nodes, or name busy ones with --nodes."
    if hosts.left_out:
        return "`seatrial doctor` tells what to do about each; or name others with --nodes."
    if os.environ.get("SLURM_JOB_ID"):
        return "Start it in a job of two nodes or more, or outside of any job."
    return "Choose a partition of two nodes or more by --partition; sinfo lists them."


def _busy(state: NodeState) -> bool:
    return bool(BUSY & set(re.findall(r"\w+", state.reason.partition("(")[0])))
