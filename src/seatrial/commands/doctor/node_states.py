"""Node states reported by Slurm: down, drained, suspended, reserved or busy."""

from collections.abc import Sequence
from functools import partial

from seatrial.model.launching import blocked, fine, noted
from seatrial.model.node_list import node_list
from seatrial.model.subject import CLUSTER, node
from seatrial.model.verdict import Finding, FindingKind
from seatrial.model.words import by_text, count, verb
from seatrial.slurm.text import BROKEN, DRAINED, RESERVED, RESUME_TIMEOUT, NodeLine, partition_lines, state_words

STEP = "nodes"
RESUME = "scontrol update NodeName={nodes} State=RESUME"
Kind = tuple[FindingKind, str]
"""The obstacle, and the state in Slurm's words."""
BUSY: Kind = (FindingKind.NO_ROOM, "")


def selected_nodes(lines: Sequence[NodeLine], partition: str, wanted: Sequence[str]) -> tuple[NodeLine, ...]:
    """The nodes asked for, each once; without any those of the partition."""
    mine = partition_lines(lines, partition)
    if not wanted:
        return mine
    by_name = {line.node: line for line in (*lines, *mine)}
    return tuple(by_name[name] for name in wanted if name in by_name)


def kind_of(line: NodeLine) -> Kind | None:
    """The obstacle of a node that is not free; None for a free node."""
    if line.idle:
        return None
    words = state_words(line)
    kinds = (
        (line.suspended or line.falling_asleep, FindingKind.NODE_SUSPENDED),
        (line.state in BROKEN or "*" in line.flags, FindingKind.NODE_DOWN),
        (line.state in DRAINED, FindingKind.NODE_DRAINED),
        (line.state in RESERVED or "$" in line.flags, FindingKind.NODE_RESERVED),
        (line.busy or line.completing, FindingKind.NO_ROOM),
    )
    found = next((obstacle for holds, obstacle in kinds if holds), FindingKind.NODE_OTHERWISE)
    return BUSY if found is FindingKind.NO_ROOM else (found, words)


def judge_nodes(
    lines: Sequence[NodeLine], partition: str, wanted: Sequence[str], *, jobs: int, resume_s: str = ""
) -> list[Finding]:
    """A remark for each obstacle, down nodes first.

    Nodes out of service block a launch if they were asked for, or if fewer than two other nodes are left.
    `jobs`: the number of jobs that run on the cluster; `resume_s`: Slurm's ResumeTimeout as Slurm prints it.
    """
    some = selected_nodes(lines, partition, wanted)
    groups = by_text((line.node, kind) for line in some if (kind := kind_of(line)) is not None)
    may_be_had = [line for line in some if kind_of(line) in (None, BUSY) or line.suspended or line.falling_asleep]
    in_the_way = bool(wanted) or len(may_be_had) < min(len(some), 2)
    order = list(FindingKind)
    remarks = [
        _remark(kind, nodes, in_the_way, len(some), jobs, resume_s)
        for kind, nodes in sorted(groups.items(), key=lambda one: order.index(one[0][0]))
    ]
    free = [line.node for line in some if line.idle]
    if free:
        remarks.insert(0, fine(STEP, f"{node_list(free)} {verb(len(free))} idle."))
    return remarks


def _remark(kind: Kind, nodes: list[str], in_the_way: bool, all_nodes: int, jobs: int, resume_s: str) -> Finding:
    obstacle, words = kind
    names = node_list(nodes)
    subject, them = f"{names} {verb(len(nodes))}", verb(len(nodes), "it", "them")
    note = partial(noted, subject=node(nodes[0]) if len(nodes) == 1 else CLUSTER)
    weigh = partial(blocked, **note.keywords) if in_the_way else note
    match obstacle:
        case FindingKind.NODE_DOWN:
            look = "Check whether they answer and slurmd runs there"
            look = "Read the log of the site's ResumeProgram" if RESUME_TIMEOUT in words else look
            remedy = f"{look}; then {RESUME.format(nodes=names)}."
            return weigh(STEP, obstacle, f"{subject} down: Slurm says {words}.", remedy)
        case FindingKind.NODE_DRAINED:
            remedy = f"After repairing what was wrong: {RESUME.format(nodes=names)}."
            return weigh(STEP, obstacle, f"{subject} taken out of service: Slurm says {words}.", remedy)
        case FindingKind.NODE_SUSPENDED:
            within = f", within {resume_s} (ResumeTimeout)" if resume_s else ""
            says = (
                f"{subject} suspended to save power: Slurm says {words}. An allocation wakes {them}{within} "
                f"and keeps {them} awake while it lasts; afterwards Slurm decides again."
            )
            return note(STEP, obstacle, says, "Nothing; give --wait that much more.")
        case FindingKind.NODE_RESERVED:
            remedy = "scontrol show reservation says for whom and until when; with it, set SALLOC_RESERVATION."
            return weigh(STEP, obstacle, f"{subject} reserved: Slurm says {words}.", remedy)
        case FindingKind.NO_ROOM:
            run = f"{count(jobs, 'job')} {verb(jobs, 'runs', 'run')}"
            says = f"{len(nodes)} of {all_nodes} nodes {verb(len(nodes))} in use ({run} on the cluster)."
            return note(STEP, obstacle, says, "They are skipped; nodes named by --nodes are waited for.")
    return weigh(STEP, obstacle, f"{subject} not available: Slurm says {words}.", "scontrol show node shows more.")
