"""Whether a map is complete and without contradictions: cut off texts, double addresses, devices without cables."""

from collections import Counter
from collections.abc import Iterator

from seatrial.fabric.link_problem import ACTIVATE, RESEAT, LinkFault, end_text, link_text, name_of, problem
from seatrial.model.fabric import DeviceKind, DoubleKind, End, FabricLink, FabricMap
from seatrial.model.hca import PortUse
from seatrial.model.subject import device
from seatrial.model.verdict import Finding, FindingKind
from seatrial.model.words import count, some, verb

SHOWN = 3
REREAD = "Read the whole map again: run ibnetdiscover to its end, and check whether it printed errors."


def integrity_problems(fabric: FabricMap) -> tuple[Finding, ...]:
    """An incomplete map, double GUIDs and LIDs, ports without a LID or an answer, and devices without any cable."""
    return (
        *_incomplete(fabric),
        *_doubles(fabric),
        *_without_lid(fabric),
        *_unanswered(fabric),
        *_without_cables(fabric),
    )


def switches_complete(fabric: FabricMap) -> bool:
    """Whether the map has all lines of all switches, as far as can be seen. Cables of adapters may be missing."""
    absent = _absent(fabric)
    if not absent:
        return True
    devices = fabric.by_key
    last = (fabric.sections or ("",))[-1]
    return not any(devices[key].kind is DeviceKind.SWITCH for key in (*absent, last) if key in devices)


def one_sided(fabric: FabricMap) -> Iterator[LinkFault]:
    """Cables that only one of two complete devices lists; none if a line that was not understood may list them."""
    if fabric.sections is None or fabric.unknown:
        return
    devices = fabric.by_key
    complete = set(fabric.sections) - _last(fabric)
    for link in _listed_once(fabric):
        near_end, far_end = link.ways[0 if link.listed_by_one else 1]
        if far_end.device in complete:
            ends = [end_text(end, devices) for end in (near_end, far_end)]
            yield LinkFault(
                kind=FindingKind.LINK_ENDS_DISAGREE,
                link=link,
                rate="",
                expected="",
                says=f"{ends[0]} lists a cable to {ends[1]}, which does not list it ({link_text(link, devices)}).",
            )


def _listed_once(fabric: FabricMap) -> Iterator[FabricLink]:
    """Cables that one side alone lists, without ports that two cables claim: such ports have a duplicate GUID."""
    used: Counter[End] = Counter(end for link in fabric.links for end in link.ends)
    for link in fabric.links:
        if link.listed_by_one is not link.listed_by_other and max(used[link.one], used[link.other]) == 1:
            yield link


def _absent(fabric: FabricMap) -> list[str]:
    """Devices to which cables lead and that have no lines of their own; the last one may have lost some."""
    if fabric.sections is None:
        return []
    once = list(_listed_once(fabric))
    ends = {end.device for link in once for end in link.ends}
    listed = set(fabric.sections)
    absent = [known.key for known in fabric.devices if known.key in ends and known.key not in listed]
    silent = {(link.other if link.listed_by_one else link.one).device for link in once}
    return absent + [key for key in _last(fabric) if key in silent]


def _last(fabric: FabricMap) -> set[str]:
    """The device whose lines may be cut off: the last one, in a text that lacks devices or ends within a line."""
    if not fabric.sections:
        return set()
    listed = set(fabric.sections)
    lacks = any(end.device not in listed for link in _listed_once(fabric) for end in link.ends)
    return {fabric.sections[-1]} if lacks or fabric.cut_off else set()


def _incomplete(fabric: FabricMap) -> Iterator[Finding]:
    absent = _absent(fabric)
    if not absent:
        return
    devices = fabric.by_key
    names = some([name_of(devices, key) for key in absent], SHOWN)
    ends = "; the text ends within a line" if fabric.cut_off else ""
    yield problem(
        kind=FindingKind.MAP_INCOMPLETE,
        subject=device("map"),
        statement=f"The map is incomplete: cables lead to {count(len(absent), 'device')} without complete lines of "
        f"their own{ends}. Missing cables were not searched where switches lack lines. Devices: {names}.",
        remedy=REREAD,
    )


def _doubles(fabric: FabricMap) -> Iterator[Finding]:
    for double in fabric.doubles:
        guid = double.kind is DoubleKind.GUID
        holders = " and ".join(double.holders)
        yield problem(
            kind=FindingKind.DUPLICATE_GUID if guid else FindingKind.DUPLICATE_LID,
            subject=device(f"{double.kind} {double.value}"),
            statement=f"{double.kind} {double.value} is used by {holders}.",
            remedy="A GUID must be unique: correct the device that has another's (flint, or the vendor's tool)."
            if guid
            else "A LID must be unique: check that only one subnet manager is active, and let it assign LIDs again.",
        )


def _without_lid(fabric: FabricMap) -> Iterator[Finding]:
    """One finding for all: what they lack is one sweep of the subnet manager."""
    holders = fabric.without_lid
    if not holders:
        return
    yield problem(
        kind=FindingKind.NO_LID,
        subject=device(holders[0] if len(holders) == 1 else count(len(holders), "port")),
        statement=f"{count(len(holders), 'port')} {verb(len(holders), 'has', 'have')} no LID (0 or 65535), so the "
        f"subnet manager has not configured {verb(len(holders), 'it', 'them')}: {some(holders, SHOWN)}.",
        remedy="Check whether a subnet manager is active (sminfo) and what its log says about these ports; no packet "
        "reaches a port without a LID. If the map is old, read it again.",
    )


def _unanswered(fabric: FabricMap) -> Iterator[Finding]:
    """Ports with a link whose other end no device answers for, and one note on those that somebody switched off; ports
    of cables are judged with the cables.
    """
    devices = fabric.by_key
    joined = {end for link in fabric.links for end in link.ends}
    off: dict[str, str] = {}
    for port in fabric.inactive:
        if port.end in joined:
            continue
        name, state = end_text(port.end, devices), port.states
        if state.use is PortUse.OFF:
            off[name] = state.text
            continue
        fails = state.use is PortUse.FAILS
        yield problem(
            kind=FindingKind.LINK_FAILING if fails else FindingKind.LINK_NOT_ACTIVE,
            subject=device(name),
            statement=f"{name} is {state.text}{'' if fails else ', not Active'}, and nothing answers at the other end "
            "of its cable.",
            remedy=RESEAT if fails else f"Check the device at the other end. {ACTIVATE}",
        )
    if off:
        yield problem(
            kind=FindingKind.LINK_NOT_ACTIVE,
            subject=device(next(iter(off)) if len(off) == 1 else count(len(off), "port")),
            statement=f"Somebody switched off {count(len(off), 'port')}, or tests "
            f"{verb(len(off), 'it', 'them')}: {some([f'{name} ({text})' for name, text in off.items()], SHOWN)}.",
            remedy="If this was not meant to last, check why it was done, and switch on the port (ibportstate).",
            note=True,
        )


def _without_cables(fabric: FabricMap) -> Iterator[Finding]:
    """Adapters that the text lists without a cable."""
    joined = {end.device for link in fabric.links for end in link.ends}
    joined |= {end.device for end in fabric.down} | _last(fabric)
    devices = fabric.by_key
    for key in fabric.sections or ():
        adapter = devices[key]
        if key not in joined and adapter.kind is DeviceKind.ADAPTER and fabric.links:
            yield problem(
                kind=FindingKind.CABLES_MISSING,
                subject=device(adapter.name or key),
                statement=f"{adapter.name or key} is listed without any cable.",
                remedy="Check the cable of this adapter, and read the map again.",
            )
