"""The points of a curve that is to be measured: nodes and ranks, their order, and inputs of weak scaling."""

import random
from collections.abc import Mapping, Sequence

import msgspec

from seatrial.benchmarks.declaration import AUTO, Benchmark, Scaling
from seatrial.experiment.controls import shuffled
from seatrial.model.errors import UsageError
from seatrial.model.words import count

MOST_SIZES = 64
CORES, NODES, OWN = "cores", "nodes", "own"


class CurvePlace(msgspec.Struct, frozen=True, kw_only=True):
    """One size of a curve: where it is measured, and with how many ranks."""

    over: str
    """`cores`, `nodes`, or `own`: a node alone, for the sum of the nodes' own rates."""
    size: int
    nodes: tuple[str, ...]
    """Empty: the launcher has no nodes to choose from."""
    ranks: int
    """Ranks on all nodes together; 0: as the benchmark declares."""

    @property
    def label(self) -> str:
        """The place in the names of runs: `c4`, `n2`, `own3`."""
        return f"{self.over if self.over == OWN else self.over[0]}{self.size}"


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """One run that is to be made. `grown`: how much more work than at the smallest size."""

    place: CurvePlace
    repetition: int
    grown: float

    def name(self, series: str) -> str:
        """The name of the run in the archive."""
        return f"{series}-{self.place.label}-{self.repetition}"


class ScaleOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line asks for."""

    cores: tuple[int, ...] = ()
    node_counts: tuple[int, ...] = ()
    ranks_per_node: int = 0
    spread: int = 1
    """Most nodes among which the ranks of --cores are divided."""
    own: bool = False
    weak: bool = False
    repeat: int = 1
    seed: int = 1

    @property
    def most_nodes(self) -> int:
        """Nodes of the largest point."""
        return max((*self.node_counts, *(_divided(cores, self.spread) for cores in self.cores)), default=1)


def _divided(ranks: int, nodes: int) -> int:
    """The largest number of nodes, at most `nodes`, among which the ranks can be divided equally."""
    return next(number for number in range(min(ranks, nodes), 0, -1) if ranks % number == 0)


def places_of(wanted: ScaleOptions, nodes: Sequence[str]) -> tuple[CurvePlace, ...]:
    """All sizes; each uses the first of the nodes. `nodes` is empty where all ranks are on this machine."""
    places = [
        CurvePlace(over=CORES, size=size, ranks=size, nodes=tuple(nodes[: _divided(size, wanted.spread)]))
        for size in sorted(set(wanted.cores))
    ]
    places += [
        CurvePlace(over=NODES, size=size, ranks=size * wanted.ranks_per_node, nodes=tuple(nodes[:size]))
        for size in sorted(set(wanted.node_counts))
    ]
    alone = range(2 if 1 in wanted.node_counts else 1, max(wanted.node_counts, default=0) + 1) if wanted.own else ()
    places += [
        CurvePlace(over=OWN, size=number, ranks=wanted.ranks_per_node, nodes=(nodes[number - 1],)) for number in alone
    ]
    return tuple(places)


def in_order(places: Sequence[CurvePlace], wanted: ScaleOptions) -> tuple[Planned, ...]:
    """All repetitions: every size once in a random order, then every size again, so that a drift meets all alike."""
    smallest = {over: min(place.size for place in places if place.over == over) for over in (CORES, NODES)
                if any(place.over == over for place in places)}  # fmt: skip
    planned = []
    for repetition, place in shuffled(places, range(1, wanted.repeat + 1), random.Random(wanted.seed)):
        grown = place.size / smallest[place.over] if wanted.weak and place.over != OWN else 1.0
        planned.append(Planned(place=place, repetition=repetition, grown=grown))
    return tuple(planned)


def check(benchmark: Benchmark, wanted: ScaleOptions, parameters: Mapping[str, str]) -> None:
    """Raises UsageError where the benchmark's work cannot be kept, or enlarged, as the curve needs it."""
    launch = benchmark.launch
    if not wanted.cores and not wanted.node_counts:
        raise UsageError("There is no size to measure.", "Give --node-count 1,2,4 or --cores 1,2,4.")
    if launch is None:
        return  # `launch_of` says it better
    if benchmark.scaling is Scaling.NONE:
        raise UsageError(
            f"{benchmark.name} has no scaling: its numbers do not become better with more nodes.",
            'Choose another one; a TOML file of your own says scaling = "strong" or "weak".',
        )
    growing = [item for item in launch.parameters if item.grows]
    by_memory = [item.name for item in growing if parameters.get(item.name, item.default) == AUTO]
    several = len(set(wanted.node_counts)) > 1 or wanted.spread > 1
    if wanted.weak and not growing and not launch.grows:
        raise UsageError(f"{benchmark.name} has no input that grows with the size.", "Leave out --weak.")
    if not wanted.weak and launch.grows:
        raise UsageError(f"The work of {benchmark.name} grows with its ranks.", "Add --weak.")
    if not wanted.weak and by_memory and several:
        raise UsageError(
            f"The work of {benchmark.name} grows with the memory of its nodes.",
            f"Add --weak, or keep it the same: --set {by_memory[0]}=N.",
        )
    if wanted.weak and by_memory and wanted.cores:
        raise UsageError(
            f"The work of {benchmark.name} follows the memory of the nodes, not the cores.",
            f"Give the smallest size its own: --set {by_memory[0]}=N.",
        )


def grown_parameters(benchmark: Benchmark, given: Mapping[str, str], grown: float) -> dict[str, str]:
    """What --set says, with the inputs that grow enlarged. Raises UsageError for one that is not a number."""
    parameters = dict(given)
    for item in benchmark.launch.parameters if benchmark.launch else ():
        value = given.get(item.name, item.default)
        if grown == 1.0 or not item.grows or value == AUTO:
            continue
        if not (value.isascii() and value.isdecimal()):
            raise UsageError(f"--set {item.name}={value}: it must be a whole number to grow.", "Correct it.")
        parameters[item.name] = str(round(int(value[:12]) * grown**item.grows))
    return parameters


def sizes(text: str, option: str) -> tuple[int, ...]:
    """`1,2,4` as numbers. Raises UsageError."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if not (word.isascii() and word.isdecimal() and len(word) < 8 and int(word) > 0):
            raise UsageError(
                f"{option} {text!r}: {word!r} is not a number of nodes or ranks.", f"Write {option} 1,2,4,8."
            )
    if len(words) > MOST_SIZES:
        raise UsageError(f"{option} has {count(len(words), 'size')}.", f"Give at most {MOST_SIZES}.")
    return tuple(int(word) for word in words)
