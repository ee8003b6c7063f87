"""The house rules that can be counted, and the bounds on what does not keep them yet.

`python -m tests.support.house` tightens the bounds to today's counts. It never loosens one.
"""

import ast
import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import msgspec

from tests.support import wording
from tests.support.paths import DATA, ROOT

FILE = DATA / "house" / "bounds.json"
SOURCES = sorted(ROOT.glob("src/seatrial/**/*.py"))
JUDGING = ("locate/", "judgement/", "experiment/", "pairs/", "statistics/", "commands/check/")
"""Rooms that decide what is at fault."""
SHORT_LINES = 40
LONG_LINES = 50

NOT_NOUNS = re.compile(
    r"(?:apart|proved|direct|left_open|usual|enough|excuses|under_way|told|found|known|said|here|there|now|one|each"
    r"|inside|outside|beside|between|again|anew|dead|dense|sparse|complete|additive|common"
    r"|utils?|helpers?|misc|stuff|tools"
    r"|(?:paired|placed|loaded|routed|recorded|submitted|detached|averaged|taken|given|shown|wanted|needed|judged|left))"
)
"""File names that say nothing of what is inside: adjectives, participles, prepositions, and drawers for anything."""
FRAGMENT = re.compile(r"(?:Of|By|Where|The same|As|Those|With|For|In|From|Without|That)\b|\.\.\.")
"""Openings of docstrings that only their neighbours explain."""
FLEETING = frozenset({"one", "each", "told", "found", "known", "said", "here", "there", "now"})
"""Names that no value has that outlives a comprehension."""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What does not keep the rules yet. Counts and lists may only become smaller."""

    short_files: tuple[str, ...]
    """Files of src with fewer than 40 lines."""
    odd_names: tuple[str, ...]
    """Files of src whose name is not a noun."""
    imports_inside_functions: int
    fleeting_names: int
    """Values in src that are called `one`, `each`, `told`, `found`, `known`, `said`, `here`, `there` or `now`."""
    phrases: dict[str, int]
    """How often each phrase to avoid occurs."""
    unused_names: tuple[str, ...]
    """Functions, classes, methods and constants of src that nothing in src uses, at most tests."""
    judging_lines: int
    """Lines of the `JUDGING` rooms."""
    judging_constants: int
    """Named numeric constants of the `JUDGING` rooms."""

    def tightened(self, counted: "Bounds") -> "Bounds":
        """The smaller of both in every part."""
        return Bounds(
            short_files=tuple(name for name in self.short_files if name in counted.short_files),
            odd_names=tuple(name for name in self.odd_names if name in counted.odd_names),
            imports_inside_functions=min(self.imports_inside_functions, counted.imports_inside_functions),
            fleeting_names=min(self.fleeting_names, counted.fleeting_names),
            phrases={
                name: smaller for name, most in self.phrases.items() if (smaller := min(most, counted.phrases[name]))
            },
            unused_names=tuple(name for name in self.unused_names if name in counted.unused_names),
            judging_lines=min(self.judging_lines, counted.judging_lines),
            judging_constants=min(self.judging_constants, counted.judging_constants),
        )


def relative(path: Path) -> str:
    """`cli/main.py`."""
    return path.relative_to(ROOT / "src" / "seatrial").as_posix()


@functools.cache
def lines(path: Path) -> int:
    """How many lines a file has."""
    return len(path.read_text().splitlines())


@functools.cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a Python file."""
    return wording.parsed(path.read_text())


@functools.cache
def nodes(module: ast.AST) -> tuple[ast.AST, ...]:
    """All nodes of a syntax tree."""
    return tuple(ast.walk(module))


def short_files() -> tuple[str, ...]:
    """Files with fewer than 40 lines, except those that only declare a package or start it."""
    return tuple(
        relative(path) for path in SOURCES if lines(path) < SHORT_LINES and not path.name.startswith("__")
    )  # fmt: skip


def odd_names() -> tuple[str, ...]:
    """Files whose name says nothing of what is inside."""
    return tuple(relative(path) for path in SOURCES if NOT_NOUNS.fullmatch(path.stem))


def unruly_functions(module: ast.Module) -> tuple[str, ...]:
    """Functions of a module and its classes with 50 lines or more, and public ones without a docstring."""
    classes = [item for item in module.body if isinstance(item, ast.ClassDef)]
    holders: list[ast.Module | ast.ClassDef] = [module, *classes]
    found = []
    for function in (item for holder in holders for item in holder.body if isinstance(item, ast.FunctionDef)):
        if (function.end_lineno or 0) - function.body[0].lineno >= LONG_LINES:
            found.append(f"{function.name} is too long")
        if not function.name.startswith("_") and not ast.get_docstring(function):
            found.append(f"{function.name} does not say what it does")
    return tuple(found)


def docstrings(module: ast.Module) -> Iterator[str]:
    """Docstrings of a module, its classes and functions, and those below constants and fields."""
    for node in nodes(module):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for item in node.body:
                if isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant):
                    yield str(item.value.value)


def docstring_fragments(module: ast.Module) -> tuple[str, ...]:
    """Docstrings that only their neighbours explain."""
    return tuple(text for text in docstrings(module) if FRAGMENT.match(text.strip()))


def repeated_classes(modules: Mapping[str, ast.Module]) -> dict[str, tuple[str, ...]]:
    """Name of a class -> the modules that define it, of names that are used more than once."""
    places: dict[str, list[str]] = {}
    for path, module in modules.items():
        for node in nodes(module):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(path)
    return {name: tuple(paths) for name, paths in places.items() if len(paths) > 1}


def imports_inside_functions(module: ast.Module) -> int:
    """Import statements inside functions, each counted once."""
    functions = [node for node in nodes(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    within = {line for node in functions for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    return sum(node.lineno in within for node in nodes(module) if isinstance(node, ast.Import | ast.ImportFrom))


def fleeting_names(module: ast.AST) -> int:
    """Assignments, loop variables and parameters with a fleeting name; those of comprehensions and lambdas are fine."""
    fleeting = [node for node in nodes(module) if _is_fleeting(node)]
    inside = [node for node in nodes(module) if isinstance(node, ast.comprehension | ast.Lambda)] if fleeting else []
    return len({*fleeting} - {within for node in inside for within in ast.walk(node)})


def _is_fleeting(node: ast.AST) -> bool:
    if isinstance(node, ast.Name):
        return isinstance(node.ctx, ast.Store) and node.id in FLEETING
    return isinstance(node, ast.arg) and node.arg in FLEETING


def unused_names(modules: Mapping[str, ast.Module], templates: str = "") -> tuple[str, ...]:
    """`locate/table.py: medians`: what a module defines, and no module names and no template.

    Commands and methods that override its own are used by click, and methods of two underscores by Python.
    """
    used = set(re.findall(r"\w+", templates)) | {name for module in modules.values() for name in _names_used(module)}
    return tuple(
        f"{path}: {name}"
        for path, module in modules.items()
        for name in _names_defined(module)
        if name not in used and not name.startswith("__")
    )


def _names_defined(holder: ast.Module | ast.ClassDef) -> Iterator[str]:
    for item in holder.body:
        if isinstance(item, ast.FunctionDef | ast.ClassDef):
            if not any(re.search(r"\.(command|group)\(", ast.unparse(decorator)) for decorator in item.decorator_list):
                yield item.name
            if isinstance(item, ast.ClassDef):
                methods = (each.name for each in item.body if isinstance(each, ast.FunctionDef))
                yield from (name for name in methods if not hasattr(click.Group, name))
        elif isinstance(holder, ast.Module) and isinstance(item, ast.Assign | ast.AnnAssign):
            targets = item.targets if isinstance(item, ast.Assign) else [item.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def _names_used(module: ast.Module) -> Iterator[str]:
    for node in nodes(module):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            yield node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, ast.ImportFrom):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"[\w.:-]+", node.value):
            yield from re.findall(r"\w+", node.value)


def judging_lines() -> dict[str, int]:
    """Lines of each of the `JUDGING` rooms."""
    return {room: sum(lines(path) for path in SOURCES if relative(path).startswith(room)) for room in JUDGING}


def judging_constants() -> dict[str, int]:
    """Named numeric constants of each of the `JUDGING` rooms."""
    return {
        room: sum(numeric_constants(tree(path)) for path in SOURCES if relative(path).startswith(room))
        for room in JUDGING
    }


def numeric_constants(module: ast.Module) -> int:
    """How many names of a module are given a number, or a tuple or mapping that holds nothing but numbers."""
    values = [item for item in module.body if isinstance(item, ast.Assign | ast.AnnAssign) and item.value is not None]
    return sum(_numbers(item) for item in values)


def _numbers(item: ast.Assign | ast.AnnAssign) -> int:
    (target,) = item.targets if isinstance(item, ast.Assign) else (item.target,)
    names = target.elts if isinstance(target, ast.Tuple) else [target]
    leaves = [
        node
        for node in ast.walk(item.value or target)
        if isinstance(node, ast.Constant | ast.Name | ast.Call | ast.Attribute)
    ]
    keys = {id(key) for node in ast.walk(item) if isinstance(node, ast.Dict) for key in node.keys}
    numbers = [
        isinstance(node, ast.Constant) and isinstance(node.value, int | float)
        for node in leaves
        if id(node) not in keys
    ]
    return len(names) if numbers and all(numbers) else 0


def templates() -> str:
    """The pages' templates, which use properties of records."""
    return "".join(path.read_text() for path in sorted(ROOT.glob("src/seatrial/**/*.j2")))


def counted() -> Bounds:
    """Today's state."""
    return Bounds(
        short_files=short_files(),
        odd_names=odd_names(),
        imports_inside_functions=sum(imports_inside_functions(tree(path)) for path in SOURCES),
        fleeting_names=sum(fleeting_names(tree(path)) for path in SOURCES),
        phrases=wording.counts(),
        unused_names=unused_names({relative(path): tree(path) for path in SOURCES}, templates()),
        judging_lines=sum(judging_lines().values()),
        judging_constants=sum(judging_constants().values()),
    )


def read_bounds() -> Bounds:
    """The bounds that are kept in the repository."""
    return msgspec.json.decode(FILE.read_bytes(), type=Bounds)


BOUNDS = read_bounds()

if __name__ == "__main__":
    FILE.write_bytes(msgspec.json.format(msgspec.json.encode(BOUNDS.tightened(counted())), indent=1) + b"\n")
