"""What the probe's ranks said of where they are, from their records."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from seatrial.model.measurement import LONGEST_S
from seatrial.model.placement import RankPlace
from seatrial.node.processor_sets import listed


def rank_places(
    places: Sequence[str], records: Sequence[Mapping[str, Any]], nodes: Iterable[str]
) -> tuple[RankPlace, ...]:
    """One rank for each record. `places`: by rank, what rounds call it; `nodes`: those whose facts are read.

    A place NODE:0 belongs to NODE, unless it is a node by itself (ranks of this machine). What a record does not say,
    or says in another form, is unknown.
    """
    known = set(nodes)
    found = []
    for rank, (place, record) in enumerate(zip(places, records, strict=False)):
        node = place if place in known else place.rpartition(":")[0] or place
        cpus, cpu, pid = record.get("cpus"), record.get("cpu"), record.get("pid")
        found.append(
            RankPlace(
                rank=rank,
                place=place,
                node=node,
                host=str(record.get("host", "")),
                cpus=(listed(cpus) if isinstance(cpus, str) else None) or (),
                cpu=cpu if isinstance(cpu, int) and cpu >= 0 else None,
                pid=pid if isinstance(pid, int) else None,
                clock_resolution_s=_seconds(record.get("clock_resolution_s")),
                clock_overhead_s=_seconds(record.get("clock_overhead_s")),
            )
        )
    return tuple(found)


def _seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= LONGEST_S else None
