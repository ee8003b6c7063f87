"""The house rules that can be counted."""

import ast
import statistics
from pathlib import Path

import pytest

from tests.support.paths import ROOT

SOURCES = sorted([*ROOT.glob("src/seatrial/**/*.py"), *ROOT.glob("probe/**/*.[ch]"), *ROOT.glob("tests/**/*.py")])


def test_files_are_small() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in SOURCES}
    assert {path.name: length for path, length in lengths.items() if length > 400} == {}
    assert statistics.median(lengths.values()) < 150


@pytest.mark.parametrize("path", sorted(ROOT.glob("src/seatrial/**/*.py")), ids=lambda path: path.name)
def test_functions_are_small_and_public_ones_say_what_they_do(path: Path) -> None:
    module = ast.parse(path.read_text())
    classes = [item for item in module.body if isinstance(item, ast.ClassDef)]
    holders: list[ast.Module | ast.ClassDef] = [module, *classes]
    for function in (item for holder in holders for item in holder.body if isinstance(item, ast.FunctionDef)):
        assert function.end_lineno is not None
        assert function.end_lineno - function.body[0].lineno < 50, f"{function.name} is too long"
        assert function.name.startswith("_") or ast.get_docstring(function), (
            f"{function.name} does not say what it does"
        )


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_nothing_of_this_machine_is_in_the_sources(path: Path) -> None:
    for folder in ("root", "work"):
        assert f"/{folder}/" not in path.read_text()
