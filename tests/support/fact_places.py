"""A node with every fact, each place in it where a test can put another value, and its facts by dotted name."""

import enum
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple, Union

import msgspec
from hypothesis import strategies as st

from seatrial.drift.flat_facts import Flat, parts
from seatrial.model.facts import NodeFacts

Record = type[msgspec.Struct]


class Place(NamedTuple):
    """A field of a record somewhere in a node's facts. `put` gives the facts with another value there."""

    record: Record
    field: str
    hint: Any
    value: Any
    put: Callable[[Any], NodeFacts]


def example(hint: Any, word: str = "word") -> Any:
    """A value of a type, with one element in every tuple and dict."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return example(arguments[0], word)
    if origin is tuple:
        return (example(arguments[0], word),)
    if origin is dict:
        return {f"{word}_key": example(arguments[1], word)}
    if issubclass(hint, msgspec.Struct):
        hints = typing.get_type_hints(hint)
        return hint(**{field: example(hints[field], field) for field in hint.__struct_fields__})
    if issubclass(hint, enum.Enum):
        return next(iter(hint))
    return {str: word, bool: True, int: 12, float: 3.5}[hint]


def places(record: msgspec.Struct | None = None, put: Callable[[Any], Any] = lambda whole: whole) -> Iterator[Place]:
    """Every field of every record in a whole node, or in the record that `put` puts into one."""
    inside = example(NodeFacts) if record is None else record
    hints = typing.get_type_hints(type(inside))
    for field in inside.__struct_fields__:
        value = getattr(inside, field)

        def put_field(new: Any, field: str = field) -> Any:
            return put(msgspec.structs.replace(inside, **{field: new}))

        yield Place(type(inside), field, hints[field], value, put_field)
        if isinstance(value, msgspec.Struct):
            yield from places(value, put_field)
        elif isinstance(value, tuple) and isinstance(value[0], msgspec.Struct):
            yield from places(value[0], partial(_put_alone, put_field))


def _put_alone(put: Callable[[Any], Any], record: msgspec.Struct) -> Any:
    return put((record,))


Scalars = Mapping[Any, st.SearchStrategy[Any]]
SCALARS: Scalars = {
    str: st.text(alphabet=st.characters(codec=None), max_size=8),
    bool: st.booleans(),
    int: st.integers(),
    float: st.floats(),
    types.NoneType: st.none(),
}


def values(hint: Any, scalars: Scalars = SCALARS) -> st.SearchStrategy[Any]:
    """Anything that a type allows, and that a node could be made to say; `scalars` are the values of plain types."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    inner = partial(values, scalars=scalars)
    if hint in scalars:
        return scalars[hint]
    if origin in (Union, types.UnionType):
        return st.one_of(*map(inner, arguments))
    if origin is tuple:
        alike = arguments[-1] is Ellipsis
        return st.lists(inner(arguments[0]), max_size=3).map(tuple) if alike else st.tuples(*map(inner, arguments))
    if origin is dict:
        return st.dictionaries(inner(arguments[0]), inner(arguments[1]), max_size=3)
    if issubclass(hint, msgspec.Struct):
        hints = typing.get_type_hints(hint)
        return st.builds(hint, **{field: inner(hints[field]) for field in hint.__struct_fields__})
    return st.sampled_from(list(hint))


EXAMPLE: NodeFacts = example(NodeFacts)
PLACES = tuple(places())


def flatten(facts: NodeFacts) -> Flat:
    """Dotted name -> value, in the base unit that ends the name; facts that change all the time included."""
    return {name: value for part in parts(facts) for name, value in part.flat().items()}
