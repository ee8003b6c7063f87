"""What a map alone shows: cables trained below comparable ones, ends that disagree, missing cables."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from seatrial.model.fabric_map import DeviceKind, FabricDevice, FabricLink, FabricMap
from seatrial.model.hca import data_bits_per_s
from seatrial.model.subject import Subject, device
from seatrial.model.subject import link as cable
from seatrial.model.verdict import Finding, FindingKind

FEWEST_SISTERS = 3
RESEAT = "Check the cable and both ports (iblinkinfo), reseat or replace the cable, then run the check again."


def problem(*, kind: FindingKind, subject: Subject, statement: str, remedy: str) -> Finding:
    """Something wrong with a cable, a switch or its table."""
    return Finding(kind=kind, subject=subject, verdict=kind.verdict, statement=statement, remedy=remedy)


def check_map(fabric: FabricMap) -> tuple[Finding, ...]:
    """All problems of a map, cables first, in the order of the links.

    Comparable cables join the same kinds of devices at one of its two ends; at least three must agree, and be the
    majority, before one can be below them: a port that is meant for a slower node is alone in that.
    """
    devices = fabric.by_key
    return (
        *_disagreeing(fabric, devices),
        *_below_sisters(fabric, devices),
        *_missing(fabric, devices),
    )


def link_text(link: FabricLink, devices: dict[str, FabricDevice]) -> str:
    """leaf1[35] - spine2[32], by the devices' names."""
    return " - ".join(f"{_name(devices, end.device)}[{end.port}]" for end in (link.one, link.other))


def device_name(device: FabricDevice) -> str:
    """Its description, or its key where it has none."""
    return device.name or device.key


def _name(devices: dict[str, FabricDevice], key: str) -> str:
    return device_name(devices[key]) if key in devices else key


def _rate_text(width: int | None, speed: str) -> str:
    return f"{width or '?'}x {speed or 'unknown speed'}"


def _disagreeing(fabric: FabricMap, devices: dict[str, FabricDevice]) -> Iterator[Finding]:
    for link in fabric.links:
        both_told = link.width and link.other_width and link.speed and link.other_speed
        if both_told and (link.width, link.speed) != (link.other_width, link.other_speed):
            first, other = _rate_text(link.width, link.speed), _rate_text(link.other_width, link.other_speed)
            yield problem(
                kind=FindingKind.LINK_ENDS_DISAGREE,
                subject=cable(link_text(link, devices)),
                statement=f"The ends of {link_text(link, devices)} disagree: {first} at the first, "
                f"{other} at the second.",
                remedy="Both ends of a cable train to the same rate, so one report is wrong. Read the map again.",
            )


def _below_sisters(fabric: FabricMap, devices: dict[str, FabricDevice]) -> Iterator[Finding]:
    sisters: defaultdict[tuple[str, DeviceKind], list[FabricLink]] = defaultdict(list)
    twins: defaultdict[tuple[str, str], list[FabricLink]] = defaultdict(list)
    for link in fabric.links:
        twins[link.one.device, link.other.device].append(link)
        for here, there in _both_ways(link, devices):
            sisters[here, devices[there].kind].append(link)
    usual = {place: _usual(links) for place, links in sisters.items()}
    for link in fabric.links:
        if (rate := _rate(link)) is None:
            continue
        against = _twin(rate, twins[link.one.device, link.other.device])
        for here, there in _both_ways(link, devices):
            expected = usual[here, devices[there].kind]
            if not against and expected is not None and rate < expected[0]:
                against = f"{expected[1]} of {expected[2]} such cables at {_name(devices, here)} run at {expected[3]}"
        if against:
            yield problem(
                kind=FindingKind.LINK_BELOW_PEERS,
                subject=cable(link_text(link, devices)),
                statement=f"{link_text(link, devices)} runs at {_rate_text(*_slower(link))}, where {against}.",
                remedy=RESEAT,
            )


def _both_ways(link: FabricLink, devices: dict[str, FabricDevice]) -> tuple[tuple[str, str], ...]:
    ends = link.one.device, link.other.device
    return (ends, ends[::-1]) if all(end in devices for end in ends) else ()


def _twin(rate: float, links: Sequence[FabricLink]) -> str:
    """What the fastest cable between the same two devices runs at, if that is faster."""
    best = max(links, key=lambda link: _rate(link) or 0.0)
    return f"a cable beside it runs at {_rate_text(*_slower(best))}" if (_rate(best) or 0.0) > rate else ""


def _slower(link: FabricLink) -> tuple[int | None, str]:
    """Width and speed of the slower end."""
    first, second = (link.width, link.speed), (link.other_width, link.other_speed)
    here, there = data_bits_per_s(*first), data_bits_per_s(*second)
    return second if there is not None and (here is None or there < here) else first


def _rate(link: FabricLink) -> float | None:
    return data_bits_per_s(*_slower(link))


def _usual(links: Sequence[FabricLink]) -> tuple[float, int, int, str] | None:
    """The rate that more than half of at least three links have: rate, how many have it, of how many, its name."""
    rates = [(rate, _rate_text(*_slower(link))) for link in links if (rate := _rate(link)) is not None]
    if len(rates) < FEWEST_SISTERS:
        return None
    (rate, name), count = Counter(rates).most_common(1)[0]
    return (rate, count, len(rates), name) if 2 * count > len(rates) else None


def _missing(fabric: FabricMap, devices: dict[str, FabricDevice]) -> Iterator[Finding]:
    """Between two switches, fewer cables than most pairs of such switches have at both of the two."""
    cables: Counter[tuple[str, str]] = Counter()
    for link in fabric.links:
        ends = link.one.device, link.other.device
        if all(devices[end].kind is DeviceKind.SWITCH for end in ends if end in devices):
            cables[min(ends), max(ends)] += 1
    counts: defaultdict[str, list[int]] = defaultdict(list)
    for (first, other), count in cables.items():
        counts[first].append(count)
        counts[other].append(count)
    for (first, other), count in sorted(cables.items()):
        expected = [_most(counts[end]) for end in (first, other)]
        if all(usual is not None and count < usual for usual in expected):
            between = f"{_name(devices, first)} and {_name(devices, other)}"
            yield problem(
                kind=FindingKind.CABLES_MISSING,
                subject=device(between),
                statement=f"{between} are joined by {'one cable' if count == 1 else f'{count} cables'}; each has "
                f"{expected[0]} to most other switches.",
                remedy="Check both switches for a port that is down and a cable that is out or in a wrong port.",
            )


def _most(counts: Sequence[int]) -> int | None:
    (value, often), *_ = Counter(counts).most_common(1)
    return value if len(counts) >= FEWEST_SISTERS and 2 * often > len(counts) else None
