"""Which pairs a check measures: planned by the settings and what the nodes are, or taken from a recording."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from seatrial.archive.journal import RoundStarted, SurveyPlanned
from seatrial.archive.reader import read_entries, read_info
from seatrial.drift.peer_groups import one_kernel
from seatrial.model.errors import UsageError
from seatrial.model.fabric import Fabric, Wiring
from seatrial.model.facts import NodeFacts
from seatrial.model.measurement import Kernel, Phase, Round
from seatrial.model.settings import CheckSettings
from seatrial.pairs.rounds import Pair, circle_rounds
from seatrial.pairs.survey import BANDWIDTH, DesignChoice, SurveyPlan, plan_survey

SURVEY_SHARE = 0.7
"""Share of the budget; the rest is for the adaptive pairs and the retest."""
PILOT_PAIRS = 3
MOST_STARTS_AT_ONCE = 64
"""Starts of a program at the same time: each is a launcher of its own on this machine, and a step of Slurm's."""


def by_program(settings: CheckSettings) -> CheckSettings:
    """The settings, without what only the probe can do where a program measures; a replay is of what was recorded."""
    recorded = read_info(settings.replay) if settings.replay else None
    if recorded is not None and isinstance(recorded.settings, CheckSettings):
        settings = msgspec.structs.replace(settings, pair_program=recorded.settings.pair_program)
    if settings.pair_program is None:
        return settings
    return msgspec.structs.replace(settings, loaded=False, node_trials=False)


def survey_of(
    settings: CheckSettings,
    nodes: Sequence[str],
    facts: Mapping[str, NodeFacts],
    fabric: Wiring,
    *,
    window_s: float,
    seed: int,
) -> SurveyPlan:
    """The design and its rounds. A replay plays the rounds that were recorded, whatever they were chosen by."""
    recorded = recorded_survey(settings.replay) if settings.replay else None
    program = settings.pair_program is not None
    return recorded or plan_survey(
        nodes,
        pairs_at_once=settings.pairs_at_once or default_pairs_at_once(facts, nodes, program=program),
        window_s=window_s,
        budget_s=SURVEY_SHARE * settings.budget_s / len(settings.ranks_per_node or (1,)),
        seed=seed,
        choice=DesignChoice(settings.design),
        leaf_of=fabric.leaf_of,
        uplinks=1 if one_kernel(facts[node] for node in nodes if node in facts) else None,
        wiring=fabric,
        program=program,
    )


def recorded_survey(folder: Path) -> SurveyPlan | None:
    """The survey of a recorded run; None where the run does not say which design it followed."""
    design = read_info(folder).design
    entries = read_entries(folder)
    rounds = recorded_rounds(entries, Phase.SURVEY)
    if design is None or not rounds:
        return None
    begun = {pair for one in rounds if one.shape.kernel is Kernel.ONEWAY for pair in one.pairs}
    plans = [one for one in entries if isinstance(one, SurveyPlanned)]
    planned = dict.fromkeys(pair for one in plans for pair in one.pairs)
    never = [
        Round(phase=Phase.SURVEY, repetition=0, shape=BANDWIDTH, pairs=(one,)) for one in planned if one not in begun
    ]
    return SurveyPlan(design=design, rounds=(*rounds, *never), separate=any(one.separate for one in plans))


def recorded_rounds(entries: Iterable[object], phase: Phase) -> list[Round]:
    """The rounds of one phase of a recorded run, in order. `entries`: its journal."""
    return [one.round for one in entries if isinstance(one, RoundStarted) and one.round.phase is phase]


def pilot_pairs(plan: SurveyPlan, nodes: Sequence[str]) -> list[Pair]:
    """A few pairs of a survey, to find out how long a window takes."""
    if plan.design.name == "complete":
        return circle_rounds(nodes)[0][:PILOT_PAIRS]
    pairs = (pair for one in plan.rounds if one.shape.kernel is Kernel.ONEWAY for pair in one.pairs)
    found: dict[Pair, None] = {}
    while len(found) < PILOT_PAIRS and (pair := next(pairs, None)):
        found[pair] = None
    return list(found)


def check_design(settings: CheckSettings, fabric: Fabric, nodes: Sequence[str]) -> None:
    """Raises UsageError where the design cannot be had on these nodes."""
    leaves = {fabric.leaf_of.get(node, "") for node in nodes}
    if settings.design not in list(DesignChoice):
        raise UsageError(
            f"--design {settings.design!r} is not a valid design.", f"Choose one of {', '.join(DesignChoice)}."
        )
    if settings.design == DesignChoice.LEAF and not settings.replay and (len(leaves) < 2 or "" in leaves):
        raise UsageError(
            f"--design leaf needs at least two leaves and the leaf of every node ({fabric.source}).",
            "Use --design sparse, which needs no leaves.",
        )


def default_pairs_at_once(facts: Mapping[str, NodeFacts], nodes: Sequence[str], *, program: bool = False) -> int:
    """Half the nodes, so that all are busy; one pair where nodes share a kernel and would take each other's cores.

    `program`: each pair is a start of a program.
    """
    if one_kernel(facts[node] for node in nodes if node in facts):
        return 1
    return min(max(len(nodes) // 2, 1), MOST_STARTS_AT_ONCE if program else len(nodes))
