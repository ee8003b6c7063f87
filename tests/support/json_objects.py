"""Reads what commands print with --json as their users do, and checks each object against the published schema."""

import json
from functools import cache
from typing import Any, NoReturn

from jsonschema import Draft202012Validator

from seatrial.cli.json_schema import published_schema
from seatrial.render.envelope import Envelope
from seatrial.render.json import json_text

FRAME = frozenset(Envelope.__struct_fields__)


@cache
def validator() -> Draft202012Validator:
    """Of the schema as it is published; a test of its own checks that it is a schema, which takes seconds."""
    schema = json.loads(json_text(published_schema()))
    return Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)


def frame(text: str | bytes) -> dict[str, Any]:
    """The object as it is. Raises ValueError for text that is not one strict JSON object of the schema."""
    found: dict[str, Any] = json.loads(text, parse_constant=_refuse)
    problems = [f"{error.json_path}: {error.message[:300]}" for error in validator().iter_errors(found)]
    if problems:
        raise ValueError("; ".join(problems))
    return found


class Fields(dict[str, Any]):
    """What a command printed; a test that wants what is not in it fails with all that it printed instead."""

    def __missing__(self, name: str) -> NoReturn:
        raise KeyError(f"{name} is not in {dict(self)}")


def parsed(text: str | bytes) -> dict[str, Any]:
    """The fields that all objects have and those of the command's data, side by side; no name is in both."""
    found = frame(text)
    data = found.pop("data") or {}
    assert not found.keys() & data.keys(), found.keys() & data.keys()
    return Fields({**found, **data})


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
