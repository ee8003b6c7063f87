"""Clocks under load and what memory permits, said in words, for a node without peers too."""

import re

import msgspec
import pytest

from seatrial.commands.nodes.judge import judge_nodes
from seatrial.judgement.nodes.limits import QUANTUM_CYCLES, clock_text, limits_of, memory_text, without_turbo
from seatrial.judgement.nodes.trials import judge_trials, trial_notes
from seatrial.model.facts import NodeFacts
from seatrial.model.measurement import Estimate
from seatrial.model.node_trials import Measure, NodeFigures, Noise
from seatrial.model.settings import Trial
from tests.support.limits_examples import intel
from tests.support.node_series import GOOD, recorded


def estimate(value: float) -> Estimate:
    return Estimate(value=value, low=value, high=value, confidence=0.0, runs=3, method="")


def figures(*core_hz: float, triad: float = 100e9, one_core: float = 11e9) -> NodeFigures:
    """28 cores that do their work at these clocks."""
    quanta = {f"n1:{rank}": QUANTUM_CYCLES / hertz for rank, hertz in enumerate(core_hz)}
    noise = Noise(quantum_s=min(quanta.values()), quanta=9, fraction=0.0, worst_fraction=0.0, worst_place="n1:0",
                  largest_s=0.0, core_quantum_s=quanta)  # fmt: skip
    values = {Measure.TRIAD: estimate(triad), Measure.CORE_TRIAD: estimate(one_core)}
    return NodeFigures(node="n1", values=values, noise=noise)


FACTS = intel("n1", "Intel(R) Xeon(R) CPU E5-2690 v4 @ 2.60GHz", 79, cores=28, sockets=2)


def facts_with(base_hz: float = 2.6e9, most_hz: float = 3.5e9) -> NodeFacts:
    processor = msgspec.structs.replace(FACTS.processor, base_hz=base_hz, hardware_maximum_hz=(most_hz,))
    return msgspec.structs.replace(FACTS, processor=processor)


def test_the_clock_of_all_cores_beside_the_table() -> None:
    limits = limits_of(figures(3.2e9, 3.0e9), facts_with(), 28)
    assert clock_text(limits) == "3.00 to 3.20 GHz on all cores at once (base 2.60 GHz, one core at most 3.50 GHz)"
    assert set(limits.core_hz) == {"n1:0", "n1:1"}
    assert not without_turbo(limits)


def test_a_node_that_never_leaves_its_base_frequency() -> None:
    assert without_turbo(limits_of(figures(2.6e9, 2.59e9), facts_with(), 28))
    assert not without_turbo(limits_of(figures(2.6e9), facts_with(most_hz=2.65e9), 28))


@pytest.mark.parametrize(
    ("one_core", "said"),
    [(11e9, "memory is full with 10 of 28 cores"), (4e9, "memory is full with 25 of 28 cores"), (3.7e9, "")],
)
def test_how_many_cores_fill_the_memory(one_core: float, said: str) -> None:
    assert memory_text(limits_of(figures(3.0e9, one_core=one_core), facts_with(), 28)) == said


def test_the_first_line_of_a_node_without_peers_says_what_it_is_limited_by() -> None:
    run = recorded({"n1": GOOD}, trials=(Trial.MEMORY, Trial.NOISE))
    reason = judge_nodes(run).reason
    assert "1 node measured" in reason
    limits = judge_trials(run.group_measurements, run.facts).limits["n1"]
    assert (" on all cores" in reason.partition("; ")[0]) == bool(limits.core_hz)
    assert not [note for note in trial_notes(judge_trials(run.group_measurements, run.facts), {}) if "No turbo" in note]


def test_the_first_line_of_a_trial_of_clocks_has_the_clock_of_all_cores() -> None:
    of_clocks = judge_nodes(recorded(dict.fromkeys(("n1", "n2", "n3"), GOOD), trials=(Trial.NOISE,)))
    assert not any(limits.core_hz for limits in of_clocks.trials.limits.values())
    assert "GHz" not in of_clocks.reason
    known = {name: intel(name, FACTS.cpu_model, 79, cores=4) for name in ("n1", "n2", "n3")}
    of_clocks = judge_nodes(recorded(dict.fromkeys(known, GOOD), node_facts=known, trials=(Trial.NOISE,)))
    assert re.match(r"(3\.00 to )?3\.0\d GHz on all cores; 3 nodes measured, 3 compared", of_clocks.reason)
    whole = judge_nodes(recorded(dict.fromkeys(known, GOOD), node_facts=known))
    assert "GHz" not in whole.reason
