"""All benchmarks in one table, which of them an output is of, and its numbers as values of one run for the archive."""

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from textwrap import dedent

import msgspec

from seatrial.benchmarks import (
    babelstream,
    cuda_bandwidth,
    dcgm_diagnostic,
    espresso,
    fio,
    gpu_burn,
    gpu_copy,
    gromacs,
    gups,
    hip_bandwidth,
    hpcc,
    hpcg,
    hpl,
    hpl_mxp,
    imb,
    ior,
    iperf,
    lammps,
    mdtest,
    nccl_tests,
    netpipe,
    npb,
    nvbandwidth,
    openfoam,
    osu,
    perftest,
    qperf,
    rocm_bandwidth,
    stream,
    transferbench,
)
from seatrial.benchmarks.declaration import Benchmark
from seatrial.benchmarks.gates import judge
from seatrial.importers.headed_text import by_heading
from seatrial.importers.line_prefixes import SHARE
from seatrial.importers.machine_outputs import OtherOutput
from seatrial.importers.other_outputs import FORMATS, JSON_TEXT, LOOKED_AT, PROSE, other_output, refuse_binary
from seatrial.importers.outcome_words import fails
from seatrial.importers.output_names import OutputPlace
from seatrial.importers.printed_text import by_node, plain
from seatrial.importers.table_kinds import MEASURES
from seatrial.model.benchmark import Label, Metric, Output
from seatrial.model.errors import UsageError
from seatrial.model.imported import ALL_NODES, Batch, ImportedValue, Sense, Source
from seatrial.model.verdict import FindingKind, Verdict

BENCHMARKS: dict[str, Benchmark] = {
    module.BENCHMARK.name: module.BENCHMARK
    for module in (
        osu,
        imb,
        hpcc,
        hpl_mxp,
        hpl,
        hpcg,
        gups,
        npb,
        stream,
        babelstream,
        ior,
        mdtest,
        fio,
        netpipe,
        perftest,
        qperf,
        iperf,
        nccl_tests,
        nvbandwidth,
        gpu_burn,
        cuda_bandwidth,
        hip_bandwidth,
        gpu_copy,
        transferbench,
        rocm_bandwidth,
        dcgm_diagnostic,
        openfoam,
        lammps,
        gromacs,
        espresso,
    )
}
"""Benchmarks, in the order in which an output is tried: HPCC contains HPL and STREAM, some HPL-MxP the table of HPL."""
FIRST_LINE = 200
"""Characters of a line that was cut off; a longer one would show what it is."""
RULES = " \t\r\n#-=*/\\|"
INDENTATION = re.compile(r"^[ \t]+", re.MULTILINE)
CONDITIONS = ("ranks", "nodes", "threads")
"""Evidence of an output that must be the same where a metric of several files is one series."""
NUMBER = re.compile(r"[-+]?\d{1,64}+(?:\.\d{0,64}+)?+(?:[eE][-+]?\d{1,6}+)?+")
LAST_LINE = "last line"
NO_BEGINNING = "its first lines are missing"
REMEDY = "Leave this file out, or run the benchmark again."
IN_A_LINE = frozenset({
    FindingKind.PROGRAM_FAILED, FindingKind.DATA_CORRUPT, FindingKind.RESIDUAL_FAILED, FindingKind.NOT_A_NUMBER,
})  # fmt: skip
"""Gates that one line shows; others compare it with lines that may be missing."""


def benchmark_named(name: str) -> Benchmark:
    """The benchmark of that name. Raises UsageError."""
    if name not in BENCHMARKS:
        raise UsageError(
            f"{name!r} is not a known benchmark.", f"Known: {', '.join(BENCHMARKS)}; or give the TOML file of your own."
        )
    return BENCHMARKS[name]


MOST_WITHOUT = 100
"""Nodes without an output at the beginning of a file of outputs."""


@lru_cache(maxsize=4)  # whoever recognises a file asks several times, and whoever reads it once more
def detected(text: str, *, parts: bool = True) -> Benchmark | None:
    """The benchmark whose marks the text has, whatever launchers and messages put before its lines; None: of none.

    `parts`: also that of an output whose first lines are missing, unless several nodes printed the text.
    """
    for form in _forms(text):
        if marked := next((one for one in BENCHMARKS.values() if _has_any(one.marks, form)), None):
            return marked
    forms = {dedent(plain(text)), form} if parts else ()
    part = next((one for one in BENCHMARKS.values() if any(_has_any(one.parts, each) for each in forms)), None)
    return part if part and not by_node(text) else None


def others_in(benchmark: Benchmark, text: str) -> list[Benchmark]:
    """Other benchmarks whose outputs are in the text as well, and no parts of that of the one detected in it."""
    bare, names = plain(text), [*BENCHMARKS]
    left = names[names.index(benchmark.name) + 1 :]  # the text has no mark of those before
    return [BENCHMARKS[one] for one in left if one not in benchmark.contains and _has_any(BENCHMARKS[one].marks, bare)]


def recognised(text: str) -> OtherOutput | None:
    """The benchmark or other tool that printed a text, as far as it is known, by its beginning."""
    looked_at = text[:LOOKED_AT]
    if benchmark := detected(looked_at):
        if PROSE.mark.search(looked_at):
            return PROSE
        return OtherOutput(
            mark=re.compile(benchmark.marks[0], re.MULTILINE),
            name=f"the output of {benchmark.title}",
            remedy=f"{benchmark.as_pairs or 'seatrial judge --as output reads it.'} {FORMATS}",
        )
    return other_output(looked_at)


def refusal(text: str, wanted: str, reason: UsageError) -> UsageError:
    """The error for a text that is not what is wanted: what it looks like; else the reason why it was not read."""
    output = recognised(text)
    return UsageError(f"This looks like {output.name}, not like {wanted}.", output.remedy) if output else reason


def refusal_of_folder(texts: Mapping[str, str], wanted: str, reason: UsageError | None = None) -> UsageError:
    """The error for a folder without what is wanted: what most of its files look like; else the reason."""
    counted = Counter((output.name, output.remedy) for text in texts.values() if (output := recognised(text)))
    if not counted:
        return reason or UsageError(f"The folder has no {wanted}.", MEASURES)
    ((name, remedy), files), *_ = counted.most_common(1)
    of_all = "all" if files == len(texts) else f"{files} of {len(texts)}"
    return UsageError(f"The files of this folder ({of_all}) look like {name}, not like {wanted}.", remedy)


def outputs_by_node(text: str) -> dict[str, str]:
    """Node -> what it printed, of the outputs of several nodes that pdsh, clush, ansible or a loop put into one file.

    Most are outputs of a benchmark; none if a node printed other text than an output or a failure, or the first many
    nodes printed no output. A node may have printed nothing.
    """
    parts, benchmark = by_node(text), None
    if not parts and (benchmark := detected(text)) is not None and outputs_in(benchmark, text) > 1:
        parts = by_heading(plain(text), re.compile("|".join(_first_lines(benchmark))))
    outputs = 0
    for number, part in enumerate(parts.values()):
        output = detected(part, parts=False) is not None
        neither = not output and bool(part.strip()) and not fails(part)
        if neither or (not outputs and number == MOST_WITHOUT):  # a table of 100,000 nodes is seen by the first ones
            return {}
        outputs += output
    return parts if 2 * outputs > len(parts) else {}


def _forms(text: str) -> Iterator[str]:
    """The text as it is, without what launchers put before its lines, without a common indentation, without any."""
    yield text
    yield (bare := plain(text))
    yield dedent(bare)
    yield INDENTATION.sub("", bare)


def _has_any(expressions: Sequence[str], text: str) -> bool:
    return any(re.search(expression, text, re.MULTILINE) for expression in expressions)


def _begins(benchmark: Benchmark, text: str) -> bool:
    """Whether the text could be the first characters of such an output, cut off before any mark.

    Rules of dashes and the like, which differ between versions, are passed over.
    """
    words = text.lstrip(RULES)
    return any(
        words.startswith(beginning.lstrip(RULES)) or beginning.lstrip(RULES).startswith(words)
        for beginning in benchmark.beginnings
    )


def begins(text: str) -> bool:
    """Whether the text could be the first characters of the output of any benchmark, and is not of another tool."""
    other = recognised(text)
    return (other is None or other.name == JSON_TEXT) and any(
        _begins(benchmark, text) for benchmark in BENCHMARKS.values()
    )


def outputs_in(benchmark: Benchmark, text: str) -> int:
    """How many complete outputs of the benchmark the text has at most: how often they begin in it."""
    bare = plain(text)
    return max((len(re.findall(rf"^{begins}", bare, re.MULTILINE)) for begins in _first_lines(benchmark)), default=1)


def _first_lines(benchmark: Benchmark) -> list[str]:
    """Expressions for the first line of an output, one for each way in which it begins."""
    first = (re.escape(beginning.lstrip(RULES).partition("\n")[0]) for beginning in benchmark.beginnings)
    return [rf"[{re.escape(RULES)}]*{words}" for words in first]


def undented(benchmark: Benchmark, text: str) -> str:
    """The text without an indentation that somebody else gave to an output in it (Ansible, a quote in a message).

    It is that of the first line which only this benchmark prints and of those below it. Lines up to the last one are
    taken up to which nearly all have it; the others stay as they are.
    """
    words = (next((line for line in each.split("\n") if line.strip(RULES)), " ") for each in benchmark.beginnings)
    beginnings = [f"^{re.escape(line)}" for line in words if line[0] not in " \t{"]
    flush, lines = INDENTATION.sub("", text), text.split("\n")
    for expression in (*beginnings, *benchmark.marks, *benchmark.parts):
        if re.search(expression, text, re.MULTILINE):
            return text
        if place := re.search(expression, flush, re.MULTILINE):
            first = flush.count("\n", 0, place.start())
            if any(re.match(mark, lines[first]) for mark in benchmark.marks):  # it indents this line itself
                continue
            block = itertools.takewhile(lambda line: not line.strip() or line[0] in " \t", lines[first:])
            margin = min((line[: -len(line.lstrip())] for line in block if line.strip()), key=len)
            last = _last_behind(margin, lines, first)
            return "\n".join(
                line.removeprefix(margin) if first <= number <= last else line for number, line in enumerate(lines)
            )
    return text


def _last_behind(margin: str, lines: Sequence[str], first: int) -> int:
    """The last line with this margin up to which nearly all lines with text have it, from the first one on."""
    written = having = 0
    last = first
    for number, line in enumerate(lines[first:], first):
        written += bool(line.strip())
        having += (indented := line.startswith(margin) and bool(line.strip()))
        if indented and having >= SHARE * written:
            last = number
    return last


def parse_as(benchmark: Benchmark, text: str, largest_bytes: int = 0) -> Output:
    """The output as of this benchmark. Raises UsageError where the text is of something else."""
    refuse_binary(text)
    text = plain(text, moments=benchmark.name in BENCHMARKS)  # a site's own patterns may contain the times
    text = undented(benchmark, text if _has_any(benchmark.marks, text) else dedent(text))
    marked = _has_any(benchmark.marks, text)
    part = not marked and _has_any(benchmark.parts, text)
    fits = marked or part or _begins(benchmark, text) or _less_than_a_line(text)
    if text.strip() and benchmark.marks and not fits:
        raise _unrelated(text, f"the output of {benchmark.title}")
    if largest_bytes and benchmark.parse_up_to is None:
        raise UsageError(
            f"--largest is not for {benchmark.name}: its outputs show by themselves whether they are complete.",
            "Leave --largest out.",
        )
    if largest_bytes and benchmark.parse_up_to is not None:
        return benchmark.parse_up_to(text, largest_bytes)
    output = benchmark.parse(text)
    if not part:
        return output
    return msgspec.structs.replace(
        output,
        missing=(NO_BEGINNING, *output.missing),
        breaches=tuple(breach for breach in output.breaches if breach.kind in IN_A_LINE),
        results=tuple(msgspec.structs.replace(result, setting="") for result in output.results),  # nothing shows it
        notes=(*output.notes, "Give all that the program printed: its first lines show what the numbers are of."),
    )


def parse_auto(text: str, largest_bytes: int = 0) -> tuple[Benchmark | None, Output]:
    """The benchmark and its output; no benchmark where the text ends before it shows which. Raises UsageError."""
    refuse_binary(text)
    text = plain(text)
    benchmark = detected(text)
    if benchmark is not None:
        sized = largest_bytes if benchmark.parse_up_to else 0
        return benchmark, parse_as(benchmark, text, sized)
    if not text.strip() or begins(text):
        return None, Output(benchmark="", missing=("it ends before it shows which benchmark it is of",))
    raise _unrelated(text, "the output of a known benchmark")


def _less_than_a_line(text: str) -> bool:
    """Whether it was cut off within its first line, and looks like nothing else."""
    return len(text) <= FIRST_LINE and "\n" not in text and recognised(text) is None


def _unrelated(text: str, wanted: str) -> UsageError:
    """The error for a text of something else, with what it looks like."""
    remedy = "seatrial bench list shows the known benchmarks."
    looks = refusal(text, wanted, UsageError(f"This does not look like {wanted}.", remedy))
    return UsageError(looks.what, remedy)


def output_batch(source: Source, text: str, place: OutputPlace | None = None) -> Batch:
    """The values of complete, valid outputs in a text; `place`: the node and run that the name of the file says.

    Positive numbers of each metric and what it belongs to; the median of several, which are one run. Without those of
    the result, such as residuals. Raises UsageError.
    """
    benchmark, parsed = parse_auto(text)
    if benchmark is None:
        raise UsageError(f"The output is not complete: {parsed.missing[0]}.", REMEDY)
    conditions: dict[str, str] = {}
    values: list[ImportedValue] = []
    for program in (benchmark, *others_in(benchmark, text)):
        what = "The output" if program is benchmark else f"The output of {program.title} in it"
        output = judge(program, parsed if program is benchmark else parse_as(program, text))
        if not output.complete:
            raise UsageError(f"{what} is not complete: {output.missing[0]}.", REMEDY)
        if not output.valid:
            invalid = next(breach for breach in output.breaches if breach.kind.verdict is Verdict.INVALID)
            raise UsageError(f"{what} is not valid: {invalid.reason}.", REMEDY)
        stated = {**{name: output.work(name) for name in CONDITIONS}, "version": output.version or None}
        of = "" if program is benchmark else f"{program.name} "
        conditions |= {f"{of}{name}": str(value) for name, value in stated.items() if value is not None}
        values += values_of(program, output, place.node if place else ALL_NODES)
    if not values:
        raise UsageError("The output has no positive number of any metric.", REMEDY)
    source = msgspec.structs.replace(source, form=benchmark.name, conditions=conditions)
    return Batch(label=f"run {place.run}" if place else source.file, source=source, values=tuple(values))


def values_of(benchmark: Benchmark, output: Output, node: str) -> Iterator[ImportedValue]:
    """Positive numbers of each metric and what it belongs to, the median of several; the main figure first.

    Numbers in the name of the main figure are left out: they say how large the problem was, words say of what it is.
    """
    metrics = {metric.name: metric for metric in benchmark.metrics}
    groups: defaultdict[str, list[float]] = defaultdict(list)
    of_name = {}
    for result in output.results:
        if result.metric in metrics and result.value > 0 and not metrics[result.metric].of_result:
            name = _name(benchmark, result.metric, result.labels)
            groups[name].append(result.value)
            of_name[name] = metrics[result.metric]
    best = benchmark.main_result(output)
    if best is not None and (whole := _name(benchmark, best.metric, best.labels)) in groups:
        words = {label: value for label, value in best.labels.items() if isinstance(value, str)}
        numbers = [best.value] if "bytes" in best.labels else groups.pop(whole)
        yield _median(_name(benchmark, best.metric, words), of_name[whole], node, numbers, main=True)
    for name, numbers in groups.items():
        yield _median(name, of_name[name], node, numbers)


def _name(benchmark: Benchmark, metric: str, labels: Mapping[str, Label]) -> str:
    return " ".join((benchmark.name, metric, *(f"{name}={value}" for name, value in labels.items() if value != "")))


def _median(name: str, metric: Metric, node: str, numbers: Sequence[float], *, main: bool = False) -> ImportedValue:
    middle = sorted(numbers)[(len(numbers) - 1) // 2]
    return ImportedValue(metric=name, unit=metric.unit, sense=metric.sense, node=node, value=middle, main=main)


def last_number(source: Source, text: str, sense: Sense) -> Batch:
    """The last number of the last line that has one, of a program that is not a known benchmark. Raises UsageError."""
    last = [numbers[-1] for line in text.splitlines() if (numbers := NUMBER.findall(line))]
    value = float(last[-1]) if last else 0.0
    if not 0 < value < float("inf"):
        raise UsageError(
            "The output has no positive number in its last line with numbers.",
            "Give a benchmark of `seatrial bench list`, or a program that ends with a line like `rate 12.5`.",
        )
    number = ImportedValue(metric="value", unit="", sense=sense, node=ALL_NODES, value=value)
    return Batch(label=source.file, source=msgspec.structs.replace(source, form=LAST_LINE), values=(number,))
