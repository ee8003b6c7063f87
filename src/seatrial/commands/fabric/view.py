"""A fabric's map and its problems: the reports of `seatrial fabric`."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from seatrial.fabric.bisection import Bisection, bisection
from seatrial.fabric.ibdiagnet import LOG as IBDIAGNET_LOG
from seatrial.fabric.link_problem import device_name, link_text, name_of
from seatrial.fabric.opareport import SOURCE as OMNI_PATH
from seatrial.fabric.table_check import LeafUplinks, TableReport
from seatrial.model.fabric import DeviceKind, End, FabricDevice, FabricLink, FabricMap
from seatrial.model.hca import data_bits_per_s
from seatrial.model.units import link_rate, share
from seatrial.model.verdict import Finding, FindingKind, Verdict, exit_code, worst
from seatrial.model.words import count, natural_sorted, some, verb
from seatrial.render.escape import clean
from seatrial.render.finding_text import sentence_of
from seatrial.render.json import filled
from seatrial.render.node_map import MapNode, node_map
from seatrial.render.report import Block, Copy, Findings, Gauge, PageLink, Report

MOST_LISTED = 60
MOST_NAMED = 3
MISSING = (FindingKind.CABLES_MISSING, FindingKind.NOT_IN_MAP)
OF_A_SWITCH = 128
"""Nodes that the manager in an Omni-Path switch takes at most: Dell, HPC Omni-Path Fabric: Supported Architecture and
Application Study, June 2016, section 3.5.1."""
SAME = 5e-3
"""A smaller loss does not show in a percentage."""
PARTED = re.compile(r" and | - |, ")
"""What separates names of devices, and ports of a cable, in the subject of a problem."""
SWITCHES, NO_CABLE = "switches", "no cable"
"""Heads of the map of devices, where it has no name of a switch."""


class CableFields(FabricLink, frozen=True, kw_only=True):
    """One cable with the names of its devices, and its rate."""

    text: str = msgspec.field(name="name")
    data_bits_per_s: float | None


class FabricRoutes(msgspec.Struct, frozen=True, kw_only=True):
    """What the forwarding tables do."""

    reached: int = msgspec.field(name="arriving")
    ways: int
    statement: str
    uplinks: tuple[LeafUplinks, ...]


class FabricFields(msgspec.Struct, frozen=True, kw_only=True):
    """Devices and cables of a fabric; docs/fabric.md describes each field."""

    source: str
    devices: tuple[FabricDevice, ...]
    links: tuple[CableFields, ...]
    down: tuple[End, ...]
    unknown: tuple[str, ...] = msgspec.field(name="unknown_lines")
    routes: FabricRoutes | None
    bisection: Bisection | None = None


def map_report(fabric: FabricMap, tables: TableReport | None = None) -> Report:
    """The report of `seatrial fabric show`: counts, link rates, every switch with its cables, and use by routes."""
    return Report(
        payload=lambda: fabric_fields(fabric, tables),
        terminal=lambda _: (Copy(lines=tuple(_map_lines(fabric, tables))),),
        page=lambda: _drawn_map(fabric, (), Verdict.MEASURED),
        wrapped=False,
    )


def problems_report(fabric: FabricMap, problems: Sequence[Finding], tables: TableReport | None = None) -> Report:
    """The report of `seatrial fabric check`: each problem with its remedy, and use by routes."""
    problems = sorted(problems, key=lambda finding: finding.rank)
    word, sentence = _verdict(fabric, problems)
    return Report(
        word=word.value,
        sentence=sentence,
        exit_code=exit_code(word),
        payload=lambda: fabric_fields(fabric, tables),
        terminal=lambda _: _problem_blocks(problems, tables),
        page=lambda: _drawn_map(fabric, problems, Verdict.PASS),
        findings=tuple(problems),
        gauges=(Gauge(name="cables", value=len(fabric.links)),),
        wrapped=False,
    )


def _drawn_map(fabric: FabricMap, problems: Sequence[Finding], otherwise: Verdict) -> Iterator[Block]:
    """Adapters below their switches, then the switches; what a problem names has the colour of its verdict, all else
    that of `otherwise`.
    """
    devices = fabric.by_key
    switch_of: dict[str, str] = {}
    for link in fabric.links:
        for end, far in ((link.one.device, link.other.device), (link.other.device, link.one.device)):
            if end in devices and devices[end].kind is DeviceKind.ADAPTER:
                switch_of.setdefault(end, name_of(devices, far))
    drawn = [
        MapNode(
            name=PageLink(device_name(device), ""),
            leaf=SWITCHES if device.kind is DeviceKind.SWITCH else switch_of.get(device.key, NO_CABLE),
            verdict=worst([otherwise, *_verdicts_of(device_name(device), problems)]),
            days=0.0,
            age="",
        )
        for device in fabric.devices
    ]
    if drawn:
        yield node_map(drawn, "Adapters by switch, and switches")


def _verdicts_of(name: str, problems: Sequence[Finding]) -> Iterator[Verdict]:
    """The verdicts of problems with a device or one of its cables: `leaf1`, `leaf1 and spine2`, `leaf1[35] - n7[1]`."""
    for problem in problems:
        parts = (part for text in (problem.subject.name, *problem.pairs) for part in PARTED.split(text))
        if any(part == name or part.startswith(f"{name}[") for part in parts):
            yield problem.verdict


def _verdict(fabric: FabricMap, problems: Sequence[Finding]) -> tuple[Verdict, str]:
    """A map without cables shows nothing, and an incomplete one cannot show that nothing is wrong."""
    size = count(len(fabric.links), "cable")
    faults = [problem for problem in problems if problem.at_fault]
    if faults:
        return Verdict.MISCONFIGURED, sentence_of(faults)
    if not fabric.links and fabric.source == IBDIAGNET_LOG:
        return Verdict.NOT_RUN, "The log of ibdiagnet has no errors, and no cables: give its file ibdiagnet2.db_csv."
    if not fabric.links:
        return Verdict.NOT_RUN, "The map has no cables: nothing was checked."
    undecided = [problem for problem in problems if problem.verdict is Verdict.INCONCLUSIVE]
    if undecided:
        incomplete = any(problem.kind is FindingKind.MAP_INCOMPLETE for problem in undecided)
        why = "The map is incomplete" if incomplete else sentence_of(undecided)
        return Verdict.INCONCLUSIVE, f"{why}; nothing is wrong with its {size}."
    open_names = [problem.subject.name for problem in problems if problem.kind in MISSING]
    missing = f"{some(open_names, MOST_NAMED)} may lack cables" if open_names else "none missing"
    unread = f"{_unread(fabric.unknown)}; " if fabric.unknown else ""
    if without := sum(link.width is None for link in fabric.links):
        return Verdict.INCONCLUSIVE, f"{unread}{without} of {size} without a rate; {missing}, and no other fault."
    noted = worst([Verdict.PASS, *(problem.verdict for problem in problems)])
    verdict = Verdict.INCONCLUSIVE if unread else noted  # a line that was not read may report a cable or a fault
    slower = any(problem.kind is FindingKind.LINK_BELOW_PEERS for problem in problems)
    return (
        verdict,
        f"{unread}{size}, {'some slower than others' if slower else 'each as fast as its peers'}, {missing}.",
    )


def _map_lines(fabric: FabricMap, tables: TableReport | None) -> Iterator[str]:
    kinds = Counter(device.kind for device in fabric.devices)
    yield (
        f"{count(kinds[DeviceKind.SWITCH], 'switch', 'switches')}, {count(kinds[DeviceKind.ADAPTER], 'adapter')}, "
        f"{count(len(fabric.links), 'cable')}"
        f" ({fabric.source})"
    )
    if fabric.source == OMNI_PATH:
        must = ", so that of a host must be the master" if kinds[DeviceKind.ADAPTER] > OF_A_SWITCH else ""
        yield f"  the manager in a switch takes {OF_A_SWITCH} adapters at most{must}"
    rates = Counter((link.width, link.speed) for link in fabric.links)
    for (width, speed), cables in rates.most_common():
        carries = data_bits_per_s(width, speed)
        rate = f", {link_rate(carries)} each way" if carries else ""
        yield f"  {cables} × {width or '?'}x {speed or 'unknown speed'}{rate}"
    if (half := bisection(fabric)) is not None:
        oversubscribed = "" if half.share > 1 - SAME else f", {1 / half.share:.3g} to 1" if half.share else ""
        yield (
            f"  bisection at most {link_rate(half.bits_per_s)} each way, {share(half.share)} of what "
            f"{count(half.adapters, 'adapter')} can send{oversubscribed}"
        )
    yield from _switch_lines(fabric)
    yield from _routes(tables)
    if fabric.unknown:
        yield _unread(fabric.unknown)


def _unread(lines: Sequence[str]) -> str:
    few = f"{count(len(lines), 'line')} of the map {verb(len(lines), 'was', 'were')} not understood"
    return f"{few}, the first: {clean(lines[0][:80])!r}"


def _switch_lines(fabric: FabricMap) -> Iterator[str]:
    """A line for each of the first switches: how many adapters and switches its cables lead to."""
    devices = fabric.by_key
    below: Counter[tuple[str, str]] = Counter()
    for link in fabric.links:
        for here, there in ((link.one.device, link.other.device), (link.other.device, link.one.device)):
            below[here, devices[there].kind.value if there in devices else "unknown"] += 1
    switches = {device_name(device): device for device in fabric.devices if device.kind is DeviceKind.SWITCH}
    for name in natural_sorted(switches)[:MOST_LISTED]:
        key = switches[name].key
        yield f"  {name}: {below[key, 'adapter']} adapters, {below[key, 'switch']} cables to switches"
    if len(switches) > MOST_LISTED:
        yield f"  and {len(switches) - MOST_LISTED} more switches; --json has all"


def _problem_blocks(problems: Sequence[Finding], tables: TableReport | None) -> Iterator[Block]:
    yield Findings(findings=tuple(problems))
    if tables:
        yield Copy(lines=tuple(_routes(tables)), tight=not problems)


def _routes(tables: TableReport | None) -> list[str]:
    if tables is None:
        return []
    arrive = f"{tables.reached} of {tables.ways} routes from a leaf switch reach their adapter"
    return [f"Routes: {arrive}; {tables.statement}"]


def fabric_fields(fabric: FabricMap, tables: TableReport | None = None) -> FabricFields:
    """The map as it was read, and what its forwarding tables do."""
    devices = fabric.by_key
    links = [
        filled(
            CableFields, link, text=link_text(link, devices), data_bits_per_s=data_bits_per_s(link.width, link.speed)
        )
        for link in fabric.links
    ]
    return filled(
        FabricFields,
        fabric,
        links=links,
        routes=filled(FabricRoutes, tables) if tables else None,
        bisection=bisection(fabric),
    )
