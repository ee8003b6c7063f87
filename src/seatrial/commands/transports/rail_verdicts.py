"""The ablation for each rail apart: every rail's own verdict, and one over all."""

from collections.abc import Sequence

import msgspec

from seatrial.commands.transports.judge import Ablated, Transports, judge_transports
from seatrial.judgement.outcome import pair_of
from seatrial.judgement.rank_deaths import run_notes
from seatrial.model.run import RecordedRun
from seatrial.model.transport import VariantNote
from seatrial.model.verdict import Finding, worst


class TransportsByRail(Ablated, frozen=True, kw_only=True):
    """All that is derived from one run over several rails, each alone; its verdict is the gravest of theirs."""

    rails: tuple[Transports, ...]


def judge_run(recorded: RecordedRun, notes: Sequence[VariantNote]) -> Transports | TransportsByRail:
    """A run of either kind, as its notes show."""
    rails = tuple(dict.fromkeys(note.variant.rail for note in notes if note.variant.rail))
    if not rails:
        return judge_transports(recorded, notes)
    why = recorded.info.reason
    silent = msgspec.structs.replace(recorded, info=msgspec.structs.replace(recorded.info, reason=""), losses=())
    found = tuple(judge_transports(silent, notes, rail) for rail in rails)
    told = "; ".join(f"{one.rail}: {_briefly(one)}" for one in found)
    return TransportsByRail(
        pair=pair_of(recorded),
        rails=found,
        verdict=worst([one.verdict for one in found]),
        reason=f"{told}. {why}" if why and any(not one.complete for one in found) else told,
        findings=_once([finding for one in found for finding in one.findings]),
        notes=run_notes(recorded),
        complete=all(one.complete for one in found),
    )


def _briefly(one: Transports) -> str:
    return f"{one.carried_by} carried the data" if one.carried_by else one.reason


def _once(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """A missing driver is missing on every rail."""
    return tuple(one for place, one in enumerate(findings) if one not in findings[:place])
