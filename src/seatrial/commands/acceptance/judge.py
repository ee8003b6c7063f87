"""An acceptance: its file, and the judgement: each benchmark's runs by their gates, their median by the thresholds."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from seatrial.benchmarks.declaration import Benchmark
from seatrial.judgement.benchmark_result import breach_finding
from seatrial.model import subject, units
from seatrial.model.benchmark import Better, Label, Output
from seatrial.model.errors import UsageError, toml_record
from seatrial.model.settings import MOST_REPETITIONS
from seatrial.model.verdict import Finding, FindingKind, RunVerdict, Verdict, worst
from seatrial.model.words import count
from seatrial.statistics.estimates import median

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
MOST_BENCHMARKS = 200


class AcceptanceThreshold(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one metric must reach. `least` and `most` are in base units, shares are of the limit or the baseline."""

    metric: str
    where: dict[str, Label] = {}
    """Labels that a number must have, such as part = "HPL_Tflops"; without any, all numbers of the metric count."""
    least: float | None = None
    most: float | None = None
    of_limit: float | None = None
    """Least share of the limit that `seatrial bench run` knows for the metric; of times, the inverse."""
    of_baseline: float | None = None
    """Least share of what the baseline's run delivered; of times, the inverse."""
    baseline: str = ""
    """The run, by its name in the archive."""


class Item(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One benchmark as it is to be run."""

    name: str
    benchmark: str
    """A name, or a TOML file beside this one."""
    nodes: str = ""
    node_count: int = 0
    ranks: int = 0
    program: str = ""
    case: str = ""
    """A folder, relative to this file."""
    repetitions: int = 1
    set: dict[str, str] = {}
    threshold: tuple[AcceptanceThreshold, ...] = ()


class Spec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file. `node_hours`: of all runs together; 0: no limit."""

    name: str
    node_hours: float = 0.0
    benchmark: tuple[Item, ...]


def parse_spec(text: str, source: str) -> Spec:
    """The content of the file. Raises UsageError that says what is wrong in it."""
    spec = toml_record(text, Spec, source, "docs/acceptance.md describes the file.")
    names = [item.name for item in spec.benchmark]
    for name in (spec.name, *names):
        if not NAME.fullmatch(name):
            raise UsageError(
                f"{source}: name = {name!r} is not a valid name.", "Use up to 40 letters, digits, '-' and '_'."
            )
    if not names or len(names) > MOST_BENCHMARKS or len(set(names)) < len(names):
        raise UsageError(
            f"{source}: it has {count(len(names), 'benchmark')}, {len(set(names))} of them with different names.",
            f"Write 1 to {MOST_BENCHMARKS} tables [[benchmark]], each with its own name.",
        )
    for item in spec.benchmark:
        _check(item, source)
    return spec


def _check(item: Item, source: str) -> None:
    """Refuse numbers that are not possible, and thresholds that compare with nothing."""
    if not 1 <= item.repetitions <= MOST_REPETITIONS or item.node_count < 0 or item.ranks < 0:
        raise UsageError(
            f"{source}: {item.name}: repetitions = {item.repetitions}, node_count = {item.node_count}, ranks = "
            f"{item.ranks} are not possible.",
            f"Give 1 to {MOST_REPETITIONS} repetitions.",
        )
    for threshold in item.threshold:
        given = (threshold.least, threshold.most, threshold.of_limit, threshold.of_baseline)
        if all(value is None for value in given):
            raise UsageError(
                f"{source}: {item.name}: the threshold of {threshold.metric} compares with nothing.",
                "Give least, most, of_limit or of_baseline.",
            )
        shares = (threshold.of_limit, threshold.of_baseline)
        if any(value is not None and not math.isfinite(value) for value in given) or any(
            value is not None and value <= 0 for value in shares
        ):
            raise UsageError(
                f"{source}: {item.name}: the threshold of {threshold.metric} is not a number, or a share that is not "
                "above 0.",
                "Write least and most as finite numbers, and shares like 0.9.",
            )
        if (threshold.of_baseline is None) != (not threshold.baseline):
            raise UsageError(
                f"{source}: {item.name}: of_baseline and baseline go together.", 'Write baseline = "RUN" beside it.'
            )


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a benchmark, as it was judged by itself."""

    run: str
    output: Output
    limits: dict[str, float] = {}
    failure: str = ""
    node_hours: float = 0.0
    earlier: bool = False
    """Whether it was there already when this acceptance began."""


class ThresholdCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One comparison of a threshold with what was measured.

    `bound`: what the value must reach, in base units; None: not known.
    """

    metric: str
    where: dict[str, Label]
    """Labels of the numbers that count; empty: all numbers of the metric."""
    value: float | None
    bound: float | None
    reference: str
    passed: bool
    unit: str = ""


class ItemResult(msgspec.Struct, frozen=True, kw_only=True):
    """One benchmark of the acceptance."""

    item: Item
    attempts: tuple[Attempt, ...]
    checks: tuple[ThresholdCheck, ...]
    findings: tuple[Finding, ...]
    left: str = ""
    """Why it is not complete; empty: it is."""

    @property
    def verdict(self) -> Verdict:
        """The worst finding's; NOT_RUN where runs are missing and nothing is wrong."""
        if self.findings:
            return worst([finding.verdict for finding in self.findings])
        return Verdict.NOT_RUN if self.left else Verdict.PASS


class Acceptance(RunVerdict, frozen=True, kw_only=True):
    """All of it."""

    spec: Spec
    items: tuple[ItemResult, ...]

    @property
    def node_hours(self) -> float:
        """Node-hours that all runs took together."""
        return sum(attempt.node_hours for item in self.items for attempt in item.attempts)


def judge_acceptance(spec: Spec, items: Sequence[ItemResult]) -> Acceptance:
    """All benchmarks together."""
    findings = tuple(finding for item in items for finding in item.findings)
    return Acceptance(
        verdict=worst([finding.verdict for finding in findings]),
        complete=not any(item.left for item in items),
        findings=findings,
        notes=(),
        spec=spec,
        items=tuple(items),
    )


def judge_item(
    item: Item, benchmark: Benchmark, attempts: Sequence[Attempt], baselines: Mapping[str, Output], left: str = ""
) -> ItemResult:
    """One benchmark. `baselines`: output of the runs that thresholds name; `left`: why runs are missing."""
    breaches = [(attempt.run, breach) for attempt in attempts for breach in attempt.output.breaches]
    findings = [breach_finding(breach, subject.output(run)) for run, breach in breaches]
    unfinished = next((attempt for attempt in attempts if not attempt.output.complete), None)
    if unfinished is not None:
        left = left or f"{unfinished.run}: {unfinished.failure or unfinished.output.missing[0]}"
    good = [attempt for attempt in attempts if attempt.output.valid]
    checks = [check for threshold in item.threshold if good for check in _checks(benchmark, threshold, good, baselines)]
    findings += [_missed(item, check) for check in checks if not check.passed]
    return ItemResult(item=item, attempts=tuple(attempts), checks=tuple(checks), findings=tuple(findings), left=left)


def _checks(
    benchmark: Benchmark, threshold: AcceptanceThreshold, good: Sequence[Attempt], baselines: Mapping[str, Output]
) -> Iterator[ThresholdCheck]:
    """The median over runs of each run's best number, compared with each bound of the threshold."""
    metric = next(metric for metric in benchmark.metrics if metric.name == threshold.metric)
    more = metric.better is Better.MORE
    values = [value for attempt in good if (value := _best(attempt.output, threshold, more=more)) is not None]
    value = median(values) if values else None
    limit = good[-1].limits.get(threshold.metric)
    earlier = baselines.get(threshold.baseline)
    valid = earlier is not None and earlier.valid
    before = _best(earlier, threshold, more=more) if earlier is not None and valid else None
    comparisons = (
        (threshold.least, threshold.least, True, "least"),
        (threshold.most, threshold.most, False, "most"),
        (
            threshold.of_limit,
            _part(limit, threshold.of_limit, more=more),
            more,
            f"of the limit {_text(limit, metric.unit)}",
        ),
        (
            threshold.of_baseline,
            _part(before, threshold.of_baseline, more=more),
            more,
            f"of {threshold.baseline}: {_text(before, metric.unit) if valid or earlier is None else 'not a valid run'}",
        ),
    )
    for given, bound, at_least, reference in comparisons:
        if given is None:
            continue
        reached = value is not None and bound is not None and (value >= bound if at_least else value <= bound)
        yield ThresholdCheck(
            metric=threshold.metric,
            where=threshold.where,
            value=value,
            bound=bound,
            reference=reference,
            passed=reached,
            unit=metric.unit,
        )


def _part(reference: float | None, share: float | None, *, more: bool) -> float | None:
    """The bound that a share of a reference makes."""
    if reference is None or not share or not math.isfinite(reference):
        return None
    return reference * share if more else reference / share


def _text(reference: float | None, unit: str) -> str:
    return "not known" if reference is None else units.in_unit(reference, unit)


def _best(output: Output, threshold: AcceptanceThreshold, *, more: bool) -> float | None:
    values = [
        result.value
        for result in output.results
        if result.metric == threshold.metric
        and all(str(result.labels.get(name)) == str(label) for name, label in threshold.where.items())
    ]
    return (max if more else min)(values, default=None)


def _missed(item: Item, check: ThresholdCheck) -> Finding:
    """The finding for a threshold that is not reached, or cannot be compared."""
    metric = check.metric
    if check.value is None:
        brief = f"no number of {metric} has the labels of the threshold"
    elif check.bound is None:
        brief = f"{metric} {units.in_unit(check.value, check.unit)}, its reference is not known ({check.reference})"
    else:
        value, bound = units.two_in_unit(check.value, check.bound, check.unit)
        brief = f"{metric} {value}, the bound is {bound} ({check.reference})"
    return Finding(
        kind=FindingKind.BELOW_THRESHOLD,
        subject=subject.output(item.name),
        verdict=FindingKind.BELOW_THRESHOLD.verdict,
        statement=f"{item.name}: {brief}.",
        brief=brief,
        metric=metric,
        remedy="Check the nodes of its runs (`seatrial report RUN`), then the links between them (`seatrial check`).",
    )
