"""What a table of pairs gave away, as text and as JSON."""

from collections.abc import Sequence

from seatrial.diagnosis.pairwise.classes import Classes
from seatrial.diagnosis.wording import WAYS
from seatrial.model.pair_faults import Located, LocatedFault
from seatrial.model.pair_table import PairTable
from seatrial.model.units import LATENCY, duration, share
from seatrial.model.words import count
from seatrial.report.json_text import finite, json_text
from seatrial.report.outside import clean

MOST = 12


def located_as_text(
    table: PairTable, located: Located, groups: Sequence[Sequence[str]], classes: Classes | None
) -> str:
    """The verdict first; then faults, what is undecided or unstable, classes, and what could not have been seen."""
    if located.faults:
        lines = [f"SLOW  {count(len(located.faults), 'fault')} on {len(table.nodes)} nodes"]
    elif located.ambiguous:
        lines = [
            f"INCONCLUSIVE  {len(located.ambiguous)} slow parts on {len(table.nodes)} nodes that cannot be told apart"
        ]
    else:
        lines = [f"PASS  no fault on {len(table.nodes)} nodes"]
    for number, fault in enumerate(located.faults, 1):
        lines += ["", f"{number}  {clean(fault.subject.text)}", f"   {_statement(fault)}"]
        lines.append(f"   seen in    {clean(', '.join(fault.evidence[:6]))}")
    lines += [""] + [
        f"Undecided: {clean(' or '.join(subject.text for subject in one.subjects))} ({share(one.loss_ratio)})"
        for one in located.ambiguous[:MOST]
    ]
    if located.unstable:
        lines += [f"Unstable pairs ({located.unstable_pairs}):"]
        lines += [f"  {clean(one.subject.name)} {one.metric}: {one.why}" for one in located.unstable[:MOST]]
    if classes:
        sizes = " + ".join(str(len(group)) for group in classes.groups)
        lines.append(
            f"Two distances, {duration(classes.near_s)} and {duration(classes.far_s)}: {sizes} nodes near each other. "
            "That is topology, and no fault."
        )
    lines.append(_design(table, located, groups))
    return "\n".join(line for number, line in enumerate(lines) if line or lines[number - 1]) + "\n"


def _statement(fault: LocatedFault) -> str:
    interval = f"[{share(fault.low)}–{share(fault.high)}]"
    if fault.metric == LATENCY:
        return f"takes {share(fault.loss_ratio)} {interval} longer than its peers, {WAYS[fault.direction]}"
    return f"carries {share(fault.loss_ratio)} {interval} less than its peers, {WAYS[fault.direction]}"


def _design(table: PairTable, located: Located, groups: Sequence[Sequence[str]]) -> str:
    pairs, everything = table.pairs, len(table.nodes) * (len(table.nodes) - 1)
    lines = ", ".join(f"{metric} below {share(line)} of the peers'" for metric, line in located.lines.items())
    said = f"{pairs} of {everything} ordered pairs; bad is {lines or 'nothing: no number was read'}."
    if located.wrongly_left is not None:
        said += f" With one node in ten slow, {located.wrongly_left:.2g} healthy ones would stay unacquitted."
    if len(groups) < 3:
        said += " Uplinks are not looked at with fewer than three groups of nodes."
    return said


def located_as_json(
    table: PairTable, located: Located, groups: Sequence[Sequence[str]], classes: Classes | None, exit_code: int
) -> str:
    """One object: faults, ambiguous, classes, unstable, design, exit_code."""
    found = {
        "exit_code": exit_code,
        "faults": [
            {
                "kind": fault.kind,
                "subject": fault.subject.text,
                "metric": fault.metric,
                "direction": fault.direction.value,
                "loss_ratio": fault.loss_ratio,
                "interval": [fault.low, fault.high],
                "evidence": list(fault.evidence),
            }
            for fault in located.faults
        ],
        "ambiguous": [
            {
                "subjects": [subject.text for subject in one.subjects],
                "metric": one.metric,
                "loss_ratio": one.loss_ratio,
                "evidence": list(one.evidence),
            }
            for one in located.ambiguous
        ],
        "classes": [
            {"nodes": list(group), "near_s": classes.near_s, "far_s": classes.far_s} for group in classes.groups
        ]
        if classes
        else [],
        "unstable": [{"subject": one.subject.text, "metric": one.metric, "why": one.why} for one in located.unstable],
        "design": {
            "nodes": len(table.nodes),
            "ordered_pairs": len(table.nodes) * (len(table.nodes) - 1),
            "measured_pairs": table.pairs,
            "groups": [list(group) for group in groups],
            "unstable_pairs": located.unstable_pairs,
            "lines": located.lines,
            "wrongly_left": located.wrongly_left,
        },
    }
    return json_text(finite(found))
