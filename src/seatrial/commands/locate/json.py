"""What a table of pairs shows, as JSON."""

from collections.abc import Sequence

from seatrial.locate.classes import Classes
from seatrial.model.pair_faults import Located, LocatedFault, Observation, Resolution, Undecided, Unstable
from seatrial.model.pair_table import PairTable
from seatrial.render.json_text import Json, finite, json_text


def located_as_json(
    table: PairTable, located: Located, groups: Sequence[Sequence[str]], classes: Classes | None, exit_code: int
) -> str:
    """One object: verdict, faults, ambiguous, unstable, observations, populations, classes, design, exit_code."""
    shown: Json = {
        "exit_code": exit_code,
        "verdict": located.verdict.value,
        "confidence": located.confidence,
        "faults": [_fault(fault) for fault in located.faults],
        "ambiguous": [_undecided(one) for one in located.ambiguous],
        "unstable": [_unstable(one) for one in located.unstable],
        "observations": [_observation(one) for one in located.observations],
        "populations": [
            {"metric": one.metric, "nodes": list(one.nodes), "ratio": one.ratio} for one in located.populations
        ],
        "classes": [
            {"nodes": list(group), "near_s": classes.near_s, "far_s": classes.far_s} for group in classes.groups
        ]
        if classes
        else [],
        "design": {
            "nodes": len(table.nodes),
            "groups": [list(group) for group in groups],
            "unjudged": [subject.text for subject in located.unjudged],
            "unlisted_pairs": located.unlisted_pairs,
            "unstable_pairs": located.unstable_pairs,
            "wrongly_left": located.wrongly_left,
            "metrics": [_resolution(one) for one in located.resolutions],
        },
    }
    return json_text(finite(shown))


def _fault(fault: LocatedFault) -> Json:
    return {
        "kind": fault.kind,
        "subject": fault.subject.text,
        "metric": fault.metric,
        "direction": fault.direction.value,
        "loss_ratio": fault.loss_ratio,
        "interval": [fault.low, fault.high],
        "p": fault.p,
        "dead": fault.dead,
        "pairs": fault.pairs,
        "evidence": list(fault.evidence),
    }


def _undecided(one: Undecided) -> Json:
    return {
        "subjects": [subject.text for subject in one.subjects],
        "metric": one.metric,
        "loss_ratio": one.loss_ratio,
        "evidence": list(one.evidence),
    }


def _unstable(one: Unstable) -> Json:
    return {
        "subject": one.subject.text,
        "metric": one.metric,
        "cause": one.cause.value,
        "loss_ratio": one.loss_ratio,
        "gross": one.gross,
        "pairs": one.pairs,
        "evidence": list(one.evidence),
    }


def _observation(one: Observation) -> Json:
    return {
        "subject": one.subject.text,
        "metric": one.metric,
        "direction": one.direction.value,
        "loss_ratio": one.loss_ratio,
        "interval": [one.low, one.high],
        "decided": one.decided,
    }


def _resolution(one: Resolution) -> Json:
    return {
        "metric": one.metric,
        "method": one.method.value,
        "measured_pairs": one.measured_pairs,
        "expected_pairs": one.expected_pairs,
        "complete": one.complete,
        "median": one.usual,
        "effect_ratio": one.effect_ratio,
        "pair_scatter": one.pair_scatter,
        "node_scatter": one.node_scatter,
        "detectable_ratio": one.detectable_ratio,
        "detectable_one_way_ratio": one.detectable_one_way_ratio,
        "hidden_ratio": one.hidden_ratio,
        "enough": one.enough,
        "majority": one.majority,
    }
