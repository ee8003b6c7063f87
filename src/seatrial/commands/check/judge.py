"""The judgement of a whole run from the contents of its archive: findings, and a verdict on each pair and node."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

import msgspec

from seatrial.commands.check.assessment import Assessor, on_one_machine
from seatrial.commands.check.findings import (
    FindingInputs,
    high_latency,
    packet_loss,
    slow_fabric,
    slow_link,
    unstable_link,
    waits_for_processor,
)
from seatrial.commands.check.headline import comparisons
from seatrial.commands.check.next_experiments import only_proved
from seatrial.commands.check.notes import late_pairs, make_notes, powers, unsure_notes
from seatrial.commands.check.own_job import job_findings
from seatrial.commands.check.pair_verdicts import bandwidth_reason, latency_reason
from seatrial.commands.check.rail_measurement import told_by_rail
from seatrial.commands.check.suspects import Suspicion, is_starved, left_out
from seatrial.commands.check.unmeasured_pairs import (
    capped_notes,
    explained,
    hanging_findings,
    invalid_findings,
    with_corruption,
    with_reasons,
    without_unnamed,
)
from seatrial.commands.check.uplink_verdicts import judge_loaded
from seatrial.drift.peer_groups import tcp_resent_between
from seatrial.judgement.corrupt_data import corrupt_flows, corruption_findings
from seatrial.judgement.nodes.trials import judge_trials, trial_notes, with_slow_nodes
from seatrial.judgement.past import IN, OUT, judge_past
from seatrial.judgement.peer_suspects import with_suspects
from seatrial.judgement.rank_deaths import judge_deaths
from seatrial.judgement.rank_notes import first_ranks
from seatrial.locate.evidence import MeasuredPair, Pair, deciding
from seatrial.locate.references import References
from seatrial.model.judgement import Judgement, NodeVerdict, PairVerdict, Threshold, between_nodes
from seatrial.model.measurement import Phase
from seatrial.model.node_trials import NodeTrials
from seatrial.model.pair_faults import Population
from seatrial.model.past import PastRatio
from seatrial.model.run import Design, Ending, RecordedRun
from seatrial.model.subject import SubjectKind
from seatrial.model.units import BANDWIDTH, LATENCY
from seatrial.model.verdict import Finding, Verdict, worst
from seatrial.render.spectra import all_ranks_measured, spectra_of, spectrum_notes
from seatrial.rules.base import Readings
from seatrial.rules.catalogue import fact_findings
from seatrial.statistics.estimates import median


def sent_again(recorded: RecordedRun) -> dict[str, float]:
    """Node -> share of its TCP segments that it sent again between the two readings of its facts."""
    found = {}
    for node in recorded.facts.keys() & recorded.facts_after.keys():
        segments = tcp_resent_between(recorded.facts[node], recorded.facts_after[node])
        if segments and segments.sent:
            found[node] = segments.resent / segments.sent
    return dict(sorted(found.items()))


def judge(recorded: RecordedRun, assessor: Assessor | None = None) -> Judgement:
    """Every planned pair and every wanted node gets a verdict; findings come worst first.

    `assessor`: one that has already read this run. Of a run whose files are damaged only the damage is reported.
    """
    if recorded.damage:
        return damaged(recorded)
    evidence, references, suspicion = (assessor or Assessor()).assess(recorded)
    suspicion, unproved = only_proved(suspicion, evidence)
    deaths = judge_deaths(recorded)
    loaded = judge_loaded(recorded, evidence, left_out(suspicion, references.fabric))
    trials, spectra = judge_trials(recorded.group_measurements, recorded.facts), spectra_of(recorded)
    measured = [*_measured_findings(recorded, deaths.findings, evidence, references, suspicion, trials)]
    findings = [*measured, *loaded.findings, *_fact_findings(recorded)]
    judged = _pair_verdicts(recorded, evidence, references, suspicion)
    wrong = corrupt_flows(between_nodes(recorded.measurements))
    pairs = with_corruption(with_reasons(judged, recorded.info.capped_pairs), wrong)
    pairs = without_unnamed(pairs, [*measured, *loaded.findings], references.fabric)
    in_waits = partial(_in_waits, best=_best_pairs(evidence), evidence=evidence)
    findings += (past := judge_past(recorded, judge_nodes(recorded, pairs, ()), trials, findings, in_waits)).findings
    return Judgement(
        pairs=pairs,
        nodes=judge_nodes(recorded, pairs, findings, trials.out_of_line),
        findings=tuple(sorted(findings, key=lambda finding: finding.rank)),
        peers_bandwidth_bytes_per_s=references.bandwidth_bytes_per_s if references.alike else None,
        peers_latency_s=references.latency_s.get(True, references.latency_s.get(False)) if references.alike else None,
        median_bandwidth_bytes_per_s=(medians := _medians(pairs))[0],
        median_latency_s=medians[1],
        notes=(
            *(*deaths.notes, *unproved),
            *unsure_notes(powers(references, suspicion), _populations(suspicion)),
            *loaded.notes,
            *make_notes(recorded, evidence, references, suspicion),
            *capped_notes(recorded.info.capped_pairs),
            *(*past.notes, *trial_notes(trials, recorded.facts), *spectrum_notes(spectra)),
        ),
        complete=_complete(recorded, pairs, findings, trials) and all_ranks_measured(recorded),
        design=_counted(recorded),
        loaded=loaded.loaded,
        trials=trials if trials.figures else None,
        lost=recorded.info.lost,
        powers=powers(references, suspicion),
        thresholds=tuple(_thresholds(references)),
        populations=_populations(suspicion),
        crashed_starts=deaths.undecided,
        late_pairs=late_pairs(evidence),
        unchecked_program=figure.benchmark if (figure := recorded.info.figure) and figure.unchecked else "",
        past=past.ratios,
        spectra=spectra,
        compared=comparisons(recorded, pairs, references, past.ratios),
    )


def _best_pairs(evidence: Mapping[Pair, MeasuredPair]) -> dict[tuple[str, str], tuple[float, Pair]]:
    """(OUT or IN, node) -> bandwidth of its best pair, and the pair."""
    best: dict[tuple[str, str], tuple[float, Pair]] = {}
    for pair, measured in evidence.items():
        if runs := deciding(measured.bandwidth):
            rate = median(runs)
            for place in zip((OUT, IN), pair, strict=True):
                best[place] = max(best.get(place, (0.0, pair)), (rate, pair))
    return best


def _in_waits(
    ratio: PastRatio, best: Mapping[tuple[str, str], tuple[float, Pair]], evidence: Mapping[Pair, MeasuredPair]
) -> bool:
    """Whether ranks of the node's best pair waited for as much of the time as it lacks of its past."""
    rate, pair = best.get((ratio.metric, ratio.node), (0.0, None))
    return pair is not None and is_starved(evidence[pair], rate / ratio.ratio.value)


def _measured_findings(
    recorded: RecordedRun,
    deaths: Sequence[Finding],
    evidence: Mapping[Pair, MeasuredPair],
    references: References,
    suspicion: Suspicion,
    trials: NodeTrials,
) -> Iterator[Finding]:
    """Findings on lost nodes, pairs that hang, ranks that died, pairs that were measured, and each node alone."""
    yield from hanging_findings(recorded.info.hanging_pairs)
    yield from deaths
    yield from corruption_findings(between_nodes(recorded.measurements), references.fabric)
    yield from invalid_findings(suspicion.bandwidth, evidence, references)
    of_pairs = with_slow_nodes(_pair_findings(recorded, evidence, references, suspicion), trials.findings)
    yield from with_suspects(of_pairs, {name for pair in evidence for name in pair}, recorded.facts)
    yield from trials.findings


def _pair_findings(
    recorded: RecordedRun, evidence: Mapping[Pair, MeasuredPair], references: References, suspicion: Suspicion
) -> list[Finding]:
    """Lossy, slow, changing and late parts."""
    scene = FindingInputs(
        evidence=evidence,
        references=references,
        controls=[pair for pair in suspicion.good() if evidence[pair].retested],
        resent=sent_again(recorded),
        look=suspicion.second_look,
        ranks=first_ranks(recorded),
    )
    findings = [packet_loss(suspect, scene) for suspect in suspicion.lossy]
    findings += [slow_fabric(suspicion.uniformly_slow, scene)] if suspicion.uniformly_slow else []
    slow = [slow_link(suspect, scene) for suspect in suspicion.slow]
    findings += told_by_rail(slow, recorded.measurements)
    findings += [waits_for_processor(suspect, scene) for suspect in suspicion.busy]
    findings += [unstable_link(suspect, scene) for suspect in suspicion.unstable]
    return findings + [high_latency(suspect, scene) for suspect in suspicion.late]


def _fact_findings(recorded: RecordedRun) -> list[Finding]:
    """Findings from the facts of the nodes, and on the user's own job."""
    of_nodes = fact_findings(
        Readings(
            facts=recorded.facts,
            after=recorded.facts_after,
            features=recorded.info.features,
            ranks={} if on_one_machine(recorded.facts) else first_ranks(recorded),
        )
    )
    return [*of_nodes, *job_findings(recorded)]


def _populations(suspicion: Suspicion) -> tuple[Population, ...]:
    """Two paces of nodes, where no part is named that explains them."""
    if suspicion.located is None or suspicion.slow:
        return ()
    return tuple(one for one in suspicion.located.populations if one.metric == BANDWIDTH)


def _complete(
    recorded: RecordedRun, pairs: Sequence[PairVerdict], findings: Sequence[Finding], trials: NodeTrials
) -> bool:
    """Whether all that was planned was measured, and storage did not fail on a node."""
    ended = recorded.info.ending is Ending.COMPLETE and bool(pairs)
    return ended and not _missing(recorded, pairs, findings) and not (trials.storage and trials.storage.broken)


def _missing(recorded: RecordedRun, pairs: Sequence[PairVerdict], findings: Sequence[Finding]) -> list[frozenset[str]]:
    """Pairs that were not measured, though both nodes answer and no finding explains why."""
    lost = {state.node for state in recorded.info.lost if not state.rank_died}
    hung = {frozenset(pair) for pair in recorded.info.hanging_pairs}
    known = explained(recorded.info.capped_pairs, findings)
    not_run = ((pair.source, pair.target) for pair in pairs if pair.verdict is Verdict.NOT_RUN)
    unmeasured = [frozenset(pair) for pair in not_run if pair not in known]
    return [ends for ends in unmeasured if not lost & ends and ends not in hung]


def _medians(pairs: Sequence[PairVerdict]) -> tuple[float | None, float | None]:
    """The median bandwidth over ordered pairs, and the median latency over pairs, since it holds for both ways."""
    rates = [pair.bandwidth_bytes_per_s.value for pair in pairs if pair.bandwidth_bytes_per_s]
    times = {frozenset((pair.source, pair.target)): pair.latency_s.value for pair in pairs if pair.latency_s}
    return median(rates) if rates else None, median([*times.values()]) if times else None


def damaged(recorded: RecordedRun) -> Judgement:
    """The judgement of a run, of whichever command, whose files are not those with which it was closed."""
    return Judgement(
        pairs=(),
        nodes=(),
        findings=(),
        peers_bandwidth_bytes_per_s=None,
        peers_latency_s=None,
        notes=(
            *(f"Damaged: {what}." for what in recorded.damage),
            "Nothing is judged. Restore the files from a copy; `seatrial runs export` writes the remaining samples.",
        ),
        complete=False,
        design=_counted(recorded),
        lost=recorded.info.lost,
        damage=recorded.damage,
    )


def _thresholds(references: References) -> Iterator[Threshold]:
    """The values at which pairs that are peers are suspected, for bandwidth and for each distance of latency."""
    if not references.alike:
        return
    if line := references.bandwidth:
        yield Threshold(metric=BANDWIDTH, value=math.exp(line.usual - line.lack), text="suspected below")
    for far, line in references.speed.items():
        where = "" if len(references.speed) == 1 else " between leaves" if far else " in a leaf"
        yield Threshold(metric=LATENCY, value=math.exp(line.lack - line.usual), text=f"suspected{where} above")


def _counted(recorded: RecordedRun) -> Design | None:
    """The design with what was measured in all; counted from the samples, so that old archives have it too."""
    if recorded.info.design is None:
        return None
    pairs = {one.pair for one in recorded.measurements if one.phase is not Phase.SATURATION}
    return msgspec.structs.replace(recorded.info.design, measured=len(recorded.measurements), measured_pairs=len(pairs))


def _pair_verdicts(
    recorded: RecordedRun, evidence: Mapping[Pair, MeasuredPair], references: References, suspicion: Suspicion
) -> "list[PairVerdict]":
    planned = recorded.planned
    failed = {frozenset(one.loss.pair): one.detail for one in recorded.losses if one.loss.pair is not None}
    verdicts = []
    planned_pairs = frozenset(planned)
    timed = planned_pairs if suspicion.timed else frozenset()
    for pair in dict.fromkeys((*planned, *evidence)):
        source, target = pair
        if pair not in planned_pairs and not deciding(evidence[pair].bandwidth):
            continue  # one way of it was measured to distinguish suspects, the other was never requested
        if pair not in evidence or not deciding(evidence[pair].bandwidth):
            why = failed.get(frozenset(pair), "")
            reason = f"the program gave no figure: {why}" if why else "planned, never measured"
            verdicts.append(PairVerdict(source=source, target=target, verdict=Verdict.NOT_RUN, reason=reason))
            continue
        bandwidth, latency = suspicion.bandwidth[pair], suspicion.latency[pair]
        judged_late = pair in timed or bool(evidence[pair].latency)
        verdicts_of_pair = [bandwidth.verdict]
        reasons = [bandwidth_reason(pair, bandwidth, evidence[pair], references)]
        if judged_late:
            verdicts_of_pair.append(latency.verdict)
            reasons += [] if latency.verdict is Verdict.PASS else [latency_reason(pair, latency, references)]
        verdicts.append(
            PairVerdict(
                source=source,
                target=target,
                verdict=worst(verdicts_of_pair),
                reason="; ".join(reasons),
                bandwidth_bytes_per_s=bandwidth.estimate,
                latency_s=latency.estimate,
                limit=references.limits.get(pair),
                retested=Phase.RETEST in evidence[pair].bandwidth,
                bandwidth_verdict=bandwidth.verdict,
                latency_verdict=latency.verdict if judged_late else None,
            )
        )
    return verdicts


# The verdict on a node: the worst finding that names it, and its best numbers.


def judge_nodes(
    recorded: RecordedRun,
    pairs: Sequence[PairVerdict],
    findings: Sequence[Finding],
    suspected: Collection[str] = (),
) -> tuple[NodeVerdict, ...]:
    """One verdict for every node that was wanted, in the run's order, lost ones last.

    `suspected`: nodes that a trial showed to be out of line, which is not decided.
    """
    lost = {state.node: state.reason for state in recorded.info.lost}
    names = [*recorded.info.nodes, *(name for name in lost if name not in recorded.info.nodes)]
    alike = not on_one_machine(recorded.facts)
    blamed: dict[str, Finding] = {}
    for finding in sorted(findings, key=lambda finding: finding.rank):
        for subject in (finding.subject, *finding.ambiguous_with):
            if subject.kind is SubjectKind.NODE:
                blamed.setdefault(subject.name, finding)
    sent: dict[str, float] = {}
    received: dict[str, float] = {}
    late: dict[str, float] = {}
    ways: dict[str, dict[str, set[tuple[Verdict, bool]]]] = {}
    for pair in pairs:
        if pair.bandwidth_bytes_per_s:
            for way, name in (("outgoing", pair.source), ("incoming", pair.target)):
                ways.setdefault(name, {}).setdefault(way, set()).add((pair.verdict, pair.retested))
            value = pair.bandwidth_bytes_per_s.value
            sent[pair.source] = max(sent.get(pair.source, 0.0), value)
            received[pair.target] = max(received.get(pair.target, 0.0), value)
        if pair.latency_s:
            late[pair.source] = min(late.get(pair.source, float("inf")), pair.latency_s.value)
    verdicts = []
    for name in names:
        verdict, reason = _verdict(name, lost, blamed, ways.get(name, {}), alike=alike)
        if verdict is Verdict.PASS and name in suspected:
            verdict, reason = Verdict.INCONCLUSIVE, "out of line in a trial, which is not decided"
        verdicts.append(
            NodeVerdict(
                node=name,
                leaf=recorded.fabric.leaf_of.get(name, ""),
                verdict=verdict,
                reason=reason,
                best_out_bytes_per_s=sent.get(name),
                best_in_bytes_per_s=received.get(name),
                best_latency_s=late.get(name),
            )
        )
    return tuple(verdicts)


def _verdict(
    name: str,
    lost: dict[str, str],
    blamed: dict[str, Finding],
    ways: Mapping[str, set[tuple[Verdict, bool]]],
    *,
    alike: bool,
) -> tuple[Verdict, str]:
    """Verdict and reason; `ways`: the verdicts of its measured pairs, outgoing and incoming, and whether each was
    measured again: what was undecided then weighs more than what the survey saw."""
    if name in blamed:
        finding = blamed[name]
        sure = finding.subject.name == name
        verdict = finding.verdict if sure else Verdict.INCONCLUSIVE
        return verdict, f"{finding.kind}, see the finding"
    if name in lost:
        return Verdict.NOT_RUN, lost[name]
    if not ways:
        return Verdict.NOT_RUN, "never measured"
    if {verdict for seen in ways.values() for verdict, _ in seen} == {Verdict.INVALID}:
        return Verdict.INVALID, "none of its numbers can be trusted"
    for again in (False, True):
        if failed := [way for way, seen in ways.items() if _none_passed(seen, again=again)]:
            which = (f"{failed[0]} pairs" if len(failed) < len(ways) else "pairs") + " measured again" * again
            return Verdict.INCONCLUSIVE, f"none of its {which} passed, but no evidence shows that the node is at fault"
    return Verdict.PASS, "as good as its peers" if alike else "measured, not judged"


def _none_passed(seen: Collection[tuple[Verdict, bool]], *, again: bool) -> bool:
    """Whether no pair of a node passed; `again`: of those measured again, of which one is not decided."""
    verdicts = {verdict for verdict, retested in seen if retested or not again}
    return Verdict.PASS not in verdicts and (Verdict.INCONCLUSIVE in verdicts or not again)
