"""The stage of a check in which many nodes send at once, so that uplinks show what they carry."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from seatrial.archive.reader import read_entries
from seatrial.commands.check.assessment import Assessment, on_one_machine
from seatrial.commands.check.leaf_comparison import MOST_SUSPECTS, control_leaves, may_hide
from seatrial.commands.check.leaf_loads import FEWEST_FLOWS, WAYS, Key, NodeRates, each_apart, node_rates
from seatrial.commands.check.loaded_scene import LoadState, scene_of
from seatrial.commands.check.survey_plan import recorded_rounds
from seatrial.commands.check.suspects import left_out
from seatrial.drift.peer_groups import one_kernel
from seatrial.driver.clock import monotonic_s
from seatrial.driver.measurer import Measurer
from seatrial.driver.progress import Progress
from seatrial.experiment.controls import RETEST_RUNS
from seatrial.judgement.corrupt_data import corruption_suspects
from seatrial.locate.evidence import MeasuredPair, Pair
from seatrial.locate.explanation import nodes_of
from seatrial.locate.thresholds import EFFECT
from seatrial.model import units
from seatrial.model.measurement import Phase, Round
from seatrial.model.run import RecordedRun
from seatrial.model.words import count
from seatrial.pairs.leaf_matchings import cables_known, on_two_levels
from seatrial.pairs.load_rounds import (
    EACH_ALONE,
    Leaves,
    again_rounds,
    first_rounds,
    in_blocks,
    leaves_of,
    load_shape,
)
from seatrial.pairs.survey import BANDWIDTH, thinned

SHARE = 0.2
"""Share of the rounds and of the time of the survey that the first rounds under load may take."""
LEAST_S = 10.0
"""The time that the first rounds under load may take if the survey was short."""
ONE_KERNEL_BYTES_PER_S = 0.5e9
"""All pairs of nodes that share a kernel must stay below this together, or its cores may be the bottleneck. On 2 cores,
4 streams of 117 MB/s over trunks of half that together carried 50 % of it, as they should; more was not tried."""

MOST_STEPS = 3
"""How often leaves that carry less are chosen and measured again."""
SECOND_LOOKS = 2
"""The second time for leaves that others were compared with, and that are slow by this."""
MOST_LEAVES = 64
"""Leaves that are measured one by one, if they differ; more would take minutes."""
OTHER_PARTNERS = 2
"""More runs of each, with other partners, where many are slow then: streams may meet inside the fabric."""
FEW_LEAVES = 8
"""Up to here, uplinks that limit their nodes are measured one by one: of a good one most partners may be slow."""


def measure_loaded(
    measurer: Measurer,
    progress: Progress,
    recorded: RecordedRun,
    assessment: Assessment,
    *,
    replay: Path | None,
    survey_s: float,
    deadline: float,
) -> bool:
    """First rounds; then, of leaves that carry less than others, `RETEST_RUNS` more beside others.

    Nodes that are known to be at fault, and nodes behind an uplink that is, stay out. `replay`: the recorded run that
    is played, whose rounds are repeated whatever they were chosen by. `survey_s`: how long the survey took.
    `deadline`: by monotonic_s. False where it came before all leaves that carry less were measured again.
    """
    if replay is not None:
        return measurer.run(recorded_rounds(read_entries(replay), Phase.LOADED), deadline)
    evidence, _, suspicion = assessment
    stage = _Stage(measurer, progress, recorded, deadline)
    hung = {name for pair in measurer.hung for name in pair}
    corrupting = {name for one in corruption_suspects(recorded.measurements, recorded.fabric) for name in nodes_of(one)}
    rounds = stage.first(left_out(suspicion, recorded.fabric) | hung | corrupting)
    if not rounds:
        return True
    if why := stage.too_much(rounds):
        measurer.remarks.append(why)
        return True
    most = max(map(len, rounds))
    progress.stage(f"Measuring {count(len(measurer.nodes), 'node')} under load, up to {most} pairs at once")
    stage.run(rounds, min(deadline, monotonic_s() + max(SHARE * survey_s, LEAST_S)))
    return stage.again(evidence)


class _Stage:
    """Rounds under load in one check, numbered one after the other."""

    def __init__(self, measurer: Measurer, progress: Progress, recorded: RecordedRun, deadline: float) -> None:
        self._measurer = measurer
        self._progress = progress
        self._recorded = recorded
        self._deadline = deadline
        self._leaves = Leaves()
        self._shape = load_shape(measurer.window_s)
        self._number = 0
        self._effect = recorded.info.effect or EFFECT

    def first(self, without: set[str]) -> list[list[Pair]]:
        """The pairs of the first rounds."""
        nodes = [node for node in self._measurer.nodes if node not in without]
        self._leaves = leaves_of(nodes, self._recorded.fabric.leaf_of)
        if on_one_machine(self._recorded.facts):
            return []
        if len(self._leaves) > 1:
            nodes = [node for members in self._leaves.values() for node in members]
        design = self._recorded.info.design
        light = design is not None and design.pairs_at_once > 1
        seed, survey = self._recorded.info.seed, design.rounds if design is not None else 0
        blocks = in_blocks(self._leaves) and self._may_have_two_levels()
        rounds = first_rounds(self._leaves, nodes, seed, light=light, blocks=blocks)
        if len(rounds) > SHARE * survey:
            rounds = first_rounds(self._leaves, nodes, seed, light=light, times=1, blocks=blocks)
        self._shape = thinned(self._shape, sum(map(len, rounds)))
        return rounds

    def _may_have_two_levels(self) -> bool:
        """Whether the fabric has two levels, or its cables are not known."""
        fabric = self._recorded.fabric
        first = [members[0] for members in self._leaves.values()]
        return on_two_levels(self._leaves, fabric) or not cables_known(list(pairwise(first)), fabric)

    def too_much(self, rounds: Sequence[Sequence[Pair]]) -> str:
        """Why rounds under load would say nothing here; empty where they would."""
        if not one_kernel(self._recorded.facts.values()):
            return ""
        window_bytes = BANDWIDTH.message_bytes * BANDWIDTH.window
        most = max(map(len, rounds)) * window_bytes / max(self._measurer.window_s, 1e-9)
        if most <= ONE_KERNEL_BYTES_PER_S:
            return ""
        return (
            f"No rounds under load were measured: these nodes share a kernel, and {units.bandwidth(most)} at once "
            "would load its cores rather than the links."
        )

    def run(self, rounds: Sequence[Sequence[Pair]], deadline: float) -> bool:
        """Measure them; False where `deadline` came first."""
        made = []
        for pairs in rounds:
            made.append(Round(phase=Phase.LOADED, repetition=self._number, shape=self._shape, pairs=tuple(pairs)))
            self._number += 1
        self._progress.rounds(len(made))
        return self._measurer.run(made, deadline)

    def again(self, evidence: Mapping[Pair, MeasuredPair]) -> bool:
        """Leaves that carried less than others, each alone under load, alternating with others.

        Before, each leaf alone, where a slow one may hide among others. Then those that come next, until all were
        measured. Then once more what was or may be slow: traffic of other jobs that shares an uplink pauses sooner or
        later, and a fault does not; and streams that meet inside the fabric do so with the same partners. False where
        the time was over first.
        """
        tried: list[Key] = []
        of_node = node_rates(evidence)
        if not self._one_by_one(of_node):
            return False
        for step in range(MOST_STEPS):
            scene = self._seen(of_node)
            chosen = [key for key in scene.low if key not in tried][:MOST_SUSPECTS]
            if not chosen:
                break
            tried += chosen
            if not self._look(chosen, scene, step):
                return False
        for step in range(MOST_STEPS, MOST_STEPS + SECOND_LOOKS):
            scene = self._seen(of_node)
            again = sorted(leaf.latest.key for leaf in scene.looks(self._effect) if leaf.wanted)
            if again and not self._look(again, scene, step):
                return False
        return True

    def _seen(self, of_node: NodeRates) -> LoadState:
        """All that is known by now."""
        return scene_of(self._measurer.measurements, of_node, self._recorded.fabric.leaf_of, self._effect)

    def _one_by_one(self, of_node: NodeRates) -> bool:
        """Each leaf alone under load, if it is needed. False where the time was over first."""
        scene = self._seen(of_node)
        few_limited = len(self._leaves) <= FEW_LEAVES and scene.left < 1 - self._effect
        needed = few_limited or may_hide(scene.of_peers, scene.lack)
        if each_apart(scene.found) or not needed or len(self._leaves) > MOST_LEAVES:
            return True
        keys = [(leaf, way) for leaf, nodes in self._leaves.items() if len(nodes) >= FEWEST_FLOWS for way in WAYS]
        self._progress.stage(f"Measuring {count(len(self._leaves), 'uplink')} one by one, since they differ under load")
        if not self._repeat(keys, 1, MOST_STEPS + SECOND_LOOKS):
            return False
        many = len(self._seen(of_node).doubted) > MOST_SUSPECTS
        return not many or self._repeat(keys, OTHER_PARTNERS, MOST_STEPS + SECOND_LOOKS + 1, first=1)

    def _look(self, chosen: Sequence[Key], scene: LoadState, step: int) -> bool:
        """`RETEST_RUNS` runs of each of these leaves and of others. False where the time was over first."""
        keys = [*chosen, *control_leaves(chosen, scene.of_peers, scene.offered, scene.doubted)]
        names = ", ".join(dict.fromkeys(leaf for leaf, _ in chosen))
        self._progress.stage(f"Measuring the uplinks of {names} again under load, alternating with others")
        return self._repeat(keys, RETEST_RUNS, step)

    def _repeat(self, keys: Sequence[Key], times: int, step: int, first: int = 0) -> bool:
        """Each of these leaves alone under load; `first`: see `again_rounds`."""
        seed = self._recorded.info.seed + step
        blocks = len(self._leaves) > EACH_ALONE
        rounds = again_rounds(self._leaves, keys, times, seed, blocks=blocks, first=first)
        return self.run(rounds, self._deadline)
