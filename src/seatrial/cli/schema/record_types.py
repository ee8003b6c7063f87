"""JSON Schema of records as they are printed: every field is there and no other, and what is not finite is null.

`msgspec.json.schema_components` describes what can be read back, and refuses records that are only printed: a field of
`NodeFacts` can hold one of two records without a tag.
"""

import enum
import types
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from seatrial.cli.schema.notation import PLAIN, Schema, object_schema

NAMES: Mapping[Any, str] = {
    str: "text",
    Path: "text",
    int: "integer",
    float: "number",
    bool: "flag",
    types.NoneType: "null",
}


class RecordTypes:
    """Schemas of types; `definitions` collects those of the records and enumerations in them, by name."""

    def __init__(self) -> None:
        self.definitions: dict[str, Schema] = {}
        self._types: dict[str, Any] = {}

    def type(self, hint: Any) -> Schema:
        """Of one type. Raises NotImplementedError for one that is not printed."""
        if typing.get_origin(hint) is typing.Annotated:
            hint = typing.get_args(hint)[0]
        if hint in NAMES:
            return dict(PLAIN[NAMES[hint]])
        origin, parts = typing.get_origin(hint), typing.get_args(hint)
        if origin in (typing.Union, types.UnionType):
            return {"anyOf": [self.type(each) for each in parts]}
        if origin is not None:
            return self._container(origin, parts)
        if isinstance(hint, type) and issubclass(hint, msgspec.Struct | enum.Enum):
            return self._reference(hint)
        raise NotImplementedError(f"{hint} has no schema")

    def _container(self, origin: Any, parts: tuple[Any, ...]) -> Schema:
        if origin is tuple and parts[-1] is not ...:
            ends = {"minItems": len(parts), "maxItems": len(parts)}
            return {"type": "array", "prefixItems": [self.type(each) for each in parts], **ends}
        if origin in (tuple, list):
            return {"type": "array", "items": self.type(parts[0])}
        if origin is dict:
            return {"type": "object", "additionalProperties": self.type(parts[1])}
        raise NotImplementedError(f"{origin} has no schema")

    def _reference(self, hint: Any) -> Schema:
        name = hint.__name__
        if self._types.setdefault(name, hint) is not hint:
            name = f"{hint.__module__.rpartition('.')[2]}.{name}"
        if name not in self.definitions:
            self.definitions[name] = {}  # it can hold itself
            made = _enumeration(hint) if issubclass(hint, enum.Enum) else self._record(hint)
            self.definitions[name] = {"title": name, "description": " ".join((hint.__doc__ or "").split()), **made}
        return {"$ref": f"#/$defs/{name}"}

    def _record(self, hint: Any) -> Schema:
        config = hint.__struct_config__
        described = msgspec.structs.fields(hint)
        fields = {config.tag_field: {"const": config.tag}} if config.tag is not None else {}
        fields |= {field.encode_name: self.type(field.type) for field in described}
        made = object_schema(fields)
        if config.omit_defaults:
            made["required"] = [field.encode_name for field in described if field.required]
        return made


def _enumeration(hint: Iterable[enum.Enum]) -> Schema:
    return {"enum": [one.value for one in hint]}
