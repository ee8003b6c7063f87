"""Records the machine or cluster that we are on: raw facts, and a few raw outputs of the site's commands."""

import getpass
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from seatrial import __version__
from seatrial.driver.clock import now_text
from seatrial.driver.facts_reading import FactsRead, only, read_cluster, read_here, read_recording
from seatrial.driver.progress import Progress
from seatrial.driver.site import uses_ssh
from seatrial.fabric.slurm_topology import parse_topology
from seatrial.launch.site_outputs import fabric_outputs, slurm_outputs
from seatrial.model.errors import SeatrialError
from seatrial.model.fabric import Fabric
from seatrial.model.node_list import node_list
from seatrial.model.settings import SiteSettings
from seatrial.recordings.recording import (
    GATHER_FILE,
    RAW_FOLDER,
    Gathered,
    gathered_text,
    read_gathered,
    refuse_taken,
    stream_name,
    text_of,
    write_recording,
)
from seatrial.recordings.scrub import (
    StandIns,
    scrub_descriptions,
    scrub_fabric,
    scrub_features,
    scrub_sinfo,
    scrubbed,
    stand_ins,
)
from seatrial.slurm.presence import is_here
from seatrial.slurm.text import parse_sinfo

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
        paths = {name: source / RAW_FOLDER / name for name in RAW_FILES}
        outputs = {name: text_of(path, source) for name, path in paths.items() if path.is_file()}
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


class GatherSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `seatrial facts --output`, parsed."""

    output: Path
    site: SiteSettings
    """Which nodes to read, and how. No nodes: all hosts that are named, all idle nodes where there is Slurm, those of a
    job of PBS, LSF or Flux, else this machine."""
    scrub: bool = False
    source: Path | None = None
    """A recording, to be recorded once more in place of live nodes."""


def gather(settings: GatherSettings, progress: Progress) -> Gathered:
    """Read all nodes and write the recording; what it is. Nodes that do not answer are in `silent`.

    Raises UsageError where the output is taken, SeatrialError where no node answers.
    """
    refuse_taken(settings.output)
    site = settings.site
    local = site.launcher == "local" or (
        site.launcher == "auto" and not site.nodes and not uses_ssh(site) and not is_here()
    )
    if settings.source is not None:
        read, outputs = read_again(settings.source, site.nodes, progress)
    elif local:
        progress.stage("Reading the facts of this machine")
        read, outputs = read_here(), {}
    else:
        read = read_cluster(site, progress)
        outputs = {} if read.launcher == "ssh" else slurm_outputs()
    if not read.texts:
        why = "; ".join(f"{node}: {reason}" for node, reason in read.silent.items()) or "no node is idle"
        raise SeatrialError(f"No node answers ({why}).", "Name others, or record this machine by --launcher local.")
    if settings.source is None:
        progress.stage("Asking for the fabric")
        outputs |= fabric_outputs()
    gathered, files = recording(read, outputs, now_text(), scrub=settings.scrub, user=_user())
    progress.stage("Writing the recording")
    write_recording(settings.output, files)
    return gathered


def recording(
    read: FactsRead, outputs: Mapping[str, str], at: str, *, scrub: bool, user: str = ""
) -> tuple[Gathered, dict[str, str]]:
    """gather.json and the files of a recording, by name; `outputs`: raw outputs by the names of their files."""
    known = StandIns({})
    if scrub:
        listed = (line.node for line in parse_sinfo(outputs.get("sinfo.txt", "")))
        nodes = [*read.silent, *read.features, *read.fabric.leaf_of, *listed]
        known = stand_ins(read.texts, nodes, read.cluster, (user,))
    gathered = Gathered(
        seatrial=__version__,
        at=at,
        launcher=read.launcher,
        cluster=known.of(read.cluster),
        nodes=tuple(known.of(node) for node in read.texts),
        silent={known.of(node): known.everywhere(why) for node, why in read.silent.items()},
        features=scrub_descriptions(read.features, known) if scrub else read.features,
        scrubbed=scrub,
    )
    files = {GATHER_FILE: gathered_text(gathered)}
    for node, text in read.texts.items():
        files[stream_name(known.of(node))] = scrubbed(text, known) if scrub else text
    raw = scrubbed_outputs(outputs, read.fabric, known) if scrub else outputs
    files |= {f"{RAW_FOLDER}/{name}": text for name, text in raw.items()}
    return gathered, files


def scrubbed_outputs(outputs: Mapping[str, str], fabric: Fabric, known: StandIns) -> dict[str, str]:
    """The raw outputs without names; of the topology only which node is attached to which leaf is kept."""
    changed = {"sinfo.txt": scrub_sinfo, "sinfo-features.txt": scrub_features, "ibnetdiscover.txt": scrub_fabric}
    found = {name: change(outputs[name], known) for name, change in changed.items() if name in outputs}
    if "scontrol-show-topology.txt" in outputs:
        found["scontrol-show-topology.txt"] = topology_text(fabric, known)
    return found


def topology_text(fabric: Fabric, known: StandIns) -> str:
    """Leaves s1, s2, ... with their nodes, in the form of `scontrol show topology`."""
    leaves: dict[str, list[str]] = {}
    for node, leaf in sorted(fabric.leaf_of.items()):
        leaves.setdefault(leaf, []).append(known.of(node))
    lines = (
        f"SwitchName=s{number} Level=0 LinkSpeed=1 Nodes={node_list(nodes)}\n"
        for number, nodes in enumerate(leaves.values(), start=1)
    )
    return "".join(lines)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
