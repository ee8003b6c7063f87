"""The ablation: the probe started again and again under settings that take transports away, slow and force them."""

import random
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from seatrial.archive import layout
from seatrial.archive.journal import VariantNoted, of_type
from seatrial.archive.reader import parse_all, read_entries, read_run
from seatrial.archive.writer import RunWriter
from seatrial.diagnosis.transports.catalogue import VERBOSE, variants
from seatrial.diagnosis.transports.declared import read_declared
from seatrial.diagnosis.transports.judged import Transports, judge_transports
from seatrial.diagnosis.transports.stock import stock_of
from seatrial.experiment.check import describe, enough
from seatrial.experiment.clock import new_run_name
from seatrial.experiment.closing import carried_out
from seatrial.experiment.progress import Progress, Silent
from seatrial.experiment.settings import CheckSettings
from seatrial.experiment.site import choose_launcher
from seatrial.experiment.two_nodes import TwoNodes, pick_ends
from seatrial.facts.traffic import Traffic, passed_between, read_traffic
from seatrial.launch.contract import Hosts, Launcher, LaunchError, Manner, ProbeLost, RoundRefused
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.run import Design
from seatrial.model.transport import Counted, Declared, Role, Variant, VariantNote
from seatrial.pairing.ablation import PILOT, ablation_order, bytes_of, start_rounds

TRIES = 2
"""A start that fails for no known reason is tried once more: see experiment.measurer.STARTS."""
Pair = tuple[str, str]


class TransportsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `seatrial transports`, parsed."""

    site: CheckSettings
    ends: tuple[str, ...] = ()
    within: str = ""
    """A node: two ranks on it instead of one on each of two."""
    starts: int = 4
    """Of the probe under each variant."""


class TransportsOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The run and what it says."""

    folder: Path
    run: str
    found: Transports


def run_transports(settings: TransportsSettings, progress: Progress | None = None) -> TransportsOutcome:
    """Carry out `seatrial transports`, or judge the run in `replay` again. Whatever ends it, the run is closed.

    Raises UsageError, LaunchError, ArchiveError and other SeatrialErrors; KeyboardInterrupt only before the first
    measurement.
    """
    if settings.site.replay is not None:
        return judged_again(settings.site.replay)
    progress = progress or Silent()
    progress.stage("Looking for nodes, preparing the probe")
    site = settings.site
    if not site.run:
        site = msgspec.structs.replace(site, run=new_run_name("transports"))
    launcher = choose_launcher(site)
    hosts = launcher.hosts()
    nodes, pair, each = place(settings, launcher, hosts)
    writer = RunWriter(site.archive, describe(site, launcher, hosts, nodes))
    trial = Ablation(settings, launcher, writer, nodes, pair, each, progress)
    folder = carried_out(trial, trial.carry_out)
    recorded = trial.recorded()
    return TransportsOutcome(folder=folder, run=recorded.info.run, found=judge_transports(recorded, trial.notes))


def judged_again(folder: Path) -> TransportsOutcome:
    """The run in an archive's folder. Raises DamagedRun; SeatrialError where it is no such run."""
    recorded = read_run(folder)
    notes = [entry.note for entry in of_type(read_entries(folder), VariantNoted)]
    if not notes or not recorded.planned:
        raise SeatrialError(f"The run {recorded.info.run} is none of `seatrial transports`.")
    return TransportsOutcome(folder=folder, run=recorded.info.run, found=judge_transports(recorded, notes))


def place(settings: TransportsSettings, launcher: Launcher, hosts: Hosts) -> tuple[tuple[str, ...], Pair, int]:
    """Nodes to get hold of, the pair of ranks to measure, and ranks a node. Raises UsageError, SeatrialError."""
    if launcher.name == "local":
        first, second, *_ = hosts.nodes
        return (first, second), (first, second), 1
    if not settings.within:
        pair = pick_ends(enough(hosts, settings.site), hosts, settings.ends)
        return pair, pair, 1
    node = settings.within
    if settings.ends:
        raise UsageError("--within and --nodes cannot be given together.", "Name one node with --within, or two.")
    if node not in hosts.nodes:
        why = next((state.reason for state in hosts.left_out if state.node == node), "it is no node here")
        raise SeatrialError(f"{node} cannot be measured: {why}.")
    return (node,), (f"{node}:0", f"{node}:1"), 2


class Ablation(TwoNodes):
    """Such a run under way."""

    def __init__(
        self,
        settings: TransportsSettings,
        launcher: Launcher,
        writer: RunWriter,
        nodes: Sequence[str],
        pair: Pair,
        ranks_per_node: int,
        progress: Progress,
    ) -> None:
        super().__init__(settings.site, launcher, writer, pair, progress, nodes=nodes)
        self.notes: list[VariantNote] = []
        self._starts = settings.starts
        self._each = ranks_per_node
        self._window_s = 0.0
        self._dead: set[str] = set()

    def carry_out(self) -> str:
        """All variants in every block; a remark for the report, or nothing."""
        budget_s = self.settings.budget_s
        self.begin(2 * budget_s + 300)
        self._read_components()
        self.progress.stage("Asking the MPI what it uses")
        declared = self._ask()
        deadline = time.monotonic() + budget_s
        stock = stock_of(self._library(), self.facts, declared, within=self._each > 1)
        chosen = variants(stock, declared.carriers if declared else ())
        if not chosen:
            raise SeatrialError(
                f"No transports of this MPI are known: {self._library() or 'it does not say what it is'}.",
                "Open MPI, MPICH and Intel MPI are.",
            )
        self.designed(_design(chosen, self._starts))
        self._note(VariantNote(variant=chosen[0], block=-1, declared=declared))
        self.progress.rounds(len(chosen) * self._starts)
        for block in range(self._starts):
            self.progress.stage(f"Starting {len(chosen) - len(self._dead)} variants, {block + 1} of {self._starts}")
            if time.monotonic() > deadline:
                return f"The budget of {budget_s:.0f} s was spent after {block} of {self._starts} starts of each."
            self._block(block, chosen)
        return ""

    def _library(self) -> str:
        return str(self.measurer.header.get("mpi_library", ""))

    def _read_components(self) -> None:
        """What is compiled in takes longer to read and is needed once; a node that does not tell costs nothing."""
        full = choose_launcher(msgspec.structs.replace(self.settings, quick_facts=False))
        full.job = self._launcher.job
        texts = full.read_facts(self._nodes).texts
        for node, text in texts.items():
            self._writer.write_facts(node, layout.BEFORE, text)
        self.facts = {**self.facts, **parse_all(texts)}

    def _ask(self) -> Declared | None:
        """One start that talks, and a pilot that says how long a message takes."""
        self.measurer.begin(Manner(environment=dict(VERBOSE), ranks_per_node=self._each))
        first = len(self.measurer.measurements)
        self.measurer.attempt(msgspec.structs.replace(PILOT, pairs=(self.pair,)))
        times = [time_s for one in self.measurer.measurements[first:] for time_s in one.times_s]
        self._window_s = min(times, default=0.0)
        self.measurer.window_s = max(times, default=0.0)
        declared = read_declared(self.measurer.said())
        self.measurer.close(kill=True)
        return declared

    def _block(self, block: int, chosen: Sequence[Variant]) -> None:
        """Each variant that is alive once; bytes are counted around the starts of the first block."""
        alive = [one for one in chosen if one.name not in self._dead]
        counting = block == 0
        before = self._traffic() if counting else {}
        for one in ablation_order(alive, block, random.Random(f"{self.seed} {block}")):
            failure, sent = self._start(one, block)
            after = self._traffic() if counting and not failure else before
            counted = _counted(before, after) if counting and not failure else ()
            before = after
            self._note(VariantNote(variant=one, block=block, failure=failure, sent_bytes=sent, counted=counted))
            if failure:
                self._dead.add(one.name)
                self.progress.advance(self._starts - block - 1)
            self.progress.advance()

    def _start(self, one: Variant, block: int) -> tuple[str, int]:
        """One start of a variant: why it failed, or empty, and the bytes sent. A default that fails ends the run.

        The probe is killed afterwards: MPI_Finalize of some transports takes seconds, and what it says is not used.
        """
        manner = Manner(environment=one.environment, ranks_per_node=self._each)
        sent = 0
        try:
            self._begin(manner, TRIES)
            for wanted in start_rounds(self.pair, self._window_s, one.role):
                self.measurer.attempt(msgspec.structs.replace(wanted, repetition=block, variant=one.name))
                sent += bytes_of(wanted)
        except (LaunchError, ProbeLost, RoundRefused) as error:
            if one.role is Role.DEFAULT:
                raise
            return error.what, sent
        finally:
            self.measurer.close(kill=True)
        return "", sent

    def _begin(self, manner: Manner, tries: int) -> None:
        try:
            self.measurer.begin(manner, starts=1)
        except LaunchError as error:
            if not error.passing or tries == 1:
                raise
            self._begin(manner, tries - 1)

    def _traffic(self) -> dict[str, Traffic]:
        return {node: read_traffic(text) for node, text in self._launcher.read_facts(self._nodes).texts.items()}

    def _note(self, note: VariantNote) -> None:
        self.notes.append(note)
        self._writer.append(VariantNoted(note=note))


def _counted(before: dict[str, Traffic], after: dict[str, Traffic]) -> tuple[Counted, ...]:
    return tuple(
        Counted(node=node, device=device, counted_bytes=count)
        for node, now in after.items()
        for device, count in passed_between(before.get(node, {}), now).items()
    )


def _design(chosen: Sequence[Variant], starts: int) -> Design:
    return Design(
        name="transports",
        pairs_at_once=1,
        repetitions=starts,
        rounds=len(chosen) * starts,
        ordered_pairs=2,
        planned_pairs=1,
        statement=(
            f"{len(chosen)} variants of the MPI's settings, the probe started {starts} times under each, in blocks of "
            "one start of each in random order with the default first and last in turn. One pair: what is true of it "
            "need not be of others."
        ),
    )
