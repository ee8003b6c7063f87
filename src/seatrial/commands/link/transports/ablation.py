"""Repeated starts of the probe, in blocks, under settings that exclude, slow down and force transports."""

import math
import os
import random
from collections.abc import Callable, Mapping, Sequence

import msgspec

from seatrial.archive import layout
from seatrial.archive.journal import VariantNoted
from seatrial.archive.reader import parse_all
from seatrial.archive.writer import RunWriter
from seatrial.commands.link.transports import mpich, open_mpi
from seatrial.commands.link.transports.components import MpiFamily, Stock, read_declared, stock_of
from seatrial.commands.link.transports.judge import is_within
from seatrial.driver.clock import monotonic_s
from seatrial.driver.progress import Progress
from seatrial.driver.site import choose_launcher
from seatrial.driver.two_nodes import Pair, TwoNodes, choose_rails, manners_of
from seatrial.experiment.controls import forth_or_back
from seatrial.launch.contract import Launcher, StartManner
from seatrial.model.errors import LaunchError, ProbeLost, RoundRefused, SeatrialError
from seatrial.model.measurement import Kernel, Phase, Round, Shape
from seatrial.model.settings import TransportsSettings
from seatrial.model.transport import Carrier, Counted, Declared, Role, Variant, VariantNote
from seatrial.node.hcas import Traffic, passed_between, read_traffic
from seatrial.node.mpi import is_variable
from seatrial.pairs.survey import LATENCY

MESSAGE_BYTES = 4 << 20
BANDWIDTH_S = 0.06
"""Seconds for the timed windows of one bandwidth round: a start takes about a second anyhow."""
FEWEST, MOST = 1, 200
"""Windows in one round."""
ROUNDS = 3
"""Rounds of each kernel at each start; the best one counts."""
HOBBLED_LATENCY = msgspec.structs.replace(LATENCY, iterations=20)
PILOT = Round(
    phase=Phase.PILOT,
    repetition=0,
    shape=Shape(kernel=Kernel.ONEWAY, message_bytes=MESSAGE_BYTES, window=2, warmup=1, iterations=2),
    pairs=(),
)


def start_rounds(pair: tuple[str, str], window_s: float, role: Role) -> tuple[Round, ...]:
    """The rounds of one start, alternating kernels; as many windows as fit the time, `window_s` each.

    Where a carrier is slowed down, rounds are short, since it is slow; as are those of the reference it is compared
    with: rates of processes that have just started rise with what they have already sent.
    """
    windows = round(min(max(BANDWIDTH_S / window_s if window_s > 0 else MOST, FEWEST), MOST))
    latency = LATENCY
    if role in (Role.HOBBLED, Role.REFERENCE):
        windows, latency = 1, HOBBLED_LATENCY
    bandwidth = msgspec.structs.replace(PILOT.shape, iterations=windows)
    return tuple(
        Round(phase=Phase.VARIANT, repetition=0, shape=shape, pairs=(pair,))
        for _ in range(ROUNDS)
        for shape in (latency, bandwidth)
    )


def bytes_of(wanted: Round) -> int:
    """What one rank of each pair sends in the direction in which most is sent."""
    shape = wanted.shape
    return len(wanted.pairs) * shape.window_bytes * (shape.warmup + shape.iterations)


def ablation_order(variants: Sequence[Variant], block: int, draw: random.Random) -> tuple[Variant, ...]:
    """The default first, the others in random order; every other block reversed."""
    first, *others = variants
    draw.shuffle(others)
    return tuple(forth_or_back((first, *others), block))


def over_rail(variants: Sequence[Variant], rail: str, held: Mapping[str, str]) -> tuple[Variant, ...]:
    """The variants restricted to one rail, with distinct names for their samples. No rail: unchanged."""
    if not rail:
        return tuple(variants)
    return tuple(
        msgspec.structs.replace(one, name=f"{one.name} over {rail}", rail=rail, held=dict(held)) for one in variants
    )


TRIES = 2
"""A start that fails for no known reason, or whose probe dies, is tried once more: see driver.measurer.STARTS."""
DESIGN = "transports"
DEFAULT = "default"
FAILURES = (LaunchError, ProbeLost, RoundRefused)
"""Failures of one start, which the other starts survive."""

Choose = Callable[[Stock, tuple[Carrier, ...]], tuple[Variant, ...]]
FAMILIES: dict[MpiFamily, Choose] = {
    MpiFamily.OPEN_MPI: open_mpi.variants,
    MpiFamily.MPICH_UCX: mpich.variants,
    MpiFamily.MPICH_OFI: mpich.variants,
    MpiFamily.MPICH_CH3: mpich.variants,
    MpiFamily.INTEL_MPI: mpich.intel_variants,
}
VERBOSE = {**open_mpi.VERBOSE, **mpich.VERBOSE, **mpich.INTEL_VERBOSE}
"""Each MPI reads its own variables and ignores the others'."""
CHOOSING = (*(f"{open_mpi.MCA}{name}" for name in ("pml", "mtl", "btl")), "UCX_TLS", "FI_PROVIDER")
"""Variables that name the transports to choose from; variants set them."""


class Part(msgspec.Struct, kw_only=True):
    """The variants that are measured over one rail, or all there are."""

    rail: str = ""
    held: dict[str, str] = {}
    """The settings that restrict the MPI to it."""
    variants: tuple[Variant, ...] = ()
    """The default first."""
    window_s: float = 0.0
    dead: set[str] = msgspec.field(default_factory=set)
    """Variants that failed, by name."""

    @property
    def alive(self) -> list[Variant]:
        """The variants that have not failed; none if the default has failed, since the others are compared with it."""
        if not self.variants or self.variants[0].name in self.dead:
            return []
        return [one for one in self.variants if one.name not in self.dead]


class Ablation(TwoNodes):
    """An ablation in progress."""

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
        self._rails = settings.rails
        self._starts = settings.starts
        self._each = ranks_per_node
        self._deadline = math.inf
        self._before: dict[str, Traffic] = {}
        """The counters before the start under way; empty where they are not read."""
        self._cut = False
        """Whether a start was left out since the deadline had come."""

    def measure_variants(self) -> str:
        """All variants in every block; a remark for the report, or nothing."""
        budget_s = self.settings.budget_s
        self.begin()
        self._plan(())
        self._read_components()
        self.progress.stage("Asking the MPI what it uses")
        parts, remarks = ([Part()], []) if self._rails is None else self._parts(self._rails)
        self._deadline = monotonic_s() + budget_s
        for part in parts:
            self._ask(part)
        self._plan(parts)
        self.progress.rounds(sum(len(part.alive) for part in parts) * self._starts)
        for block in range(self._starts):
            alive = sum(len(part.alive) for part in parts)
            self.progress.stage(f"Starting {alive} variants, {block + 1} of {self._starts}")
            for part in forth_or_back([part for part in parts if part.alive], block):
                self._block(block, part)
            if self._cut:
                where = f"in block {block + 1} of {self._starts}; what was measured is judged"
                remarks.append(self.spent(f"{where}; give more time with --budget"))
                break
        return " ".join(remarks)

    def _plan(self, parts: Sequence[Part]) -> None:
        number = sum(len(part.alive) for part in parts)
        rails = [part.rail for part in parts if part.rail]
        over = f", over each of {', '.join(rails)} alone" if rails else ""
        self.plan(
            DESIGN,
            number * self._starts,
            self._starts,
            f"{number} variants of the MPI's settings{over}, the probe started {self._starts} times under each, in "
            "blocks of one start of each in random order, with the default alternately first and last. One pair: other "
            "pairs may differ.",
        )

    def _library(self) -> str:
        return str(self.measurer.header.get("mpi_library", ""))

    def _read_components(self) -> None:
        """What is compiled in takes longer to read and is needed once; a node that does not answer costs nothing."""
        full = choose_launcher(msgspec.structs.replace(self.settings, quick_facts=False))
        full.job = self._launcher.job
        texts = full.read_facts(self._nodes).texts
        self._writer.write_facts(layout.BEFORE, texts)
        self.facts = {**self.facts, **parse_all(texts)}

    def _parts(self, wanted: Sequence[str]) -> tuple[list[Part], list[str]]:
        """One for each rail, and what is to be said of other rails; the MPI must have been started to be known."""
        rails, remarks = choose_rails(self, wanted)
        self.measurer.begin()
        self.measurer.close(kill=True)
        manners = manners_of(self._library(), rails, {rail.name: (rail.name,) for rail in rails})
        return [Part(rail=rail, held=manner.environment) for rail, manner in manners.items()], list(remarks)

    def _ask(self, part: Part) -> None:
        """One start that talks, and a pilot that says how long a message takes; then its variants are known.

        Raises what a start does, unless there are other rails.
        """
        default = Variant(name=DEFAULT, role=Role.DEFAULT)
        declared = None
        try:
            declared = self._declared(part)
        except FAILURES as error:
            self._still_there(error)
            if not part.rail:
                raise
            part.variants = over_rail([default], part.rail, part.held)
            part.dead.add(part.variants[0].name)
            self._note(VariantNote(variant=part.variants[0], block=-1, failure=error.what))
            return
        stock = stock_of(self._library(), self.facts, declared, within=is_within(self.pair))
        files = self.facts[self._nodes[0]].software.mpi_settings if self._nodes[0] in self.facts else {}
        stock = msgspec.structs.replace(stock, own=own_settings(os.environ, files))
        chosen = variants(stock, declared.carriers if declared else ())
        if not chosen:
            raise SeatrialError(
                f"No transports of this MPI are known: {self._library() or 'it does not say what it is'}.",
                "Open MPI, MPICH and Intel MPI are.",
            )
        part.variants = over_rail(chosen, part.rail, part.held)
        self._note(VariantNote(variant=part.variants[0], block=-1, declared=declared))

    def _declared(self, part: Part) -> Declared | None:
        """What the MPI declares. If it does not start with VERBOSE, it starts without: its last output says what is
        wrong.
        """
        plain = StartManner(environment=part.held, ranks_per_node=self._each)
        try:
            self.measurer.begin(msgspec.structs.replace(plain, environment={**VERBOSE, **part.held}), starts=TRIES)
        except LaunchError:
            self.measurer.begin(plain, starts=TRIES)
        first = len(self.measurer.measurements)
        self.measurer.attempt(msgspec.structs.replace(PILOT, pairs=(self.pair,)))
        times = [time_s for one in self.measurer.measurements[first:] for time_s in one.times_s]
        part.window_s = min(times, default=0.0)
        self.measurer.window_s = max([self.measurer.window_s, *times])
        said = self.measurer.said()
        self.measurer.close(kill=True)
        return read_declared(said)

    def _block(self, block: int, part: Part) -> None:
        """Each remaining variant once; bytes are counted around the starts of the first block."""
        counting = block == 0
        self._before = self._traffic() if counting else {}
        for one in ablation_order(part.alive, block, random.Random(f"{self.seed} {block}")):
            self._cut = self._cut or monotonic_s() > self._deadline
            if self._cut or not part.alive:
                return
            failure, sent = self._start(one, block, part)
            after = self._traffic() if counting else {}
            counted = () if failure else _counted(self._before, after)
            self._before = after
            self._note(VariantNote(variant=one, block=block, failure=failure, sent_bytes=sent, counted=counted))
            if failure:
                part.dead.add(one.name)
                self.progress.advance(self._starts - block - 1)
            self.progress.advance()

    def _start(self, one: Variant, block: int, part: Part) -> tuple[str, int]:
        """One start of a variant: why it failed, or empty, and the bytes sent. A default that fails ends the run.

        Where there are several rails it ends its rail's part alone. Raises SeatrialError where a node is gone.
        """
        tries = TRIES
        while True:
            tries -= 1
            try:
                return "", self._measured(one, block, part)
            except FAILURES as error:
                self._still_there(error)
                if tries and _passing(error):
                    self.measurer.remarks.append(f"A start as {one.name} failed and was repeated: {error.what}")
                    self._before = self._traffic() if self._before else {}  # what it had sent is none of the next one's
                    continue
                if one.role is Role.DEFAULT and not part.rail:
                    self._note(VariantNote(variant=one, block=block, failure=error.what))
                    raise
                return error.what, 0

    def _still_there(self, error: SeatrialError) -> None:
        """End what is left of a start that failed. Raises SeatrialError, which says who, where a node is silent."""
        self.measurer.close(kill=True)
        if isinstance(error, ProbeLost) and self.measurer.drop_silent("stopped answering in mid-run"):
            self.measurer.start()  # too few are left for it

    def _measured(self, one: Variant, block: int, part: Part) -> int:
        """The bytes sent. The probe is killed: MPI_Finalize of some transports takes seconds and shows nothing."""
        sent = 0
        try:
            self.measurer.begin(
                StartManner(environment={**one.held, **one.environment}, ranks_per_node=self._each), starts=1
            )
            for wanted in start_rounds(self.pair, part.window_s, one.role):
                self.measurer.attempt(msgspec.structs.replace(wanted, repetition=block, variant=one.name))
                sent += bytes_of(wanted)
        finally:
            self.measurer.close(kill=True)
        return sent

    def _traffic(self) -> dict[str, Traffic]:
        return {node: read_traffic(text) for node, text in self._launcher.read_facts(self._nodes).texts.items()}

    def _note(self, note: VariantNote) -> None:
        self.notes.append(note)
        self._writer.append(VariantNoted(note=note))


def _passing(error: SeatrialError) -> bool:
    """Whether the same may go well when it is tried again: a start without a known reason, a probe that died."""
    return error.transient if isinstance(error, LaunchError) else getattr(error, "outcome", "") == "died"


def _counted(before: dict[str, Traffic], after: dict[str, Traffic]) -> tuple[Counted, ...]:
    return tuple(
        Counted(node=node, device=device, counted_bytes=count)
        for node, now in after.items()
        for device, count in passed_between(before.get(node, {}), now).items()
    )


def own_settings(environment: Mapping[str, str], files: Mapping[str, str]) -> dict[str, str]:
    """What the site has set of `CHOOSING`, parameter by parameter.

    `files`: the settings in a node's files and in a job's environment there; they override our own `environment`.
    """
    of_node = {name if is_variable(name) else open_mpi.MCA + name: value for name, value in files.items()}
    known = {**environment, **of_node}
    return {name: known[name] for name in CHOOSING if known.get(name)}


def variants(stock: Stock, presumed: tuple[Carrier, ...]) -> tuple[Variant, ...]:
    """The variants for an MPI, the default first; none for an MPI that is not known."""
    choose = FAMILIES.get(stock.family)
    return choose(stock, presumed) if choose else ()
