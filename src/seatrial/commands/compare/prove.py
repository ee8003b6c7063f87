"""Suspects taken back for a moment: the benchmark with and without the change, and the change restored.

Nothing is changed before the sentence that says what will be. The changed setting is the one that the machine has, so
it is what `toggle` restores at the end, whatever happens.
"""

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from seatrial.archive.reader import read_info
from seatrial.archive.run_sets import find_runs, load_tables
from seatrial.commands.compare.reach import Located, Reach, locate, reach_of, step_to
from seatrial.commands.compare.repetition import announcement, benchmark_of, repeatable
from seatrial.commands.compare.toggle import Setting, Toggle, Unrestored, run_toggled
from seatrial.driver.progress import Progress
from seatrial.judgement.comparison.proof import judge_proof, lost_row, slowest_node, worth_testing
from seatrial.judgement.comparison.records import Comparison, Proof, ProofOutcome, Suspect
from seatrial.judgement.comparison.reversible import Reversal, reversal_of
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.facts import NodeFacts
from seatrial.model.imported import Sense
from seatrial.model.run import RunInfo
from seatrial.model.settings import SiteSettings
from seatrial.model.words import some

Facts = Mapping[str, NodeFacts]
MOST_TESTED = 3
"""Suspects that are taken back in turn, until one is confirmed."""
MOST_NAMES = 6


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What `--prove` was asked to do."""

    archive: Path
    first: str
    second: str
    """The runs before and after the change, as the command line names them."""
    benchmark: tuple[str, ...]
    """Empty: the command that measured the newest of these runs, if it is the caller's."""
    blocks: int
    dry_run: bool
    site: SiteSettings
    """How the caller reaches nodes; an archive does not decide it for somebody else."""


class Proved(msgspec.Struct, frozen=True, kw_only=True):
    """The comparison with its proofs; `unrestored`: why a setting was not restored, empty where all were."""

    comparison: Comparison
    unrestored: str = ""


def run_proof(request: Request, comparison: Comparison, progress: Progress, say: Callable[[str], None]) -> Proved:
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
    request: Request, comparison: Comparison, facts: tuple[Facts, Facts], info: RunInfo, progress: Progress
) -> Proved:
    """`facts`: before and after the change; `info`: of a run after it, which says how to measure and to reach nodes."""
    if lost_row(comparison) is None:
        note = "Nothing lost speed, so --prove had nothing to explain."
        return Proved(comparison=msgspec.structs.replace(comparison, notes=(*comparison.notes, note)))
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
        proof, unrestored = _prove(request, comparison, reversal, benchmark, reach, progress)
        proofs.append(proof)
        if proof.outcome is ProofOutcome.CONFIRMED:
            break
    return Proved(comparison=msgspec.structs.replace(comparison, proofs=tuple(proofs)), unrestored=unrestored)


def _within(hosts: Sequence[str], reversal: Reversal | str) -> Reversal | str:
    """The reversal if it concerns only hosts that the caller named, where hosts are named."""
    if isinstance(reversal, str) or not hosts:
        return reversal
    strange = [node for node in reversal.nodes if node not in hosts]
    return f"{strange[0]} is not one of the hosts of --hosts" if strange else reversal


def _untestable(suspect: Suspect, why: str) -> Proof:
    return Proof(facts=suspect.facts, nodes=suspect.nodes, outcome=ProofOutcome.UNTESTABLE, statement=f"{why}.")


def _prove(
    request: Request,
    comparison: Comparison,
    reversal: Reversal,
    benchmark: tuple[str, ...],
    reach: Reach,
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
    located = [locate(reach, node, setting) for node in reversal.nodes for setting in reversal.files]
    failed = [each for each in located if isinstance(each, str)] or _moved_on(located)
    if failed:
        untestable = msgspec.structs.replace(planned, outcome=ProofOutcome.UNTESTABLE, statement=f"{failed[0]}.")
        return untestable, ""
    places = [each for each in located if isinstance(each, Located)]
    try:
        toggle = Toggle(
            first=Setting(steps=tuple(step_to(reach, each, each.content) for each in places)),
            second=Setting(
                steps=tuple(step_to(reach, each, each.setting.earlier) for each in places),
                environment=reversal.environment,
            ),
            benchmark=benchmark,
            blocks=request.blocks,
            sense=Sense.HIGHER,
        )
        toggled = run_toggled(request.archive, toggle, progress)
    except SeatrialError as error:
        why = error.what if isinstance(error, Unrestored) else ""
        return msgspec.structs.replace(planned, outcome=ProofOutcome.UNTESTABLE, statement=error.what), why
    sets = [find_runs(request.archive, ",".join(runs)) for runs in (toggled.second, toggled.first)]
    leaf_of = {node: leaf for each in sets for run in each.summaries for node, leaf in run.leaf_of.items()}
    proof = judge_proof(planned, comparison, load_tables(sets), len(toggled.second), leaf_of)
    runs = msgspec.structs.replace(proof, with_change=toggled.first, without_change=toggled.second)
    return runs, toggled.unrestored


def _moved_on(located: Sequence["Located | str"]) -> list[str]:
    """Why nothing is changed: a setting has another value now than in the runs."""
    return [
        f"{each.setting.fact} of {each.node} is {each.content} now, and was {each.setting.present} in the runs"
        for each in located
        if isinstance(each, Located) and each.content != " ".join(each.setting.present.split())
    ]


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
        "Then restore it, also after an error or Ctrl-C."
    )
