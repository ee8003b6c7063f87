"""Facts of many nodes, each read by a job of its own as soon as that node has a core free; and collected later.

Work on each node by itself needs no allocation of all nodes at one time, which on a busy cluster may not come
for days.
"""

import contextlib
import hashlib
import shlex
from pathlib import Path

import msgspec

from seatrial import __version__
from seatrial.archive.writer import sentences
from seatrial.driver.clock import new_run_name, now_text
from seatrial.driver.facts_reading import cluster_launcher
from seatrial.driver.node_selection import described, fewer_nodes
from seatrial.driver.progress import Progress
from seatrial.driver.submitted import (
    CANCELLED,
    SUBMITTED,
    Submitted,
    await_the_last_file,
    batch_script,
    submission,
    write_files,
    write_submitted,
)
from seatrial.files.inputs import read_end
from seatrial.files.owners import is_own
from seatrial.files.writing import own_folder
from seatrial.launch.collector import collector
from seatrial.launch.contract import Hosts
from seatrial.launch.site_outputs import slurm_outputs
from seatrial.model.errors import ExitCode, LaunchError, SeatrialError, UsageError
from seatrial.model.settings import SiteSettings
from seatrial.model.words import count
from seatrial.recordings.recording import (
    GATHER_FILE,
    RAW_FOLDER,
    STREAM_SUFFIX,
    Gathered,
    gathered_text,
    read_gathered,
    stream_node,
)
from seatrial.render.json import filled
from seatrial.render.report import Report
from seatrial.slurm import argv
from seatrial.slurm.argv import ALONE_MINUTES
from seatrial.slurm.queue import QueueLine, gives_out_memory, jobs_by_name, submit_alone, this_user

WHAT = "facts"
COLLECTOR_FILE = "collect.sh"
LOGS = "logs"
SCRIPT = f"""\
#!/bin/sh
# What this node is, into the folder $1, under the node's name: whole, or not at all. What goes wrong is in {LOGS}/.
# A folder of another user, who may have put it in the place of ours, is not worked in.
# The collector in that folder is executed only if its SHA-256 is $2: others may be able to write there.
cd "$1" && [ -O . ] || exit 1
node=${{SLURMD_NODENAME:?}}
log={LOGS}/$node.txt
exec 2>"$log"
collector=$(cat ./{COLLECTOR_FILE})
if [ "$(printf '%s\\n' "$collector" | sha256sum)" != "$2  -" ]; then
    echo "{COLLECTOR_FILE} is not what was submitted, and was not executed" >&2
    exit 1
fi
if text=$(printf '%s\\n' "$collector" | sh -s) && printf '%s\\n' "$text" >"$node.part"; then
    mv "$node.part" "$node{STREAM_SUFFIX}" && [ ! -s "$log" ] && rm -f "$log"
    exit 0
fi
rm -f "$node.part"
exit 1
"""
MOST_REFUSED = 5
"""Nodes in a row for which Slurm takes no job; then the others are not tried."""


class FactsCollected(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a reading in the queue: every requested node is in one of these. docs/commands.md describes them."""

    folder: Path
    read: tuple[str, ...]
    waiting: dict[str, str]
    """Node -> what Slurm says of its job."""
    failed: dict[str, str]
    """Node whose job ended without a result -> what is known about it."""
    left_out: dict[str, str]
    cancel: str
    """The command that ends the jobs that are left; empty for those of another user, who may have named any."""

    @property
    def run(self) -> str:
        """The name by which the reading is collected."""
        return self.folder.name.removesuffix(SUBMITTED)


def submit_facts(site: SiteSettings, progress: Progress) -> Submitted:
    """Submit a job for each node. Nodes that are down, or for which Slurm takes none, are in `left_out`.

    Raises UsageError for options that do not fit, LaunchError where Slurm takes no job at all, ArchiveError.
    """
    launcher = cluster_launcher(site)
    if launcher.job:
        raise UsageError(
            "--detach makes jobs of its own, outside any job.", "Without it the nodes are read right here."
        )
    progress.stage("Looking for nodes")
    hosts = launcher.hosts()
    nodes, cut = fewer_nodes(site.node_hours, hosts.nodes, ALONE_MINUTES)
    left_out = {state.node: state.reason for state in (*hosts.left_out, *cut)}
    if not nodes:
        why = "; ".join(f"{node}: {reason}" for node, reason in left_out.items())
        raise SeatrialError(f"No node can be read ({why}).", "`seatrial doctor` shows what to do about each.")
    name = new_run_name(WHAT)
    run = site.run or name
    submitted = Submitted(
        run=run, what=WHAT, name=f"seatrial-{name}", user=this_user(), at=now_text(), nodes=nodes, left_out=left_out
    )
    with submission(site.archive, run, submitted.name, submitted.user) as folder:
        _prepare(folder, submitted, hosts, site)
        refused = _hand_in(folder, submitted, site, progress)
        kept = tuple(node for node in nodes if node not in refused)
        submitted = msgspec.structs.replace(submitted, nodes=kept, left_out={**left_out, **refused})
        write_submitted(folder, submitted)
    return submitted


def collect_facts(folder: Path, submitted: Submitted) -> FactsCollected:
    """How far it is. Raises LaunchError where Slurm does not answer and nodes are left to be read."""
    read = _read(folder, submitted)
    missing = [node for node in submitted.nodes if node not in read]
    lines = jobs_by_name(submitted.name, submitted.user) if missing or submitted.left_out else ()
    jobs = {line.asked: line for line in lines}
    if any(node not in jobs or (jobs[node].ended and jobs[node].state != CANCELLED) for node in missing):
        await_the_last_file()
        read = _read(folder, submitted)
    waiting = {node: line.why for node, line in jobs.items() if node not in read and not line.ended}
    settled = {*read, *waiting}
    failed = {node: _why_failed(folder, node, jobs.get(node)) for node in submitted.nodes if node not in settled}
    found = FactsCollected(
        folder=folder,
        read=read,
        waiting=waiting,
        failed=failed,
        left_out={node: why for node, why in submitted.left_out.items() if node not in settled},
        cancel=shlex.join(argv.cancel_named(submitted.name, submitted.user)) if is_own(folder) else "",
    )
    if not waiting:
        _describe(folder, found)
    return found


def _prepare(folder: Path, submitted: Submitted, hosts: Hosts, site: SiteSettings) -> None:
    """All that the jobs need, and what makes the folder a recording, before the first of them can run."""
    with sentences(folder.parent):
        with own_folder(folder) as own:
            for part in (LOGS, RAW_FOLDER):
                own.make_folder(part)
        files = {COLLECTOR_FILE: _collector()}
        files |= {f"{RAW_FOLDER}/{file}": text for file, text in slurm_outputs().items()}
        write_files(folder, {file: text.encode() for file, text in files.items()})
        gathered = Gathered(
            seatrial=__version__,
            at=submitted.at,
            launcher="slurm",
            cluster=hosts.cluster,
            silent=submitted.left_out,
            features=described(hosts.features, site),
        )
        _write_gathered(folder, gathered)
    write_submitted(folder, submitted)


def _hand_in(folder: Path, submitted: Submitted, site: SiteSettings, progress: Progress) -> dict[str, str]:
    """A job for each node; those for which Slurm takes none -> why. Raises LaunchError where it takes none at all."""
    progress.stage(f"Submitting a job for each of {count(len(submitted.nodes), 'node')}")
    progress.rounds(len(submitted.nodes))
    memory = gives_out_memory()
    words = [str(folder), hashlib.sha256(_collector().encode()).hexdigest()]
    refused: dict[str, str] = {}
    in_a_row: list[LaunchError] = []
    with batch_script(SCRIPT) as script:
        for node in submitted.nodes:
            if len(in_a_row) >= MOST_REFUSED:
                refused[node] = f"not tried any more: {in_a_row[-1].what}"
                continue
            try:
                submit_alone(
                    node, site.partition, submitted.name, str(script), words, memory=memory, request=site.slurm
                )
                in_a_row = []
            except LaunchError as error:
                in_a_row.append(error)
                refused[node] = error.what
            progress.advance()
    if len(refused) == len(submitted.nodes):
        raise in_a_row[-1]
    return refused


def _collector() -> str:
    """What the jobs execute, with one line feed at its end."""
    return collector().rstrip("\n") + "\n"


def _read(folder: Path, submitted: Submitted) -> tuple[str, ...]:
    """Nodes whose stream is there, also of those for which Slurm took a job and did not say so."""
    with sentences(folder.parent):
        there = {stream_node(path) for path in folder.iterdir()}
    return tuple(node for node in (*submitted.nodes, *submitted.left_out) if node in there)


def _why_failed(folder: Path, node: str, job: QueueLine | None) -> str:
    """What its job wrote to standard error, or what Slurm says of it."""
    said = read_end(folder / LOGS / f"{node}.txt", folder=folder).strip()
    if said:
        return said.splitlines()[-1]
    if job is None:
        return "it has no job and wrote nothing: it was cancelled, never submitted, or cannot write to this folder"
    if job.state == CANCELLED:
        return "its job was cancelled"
    return (
        f"its job left nothing ({job.why}): it may not see this folder (--archive names a shared one) or have no room"
    )


def _describe(folder: Path, found: FactsCollected) -> None:
    """gather.json as it is in the end; where the folder is not ours to write to it stays as it was."""
    before = read_gathered(folder)
    if before is None:
        return
    with contextlib.suppress(OSError):
        silent = {**found.left_out, **found.failed}
        _write_gathered(folder, msgspec.structs.replace(before, nodes=found.read, silent=silent))


def _write_gathered(folder: Path, gathered: Gathered) -> None:
    with own_folder(folder) as own:
        own.replace(GATHER_FILE, gathered_text(gathered).encode())


class SubmittedFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A reading of facts that was handed to the queue; docs/commands.md describes each field."""

    nodes: tuple[str, ...]
    left_out: dict[str, str]
    name: str


def submitted_report(submitted: Submitted) -> Report:
    """The jobs of a detached reading, for programs."""
    return Report(kind="submitted", run_name=submitted.run, payload=lambda: filled(SubmittedFacts, submitted))


def collected_report(found: FactsCollected) -> Report:
    """The progress of a detached reading, for programs; PASS once every node is read."""
    whole = not (found.waiting or found.failed or found.left_out)
    return Report(run_name=found.run, payload=lambda: found, exit_code=ExitCode.PASS if whole else ExitCode.INCOMPLETE)
