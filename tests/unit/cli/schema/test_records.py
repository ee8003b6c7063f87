"""The schema of `data`: every kind of object has its fields, and refuses others."""

import json
from typing import Any

import pytest
from jsonschema import SchemaError

from seatrial.cli.json_schema import KINDS, RecordTypes
from seatrial.cli.schema.notation import Notation
from seatrial.cli.schema.records import RECORDS, field_tables, published_schema
from seatrial.model.facts import NodeFacts
from seatrial.model.run import RunKind
from tests.support.json_objects import validator
from tests.support.paths import ROOT
from tests.support.report_examples import run_info, slow_node
from tests.support.reports import check_json_text
from tests.unit.cli.test_json import WITH_JSON

OF_NO_COMMAND = {"drift", "dry-run", "submitted", "rails"}
"""Kinds that an option makes."""


def test_the_published_schema_keeps_the_rules_of_schemas() -> None:
    validator().check_schema(validator().schema)
    with pytest.raises(SchemaError):
        validator().check_schema({**validator().schema, "properties": []})


def test_every_kind_that_is_printed_has_fields() -> None:
    typed = {" ".join(path) for path in WITH_JSON} - {"report"}
    assert {*field_tables().kinds, *KINDS} == {*typed, *map(str, RunKind), *OF_NO_COMMAND}


def test_every_kind_names_its_page() -> None:
    assert [
        kind.page for kind in field_tables().kinds.values() if not (ROOT / "docs" / f"{kind.page}.md").exists()
    ] == []


def test_no_name_means_two_things() -> None:
    types = RecordTypes()
    for record in RECORDS:
        types.type(record)
    assert not field_tables().records.keys() & types.definitions.keys()


def test_no_record_is_idle() -> None:
    """What nothing refers to is not published; records that others include are."""
    table = field_tables()
    published = published_schema()["$defs"].keys()
    included = {name for fields in table.records.values() for name in fields.get("<", "").split(", ")}
    assert table.records.keys() - published <= included


def objects(part: Any) -> list[dict[str, Any]]:
    """All parts of a schema that describe objects with fields."""
    parts = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    own = [part] if isinstance(part, dict) and "properties" in part and part.get("type") == "object" else []
    return own + [one for each in parts for one in objects(each)]


def test_objects_are_closed() -> None:
    """But rows of a trial, whose counts have the names of the score's columns."""
    schema = published_schema()
    of_data = {name: one for name, one in schema["$defs"].items() if "properties" in one}
    assert len(of_data) > 150
    still_open = [name for name, one in of_data.items() if one.get("additionalProperties") is not False]
    assert sorted(still_open) == ["ScenarioRow"]


def refused(change: dict[str, Any], *path: str | int) -> bool:
    report = json.loads(check_json_text(run_info(), slow_node()))
    assert not list(validator().iter_errors(report))
    place = report
    for step in path:
        place = place[step]
    place.update(change)
    return bool(list(validator().iter_errors(report)))


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"surprise": 1}, ("data",)),
        ({"surprise": 1}, ("data", "nodes", 0)),
        ({"verdict": "FINE"}, ("data", "pairs", 0)),
        ({"retested": 1}, ("data", "pairs", 0)),
        ({"bandwidth_bytes_per_s": 1.0}, ("data", "pairs", 0)),
        ({"surprise": 1}, ("findings", 0)),
        ({"surprise": 1}, ()),
        ({"kind": "facts"}, ()),
        ({"kind": "surprise"}, ()),
    ],
)
def test_another_field_or_value_is_refused(change: dict[str, Any], path: tuple[str | int, ...]) -> None:
    assert refused(change, *path)


def test_a_fact_is_described_down_to_its_values() -> None:
    types = RecordTypes()
    types.type(NodeFacts)
    fields = types.definitions["NodeFacts"]["properties"]
    assert fields["hostname"] == {"type": "string"}
    assert types.definitions["NodeFacts"]["type"] == "object"
    with pytest.raises(NotImplementedError, match="complex"):
        types.type(complex)


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("text", {"type": "string"}),
        ("number", {"type": ["number", "null"]}),
        ("[integer]", {"type": "array", "items": {"type": "integer"}}),
        ("{flag}", {"type": "object", "additionalProperties": {"type": "boolean"}}),
        ("text?", {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ("'in' | 'out'", {"enum": ["in", "out"]}),
        ("[text | integer]", {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}),
        ("Row", {"$ref": "#/$defs/Row"}),
        ("Estimate", {"$ref": "#/$defs/Estimate"}),
    ],
)
def test_the_notation_of_types(text: str, schema: dict[str, Any]) -> None:
    notation = Notation({"Row": {"name": "text"}}, {"Estimate": {"$ref": "#/$defs/Estimate"}}, {})
    assert notation.type(text) == schema


def test_a_record_includes_others_and_may_have_fields_of_any_name() -> None:
    notation = Notation({"Row": {"name": "text"}, "Wide": {"<": "Row", "size": "integer", "*": "number"}}, {}, {})
    made = notation.record("Wide")
    assert list(made["properties"]) == made["required"] == ["name", "size"]
    assert made["additionalProperties"] == {"type": ["number", "null"]}
    with pytest.raises(KeyError, match="Nothing"):
        notation.type("Nothing")
