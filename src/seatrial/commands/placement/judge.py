"""The whole judgement of a launch line's placement, from what its run's archive holds."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import msgspec

from seatrial.commands.placement.advice import RANKFILE, Advice, advise, advised_line, already
from seatrial.commands.placement.gain import ADVISED, Fix, Gain, fate, gains_of
from seatrial.commands.placement.picture import NodePicture, RankRow, pictures, rank_rows
from seatrial.experiment.controls import too_few
from seatrial.judgement.corrupt_data import corrupt_flows, corrupted_pair, corruption_reason, sound
from seatrial.judgement.outcome import failure_of
from seatrial.judgement.pair_limit import limit_between
from seatrial.judgement.rank_deaths import judge_deaths, run_notes
from seatrial.judgement.rank_notes import crossing_notes, first_ranks, of_variant, wandering_notes
from seatrial.launch.line_parser import Dialect, LaunchLine, parse_line
from seatrial.locate.thresholds import GATE_TOLERANCE
from seatrial.model.errors import UsageError
from seatrial.model.facts import NodeFacts
from seatrial.model.limit import Limit
from seatrial.model.measurement import ProbeStart, RankPlace
from seatrial.model.run import Ending, RecordedRun
from seatrial.model.settings import PlacementSettings
from seatrial.model.units import BANDWIDTH, bandwidth
from seatrial.model.verdict import Experiment, Finding, FindingKind, RunVerdict, Verdict, worst
from seatrial.model.words import ranges, verb
from seatrial.node.processor_sets import Numbers, listed
from seatrial.node.rank_places import cores_of, known_cores, rank_names
from seatrial.rules.base import PLACEMENT_HINT, Readings, Rule, Violation, findings_of
from seatrial.rules.ranks import RANKS, readings_of_ranks, threads_findings

OPTION = re.compile(r"(?:--(?:membind|preferred)|-[mp])(?:=?(\d[\d,-]*))?")
REMEDY = (
    "Let memory lie where the ranks run: numactl --localalloc, or no memory option at all, or their own NUMA node's "
    "number. Every access crosses the link between the nodes as it is."
)


def memory_nodes(line: LaunchLine, *, bound: bool = True) -> Numbers:
    """The NUMA nodes on which a numactl of the line lets memory lie, by their numbers; empty where it names none.

    Without `bound` one that binds to processors, too, does not count: the advised line leaves it out.
    """
    for wrapper in line.wrappers:
        words = wrapper.words
        if words[0].rpartition("/")[2] != "numactl" or (wrapper.binds and not bound):
            continue
        for word, following in zip(words[1:], (*words[2:], ""), strict=True):
            if found := OPTION.fullmatch(word):
                return listed(found[1] or following) or ()
    return ()


def memory_findings(
    facts: Mapping[str, NodeFacts], ranks: Mapping[str, tuple[RankPlace, ...]], line: LaunchLine
) -> list[Finding]:
    """Findings on ranks none of whose cores is on a node that their memory options name. Memory without processors
    (HBM, CXL) is chosen on purpose.
    """
    wanted = memory_nodes(line)
    rule = Rule(kind=FindingKind.MEMORY_FAR_FROM_RANKS, order=296, look=partial(_look, wanted), remedy=REMEDY)
    return findings_of(rule, readings_of_ranks(facts, ranks)) if wanted else []


def memory_notes(
    facts: Mapping[str, NodeFacts],
    ranks: Mapping[str, tuple[RankPlace, ...]],
    advice: Advice | None,
    line: LaunchLine,
    findings: Sequence[Finding],
) -> list[str]:
    """A warning where the advised cores are far from the memory of the line, which stays as it is."""
    wanted = memory_nodes(line, bound=False)
    if advice is None or not wanted or any(one.kind is FindingKind.MEMORY_FAR_FROM_RANKS for one in findings):
        return []
    for node, there in ranks.items():
        moved = tuple(RankPlace(rank=r.rank, place=r.place, node=node, cpus=advice.cpus[r.rank]) for r in there)
        if node in facts and _far(facts[node], moved, wanted):
            return [
                f"The line's numactl keeps memory on NUMA node {ranges(wanted)}, and advised cores are on another: "
                "leave that option out of it."
            ]
    return []


def _look(wanted: Numbers, readings: Readings) -> Iterator[Violation]:
    for node, ranks in readings.ranks.items():
        far = _far(readings.facts[node], ranks, wanted)
        if far:
            runs = verb(len(far), "runs", "run")
            clause = (
                f"memory of {rank_names(far)}, which {runs} elsewhere, lies on NUMA node {ranges(wanted)} by numactl"
            )
            details = tuple(rank.rank for rank in far)
            yield Violation(node=node, clause=clause, key=(len(far), tuple(wanted)), details=details)


def _far(facts: NodeFacts, ranks: Sequence[RankPlace], wanted: Numbers) -> list[RankPlace]:
    """Ranks whose cores are all known to be on other NUMA nodes than these, all of which have processors."""
    cores = known_cores(facts, ranks)
    homes = {core.numa_node for core in cores}
    if None in homes or not homes.issuperset(wanted):
        return []
    return [rank for rank in ranks if {cores[one].numa_node for one in cores_of(cores, rank.cpus)}.isdisjoint(wanted)]


UNSHOWN = (FindingKind.THREADS_SHARE_CORE, FindingKind.MEMORY_FAR_FROM_RANKS)
"""What messages cannot prove."""
UNREAD = "The masks of ranks could not be read: the probe is older, or the system does not report them."
DEFECTS = (FindingKind.RANKS_SHARE_CORE, FindingKind.SMT_SIBLINGS_USED)
"""Two ranks on one core: wrong whatever the times of messages say, since one rank waits while the other computes."""


class Placement(RunVerdict, frozen=True, kw_only=True):
    """What is known of where the ranks of a launch line are."""

    line: tuple[str, ...]
    dialect: Dialect
    rows: tuple[RankRow, ...]
    pictures: tuple[NodePicture, ...]
    advice: Advice | None
    advised_line: tuple[str, ...]
    """Empty: nothing better is known, it was withdrawn, or it measured worse."""
    fix: Fix
    why: str
    gains: tuple[Gain, ...]
    failure: str = ""
    """Why the run ended before any rank said where it is; empty where one did."""


def placement_findings(facts: Mapping[str, NodeFacts], ranks: Mapping[str, tuple[RankPlace, ...]]) -> list[Finding]:
    """What the rules that concern ranks say of them."""
    return [finding for rule in RANKS for finding in findings_of(rule, readings_of_ranks(facts, ranks))]


def recorded_line(recorded: RecordedRun) -> LaunchLine:
    """The launch line that the run was about. Raises UsageError for a run of another kind."""
    info, asked = recorded.info, recorded.info.settings
    if not isinstance(asked, PlacementSettings):
        raise UsageError(f"The run {info.run} is not a run of seatrial placement, but of {info.kind.command}.")
    if info.launcher not in list(Dialect):
        raise UsageError(f"The run {info.run} has an unknown launcher ({info.launcher!r}).", "Its run.json is damaged.")
    return parse_line(asked.words, Dialect(info.launcher), asked.program, asked.cores)


def threads_each(line: LaunchLine) -> int | None:
    """Threads of each rank: --cores, or OMP_NUM_THREADS of the line or, as the run kept it, of the environment."""
    return line.cores or line.threads


def shown_by_messages(facts: Mapping[str, NodeFacts], ranks: Mapping[str, tuple[RankPlace, ...]]) -> bool:
    """Whether messages can prove the fix of some finding."""
    return bool(placement_findings(facts, ranks) or wandering_notes(facts, ranks))


def advice_of(
    facts: Mapping[str, NodeFacts], ranks: Mapping[str, tuple[RankPlace, ...]], line: LaunchLine
) -> Advice | None:
    """Advice where ranks are badly placed or may migrate; None where they are well placed or no fix is known."""
    if not shown_by_messages(facts, ranks) and not threads_findings(facts, ranks, threads_each(line)):
        return None
    advice = advise(facts, ranks, line.cores_each, line.processors_each)
    if advice is None or already(facts, ranks, advice) or not advised_line(line, advice, ("x",), RANKFILE, ""):
        return None
    return advice


def judge_placement(recorded: RecordedRun) -> Placement:
    """The judgement, computed from the masks and the samples alone. Raises UsageError for a run of another kind."""
    line = recorded_line(recorded)
    ranks = first_ranks(recorded)
    findings = [
        *placement_findings(recorded.facts, ranks),
        *threads_findings(recorded.facts, ranks, threads_each(line)),
        *memory_findings(recorded.facts, ranks, line),
    ]
    advice = advice_of(recorded.facts, ranks, line)
    gains = gains_of(sound(recorded).measurements)
    fix, why, otherwise = Fix.NONE, "nothing better is known", ""
    if advice:
        otherwise = disobeyed(recorded.facts, recorded.starts, advice)
        fix, why = fate(gains, otherwise, defect=any(finding.kind in DEFECTS for finding in findings))
    impossible = corruption_reason(recorded) or _impossible(recorded, ranks, gains)
    if impossible:
        fix, why = Fix.UNDECIDED, impossible
    stands = advice is not None and fix is not Fix.WITHDRAWN
    good = stands and not any(gain.worse for gain in gains)
    argv = advised_line(line, advice, line.program, RANKFILE, recorded.info.mpi_library) if advice and good else []
    tried = bool(gains) or fix is Fix.WITHDRAWN
    findings = [_proved(finding, fix, why, tried, bool(argv)) for finding in findings]
    notes = _notes_on_places(recorded, line, ranks, advice, findings)
    findings += judge_deaths(recorded).findings
    findings += [
        found for pair in [*corrupt_flows(recorded.measurements)][:1] for found in corrupted_pair(pair, recorded)
    ]
    failure = "" if ranks else failure_of(recorded)
    unread = not ranks or len(ranks) < len({rank.node for start in recorded.starts[:1] for rank in start.ranks})
    verdict = worst([finding.verdict for finding in findings]) if not unread else Verdict.INCONCLUSIVE
    return Placement(
        line=tuple(line.argv(line.program)),
        dialect=line.dialect,
        rows=tuple(rank_rows(recorded.facts, ranks, advice)),
        pictures=pictures(recorded.facts, ranks, advice),
        findings=tuple(sorted(findings, key=lambda finding: finding.rank)),
        advice=advice if stands else None,
        advised_line=tuple(argv),
        fix=fix,
        why=why,
        gains=gains,
        notes=(*run_notes(recorded, failure, findings), *([UNREAD] if unread and not failure else []), *notes),
        verdict=Verdict.INVALID if impossible else Verdict.NOT_RUN if failure else verdict,
        failure=failure,
        complete=recorded.info.ending is Ending.COMPLETE
        and (advice is None or bool(otherwise) or _all_measured(recorded, gains)),
    )


def _all_measured(recorded: RecordedRun, gains: Sequence[Gain]) -> bool:
    """Whether both placements were started as often as planned."""
    wanted = recorded.info.design.repetitions if recorded.info.design else 0
    return not wanted or (len(gains) == 2 and all(gain.ratio.runs >= wanted for gain in gains))


def _proved(finding: Finding, fix: Fix, why: str, tried: bool, advised: bool) -> Finding:
    """A finding whose fix measures better is slow; one whose fix measures no better also loses its remedy.

    Threads and memory do not show in messages: what is said of them stays as it is. Ranks that share a core are at
    fault and are to be parted, whatever was measured.
    """
    here = "the advised line does so" if advised else ""
    remedy = finding.remedy.replace(f" ({PLACEMENT_HINT})", f" ({here})" if here else "")
    if fix is Fix.NONE or finding.kind in UNSHOWN:
        return msgspec.structs.replace(finding, remedy=remedy)
    experiment = Experiment(
        description="The launch line started repeatedly, alternating with and without the advised binding",
        outcome=why,
        confirmed=fix is Fix.PROVED,
    )
    if not tried:
        return msgspec.structs.replace(finding, remedy=remedy)
    experiments = (experiment,)
    if finding.kind in DEFECTS and fix is not Fix.PROVED:
        return msgspec.structs.replace(finding, experiments=experiments, remedy=remedy)
    return msgspec.structs.replace(
        finding,
        experiments=experiments,
        verdict=Verdict.SLOW if fix is Fix.PROVED else Verdict.INCONCLUSIVE,
        remedy="None: the binding advised instead was withdrawn." if fix is Fix.WITHDRAWN else remedy,
    )


def disobeyed(facts: Mapping[str, NodeFacts], starts: Sequence[ProbeStart], advice: Advice) -> str:
    """How a launch under the advised placement did not come up, or came up otherwise; empty where all were right."""
    failed = [start.failure for start in starts if start.variant == ADVISED and start.failure]
    if failed:
        return f"the line does not start with it: {failed[0]}"
    for ranks in of_variant(starts, ADVISED):
        for node, there in ranks.items():
            cores = known_cores(facts.get(node), there)
            for rank in there:
                wanted = advice.cpus.get(rank.rank, ())
                if cores_of(cores, rank.cpus) != cores_of(cores, wanted):
                    return (
                        f"the launcher did not bind as requested: {rank_names([rank])} on {node} should run on "
                        f"{ranges(wanted)} and may run on {ranges(rank.cpus)}"
                    )
    return ""


def _impossible(recorded: RecordedRun, ranks: Mapping[str, tuple[RankPlace, ...]], gains: Sequence[Gain]) -> str:
    """A sentence where two nodes exchanged more than their network can carry; the gate of the limit.

    By the lower end of the interval: pairs that do not set out at the very same time seem to carry a little more
    together than they do.
    """
    nodes = list(ranks)
    if len(nodes) != 2:
        return ""
    limit = limit_between(recorded.facts, (nodes[0], nodes[1]))
    if not isinstance(limit, Limit):
        return ""
    for gain in gains:
        most = max(gain.asked.low, gain.advised.low)
        if gain.metric == BANDWIDTH and not too_few(gain.ratio) and most > limit.gate_bytes_per_s * GATE_TOLERANCE:
            return f"{bandwidth(most)} is more than physics permits ({bandwidth(limit.gate_bytes_per_s)})"
    return ""


def _notes_on_places(
    recorded: RecordedRun,
    line: LaunchLine,
    ranks: Mapping[str, tuple[RankPlace, ...]],
    advice: Advice | None,
    findings: Sequence[Finding],
) -> list[str]:
    """Notes on where ranks are and should be. `findings`: those on places."""
    notes: list[str] = []
    blind = [node for node in ranks if node not in recorded.facts]
    if blind:
        notes.append(f"The facts of {', '.join(blind[:3])} were not read: each processor is counted as a core.")
    notes += wandering_notes(recorded.facts, ranks)
    notes += crossing_notes(recorded.facts, ranks)
    notes += memory_notes(recorded.facts, ranks, advice, line, findings)
    if advice is None and any(one.kind is not FindingKind.MEMORY_FAR_FROM_RANKS for one in findings):
        notes.append(f"No better placement can be advised: {_why_none(recorded.facts, line, ranks)}.")
    elif advice and gains_of(sound(recorded).measurements):
        notes.append(
            "Only messages were measured. Ranks limited by memory rather than by messages may run better spread "
            "over all sockets."
        )
    return notes


def _why_none(facts: Mapping[str, NodeFacts], line: LaunchLine, ranks: Mapping[str, tuple[RankPlace, ...]]) -> str:
    advice = advise(facts, ranks, line.cores_each, line.processors_each)
    if advice is None:
        return "a node has fewer cores for this job than ranks"
    if already(facts, ranks, advice):
        return "the ranks already have the cores that would be advised"
    return f"the nodes' cores lie differently, and {line.dialect.value} takes one list for all; a rankfile can say it"
