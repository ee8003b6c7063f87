"""A fabric's map and what is wrong with it, as text and as JSON."""

from collections import Counter
from collections.abc import Sequence

from seatrial.fabric.map_check import LinkProblem, device_name, link_text
from seatrial.fabric.table_check import TableReport
from seatrial.model.fabric_map import DeviceKind, FabricMap
from seatrial.model.hca import data_bits_per_s
from seatrial.model.units import link_rate
from seatrial.model.verdict import Verdict
from seatrial.model.words import count, natural_sorted
from seatrial.render.escape import clean
from seatrial.render.json_text import json_text

MOST_LISTED = 60


def fabric_as_text(fabric: FabricMap, tables: TableReport | None = None) -> str:
    """Counts, link rates, every switch with what hangs on it, and what routes use."""
    kinds = Counter(device.kind for device in fabric.devices)
    lines = [
        f"{kinds[DeviceKind.SWITCH]} switches, {kinds[DeviceKind.ADAPTER]} adapters, {len(fabric.links)} cables"
        f" ({fabric.source})"
    ]
    rates = Counter((link.width, link.speed) for link in fabric.links)
    for (width, speed), cables in rates.most_common():
        carries = data_bits_per_s(width, speed)
        told = f", {link_rate(carries)} each way" if carries else ""
        lines.append(f"  {cables} × {width or '?'}x {speed or 'unknown speed'}{told}")
    devices = fabric.by_key
    below: Counter[tuple[str, str]] = Counter()
    for link in fabric.links:
        for here, there in ((link.one.device, link.other.device), (link.other.device, link.one.device)):
            below[here, devices[there].kind.value if there in devices else "unknown"] += 1
    switches = {device_name(device): device for device in fabric.devices if device.kind is DeviceKind.SWITCH}
    for name in natural_sorted(switches)[:MOST_LISTED]:
        key = switches[name].key
        lines.append(f"  {clean(name)}: {below[key, 'adapter']} adapters, {below[key, 'switch']} cables to switches")
    if len(switches) > MOST_LISTED:
        lines.append(f"  and {len(switches) - MOST_LISTED} more switches; --json has all")
    lines += _routes(tables)
    if fabric.unknown:
        lines.append(f"{len(fabric.unknown)} lines were not understood, the first: {clean(fabric.unknown[0][:80])!r}")
    return "\n".join(lines) + "\n"


def problems_as_text(fabric: FabricMap, problems: Sequence[LinkProblem], tables: TableReport | None = None) -> str:
    """The verdict first, then each problem with what to do, and what routes use."""
    if not problems:
        passed = f"PASS  {len(fabric.links)} cables, each as fast as its sisters, none missing."
        return "\n".join([passed, *_routes(tables)]) + "\n"
    lines = [f"{Verdict.MISCONFIGURED}  {count(len(problems), 'problem')} in a fabric of {len(fabric.links)} cables"]
    for number, problem in enumerate(problems, 1):
        lines += ["", f"{number}  {problem.kind}", f"   {clean(problem.says)}", f"   to do      {problem.remedy}"]
    if tables:
        lines += ["", *_routes(tables)]
    return "\n".join(lines) + "\n"


def _routes(tables: TableReport | None) -> list[str]:
    if tables is None:
        return []
    arrive = f"{tables.reached} of {tables.ways} ways from a leaf switch to an adapter arrive"
    return [f"Routes: {arrive}; {clean(tables.statement)}"]


def fabric_as_json(
    fabric: FabricMap, problems: Sequence[LinkProblem], exit_code: int, tables: TableReport | None = None
) -> str:
    """One object: devices, links with the data rate of each, problems, and what routes use where that is known."""
    devices = fabric.by_key
    return json_text(
        {
            "exit_code": exit_code,
            "source": fabric.source,
            "problems": [
                {"kind": one.kind.value, "subject": one.subject, "statement": one.says, "remedy": one.remedy}
                for one in problems
            ],
            "devices": [
                {"key": one.key, "kind": one.kind.value, "name": one.name, "lid": one.lid} for one in fabric.devices
            ],
            "links": [
                {
                    "name": link_text(link, devices),
                    "ends": [[link.one.device, link.one.port], [link.other.device, link.other.port]],
                    "width": link.width,
                    "speed": link.speed,
                    "other_width": link.other_width,
                    "other_speed": link.other_speed,
                    "data_bits_per_s": data_bits_per_s(link.width, link.speed),
                }
                for link in fabric.links
            ],
            "down": [[end.device, end.port] for end in fabric.down],
            "unknown_lines": list(fabric.unknown),
            "routes": None if tables is None else _routes_as_data(tables),
        }
    )


def _routes_as_data(tables: TableReport) -> dict[str, object]:
    return {
        "arriving": tables.reached,
        "ways": tables.ways,
        "statement": tables.statement,
        "uplinks": [
            {"leaf": one.leaf, "destinations": {str(port): used for port, used in one.used.items()}}
            for one in tables.uplinks
        ],
    }
