"""The sentences of findings: which part, how much, compared with what, and what to do."""

from seatrial.locate.explanation import PartSuspect
from seatrial.model.limit import Limit
from seatrial.model.measurement import Estimate
from seatrial.model.subject import Direction, Subject, SubjectKind
from seatrial.model.units import bandwidth, duration, share
from seatrial.model.verdict import FindingKind

WAYS = {Direction.OUT: "outwards", Direction.IN: "inwards", Direction.BOTH: "in both directions"}
NAMES = {
    SubjectKind.NODE: "the link of node {}",
    SubjectKind.UPLINK: "the uplink of {}",
    SubjectKind.LINK: "the cable {}",
    SubjectKind.SPINE: "the switch {} with all its cables",
    SubjectKind.DEVICE: "{}",
    SubjectKind.FABRIC: "the whole fabric",
    SubjectKind.CLUSTER: "the whole cluster",
    SubjectKind.OUTPUT: "the output {}",
    SubjectKind.CURVE: "the curve {}",
}
REMEDIES = {
    SubjectKind.UPLINK: "Look at the switch ports between leaf and spine: negotiated speed, errors, a failed "
    "cable of the bundle. Where two uplinks cannot be distinguished, compare their port counters.",
    SubjectKind.LINK: "Look at this cable and both its ports: width, speed and error counters (iblinkinfo, perfquery, "
    "or seatrial fabric check). Reseat or swap it, then run the check again.",
    SubjectKind.SPINE: "Look at this switch: its firmware and log, temperature and power, the width, speed and errors "
    "of all its ports. Compare with a switch of its kind that is good.",
    SubjectKind.PAIR: "Look at the route between the two nodes (forwarding tables, ECMP hashing): each performs well "
    "with others.",
    SubjectKind.FABRIC: "Look at what all nodes share: the transport MPI chose, MTU, driver, kernel. One rank may be "
    "unable to fill such a fast port.",
    SubjectKind.CLUSTER: "Look at what all nodes share: image, firmware, settings.",
}
PORT_TOOLS = {"InfiniBand": "ibstat, perfquery", "Omni-Path": "opainfo"}
"""What shows the state and the errors of a port of that kind; of others, ethtool."""
SLOW_KINDS = {
    SubjectKind.NODE: FindingKind.SLOW_LINK,
    SubjectKind.UPLINK: FindingKind.SLOW_UPLINK,
    SubjectKind.LINK: FindingKind.SLOW_CABLE,
    SubjectKind.SPINE: FindingKind.SLOW_SPINE,
    SubjectKind.PAIR: FindingKind.SLOW_PAIR,
    SubjectKind.FABRIC: FindingKind.SLOW_FABRIC,
}
CABLE_WAYS = {
    Direction.OUT: "from its first end to the second",
    Direction.IN: "from its second end to the first",
    Direction.BOTH: "in both directions",
}


def named(subject: Subject) -> str:
    """A subject as a sentence names it."""
    if subject.kind is SubjectKind.PAIR:
        source, _, target = subject.name.partition(">")
        return f"the path from {source} to {target}"
    return NAMES[subject.kind].format(subject.name)


def who(suspect: PartSuspect) -> str:
    """The suspect with all parts that it cannot be distinguished from."""
    names = [named(subject) for subject in (suspect.subject, *suspect.ambiguous_with)]
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} or {names[-1]} (these pairs cannot show which)"


def sentence(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def slow_statement(suspect: PartSuspect, measured: Estimate, limit: Limit | None, peers: float | None) -> str:
    """How much goes through a slow part, compared with limit and peers."""
    against = []
    if limit:
        ratio = share(measured.value / limit.limit_bytes_per_s)
        against.append(f"{ratio} of its limit ({bandwidth(limit.limit_bytes_per_s)}: {limit.binding})")
    if peers:
        against.append(f"{share(measured.value / peers)} of what its peers deliver ({bandwidth(peers)})")
    way = WAYS[suspect.direction]
    if suspect.subject.kind is SubjectKind.PAIR:
        way = "in both directions" if suspect.direction is Direction.BOTH else "one way"
    elif suspect.subject.kind is SubjectKind.LINK:
        way = CABLE_WAYS[suspect.direction]
    elif suspect.subject.kind is SubjectKind.SPINE:
        way = ""
    carries = f"carries {bandwidth(measured.value)} {way}".rstrip()
    return sentence(f"{who(suspect)} {carries}: {' and '.join(against)}.")


def latency_statement(suspect: PartSuspect, measured: Estimate, peers: float) -> str:
    """How late a part is, compared with its peers."""
    times = f"{measured.value / peers:.1f} times"
    return sentence(f"{who(suspect)} takes {duration(measured.value)} one way: {times} its peers' {duration(peers)}.")


def part_remedy(subject: Subject, limit: Limit | None = None) -> str:
    """What to do about a slow or unstable part that is named; `limit` shows what kind of port it is."""
    if subject.kind is SubjectKind.NODE:
        terms = " ".join(term.name for term in limit.terms) if limit else ""
        asked = next((tools for kind, tools in PORT_TOOLS.items() if kind in terms), "ethtool")
        return (
            f"Look at {subject.name}: negotiated speed and errors of its port ({asked}), PCIe width and "
            f"speed (lspci -vv), cable, switch port. Swap the cable with a good node's, then run the check again."
        )
    return REMEDIES[subject.kind]
