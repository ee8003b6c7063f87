"""Every regular expression of the tree that may see text from outside, and how it is applied."""

import ast
import builtins
import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import seatrial
from seatrial.failures.cause import causes, reasons
from seatrial.limits.microarchitectures import recognise, table
from tests.support import house

METHODS = ("match", "fullmatch", "search", "findall", "finditer", "sub", "subn", "split")
ANCHORED = "seatrial.drift."
"""Tables of patterns that are applied with `match` or `fullmatch`; those of others with `search`."""
READING = {"search": (0,), "matches": (0,), "runs": (0, 1)}
"""Methods of `benchmarks.reading.Reading` -> which of their arguments are patterns, applied with `search`."""
OUR_OWN = ("seatrial.lab.", "seatrial.__main__")
"""Rooms that read only what they wrote."""
FAILURES = "seatrial.failures."
FIELDS = ("pattern", "mark", "marks", "named", "called")
"""Fields of records that are patterns."""
FROM_RECORDS = frozenset({
    "mark", "each.pattern", "kind.pattern", "pattern", "line.named", "line.called",
    "one_of(self.look)", "one_of(self.also)", "one_of(self.unless)", "one_of(pending.look)", "expression", "head",
    "end", "closing", "rule_of(text, '#')", "rule_of(text, '-')", "rule_of(text, '=')", "pattern.pattern",
    "spec.complete", "gate.forbidden", "gate.required",
})  # fmt: skip
"""Arguments that are a field of a record, or that `READING` sees; `spec` and `gate` are from a file of the user's."""
CAUSES = {"look": "finditer", "also": "search", "unless": "search", "where": "findall", "peer": "findall"}
"""Fields of the causes in `failures/causes/*.toml` that are patterns -> how they are applied."""
WORDS = ("translations", "words")
"""Tables there without causes."""


class Applied(NamedTuple):
    """A pattern, the module in which it is applied, and by which method."""

    module: str
    pattern: str
    flags: int
    method: str


class Unknown:
    """Stands for a value that only a call has; as text it is one letter."""

    def __getattr__(self, name: str) -> "Unknown":
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __str__(self) -> str:
        return "x"

    def __format__(self, form: str) -> str:
        return "x"


class Names(dict[str, Any]):
    """Names of a module; any other is a value that only a call has."""

    def __missing__(self, name: str) -> object:
        return getattr(builtins, name, Unknown())


def modules() -> Iterator[ModuleType]:
    """All modules of the product that may see text from outside."""
    for found in pkgutil.walk_packages(seatrial.__path__, "seatrial."):
        if not found.name.startswith(OUR_OWN):
            yield importlib.import_module(found.name)


@cache
def applied() -> tuple[Applied, ...]:
    """All patterns of the tree. Raises LookupError for a pattern that cannot be seen from outside a call."""
    found: dict[Applied, None] = {}
    trees = {module: _calls(Path(module.__file__)) for module in modules() if module.__file__}
    from_others = _methods(trees.values(), ast.Attribute)
    for module, tree in trees.items():
        found.update(dict.fromkeys(_written_out(module, tree)))
        methods = _methods([tree], ast.Name)
        for name, value in vars(module).items():
            used = methods.get(name, ()) + from_others.get(name, ())
            found.update(dict.fromkeys(_held(module.__name__, value, used, set())))
    found.update(dict.fromkeys(_held(recognise.__module__, table(), (), set())))
    found.update(dict.fromkeys(_of_causes()))
    owned: dict[tuple[object, ...], Applied] = {}
    for each in sorted(found, key=lambda each: not each.module.startswith(FAILURES)):  # others import theirs
        owned.setdefault(each[1:], each)
    return tuple(owned.values())


def _of_causes() -> Iterator[Applied]:
    """Patterns of all tables of causes, named by their table."""
    for path in sorted(Path(seatrial.__path__[0], "failures", "causes").glob("*.toml")):
        for cause in reasons() if path.stem == "pending" else causes(path.stem) if path.stem not in WORDS else ():
            for field, method in CAUSES.items():
                inside = getattr(cause, field, ())
                for pattern in (inside,) if isinstance(inside, str) else inside:
                    yield Applied(f"{FAILURES}{path.name}", pattern, 0, method)


def _calls(path: Path) -> list[ast.AST]:
    """All of a module that may apply a pattern."""
    return [node for node in house.nodes(house.tree(path)) if isinstance(node, ast.Attribute | ast.Call)]


def _methods(trees: Iterable[list[ast.AST]], kind: type[ast.Name | ast.Attribute]) -> dict[str, tuple[str, ...]]:
    """Names of patterns, alone or behind the name of a module -> the methods that are called on them."""
    methods: dict[str, set[str]] = {}
    for tree in trees:
        for node in tree:
            if isinstance(node, ast.Attribute) and node.attr in METHODS and isinstance(node.value, kind):
                name = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
                methods.setdefault(name, set()).add(node.attr)
    return {name: tuple(sorted(used)) for name, used in methods.items()}


def _written_out(module: ModuleType, tree: list[ast.AST]) -> Iterator[Applied]:
    """Patterns in the arguments of `re.search` and the like, and of a reading's methods."""
    for node in tree:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Reading":
            for word in (each.value for each in node.keywords if each.arg == "closing"):
                yield from _texts(module, word, 0, "fullmatch")
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        owner, method = node.func.value, node.func.attr
        if isinstance(owner, ast.Name) and owner.id == "re" and method in METHODS:
            words = [ast.unparse(word) for word in (*node.args[1:], *(each.value for each in node.keywords))]
            flags = eval(next((word for word in words if re.match(r"re\.[A-Z]", word)), "0"), vars(module))  # noqa: S307
            yield from _texts(module, node.args[0], int(flags), method)
        elif isinstance(owner, ast.Name) and owner.id in ("reading", "self") and method in READING:
            for place in READING[method]:
                yield from _texts(module, node.args[place], 0, "search")


def _value(module: ModuleType, word: ast.expr) -> object:
    names = Names(vars(module))
    names["re"] = _Lenient
    try:
        return eval(compile(ast.Expression(word), "pattern", "eval"), names)  # noqa: S307 - our own source
    except TypeError:
        return Unknown()


class _Lenient:
    """`re` whose `escape` takes what only a call has."""

    @staticmethod
    def escape(text: object) -> str:
        return re.escape(str(text))


def _texts(module: ModuleType, word: ast.expr, flags: int, method: str) -> Iterator[Applied]:
    value = _value(module, word)
    if isinstance(value, str):
        yield Applied(module.__name__, value, flags, method)
    elif isinstance(value, re.Pattern):
        yield Applied(module.__name__, value.pattern, value.flags, method)
    elif ast.unparse(word) not in FROM_RECORDS:
        raise LookupError(f"{module.__name__}:{word.lineno}: {ast.unparse(word)}: use a constant or a record's field")


def _held(module: str, value: object, methods: tuple[str, ...], seen: set[int]) -> Iterator[Applied]:
    """Compiled patterns in a module's value, and texts in those fields of its records that are patterns."""
    if id(value) in seen or isinstance(value, str | bytes | int | float | type | ModuleType):
        return
    seen.add(id(value))
    of_table = "match" if module.startswith(ANCHORED) else "search"
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield from (
                Applied(module, value.pattern, value.flags & ~re.UNICODE, method) for method in methods or (of_table,)
            )
        return
    fields = getattr(value, "__struct_fields__", None) or getattr(value, "_fields", None) or ()
    for name in fields if isinstance(fields, tuple) else ():
        inside = getattr(value, name, None)
        texts = inside if isinstance(inside, tuple) else (inside,)
        if name in FIELDS:
            flags = re.MULTILINE if name == "marks" else 0
            yield from (Applied(module, text, flags, of_table) for text in texts if isinstance(text, str))
        yield from _held(module, inside, methods, seen)
    if isinstance(value, dict):
        for inside in (*value, *value.values()):
            yield from _held(module, inside, methods, seen)
    elif isinstance(value, tuple | list | frozenset | set):
        for inside in value:
            yield from _held(module, inside, methods, seen)
