"""Values of configurations that are to be put side by side: files of other tools and runs of the archive, by label."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from seatrial.archive.layout import RUN_FILE
from seatrial.archive.run_sets import find_runs, load_tables
from seatrial.benchmarks import catalogue
from seatrial.benchmarks.gates import judge
from seatrial.files.inputs import TABLES_BYTES, Allowance, argument_text, files_in, read_text
from seatrial.importers.configuration_tables import TableWords, labelled, read_table
from seatrial.importers.osu import COUNTED, TOOL_WORDS
from seatrial.importers.output_names import numbered_alike
from seatrial.judgement.pair_limit import limit_between
from seatrial.model.benchmark import Better, Output
from seatrial.model.configuration import BYTES, UNIT_OF, ComparedFigure, ConfigurationValue, RateLimit
from seatrial.model.errors import UsageError
from seatrial.model.facts import NodeFacts
from seatrial.model.imported import Sense
from seatrial.model.limit import Limit
from seatrial.model.measurement import Kernel, Phase
from seatrial.model.node_trials import Measure
from seatrial.model.run_values import RunMetric
from seatrial.model.units import size as size_text
from seatrial.model.words import count, natural_sorted, some, verb
from seatrial.pairs.rank_pairs import LATENCY_BYTES
from seatrial.process.time_limit import PARSE_S, limited

RANKS = "ranks"
SIZES = ("nodes", RANKS, "threads")
"""Evidence of outputs that a curve can run over, if no number has a message size."""
MOST_FILES = 1000
MOST_CONFIGURATIONS = 24
"""Nobody reads a table of more."""
MOST_SIZES = 2000
MOST_FIGURES, MOST_VALUES = 500, 250_000
"""What is read and printed in seconds."""
MOST_LIMITS = 1000
"""Pairs whose limits are computed; of more none is known."""
IN_NAME = re.compile(r" ?\bbytes=(?P<bytes>\d{1,15})\b")
"""Message size in the name of an imported metric."""
BINARY = "\0"
LABEL_IN_NAME = re.compile(r"(?:^| )\w{1,64}=")
SUFFIX = re.compile(r"\.(?:txt|out|log|dat|csv|json|tsv|res)\b", re.IGNORECASE)
RATE = "message rate"
USUAL = "average"
"""The statistic of latencies that has no name of its own."""
UNITS_IN_NAME = re.compile(r"_(?:bytes|flops)?_?per_s$|_s$|_share$")


class ConfigurationOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line says of configurations."""

    words: tuple[str, ...]
    """Files, folders of files, and runs."""
    labels: tuple[str, ...] = ()
    """One for each word; empty: by the names of files, columns and runs."""
    table: TableWords = TableWords()
    archive: Path


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """All values, the figure that matters most, and what was left out."""

    measured: tuple[ConfigurationValue, ...]
    main: str = ""
    """Name of the benchmark's main figure; empty: the files do not say."""
    notes: tuple[str, ...] = ()
    limits: dict[str, RateLimit] = {}
    """Label -> what facts of runs permit between their nodes."""


def read_configurations(wanted: ConfigurationOptions, waiting: Callable[[str], None] | None = None) -> Read:
    """The values of all configurations. Raises UsageError, DamagedRun."""
    if wanted.labels and len(wanted.labels) != len(wanted.words):
        raise UsageError(
            f"There are {count(len(wanted.labels), 'label')} and {count(len(wanted.words), 'file')} or runs.",
            "Give one --label for each file or run, in their order; the same one for repetitions.",
        )
    named = dict.fromkeys(wanted.words)
    given = dict(zip(named, wanted.labels, strict=False)) if len(named) == len(wanted.words) else {}
    if wanted.labels and not given:
        raise UsageError("A file or run is named twice.", "Name each once.")
    files = {path: word for word in wanted.words if Path(word).exists() for path in _files(Path(word))}
    runs = [word for word in wanted.words if not Path(word).exists() or (Path(word) / RUN_FILE).is_file()]
    if not 0 < len(files) + len(runs) <= MOST_FILES:
        raise UsageError(
            f"There are {count(len(files) + len(runs), 'file')}.", f"Give 1 to {MOST_FILES} files or runs."
        )
    own = labels_of(list(files))
    labels = {path: given.get(word, own[path]) for path, word in files.items()}
    measured, main, notes = _of_files(labels, wanted, waiting)
    limits: dict[str, RateLimit] = {}
    if runs:
        main = main or Measure.HEAT.label  # of soaks the temperature is what nothing else shows
        of_runs, limits = _of_runs(runs, given, wanted.archive, notes.append, alone=len(files) + len(runs) == 1)
        measured += of_runs
    names = list(dict.fromkeys(each.label for each in measured))
    if not 1 < len(names) <= MOST_CONFIGURATIONS:
        only = f": {names[0]}" if len(names) == 1 and names[0] else ""
        raise UsageError(
            " ".join((f"There {verb(len(names))} {count(len(names), 'configuration')}{only}.", *notes[:1])),
            f"Compare 2 to {MOST_CONFIGURATIONS}; --label names each file or run, --by a column of a table.",
        )
    if len({each.size for each in measured}) > MOST_SIZES:
        raise UsageError(f"There are more than {MOST_SIZES} sizes.", "Choose what curves run over with --over.")
    figures = len({each.figure for each in measured})
    if figures > MOST_FIGURES or len(measured) > MOST_VALUES:
        raise UsageError(
            f"There are {count(figures, 'figure')} with {count(len(measured), 'value')}; at most {MOST_FIGURES} with "
            f"{MOST_VALUES} can be compared.",
            "Choose columns of values with --column, or give fewer files.",
        )
    return Read(measured=tuple(measured), main=main, notes=tuple(notes), limits=limits)


def limits_of(read: Read, limits: Sequence[tuple[str, float]]) -> dict[str, RateLimit]:
    """Limits by label, before those of facts. One without a name is that of all; a name is a label, or words
    of several.

    Raises UsageError.
    """
    labels = list(dict.fromkeys(each.label for each in read.measured))
    of_label = dict(read.limits)
    for name, rate in sorted(limits, key=lambda one: (one[0] in labels, bool(one[0]))):
        chosen = [name] if name in labels else [label for label in labels if set(name.split()) <= set(label.split())]
        if not chosen:
            raise UsageError(f"--limit {name}: there is no such configuration.", f"There are {some(labels, 12)}.")
        of_label |= dict.fromkeys(chosen, RateLimit(rate, rate))
    return of_label


def _files(path: Path) -> list[Path]:
    """A file itself, the files right in a folder, nothing of a run of the archive."""
    if not path.is_dir():
        return [path]
    if (path / RUN_FILE).is_file():
        return []
    return [path / name for name in natural_sorted(one.name for one in files_in(path, MOST_FILES))]


def labels_of(paths: Sequence[Path]) -> dict[Path, str]:
    """Path -> the words of its name, and of its folder's, that not all have; without those that number repetitions.

    Bare numbers at the end are repetitions, too, where each label then has the same ones, from 0 or 1 on.
    """
    words = {path: _words(path) for path in paths}
    if len(paths) == 1:
        return {path: " ".join(each[1:] or each) for path, each in words.items()}
    common = set.intersection(*map(set, words.values())) if words else set()
    own = {path: [word for word in each if word not in common] for path, each in words.items()}
    numbers: dict[tuple[str, ...], list[str]] = {}
    for kept in own.values():
        if len(kept) > 1 and kept[-1].isdecimal() and len(kept[-1]) <= 3:
            numbers.setdefault(tuple(kept[:-1]), []).append(kept[-1])
    repeated = sum(map(len, numbers.values())) == len(own) and len(numbers) > 1
    if repeated and numbered_alike([[*map(int, each)] for each in numbers.values()]):
        own = {path: each[:-1] for path, each in own.items()}
    return {path: " ".join(each) for path, each in own.items()}


def _words(path: Path) -> list[str]:
    stem = SUFFIX.sub("", path.name)
    own = [word for word in re.split(r"[-_ ]+", stem) if word and not COUNTED.fullmatch(word)]
    kept = [word for word in own if word.lower() not in TOOL_WORDS]
    return [path.parent.name, *(kept or own)] if path.parent.name else kept or own


def _of_files(
    labels: Mapping[Path, str], wanted: ConfigurationOptions, waiting: Callable[[str], None] | None
) -> tuple[list[ConfigurationValue], str, list[str]]:
    """Values of outputs and tables, the main figure of the first benchmark, and sentences on what was left out."""
    outputs: list[tuple[str, str, Output]] = []
    measured: list[ConfigurationValue] = []
    notes: list[str] = []
    tables: list[tuple[str, str, str]] = []
    together = Allowance(TABLES_BYTES, "these files")
    with limited(PARSE_S, "Reading the files"):
        for path, label in labels.items():
            text = together.take(_text(path, wanted.words, waiting))
            if catalogue.detected(text) is None:
                if BINARY in text:
                    raise UsageError(f"{path} is binary, not text.", "Give the text that the program printed.")
                tables.append((str(path), label, text))
                continue
            try:
                benchmark, output = catalogue.parse_auto(text)
                output = judge(benchmark, output) if benchmark else output
            except UsageError as error:
                raise UsageError(f"{path}: {error.what}", error.remedy) from error
            if benchmark is None or not output.valid:
                why = output.missing[0] if output.missing else output.breaches[0].reason
                notes.append(f"{path} is left out: {why}.")
                continue
            outputs.append((benchmark.name, label, output))
        for name, label, text in tables:
            if (tool := catalogue.recognised(text)) is not None and text.lstrip()[:1] not in "[{":
                raise UsageError(f"{name}: This looks like {tool.name}, not like a table of values.", tool.remedy)
            measured += labelled(read_table(name, text, wanted.table), label, alone=len(labels) == 1)
    if outputs and wanted.table.per:
        raise UsageError("--per names a column of a table, and there are outputs.", "Give a table with both columns.")
    measured += _of_outputs(outputs)
    if not measured and notes:
        raise UsageError(f"No file has a value: {notes[0]}", "Give complete, valid outputs.")
    if not outputs:
        return measured, "", notes
    benchmark = catalogue.BENCHMARKS[outputs[0][0]]
    return measured, _figure_name(benchmark.main_metric, list(benchmark.main_labels.values())), notes


def _text(path: Path, words: Sequence[str], waiting: Callable[[str], None] | None) -> str:
    """The text of a file or pipe that was named, or of a file right in a folder that was named. Raises UsageError."""
    if path in map(Path, words):
        return argument_text(path, TABLES_BYTES, waiting)
    return read_text(path, TABLES_BYTES, path.parent)


def _figure_name(metric: str, labels: Sequence[str]) -> str:
    """`bandwidth`, `latency max`: without labels that repeat the metric, or name what every tool prints first."""
    plain = UNITS_IN_NAME.sub("", metric).replace("_", " ")
    return " ".join((plain, *(label for label in labels if label not in ("", plain, USUAL))))


def _of_outputs(outputs: Sequence[tuple[str, str, Output]]) -> Iterator[ConfigurationValue]:
    """One value for each metric, its labels and its size in each output: the median of what it printed."""
    over = next((name for name in SIZES if len({output.work(name) for _, _, output in outputs} - {None}) > 1), "")
    for benchmark, label, output in outputs:
        declared = {metric.name: metric for metric in catalogue.BENCHMARKS[benchmark].metrics}
        printed: dict[tuple[ComparedFigure, float], list[float]] = {}
        for result in output.results:
            metric = declared.get(result.metric)
            if metric is None or metric.of_result or not 0 < result.value < float("inf"):
                continue
            name = _figure_name(metric.name, [str(value) for label, value in result.labels.items() if label != BYTES])
            message = result.labels.get(BYTES)
            work = output.work(over) if over else None
            sized = isinstance(message, int)
            figure = ComparedFigure(
                name=name, unit=metric.unit, better=metric.better, over=BYTES if sized else over if work else ""
            )
            size = float(message) if isinstance(message, int) else float(work) if isinstance(work, int | float) else 0.0
            printed.setdefault((figure, size), []).append(result.value)
        for (figure, size), values in printed.items():
            yield ConfigurationValue(label=label, figure=figure, size=size, value=float(np.median(values)))


def _of_runs(
    words: Sequence[str], labels: Mapping[str, str], archive: Path, note: Callable[[str], None], *, alone: bool
) -> tuple[list[ConfigurationValue], dict[str, RateLimit]]:
    """One value a run: the geometric mean over the pairs or nodes that all sets have in that metric; and limits.

    `alone`: the settings of one run are compared.
    """
    sets = [find_runs(archive, word) for word in words]
    tables = load_tables(sets, note=note)
    ends = np.cumsum([len(each.runs) for each in sets])
    rows = list(zip(words, np.split(np.arange(ends[-1]), ends[:-1]), strict=True))
    measured: list[ConfigurationValue] = []
    limits: dict[str, RateLimit] = {}
    facts = [each.parsed_facts() for each in sets]
    for table in tables:
        figure, size = _figure_of(table.metric)
        messages = table.metric.message_bytes if figure.name == RATE else 1
        logs = np.log(np.where(table.values > 0, table.values, np.nan))
        having = [np.any(~np.isnan(logs[own]), axis=0) for _, own in rows if np.any(~np.isnan(logs[own]))]
        common = np.logical_and.reduce(having) if having else np.zeros(logs.shape[1], bool)
        pairs = [pair for pair, shared in zip(table.pairs, common, strict=True) if shared]
        for (word, own), of_run in zip(rows, facts, strict=True):
            names = [labels.get(word, word.rstrip("/").rpartition("/")[2])] if not alone else []
            for row in logs[own][:, common] if common.any() else ():
                if not np.all(np.isnan(row)):
                    value = float(np.exp(np.nanmean(row))) / messages
                    label = _label(table.metric, names)
                    measured.append(ConfigurationValue(label=label, figure=figure, size=size, value=value))
                    if figure.unit == "B/s" and label not in limits and (limit := _limit(table.metric, pairs, of_run)):
                        limits[label] = limit
    return measured, limits


def _limit(metric: RunMetric, pairs: Sequence[tuple[str, str]], facts: Mapping[str, NodeFacts]) -> RateLimit | None:
    """What the facts permit on the best of these pairs; None where they do not say, or a setting took rails away."""
    if metric.of_nodes or metric.phase is Phase.VARIANT or not facts:
        return None
    limits = [limit_between(facts, pair) for pair in pairs[:MOST_LIMITS]]
    limited = [limit for limit in limits if isinstance(limit, Limit)]
    if not limited or len(limited) < len(pairs):
        return None
    return RateLimit(max(one.limit_bytes_per_s for one in limited), max(one.gate_bytes_per_s for one in limited))


def _label(metric: RunMetric, names: Sequence[str]) -> str:
    """The names of the run, and of a run that compared settings (rails, transports, placements) that of the setting."""
    return " ".join((*names, metric.variant) if metric.phase is Phase.VARIANT else names)


def _of_ranks(metric: RunMetric, better: Better) -> tuple[ComparedFigure, float]:
    """What k ranks of a node do at once, over k: of small messages in flight their rate."""
    ranks = float(metric.variant.partition(" ")[0])
    if metric.kernel is Kernel.ONEWAY and metric.message_bytes == LATENCY_BYTES:
        return ComparedFigure(name=RATE, unit="1/s", better=better, over=RANKS), ranks
    kind, unit = ("latency", "s") if metric.kernel is Kernel.PINGPONG else ("bandwidth", "B/s")
    return ComparedFigure(name=f"{kind} {size_text(metric.message_bytes)}", unit=unit, better=better, over=RANKS), ranks


def _figure_of(metric: RunMetric) -> tuple[ComparedFigure, float]:
    """The figure without its message size, and the size."""
    better = Better.LESS if metric.sign > 0 else Better.MORE
    if isinstance(metric.kernel, Sense):
        before, _, unit = metric.variant.rpartition(" [")
        name = before or metric.variant
        match = IN_NAME.search(name)
        benchmark, _, rest = IN_NAME.sub("", name).partition(" ")
        if benchmark in catalogue.BENCHMARKS and rest:
            metric_name, _, labels = rest.partition(" ")
            name = _figure_name(metric_name, LABEL_IN_NAME.split(labels)[1:])
        figure = ComparedFigure(
            name=name, unit=unit.removesuffix("]") if before else "", better=better, over=BYTES if match else ""
        )
        return figure, float(match["bytes"]) if match else 0.0
    if metric.phase is Phase.SATURATION and isinstance(metric.kernel, Kernel):
        return _of_ranks(metric, better)
    if isinstance(metric.kernel, Kernel):
        window = metric.window_messages if metric.phase is Phase.SURVEY else 0
        kind = "latency" if metric.kernel is Kernel.PINGPONG else "bandwidth"
        several = f"x {window}" if window > 1 else ""
        setting = "" if metric.phase is Phase.VARIANT else metric.variant
        name = " ".join(filter(None, (kind, several, setting)))
        unit = "s" if metric.kernel is Kernel.PINGPONG else "B/s"
        return ComparedFigure(name=name, unit=unit, better=better, over=BYTES), float(metric.message_bytes)
    return ComparedFigure(name=metric.name, unit=UNIT_OF.get(metric.unit, ""), better=better, over=""), 0.0
