"""Compares facts: node with node, earlier with now, login node with compute nodes."""

import msgspec

from seatrial.drift.changes import FactDrift, changes
from seatrial.drift.comparison import FactDifference, against, drift
from seatrial.driver.facts_reading import FactsRead
from seatrial.model.errors import ExitCode, UsageError
from seatrial.model.facts import NodeFacts
from seatrial.model.verdict import Finding, exit_code, worst
from seatrial.rules.base import Readings, findings_of
from seatrial.rules.catalogue import READ_TWICE, fact_findings, fact_notes


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """What was found, and the exit code that says so."""

    differences: tuple[FactDifference, ...]
    changes: tuple[FactDrift, ...] = ()
    not_compared: tuple[str, ...] = ()
    """Nodes that were asked for, and that the earlier reading does not have."""
    against: tuple[FactDifference, ...] = ()
    findings: tuple[Finding, ...] = ()
    exit_code: ExitCode = ExitCode.PASS


def look_for_drift(
    read: FactsRead, earlier: FactsRead | None, login: FactsRead | None, *, whole: bool = False
) -> Drift:
    """`earlier`: the same nodes at another time; `login`: the machine that programs are built on.

    `whole`: both readings are of a whole cluster, so that a node that one of them lacks has come or gone. Otherwise
    it only was not asked for at one of the times, or gives no answer, and neither is a change.
    Raises UsageError where the earlier reading has none of the nodes.
    """
    before = _same_names(earlier, read) if earlier is not None else {}
    after = read.facts
    new = () if whole or not before else tuple(node for node in after if node not in before)
    if not whole:
        before = {node: facts for node, facts in before.items() if node in after}
        after = {node: facts for node, facts in after.items() if node in before}
    host = next(iter(login.facts.values())) if login is not None else None
    readings = Readings(facts=read.facts, after=read.after, features=read.features)
    findings = fact_findings(readings)
    if before:
        findings += _between(before, after, findings)
    code = exit_code(worst([finding.verdict for finding in findings]), complete=not incomplete(read))
    return Drift(
        differences=drift(read.facts),
        changes=changes(before, after) if before else (),
        not_compared=new,
        against=against(host, read.facts) if host is not None else (),
        findings=(*findings, *fact_notes(readings)),
        exit_code=code,
    )


def incomplete(read: FactsRead) -> bool:
    """Whether a node is silent, or its facts broke off."""
    return bool(read.silent) or not read.facts or not all(facts.complete for facts in read.facts.values())


def _same_names(earlier: FactsRead, read: FactsRead) -> dict[str, NodeFacts]:
    """The earlier facts under the names of the present ones: as they are, or by host where a run names places."""
    if earlier.cluster and read.cluster and earlier.cluster != read.cluster:
        raise UsageError(
            f"--since: that run is of the cluster {earlier.cluster}, and these are of {read.cluster}: equal names "
            "are different machines.",
            "Name a run of this cluster.",
        )
    if set(earlier.facts) & set(read.facts):
        return earlier.facts
    by_host = {facts.hostname: facts for facts in earlier.facts.values()}
    found = {node: by_host[facts.hostname] for node, facts in read.facts.items() if facts.hostname in by_host}
    if not found:
        had = ", ".join(sorted(earlier.facts)[:5])
        raise UsageError(f"--since: none of these nodes is in that reading; it has {had}.", "Name another.")
    return found


def _between(before: dict[str, NodeFacts], now: dict[str, NodeFacts], known: list[Finding]) -> list[Finding]:
    """What happened between the two readings, and is not said yet."""
    readings = Readings(facts=before, after=now)
    found = [finding for rule in READ_TWICE for finding in findings_of(rule, readings)]
    told = {(finding.kind, finding.subject) for finding in known}
    return [finding for finding in found if (finding.kind, finding.subject) not in told]
