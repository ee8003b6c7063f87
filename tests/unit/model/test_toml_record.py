"""TOML that somebody wrote: whatever is wrong with it is a wrong argument with a sentence."""

import pytest

from seatrial.benchmarks.generic import generic_benchmark
from seatrial.commands.acceptance.judge import parse_spec
from seatrial.model.errors import MOST_NAME_PARTS, UsageError, toml_record
from seatrial.model.qualification import parse_policy

DIGITS = 4300
"""Python makes no whole number of more digits."""


LONG_NAME = ".".join("x" * (MOST_NAME_PARTS + 1))


@pytest.mark.parametrize(
    "text",
    [
        f"{LONG_NAME} = 1",
        "x = {" + LONG_NAME.replace("x", "'x'") + " = 1}",
        "x = ",
        "x = " + "[" * 5000,
        f"x = {'9' * (DIGITS + 1)}",
        b"x = '\xff'",
        "\0",
    ],
)
def test_what_is_wrong_is_a_sentence(text: str | bytes) -> None:
    with pytest.raises(UsageError, match=r"^site\.toml: .*\. Write it again\.$"):
        toml_record(text, dict[str, object], "site.toml", "Write it again.")


@pytest.mark.parametrize(
    "text",
    [
        f"{LONG_NAME[2:]} = 1",
        "x = '" + "." * 500 + "'",
        "x = " + "[" * 100 + "]" * 100,
        f"x = {'9' * DIGITS}",
        "x = 'ÿ'".encode(),
    ],
)
def test_what_is_just_possible_is_read(text: str | bytes) -> None:
    assert toml_record(text, dict[str, object], "site.toml", "").keys() == {"x"}


@pytest.mark.parametrize("parse", [parse_policy, parse_spec, generic_benchmark])
@pytest.mark.parametrize("text", ["x = " + "[" * 5000, f"x = {'9' * (DIGITS + 1)}"])
def test_every_file_that_a_user_writes_is_read_in_this_way(parse: object, text: str) -> None:
    assert callable(parse)
    with pytest.raises(UsageError, match=r"^file\.toml: "):
        parse(text, "file.toml")
