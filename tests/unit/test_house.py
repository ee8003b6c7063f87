"""The house rules that can be counted. Exceptions are listed in tests/data/house/bounds.json and may only shrink."""

import ast
import statistics

import pytest

from tests.support import house
from tests.support.house import BOUNDS, SOURCES, lines, relative, tree
from tests.support.paths import ROOT

TESTS = sorted(ROOT.glob("tests/**/*.py"))
EVERYTHING = [*SOURCES, *TESTS, *sorted(ROOT.glob("probe/**/*.[ch]"))]
MEDIAN_LINES = (100, 200)
"""Of the files of src with any code."""


def test_no_file_has_more_than_400_lines() -> None:
    assert {str(path): lines(path) for path in EVERYTHING if lines(path) > 400} == {}


def test_short_files_are_listed_and_the_list_holds_nothing_else() -> None:
    """Remove a file from the list with `python -m tests.support.house`; add none."""
    assert sorted(house.short_files()) == sorted(BOUNDS.short_files)


def test_the_median_file_is_neither_a_crumb_nor_a_heap() -> None:
    low, high = MEDIAN_LINES
    assert low <= statistics.median(lines(path) for path in SOURCES if lines(path) > 5) <= high


def test_file_names_are_nouns() -> None:
    assert sorted(house.odd_names()) == sorted(BOUNDS.odd_names)


def test_imports_inside_functions_become_fewer() -> None:
    counts = {relative(path): house.imports_inside_functions(tree(path)) for path in SOURCES}
    assert sum(counts.values()) <= BOUNDS.imports_inside_functions, {name: n for name, n in counts.items() if n}


def test_names_that_say_nothing_become_fewer() -> None:
    counts = {relative(path): house.fleeting_names(tree(path)) for path in SOURCES}
    assert sum(counts.values()) <= BOUNDS.fleeting_names, {name: n for name, n in counts.items() if n}


def test_nothing_is_there_for_tests_only() -> None:
    """Move it into tests/support, or delete it."""
    modules = {relative(path): tree(path) for path in SOURCES}
    assert set(house.unused_names(modules, house.templates())) <= set(BOUNDS.unused_names)


def test_the_judging_rooms_become_smaller() -> None:
    """Extend a mechanism rather than add one; `python -m tests.support.house` tightens both bounds."""
    counts, constants = house.judging_lines(), house.judging_constants()
    assert sum(counts.values()) <= BOUNDS.judging_lines, counts
    assert sum(constants.values()) <= BOUNDS.judging_constants, constants


def test_functions_are_small_and_public_ones_say_what_they_do() -> None:
    problems = {relative(path): found for path in SOURCES if (found := house.unruly_functions(tree(path)))}
    assert problems == {}


def test_a_class_name_is_used_once() -> None:
    """Name the class after its room: BenchmarkStep, SwapStep."""
    assert house.repeated_classes({relative(path): tree(path) for path in SOURCES}) == {}


def test_docstrings_are_understood_without_their_neighbours() -> None:
    """Write "Colour of the verdict." rather than "Of the verdict."."""
    problems = {relative(path): found for path in SOURCES if (found := house.docstring_fragments(tree(path)))}
    assert problems == {}


def test_nothing_of_this_machine_is_in_the_sources() -> None:
    folders = [f"/{folder}/" for folder in ("root", "work")]
    texts = {str(path): path.read_text() for path in EVERYTHING}
    assert [path for path, text in texts.items() if any(folder in text for folder in folders)] == []


class TestTheseTestsCanFail:
    def test_functions(self) -> None:
        lines = "\n".join(f"    x = {number}" for number in range(50))
        source = f"class A:\n    def _b(self): ...\n    def c(self): ...\ndef d():\n    'Says.'\n{lines}\n"
        assert house.unruly_functions(ast.parse(source)) == ("d is too long", "c does not say what it does")

    def test_class_names(self) -> None:
        modules = {"a.py": ast.parse("class A: ...\nclass B: ..."), "b.py": ast.parse("def f():\n    class A: ...")}
        assert house.repeated_classes(modules) == {"A": ("a.py", "b.py")}

    def test_docstrings(self) -> None:
        source = "'Of a.'\nA = 1\n'... and b.'\nclass C:\n    'Forms.'\n    d = 1\n    'As A.'\n    def e(f): 'By f.'\n"
        assert sorted(house.docstring_fragments(ast.parse(source))) == ["... and b.", "As A.", "By f.", "Of a."]

    def test_imports_are_counted_once_and_only_inside_functions(self) -> None:
        source = "import a\ndef f():\n    import b\n    def g():\n        from c import d\nclass E:\n    import f\n"
        assert house.imports_inside_functions(ast.parse(source)) == 2

    @pytest.mark.parametrize(
        ("source", "count"),
        [
            ("found = 1", 1),
            ("for one in range(3): pass", 1),
            ("def f(told): return told", 1),
            ("def f():\n    here, now = 1, 2", 2),
            ("[one for one in range(3)]", 0),
            ("sorted([], key=lambda one: one)", 0),
            ("foundry = 1", 0),
        ],
    )
    def test_fleeting_names(self, source: str, count: int) -> None:
        assert house.fleeting_names(ast.parse(source)) == count

    @pytest.mark.parametrize(("name", "odd"), [("usual", True), ("utils", True), ("majority", False)])
    def test_names(self, name: str, *, odd: bool) -> None:
        assert bool(house.NOT_NOUNS.fullmatch(name)) == odd

    def test_unused_names(self) -> None:
        source = (
            "A = 1\nB = A\n@app.command('x')\ndef f(): ...\nclass C:\n    def m(self): self.n()\n    def n(self): ...\n"
        )
        assert house.unused_names({"a.py": ast.parse(source)}, "{{ block.m }}") == ("a.py: B", "a.py: C")
        assert house.unused_names({"a.py": ast.parse(source), "b.py": ast.parse("from a import B, C")}) == ("a.py: m",)

    def test_bounds_only_shrink(self) -> None:
        old = house.Bounds(
            short_files=("a.py", "b.py"),
            odd_names=("dead.py",),
            imports_inside_functions=5,
            fleeting_names=7,
            phrases={"told": 1, "anew": 2, "stands": 3},
            unused_names=("a.py: f", "a.py: g"),
            judging_lines=900,
            judging_constants=30,
        )
        counted = house.Bounds(
            short_files=("b.py", "new.py"),
            odd_names=("new.py",),
            imports_inside_functions=6,
            fleeting_names=6,
            phrases={"told": 0, "anew": 1, "stands": 4},
            unused_names=("a.py: g", "a.py: h"),
            judging_lines=901,
            judging_constants=29,
        )
        assert old.tightened(counted) == house.Bounds(
            short_files=("b.py",),
            odd_names=(),
            imports_inside_functions=5,
            fleeting_names=6,
            phrases={"anew": 1, "stands": 3},
            unused_names=("a.py: g",),
            judging_lines=900,
            judging_constants=29,
        )

    def test_numeric_constants(self) -> None:
        source = (
            "A = 1\nB, C = 0.5, -2.0\nD = {'x': 1.5}\nE = 1 << 20\nF = 'x'\nG = f(1)\nH = A + 1\nI = ()\nJ: int = 3\n"
        )
        assert house.numeric_constants(ast.parse(source)) == 6
