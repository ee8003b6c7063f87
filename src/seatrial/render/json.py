"""JSON as every command writes it: in ASCII, without infinity and NaN."""

import json
import re
from typing import Any, TypeVar

import msgspec

Form = TypeVar("Form", bound=msgspec.Struct)
NOT_ASCII = re.compile(r"[^\x00-\x7f]")


def json_text(value: object) -> str:
    """The value as text, in ASCII, so that it can do no harm to a terminal; ends in a newline.

    Records become objects. Infinity and NaN, which JSON does not have, become null.
    """
    try:
        text = msgspec.json.format(msgspec.json.encode(value, enc_hook=_plain), indent=1).decode()
    except UnicodeEncodeError:  # half a surrogate pair, from foreign bytes
        plain = json.dumps(msgspec.to_builtins(value, enc_hook=_plain))
        return json.dumps(json.loads(plain, parse_constant=lambda _: None), indent=1) + "\n"
    return NOT_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], text) + "\n"


def attribute_text(record: msgspec.Struct) -> str:
    """The record as JSON in one line, for an attribute of a page, which escapes it. Infinity and NaN become null."""
    return msgspec.json.encode(record).decode()


def _plain(value: object) -> float | str:
    """The float that a number of numpy is; paths and all else are texts."""
    return float(value) if isinstance(value, float) else str(value)


class MetricName(str):
    """The name of a metric, where the record that is printed has the metric itself."""


def filled(form: type[Form], *records: object, **others: Any) -> Form:  # noqa: ANN401 - whatever its fields hold
    """A printed record: each field is the one of that name in `others`, or in the first record that has it.

    Records in fields are filled in the same way, so a form can be narrower than what was judged. Raises
    msgspec.ValidationError if a value is not of the field's type.
    """
    fields = {
        printed: others[name]
        if name in others
        else next(getattr(each, name) for each in records if hasattr(each, name))
        for name, printed in zip(form.__struct_fields__, form.__struct_encode_fields__, strict=True)
    }
    return msgspec.convert(fields, form, from_attributes=True, dec_hook=_named)


def _named(kind: type, value: Any) -> Any:  # noqa: ANN401 - any field that msgspec does not know
    return MetricName(value.name) if kind is MetricName else value
