"""Every reader of text from outside, collected from the product: a new one is fuzzed without being added here."""

import importlib
import inspect
import pkgutil
import shlex
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

import seatrial
from seatrial.archive import journal, layout, listing
from seatrial.benchmarks.catalogue import BENCHMARKS, parse_as
from seatrial.benchmarks.gates import judge
from seatrial.fabric import forwarding, ibnetdiscover
from seatrial.files.inputs import decoded
from seatrial.importers.formats import FORMATS, read_matrix
from seatrial.launch.line_parser import Dialect, parse_line
from seatrial.model.node_list import node_list
from seatrial.model.run import RunInfo
from seatrial.node.hwloc_machine import facts_from_xml
from seatrial.recordings.command_text import facts_from_text
from tests.support.paths import DATA

ROOMS = (
    "model",
    "node",
    "fabric",
    "importers",
    "failures",
    "benchmarks",
    "slurm",
    "launch",
    "recordings",
    "archive",
    "commands",
)
TEXTS = {("text", "str"), ("reason", "str"), ("content", "bytes"), ("line", "bytes"), ("line", "str")}
"""Name and type of the only argument that a reader must have."""


class Reader(NamedTuple):
    """`read` takes bytes as they come from a file or a program; it may raise SeatrialError and `also`."""

    name: str
    read: Callable[[bytes], object]
    also: tuple[type[Exception], ...] = ()


def readers() -> list[Reader]:
    """All readers, by name."""
    return sorted([*_functions(), *_tables(), *_others()], key=lambda reader: reader.name)


def _text(content: bytes) -> str:
    return content.decode("utf-8", errors="replace")


def _functions() -> Iterator[Reader]:
    """Public functions whose only necessary argument is a text."""
    for module in pkgutil.walk_packages(seatrial.__path__, "seatrial."):
        if not module.name.startswith(tuple(f"seatrial.{room}." for room in ROOMS)):
            continue
        for name, function in vars(importlib.import_module(module.name)).items():
            if name.startswith("_") or not inspect.isfunction(function) or function.__module__ != module.name:
                continue
            first, *others = [*inspect.signature(function).parameters.values(), None]
            kind = getattr(first.annotation, "__name__", str(first.annotation)) if first else ""
            needed = [other for other in others if other and other.default is inspect.Parameter.empty]
            if first and (first.name, kind) in TEXTS and not needed:
                yield Reader(f"{module.name.removeprefix('seatrial.')}.{name}", _of(function, kind), _named(function))


def _of(function: Callable[..., object], kind: str) -> Callable[[bytes], object]:
    def read(content: bytes) -> object:
        result = function(_text(content) if kind == "str" else content)
        return list(result) if isinstance(result, Iterator) else result

    return read


def _named(function: Callable[..., object]) -> tuple[type[Exception], ...]:
    """ValueError, where the function says that it raises it: its callers make a sentence of it."""
    return (ValueError,) if "ValueError" in (function.__doc__ or "") else ()


def _tables() -> Iterator[Reader]:
    for name, benchmark in BENCHMARKS.items():

        def parsed(content: bytes, benchmark: object = benchmark) -> object:
            return judge(benchmark, parse_as(benchmark, _text(content)))  # type: ignore[arg-type]

        yield Reader(f"benchmark {name}", parsed)
    for form in ("auto", *FORMATS):
        yield Reader(f"matrix {form}", partial(_matrix, form=form))


def _matrix(content: bytes, form: str) -> object:
    return read_matrix(_text(content), form)


def _others() -> Iterator[Reader]:
    yield Reader("journal", lambda content: list(journal.decode(content.splitlines(True))), (msgspec.DecodeError,))
    yield Reader("node of hwloc XML", lambda content: facts_from_xml(_text(content), "n1"))
    yield Reader("facts of command texts", lambda content: facts_from_text(_text(content), "n1"))
    yield Reader("forwarding tables", lambda content: forwarding.parse_tables(_text(content), FABRIC))
    yield Reader("launch line", _launch_line)
    yield Reader("folded nodes", lambda content: node_list(_text(content).split()))
    yield Reader("run.json", lambda content: decoded(content, RunInfo, Path(layout.RUN_FILE)))
    yield Reader("headline", lambda content: decoded(content, listing.StoredHeadline, Path("headline")))


FABRIC = ibnetdiscover.parse_fabric((DATA / "forwarding" / "ibnetdiscover.txt").read_text())


def _launch_line(content: bytes) -> object:
    try:
        words = shlex.split(_text(content))
    except ValueError:  # a quote that is not closed: a shell refuses it before us
        words = _text(content).split()
    return [parse_line(words, dialect) for dialect in Dialect]
