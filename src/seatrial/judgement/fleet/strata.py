"""Fleets that were measured under several conditions, or part by part: each condition is judged of its own.

A part of a node is compared with the same part of other nodes. A node that is a little low under every condition
shows only in all of them together: each value as a share of its condition's median is one more fleet. The kinds of
comparison (parts or nodes, whole nodes, all conditions together) have equal shares of one error rate, and the
conditions equal shares of that.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from seatrial.importers.fleets import Fleet, FleetTable, Labels, Stratum, without_gaps
from seatrial.judgement.fleet.judge import (
    JudgedStratum,
    expected_subjects,
    judge_both_ways,
    judge_nodes,
    node_verdict,
    uneven_parts,
)
from seatrial.judgement.peer_suspects import PeerSuspect, find_peer_suspects
from seatrial.model.errors import UsageError
from seatrial.model.facts import NodeFacts
from seatrial.model.imported import Sense
from seatrial.model.verdict import Verdict
from seatrial.statistics.estimates import FEWEST_ALIKE
from seatrial.statistics.fleets import EFFECT, HIDDEN_EFFECTS, NodeRuns

GRAVEST = (Verdict.SLOW, Verdict.UNSTABLE, Verdict.INCONCLUSIVE)
"""Verdicts on what is not healthy, and on a fleet that has it; the gravest first."""


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """A node, or a part of one, that is not healthy, and where."""

    subject: str
    node: str
    verdict: Verdict
    loss: float
    """The largest of its losses, a share."""
    where: tuple[str, ...]
    """Conditions under which it is low; empty: under all together."""
    runs: int
    """Fewest values that it has under one of them."""


class FileShift(msgspec.Struct, frozen=True, kw_only=True):
    """A file in which all nodes are worse than in another one; `loss` is a share."""

    worse: str
    better: str
    loss: float
    where: str
    """The condition; empty: the only one."""


class FleetJudgement(msgspec.Struct, frozen=True, kw_only=True):
    """All conditions, and who is named."""

    strata: tuple[JudgedStratum, ...]
    together: JudgedStratum | None
    """All conditions as one fleet; None where there is one condition."""
    named: tuple[Named, ...]
    """The gravest verdicts first, and of one verdict the farthest from their peers."""
    conditions: tuple[str, ...]
    """Columns that distinguish conditions."""
    parts: tuple[str, ...]
    node_of: dict[str, str]
    """Part of a node -> its node."""
    rare_parts: tuple[str, ...]
    """Parts that a third of the nodes or more lack: these are nodes of another kind."""
    effect: float
    detectable: float | None
    """The largest of the conditions: loss under one condition that is found in 95 % of cases."""
    failed: tuple[str, ...] = ()
    """Nodes of failed runs."""
    shifts: tuple[FileShift, ...] = ()
    """Files in which all nodes are worse than in another one."""
    suspects: tuple[PeerSuspect, ...] = ()
    """Facts that the nodes that are not healthy have, and healthy ones do not."""
    without_facts: tuple[str, ...] = ()
    """Measured nodes of which no facts are known, where those of others are."""
    verdict: Verdict

    def of(self, verdict: Verdict) -> tuple[Named, ...]:
        """The named nodes or parts with this verdict, the farthest from their peers first."""
        return tuple(each for each in self.named if each.verdict is verdict)

    @property
    def subjects(self) -> tuple[str, ...]:
        """Nodes and parts that were compared under any condition, in the order of the table."""
        return tuple(dict.fromkeys(runs.node for stratum in self.strata for runs in stratum.nodes))

    @property
    def nodes(self) -> tuple[str, ...]:
        """Nodes of these subjects."""
        return tuple(dict.fromkeys(self.node_of.get(subject, subject) for subject in self.subjects))

    @property
    def only(self) -> JudgedStratum | None:
        """The only condition, if whole nodes were compared under it; else None."""
        return self.strata[0] if len(self.strata) == 1 and not self.node_of else None


def judge_strata(
    tables: Mapping[str, FleetTable], sense: Sense | None = None, *, effect: float = EFFECT
) -> FleetJudgement:
    """Judge each condition of the tables. `sense`: None: as names and units say, else higher is better."""
    merged = _merged(tables) or [Stratum()]
    parts = {subject: part for table in tables.values() for subject, part in table.parts.items()}
    kinds = 1 + bool(parts) + (len(merged) > 1)
    comparisons = kinds * len(merged)
    node_of = {subject: node for subject, (node, _) in parts.items()}
    uneven = uneven_parts(parts.values())
    strata = _with_absent(
        [_judged(each, sense, effect, comparisons, parts) for each in merged], uneven.lacking, node_of
    )
    together = _together(strata, effect, kinds) if len(strata) > 1 else None
    named = _unique([*_in_strata(strata, parts), *_in_all(together, parts)])
    if parts:
        named = _unique(_nodes_or_parts(named, _slow_nodes(strata, parts, effect, comparisons), parts))
    detectable = max((stratum.result.detectable for stratum in strata if stratum.result), default=None)
    return FleetJudgement(
        strata=strata,
        together=together,
        named=tuple(sorted(named, key=lambda each: (GRAVEST.index(each.verdict), -each.loss))),
        conditions=tuple(dict.fromkeys(name for stratum in merged for name, _ in stratum.conditions)),
        parts=tuple(dict.fromkeys(name for table in tables.values() for name in table.roles.parts)),
        rare_parts=uneven.rare,
        node_of=node_of,
        effect=effect,
        detectable=detectable,
        verdict=_verdict(strata, named, detectable, effect),
    )


def with_facts(judged: FleetJudgement, facts: Mapping[str, NodeFacts]) -> FleetJudgement:
    """The judgement with the facts that separate slow nodes from healthy ones.

    Where no node is slow, those of the slower one of two populations count, or else unstable ones.
    """
    divided = [stratum.result.populations for stratum in judged.strata if stratum.result and stratum.result.populations]
    slow = {each.node for each in judged.of(Verdict.SLOW)}
    slow = slow or {judged.node_of.get(subject, subject) for slower, _ in divided[:1] for subject in slower}
    slow = slow or {each.node for each in judged.of(Verdict.UNSTABLE)}
    bad = {each.node for each in judged.named}
    return msgspec.structs.replace(
        judged,
        suspects=find_peer_suspects(facts, slow, {*judged.nodes} - bad | slow),
        without_facts=tuple(node for node in judged.nodes if node not in facts),
    )


def _merged(tables: Mapping[str, FleetTable]) -> list[Stratum]:
    """The strata of all tables; those of the same conditions and unit are one."""
    merged: dict[tuple[Labels, str], Stratum] = {}
    for table in tables.values():
        for stratum in table.strata:
            key = (stratum.conditions, stratum.unit)
            if key in merged:
                runs = {name: list(values) for name, values in merged[key].with_gaps.items()}
                for name, values in stratum.with_gaps.items():
                    runs[name] = runs.get(name, []) + values
                if {stratum.sense, merged[key].sense} == {*Sense}:
                    raise UsageError(
                        "Higher values are better in some files, lower ones in others.", "Judge them one by one."
                    )
                merged[key] = msgspec.structs.replace(stratum, with_gaps=runs, sense=stratum.sense or merged[key].sense)
            else:
                merged[key] = stratum
    return list(merged.values())


def _judged(
    stratum: Stratum, sense: Sense | None, effect: float, comparisons: int, parts: Mapping[str, tuple[str, str]]
) -> JudgedStratum:
    """One condition. Parts are compared by their shares of the median of the same part of all nodes."""
    values = _levelled(stratum.with_gaps, parts) if parts else stratum.with_gaps
    judged = judge_both_ways(values, sense or stratum.sense, effect=effect, comparisons=comparisons)
    return msgspec.structs.replace(judged, conditions=stratum.conditions, unit=stratum.unit, text=stratum.text)


def _levelled(values: Fleet, parts: Mapping[str, tuple[str, str]]) -> Fleet:
    """Each value as a share of the median of its part over the nodes; parts of few nodes stay as they are."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    measured = {subject: runs for subject, runs in without_gaps(values).items() if runs}
    for subject in measured:
        groups[parts[subject][1] if subject in parts else ""].append(subject)
    if min(map(len, groups.values()), default=0) < FEWEST_ALIKE:
        return values
    levels = {part: float(np.median([np.median(measured[name]) for name in names])) for part, names in groups.items()}
    if not min(levels.values()) > 0:
        return values
    usual = float(np.median(list(levels.values())))
    return {
        subject: [run / levels.get(parts[subject][1] if subject in parts else "", usual) * usual for run in runs]
        for subject, runs in values.items()
    }


def _with_absent(
    strata: Sequence[JudgedStratum], lacking: Mapping[str, str], node_of: Mapping[str, str]
) -> tuple[JudgedStratum, ...]:
    """Each condition with the subjects that it lacks, if it has half of those of its plan."""
    measured = [
        dict.fromkeys((*(runs.node for runs in each.nodes), *each.unmeasured) if each.result else ()) for each in strata
    ]  # in the order of the table
    expected = expected_subjects([stratum.conditions for stratum in strata], measured, lacking, node_of)
    return tuple(
        msgspec.structs.replace(stratum, absent=tuple(name for name in everyone if name not in subjects))
        if 2 * len(subjects) >= len(everyone)
        else msgspec.structs.replace(stratum, few_of=len(everyone))
        for stratum, subjects, everyone in zip(strata, measured, expected, strict=True)
    )


def _together(strata: Sequence[JudgedStratum], effect: float, comparisons: int) -> JudgedStratum | None:
    """All values as shares of the median of their condition, turned so that higher is better."""
    fleet: defaultdict[str, list[float]] = defaultdict(list)
    for stratum in strata:
        result = stratum.result
        if result is None or not result.enough or result.populations:
            continue
        for runs in result.nodes:
            for value in runs.values:
                ratio = value / result.median
                fleet[runs.node].append(ratio if stratum.higher_is_better or not ratio else 1 / ratio)
    return judge_nodes(fleet, effect=effect, comparisons=comparisons) if fleet else None


def _in_strata(strata: Sequence[JudgedStratum], parts: Mapping[str, tuple[str, str]]) -> list[Named]:
    """Who is slow, unstable or suspected under which conditions."""
    low: defaultdict[str, list[tuple[JudgedStratum, NodeRuns]]] = defaultdict(list)
    bad: defaultdict[str, list[tuple[JudgedStratum, NodeRuns]]] = defaultdict(list)
    for stratum in strata:
        for runs in stratum.nodes:
            if runs.slow or runs.suspected:
                low[runs.node].append((stratum, runs))
            elif runs.bad_runs:
                bad[runs.node].append((stratum, runs))
    named = []
    for subject, places in (*low.items(), *bad.items()):
        if places is bad.get(subject):
            verdict, loss = Verdict.UNSTABLE, max(runs.worst_run_loss for _, runs in places)
        else:
            verdict = Verdict.SLOW if _confirmed(places, strata) else Verdict.INCONCLUSIVE
            loss = max(runs.loss for _, runs in places)
        named.append(
            Named(
                subject=subject,
                node=parts[subject][0] if subject in parts else subject,
                verdict=verdict,
                loss=loss,
                where=_where([stratum for stratum, _ in places], strata),
                runs=min(len(runs.values) for _, runs in places),
            )
        )
    return named


def _confirmed(places: Sequence[tuple[JudgedStratum, NodeRuns]], strata: Sequence[JudgedStratum]) -> bool:
    """Whether low values cannot have been one bad run: enough runs, or all conditions that share one cell."""
    if any(runs.slow for _, runs in places) or sum(len(runs.values) for _, runs in places) >= FEWEST_ALIKE:
        return True
    return len(places) > 1 and bool(_shared([stratum for stratum, _ in places], strata))


def _shared(places: Sequence[JudgedStratum], strata: Sequence[JudgedStratum]) -> tuple[tuple[str, str], ...]:
    """Labels that these conditions have, all of them, and no other condition."""
    labels = set.intersection(*(set(place.conditions) for place in places))
    texts = {place.text for place in places}
    return tuple(
        sorted(label for label in labels if {each.text for each in strata if label in each.conditions} == texts)
    )


def _where(places: Sequence[JudgedStratum], strata: Sequence[JudgedStratum]) -> tuple[str, ...]:
    """Conditions in few words: none if they are all, the cell that they share, else each of them."""
    if len(places) == len(strata):
        return ()
    if shared := _shared(places, strata):
        return (" ".join(shared[0]),)
    return tuple(place.text for place in places)


def _in_all(together: JudgedStratum | None, parts: Mapping[str, tuple[str, str]]) -> list[Named]:
    """Who is low in all conditions together; single low values are judged under their conditions."""
    if together is None:
        return []
    return [
        Named(
            subject=runs.node,
            node=parts[runs.node][0] if runs.node in parts else runs.node,
            verdict=node_verdict(runs),
            loss=runs.loss,
            where=(),
            runs=len(runs.values),
        )
        for runs in (*together.slow, *together.suspected)
    ]


def _slow_nodes(
    strata: Sequence[JudgedStratum], parts: Mapping[str, tuple[str, str]], effect: float, comparisons: int
) -> dict[str, Named]:
    """Nodes of which every part is low, beside other nodes: one loss of the node, not one of each part."""
    slow: dict[str, Named] = {}
    for stratum in strata:
        fleet: defaultdict[str, list[float]] = defaultdict(list)
        lowest: defaultdict[str, list[float]] = defaultdict(list)
        for runs in stratum.nodes:
            node = parts[runs.node][0] if runs.node in parts else runs.node
            fleet[node] += runs.values
            lowest[node].append(runs.loss)
        higher = stratum.higher_is_better
        of_nodes = judge_nodes(fleet, higher_is_better=higher, effect=effect, comparisons=comparisons)
        for runs in (*of_nodes.slow, *of_nodes.suspected):
            if min(lowest[runs.node]) < runs.loss / 2 or len(lowest[runs.node]) < 2:
                continue
            before = slow.get(runs.node)
            slow[runs.node] = Named(
                subject=runs.node, node=runs.node, verdict=node_verdict(runs), loss=runs.loss,
                where=(*(before.where if before else ()), *((stratum.text,) if stratum.text else ())),
                runs=len(runs.values),
            )  # fmt: skip
    return {
        node: msgspec.structs.replace(each, where=() if len(each.where) == len(strata) else each.where)
        for node, each in slow.items()
    }


def _nodes_or_parts(
    named: Sequence[Named], nodes: Mapping[str, Named], parts: Mapping[str, tuple[str, str]]
) -> list[Named]:
    """A node in place of its parts where all of them are low alike, or each of them is slow by itself."""
    every = Counter(node for node, _ in parts.values())
    slow: defaultdict[str, list[Named]] = defaultdict(list)
    for each in named:
        if each.subject in parts and each.verdict is Verdict.SLOW:
            slow[each.node].append(each)
    whole = {
        node: msgspec.structs.replace(group[0], subject=node, loss=sorted(each.loss for each in group)[len(group) // 2])
        for node, group in slow.items()
        if 1 < every[node] == len(group)
    }
    nodes = {**whole, **nodes}
    kept = [
        each
        for each in named
        if each.subject not in parts or each.node not in nodes or each.verdict is Verdict.UNSTABLE
        or math.log1p(-min(each.loss, 0.999)) < 2 * math.log1p(-min(nodes[each.node].loss, 0.999))
    ]  # fmt: skip
    return [*nodes.values(), *kept]


def _unique(named: Sequence[Named]) -> list[Named]:
    """The worst verdict on each subject; of equal ones the first, which says where."""
    best: dict[str, Named] = {}
    for each in named:
        before = best.get(each.subject)
        if before is None or GRAVEST.index(each.verdict) < GRAVEST.index(before.verdict):
            best[each.subject] = each
    return list(best.values())


def _verdict(
    strata: Sequence[JudgedStratum], named: Sequence[Named], detectable: float | None, effect: float
) -> Verdict:
    verdicts = {each.verdict for each in named}
    for verdict in GRAVEST:
        if verdict in verdicts:
            return verdict
    results = [stratum.result for stratum in strata]
    if not any(results):
        zero = any(stratum.all_zero for stratum in strata)
        return Verdict.INCONCLUSIVE if zero else Verdict.NOT_RUN
    if any(stratum.sense_needed or stratum.impossible or stratum.all_zero for stratum in strata):
        return Verdict.INCONCLUSIVE
    unclear = any(result is not None and (result.populations or not result.enough) for result in results)
    if unclear or detectable is None or detectable > HIDDEN_EFFECTS * effect:
        return Verdict.INCONCLUSIVE
    missing = any(stratum.missing or not stratum.result for stratum in strata)
    ahead = any(stratum.ahead for stratum in strata)
    return Verdict.NOT_RUN if missing else Verdict.NOTE if ahead else Verdict.PASS
