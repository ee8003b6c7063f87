"""What one start of a program of the site shows: its output, read through a declaration, with all gates."""

import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from seatrial.benchmarks import catalogue, gates, generic
from seatrial.benchmarks.declaration import Benchmark
from seatrial.failures.start_failure import explain
from seatrial.judgement.benchmark_result import limits_of_nodes
from seatrial.model.benchmark import Output, StepResult
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.facts import NodeFacts
from seatrial.model.settings import SiteProgram


class BadOutput(SeatrialError):
    """A start without an output that can be used."""


class StartOutput(NamedTuple):
    """What one start printed, and the benchmark that it is of."""

    benchmark: Benchmark
    output: Output
    """Complete; gates may show that it is wrong."""


def declared_by(program: SiteProgram) -> Benchmark | None:
    """The benchmark of the file that declares the program; None: its output shows which it is."""
    return generic.generic_benchmark(program.definition, program.declared) if program.definition else None


def read_start(
    program: SiteProgram, step: StepResult, nodes: Sequence[str], facts: Mapping[str, NodeFacts] | None = None
) -> StartOutput:
    """The output of a start on `nodes`, compared with the limits that `facts` of these nodes give.

    A program may end with an error since it found one: a complete output that says what is wrong counts. Raises
    BadOutput where there is none that can be used.
    """
    if step.timed_out:
        raise BadOutput(f"it did not end within {step.seconds:.0f} s")
    try:
        read = _read(program, step, facts or {})
    except BadOutput:
        if step.returncode == 0:
            raise
        read = None
    # an output that itself shows a fault says why its program ended with an error
    if read and (not step.returncode or any(one.kind in read.benchmark.gates for one in read.output.breaches)):
        return read
    failure = explain(f"{step.errors}\n{step.output}", nodes)
    code = f"signal {-step.returncode}" if step.returncode < 0 else f"exit code {step.returncode}"
    raise BadOutput(f"{code}, without a message" if failure.silent else failure.meaning.rstrip("."))


def _read(program: SiteProgram, step: StepResult, facts: Mapping[str, NodeFacts]) -> StartOutput:
    """Raises BadOutput for what is incomplete, or not of a benchmark that is known."""
    benchmark = declared_by(program)
    try:
        if benchmark is not None:
            output = catalogue.parse_as(benchmark, step.output)
        else:  # the command line says up to which message size tables go on
            benchmark, output = catalogue.parse_auto(f"{shlex.join(program.words)}\n{step.output}")
    except UsageError as error:
        raise BadOutput(f"its output cannot be read: {error.what}") from error
    if benchmark is not None:
        output = gates.judge(benchmark, output, limits_of_nodes(benchmark, facts))
    if benchmark is None or not output.complete:
        raise BadOutput(f"its output is incomplete: {output.missing[0]}")
    return StartOutput(benchmark, output)
