"""Suspects taken back for a moment: the benchmark with and without the change, and the change restored.

Nothing is changed before the sentence that says what will be. The changed setting is the one that the machine has, so
it is what `toggle` restores at the end, whatever happens.
"""

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from seatrial.archive import layout
from seatrial.archive.changed_settings import ChangedFile
from seatrial.archive.reader import read_info
from seatrial.archive.run_sets import find_runs, load_tables
from seatrial.commands.compare.toggle import UNKNOWN_RUN_S, Toggle, Unrestored, run_toggled
from seatrial.driver.clock import new_run_name
from seatrial.driver.custody import OWN, Custody
from seatrial.driver.node_selection import allocation_s
from seatrial.driver.progress import Progress
from seatrial.driver.reach import Reach, locate, reach_of
from seatrial.files.owners import is_own_alone, user_name
from seatrial.files.writing import opened_folder
from seatrial.judgement.comparison.proof import (
    blocks_to_decide,
    judge_proof,
    lost_row,
    slowest_node,
    with_proofs,
    worth_testing,
)
from seatrial.judgement.comparison.records import Comparison, Proof, ProofOutcome, Suspect
from seatrial.judgement.comparison.reversible import Reversal, reversal_of
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.facts import NodeFacts
from seatrial.model.imported import Sense
from seatrial.model.run import RunInfo
from seatrial.model.settings import CheckSettings, Settings, SiteSettings, SlurmRequest
from seatrial.model.words import some
from seatrial.slurm.held_nodes import named_nodes, nodes_in_service, refuse_foreign_nodes
from seatrial.slurm.presence import is_here

LEFT_OUT = frozenset({"--archive", "--run", "--html", "--markdown", "--junit", "--plot"})
"""Options of the earlier command that name files; each has a value."""
LEFT_OUT_FLAGS = frozenset({"--json", "--detach"})


def repeatable(folder: Path, words: tuple[str, ...], site: SiteSettings) -> RunInfo:
    """What the run in `folder` says, as far as it may be executed; the rest is from the command line.

    `words`: the benchmark on the command line, or nothing; `site`: the options of a site there. Raises UsageError for
    the command of a run that is not the caller's.
    """
    own = _own_info(folder)
    info = own or read_info(folder)
    if not words and own is None:
        raise UsageError(
            f"The run in {folder} is not yours alone ({_owner(folder)}), so its command is not executed.",
            f"If it is what you want to execute, write compare A B --prove -- {shlex.join(benchmark_of(info))}",
        )
    command = info.command if own else ()
    return msgspec.structs.replace(info, command=command, launcher=_launcher(own, site), settings=_settings(own, site))


def announcement(benchmark: tuple[str, ...]) -> str:
    """What will be executed, and as whom."""
    return f"Executes as {user_name(os.geteuid())}: {shlex.join(benchmark)}"


def _own_info(folder: Path) -> RunInfo | None:
    """run.json of a run that this user owns, and that nobody else may write to; else None.

    The folder is held open: a file in it that is this user's cannot be replaced by others in the meantime. A link is
    not followed: others may have put it in the place of a run of theirs that was looked at before.
    """
    try:
        with opened_folder(folder) as handle:
            held = f"/proc/self/fd/{handle}"
            mine = is_own_alone(f"{held}/.") and is_own_alone(f"{held}/{layout.RUN_FILE}")
            return read_info(Path(held)) if mine else None
    except OSError:
        return None


def _owner(folder: Path) -> str:
    """Whose run it is, for a sentence."""
    owners = {path.stat().st_uid for path in (folder, folder / layout.RUN_FILE)} - {os.geteuid()}
    if folder.is_symlink():
        return "it is a link"
    names = ", ".join(f"it belongs to {user_name(owner)}" for owner in sorted(owners))
    return names or "others may write to it"


def _launcher(own: RunInfo | None, site: SiteSettings) -> str:
    if site.launcher == "ssh" and own is None and not site.hosts:
        raise UsageError("--launcher ssh needs to know the hosts.", "Name them with --hosts or --hostfile.")
    if site.launcher != "auto":
        return site.launcher
    if site.hosts:
        return "ssh"
    if own is not None:
        return own.launcher
    return "slurm" if is_here() else ""


def _settings(own: RunInfo | None, site: SiteSettings) -> Settings:
    """The caller's options for jobs; if none are given, those of the caller's own run."""
    if own is not None and own.settings is not None and not site.partition and site.slurm == SlurmRequest():
        return own.settings
    return CheckSettings(**{name: getattr(site, name) for name in SiteSettings.__struct_fields__})


def benchmark_of(info: RunInfo) -> tuple[str, ...]:
    """The command that measured a run, without the files that it wrote. Raises UsageError for imported values."""
    if info.launcher == "import" or not info.command:
        raise UsageError("These runs do not say how to measure again.", "Write compare A B --prove -- BENCHMARK ...")
    words: list[str] = []
    skip = False
    for word in info.command:
        name, equals, _ = word.partition("=")
        if skip:
            skip = False
        elif name in LEFT_OUT:
            skip = not equals
        elif word not in LEFT_OUT_FLAGS:
            words.append(word)
    return (OWN, *words)


Facts = Mapping[str, NodeFacts]
MOST_TESTED = 3
"""Suspects that are taken back in turn, until one is confirmed."""
MOST_NAMES = 6


class ProofRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What `--prove` was asked to do."""

    archive: Path
    first: str
    second: str
    """The runs before and after the change, as the command line names them."""
    benchmark: tuple[str, ...]
    """Empty: the command that measured the newest of these runs, if it is the caller's."""
    run_s: float = UNKNOWN_RUN_S
    """Seconds for which nodes are held for each run of it."""
    blocks: int
    """0: as many as the variance of the compared runs asks for."""
    dry_run: bool
    site: SiteSettings
    """How the caller reaches nodes; an archive does not decide it for somebody else."""


class Proved(msgspec.Struct, frozen=True, kw_only=True):
    """The comparison with its proofs; `unrestored`: why a setting was not restored, empty where all were."""

    comparison: Comparison
    unrestored: str = ""


def run_proof(request: ProofRequest, comparison: Comparison, progress: Progress, say: Callable[[str], None]) -> Proved:
    """Take suspects back, the most likely first. `say` gets a sentence on what is executed before anything is.

    Raises UsageError where there is nothing to measure with, and KeyboardInterrupt after the setting is restored.
    """
    before = find_runs(request.archive, request.first).parsed_facts()
    changed = find_runs(request.archive, request.second)
    newest = changed.runs[-1]
    if newest.in_baseline:
        raise UsageError(f"{request.second} is a baseline, and --prove needs runs.", "Name runs of the machine as B.")
    info = read_info(newest.folder)
    if lost_row(comparison) is not None:
        info = repeatable(newest.folder, request.benchmark, request.site)
        if not request.dry_run:
            say(announcement(request.benchmark or benchmark_of(info)))
    return prove_suspects(request, comparison, (before, changed.parsed_facts()), info, progress)


def prove_suspects(
    request: ProofRequest, comparison: Comparison, facts: tuple[Facts, Facts], info: RunInfo, progress: Progress
) -> Proved:
    """`facts`: before and after the change; `info`: of a run after it, which says how to measure and to reach nodes."""
    if lost_row(comparison) is None:
        note = "Nothing lost speed, so --prove had nothing to explain."
        return Proved(comparison=msgspec.structs.replace(comparison, notes=(*comparison.notes, note)))
    request = msgspec.structs.replace(request, blocks=request.blocks or blocks_to_decide(comparison))
    benchmark = request.benchmark or benchmark_of(info)
    reach = reach_of(info)
    proofs: list[Proof] = []
    unrestored = ""
    tested = 0
    for suspect in worth_testing(comparison):
        reversal = _within(request.site.hosts, reversal_of(suspect, *facts, slowest_node(comparison, suspect)))
        if isinstance(reversal, str) or isinstance(reach, str):
            proofs.append(_untestable(suspect, reversal if isinstance(reversal, str) else str(reach)))
            continue
        if tested == MOST_TESTED or unrestored:
            proofs.append(_untestable(suspect, "other suspects were tested before it"))
            continue
        tested += 1
        proof, unrestored = _prove(request, comparison, reversal, benchmark, reach, info, progress)
        proofs.append(proof)
        if proof.outcome is ProofOutcome.CONFIRMED:
            break
    return Proved(comparison=with_proofs(comparison, proofs), unrestored=unrestored)


def _within(hosts: Sequence[str], reversal: Reversal | str) -> Reversal | str:
    """The reversal if it concerns only hosts that the caller named, where hosts are named."""
    if isinstance(reversal, str) or not hosts:
        return reversal
    strange = [node for node in reversal.nodes if node not in hosts]
    return f"{strange[0]} is not one of the hosts of --hosts" if strange else reversal


def _untestable(suspect: Suspect, why: str) -> Proof:
    return Proof(facts=suspect.facts, nodes=suspect.nodes, outcome=ProofOutcome.UNTESTABLE, statement=f"{why}.")


def _prove(
    request: ProofRequest,
    comparison: Comparison,
    reversal: Reversal,
    benchmark: tuple[str, ...],
    reach: Reach,
    info: RunInfo,
    progress: Progress,
) -> tuple[Proof, str]:
    """One suspect; the second value is why a setting was not restored."""
    planned = Proof(
        facts=reversal.facts, nodes=reversal.nodes, outcome=ProofOutcome.PLANNED,
        statement=plan_text(reversal, benchmark, request.blocks),
    )  # fmt: skip
    if request.dry_run:
        return planned, ""
    progress.stage(planned.statement)
    try:
        with custody_of(request, reversal, reach, info) as custody:
            located = [locate(custody.reach, node, setting) for node in reversal.nodes for setting in reversal.files]
            failed = [each for each in located if isinstance(each, str)] or _moved_on(reversal, located)
            if failed:
                return msgspec.structs.replace(planned, outcome=ProofOutcome.UNTESTABLE, statement=f"{failed[0]}."), ""
            toggle = Toggle(
                changes=tuple(each for each in located if isinstance(each, ChangedFile)),
                environment=reversal.environment,
                benchmark=benchmark,
                blocks=request.blocks,
                sense=Sense.HIGHER,
            )
            toggled = run_toggled(request.archive, toggle, custody, progress)
    except SeatrialError as error:
        why = error.what if isinstance(error, Unrestored) else ""
        return msgspec.structs.replace(planned, outcome=ProofOutcome.UNTESTABLE, statement=error.what), why
    sets = [find_runs(request.archive, ",".join(runs)) for runs in (toggled.second, toggled.first)]
    leaf_of = {node: leaf for each in sets for run in each.summaries for node, leaf in run.leaf_of.items()}
    proof = judge_proof(planned, comparison, load_tables(sets), len(toggled.second), leaf_of)
    runs = msgspec.structs.replace(proof, with_change=toggled.first, without_change=toggled.second)
    return runs, toggled.unrestored


def _moved_on(reversal: Reversal, located: Sequence["ChangedFile | str"]) -> list[str]:
    """Why nothing is changed: a setting has another value now than in the runs."""
    present = {setting.fact: " ".join(setting.present.split()) for setting in reversal.files}
    return [
        f"{each.fact} of {each.node} is {each.usual} now, and was {present[each.fact]} in the runs"
        for each in located
        if isinstance(each, ChangedFile) and each.usual != present[each.fact]
    ]


def custody_of(request: ProofRequest, reversal: Reversal, reach: Reach, info: RunInfo) -> Custody:
    """Custody of the changed nodes and of all that the benchmark needs, if they belong to Slurm; a job around us has
    them already. Raises UsageError for a node that is not part of that job.
    """
    nodes: tuple[str, ...] = ()
    if reversal.files and reach.launcher == "slurm":
        job = os.environ.get("SLURM_JOB_ID", "")
        if job:
            refuse_foreign_nodes(job, reversal.nodes)
            reach = msgspec.structs.replace(reach, job=job)
        else:
            others = named_nodes(request.benchmark) or nodes_in_service(info.nodes)
            nodes = tuple(dict.fromkeys((*reversal.nodes, *others)))
    site = info.settings if isinstance(info.settings, SiteSettings) else getattr(info.settings, "site", None)
    run_s = allocation_s(site.budget_s) if site and not request.benchmark else request.run_s
    return Custody(new_run_name("proof"), reach, nodes, 4 * request.blocks * run_s)


def plan_text(reversal: Reversal, benchmark: Sequence[str], blocks: int) -> str:
    """What will be changed, where, for which benchmark, and that it is restored."""
    names = some(list(reversal.nodes), MOST_NAMES)
    parts = [
        f"{each.fact} from {each.present} to {each.earlier} on {names} ({each.places[0][0]}"
        f"{', ...' if len(each.places[0]) > 1 else ''}; needs root there)"
        for each in reversal.files
    ]
    if reversal.environment:
        variables = " ".join(shlex.quote(f"{name}={value}") for name, value in reversal.environment.items())
        parts.append(f"in the job alone, {variables} as before the change")
    return (
        f"Change for {2 * blocks} of {4 * blocks} runs of `{' '.join(benchmark)}`: {'; '.join(parts)}. "
        "Then restore it, also after an error, Ctrl-C or a kill."
    )
