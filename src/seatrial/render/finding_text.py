"""Findings in words: sentences, a first line, lines that take nodes out of service, and the faults of each node."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from msgspec.structs import replace

from seatrial.model import units
from seatrial.model.errors import ExitCode
from seatrial.model.facts import NodeFacts
from seatrial.model.monitoring import Condition, Fault, Standing
from seatrial.model.node_list import node_list
from seatrial.model.run import RunInfo, RunKind
from seatrial.model.settings import CheckSettings
from seatrial.model.subject import CLUSTER, Direction, Subject, SubjectKind
from seatrial.model.verdict import GOOD, Experiment, Finding, Verdict, worst
from seatrial.model.words import count, natural_sorted, some
from seatrial.render.report import Copy, Report

MOST_PAIRS = 8
PARTS = {SubjectKind.NODE: "link", SubjectKind.PAIR: "path", SubjectKind.FABRIC: "all pairs"}
"""What of a subject is slow; of others the subject itself is."""
NAMES = {
    SubjectKind.NODE: "{}",
    SubjectKind.UPLINK: "uplink of {}",
    SubjectKind.LINK: "cable {}",
    SubjectKind.SPINE: "switch {}",
    SubjectKind.DEVICE: "{}",
    SubjectKind.PAIR: "{}",
    SubjectKind.FABRIC: "the whole fabric",
    SubjectKind.CLUSTER: "the whole cluster",
    SubjectKind.JOB: "job {}",
    SubjectKind.OUTPUT: "{}",
    SubjectKind.CURVE: "{}",
}


def title(finding: Finding) -> str:
    """node:n3  slow-link, out; of a launch, the step in place of a subject that is the whole cluster."""
    subject = finding.step if finding.step and finding.subject == CLUSTER else finding.subject.text
    return f"{subject}  {finding.kind}{_direction(finding)}"


def subject_text(finding: Finding) -> str:
    """node:n3, out."""
    return f"{finding.subject.text}{_direction(finding)}"


def _direction(finding: Finding) -> str:
    return "" if finding.direction is Direction.BOTH else f", {finding.direction.value}"


def brief(finding: Finding) -> str:
    """What is wrong, in a few words with its number, to follow the name of the subject."""
    if finding.brief:
        return finding.brief
    if finding.verdict is Verdict.UNSTABLE and finding.measured is not None:
        ends = (units.quantity(end, finding.metric) for end in (finding.measured.low, finding.measured.high))
        return f"{finding.kind.meaning}, {' to '.join(ends)}"
    number = _brief_number(finding) if finding.verdict is Verdict.SLOW else ""
    what = "latency" if finding.metric == units.LATENCY else PARTS.get(finding.subject.kind, "")
    return f"{what} {number}".strip() if number else finding.kind.meaning


def _brief_number(finding: Finding) -> str:
    """The share of the limit or of the peers that is left; empty where neither is known."""
    part = of_limit(finding)
    if part is not None:
        return f"at {units.share(part)} of its limit"
    if finding.measured is None or not finding.peers:
        return ""
    ratio = finding.measured.value / finding.peers
    return (
        f"{ratio:.1f} times its peers'" if finding.metric == units.LATENCY else f"at {units.share(ratio)} of its peers'"
    )


def part_name(subject: Subject) -> str:
    """A part as a headline names it: n3, uplink of leaf9, cable leaf1[9]-spine1[3], n1>n2."""
    return NAMES[subject.kind].format(subject.name)


def rows(finding: Finding) -> list[tuple[str, str]]:
    """Label and text of number, references, proof and remedy, in this order; unknown values have no row."""
    found = _numbers(finding)
    found += [("proved by", experiment_text(each)) for each in finding.experiments]
    if finding.ambiguous_with:
        others = " or ".join(subject.text for subject in finding.ambiguous_with)
        found.append(("or else", f"{others}: these measurements cannot distinguish it from {finding.subject.text}"))
    if finding.pairs:
        found.append(("shown by", some(natural_sorted(finding.pairs), MOST_PAIRS)))
    if finding.remedy:
        found.append(("to do", finding.remedy))
    return found


def of_limit(finding: Finding) -> float | None:
    """Measured over limit for a bandwidth; None for anything else or where either is unknown."""
    if finding.metric != units.BANDWIDTH or finding.measured is None or not finding.limit:
        return None
    return finding.measured.value / finding.limit


def experiment_text(experiment: Experiment) -> str:
    """What was done, its outcome, and whether it confirmed the suspicion."""
    confirmed = "confirmed" if experiment.confirmed else "not confirmed"
    return f"{experiment.description}: {experiment.outcome} ({confirmed})"


def _numbers(finding: Finding) -> list[tuple[str, str]]:
    found = []
    if finding.measured is not None:
        found.append(("measured", units.estimate(finding.measured, finding.metric)))
    if finding.limit is not None:
        by = f"; set by: {finding.limit_name}" if finding.limit_name else ""
        found.append(("limit", _compared(finding, finding.limit) + by))
    if finding.peers is not None:
        what = f"; {finding.peers_name}" if finding.peers_name else ""
        found.append(("peers", _compared(finding, finding.peers) + what))
    if finding.of_peers is not None:
        found.append(("of peers", units.share_estimate(finding.of_peers)))
    return found


def _compared(finding: Finding, reference: float) -> str:
    """The reference and the measured value over it: a share for bandwidth, a multiple for latency."""
    text = units.quantity(reference, finding.metric)
    if finding.measured is None or not reference:
        return text
    ratio = finding.measured.value / reference
    if finding.metric == units.BANDWIDTH:
        return f"{text} (measured: {units.share(ratio)} of it)"
    return f"{text} (measured: {ratio:.1f} times as much)" if finding.metric == units.LATENCY else text


NODE = re.compile(r"[\w.-]+", re.ASCII)
UNSAFE = re.compile(r"[^\w .,:;%/+<>=()\[\]'-]")
"""What a shell or Slurm might read as more than text between double quotes; reasons name things from outside."""
OUT = "Out of service"
MOST_FAULTS = 3
MOST_NODES = 20


def drain_line(node: str, findings: Sequence[Finding]) -> str:
    """`scontrol update NodeName=n3 State=DRAIN Reason="seatrial: link at 60 % of its limit"`."""
    reason = UNSAFE.sub("", some([brief(finding) for finding in findings], MOST_FAULTS))
    return f'scontrol update NodeName={node} State=DRAIN Reason="seatrial: {reason}"'


def back_line(nodes: Sequence[str]) -> str:
    """`scontrol update NodeName=n[3-4] State=RESUME`."""
    return f"scontrol update NodeName={node_list(nodes)} State=RESUME"


def drain_of(finding: Finding, run: RunInfo | None) -> str:
    """The line that takes the node of a finding out of service; empty for one that is drained, since it would replace
    the reason, for other subjects, and without Slurm."""
    name = finding.subject.name
    of_node = finding.at_fault and finding.subject.kind is SubjectKind.NODE and NODE.fullmatch(name)
    if not of_node or run is None or not run.cluster:
        return ""
    return (
        "" if isinstance(run.settings, CheckSettings) and name in run.settings.drained else drain_line(name, [finding])
    )


def out_of_service(run: RunInfo, findings: Sequence[Finding]) -> Iterator[Copy]:
    """A line for each node that a finding names, with all its faults; nothing without Slurm."""
    of_node: dict[str, list[Finding]] = {}
    for finding in findings:
        if drain_of(finding, run):
            of_node.setdefault(finding.subject.name, []).append(finding)
    lines = [drain_line(node, faults) for node, faults in of_node.items()]
    yield Copy(title=OUT, lines=tuple(lines[:MOST_NODES]))


MOST_PARTS = 4
"""Parts that a headline names before it counts the rest."""
MOST_CHARACTERS = 50
"""Characters of all these names, unless the first alone is longer: with verdict and counts a line of 80 columns."""
LINE = 80
"""Columns of the first line."""


def at_fault(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Findings that say that something is wrong."""
    return tuple(finding for finding in findings if finding.at_fault)


def word_of(findings: Sequence[Finding], otherwise: str = Verdict.PASS.value) -> str:
    """The gravest verdict among findings at fault; `otherwise` where there are none."""
    faults = at_fault(findings)
    return worst([finding.verdict for finding in faults]).value if faults else otherwise


def sentence_of(findings: Sequence[Finding], unlisted: int = 0) -> str:
    """`n3: link at 60 % of its limit`; `3 findings: n3, uplink of leaf9, n76`; empty where nothing is at fault.

    Of several findings on one part it is the gravest, and how many more there are. Where nothing is at fault, it is
    about suspicions that are not decided: they are why there is no PASS.
    `unlisted`: how many parts at fault there are besides those of `findings`.
    """
    undecided = [finding for finding in findings if finding.verdict is Verdict.INCONCLUSIVE]
    faults = at_fault(findings) or undecided
    if not faults:
        return ""
    if len(faults) == 1 and not unlisted:
        return finding_sentence(faults[0])
    parts = list(dict.fromkeys(map(_name, faults)))
    if len(parts) == 1 and not unlisted:
        gravest = max(faults, key=lambda finding: finding.verdict.gravity)
        return f"{finding_sentence(gravest)}; {count(len(faults) - 1, 'more finding')}"
    return f"{count(len(faults) + unlisted, 'finding')}: {some(parts, _fitting(parts), unlisted)}"


def _fitting(names: Sequence[str]) -> int:
    """How many of the names a headline has room for; one at least."""
    lengths = (len(", ".join(names[:number])) for number in range(2, MOST_PARTS + 1))
    return 1 + sum(length <= MOST_CHARACTERS for length in lengths)


def finding_sentence(finding: Finding) -> str:
    """`n3: link at 60 % of its limit`."""
    joined = " " if finding.verdict is Verdict.DOWN else ": "
    return f"{_name(finding)}{joined}{brief(finding)}"


def _name(finding: Finding) -> str:
    """The subject, and others that the measurements cannot distinguish from it."""
    subjects: list[Subject] = [finding.subject, *finding.ambiguous_with]
    return " or ".join(part_name(subject) for subject in subjects)


def fitting_sentence(word: str, sentences: Sequence[str], gaps: Sequence[str] = (), *, needed: bool) -> str:
    """The first of the sentences for which a line has room behind its word, with the first of the `gaps` at its end.

    `sentences`, and `gaps` in the measurements: longer ones first; an empty gap is none. `needed`: whether the sentence
    says too much without its gaps; else they are left out where there is no room.
    """
    room = LINE - len(word) - 2
    if needed and gaps:
        sentences = [f"{text}{gap and '; '}{gap}" for gap in gaps for text in sentences]
    chosen = next((text for text in sentences if len(text) <= room), sentences[-1])
    if needed:
        return chosen
    return next((full for gap in gaps if gap and len(full := f"{chosen}; {gap}") <= room), chosen)


GAP = re.compile(r"(?<=:) | (?=and |- )")
"""Behind the colon of a name, and between two names."""


def first_line(sentence: str, room: int) -> tuple[str, str]:
    """The answer, as many clauses of the sentence as there is room for; and the others, for the line below it.

    It is divided between clauses (a semicolon), else before a bracket that has no room, else between parts, where the
    comma stays and shows that more follows, or at a GAP, and behind its first clause where that alone has no room.
    """
    if len(sentence) <= room:
        return sentence, ""
    end = sentence.rfind("; ", 0, room + 2)
    if end < 0 and (bracket := sentence.rfind(" (", 0, room + 1)) > 0 and ")" not in sentence[bracket:room]:
        return sentence[:bracket], sentence[bracket + 1 :]
    if end < 0 and (comma := sentence.rfind(", ", 0, room + 1)) > 0:
        return sentence[: comma + 1], sentence[comma + 2 :]
    if end < 0 and (gaps := [gap.start() for gap in GAP.finditer(sentence) if gap.start() <= room]):
        return sentence[: gaps[-1]], sentence[gaps[-1] + 1 :]
    end = end if end > 0 else sentence.find("; ")
    return (sentence[:end], sentence[end + 2 :]) if end > 0 else (sentence, "")


ABOUT_NODES = (RunKind.CHECK, RunKind.NODES, RunKind.SOAK)
"""Runs that judge each node; a curve or a benchmark judges something else."""


def standings_of(report: Report) -> tuple[Standing, ...]:
    """One for each judged node and each part that a finding names, by name; none of a report on something else.

    A good node of a run that ended undecided is undecided, unless it was asked about: PASS is about the whole run.
    """
    if report.run is None or report.run.kind not in ABOUT_NODES:
        return ()
    undecided = report.exit_code is ExitCode.INCOMPLETE or report.word == Verdict.INCONCLUSIVE
    standings = {}
    for case in report.cases:
        subject = Subject.parse(case.name)
        if subject.kind is SubjectKind.NODE and ":" not in subject.name:  # n1:0 is a rank of a run on one machine
            open_too = undecided and not case.holds and case.verdict in (*GOOD, Verdict.MEASURED)
            verdict = Verdict.INCONCLUSIVE if open_too else case.verdict
            facts = report.facts.get(subject.name)
            standings[subject.name] = Standing(
                node=subject.name,
                verdict=verdict,
                of_limit=case.of_limit,
                figures=case.figures,
                condition=_condition(facts, report.run.started) if facts else None,
            )
    for node, faults in _faults(report.findings).items():
        before = standings.get(node) or Standing(node=node, verdict=faults[0].verdict)
        standings[node] = replace(before, verdict=faults[0].verdict, faults=tuple(faults))
    return tuple(standings[name] for name in sorted(standings))


def _condition(facts: NodeFacts, read: str) -> Condition:
    clocks = facts.processor.present_hz
    degrees = [sensor.value for sensor in facts.system.sensors if sensor.unit == "degC"]
    watts = [sensor.value for sensor in facts.system.sensors if sensor.unit == "W"]
    return Condition(
        read=read,
        clocks_hz=(min(clocks), median(clocks), max(clocks)) if clocks else None,
        hottest_celsius=max(degrees, default=None),
        power_w=max(watts, default=None),
        throttle_events=facts.processor.throttle_events,
    )


def _faults(findings: Iterable[Finding]) -> dict[str, list[Fault]]:
    """Faults of each node and other part, the gravest first; those included that may be of another part instead."""
    faults = defaultdict(list)
    for finding in sorted(findings, key=lambda finding: -finding.verdict.gravity):
        fault = Fault(
            kind=finding.kind.value, verdict=finding.verdict, text=brief(finding), shared=bool(finding.ambiguous_with)
        )
        for subject in (finding.subject, *finding.ambiguous_with):
            if finding.at_fault:
                faults[subject.name if subject.kind is SubjectKind.NODE else subject.text].append(fault)
    return faults
