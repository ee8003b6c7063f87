"""The first line of every report: one word and what it is about."""

import msgspec

from seatrial.commands.check.findings import BEST_PAIRS
from seatrial.model import units
from seatrial.model.judgement import Judgement
from seatrial.model.run import Ending, RunInfo
from seatrial.model.verdict import Verdict
from seatrial.model.words import count
from seatrial.render.escape import clean

INCOMPLETE = "INCOMPLETE"


class Headline(msgspec.Struct, frozen=True, kw_only=True):
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


def headline(run: RunInfo, judgement: Judgement) -> Headline:
    """What a reader must know who reads only one line."""
    verdict = overall(judgement)
    if judgement.damage:
        return Headline(word=verdict.value, what=f"the run is damaged: {clean('; '.join(judgement.damage))}")
    word = INCOMPLETE if verdict is Verdict.PASS and not judgement.complete else verdict.value
    what = [_outcome(verdict, judgement)]
    lost = judgement.lost or run.lost
    if lost:
        what.append(f"{count(len(lost), 'node')} not measured")
    if not judgement.complete:
        what.append(f"incomplete: {why_incomplete(run)}")
    return Headline(word=word, what=", ".join(what))


def _outcome(verdict: Verdict, judgement: Judgement) -> str:
    where = f"on {count(len(judgement.nodes), 'node')}"
    if judgement.findings:
        return f"{count(len(judgement.findings), 'finding')} {where}"
    if verdict is Verdict.PASS:
        return f"nothing found {where}, {count(len(judgement.pairs), 'ordered pair')}"
    if not any(pair.bandwidth_bytes_per_s for pair in judgement.pairs):
        return f"nothing was measured {where}"
    odd = sum(pair.verdict is not Verdict.PASS for pair in judgement.pairs)
    if not odd and judgement.populations:
        return f"no finding {where}, but the nodes form two speed groups, and no reference shows which is right"
    if not odd and not all(power.enough for power in judgement.powers):
        return f"no finding {where}, but noise would hide a node that is 10 % slow"
    return f"no finding {where}, but {odd} of {count(len(judgement.pairs), 'ordered pair')} did not pass"


def medians(judgement: Judgement) -> str:
    """What all pairs reach in the median; empty where nothing was measured."""
    return _both("median", judgement.median_bandwidth_bytes_per_s, judgement.median_latency_s)


def peers(judgement: Judgement) -> str:
    """What pairs are compared with where they are compared with each other; empty where nothing was measured."""
    return _both(BEST_PAIRS, judgement.peers_bandwidth_bytes_per_s, judgement.peers_latency_s)


def could_show(judgement: Judgement) -> str:
    """The smallest faults that the run would have named; empty where nothing was compared."""
    said = {power.metric: power for power in judgement.powers}
    known = []
    if units.BANDWIDTH in said:
        power = said[units.BANDWIDTH]
        known.append(
            f"a node that is {units.share(power.detectable_ratio)} slower than its peers "
            f"(healthy pairs scatter by {units.share(power.scatter_ratio)})"
        )
    if units.LATENCY in said:
        power = said[units.LATENCY]
        known.append(f"one whose latency is {units.share(power.detectable_ratio)} higher")
    return f"{', '.join(known)}; with 95 % power" if known else ""


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
