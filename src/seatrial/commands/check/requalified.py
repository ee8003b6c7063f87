"""The report of `seatrial requalify`: a check of the nodes, and what has become of each."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Literal

import msgspec

from seatrial.commands.check.headline import headline
from seatrial.commands.check.returning import BACK, faults_of, may_return, returning
from seatrial.commands.check.run import CheckOutcome
from seatrial.commands.check.view import check_report
from seatrial.judgement.standings import Judged
from seatrial.model.errors import ExitCode
from seatrial.model.run import PARTITION_WORD, RunInfo
from seatrial.model.subject import node
from seatrial.model.units import share
from seatrial.model.verdict import Verdict
from seatrial.model.words import count
from seatrial.render.finding_text import OUT, brief
from seatrial.render.report import Block, Case, Copy, Lines, Report, rows_table

VERDICTS: dict[bool | None, Literal["good", "bad", "unknown"]] = {True: "good", False: "bad", None: "unknown"}


class RequalifiedNode(msgspec.Struct, frozen=True, kw_only=True):
    """One node: whether it may serve, what has become of it, and why: in the words of the gate or its administrator."""

    node: str
    verdict: Literal["good", "bad", "unknown"]
    act: str
    reason: str


class RequalifyFields(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes of a requalification; docs/requalify.md describes each field."""

    nodes: tuple[RequalifiedNode, ...]


class ModeCount(msgspec.Struct, frozen=True, kw_only=True):
    """How often one node was requalified in one mode, and how often it had a fault then."""

    node: str
    mode: str
    """The active features of the node, separated by commas."""
    times: int
    failed: int


class RequalifyHistoryFields(msgspec.Struct, frozen=True, kw_only=True):
    """All requalifications of an archive; docs/requalify.md describes each field."""

    history: tuple[ModeCount, ...]


def decided(outcome: CheckOutcome) -> dict[str, str]:
    """The nodes on which the check decides, and what is wrong with each, in short; nothing with a good one."""
    judgement = outcome.judgement
    answers = {name: may_return(name, judgement) for name in returning(outcome.recorded.info)}
    return {
        name: "" if good else brief(next(iter(faults_of(name, judgement.findings))))
        for name, good in answers.items()
        if good is not None
    }


def requalified_report(
    outcome: CheckOutcome | None, acts: Mapping[str, str], answers: Mapping[str, str], kept: Mapping[str, str]
) -> Report:
    """`acts`: what has become of each measured node; `answers`: of the gate; `kept`: not measured, and why."""
    nodes = [RequalifiedNode(node=name, verdict="unknown", act="kept", reason=why) for name, why in kept.items()]
    rest = "; ".join(f"{name} kept: {why}" for name, why in kept.items())
    if outcome is None:
        word, sentence = (Verdict.NOT_RUN, rest) if kept else (Verdict.PASS, "no node waits to be requalified")
        return Report(
            word=word.value,
            sentence=sentence,
            exit_code=ExitCode.INCOMPLETE if kept else ExitCode.PASS,
            payload=lambda: RequalifyFields(nodes=tuple(nodes)),
            cases=tuple(Case(name=node(one).text, verdict=word, reason=why) for one, why in kept.items()),
        )
    info, judgement = outcome.recorded.info, outcome.judgement
    for name in returning(info):
        verdict = VERDICTS[may_return(name, judgement)]
        nodes.append(RequalifiedNode(node=name, verdict=verdict, act=acts.get(name, ""), reason=answers.get(name, "")))
    report = check_report(info, judgement, outcome.recorded.facts)

    def terminal(width: int) -> Iterator[Block]:
        """The gate has acted in place of the lines to paste."""
        yield Lines(rows=tuple(("gate", f"{name}: {words}") for name, words in answers.items()))
        for block in report.terminal(width):
            if not (answers and isinstance(block, Copy) and block.title in (BACK, OUT)):
                yield block

    return msgspec.structs.replace(
        report,
        sentence="; ".join(filter(None, (headline(info, judgement, acts).what, rest))),
        kind="requalify",
        payload=lambda: RequalifyFields(nodes=tuple(nodes)),
        terminal=terminal,
    )


def history_report(runs: Iterable[tuple[RunInfo, Judged]], names: Collection[str]) -> Report:
    """The share of requalifications with a fault, by node and mode, the worst first. `names`: none for all nodes."""
    counts: Counter[tuple[str, str]] = Counter()
    failed: Counter[tuple[str, str]] = Counter()
    for info, judged in runs:
        faulty = {standing.node for standing in judged.nodes if standing.faults}
        for name in returning(info):
            words = [word for word in info.features.get(name, ()) if not word.startswith(PARTITION_WORD)]
            if not names or name in names:
                counts[name, ",".join(words)] += 1
                failed[name, ",".join(words)] += name in faulty
    rows = [ModeCount(node=key[0], mode=key[1], times=times, failed=failed[key]) for key, times in counts.items()]
    rows.sort(key=lambda row: (-row.failed / row.times, row.node, row.mode))
    cells = [(row.node, row.mode, str(row.times), str(row.failed), share(row.failed / row.times)) for row in rows]
    total = sum(counts.values())
    return Report(
        sentence=f"{failed.total()} of {count(total, 'requalification')} of nodes failed",
        answers=True,
        kind="requalify-history",
        payload=lambda: RequalifyHistoryFields(history=tuple(rows)),
        terminal=lambda _: (rows_table(("node", "mode", "#times", "#failed", "#share"), cells),),
    )
