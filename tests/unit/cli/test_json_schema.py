"""The schema of `data`: every kind of object has its fields, and refuses others."""

import json
import re
import typing
from typing import Annotated, Any, Literal

import msgspec
import pytest
from jsonschema import SchemaError

from seatrial.cli.json_schema import KINDS, RecordTypes
from seatrial.commands.judge.kinds import WORDS
from seatrial.model.facts import NodeFacts
from seatrial.model.run import RunKind
from seatrial.model.verdict import ComparisonOutcome
from tests.support.json_objects import validator
from tests.support.paths import ROOT
from tests.support.report_examples import run_info, slow_node
from tests.support.reports import check_json_text
from tests.unit.cli.test_json import WITH_JSON

OF_NO_COMMAND = {"drift", "dry-run", "submitted", "scale", "plan", "placements", "side-by-side", "requalify-history",
                 "site history", "site node", "site pairs"}  # fmt: skip
"""Kinds that an option makes, or that are named after what was done."""
OTHERWISE_CALLED = {"report", "judge", "link", "bench run", "bench scale"}
"""Commands whose objects have the kind of the run, or of what was done."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A row with
    two fields."""

    name: Annotated[str, msgspec.Meta(description="As Slurm has it.")]
    size: float | None = None


def test_the_published_schema_keeps_the_rules_of_schemas() -> None:
    validator().check_schema(validator().schema)
    with pytest.raises(SchemaError):
        validator().check_schema({"properties": []})


def test_every_kind_that_is_printed_has_fields() -> None:
    typed = {" ".join(path) for path in WITH_JSON} - OTHERWISE_CALLED
    judged = {words.json for words in WORDS.values() if words.json}
    assert set(KINDS) == {*typed, *judged, *map(str, RunKind), *OF_NO_COMMAND}


FORMS = {form.__name__: form for kind in KINDS.values() for form in typing.get_args(kind) or (kind,)}
LINK = re.compile(r"\]\(([\w-]+\.md)[#)]")
QUOTED = re.compile(r"`([\w.\[\]]+)`")
"""A field, or the way to it: `changes[].ratio`."""


def described(page: str) -> set[str]:
    """The words that a page and those that it links to have as fields."""
    own = (ROOT / page).read_text()
    others = ((ROOT / "docs" / name) for name in set(LINK.findall(own)))
    texts = [own, *(other.read_text() for other in others if other.exists())]
    return {word for text in texts for way in QUOTED.findall(text) for word in way.replace("[]", "").split(".")}


@pytest.mark.parametrize("name", FORMS)
def test_the_page_of_a_form_or_one_that_it_links_to_has_each_field(name: str) -> None:
    (page,) = re.findall(r"docs/[\w-]+\.md", FORMS[name].__doc__ or "")
    types = RecordTypes()
    types.type(FORMS[name])
    fields = {field for part in types.definitions.values() for field in part.get("properties", ())}
    assert fields - described(page) == set()


def objects(part: Any) -> list[dict[str, Any]]:
    """All parts of a schema that describe objects with fields."""
    parts = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    own = [part] if isinstance(part, dict) and "properties" in part and part.get("type") == "object" else []
    return own + [one for each in parts for one in objects(each)]


def test_objects_are_closed() -> None:
    schema = validator().schema
    assert len(objects(schema)) > 150
    assert [one for one in objects(schema) if one.get("additionalProperties") is not False] == []


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
    assert types.definitions["NodeFacts"]["properties"]["hostname"] == {"type": "string"}
    with pytest.raises(NotImplementedError, match="complex"):
        types.type(complex)


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (float, {"type": ["number", "null"]}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (dict[str, bool], {"type": "object", "additionalProperties": {"type": "boolean"}}),
        (str | None, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        (Literal["in", "out"], {"enum": ["in", "out"]}),
        (Row, {"$ref": "#/$defs/Row"}),
        (ComparisonOutcome, {"$ref": "#/$defs/ComparisonOutcome"}),
    ],
)
def test_types(hint: Any, schema: dict[str, Any]) -> None:
    assert RecordTypes().type(hint) == schema


def test_a_record_has_all_of_its_fields_and_the_sentences_on_them() -> None:
    types = RecordTypes()
    types.type(Row)
    made = types.definitions["Row"]
    assert made["description"] == "A row with two fields."
    assert list(made["properties"]) == made["required"] == ["name", "size"]
    assert made["properties"]["name"] == {"type": "string", "description": "As Slurm has it."}
    assert made["additionalProperties"] is False
