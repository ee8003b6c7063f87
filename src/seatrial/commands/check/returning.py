"""Whether nodes may return to service: the answer of a check that was asked about them, and the line to type."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from seatrial.model import units
from seatrial.model.judgement import Judgement, PairVerdict
from seatrial.model.node_list import node_list
from seatrial.model.run import RunInfo
from seatrial.model.settings import CheckSettings
from seatrial.model.subject import CLUSTER, SubjectKind
from seatrial.model.verdict import GOOD, Finding, FindingKind
from seatrial.model.words import count, some
from seatrial.render.finding_text import NODE, back_line, brief, sentence_of
from seatrial.render.report import Copy

BACK = "Back into service"


def returning(run: RunInfo) -> tuple[str, ...]:
    """The nodes that the check was asked about; none: it is an ordinary one."""
    return run.settings.returning if isinstance(run.settings, CheckSettings) else ()


def faults_of(name: str, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Findings that keep a node out: on itself, on a pair of its, and those that may be on it."""
    return tuple(finding for finding in findings if finding.at_fault and name in _names(finding))


def _names(finding: Finding) -> set[str]:
    subjects = (finding.subject, *finding.ambiguous_with)
    nodes = {subject.name for subject in subjects if subject.kind is SubjectKind.NODE}
    return nodes.union(*(subject.name.split(">") for subject in subjects if subject.kind is SubjectKind.PAIR))


def may_return(name: str, judgement: Judgement) -> bool | None:
    """None: not decided: something of its own was not measured, compared or proved, or storage answers on no node."""
    if faults_of(name, judgement.findings):
        return False
    if any(finding.kind is FindingKind.MOUNT_DEAD and finding.subject == CLUSTER for finding in judgement.findings):
        return None
    pairs = _pairs_of([name], judgement)
    good = pairs and all(pair.verdict in GOOD for pair in pairs)
    mine = tuple(pair for pair in judgement.pairs if name in (pair.source, pair.target))
    nodes = tuple(node for node in judgement.nodes if node.node == name)
    findings = tuple(finding for finding in judgement.findings if name in (_names(finding) or {name}))
    own = replace(judgement, pairs=mine, nodes=nodes, findings=findings)
    explained = own.verdict in GOOD or any(finding.at_fault for finding in judgement.findings)
    return True if good and explained and judgement.complete and not judgement.withheld else None


def return_answer(names: Sequence[str], judgement: Judgement, otherwise: str, acts: Mapping[str, str]) -> str:
    """The sentence behind the verdict. `otherwise`: what the check says, where nothing is decided.

    `acts`: what has become of the nodes already, by name.
    """
    answers = {name: may_return(name, judgement) for name in names}
    by_act: defaultdict[str, list[str]] = defaultdict(list)
    for name in filter(answers.get, names):
        by_act[acts.get(name, "may return")].append(name)
    parts = [_stays_out(name, judgement, acts.get(name, "stays out")) for name in names if answers[name] is False]
    parts += [f"{node_list(good)} {act}: {_worth(good, judgement)}" for act, good in by_act.items()]
    if undecided := [name for name in names if answers[name] is None]:
        left = " left unknown" if acts else ""
        parts.append(f"{node_list(undecided)}{left}: not decided: {_doubt(undecided, judgement) or otherwise}")
    named = {id(fault) for name in names for fault in faults_of(name, judgement.findings)}
    others = [finding for finding in judgement.findings if finding.at_fault and id(finding) not in named]
    besides = sentence_of(others) if others else "" if named or judgement.verdict in GOOD else otherwise
    return "; ".join([*parts, *([f"besides: {besides}"] if besides and not undecided else [])])


def _stays_out(name: str, judgement: Judgement, act: str) -> str:
    lost = [state.reason for state in judgement.lost if state.node == name and state.fault]
    faults = lost or [brief(fault) for fault in faults_of(name, judgement.findings)]
    return f"{name} {act}: {some(faults)}"


def _doubt(names: Sequence[str], judgement: Judgement) -> str:
    """Why they were not measured, or how many of their pairs did not pass; empty where all did."""
    if lost := [state.reason for state in judgement.lost if state.node in names]:
        return some(list(dict.fromkeys(lost)))
    pairs = _pairs_of(names, judgement)
    odd = sum(pair.verdict not in GOOD for pair in pairs)
    return f"{odd} of {count(len(pairs), 'pair')} did not pass" if odd else ""


def _worth(names: Sequence[str], judgement: Judgement) -> str:
    """`6 pairs, the worst at 98 % of its limit`; and which earlier runs agree."""
    pairs = _pairs_of(names, judgement)
    shares = [pair.of_limit for pair in pairs if pair.of_limit is not None]
    rates = [pair.bandwidth_bytes_per_s.value for pair in pairs if pair.bandwidth_bytes_per_s]
    peers = judgement.peers_bandwidth_bytes_per_s
    worst = f", the worst at {units.share(min(shares))} of its limit" if shares else ""
    if not shares and rates and peers:
        worst = f", the worst at {units.share(min(rates) / peers)} of the peers'"
    past = [ratio for ratio in judgement.past if ratio.node in names]
    lost = max((ratio.loss for ratio in past), default=0.0)
    before = f"; since then {units.share(lost)} lost at most" if lost > 0 else "; nothing lost since earlier runs"
    return f"{count(len(pairs), 'pair')}{worst}" + (before if past else "")


def _pairs_of(names: Sequence[str], judgement: Judgement) -> list[PairVerdict]:
    """Their pairs, without those that a fault of the partner explains."""
    faulty = {fault.subject.name for fault in judgement.findings if fault.at_fault}.difference(names)
    touching = [pair for pair in judgement.pairs if pair.source in names or pair.target in names]
    return [pair for pair in touching if not faulty & {pair.source, pair.target}]


def back_in_service(run: RunInfo, judgement: Judgement) -> Iterator[Copy]:
    """What brings the nodes that may return back into service."""
    good = [name for name in returning(run) if NODE.fullmatch(name) and may_return(name, judgement)]
    if good and run.cluster:
        yield Copy(title=BACK, lines=(back_line(good),))
