"""The verdict on a node: the worst that names it, and the best that it did."""

from collections.abc import Sequence

from seatrial.model.judgement import NodeVerdict, PairVerdict
from seatrial.model.run import RecordedRun
from seatrial.model.subject import SubjectKind
from seatrial.model.verdict import Finding, Verdict


def judge_nodes(
    recorded: RecordedRun, pairs: Sequence[PairVerdict], findings: Sequence[Finding]
) -> tuple[NodeVerdict, ...]:
    """One verdict for every node that was wanted, in the run's order, lost ones last."""
    lost = {state.node: state.reason for state in recorded.info.lost}
    names = [*recorded.info.nodes, *(name for name in lost if name not in recorded.info.nodes)]
    blamed: dict[str, Finding] = {}
    for finding in findings:
        for subject in (finding.subject, *finding.ambiguous_with):
            if subject.kind is SubjectKind.NODE and (
                subject.name not in blamed or finding.rank < blamed[subject.name].rank
            ):
                blamed[subject.name] = finding
    sent: dict[str, float] = {}
    received: dict[str, float] = {}
    late: dict[str, float] = {}
    seen: dict[str, set[Verdict]] = {}
    for pair in pairs:
        if pair.bandwidth_bytes_per_s:
            for name in (pair.source, pair.target):
                seen.setdefault(name, set()).add(pair.verdict)
            value = pair.bandwidth_bytes_per_s.value
            sent[pair.source] = max(sent.get(pair.source, 0.0), value)
            received[pair.target] = max(received.get(pair.target, 0.0), value)
        if pair.latency_s:
            late[pair.source] = min(late.get(pair.source, float("inf")), pair.latency_s.value)
    verdicts = []
    for name in names:
        verdict, reason = _verdict(name, lost, blamed, seen.get(name, set()))
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


def _verdict(name: str, lost: dict[str, str], blamed: dict[str, Finding], seen: set[Verdict]) -> tuple[Verdict, str]:
    if name in blamed:
        finding = blamed[name]
        sure = finding.subject.name == name
        verdict = finding.verdict if sure else Verdict.INCONCLUSIVE
        return verdict, f"{finding.kind}, see the finding"
    if name in lost:
        return Verdict.NOT_RUN, lost[name]
    if not seen:
        return Verdict.NOT_RUN, "never measured"
    if seen == {Verdict.INVALID}:
        return Verdict.INVALID, "none of its numbers can be trusted"
    if Verdict.PASS not in seen:
        return Verdict.INCONCLUSIVE, "none of its pairs passed, and nothing says that it is to blame"
    return Verdict.PASS, "as good as its peers"
