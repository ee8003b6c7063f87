"""The report of `seatrial requalify`: a check of the nodes, and what has become of each."""

from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec

from seatrial.commands.check.headline import headline
from seatrial.commands.check.returning import BACK, may_return, returning
from seatrial.commands.check.run import CheckOutcome
from seatrial.commands.check.view import check_report
from seatrial.model.errors import ExitCode
from seatrial.model.subject import node
from seatrial.model.verdict import Verdict
from seatrial.render.out_of_service import OUT
from seatrial.render.report import Block, Case, Copy, Lines, Report

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
        if answers:
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
