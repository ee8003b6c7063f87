"""A site's own benchmark: name, regular expressions, units and gates in TOML, without any code."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

import msgspec

from seatrial.benchmarks.declaration import Benchmark, Launch, Scaling
from seatrial.benchmarks.reading import START, OutputLine, Reading
from seatrial.model.benchmark import BenchmarkPlan, BenchmarkRequest, BenchmarkStep, Better, Metric, Output
from seatrial.model.errors import UsageError, toml_record
from seatrial.model.unit_text import KNOWN, number_of, unit_named, unit_of
from seatrial.model.verdict import FindingKind, Verdict

LONGEST_PATTERN = 500
LONGEST_LINE = 4096
"""Characters of a line that patterns see. The command line limits their time as well."""
MOST_RESULTS = 100_000
MOST_NODES = 100_000
GATES = {kind.value: kind for kind in FindingKind if kind.verdict is Verdict.INVALID}


class MetricSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`pattern`: its first group is the number. `least` and `most` are in the printed unit."""

    pattern: str
    unit: str = ""
    better: Better = Better.MORE
    meaning: str = ""
    of_path: bool = False
    both_ways: bool = False
    least: float | None = None
    most: float | None = None


class EvidenceSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`pattern`: its first group shows how much work was done. `equals`: what it must be."""

    pattern: str
    equals: str | int | float | None = None


class GateSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A pattern that must not occur, or one that must."""

    forbidden: str = ""
    required: str = ""
    reason: str = ""


class RunSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`command`: the words with which it is started; {ranks}, {nodes} and {ranks_per_node} in them are numbers."""

    command: tuple[str, ...]
    mpi: bool = True
    nodes: int = 1
    ranks_per_node: int = 0
    output: str = ""


class GenericSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file of a benchmark. docs/benchmarks.md describes each field."""

    name: str
    metrics: dict[str, MetricSpec]
    mark: str = ""
    complete: str = ""
    title: str = ""
    requires: str = ""
    main: str = ""
    scaling: Scaling = Scaling.NONE
    evidence: dict[str, EvidenceSpec] = {}
    gates: dict[str, GateSpec] = {}
    run: RunSpec | None = None


def generic_benchmark(text: str, source: str) -> Benchmark:
    """The benchmark of a TOML file. Raises UsageError that says what is wrong in it."""
    spec = toml_record(text, GenericSpec, source, "docs/benchmarks.md describes the file of a benchmark.")
    patterns = _Patterns(source)
    rules = {
        name: patterns.compiled(item.pattern, f"metrics.{name}", group=True) for name, item in spec.metrics.items()
    }
    shown = {
        name: patterns.compiled(item.pattern, f"evidence.{name}", group=True) for name, item in spec.evidence.items()
    }
    for name in spec.gates:
        if name not in GATES:
            raise UsageError(f"{source}: gates.{name} is not a known gate.", f"Known: {', '.join(GATES)}.")
        for word in (spec.gates[name].forbidden, spec.gates[name].required):
            patterns.compiled(word, f"gates.{name}")
    patterns.compiled(spec.mark, "mark")
    patterns.compiled(spec.complete, "complete")
    metrics = tuple(_metric(name, item, source) for name, item in spec.metrics.items())
    if not metrics or (spec.main and spec.main not in spec.metrics):
        raise UsageError(f"{source}: main = {spec.main!r} is not one of its metrics.", "Name a table [metrics.NAME].")
    return Benchmark(
        name=spec.name,
        title=spec.title or spec.name,
        requires=spec.requires,
        marks=(spec.mark,) if spec.mark else (),
        beginnings=(),
        parse=lambda output: _parse(spec, rules, shown, output),
        metrics=metrics,
        main_metric=spec.main or metrics[0].name,
        evidence=tuple(spec.evidence),
        gates=tuple(GATES[name] for name in spec.gates),
        complete=f"a line that matches {spec.complete}" if spec.complete else "a newline at its end",
        scaling=spec.scaling,
        launch=_launch(spec.run, source, weak=spec.scaling is Scaling.WEAK) if spec.run else None,
    )


def _launch(spec: RunSpec, source: str, *, weak: bool) -> Launch:
    """How it is run. Raises UsageError for a command without words, and for a number that is not possible."""
    if not spec.command or not all(spec.command):
        raise UsageError(f"{source}: run.command has no words, or an empty one.", "Write command = ['./heat', '100'].")
    if not (1 <= spec.nodes <= MOST_NODES and 0 <= spec.ranks_per_node <= MOST_NODES):
        raise UsageError(f"{source}: run.nodes and run.ranks_per_node must be from 1 to {MOST_NODES}.", "Correct them.")
    output = PurePosixPath(spec.output)
    if output.is_absolute() or ".." in output.parts:
        raise UsageError(f"{source}: run.output = {spec.output!r} is not a file in the folder of the run.", "Name one.")
    return Launch(
        programs=(spec.command[0],),
        package="",
        plan=lambda request: _plan(spec, request),
        grows=weak,
        nodes=spec.nodes,
        ranks_per_node=spec.ranks_per_node if spec.mpi else 1,
    )


def _plan(spec: RunSpec, request: BenchmarkRequest) -> BenchmarkPlan:
    numbers = {"{ranks}": request.ranks, "{nodes}": request.nodes, "{ranks_per_node}": request.ranks_per_node}
    words = list(spec.command[1:])
    for name, number in numbers.items():
        words = [word.replace(name, str(number)) for word in words]
    step = BenchmarkStep(name="run", argv=(request.program, *words), mpi=spec.mpi, output=spec.output)
    return BenchmarkPlan(steps=(step,))


class _Patterns:
    """Regular expressions of a file, checked."""

    def __init__(self, source: str) -> None:
        self._source = source

    def compiled(self, pattern: str, field: str, *, group: bool = False) -> "re.Pattern[str]":
        """The pattern. Raises UsageError for one that is invalid, too long, or without a group where one is needed."""
        what = f"{self._source}: {field}: {pattern[:80]!r}"
        if len(pattern) > LONGEST_PATTERN:
            raise UsageError(f"{what} has more than {LONGEST_PATTERN} characters.", "Write a shorter one.")
        try:
            compiled = re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise UsageError(f"{what} is not a valid regular expression: {error}.", "Correct it.") from error
        if group and not compiled.groups:
            raise UsageError(f"{what} has no group.", "Put the number into parentheses: 'time: (\\\\S+) s'.")
        return compiled


def _metric(name: str, item: MetricSpec, source: str) -> Metric:
    unit = unit_of(item.unit)
    if unit is None:
        raise UsageError(
            f"{source}: metrics.{name}: {item.unit!r} is not a known unit.", f"Known, with other prefixes: {KNOWN}."
        )
    return Metric(
        name,
        item.meaning,
        stated_unit=unit.base,
        stated_better=item.better,
        of_path=item.of_path,
        both_ways=item.both_ways,
    )


def _parse(spec: GenericSpec, rules: dict[str, Any], shown: dict[str, Any], text: str) -> Output:
    reading = Reading(spec.name, text)
    lines = [OutputLine(line.number, line.text[:LONGEST_LINE]) for line in reading.whole_lines]
    counted = dict.fromkeys(rules, 0)
    for line in lines:
        for name, pattern in rules.items():
            if (match := pattern.search(line.text)) and counted[name] < MOST_RESULTS:
                counted[name] += 1
                _number(reading, spec.metrics[name], name, match[1] or "", line)
        for name, pattern in shown.items():
            if match := pattern.search(line.text):
                _evidence(reading, spec.evidence[name], name, match[1] or "", line)
    for name, count in counted.items():
        if not count:
            reading.lack(f"no line has {name} ({spec.metrics[name].pattern})")
    for name, item in spec.evidence.items():
        if item.equals is not None and reading.value(name) is None:
            reading.breach(FindingKind.WORK_DIFFERS, f"no line shows {name}, which must be {item.equals}", START)
    for name, gate in spec.gates.items():
        _gate(reading, GATES[name], gate, lines)
    if spec.complete and not any(re.search(spec.complete, line.text) for line in lines):
        reading.lack(f"the closing line ({spec.complete}) is missing")
    return reading.output()


def _number(reading: Reading, item: MetricSpec, name: str, printed: str, line: OutputLine) -> None:
    try:
        value = number_of(printed)
    except ValueError:
        reading.breach(FindingKind.NOT_A_NUMBER, f"{name} is {printed[:40]!r}", line)
        return
    reading.result(name, printed, line, unit_named(item.unit).factor)
    if item.least is not None and value < item.least:
        reading.breach(FindingKind.ABOVE_LIMIT, f"{name} is {printed} {item.unit}, the least is {item.least:g}", line)
    if item.most is not None and value > item.most:
        reading.breach(FindingKind.ABOVE_LIMIT, f"{name} is {printed} {item.unit}, the most is {item.most:g}", line)


def _evidence(reading: Reading, item: EvidenceSpec, name: str, printed: str, line: OutputLine) -> None:
    value: str | int | float = printed
    try:
        number = number_of(printed)
        value = int(number) if number.is_integer() else number
    except (ValueError, OverflowError):
        pass
    reading.evidence(name, value, line)
    if item.equals is not None and value != item.equals:
        reading.breach(FindingKind.WORK_DIFFERS, f"{name} is {printed[:40]}, not {item.equals}", line)


def _gate(reading: Reading, kind: FindingKind, gate: GateSpec, lines: Sequence[OutputLine]) -> None:
    if gate.forbidden and (hit := reading.search(gate.forbidden, lines)):
        reading.breach(kind, gate.reason or f"a line matches {gate.forbidden}", hit[0])
    if gate.required and not reading.search(gate.required, lines):
        reading.breach(kind, gate.reason or f"no line matches {gate.required}", START)
