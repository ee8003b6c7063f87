"""The main job: measure all pairs of nodes, judge them, measure the suspects again alone, judge again."""

import gc
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from seatrial.archive import layout
from seatrial.archive.journal import SurveyPlanned
from seatrial.archive.reader import read_entries
from seatrial.archive.run_sets import StoredSet
from seatrial.archive.writer import RunWriter
from seatrial.commands.check.assessment import Assessor
from seatrial.commands.check.judge import judge
from seatrial.commands.check.loaded_rounds import measure_loaded
from seatrial.commands.check.next_experiments import next_bandwidth, next_latency, next_started, only_proved
from seatrial.commands.check.rail_measurement import measure_over_rails, pairs_to_split
from seatrial.commands.check.retests import (
    LAST_ROUND_S,
    distinguish,
    last_look_s,
    last_rounds,
    look_once_more,
    measure_without_contention,
    retest,
    retest_late,
)
from seatrial.commands.check.survey_plan import by_program, check_design, pilot_pairs, recorded_rounds, survey_of
from seatrial.driver.clock import monotonic_s
from seatrial.driver.manners import measure_spectra, with_rank_counts
from seatrial.driver.node_selection import allocation_s, enough, sampled, what_it_takes, within_node_hours
from seatrial.driver.node_trials import try_nodes
from seatrial.driver.pair_program import OPTION, PairStarts, first_figure
from seatrial.driver.past import (
    asked_for,
    find_past,
    hurry,
    last_runs,
    look_at_job,
    own_past,
    soon,
    with_past,
    with_time_left,
)
from seatrial.driver.progress import Progress, Silent
from seatrial.driver.returning import chosen_hosts, reached
from seatrial.driver.run import Run, describe, explained_by_facts
from seatrial.driver.site import choose_launcher, wiring_of, with_leaf_file, with_leaves
from seatrial.driver.site_program import starting
from seatrial.launch.contract import Hosts, Launcher
from seatrial.locate.thresholds import GROSS_LOSS, SCATTERS, SUSPICION, to_log
from seatrial.model.errors import LaunchError, SeatrialError
from seatrial.model.fabric import Wiring
from seatrial.model.judgement import Judgement
from seatrial.model.measurement import Kernel, Phase, Round, Shape
from seatrial.model.run import RecordedRun
from seatrial.model.settings import CheckSettings
from seatrial.model.units import BANDWIDTH
from seatrial.model.words import count
from seatrial.pairs.survey import (
    LATENCY,
    PILOT,
    PROGRAM,
    USUAL_REPETITIONS,
    SurveyPlan,
    bandwidth_shape,
)
from seatrial.statistics.estimates import median

if TYPE_CHECKING:
    from seatrial.fabric.routed_fabric import RoutedFabric

FEWEST_PEERS = 4
"""Nodes with fewer pairs of others to compare with are measured in all repetitions, which cost little there."""
REPEATING_HELPS = 0.95
"""What is left of the scatter after another repetition, if it is noise; contention stays as it is."""
REPEATING_S, REPEATING_SHARE = 30.0, 0.05
"""What a survey of more than two repetitions may take, at least and of the budget; the retest needs time, too."""
OWN_JOB_SURVEY = 0.35
"""Share of the budget for the survey if the answer is to come soon: without a retest it could name nothing."""
LARGE = 64
"""Nodes from which on a check says what it takes before it asks for them."""
NOBODY = "No node that is to return could be measured."
LESS = "--sample N, --one-per-leaf and --node-hours N take less."
COLLECTIONS = (100_000, 50, 100)
"""Objects made and not freed between two searches for cycles among young ones, and how many of these before older ones
are searched, too."""
USUAL_WINDOW_S = 0.035
"""Taken where the pilot delivered nothing: 4 MiB at 1 Gb/s."""


class CheckOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a check leaves: the run's folder, what is in it, and the judgement."""

    folder: Path
    recorded: RecordedRun
    judgement: Judgement
    unrestored: tuple[str, ...] = ()
    """A sentence on each thing that was changed for the check and could not be put back."""


def run_check(
    settings: CheckSettings,
    progress: Progress | None = None,
    launcher: Launcher | None = None,
    wiring: "RoutedFabric | None" = None,
) -> CheckOutcome:
    """Carry out `seatrial check`. Whatever ends it, the run is closed and keeps what was delivered.

    `launcher`: None for the one that fits the site. `wiring`: None for what the settings say of it.
    Raises UsageError, LaunchError, ArchiveError and other SeatrialErrors; KeyboardInterrupt only before the first
    measurement.
    """
    progress = progress or Silent()
    progress.stage("Looking for nodes, preparing the probe")
    if not settings.returning or settings.replay is not None:
        return _checked(settings, progress, launcher or choose_launcher(settings), wiring)
    unrestored: list[str] = []
    with reached(settings, progress, launcher, unrestored.append) as returning:
        outcome = _checked(returning.settings, progress, returning.launcher, wiring)
    return msgspec.structs.replace(outcome, unrestored=tuple(unrestored))


def _checked(
    settings: CheckSettings, progress: Progress, launcher: Launcher, wiring: "RoutedFabric | None"
) -> CheckOutcome:
    """The check itself, with nodes within reach. Errors as of `run_check`."""
    began_s = monotonic_s()
    settings = by_program(settings)
    if settings.pair_program is not None and settings.replay is None:
        starting(launcher, OPTION)
    own_job = asked_for(settings, launcher)
    settings = soon(settings) if own_job else msgspec.structs.replace(settings, answer_s=None)
    hurry(settings, launcher)
    hosts = with_leaf_file(settings, chosen_hosts(settings, launcher.hosts()))
    lost = bool(settings.returning) and not set(settings.returning) & set(hosts.nodes)
    alone = lost or (own_job and len(hosts.nodes) == 1)
    nodes = hosts.nodes if alone else enough(hosts, settings)
    nodes, sample = (nodes, "") if alone else sampled(settings, hosts, nodes)
    settings, hosts, nodes, cut = within_node_hours(settings, hosts, nodes, job=launcher.job)
    remarks = [remark for remark in (sample, cut) if remark]
    for remark in remarks:
        progress.stage(remark)
    wiring = wiring or wiring_of(settings, hosts, nodes)
    hosts = with_leaves(hosts, wiring)
    check_design(settings, hosts.fabric, nodes)
    info = describe(settings, launcher, hosts, nodes)
    past = find_past(settings, info) if settings.baseline or not settings.returning else own_past(settings, info)
    writer = RunWriter(settings.archive, info)
    if wiring is not None:
        writer.write_wiring(wiring.routing)
    check = Check(settings, launcher, writer, hosts, progress, wiring, began_s=began_s)
    check.measurer.remarks += remarks
    check.past = past
    work = partial(check.look_only if alone else check.measure_pairs, nodes) if not lost else lambda: NOBODY
    with rare_collections():
        folder = check.carry_out(work, lambda: bool(judge(check.recorded(), check.assessor).findings))
        recorded = check.recorded()
        return CheckOutcome(folder=folder, recorded=recorded, judgement=judge(recorded, check.assessor))


@contextmanager
def rare_collections() -> Iterator[None]:
    """Python's search for cycles, rarely: it walks through all that was measured, of which nothing goes away before the
    end. On 10,000 nodes it took an eighth of the time."""
    before = gc.get_threshold()
    gc.set_threshold(*COLLECTIONS)
    try:
        yield
    finally:
        gc.set_threshold(*before)


class Check(Run):
    """A run that measures all pairs, judges them while it goes on, and measures suspects again."""

    def __init__(
        self,
        settings: CheckSettings,
        launcher: Launcher,
        writer: RunWriter,
        hosts: Hosts,
        progress: Progress,
        wiring: Wiring | None = None,
        *,
        began_s: float,
    ) -> None:
        """`began_s`: when the check began, by the driver's clock."""
        nodes, left_out = writer.info.nodes, hosts.left_out
        super().__init__(settings, launcher, writer, progress, nodes=nodes, left_out=left_out, wiring=wiring)
        self._settings = settings
        self._began_s = began_s
        self._asleep = hosts.asleep
        self.assessor = Assessor()
        self._scatter = math.inf
        """Scatter of healthy pairs, after the last repetition of the survey."""
        self.starts: PairStarts | None = None
        """The starts of the program that measures in place of the probe; None in a replay, too."""
        if settings.pair_program is not None and settings.replay is None:
            self.starts = PairStarts(settings.pair_program, launcher, writer)
            self.measurer.session_of = self.starts.session
            self.afterwards.append(self.starts.remove)
        self.past: StoredSet | None = None
        """The runs of the baseline."""

    @property
    def shape(self) -> Shape:
        """How bandwidth is measured in a round: by one start of the program, or by windows of the probe's kernel."""
        return PROGRAM if self._settings.pair_program else bandwidth_shape(self.measurer.window_s)

    def measure_pairs(self, nodes: Sequence[str]) -> str:
        """All stages in order; a sentence where the budget ended it early, else empty.

        Where sessions died and an error ends it, the facts are read again: the kernel may have killed the ranks.
        """
        try:
            return self._in_order(nodes)
        except SeatrialError:
            if self.measurer.losses and not self.facts_after:
                with suppress(SeatrialError):
                    self._look_again()
            raise

    def _in_order(self, nodes: Sequence[str]) -> str:
        if len(nodes) >= LARGE and not self._launcher.job and not self._settings.replay:
            self.progress.stage(f"This takes {what_it_takes(nodes, self._settings.budget_s)}. {LESS}")
        self.get_nodes(nodes, allocation_s(self._settings.budget_s), self._asleep)
        self._settings = with_rank_counts(self._settings, self.facts)
        self._look_at_job()
        if self.past is not None:
            note, nodes = self.measurer.remarks.append, self.measurer.nodes
            self._writer.describe(with_past(self._writer.info, self.past, nodes, self.facts, note))
        self.progress.stage(f"Starting the probe on {count(len(self.measurer.nodes), 'node')}")
        self._start()
        self._settings = with_time_left(self._settings, self._began_s)
        deadline = monotonic_s() + self._settings.budget_s
        plan = self._plan()
        self.progress.stage(
            f"Measuring {plan.design.planned_pairs} ordered pairs of {count(len(self.measurer.nodes), 'node')}"
        )
        began = monotonic_s()
        in_time = self._survey_passes(plan, deadline)
        survey_s = monotonic_s() - began
        ahead = deadline - last_look_s(len(self.measurer.nodes), plan.design.pairs_at_once)
        distinguish(self, partial(next_started, losses=self.measurer.losses), self.shape, ahead)
        measure_without_contention(self, plan, ahead)
        distinguish(self, next_bandwidth, self.shape, ahead)
        in_time = retest(self, ahead) and in_time
        in_time = self.measurer.resume(ahead) and in_time
        if distinguish(self, next_latency, LATENCY, ahead):
            in_time = retest_late(self, ahead) and in_time
        in_time = self._under_load(survey_s, ahead) and in_time
        if self._settings.pair_program is None:
            self._over_rails(ahead)
            in_time = measure_spectra(self.measurer, self._settings, plan.rounds, self.progress, ahead) and in_time
        last = self._last_rounds()
        try_nodes(self, self._settings, deadline - LAST_ROUND_S * len(last))
        in_time = look_once_more(self, last, deadline, again=not self._settings.replay) and in_time
        self.measurer.close()
        self._look_again()
        budget = f"The budget of {self._settings.budget_s:.0f} s"
        spent = f"{budget} was spent before everything was measured; give more time with --budget."
        return "" if in_time else spent

    def _look_again(self) -> None:
        self.progress.stage("Reading the facts again")
        self.facts_after = self.read_facts(self.measurer.answering, layout.AFTER, "stopped answering during the run")

    def look_only(self, nodes: Sequence[str]) -> str:
        """Read the facts of a user's own job on a single node, which has no pair, and look at the job."""
        self.allocate(nodes, allocation_s(self._settings.budget_s))
        self.progress.stage(f"Reading the facts of {nodes[0]}")
        self.facts = self.read_facts(nodes, layout.BEFORE, "did not answer")
        self._look_at_job()
        return "A single node has no pair: only its facts and the job were looked at."

    def _look_at_job(self) -> None:
        """Record how the ranks of a user's own job are started, and what its nodes did in earlier runs."""
        if self._settings.answer_s is None:
            return
        self.progress.stage("Looking at the job, and at earlier runs of its nodes")
        view = look_at_job(self._launcher, self.measurer.nodes)
        past = last_runs(self._settings.archive, self._writer.info)
        self._writer.describe(msgspec.structs.replace(self._writer.info, own_job=view, past=past))

    def _survey_passes(self, plan: SurveyPlan, deadline: float) -> bool:
        """All pairs once, and again only as long as noise hides the practical effect."""
        done, passes = 0, plan.passes
        if self._settings.replay and plan.shorter:  # an old recording that does not say what was planned
            passes = passes[:USUAL_REPETITIONS]
        in_time = True
        began = monotonic_s()
        for rounds in passes:
            self.progress.rounds(len(rounds))
            in_time = self.measurer.run(rounds, deadline)
            done += 1
            if not in_time or (not self._settings.replay and self._enough_passes(plan, done, monotonic_s() - began)):
                break
        self.designed(plan.after(done))
        return in_time

    def _enough_passes(self, plan: SurveyPlan, done: int, took_s: float) -> bool:
        """Whether another repetition would add nothing or take too long.

        It adds nothing where noise does not widen the lines, or where repeating does not help: between pairs there may
        be real differences. Where pairs were measured alone and repetitions differ, repeating helps. Starts of a
        program are repeated only if noise would hide a node that lacks `GROSS_LOSS`.
        """
        longest_s = max(REPEATING_S, REPEATING_SHARE * self._settings.budget_s)
        if self._settings.answer_s:
            longest_s = OWN_JOB_SURVEY * self._settings.budget_s
        if done > 1 and took_s * (done + 1) / done > longest_s:
            return True
        _, references, _ = self.assessor.assess(self.recorded())
        line, before = references.bandwidth, self._scatter
        self._scatter = line.scatter if line else math.inf
        if self._settings.pair_program is not None:
            return line is None or done >= USUAL_REPETITIONS or line.lack <= to_log(GROSS_LOSS, BANDWIDTH)
        if line is None or not references.alike or len(self.measurer.nodes) < FEWEST_PEERS:
            return done >= USUAL_REPETITIONS
        if SCATTERS * line.scatter <= SUSPICION * line.effect:
            return True
        if SCATTERS * self.assessor.noise_of_runs(line) > SUSPICION * line.effect and plan.design.pairs_at_once == 1:
            return False
        return done >= USUAL_REPETITIONS and line.scatter > REPEATING_HELPS * before

    def _start(self) -> None:
        """Start the probe. Raises LaunchError; ExplainedByFacts where MPI settings differ."""
        try:
            self.measurer.start()
        except LaunchError as error:
            raise explained_by_facts(error, self.facts) from error

    def _plan(self) -> SurveyPlan:
        nodes = self.measurer.nodes
        plan = self._survey(self._pilot(nodes))
        self._planned = tuple(
            dict.fromkeys(pair for one in plan.rounds for pair in one.pairs if one.shape.kernel is Kernel.ONEWAY)
        )
        self._writer.append(SurveyPlanned(pairs=self._planned, separate=plan.separate))
        self.designed(plan.design)
        return plan

    def _survey(self, window_s: float) -> SurveyPlan:
        info = self._writer.info
        fabric = self.wiring or info.fabric
        return survey_of(self._settings, self.measurer.nodes, self.facts, fabric, window_s=window_s, seed=info.seed)

    def _pilot(self, nodes: Sequence[str]) -> float:
        """Seconds that one window of the bandwidth kernel takes here, or one start of the program."""
        pairs = pilot_pairs(self._survey(USUAL_WINDOW_S), nodes)
        if self._settings.pair_program is not None:
            first_figure(self.measurer, pairs)
            if self.starts is None:
                return 0.0
            self._writer.describe(msgspec.structs.replace(self._writer.info, figure=self.starts.figure))
            return self.starts.start_s
        for pair in pairs:
            self.measurer.measure(Round(phase=Phase.PILOT, repetition=0, shape=PILOT, pairs=(pair,)))
        took = [median(one.times_s) for one in self.measurer.measurements if one.times_s]
        self.measurer.window_s = median(took) if took else USUAL_WINDOW_S
        return self.measurer.window_s

    def _under_load(self, survey_s: float, deadline: float) -> bool:
        """What uplinks carry while many nodes send at once."""
        if not self._settings.loaded:
            return True
        recorded = self.recorded()
        return measure_loaded(
            self.measurer,
            self.progress,
            recorded,
            self.assessor.assess(recorded),
            replay=self._settings.replay,
            survey_s=survey_s,
            deadline=deadline,
        )

    def _last_rounds(self) -> list[Round]:
        """What is measured once more at the end. A replay plays what was recorded, and starts cost too much for it."""
        if self._settings.pair_program is not None:
            return []
        if self._settings.replay:
            return recorded_rounds(read_entries(self._settings.replay), Phase.LAST)
        _, references, suspicion = self.assessor.assess(self.recorded())
        return last_rounds(self.measurer.measurements, suspicion.passed(), references.fabric)

    def _over_rails(self, deadline: float) -> None:
        """Confirmed suspects over each rail alone, to find which rail of the node is slow."""
        evidence, _, suspicion = self.assessor.assess(self.recorded())
        pairs = pairs_to_split(only_proved(suspicion, evidence)[0].slow)
        measure_over_rails(self.measurer, self.facts, pairs, self.shape, self.progress, deadline)
