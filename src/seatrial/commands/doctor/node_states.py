"""What Slurm says of the nodes: which are down, drained, suspended, reserved or busy; pure."""

from collections.abc import Sequence

from seatrial.model.launching import Obstacle, Remark, blocked, fine, noted
from seatrial.model.node_list import node_list
from seatrial.slurm.text import BROKEN, DRAINED, RESERVED, RESUME_TIMEOUT, NodeLine, partition_lines, why_not

STEP = "nodes"
RESUME = "scontrol update NodeName={nodes} State=RESUME"
Kind = tuple[Obstacle, str]
"""What is the matter, and Slurm's words for it."""
BUSY: Kind = (Obstacle.NO_ROOM, "")


def chosen(lines: Sequence[NodeLine], partition: str, wanted: Sequence[str]) -> tuple[NodeLine, ...]:
    """The nodes asked for, each once; without any those of the partition."""
    mine = partition_lines(lines, partition)
    if not wanted:
        return mine
    by_name = {line.node: line for line in (*lines, *mine)}
    return tuple(by_name[name] for name in wanted if name in by_name)


def kind_of(line: NodeLine) -> Kind | None:
    """What is the matter with a node that is not simply free; None for one that is."""
    if line.idle:
        return None
    words = why_not(line).reason.removeprefix("Slurm says ")
    kinds = (
        (line.suspended or line.falling_asleep, Obstacle.NODE_SUSPENDED),
        (line.state in BROKEN or "*" in line.flags, Obstacle.NODE_DOWN),
        (line.state in DRAINED, Obstacle.NODE_DRAINED),
        (line.state in RESERVED or "$" in line.flags, Obstacle.NODE_RESERVED),
        (line.busy or line.completing, Obstacle.NO_ROOM),
    )
    found = next((obstacle for holds, obstacle in kinds if holds), Obstacle.NODE_OTHERWISE)
    return BUSY if found is Obstacle.NO_ROOM else (found, words)


def judge_nodes(
    lines: Sequence[NodeLine], partition: str, wanted: Sequence[str], *, jobs: int, resume_s: str = ""
) -> list[Remark]:
    """A remark for each way in which nodes are not free, down ones first.

    Drained and reserved ones are in the way where they were asked for, and where no two others are left to wait for.
    `jobs`: how many jobs run on the cluster now; `resume_s`: Slurm's ResumeTimeout as it says it.
    """
    some = chosen(lines, partition, wanted)
    groups: dict[Kind, list[str]] = {}
    for line in some:
        kind = kind_of(line)
        if kind is not None:
            groups.setdefault(kind, []).append(line.node)
    may_be_had = [line for line in some if kind_of(line) in (None, BUSY) or line.suspended or line.falling_asleep]
    in_the_way = bool(wanted) or len(may_be_had) < min(len(some), 2)
    order = list(Obstacle)
    remarks = [
        _remark(kind, nodes, in_the_way, len(some), jobs, resume_s)
        for kind, nodes in sorted(groups.items(), key=lambda one: order.index(one[0][0]))
    ]
    free = [line.node for line in some if line.idle]
    if free:
        remarks.insert(0, fine(STEP, f"{node_list(free)} {_is(free)} idle."))
    return remarks


def _remark(kind: Kind, nodes: list[str], in_the_way: bool, all_nodes: int, jobs: int, resume_s: str) -> Remark:
    obstacle, words = kind
    names = node_list(nodes)
    subject = f"{names} {_is(nodes)}"
    weigh = blocked if in_the_way else noted
    match obstacle:
        case Obstacle.NODE_DOWN:
            look = "Look whether they answer and slurmd runs there"
            look = "Look into the log of the site's ResumeProgram" if RESUME_TIMEOUT in words else look
            remedy = f"{look}; then {RESUME.format(nodes=names)}."
            return blocked(STEP, obstacle, f"{subject} down: Slurm says {words}.", remedy)
        case Obstacle.NODE_DRAINED:
            remedy = f"Once what was wrong is repaired: {RESUME.format(nodes=names)}."
            return weigh(STEP, obstacle, f"{subject} taken out of service: Slurm says {words}.", remedy)
        case Obstacle.NODE_SUSPENDED:
            within = f", within {resume_s} (ResumeTimeout)" if resume_s else ""
            says = (
                f"{subject} suspended to save power: Slurm says {words}. An allocation wakes {_them(nodes)}{within} "
                f"and keeps {_them(nodes)} awake while it lasts; afterwards it is Slurm's affair again."
            )
            return noted(STEP, obstacle, says, "Nothing; give --wait that much more.")
        case Obstacle.NODE_RESERVED:
            remedy = "scontrol show reservation says for whom and until when; with it, set SALLOC_RESERVATION."
            return weigh(STEP, obstacle, f"{subject} reserved: Slurm says {words}.", remedy)
        case Obstacle.NO_ROOM:
            run = "1 job runs" if jobs == 1 else f"{jobs} jobs run"
            says = f"{len(nodes)} of {all_nodes} nodes {_is(nodes)} in use ({run} on the cluster)."
            return noted(STEP, obstacle, says, "They are left alone; those named by --nodes are waited for.")
    return weigh(STEP, obstacle, f"{subject} not to be had: Slurm says {words}.", "scontrol show node tells more.")


def _is(nodes: Sequence[str]) -> str:
    return "is" if len(nodes) == 1 else "are"


def _them(nodes: Sequence[str]) -> str:
    return "it" if len(nodes) == 1 else "them"
