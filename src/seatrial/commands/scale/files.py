"""The curves of files: outputs of one benchmark, or tables in CSV; two groups, or memory beside them, if asked for."""

import csv
import io
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from seatrial.archive.reader import find_run, read_run
from seatrial.benchmarks import catalogue
from seatrial.benchmarks.declaration import Benchmark
from seatrial.commands.scale.judge import LEAST, MOST, JudgedCurve, judge_curve
from seatrial.commands.scale.points import ScaleCurve, curve_of_outputs, curves_of_table, number, size_column
from seatrial.commands.scale.series import sizes as sizes_of
from seatrial.driver.benchmark.definition import parsed
from seatrial.importers.columns import read_columns
from seatrial.judgement.nodes.trials import judge_trials
from seatrial.model.benchmark import Output
from seatrial.model.errors import UsageError
from seatrial.model.node_trials import Measure
from seatrial.model.words import count, some
from seatrial.process.time_limit import PARSE_S, limited
from seatrial.statistics.estimates import median

TABLE = ".csv"
MOST_FILES = 1000
WITHIN_A_NODE = ("cores", "ranks", "processes", "procs", "tasks", "threads")


class MeasuredMemory(msgspec.Struct, frozen=True, kw_only=True):
    """Bandwidth of a node's memory: `whole` by all cores, `single` by one of them."""

    cores: int
    whole: float
    single: float

    @property
    def filling_cores(self) -> int:
        """Cores that together take all that the memory delivers; more than the node has: they cannot fill it."""
        return math.ceil(self.whole / self.single)


def measured_memory(archive: Path, name: str) -> MeasuredMemory:
    """The median node of a run. Raises UsageError where it did not measure memory by one core and by all."""
    recorded = read_run(find_run(archive, name))
    trials = judge_trials(recorded.group_measurements, recorded.facts)
    both = [
        (limits.cores, each.values[Measure.TRIAD].value, each.values[Measure.CORE_TRIAD].value)
        for each in trials.figures
        if {Measure.TRIAD, Measure.CORE_TRIAD} <= each.values.keys() and (limits := trials.limits[each.node]).cores
    ]
    if not both:
        raise UsageError(
            f"The run {name} did not measure memory by one core and by all.", "Name a run of `seatrial nodes`."
        )
    cores, whole, single = zip(*both, strict=True)
    return MeasuredMemory(cores=max(cores), whole=median(whole), single=median(single))


def with_memory(judged: Sequence[JudgedCurve], memory: MeasuredMemory) -> list[JudgedCurve]:
    """The curves, each with what memory has to do with its end. Raises UsageError for one over nodes."""
    for item in judged:
        if item.curve.over not in WITHIN_A_NODE or any(point.size > memory.cores for point in item.points):
            raise UsageError(
                f"--memory explains curves over the cores of one node, and {item.curve.name} is over "
                f"{item.curve.over}, up to {item.points[-1].size if item.points else 0:g}.",
                f"The run is of nodes of {count(memory.cores, 'core')}.",
            )
    return [msgspec.structs.replace(item, memory=_words(item, memory)) for item in judged]


def _words(item: JudgedCurve, memory: MeasuredMemory) -> str:
    """Memory explains it where the cores that fill it are fewer than the first size that does not pay."""
    if item.pays_up_to is None:
        return ""
    full = f"{memory.filling_cores} of {count(memory.cores, 'core')}"
    beyond = min(point.size for point in item.points if point.size > item.pays_up_to)
    if memory.filling_cores < beyond:
        return f"memory is full with {full}"
    if memory.filling_cores < memory.cores:
        return f"not for memory, which takes {full} to fill"
    return f"not for memory, which {count(memory.cores, 'core')} hardly fill"


class ScaleFiles(msgspec.Struct, frozen=True, kw_only=True):
    """What is read, and how."""

    paths: tuple[Path, ...]
    benchmark: str
    metric: str
    over: str
    sizes: str
    by: str
    own_rates: Path | None
    weak: bool
    text_of: Callable[[Path], str]
    """Reads a file or pipe; raises UsageError."""


def judged_curves(sources: ScaleFiles) -> list[JudgedCurve]:
    """The curves of all files. Raises UsageError."""
    if len(sources.paths) > MOST_FILES:
        raise UsageError(f"{count(len(sources.paths), 'file')} are too many.", f"Give at most {MOST_FILES}.")
    own = _own_rates(sources)
    with limited(PARSE_S, "Reading the files"):
        curves = _tables(sources)
        if outputs := _outputs(sources):
            curves.append(_curve(sources, outputs))
    return _judged(curves, own, weak=sources.weak)


def two_curves(sources: ScaleFiles, words: str) -> tuple[JudgedCurve, JudgedCurve]:
    """The two curves that `words` name: A,B. Files belong to the word in their path, curves of tables to their name.

    Raises UsageError where a file or a curve cannot be attributed.
    """
    names = [word for word in words.split(",") if word]
    if len(names) != 2 or names[0] == names[1]:
        raise UsageError(f"--beside {words}: it takes two different words.", "Write --beside july,november.")
    own = _own_rates(sources)
    outputs = _outputs(sources)
    groups: dict[str, list[Path]] = {name: [] for name in names}
    for path in outputs:
        fitting = [name for name in names if name in str(path)]
        if len(fitting) != 1:
            which = "both" if fitting else "none"
            raise UsageError(
                f"--beside {words}: the path {path} contains {which} of the two words.",
                "Choose words of which each path contains one.",
            )
        groups[fitting[0]].append(path)
    with limited(PARSE_S, "Reading the files"):
        curves = _named(_tables(sources), names) if len(outputs) < len(sources.paths) else {}
        for name, paths in groups.items():
            if paths:
                curves[name] = msgspec.structs.replace(_curve(sources, paths), name=name)
    for name in names:
        if name not in curves:
            raise UsageError(f"--beside {words}: there is no curve of {name!r}.", "Check the names of the files.")
    first, second = _judged([curves[name] for name in names], own, weak=sources.weak)
    for item in (first, second):
        if not item.points:
            raise UsageError(f"--beside {words}: no run of {item.curve.name!r} has a positive number.", "Correct it.")
    return first, second


def _named(curves: Sequence[ScaleCurve], names: Sequence[str]) -> dict[str, ScaleCurve]:
    """The curves of tables by the word that is their name, or that only one name contains. Raises UsageError."""
    chosen = {}
    for name in names:
        fitting = [curve for curve in curves if curve.name == name]
        fitting = fitting or [curve for curve in curves if name in curve.name]
        if len(fitting) != 1:
            of = some([curve.name for curve in fitting or curves], 8)
            many = "several curves" if fitting else "no curve"
            raise UsageError(f"--beside: {many} of the tables have {name!r} in their name: {of}.", "Name one of them.")
        chosen[name] = fitting[0]
    return chosen


def _judged(curves: Sequence[ScaleCurve], own: dict[str, float], *, weak: bool) -> list[JudgedCurve]:
    judged = [judge_curve(curve, weak=weak, own_rates=own) for curve in curves]
    if not any(item.points for item in judged):
        raise UsageError("No run has a positive number.", "Choose another --metric.")
    return judged


def _outputs(sources: ScaleFiles) -> list[Path]:
    """The files beside tables: outputs of a benchmark."""
    return [path for path in sources.paths if not _is_table(path, sources)]


def _is_table(path: Path, sources: ScaleFiles) -> bool:
    """Whether a file is called a table, or has a column of sizes, and no mark of a benchmark."""
    if path.suffix.lower() == TABLE:
        return True
    text = sources.text_of(path)
    if catalogue.detected(text) is not None:
        return False
    try:
        return size_column(read_columns(text), sources.over) is not None
    except UsageError:
        return False


def _tables(sources: ScaleFiles) -> list[ScaleCurve]:
    names = [name for name in sources.by.split(",") if name]
    return [
        curve
        for path in sources.paths
        if _is_table(path, sources)
        for curve in curves_of_table(sources.text_of(path), path.name, sources.over, names, sources.metric)
    ]


def _curve(sources: ScaleFiles, paths: Sequence[Path]) -> ScaleCurve:
    """The curve of outputs. Raises UsageError where they are of several benchmarks."""
    outputs: dict[str, Output] = {}
    declared: Benchmark | None = None
    for path in paths:
        benchmark, output = parsed(sources.benchmark, sources.text_of(path))
        if benchmark is None:
            raise UsageError(f"{path} ends before it shows which benchmark it is of.", "Leave it out.")
        if declared is not None and declared.name != benchmark.name:
            raise UsageError(f"{path} is of {benchmark.name}, the first file of {declared.name}.", "Give one of them.")
        declared = benchmark
        label = path.name if path.name not in outputs else str(path)
        outputs[label] = output
    assert declared is not None  # noqa: S101 - there is at least one path
    shown = [float(size) for size in sizes_of(sources.sizes, "--sizes")]
    return curve_of_outputs(declared, outputs, sources.over, shown, sources.metric)


def _own_rates(sources: ScaleFiles) -> dict[str, float]:
    """Lines node,value. Raises UsageError for anything else."""
    path = sources.own_rates
    if path is None:
        return {}
    remedy = "Write lines of node,value."
    rates = {}
    try:
        rows = list(csv.reader(io.StringIO(sources.text_of(path))))
    except csv.Error as error:
        raise UsageError(f"{path} is not CSV: {error}.", remedy) from error
    for row in rows:
        if len(row) < 2 or row[0] == "node":
            continue
        rate = number(row[1])
        if rate is None:
            raise UsageError(f"{path}: {row[1][:40]!r} is not a number.", remedy)
        if not LEAST < rate < MOST:
            raise UsageError(f"{path}: {row[1][:40]!r} is not a positive rate.", remedy)
        rates[row[0].strip()] = rate
    if not rates:
        raise UsageError(f"{path} has no rates of nodes.", remedy)
    return rates
