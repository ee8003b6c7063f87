"""A recording made from a recording: what `facts --detach` read, or what another gathered, without its names."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from seatrial.driver.facts_reading import FactsRead, only, read_recording
from seatrial.driver.progress import Progress
from seatrial.fabric.slurm_topology import parse_topology
from seatrial.model.errors import SeatrialError
from seatrial.recordings.recording import RAW_FOLDER, Gathered, read_gathered, text_of

TOPOLOGY = "scontrol-show-topology.txt"
RAW_FILES = (TOPOLOGY, "sinfo.txt", "sinfo-features.txt", "ibnetdiscover.txt")
"""The outputs whose names can be removed; others are not copied."""


def read_again(source: Path, nodes: Sequence[str], progress: Progress) -> tuple[FactsRead, dict[str, str]]:
    """What a recording holds, of these nodes or of all, and its raw outputs, which only a folder gives.

    Raises SeatrialError for one without raw streams; else errors as of read_recording and `only`.
    """
    read = read_recording(source, progress)
    outputs: dict[str, str] = {}
    if source.is_dir():
        described = read_gathered(source) or Gathered()
        outputs = _raw(source)
        read = msgspec.structs.replace(
            read,
            silent={**described.silent, **read.silent},
            launcher=described.launcher,
            cluster=described.cluster,
            fabric=parse_topology(outputs.get(TOPOLOGY, "")),
        )
    if not read.texts:
        raise SeatrialError(f"{source} holds no raw streams of nodes.", "What `facts --output` or a run recorded does.")
    if nodes:
        read = only(read, nodes, source)
        read = msgspec.structs.replace(read, texts={node: read.texts[node] for node in nodes if node in read.texts})
    return read, outputs


def _raw(folder: Path) -> dict[str, str]:
    found = {name: folder / RAW_FOLDER / name for name in RAW_FILES}
    return {name: text_of(path, folder) for name, path in found.items() if path.is_file()}
