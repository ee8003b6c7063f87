"""memory-channel-empty: a channel of a socket without a module, while others have some."""

from collections.abc import Iterator

from seatrial.model.facts import NodeFacts
from seatrial.model.hardware import Dimm
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation

REMEDY = (
    "Look whether a module is missing, not seated, or switched off by the BIOS after an error (dmidecode -t 17, "
    "the BMC's log). Each channel that is empty takes its share of the socket's bandwidth with it."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Socket by socket; one of whose slots the content is not known is left out."""
    for node, known in readings.facts.items():
        for package, channels in by_package(known).items():
            empty = [name for name, dimms in channels.items() if not any(dimm.size_bytes for dimm in dimms)]
            unknown = any(dimm.size_bytes is None for dimms in channels.values() for dimm in dimms)
            if empty and len(empty) < len(channels) and not unknown:
                socket = "" if package is None else f" of socket {package}"
                says = f"{len(empty)} of {len(channels)} memory channels{socket} are empty ({', '.join(empty)})"
                yield Violation(node=node, says=says, key=says, remedy=REMEDY)


def by_package(facts: NodeFacts) -> dict[int | None, dict[str, list[Dimm]]]:
    """Socket -> channel -> its slots; slots whose channel is not known are left out."""
    found: dict[int | None, dict[str, list[Dimm]]] = {}
    for dimm in facts.memory.dimms:
        if dimm.channel:
            found.setdefault(dimm.package, {}).setdefault(dimm.channel, []).append(dimm)
    return found


RULE = Rule(
    kind=FindingKind.MEMORY_CHANNEL_EMPTY,
    title="memory channel empty",
    look=look,
    knows=lambda facts: bool(by_package(facts)),
)
