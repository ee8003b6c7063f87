"""Nodes that were lost, a finding each, and ranks that died: one is a note, several a finding on a common node."""

import shlex
import signal
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from seatrial.drift.peer_groups import growth
from seatrial.locate.evidence import waits_of
from seatrial.model.facts import NodeFacts
from seatrial.model.loss import LossCause, Moment, RankDeath, SessionLoss
from seatrial.model.run import NodeCause, NodeState, RecordedRun
from seatrial.model.subject import CLUSTER, node
from seatrial.model.verdict import Finding, FindingKind, Verdict
from seatrial.model.words import MOST_NAMED, count, natural_sorted, some
from seatrial.statistics.estimates import median

REPEATED = 2
SMALL_SHARE = 0.1
"""Share of all sessions. Deaths without a node in common are a finding above it."""
START_CRASHES = 4
START_CRASHES_SHARE = 0.25
"""Open MPI 4.1's TCP transport crashes when it is started, on healthy nodes, too: once in 180 starts where nothing else
runs, once in a dozen where ranks share cores, and mostly in rank 0. So crashes at the start need to be this many, and a
larger share of the starts than the share of their time for which ranks waited for a processor."""
ENDED = (LossCause.TIME_LIMIT, LossCause.CANCELLED)
SIGNAL_NAMES = {one.value: one.name for one in signal.Signals}
CRASHES = (signal.SIGILL, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV)
RACES = (signal.SIGABRT, signal.SIGSEGV)
"""Signals that end an MPI which crashes on its own during start-up."""
MEMORY = (
    "Compare the memory limit of the job and its cgroup with what the node has, and find out what else uses memory "
    "there; the kernel's log names each process that it killed (dmesg -T | grep -i oom)."
)
REMEDIES = {
    LossCause.OUT_OF_MEMORY: MEMORY,
    LossCause.NODE_FAILURE: "Read slurmctld's log and the node's own slurmd log and console for that time.",
    LossCause.EXIT: "Read what the probe and its MPI wrote last, in the logs folder of the run.",
    LossCause.UNKNOWN: "Read what the launcher wrote last, in the logs folder of the run.",
}
PROGRAM_REMEDY = (
    "Start the program there yourself; what it printed is in the entries `step` of the run's journal. Compare drivers, "
    "libraries and devices with those of the other nodes (seatrial facts --drift)."
)
CRASHED = (
    "Check the node for memory errors (EDAC, rasdaemon) and for a full /dev/shm, and compare its MPI, UCX and driver "
    "versions with those of the other nodes; a core file shows where the rank crashed."
)
KILLED = (
    "Find out what ends processes there: the kernel's OOM killer (dmesg -T | grep -i 'killed process'), a health check "
    "or epilog that cleans up, a user."
)

BRIEFS = {
    NodeCause.UNAVAILABLE: "is not available",
    NodeCause.RESUME_TIMEOUT: "did not wake up",
}
"""What headlines say of a lost node; of others, that it does not answer."""


class Deaths(msgspec.Struct, frozen=True, kw_only=True):
    """What a run's lost sessions come to."""

    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    """Nodes on which starts crashed repeatedly, while ranks waited for a processor for as large a share of the time."""


def judge_deaths(recorded: RecordedRun) -> Deaths:
    """Findings for lost nodes and repeated deaths, a note for every other session that was lost.

    No deaths where a program gave no figure at all: then it is at fault, and not the nodes on which it was tried.
    """
    down = [state for state in recorded.info.lost if state.fault and not state.rank_died]
    findings = [_lost(state) for state in down]
    if not recorded.losses or (recorded.info.program is not None and not recorded.measurements):
        return Deaths(findings=tuple(findings))
    gone = {state.node for state in down}
    started = {name for one in recorded.measurements for name in one.pair}
    counted = [_with_kernel(_not_cleared(one, started), recorded) for one in recorded.losses if _counts(one, gone)]
    at_start = [one for one in counted if _may_be_chance(one)]
    groups, rest = _groups([one for one in counted if one not in at_start])
    sessions = _tries(recorded)
    findings += [_on_nodes(names, losses, sessions) for names, losses in groups]
    if len(rest) >= REPEATED and len(rest) > SMALL_SHARE * sessions:
        findings.append(_anywhere(rest, sessions))
        rest = []
    waited = median([max(waits_of(measured)) for measured in recorded.measurements]) if recorded.measurements else 0.0
    undecided: set[str] = set()
    placed = [(names, losses, _tries(recorded, names[0])) for names, losses in _groups(at_start)[0]]
    for names, losses, tries in [*placed, ([], [*at_start], sessions)]:
        losses = [crash for crash in losses if crash in at_start]  # noqa: PLW2901
        if len(losses) < START_CRASHES or len(losses) <= START_CRASHES_SHARE * tries:
            continue
        if len(losses) <= waited * tries:
            undecided |= {name for crash in losses for name in crash.loss.suspects}
            continue
        findings.append(_on_nodes(names, losses, tries) if names else _anywhere(losses, tries))
        at_start = [crash for crash in at_start if crash not in losses]
    single = [*rest, *at_start]
    notes = [_single(one) for one in single[:MOST_NAMED]]
    if len(single) > MOST_NAMED:
        notes.append(f"{len(single) - MOST_NAMED} more sessions of the probe were lost.")
    notes += _aside(recorded.losses)
    return Deaths(findings=tuple(findings), notes=tuple(notes), undecided=tuple(natural_sorted(undecided)))


def _lost(state: NodeState) -> Finding:
    """A node that is down or stopped answering."""
    return Finding(
        kind=FindingKind.NODE_DOWN,
        subject=node(state.node),
        verdict=Verdict.DOWN,
        brief=BRIEFS.get(state.cause, ""),
        statement=f"Node {state.node} cannot be measured: {state.reason}.",
        remedy=f"Look at its power, network and slurmd (scontrol show node {shlex.quote(state.node)}), and at its "
        "slurmd's log.",
    )


def _tries(recorded: RecordedRun, name: str = "") -> int:
    """How often the probe was started, or a check's program on this node, on any without a name."""
    if recorded.info.program is None:
        return recorded.sessions + sum(one.moment is Moment.START for one in recorded.losses)
    both_ways = recorded.info.figure is not None and recorded.info.figure.both_ways
    given = sum(not name or name in one.pair for one in recorded.measurements)
    failed = sum(not name or one.loss.pair is None or name in one.loss.pair for one in recorded.losses)
    return given // (2 if both_ways else 1) + failed


def run_notes(recorded: RecordedRun, reason: str = "", findings: Sequence[Finding] = ()) -> tuple[str, ...]:
    """Why the run ended as it did, and every note on sessions that were lost.

    What `reason` and `findings`, which the report gives anyway, say already is left out.
    """
    deaths = judge_deaths(recorded)
    given = {(finding.kind, finding.subject) for finding in findings}
    left = (finding for finding in deaths.findings if (finding.kind, finding.subject) not in given)
    said = (finding.statement for finding in left if finding.statement.rstrip(".") not in reason)
    ending = recorded.info.reason
    return (*([ending] if ending and ending not in reason else ()), *said, *deaths.notes)


def after_deaths(recorded: RecordedRun, verdict: Verdict, reason: str) -> tuple[Verdict, str]:
    """Verdict and reason of one pair's numbers: where ranks died repeatedly they do not pass, however good they are."""
    findings = judge_deaths(recorded).findings
    if findings and verdict in (Verdict.PASS, Verdict.NOT_RUN, Verdict.MEASURED):
        return findings[0].verdict, findings[0].statement.rstrip(".")
    return verdict, reason


def _counts(one: SessionLoss, gone: set[str]) -> bool:
    """Whether a loss is a death under the site's own settings that no lost node explains."""
    return not one.altered and one.loss.cause not in (*ENDED, LossCause.SILENT) and not _explained(one, gone)


def _not_cleared(lost: SessionLoss, started: set[str]) -> SessionLoss:
    """A start of a program without the node that gave a figure with others, where the other one never did."""
    left = tuple(name for name in lost.loss.suspects if name not in started)
    if lost.loss.pair is None or not left:
        return lost
    return msgspec.structs.replace(lost, loss=msgspec.structs.replace(lost.loss, suspects=left))


def _may_be_chance(one: SessionLoss) -> bool:
    """Whether it is the kind of crash that an MPI has at its start now and then."""
    if one.loss.cause is LossCause.SIGNAL:
        return one.starting and _signal(one) in RACES
    return one.moment is Moment.START and one.loss.cause in (LossCause.EXIT, LossCause.UNKNOWN)


def _explained(one: SessionLoss, gone: set[str]) -> bool:
    """Whether a node that no longer answers was lost; a finding reports it already."""
    suspects = set(one.loss.suspects)
    return one.loss.cause is LossCause.NODE_FAILURE and bool(suspects) and suspects <= gone


def _groups(losses: Sequence[SessionLoss]) -> tuple[list[tuple[list[str], list[SessionLoss]]], list[SessionLoss]]:
    """Repeated deaths with the nodes that each may be put down to, and the deaths that are left.

    The node that most deaths can be put down to comes first. Others that explain exactly the same deaths cannot be
    distinguished from it.
    """
    groups: list[tuple[list[str], list[SessionLoss]]] = []
    left = list(losses)
    while True:
        of = {name: [one for one in left if name in one.loss.suspects] for one in left for name in one.loss.suspects}
        most = max((len(one) for one in of.values()), default=0)
        if most < REPEATED:
            return groups, left
        names = natural_sorted([name for name, its in of.items() if len(its) == most])
        sure = Counter(one.loss.suspects[0] for one in left if len(one.loss.suspects) == 1)
        first = max(names, key=lambda name: sure[name])
        explained = of[first]
        groups.append(([first, *(name for name in names if name != first and of[name] == explained)], explained))
        left = [one for one in left if one not in explained]


def _on_nodes(names: Sequence[str], losses: Sequence[SessionLoss], sessions: int) -> Finding:
    first, *others = names
    where = " or ".join(names[: MOST_NAMED + 1])
    return Finding(
        kind=FindingKind.RANK_DIED,
        subject=node(first),
        ambiguous_with=tuple(node(name) for name in others[:MOST_NAMED]),
        verdict=Verdict.UNSTABLE,
        statement=f"{_failed(losses, f'The rank on {where} died', where, sessions)}: {_kinds(losses, first)}.",
        brief=_brief(losses),
        remedy=_remedy(losses),
    )


def _failed(losses: Sequence[SessionLoss], died: str, where: str, sessions: int) -> str:
    """How many of how many sessions of the probe, or starts of a program, failed."""
    if of_program(losses):
        return f"The program gave no figure on {where} in {len(losses)} of {count(sessions, 'start')}"
    return f"{died} in {len(losses)} of {count(sessions, 'session')} of the probe"


def _brief(losses: Sequence[SessionLoss]) -> str:
    """What is wrong in the first line of a report; empty: the meaning of the kind."""
    return "the program failed repeatedly" if of_program(losses) else ""


def of_program(losses: Iterable[SessionLoss]) -> bool:
    """Whether these were all starts of a check's program, and none a session of the probe."""
    return all(one.loss.pair is not None for one in losses)


def _anywhere(losses: Sequence[SessionLoss], sessions: int) -> Finding:
    known = natural_sorted({name for one in losses for name in one.loss.suspects})
    where = f"on {some(known)}" if known else "on nodes that the launcher did not name"
    failed = _failed(losses, "Ranks died", some(known), sessions)
    return Finding(
        kind=FindingKind.RANK_DIED,
        subject=CLUSTER,
        verdict=Verdict.UNSTABLE,
        statement=f"{failed}{'' if of_program(losses) else f', {where}'}: {_kinds(losses)}.",
        brief=_brief(losses),
        remedy=_remedy(losses),
    )


def _kinds(losses: Iterable[SessionLoss], on: str = "") -> str:
    """`signal 9 (SIGKILL) 3 times, exit code 1 once`: of the deaths on that node, where there are any."""
    kinds = Counter(_kind(one, on) for one in losses)
    return ", ".join(f"{kind} {_times(number)}" for kind, number in kinds.most_common())


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _kind(one: SessionLoss, on: str = "") -> str:
    if one.loss.pair is not None:
        return one.detail
    if one.loss.cause is LossCause.NODE_FAILURE:
        return "Slurm or the node itself reports a node failure"
    first = [death for death in one.loss.deaths if death.first]
    there = [death for death in first if death.node in (on, *one.loss.suspects)] or first
    death = next((death for death in there if death.node == on), there[0] if there else None)
    said = _end(death) if death else "cause not reported"
    if one.loss.cause is LossCause.OUT_OF_MEMORY:
        return f"out of memory ({said})" if death and death.signal is not None else "out of memory"
    return said


def _end(death: RankDeath) -> str:
    if death.signal is not None:
        name = SIGNAL_NAMES.get(death.signal)
        return f"signal {death.signal}" + (f" ({name})" if name else "")
    return "cause not reported" if death.exit_code is None else f"exit code {death.exit_code}"


def _remedy(losses: Iterable[SessionLoss]) -> str:
    """The remedy for the most frequent cause."""
    losses = list(losses)
    if of_program(losses):
        return PROGRAM_REMEDY
    cause, number = Counter((one.loss.cause, _signal(one)) for one in losses).most_common(1)[0][0]
    if cause is not LossCause.SIGNAL:
        return REMEDIES[cause]
    return CRASHED if number in CRASHES else KILLED


def _signal(one: SessionLoss) -> int | None:
    return next((death.signal for death in one.loss.deaths if death.first), None)


def _single(one: SessionLoss) -> str:
    suspects = one.loss.suspects
    if one.loss.pair is not None:
        return f"The program gave no figure on {' and '.join(one.loss.pair)} after {one.at_s:.0f} s: {one.detail}."
    where = f" on {' or '.join(suspects[:MOST_NAMED])}" if suspects else ""
    nowhere = "" if suspects else " The launcher did not name the node."
    known = " Open MPI occasionally does this on healthy nodes." if _may_be_chance(one) else ""
    kind = _kind(one, suspects[0] if suspects else "")
    return f"A rank died{where} {_moment(one)}: {kind}.{nowhere}{_went_on(one)}{known}"


def _went_on(one: SessionLoss) -> str:
    if one.moment is Moment.END:
        return " All measurements were complete by then."
    return " The probe was started again." if one.moment is Moment.START else " Its round was measured again."


def _moment(one: SessionLoss) -> str:
    when = f"after {one.at_s:.0f} s"
    if one.moment is Moment.START:
        return f"while session {one.session} was started, {when}"
    return f"in session {one.session}, {when}" + (f", in a round of the {one.phase.value}" if one.phase else "")


def _aside(losses: Sequence[SessionLoss]) -> list[str]:
    """Notes on sessions that no node is blamed for."""
    notes = []
    by_setting = Counter(one.variant for one in losses if one.altered and one.loss.cause not in ENDED)
    for variant, number in by_setting.items():
        under = f"the settings of {variant}" if variant else "settings that were tried"
        notes.append(f"Under {under} the probe was lost {_times(number)}; no node is blamed for this.")
    silent = [one for one in losses if one.loss.cause is LossCause.SILENT and not one.altered]
    if silent:
        notes.append(
            f"The probe stopped responding {_times(len(silent))} (first {_moment(silent[0])}) and was started again; "
            "no rank was reported dead."
        )
    for one in losses:
        if one.loss.cause in ENDED:
            why = "its time limit was reached" if one.loss.cause is LossCause.TIME_LIMIT else "it was cancelled"
            notes.append(f"Slurm ended the step {_moment(one)}: {why}.")
    return list(dict.fromkeys(notes))


def _with_kernel(one: SessionLoss, recorded: RecordedRun) -> SessionLoss:
    """The loss with the kernel's word for it: killed where its OOM killer was at work meanwhile."""
    suspects = one.loss.suspects
    killed = one.loss.cause is LossCause.SIGNAL and _signal(one) == 9
    if not killed or len(suspects) != 1 or not oom_kills(suspects[0], recorded.facts, recorded.facts_after):
        return one
    return msgspec.structs.replace(one, loss=msgspec.structs.replace(one.loss, cause=LossCause.OUT_OF_MEMORY))


def oom_kills(name: str, before: Mapping[str, NodeFacts], after: Mapping[str, NodeFacts]) -> int:
    """Processes that the node's kernel killed for lack of memory between the two readings; 0 where it is unknown."""
    if name not in before or name not in after or before[name].boot_id != after[name].boot_id:
        return 0
    return growth(before[name].oom_kills, after[name].oom_kills) or 0
