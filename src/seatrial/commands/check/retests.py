"""Suspects measured again alone, and the pairs that distinguish them: what decides on every finding of a number."""

from collections.abc import Callable, Sequence
from typing import Protocol

from seatrial.commands.check.assessment import Assessor
from seatrial.commands.check.next_experiments import OF_STARTS, USUAL_SIZE, cables_seen_once, plan_retest
from seatrial.commands.check.require_retest import due, not_seen
from seatrial.commands.check.suspects import Suspicion
from seatrial.driver.measurer import Measurer
from seatrial.driver.progress import Progress
from seatrial.locate.explanation import PartSuspect
from seatrial.model.fabric import Wiring
from seatrial.model.measurement import Phase, Round, Shape
from seatrial.model.run import RecordedRun
from seatrial.model.words import count
from seatrial.pairs.survey import LATENCY, PROGRAM

NEXT_STEPS = 3
"""How often pairs are chosen from the results of the last ones."""
MORE_WAVES = 3
"""How often parts are measured again for which one retest had no room."""
MORE_LOOKS = 2
"""How often a part is measured again whose runs lie on both sides of the line, or beside other jobs' traffic."""


class Growing(Protocol):
    """A check in progress, as far as the stages after the survey need it."""

    measurer: Measurer
    assessor: Assessor
    progress: Progress

    @property
    def shape(self) -> Shape:
        """How bandwidth is measured in a round."""

    @property
    def seed(self) -> int:
        """The seed of the order of the pairs."""

    @property
    def wiring(self) -> Wiring | None:
        """Cables, where they are known."""

    def recorded(self) -> RecordedRun:
        """What was measured until now."""


def distinguish(
    check: Growing,
    choose: Callable[..., list[tuple[str, str]]],
    shape: Shape,
    deadline: float,
    phase: Phase = Phase.NEXT,
) -> int:
    """Measure pairs that distinguish suspects, each once and alone, while there are any; returns how many."""
    asked: list[tuple[str, str]] = []
    for step in range(NEXT_STEPS):
        evidence, references, suspicion = check.assessor.assess(check.recorded())
        seed = check.seed + step
        pairs = choose(evidence, references.fabric, suspicion, _open_nodes(check), asked=asked, seed=seed)
        if not pairs:
            break
        asked += pairs
        check.progress.stage(f"Measuring {count(len(pairs), 'pair')} alone to distinguish suspects")
        check.progress.rounds(len(pairs))
        rounds = [Round(phase=phase, repetition=step, shape=shape, pairs=(pair,)) for pair in pairs]
        if not check.measurer.run(rounds, deadline):
            break
    return len(asked)


def _open_nodes(check: Growing) -> tuple[str, ...]:
    """Nodes that answer and have no pair that hangs."""
    hung = {name for pair in check.measurer.hung for name in pair}
    return tuple(node for node in check.measurer.nodes if node not in hung)


def retest(check: Growing, deadline: float, *, latency: bool = False) -> bool:
    """A few pairs of every suspect; then, of suspects that this refuted, pairs that may be bad by themselves.

    Suspects that were measured again before are left out, unless the last look gave them bad pairs. `latency`: also
    where only bandwidth is suspected, since it shows packet loss. Returns False where the deadline came first.
    """
    evidence, _, first = check.assessor.assess(check.recorded())
    suspects = due(evidence, first)
    if not suspects:
        return True
    bandwidth = bool(first.slow or first.unstable or first.too_fast)
    in_time = _measure_again(check, suspects, first, bandwidth, latency or bool(first.late or first.lossy), deadline)
    _, _, then = check.assessor.assess(check.recorded())
    if then.unproved:
        rates, lates = (any(one.refuted for one in judged.values()) for judged in (then.bandwidth, then.latency))
        in_time = _measure_again(check, then.unproved, then, rates, lates, deadline) and in_time
    for _ in range(MORE_WAVES):
        evidence, _, then = check.assessor.assess(check.recorded())
        unseen = not_seen(evidence, then)
        if not unseen or not in_time:
            break
        in_time = _measure_again(check, unseen, then, True, False, deadline)
    for _ in range(MORE_LOOKS):
        evidence, _, then = check.assessor.assess(check.recorded())
        doubtful = (*then.open, *cables_seen_once(evidence, then))
        if not doubtful or not in_time:
            break
        in_time = _measure_again(check, doubtful, then, True, False, deadline)
    return in_time


def retest_late(check: Growing, deadline: float) -> bool:
    """Once more those that the last pairs left late or lossy: one measurement alone is not proof."""
    _, _, suspicion = check.assessor.assess(check.recorded())
    suspects = (*suspicion.late, *suspicion.lossy)
    return not suspects or _measure_again(check, suspects, suspicion, False, True, deadline)


def _measure_again(
    check: Growing,
    suspects: Sequence[PartSuspect],
    suspicion: Suspicion,
    bandwidth: bool,
    latency: bool,
    deadline: float,
) -> bool:
    program = check.shape == PROGRAM
    shapes = [check.shape] if bandwidth else []
    shapes += [LATENCY] if latency and not program else []
    size = OF_STARTS if program else USUAL_SIZE
    leaf_of = check.wiring.leaf_of if check.wiring is not None else None
    clear = [*suspicion.clear(), *suspicion.quiet()]
    rounds = plan_retest(suspects, suspicion.good(), shapes, check.seed, clear=clear, leaf_of=leaf_of, size=size)
    check.progress.stage(f"Measuring {len({one.pairs for one in rounds})} suspect and control pairs again, alone")
    check.progress.rounds(len(rounds))
    return check.measurer.run(rounds, deadline)
