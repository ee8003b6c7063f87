"""The benchmark in Python that the documentation shows works as it is, and is short."""

import re
import sys
from types import ModuleType

import pytest

from seatrial.benchmarks import gates
from seatrial.benchmarks.declaration import Benchmark, completed
from seatrial.judgement.benchmark_result import word_of_output
from seatrial.model.benchmark import BenchmarkRequest
from seatrial.model.verdict import INCOMPLETE
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "benchmarks.md"
MOST_LINES = 60
GOOD = "Ring of 4 ranks\nround 1: 12.5 us, token 4\nround 2: 11.0 us, token 8\nclosed\n"


def code() -> str:
    section = PAGE.read_text(encoding="utf-8").partition("## A benchmark in Python\n")[2]
    match = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert match is not None
    return match[1]


@pytest.fixture(scope="module")
def ring() -> Benchmark:
    module = ModuleType("ring")
    sys.modules.pop("ring", None)
    exec(compile(code(), "ring.py", "exec"), module.__dict__)  # noqa: S102 - our own documentation
    declared = module.BENCHMARK
    assert isinstance(declared, Benchmark)
    return declared


def test_it_is_short() -> None:
    assert sum(bool(line.strip()) for line in code().splitlines()) < MOST_LINES


def test_its_numbers_are_read(ring: Benchmark) -> None:
    output = gates.judge(ring, ring.parse(GOOD))
    assert word_of_output(output) == "MEASURED"
    assert output.values("time_s") == [12.5e-6, 11e-6]
    assert output.work("ranks") == 4


def test_what_was_cut_off_is_incomplete(ring: Benchmark) -> None:
    for cut in range(len(GOOD)):
        assert word_of_output(ring.parse(GOOD[:cut])) == INCOMPLETE, cut


@pytest.mark.parametrize(
    ("old", "new", "gate"), [("token 8", "token 7", "work-skipped"), ("11.0 us", "nan us", "not-a-number")]
)
def test_its_gates(ring: Benchmark, old: str, new: str, gate: str) -> None:
    output = gates.judge(ring, ring.parse(GOOD.replace(old, new)))
    assert [breach.kind.value for breach in output.breaches] == [gate]


def test_it_can_be_run(ring: Benchmark) -> None:
    launch = ring.launch
    assert launch is not None
    made = launch.plan(
        BenchmarkRequest(
            program="ring", nodes=2, ranks_per_node=3, parameters=completed({"rounds": "7"}, launch.parameters)
        )
    )
    assert made.steps[0].argv == ("ring", "7")
    assert made.expected == {"ranks": "6"}
