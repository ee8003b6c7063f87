"""The notation of types in `runs.toml` and `tables.toml`, and the JSON Schema that it stands for.

`[text]?` is a list of texts, or null; runs.toml explains the rest.
"""

import re
from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]

PLAIN: Mapping[str, Schema] = {
    "text": {"type": "string"},
    "number": {"type": ["number", "null"]},
    "integer": {"type": "integer"},
    "flag": {"type": "boolean"},
    "value": {"type": ["string", "number", "boolean", "null"]},
    "null": {"type": "null"},
}
INCLUDED, OTHERS = "<", "*"
"""Instead of a field's name: records whose fields belong to this one, and the type of all fields without a name."""
WORD = re.compile(r"'([^']*)'")


def object_schema(fields: Mapping[str, Schema], others: Schema | bool = False) -> Schema:
    """An object with all of these fields; `others`: what further fields hold, or whether there may be any."""
    return {
        "type": "object",
        "properties": dict(fields),
        "required": list(fields),
        "additionalProperties": others,
    }


class Notation:
    """Makes schemas of types. `references`: those of the program's records, by name; `definitions`: what they mean."""

    def __init__(
        self, records: Mapping[str, Mapping[str, str]], references: Mapping[str, Schema], definitions: Schema
    ) -> None:
        self._records = records
        self._references = references
        self._definitions = definitions

    def record(self, name: str) -> Schema:
        """A record with all fields, which forbids others. Raises KeyError for a name that is not known."""
        if name not in self._records:
            definition: Schema = self._definitions[self._references[name]["$ref"].rpartition("/")[2]]
            return definition
        fields: Schema = {}
        others: Schema | bool = False
        for field, text in self._records[name].items():
            if field == INCLUDED:
                for included in text.split(", "):
                    fields |= self.record(included)["properties"]
            elif field == OTHERS:
                others = self.type(text)
            else:
                fields[field] = self.type(text)
        return {"title": name, **object_schema(fields, others)}

    def type(self, text: str) -> Schema:
        """Of one type. Raises KeyError for a name that is not known."""
        alternatives = _alternatives(text)
        if len(alternatives) == 1:
            return self._single(text.strip())
        words = [found.group(1) for each in alternatives if (found := WORD.fullmatch(each))]
        if len(words) == len(alternatives):
            return {"enum": words}
        return {"anyOf": [self.type(each) for each in alternatives]}

    def _single(self, text: str) -> Schema:
        if text.endswith("?"):
            return {"anyOf": [self.type(text[:-1]), dict(PLAIN["null"])]}
        if text.startswith("["):
            return {"type": "array", "items": self.type(text[1:-1])}
        if text.startswith("{"):
            return {"type": "object", "additionalProperties": self.type(text[1:-1])}
        if text in self._records:
            return {"$ref": f"#/$defs/{text}"}
        return dict(PLAIN.get(text) or self._references[text])


def _alternatives(text: str) -> list[str]:
    """The parts between bars that are in no brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "[{") - (character in "]}")
        if character == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]
