"""Every fact of a node under one dotted name, so that nodes can be compared.

"processor.governors" -> "performance × 64", "hcas.mlx5_0.ports.1.rate_text" -> "100 Gb/sec (4X EDR)",
"pci.0000:03:00.0.path.0000:00:02.1.current_width" -> 8. An unknown fact has no name. A record with a name of its own
(a device, a mount) is a fact too: "hcas.mlx5_0" -> True.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import msgspec

from seatrial.drift.flat_fields import KEYS, LEFT_OUT, SUMMARIES, UNSTEADY, Scalar
from seatrial.model.facts import NodeFacts
from seatrial.model.words import Unknown

Flat = dict[str, Scalar]
Summary = Callable[[Any], object]


class Part(NamedTuple):
    """Part of a node's facts: the prefix of its names, its content, and its summary."""

    name: str
    content: object
    summary: Summary | None = None

    def flat(self, *, steady: bool = False) -> Flat:
        """The piece's facts by their dotted names; `steady`: without the fields that are `UNSTEADY`."""
        flat: Flat = {}
        _add(flat, self.name, self.summary(self.content) if self.summary else self.content, steady)
        return flat


def parts(facts: NodeFacts, *, steady: bool = False) -> Iterator[Part]:
    """The facts in pieces: the fields of groups, and the devices one by one; `steady`: without `UNSTEADY` fields.

    Pieces of equal name and content have equal facts, so what is equal on many nodes is flattened only once.
    """
    for field, summary in _steps(NodeFacts, steady):
        content = getattr(facts, field)
        if summary is not None:
            yield Part(field, content, summary)
        elif isinstance(content, msgspec.Struct):
            for inner, inner_summary in _steps(type(content), steady):
                yield Part(f"{field}.{inner}", getattr(content, inner), inner_summary)
        elif _is_records(content):
            yield from (Part(f"{field}.{key}", record) for key, record in _keyed(content))
        else:
            yield Part(field, content)


@cache
def _steps(record: type[msgspec.Struct], steady: bool) -> tuple[tuple[str, Summary | None], ...]:
    """The fields of a record that are compared, in order, and their summaries; without those already in its name."""
    named = KEYS[record].fields if record in KEYS else ()
    return tuple(
        (field, SUMMARIES.get((record, field)))
        for field in record.__struct_fields__
        if field not in named and (record, field) not in LEFT_OUT and not (steady and (record, field) in UNSTEADY)
    )


def _add(flat: Flat, name: str, value: Any, steady: bool) -> None:  # noqa: ANN401 - any field's content
    """Records by their fields, dicts by their keys, tuples by their records' names or as one text."""
    if value is None or value == "":
        return
    if isinstance(value, bool | int | float):
        flat[name] = value
    elif isinstance(value, str | Unknown):
        flat[name] = str(value)
    elif isinstance(value, msgspec.Struct):
        _add_record(flat, name, value, steady)
    elif isinstance(value, Mapping):
        for key, content in value.items():
            if content == "":
                flat[f"{name}.{key}"] = ""  # a module without a version, a parameter without a value
            else:
                _add(flat, f"{name}.{key}", content, steady)
    elif _is_records(value):
        for key, record in _keyed(value):
            _add(flat, f"{name}.{key}", record, steady)
    elif value:
        _add(flat, name, " ".join(map(str, value)), steady)


def _add_record(flat: Flat, name: str, record: msgspec.Struct, steady: bool) -> None:
    if type(record) in KEYS:
        flat[name] = True
    for field, summary in _steps(type(record), steady):
        content = getattr(record, field)
        _add(flat, f"{name}.{field}", summary(content) if summary else content, steady)


def _is_records(value: object) -> bool:
    return isinstance(value, tuple) and bool(value) and isinstance(value[0], msgspec.Struct)


def _keyed(records: tuple[msgspec.Struct, ...]) -> Iterator[tuple[str, msgspec.Struct]]:
    """Each record with the name it has among its like; a second one of the same name is "name#2"."""
    seen: Counter[str] = Counter()
    for record in records:
        key = KEYS[type(record)].of(record)
        seen[key] += 1
        yield (key if seen[key] == 1 else f"{key}#{seen[key]}"), record
