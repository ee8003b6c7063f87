"""Numbers and the words that depend on them agree: `1 node is`, `2 nodes are`."""

import ast
import re
from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace

from seatrial.commands.scale.judge import judge_curve
from seatrial.commands.scale.points import curves_of_table
from seatrial.driver.node_selection import _too_little
from seatrial.limits.node import summed
from seatrial.model.limit import LimitTerm
from seatrial.model.words import count, verb
from seatrial.rules.base import Readings
from seatrial.rules.memory import slow_memory
from seatrial.statistics.scaling import fit_amdahl
from tests.support import house
from tests.support.facts_examples import server
from tests.support.paths import ROOT

SOURCES = sorted((ROOT / "src" / "seatrial").rglob("*.py"))
PLURAL = re.compile(r" (?!(?:is|has|was|its|this|does|less|as|us|across|runs)\b)[a-z]+s\b")
GUARDED = {
    "benchmarks/openfoam_gates.py": 6,
    "model/node_list.py": 1,
    "render/fact_text.py": 1,
    "render/node_trials.py": 1,
    "rules/ranks.py": 1,
    "statistics/concurrent_flows.py": 1,
    "statistics/estimates.py": 1,
    "statistics/max_rate.py": 2,
    "statistics/segments.py": 2,
}
"""Numbers before plurals that are never 1: a condition above the line, or the method, requires more."""


def uncounted(module: ast.Module) -> Iterator[str]:
    """Each `{len(…)} nouns` of an f-string: wrong for one noun. `words.count` is right for any number."""
    for node in house.nodes(module):
        if not isinstance(node, ast.JoinedStr):
            continue
        for value, text in zip(node.values, node.values[1:], strict=False):
            counted = isinstance(value, ast.FormattedValue) and _is_length(value.value)
            if counted and isinstance(text, ast.Constant) and (match := PLURAL.match(str(text.value))):
                yield f"line {node.lineno}: {ast.unparse(value)}{match[0]}"


def _is_length(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in ("len", "sum")


def test_what_is_counted_has_its_number() -> None:
    for file in SOURCES:
        name = str(file.relative_to(ROOT / "src" / "seatrial"))
        places = list(uncounted(house.tree(file)))
        assert len(places) <= GUARDED.get(name, 0), f"{name}: {places}"


def test_the_lint_finds_what_it_is_for() -> None:
    module = ast.parse('f"{len(names)} nodes have it"; f"{count(len(names), \'node\')} have it"; f"{len(names)} has"')
    assert [place.partition(": ")[2][-6:] for place in uncounted(module)] == [" nodes"]


def slow_modules(number: int) -> str:
    facts = server("n1")
    (dimm, *_) = facts.memory.dimms
    slow = replace(dimm, configured_transfers_per_s=2.4e9, rated_transfers_per_s=3.2e9)
    slowed = replace(facts, memory=replace(facts.memory, dimms=(slow,) * number))
    return next(iter(slow_memory(Readings(facts={"n1": slowed})))).clause


def scale_note(number: int) -> str:
    (curve,) = curves_of_table("nodes,rate\n1,5\n2,9\n" + "4,\n" * number, "t.csv", "", (), "")
    return judge_curve(curve, weak=False).notes[0]


def repeated_rows(number: int) -> str:
    (curve,) = curves_of_table("nodes,rate,cells\n1,5,7\n2,9,7\n" + "1,5,7\n" * number, "t.csv", "", (), "")
    return judge_curve(curve, weak=False).notes[0]


def too_little(number: int) -> str:
    return str(_too_little(0.1, number, "", number, 1.0))


def ports(number: int) -> str:
    term = LimitTerm(name="n1 a: port", bytes_per_s=1.0, inputs={}, source="", formula="")
    return summed("n1 a", (term,) * number).name


def sizes(number: int) -> str:
    return fit_amdahl([1.0 + place for place in range(number)], [1.0] * number).refused


@pytest.mark.parametrize(
    ("message", "singular", "plural"),
    [
        (lambda number: f"{count(number, 'node')} {verb(number)}", "1 node is", "2 nodes are"),
        (slow_modules, "1 memory module runs at", "2 memory modules run at"),
        (scale_note, "1 run has no positive number and is left out", "2 runs have no positive number and are left out"),
        (repeated_rows, "1 row repeats another run in every number; it", "2 rows repeat another run in every number"),
        (too_little, "1 node is asked for with a time limit of 1 minute.", "2 nodes are asked for with a time limit"),
        (ports, "1 port together", "2 ports together"),
        (sizes, "1 size; 6 are needed", "2 sizes; 6 are needed"),
    ],
)  # fmt: skip
def test_messages_agree_with_their_numbers(message: Callable[[int], str], singular: str, plural: str) -> None:
    assert singular in message(1)
    assert plural in message(2)
