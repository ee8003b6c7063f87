"""The first line of every report: one word and what it is about."""

import enum
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec

from seatrial.commands.check.findings import BEST_PAIRS
from seatrial.commands.check.own_job import of_machine
from seatrial.commands.check.returning import may_return, return_answer, returning
from seatrial.judgement.nodes.storage import broken_text
from seatrial.judgement.past import references_text
from seatrial.locate.evidence import Pair
from seatrial.locate.references import References
from seatrial.locate.thresholds import LIMIT_FLOOR
from seatrial.model import units
from seatrial.model.judgement import Doubt, Judgement, PairVerdict, VerdictBasis, Withheld
from seatrial.model.measurement import Kernel, Measurement
from seatrial.model.node_trials import USEFUL, Measure, NodeTrials
from seatrial.model.past import PastRatio
from seatrial.model.run import Ending, RecordedRun, RunInfo
from seatrial.model.units import size
from seatrial.model.verdict import INCOMPLETE, Verdict
from seatrial.model.words import count, some
from seatrial.render.escape import clean
from seatrial.render.finding_text import brief, sentence_of
from seatrial.statistics.estimates import FEWEST_ALIKE

NOTHING = "with nothing, since no limit is known, and ranks of one machine or two nodes are not peers of each other"


def comparisons(
    recorded: RecordedRun,
    pairs: Sequence[PairVerdict],
    references: References,
    past: Sequence[PastRatio],
) -> VerdictBasis:
    """Counted over the pairs whose bandwidth was measured. Ranks of one machine are not peers."""
    measured = [pair for pair in pairs if pair.bandwidth_bytes_per_s]
    ends = {name for pair in measured for name in (pair.source, pair.target)}
    peers = references.alike and references.bandwidth is not None and len(ends) >= FEWEST_ALIKE
    return VerdictBasis(
        pairs=len(measured),
        with_limit=sum(pair.limit is not None for pair in measured),
        with_peers=len(measured) if peers else 0,
        earlier_runs=len(recorded.info.past.runs) if recorded.info.past and past else 0,
        verified_bytes=sum(map(verified_bytes, recorded.measurements)),
    )


def verified_bytes(measurement: Measurement) -> int:
    """How much of its data was compared with what was sent; both directions of kernels that answer."""
    shape = measurement.shape
    ways = 2 if shape.kernel is Kernel.PINGPONG else 1
    return measurement.verified * shape.window_bytes * ways


def comparisons_text(compared: VerdictBasis | None) -> str:
    """The text of the report's line `compared`; empty if nothing was measured."""
    if compared is None or not compared.pairs:
        return ""
    parts = []
    if compared.with_limit == compared.pairs:
        parts.append("all pairs with their limits")
    elif compared.with_limit:
        parts.append(f"{compared.with_limit} of {count(compared.pairs, 'ordered pair')} with their limits")
    parts += ["all pairs with their peers"] if compared.with_peers else []
    parts += [f"nodes with {count(compared.earlier_runs, 'earlier run')}"] if compared.earlier_runs else []
    verified = f"{size(compared.verified_bytes)} of data with what was sent" if compared.verified_bytes else ""
    return "; ".join(filter(None, (", ".join(parts) or NOTHING, verified)))


NO_ACTS: Mapping[str, str] = MappingProxyType({})
MOST_ODD = 2
"""Pairs that a headline names."""


class CheckHeadline(msgspec.Struct, frozen=True, kw_only=True):
    """`word` is the verdict, or INCOMPLETE where all that was measured passed but not all was measured."""

    word: str
    what: str


def overall(judgement: Judgement) -> Verdict:
    """The gravest verdict; NOT_RUN, never PASS, where nothing at all was judged."""
    if judgement.damage:
        return Verdict.INVALID
    if not (judgement.pairs or judgement.nodes or judgement.findings):
        return Verdict.NOT_RUN
    return judgement.verdict


def headline(run: RunInfo, judgement: Judgement, acts: Mapping[str, str] = NO_ACTS) -> CheckHeadline:
    """What a reader must know who reads only one line. `acts`: as of `return_answer`."""
    verdict = overall(judgement)
    if judgement.damage:
        return CheckHeadline(word=verdict.value, what=f"the run is damaged: {clean('; '.join(judgement.damage))}")
    passed = verdict is Verdict.PASS or (verdict is Verdict.MEASURED and judgement.unjudged)
    word = INCOMPLETE if passed and not judgement.complete else verdict.value
    what = [_outcome(verdict, judgement) if run.own_job is None else answer(judgement)]
    if names := returning(run):
        what = [return_answer(names, judgement, what[0], acts)]
        if all(may_return(name, judgement) is not None for name in names):
            return CheckHeadline(word=word, what=what[0])
    elif verdict is Verdict.PASS and run.past and judgement.past and run.own_job is None:
        limits = "limits, " if any(pair.limit for pair in judgement.pairs) else ""
        past = references_text(run.past, judgement.past)
        what = [f"{what[0]}; compared with {limits}peers and the past ({past})"]
    if lost := judgement.lost or run.lost:
        what.append(f"{count(len(lost), 'node')} not measured")
    broken = broken_text(judgement.trials.storage) if judgement.trials else ""
    if broken:
        what = [f"{broken}; {what[0]}", *what[1:]] if word == INCOMPLETE else [*what, broken]
    cut = run.ending is not Ending.COMPLETE
    if not judgement.complete and (run.reason or not broken or cut):
        what.insert(0 if names and cut else len(what), f"incomplete: {why_incomplete(run)}")
    return CheckHeadline(word=word, what=", ".join(what))


def _outcome(verdict: Verdict, judgement: Judgement) -> str:
    where = f"on {count(len(judgement.nodes), 'node')}"
    if judgement.findings:
        return sentence_of(judgement.findings) + _also_odd(judgement)
    if verdict is Verdict.PASS or (verdict is Verdict.MEASURED and judgement.unjudged):
        return worth(judgement)
    if not any(pair.bandwidth_bytes_per_s for pair in judgement.pairs):
        return f"nothing was measured {where}"
    odd = [(pair.source, pair.target) for pair in judgement.pairs if pair.verdict is not Verdict.PASS]
    if odd:
        return f"no finding, but {_did_not_pass(odd, len(judgement.pairs))}"
    nodes = some([node.node for node in judgement.nodes if node.verdict is not Verdict.PASS])
    why = doubt_text(judgement.withheld[0]) if judgement.withheld else f"{nodes} did not pass"
    return f"no finding {where}, but {why}"


def _did_not_pass(odd: Sequence[Pair], of: int) -> str:
    """Which pairs did not pass: few by name, else how many, and the node that more than half of them share."""
    if len(odd) <= MOST_ODD:
        return f"{' and '.join(f'{source}>{target}' for source, target in odd)} did not pass"
    (node, its), (_, next_most) = Counter(name for pair in odd for name in pair).most_common(2)
    shared = f", {'all' if its == len(odd) else its} of them {node}'s" if 2 * its > len(odd) and its > next_most else ""
    return f"{len(odd)} of {of} ordered pairs did not pass{shared}"


def doubt_text(withheld: Withheld) -> str:
    """A reason for which a PASS is withheld, as a clause."""
    named, several = some(withheld.subjects), len(withheld.subjects) > 1
    return {
        Doubt.SPEED_GROUPS: "the nodes form two speed groups, and no reference shows which is right",
        Doubt.NODES_OUT_OF_LINE: f"{named} {'were' if several else 'was'} out of line in a trial, which is not decided",
        Doubt.RANKS_OUT_OF_LINE: f"{named} {'were' if several else 'was'} worse with several ranks a node, undecided",
        Doubt.UPLINKS_UNDECIDED: f"the {'uplinks' if several else 'uplink'} of {named} may be slow under load",
        Doubt.STARTS_CRASHED: f"starts of MPI crashed on {named}",
        Doubt.DATA_UNCHECKED: f"{named} did not check its data",
        Doubt.PAST_IN_WAITS: f"{named} {'were' if several else 'was'} slower than before while programs took the cores",
        Doubt.STALLS_IN_WAITS: "busy processors would hide lost packets",
        Doubt.NODES_UNTRIED: f"the time was too short to compare all nodes in {named}",
        Doubt.NOISE_OF_LINKS: "noise would hide a node that is 10 % slow",
        Doubt.NOISE_OF_TRIALS: f"noise would hide a node that is {units.share(USEFUL)} worse in {named}",
    }[withheld.doubt]


class Machine(enum.StrEnum):
    """The answer to "is it the machine?" of a check in a user's own job."""

    GOOD = "the machine is as it should be"
    BAD = "the machine is not as it should be"
    UNDECIDED = "it is not decided whether the machine is as it should be"


def machine(judgement: Judgement) -> Machine:
    """The machine's state by the findings on it; good only if every pair and node that was measured passed."""
    faults = of_machine(judgement.findings)
    rest = msgspec.structs.replace(judgement, findings=faults)
    if any(finding.at_fault for finding in faults):
        return Machine.BAD
    good = judgement.pairs and not rest.unjudged and rest.verdict in (Verdict.PASS, Verdict.MEASURED, Verdict.NOTE)
    return Machine.GOOD if good else Machine.UNDECIDED


def answer(judgement: Judgement) -> str:
    """Whether it is the machine, and because of what; then what the job itself does wrong."""
    faults, state = of_machine(judgement.findings), machine(judgement)
    own = [finding for finding in judgement.findings if finding not in faults]
    job = some(list(dict.fromkeys(map(brief, own))))
    if state is Machine.BAD:
        return f"{state.value}: {sentence_of(faults)}" + (f"; nor is the job: {job}" if job else "")
    if state is Machine.GOOD and job:
        return f"{state.value}, but the job is not: {job}"
    rest = msgspec.structs.replace(judgement, findings=faults)
    rest_text = worth(judgement) if state is Machine.GOOD else _outcome(rest.verdict, rest)
    return f"{state.value}: {rest_text}" + (f"; the job is not: {job}" if job else "")


def _also_odd(judgement: Judgement) -> str:
    """Pairs that cannot be trusted, or that did not pass where no finding of a measurement explains any."""
    verdicts = {finding.verdict for finding in judgement.findings}
    untrusted = sum(pair.verdict is Verdict.INVALID for pair in judgement.pairs)
    if untrusted and Verdict.INVALID not in verdicts:
        return f"; {count(untrusted, 'ordered pair')} cannot be trusted"
    if any(finding.verdict is not Verdict.MISCONFIGURED for finding in judgement.findings):
        return ""
    odd = [
        (pair.source, pair.target) for pair in judgement.pairs if pair.verdict not in (Verdict.PASS, Verdict.NOT_RUN)
    ]
    return f"; {_did_not_pass(odd, len(judgement.pairs))}" if odd else ""


def worth(judgement: Judgement) -> str:
    """What a PASS is worth: how many pairs, the worst of them, the spread, and the smallest fault it would show.

    Where pairs were compared with nothing, that.
    """
    if judgement.unjudged:
        return f"{_how_many(judgement)} measured, not judged: compared {NOTHING}"
    parts = [f"{_how_many(judgement)}: {worst_pair(judgement)}"]
    parts += [
        f"spread {units.share(power.scatter_ratio)}; a node that is {units.share(power.detectable_ratio)} slower would "
        "have been found" for power in judgement.powers if power.metric == units.BANDWIDTH
    ]  # fmt: skip
    if not judgement.powers and judgement.compared and judgement.compared.with_limit:
        parts.append(f"no peers: only a loss of {units.share(1 - LIMIT_FLOOR)} of the limit would have been found")
    if judgement.trials:
        parts.append(tried(judgement.trials))
    return "; ".join(parts)


def _how_many(judgement: Judgement) -> str:
    return f"{count(len(judgement.nodes), 'node')}, {count(len(judgement.pairs), 'ordered pair')}"


def tried(trials: NodeTrials) -> str:
    """What the trials of nodes could have seen, in a few words."""
    line = trials.resolutions.get(Measure.TRIAD)
    if line is None:
        return "nodes were tried, too few to compare them"
    if line > USEFUL:
        return "noise would hide a node with slow memory"
    return f"one whose memory is {units.share(line)} slower, too"


def worst_pair(judgement: Judgement) -> str:
    """The pair with the least share of its limit, or, where no limit is known, of the peers' bandwidth."""
    limited = [(pair.of_limit, pair) for pair in judgement.pairs if pair.of_limit is not None]
    if limited:
        part, pair = min(limited, key=lambda one: one[0])
        return f"the worst, {pair.source}>{pair.target}, at {units.share(part)} of its limit"
    peers = judgement.peers_bandwidth_bytes_per_s
    measured = [(pair.bandwidth_bytes_per_s.value, pair) for pair in judgement.pairs if pair.bandwidth_bytes_per_s]
    if not measured or not peers:
        return "nothing to compare with"
    value, pair = min(measured, key=lambda one: one[0])
    return f"the worst, {pair.source}>{pair.target}, at {units.share(value / peers)} of its peers' bandwidth"


def not_tested(run: RunInfo, judgement: Judgement) -> str:
    """What a PASS says nothing about."""
    design = judgement.design or run.design
    left = []
    if design is not None and design.measured_pairs < design.ordered_pairs:
        left.append(f"{design.ordered_pairs - design.measured_pairs} of {design.ordered_pairs} ordered pairs")
    if lost := judgement.lost or run.lost:
        left.append(count(len(lost), "node"))
    if run.program is not None:
        left.append("latency")
    if judgement.loaded is None:
        left.append("uplinks under load")
    elif judgement.loaded.design_oversubscription is None and len({state.leaf for state in judgement.nodes}) > 1:
        left.append("single cables between leaves, whose routes are unknown")
    if judgement.trials is None:
        left.append("each node by itself (seatrial nodes)")
    left += [] if judgement.spectra else ["several ranks a node (--ranks-per-node)"]
    return ", ".join(left)


def medians(judgement: Judgement) -> str:
    """What all pairs reach in the median; empty where nothing was measured."""
    return _both("median", judgement.median_bandwidth_bytes_per_s, judgement.median_latency_s)


def peers(judgement: Judgement) -> str:
    """What pairs are compared with where they are compared with each other; empty where nothing was measured."""
    return _both(BEST_PAIRS, judgement.peers_bandwidth_bytes_per_s, judgement.peers_latency_s)


def could_show(judgement: Judgement) -> str:
    """The smallest faults that the run would have named; empty where nothing was compared."""
    shown = [
        f"one whose latency is {units.share(power.detectable_ratio)} higher"
        if power.metric == units.LATENCY
        else f"a node that is {units.share(power.detectable_ratio)} slower than its peers "
        f"(healthy pairs scatter by {units.share(power.scatter_ratio)})"
        for power in judgement.powers
    ]
    return f"{', '.join(shown)}; with 95 % power" if shown else ""


def _both(what: str, bytes_per_s: float | None, latency_s: float | None) -> str:
    known = [] if bytes_per_s is None else [units.bandwidth(bytes_per_s)]
    known += [] if latency_s is None else [f"{units.duration(latency_s)} one way"]
    return f"{what}: {', '.join(known)}" if known else ""


def why_incomplete(run: RunInfo) -> str:
    """How a run that did not measure all it planned came to its end."""
    reason = clean(run.reason)
    if run.ending is Ending.RUNNING:
        return "still running or killed"
    if run.ending is Ending.COMPLETE:
        return reason or "not all that was planned was measured"
    return f"{run.ending.value}: {reason}" if reason else run.ending.value
