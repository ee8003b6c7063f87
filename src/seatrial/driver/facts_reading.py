"""Reads facts: of this machine, of a cluster's nodes through Slurm or over ssh, or of recorded machines."""

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

import msgspec

from seatrial.archive import layout
from seatrial.archive.reader import find_run, read_facts_texts, read_info
from seatrial.driver.node_selection import allocate_available, described, fewer_nodes
from seatrial.driver.progress import SILENT, Progress
from seatrial.driver.site import chosen_hosts, uses_ssh
from seatrial.files.inputs import ANY_SIZE, BadInput, open_regular
from seatrial.launch.collector import QUICK_FACTS, collect_tree, collector, printed
from seatrial.launch.hosts.reach import read_remote_facts, require_ssh
from seatrial.launch.slurm import SlurmLauncher
from seatrial.model.errors import NoRun, SeatrialError, UsageError
from seatrial.model.fabric import NO_FABRIC, Fabric
from seatrial.model.facts import NodeFacts
from seatrial.model.node_list import node_list, parse_nodes
from seatrial.model.run import NodeState, with_kinds
from seatrial.model.settings import SiteSettings
from seatrial.model.words import count
from seatrial.node import hwloc_machine as hwloc_xml
from seatrial.node.amd_gpus import amd_gpus
from seatrial.node.gpus import facts_of_gpus
from seatrial.node.node import parse_facts
from seatrial.process.process import run
from seatrial.recordings.command_text import NOT_PRINTED, commands_in, facts_from_text, texts_by_node
from seatrial.recordings.machine_files import node_of, read_fleet
from seatrial.recordings.recording import EXPECTED, Form, contents, form_of, rebuilt, stream_node, text_of, unpacked
from seatrial.recordings.sysinfo import facts_from_sysinfo
from seatrial.slurm.argv import minutes
from seatrial.slurm.presence import is_here

HERE_TIMEOUT_S = 60.0
ALLOCATED_S = 60.0
MOST_NAMED = 20
NAMELESS = ("", "unknown")
"""What the collector writes where a recorded tree does not say whose it is."""


class FactsRead(msgspec.Struct, frozen=True, kw_only=True):
    """Facts by node, and the raw texts that they were read from."""

    facts: dict[str, NodeFacts]
    after: dict[str, NodeFacts] = {}
    """A second reading, where there is one: the end of a run."""
    texts: dict[str, str] = {}
    silent: dict[str, str] = {}
    """Node without facts -> why."""
    features: dict[str, tuple[str, ...]] = {}
    """Node -> the words that the scheduler has for it."""
    launcher: str = ""
    cluster: str = ""
    fabric: Fabric = NO_FABRIC


def read_here(*, quick: bool = False) -> FactsRead:
    """This machine; `quick`: without what takes long. Raises LaunchError where the collector cannot run."""
    less = QUICK_FACTS if quick else {}
    done = run(["sh", "-s"], stdin=collector(), timeout_s=HERE_TIMEOUT_S, extra_environment=less)
    text = printed(done, "The collector does not run here", HERE_TIMEOUT_S)
    facts = parse_facts(text)
    return FactsRead(facts={facts.hostname: facts}, texts={facts.hostname: text}, launcher="local")


def cluster_launcher(site: SiteSettings) -> SlurmLauncher:
    """A launcher for reading the facts of `site.nodes`, or of all idle nodes. Raises UsageError without Slurm."""
    if not is_here():
        named = f"NODES {_first_of(site.nodes)} needs" if site.nodes else "--launcher slurm needs"
        raise UsageError(
            f"{named} Slurm, and no Slurm answers here (sinfo).",
            "Run it on a login node, name the nodes with --hosts to read them over ssh, or leave them out to read this "
            "machine alone.",
        )
    return SlurmLauncher(msgspec.structs.replace(site, quick_facts=False), probe=Path())


def _first_of(nodes: Sequence[str]) -> str:
    """n[1-20] and 30 more: folding tens of thousands of names takes seconds, and nobody reads them."""
    rest = len(nodes) - MOST_NAMED
    return node_list(nodes[:MOST_NAMED]) + (f" and {rest:,} more" if rest > 0 else "")


def read_cluster(site: SiteSettings, progress: Progress) -> FactsRead:
    """The nodes, or all that are idle, in an allocation of our own or inside the job that we are part of.

    Raises UsageError for a node or partition that Slurm does not know and where there is no Slurm, LaunchError where
    it grants nothing. A node that is down or does not answer, or that would cost more than --node-hours, is silent.
    Hosts that are named, and those of a job of PBS, LSF or Flux, are read over ssh.
    """
    if uses_ssh(site):
        return read_hosts(site, progress)
    launcher = cluster_launcher(site)
    progress.stage("Looking for nodes")
    hosts = launcher.hosts()
    nodes = hosts.nodes
    cut: tuple[NodeState, ...] = ()
    if nodes and not launcher.job:
        nodes, cut = fewer_nodes(site.node_hours, nodes, minutes(ALLOCATED_S))
    silent = {state.node: state.reason for state in (*hosts.left_out, *cut)}
    texts: dict[str, str] = {}
    if nodes:
        progress.stage(f"Waiting for Slurm to grant {count(len(nodes), 'node')}")
        try:
            nodes, lost = allocate_available(launcher, nodes, ALLOCATED_S, 1)
            silent |= {state.node: state.reason for state in lost}
            progress.stage(f"Reading the facts of {count(len(nodes), 'node')}")
            reading = launcher.read_facts(nodes)
        finally:
            launcher.close()
        texts = reading.texts
        silent |= reading.silent
    read = _with_features(_of_texts(texts, silent), described(hosts.features, site))
    return msgspec.structs.replace(read, launcher=launcher.name, cluster=hosts.cluster, fabric=hosts.fabric)


def read_hosts(site: SiteSettings, progress: Progress) -> FactsRead:
    """The hosts of `site`, each over ssh. Raises UsageError for names and options, LaunchError without ssh."""
    hosts = chosen_hosts(site)
    require_ssh()
    progress.stage(f"Reading the facts of {count(len(hosts), 'host')} over ssh")
    reading = read_remote_facts(hosts)
    read = _with_features(_of_texts(reading.texts, reading.silent), described({}, site))
    return msgspec.structs.replace(read, launcher="ssh")


def read_recording(path: Path, progress: Progress = SILENT) -> FactsRead:
    """Whatever `path` is, recognised by its content (docs/recordings.md).

    Raises UsageError for what is not one, is damaged or too large, another SeatrialError where none of its
    machines can be read. Of several machines, those that cannot be read are silent.
    """
    if path.is_dir():
        return _of_folder(path, path, progress)
    if not os.path.lexists(path):
        raise UsageError(f"There is no recording {str(path)!r}.", EXPECTED)
    try:
        open_regular(path, ANY_SIZE).close()
    except BadInput as error:
        raise UsageError(error.what, EXPECTED) from error
    form = form_of(path)
    if form in (Form.TAR, Form.TTAR):
        progress.stage(f"Unpacking {path}")
        with unpacked(path, form) as folder:
            return _of_folder(folder, path, progress)
    text = text_of(path)
    if form is Form.STREAM:
        facts = parse_facts(text)
        name = stream_node(path) or facts.hostname
        return FactsRead(facts={name: facts}, texts={name: text})
    if form is Form.JSON:
        gpus, name = amd_gpus("", "", text), _plain(path)
        return FactsRead(facts={name: facts_of_gpus(gpus, name)} if gpus else facts_from_sysinfo(text))
    if form is Form.TEXT:
        parts = texts_by_node(text, node_of(path) or "machine")
        silent = {node: NOT_PRINTED for node, part in parts.items() if len(parts) > 1 and not commands_in(part)}
        read = {node: facts_from_text(part, node) for node, part in parts.items() if node not in silent}
        return FactsRead(facts=read, silent=silent)
    machine = hwloc_xml.facts_from_xml(text, _plain(path))
    return FactsRead(facts={machine.hostname: machine})


def is_recording(name: str, archive: Path) -> bool:
    """Whether that is the path of a recording, and not of a run. Without a slash it is one only if no run is meant."""
    path = Path(name)
    try:
        if not path.exists() or (path / layout.RUN_FILE).is_file():
            return False
        if "/" not in name:
            find_run(archive, name)
    except (OSError, ValueError):  # no file system takes such a name
        return False
    except NoRun:
        return True
    return "/" in name


def read_earlier(name: str, archive: Path) -> FactsRead:
    """A recording, or a run of the archive as it was before it measured. Raises UsageError where there is neither."""
    if is_recording(name, archive):
        return read_recording(Path(name))
    try:
        folder = find_run(archive, name)
    except UsageError as error:
        raise UsageError(f"{error.what} Nor is there a recording of that name.", error.remedy) from error
    read = _of_texts(read_facts_texts(folder, layout.BEFORE), {})
    if not read.facts:
        raise UsageError(f"The run {folder} has no facts.", "Name another run or a recording.")
    info = read_info(folder)
    return msgspec.structs.replace(_with_features(read, info.features), cluster=info.cluster)


def read_named(words: str, archive: Path) -> FactsRead:
    """A recording or a run, or some of its nodes: `cluster.tar.gz:n[1-2]`. Raises UsageError."""
    name, colon, nodes = words.partition(":")
    if not colon or Path(words).exists():
        return read_earlier(words, archive)
    return only(read_earlier(name, archive), parse_nodes(nodes, "--facts"), name)


def only(read: FactsRead, nodes: Sequence[str], label: object) -> FactsRead:
    """Some nodes of a recording. Raises UsageError for one that it does not have."""
    strange = [node for node in nodes if node not in read.facts and node not in read.silent]
    if strange:
        raise UsageError(f"{label} has no node {strange[0]!r}.", f"It has {_first_of(sorted(read.facts))}.")
    return msgspec.structs.replace(
        read,
        facts={node: read.facts[node] for node in nodes if node in read.facts},
        after={node: read.after[node] for node in nodes if node in read.after},
        silent={node: read.silent[node] for node in nodes if node in read.silent},
    )


def _of_folder(folder: Path, label: Path, progress: Progress) -> FactsRead:
    """`label`: what the user calls it; an unpacked archive lies elsewhere."""
    found = contents(folder, label)
    if found.streams:
        read = _of_texts(found.streams, {})
        _some(read, label)
        return _with_features(msgspec.structs.replace(read, after=_of_texts(found.after, {}).facts), found.features)
    if found.files:
        progress.stage(f"Reading the files of {count(len(found.files), 'node')}")
        fleet = read_fleet(found.files, folder)
        read = FactsRead(facts=fleet.facts, silent=fleet.silent)
        _some(read, label)
        return read
    progress.stage(f"Collecting from {label}")
    alone = _plain(label) if len(found.trees) == 1 else ""
    unpacked_here = folder != label
    read = _of_trees({alone or name: tree for name, tree in found.trees.items()}, label, safe=unpacked_here)
    _some(read, label)
    return read


def _of_trees(trees: Mapping[str, Path], label: Path, *, safe: bool) -> FactsRead:
    """Each by the host that it says it is; by its folder where it says none, or another one's.

    `safe`: they were rebuilt by us already, and no link leads out of them.
    """
    facts: dict[str, NodeFacts] = {}
    texts: dict[str, str] = {}
    silent: dict[str, str] = {}
    for name, tree in trees.items():
        try:
            with nullcontext(tree) if safe else rebuilt(tree) as root:
                text = collect_tree(root, label)
            machine = parse_facts(text)
        except SeatrialError as error:
            silent[name] = str(error)
            continue
        if machine.hostname in (*NAMELESS, *facts):
            free = name if name not in facts else f"{name}, another"
            machine = msgspec.structs.replace(machine, hostname=free)
        facts[machine.hostname] = machine
        texts[machine.hostname] = text
    return FactsRead(facts=facts, texts=texts, silent=silent)


def _of_texts(texts: Mapping[str, str], silent: Mapping[str, str]) -> FactsRead:
    facts: dict[str, NodeFacts] = {}
    bad: dict[str, str] = {}
    for node, text in texts.items():
        try:
            facts[node] = parse_facts(text)
        except SeatrialError as error:
            bad[node] = str(error)
    return FactsRead(facts=facts, texts=dict(texts), silent={**silent, **bad})


def _with_features(read: FactsRead, features: dict[str, tuple[str, ...]]) -> FactsRead:
    return msgspec.structs.replace(
        read, features=features, facts=with_kinds(read.facts, features), after=with_kinds(read.after, features)
    )


def _some(read: FactsRead, label: Path) -> None:
    if not read.facts:
        node, why = next(iter(read.silent.items()))
        tried = len(read.silent)
        none = f"None of the {tried} machines in {label} can" if tried > 1 else f"The machine in {label} cannot"
        raise SeatrialError(f"{none} be read; {node}: {why}")


def _plain(path: Path) -> str:
    """n3.tar.gz -> n3; a folder's name as it is."""
    name = path.resolve().name
    for ending in (".gz", ".bz2", ".xz", ".tar", ".ttar", ".tgz", ".xml", ".json"):
        name = name.removesuffix(ending) or name
    return name or "machine"
