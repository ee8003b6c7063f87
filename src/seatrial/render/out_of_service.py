"""Lines ready to paste that take nodes of a Slurm cluster out of service, or back into it."""

import re
from collections.abc import Iterator, Sequence

from seatrial.model.node_list import node_list
from seatrial.model.run import RunInfo
from seatrial.model.subject import SubjectKind
from seatrial.model.verdict import Finding
from seatrial.model.words import some
from seatrial.render.finding_text import brief
from seatrial.render.report import Copy

NODE = re.compile(r"[\w.-]+", re.ASCII)
UNSAFE = re.compile(r"[^\w .,:;%/+<>=()\[\]'-]")
"""What a shell or Slurm might read as more than text between double quotes; reasons name things from outside."""
OUT = "Out of service"
MOST_FAULTS = 3
MOST_NODES = 20


def drain_line(node: str, findings: Sequence[Finding]) -> str:
    """`scontrol update NodeName=n3 State=DRAIN Reason="seatrial: link at 60 % of its limit"`."""
    reason = UNSAFE.sub("", some([brief(finding) for finding in findings], MOST_FAULTS))
    return f'scontrol update NodeName={node} State=DRAIN Reason="seatrial: {reason}"'


def back_line(nodes: Sequence[str]) -> str:
    """`scontrol update NodeName=n[3-4] State=RESUME`."""
    return f"scontrol update NodeName={node_list(nodes)} State=RESUME"


def drain_of(finding: Finding, run: RunInfo | None) -> str:
    """The line that takes the node of a finding out of service; empty for other subjects, and without Slurm."""
    of_node = finding.at_fault and finding.subject.kind is SubjectKind.NODE and NODE.fullmatch(finding.subject.name)
    return drain_line(finding.subject.name, [finding]) if of_node and run is not None and run.cluster else ""


def out_of_service(run: RunInfo, findings: Sequence[Finding]) -> Iterator[Copy]:
    """A line for each node that a finding names, with all its faults; nothing without Slurm."""
    of_node: dict[str, list[Finding]] = {}
    for finding in findings:
        if drain_of(finding, run):
            of_node.setdefault(finding.subject.name, []).append(finding)
    if of_node:
        lines = [drain_line(node, faults) for node, faults in of_node.items()]
        yield Copy(title=OUT, lines=tuple(lines[:MOST_NODES]))
