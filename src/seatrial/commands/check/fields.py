"""The JSON fields of a check's report; docs/report.md describes each of them."""

from collections.abc import Mapping

from seatrial.commands.check.headline import machine
from seatrial.commands.check.ticket import ticket
from seatrial.model.facts import NodeFacts
from seatrial.model.judgement import Before, Judgement, Loaded, NodeVerdict, PairVerdict, Power
from seatrial.model.limit import Limit
from seatrial.model.own_job import OwnJob
from seatrial.model.run import Design, NodeState, RunInfo
from seatrial.render.fields import estimate_fields, past_fields
from seatrial.render.json import Json, finite, number
from seatrial.render.node_trials import trial_fields


def check_fields(run: RunInfo, judgement: Judgement, facts: Mapping[str, NodeFacts]) -> Json:
    """The JSON value, in base units; a number that is not finite is None."""
    design = judgement.design or run.design
    return {
        "complete": judgement.complete,
        "damage": list(judgement.damage),
        "launcher": run.launcher,
        "nodes": [_node(node) for node in judgement.nodes],
        "pairs": [_pair(pair) for pair in judgement.pairs],
        "median_bandwidth_bytes_per_s": number(judgement.median_bandwidth_bytes_per_s),
        "median_latency_s": number(judgement.median_latency_s),
        "peers_bandwidth_bytes_per_s": number(judgement.peers_bandwidth_bytes_per_s),
        "peers_latency_s": number(judgement.peers_latency_s),
        "powers": [_power(power) for power in judgement.powers],
        "thresholds": [
            {"metric": one.metric, "value": number(one.value), "text": one.text} for one in judgement.thresholds
        ],
        "populations": [
            {"metric": one.metric, "nodes": list(one.nodes), "ratio": number(one.ratio)}
            for one in judgement.populations
        ],
        "withheld": [{"doubt": one.doubt.value, "subjects": list(one.subjects)} for one in judgement.withheld],
        "compared": finite(judgement.compared) if judgement.compared else None,
        "loaded": _loaded(judgement.loaded),
        "trials": trial_fields(judgement.trials) if judgement.trials else None,
        "own_job": _own_job(run, run.own_job, judgement, facts) if run.own_job else None,
        "before": [_before(before) for before in judgement.before],
        "past": past_fields(run.past, judgement.past),
        "notes": list(judgement.notes),
        "lost": [_lost(state) for state in judgement.lost or run.lost],
        "design": _design(design) if design else None,
    }


def _own_job(run: RunInfo, own: OwnJob, judgement: Judgement, facts: Mapping[str, NodeFacts]) -> Json:
    return {
        "job": own.job,
        "machine": machine(judgement).name.lower(),
        "steps": [one.text for one in own.steps],
        "ranks_of": own.line,
        "ranks": [{"rank": one.rank, "node": one.node, "cpus": list(one.cpus)} for one in own.ranks],
        "variables": own.variables,
        "ticket": list(ticket(run, own, judgement, facts)),
    }


def _before(before: Before) -> Json:
    return {
        "node": before.node,
        "runs": list(before.runs),
        "out_ratio": number(before.out_ratio),
        "in_ratio": number(before.in_ratio),
        "latency_s": number(before.latency_s),
        "most_latency_s": number(before.most_latency_s),
    }


def _power(power: Power) -> Json:
    return {
        "metric": power.metric,
        "effect_ratio": number(power.effect_ratio),
        "scatter_ratio": number(power.scatter_ratio),
        "detectable_ratio": number(power.detectable_ratio),
        "enough": power.enough,
    }


def _node(node: NodeVerdict) -> Json:
    return {
        "node": node.node,
        "leaf": node.leaf,
        "verdict": node.verdict.value,
        "reason": node.reason,
        "best_out_bytes_per_s": number(node.best_out_bytes_per_s),
        "best_in_bytes_per_s": number(node.best_in_bytes_per_s),
        "best_latency_s": number(node.best_latency_s),
    }


def _pair(pair: PairVerdict) -> Json:
    limit: Limit | None = pair.limit
    return {
        "source": pair.source,
        "target": pair.target,
        "verdict": pair.verdict.value,
        "bandwidth_verdict": pair.bandwidth_verdict.value if pair.bandwidth_verdict else None,
        "latency_verdict": pair.latency_verdict.value if pair.latency_verdict else None,
        "reason": pair.reason,
        "bandwidth_bytes_per_s": estimate_fields(pair.bandwidth_bytes_per_s),
        "latency_s": estimate_fields(pair.latency_s),
        "limit_bytes_per_s": number(limit.limit_bytes_per_s) if limit else None,
        "limit_binding": limit.binding if limit else None,
        "of_limit": number(pair.of_limit),
        "retested": pair.retested,
    }


def _lost(state: NodeState) -> Json:
    return {
        "node": state.node,
        "reason": state.reason,
        "fault": state.fault,
        "rank_died": state.rank_died,
        "cause": state.cause.value,
    }


def _design(design: Design) -> Json:
    return {
        "name": design.name,
        "pairs_at_once": design.pairs_at_once,
        "repetitions": design.repetitions,
        "rounds": design.rounds,
        "ordered_pairs": design.ordered_pairs,
        "planned_pairs": design.planned_pairs,
        "measured_pairs": design.measured_pairs,
        "measured": design.measured,
        "statement": design.statement,
        "variants": list(design.variants),
    }


def _loaded(loaded: Loaded | None) -> Json | None:
    if loaded is None:
        return None
    fields: Json = finite(loaded)
    for entry, one in zip(fields["leaves"], loaded.leaves, strict=True):
        entry["share"] = number(one.share)
    return fields
