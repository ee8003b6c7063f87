"""docs/architecture.md is true: its tree, its layers, its three walks, its glossary and the files of its recipes."""

import ast
import importlib
import pkgutil
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import seatrial
from seatrial.model.node_trials import Measure
from tests.support import house
from tests.support.documents import headings, named_rows, section
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text()
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
LAYERS: list[str] = next(one["layers"] for one in CONTRACTS if one.get("containers") == ["seatrial"])
STEP = re.compile(r"^( *)\d+\. `([\w.]+)`: \S", re.MULTILINE)
WALKS = [title for level, title, _, _ in headings(section(PAGE, "Three walks")) if level == 3]
RECIPES = [title for level, title, _, _ in headings(section(PAGE, "Recipes")) if level == 3]
MOST_FILES = {
    "A rule on a known fact": 4,
    "A probe kernel": 4,
    "A figure of a node": 3,
    "A lab fault": 3,
    "An importer": 3,
    "A cause of a failed start": 2,
    "A benchmark": 3,
    "A command of 50 lines": 6,
}
TERMS = [
    "allocation",
    "baseline",
    "configuration",
    "finding",
    "keeper",
    "limit",
    "link",
    "pair",
    "peer group",
    "rank",
    "retest",
    "sample",
    "survey",
    "threshold",
    "uplink",
]


class Step(NamedTuple):
    """One function of a walk, and the one that calls it; a walk begins with a step that nothing calls."""

    caller: str | None
    name: str


def steps(text: str) -> Iterator[Step]:
    """The steps of a numbered list: each is called by the last one that is indented less."""
    above: list[tuple[int, str]] = []
    for indent, name in ((len(found[1]), found[2]) for found in STEP.finditer(text)):
        while above and above[-1][0] >= indent:
            above.pop()
        yield Step(above[-1][1] if above else None, name)
        above.append((indent, name))


def module_of(name: str) -> str | None:
    """`launch.session.PipeSession.measure` -> `seatrial.launch.session`; None if no such object exists."""
    parts = ["seatrial", *name.split(".")]
    for end in range(len(parts) - 1, 1, -1):
        module = ".".join(parts[:end])
        try:
            found: object = importlib.import_module(module)
        except ModuleNotFoundError:
            continue
        for attribute in parts[end:]:
            found = getattr(found, attribute, None)
        return module if found is not None else None
    return None


def layer_of(name: str) -> int:
    """The line of the layers contract in which the folder of `name` is, counted from the top."""
    return next(line for line, folders in enumerate(LAYERS) if name.split(".", maxsplit=1)[0] in folders.split(" | "))


@cache
def imported_by(module: str) -> frozenset[str]:
    """Modules that a module imports, inside functions and for types as well; `from a import b` counts as a and a.b."""
    spec = importlib.import_module(module).__spec__
    assert spec is not None and spec.origin is not None
    names: set[str] = set()
    for node in house.nodes(house.tree(Path(spec.origin))):
        if isinstance(node, ast.Import):
            names.update(one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update([node.module, *(f"{node.module}.{one.name}" for one in node.names)])
    return frozenset(names)


def walk_problems(text: str) -> list[str]:
    """What is wrong with a walk: functions that do not exist, steps up a layer, callers that do not import."""
    problems = []
    for caller, name in steps(text):
        module = module_of(name)
        if module is None:
            problems.append(f"{name}: does not exist")
            continue
        above = module_of(caller) if caller else None
        if caller is None or above is None:
            continue
        if layer_of(name) < layer_of(caller):
            problems.append(f"{caller} -> {name}: goes up a layer")
        elif module != above and module not in imported_by(above):
            problems.append(f"{caller} -> {name}: {above} does not import {module}")
    return problems


def test_the_layers_are_those_of_the_import_contract() -> None:
    block = re.search(r"```\n(.*?)```", section(PAGE, "The layers"), re.DOTALL)
    assert block
    assert block[1].split("\n")[:-1] == LAYERS


def test_every_folder_of_the_tree_has_a_row_and_exists() -> None:
    rows = [path for cell in named_rows(section(PAGE, "The tree"), "folder", "contents") for path in cell.split("`, `")]
    assert [path for path in rows if not (ROOT / path).is_dir()] == []
    packages = {f"src/seatrial/{one.name}/" for one in pkgutil.iter_modules(seatrial.__path__) if one.ispkg}
    assert packages - set(rows) == set()


def test_there_are_three_walks() -> None:
    assert WALKS == ["A sample to a finding", "A fact to a finding", "An option to where it acts"]


@pytest.mark.parametrize("title", WALKS)
def test_a_walk_exists_and_never_goes_up_a_layer(title: str) -> None:
    walk = section(PAGE, title)
    found = list(steps(walk))
    assert len(found) >= 5
    assert len(found) == len(re.findall(r"^ *\d+\. ", walk, re.MULTILINE)), "a step that is not `module.function`: text"
    assert walk_problems(walk) == []


def test_every_term_of_the_glossary_has_its_row() -> None:
    rows = [term.strip("*") for term in named_rows(section(PAGE, "Glossary"), "term", "meaning")]
    assert rows == TERMS


def recipe_files(title: str) -> list[str]:
    """The files that a recipe touches."""
    return named_rows(section(PAGE, title), "file", "change")


def test_there_is_a_recipe_for_everything_that_is_often_added() -> None:
    assert list(MOST_FILES) == RECIPES


@pytest.mark.parametrize("title", RECIPES)
def test_the_files_of_a_recipe_exist(title: str) -> None:
    files = recipe_files(title)
    assert [path for path in files if not (ROOT / path).exists()] == []
    assert len(files) <= MOST_FILES[title]


def test_every_figure_of_a_node_is_documented() -> None:
    """The temperature is a figure of soaks alone."""
    page = (ROOT / "docs" / "nodes.md").read_text()
    assert [measure for measure in Measure if f"`{measure}`" not in page] == [Measure.HEAT]
    assert f"`{Measure.HEAT}`" in (ROOT / "docs" / "soak.md").read_text()


class TestTheseTestsCanFail:
    """A walk with an error in it is refused."""

    @pytest.mark.parametrize(
        ("walk", "problem"),
        [
            ("1. `driver.measurer.Measurer.vanish`: x", "driver.measurer.Measurer.vanish: does not exist"),
            ("1. `nowhere.at.all`: x", "nowhere.at.all: does not exist"),
            (
                "1. `statistics.estimates.median`: x\n   1. `frame.command_line.run`: x",
                "statistics.estimates.median -> frame.command_line.run: goes up a layer",
            ),
            (
                "1. `frame.command_line.run`: x\n   1. `node.frame.parse_frame`: x",
                "frame.command_line.run -> node.frame.parse_frame: "
                "seatrial.frame.command_line does not import seatrial.node.frame",
            ),
        ],
    )
    def test_walks(self, walk: str, problem: str) -> None:
        assert walk_problems(walk) == [problem]

    def test_callers(self) -> None:
        text = "1. `a`: x\n   1. `b`: x\n      1. `c`: x\n   2. `d`: x\n2. `e`: x\n"
        assert list(steps(text)) == [Step(None, "a"), Step("a", "b"), Step("b", "c"), Step("a", "d"), Step(None, "e")]
