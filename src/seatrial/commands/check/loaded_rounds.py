"""The stage of a check in which many nodes send at once, so that uplinks show what they carry."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from seatrial.archive.journal import RoundStarted
from seatrial.archive.reader import read_entries
from seatrial.commands.check.assessment import Assessment, on_one_machine
from seatrial.commands.check.leaf_comparison import EFFECT, confirmed, control_leaves, lacks, slow_leaves
from seatrial.commands.check.leaf_loads import Key, NodeRates, node_rates
from seatrial.commands.check.suspects import Suspicion
from seatrial.commands.check.uplink_verdicts import Scene, scene_of
from seatrial.drift.peer_groups import one_kernel
from seatrial.driver.clock import monotonic_s
from seatrial.driver.measurer import Measurer
from seatrial.driver.progress import Progress
from seatrial.judgement.corrupt_data import corruption_suspects
from seatrial.locate.evidence import Evidence, Pair
from seatrial.locate.explanation import nodes_of
from seatrial.locate.thresholds import RETEST_RUNS
from seatrial.model import units
from seatrial.model.fabric import Wiring
from seatrial.model.measurement import Phase, Round
from seatrial.model.run import RecordedRun
from seatrial.model.subject import SubjectKind
from seatrial.model.words import count
from seatrial.pairs.load_rounds import again_rounds, first_rounds, in_blocks, leaves_of, load_shape
from seatrial.pairs.separate_rounds import cables_known, on_two_levels
from seatrial.pairs.survey import BANDWIDTH, thinned

SHARE = 0.2
"""Of the rounds and of the time of the survey: what the first rounds under load may take ..."""
LEAST_S = 10.0
"""... or this long, where the survey was short."""
ONE_KERNEL_BYTES_PER_S = 0.5e9
"""Where nodes share a kernel, all pairs together must stay below this, or its cores may be the bottleneck. On 2 cores,
4 streams of 117 MB/s over trunks of half that together carried 50 % of it, as they should; more was not tried."""

MOST_STEPS = 3
"""How often leaves that carry less are chosen and measured again."""


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
        return measurer.run(recorded_rounds(replay), deadline)
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


def left_out(suspicion: Suspicion, fabric: Wiring) -> set[str]:
    """Nodes whose links are known to be at fault, and all nodes of leaves of whose uplinks one is."""
    nodes: set[str] = set()
    leaves: set[str] = set()
    for suspect in (*suspicion.slow, *suspicion.unstable, *suspicion.busy, *suspicion.lossy):
        for subject in (suspect.subject, *suspect.ambiguous_with):
            if subject.kind is SubjectKind.NODE:
                nodes.add(subject.name)
            elif subject.kind is SubjectKind.UPLINK:
                leaves.add(subject.name)
            elif subject.kind is SubjectKind.LINK:
                leaves |= {leaf for pair in suspect.pairs for leaf in _leaves_at(subject.name, pair, fabric)}
    return nodes | {node for node, leaf in fabric.leaf_of.items() if leaf in leaves}


def _leaves_at(cable: str, pair: Pair, fabric: Wiring) -> list[str]:
    """Leaves of the pair to whose switch the cable is plugged."""
    cables = [part.name for part in fabric.path(*pair) if part.kind == SubjectKind.LINK]
    ends = ((pair[0], cables[:1]), (pair[1], cables[-1:]))
    return [fabric.leaf_of[node] for node, nearest in ends if cable in nearest and node in fabric.leaf_of]


class _Stage:
    """Rounds under load in one check, numbered one after the other."""

    def __init__(self, measurer: Measurer, progress: Progress, recorded: RecordedRun, deadline: float) -> None:
        self._measurer = measurer
        self._progress = progress
        self._recorded = recorded
        self._deadline = deadline
        self._leaves: dict[str, list[str]] = {}
        self._shape = load_shape(measurer.window_s)
        self._number = 0
        self._blocks = False
        """Whether each leaf has two partners at a time."""

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
        self._blocks = in_blocks(self._leaves) and self._may_have_two_levels()
        rounds = first_rounds(self._leaves, nodes, seed, light=light, blocks=self._blocks)
        if len(rounds) > SHARE * survey:
            rounds = first_rounds(self._leaves, nodes, seed, light=light, times=1, blocks=self._blocks)
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

    def again(self, evidence: Mapping[Pair, Evidence]) -> bool:
        """Leaves that carried less than others, each alone under load, alternating with others.

        Where all of these are slow, those that come next. Then once more what was slow: traffic of other jobs that
        shares an uplink pauses sooner or later, and a fault does not. False where the time was over first.
        """
        known: list[Key] = []
        of_node = node_rates(evidence)
        for step in range(MOST_STEPS + 1):
            scene, lack, slow = self._seen(of_node)
            chosen = slow_leaves(scene.of_peers, lack, known)
            if step == MOST_STEPS or not chosen or not slow.issuperset(known):
                break
            known += chosen
            if not self._look(chosen, scene, slow, step):
                return False
        return not slow or self._look(sorted(slow), scene, slow, MOST_STEPS)

    def _seen(self, of_node: NodeRates) -> tuple[Scene, dict[Key, float], set[Key]]:
        """All that is known by now, what each leaf may lack, and the leaves that are slow for certain."""
        scene = scene_of(self._measurer.measurements, of_node, self._recorded.fabric.leaf_of)
        effect = self._recorded.info.effect or EFFECT
        lack = lacks(scene.of_peers, effect)
        return scene, lack, {leaf.key for leaf in confirmed(scene.found, scene.offered, lack, effect)}

    def _look(self, chosen: Sequence[Key], scene: Scene, slow: set[Key], step: int) -> bool:
        """`RETEST_RUNS` runs of each of these leaves and of others. False where the time was over first."""
        keys = [*chosen, *control_leaves(chosen, scene.of_peers, scene.offered, slow)]
        names = ", ".join(dict.fromkeys(leaf for leaf, _ in chosen))
        self._progress.stage(f"Measuring the uplinks of {names} again under load, alternating with others")
        seed = self._recorded.info.seed + step
        rounds = again_rounds(self._leaves, keys, RETEST_RUNS, seed, blocks=self._blocks)
        return self.run(rounds, self._deadline)


def recorded_rounds(folder: Path) -> list[Round]:
    """The rounds under load of a recorded run."""
    return [
        one.round for one in read_entries(folder) if isinstance(one, RoundStarted) and one.round.phase is Phase.LOADED
    ]
