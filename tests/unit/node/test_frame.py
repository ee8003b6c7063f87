"""The stream's frame: what is whole, what is cut short, and what is no stream."""

import pytest

from seatrial.node.frame import CommandOutput, FactsFormatError, parse_frame
from seatrial.node.node import parse_facts
from tests.support.paths import DATA, data

RECORDED = DATA / "facts"
STREAMS = {path.stem: path.read_bytes().decode() for path in sorted(RECORDED.glob("*.facts"))}
SMALL = data("facts/small.stream")


def test_recordings_are_there() -> None:
    assert set(STREAMS) == {"bridged-namespace", "foreign-sysfs", "virtual-machine"}


def test_every_kind_of_item() -> None:
    frame = parse_frame(SMALL)
    assert (frame.hostname, frame.complete, frame.unknown) == ("n1", True, ())
    assert frame.values == {"/a": "1|2", "/b/driver": "mlx5_core"}
    assert frame.lists == {"/c/*": ("x", "y"), "/d/*": ()}
    assert frame.files == {"/e": ("one", "@end")}
    assert frame.tables == {"/f/cpu*/topology": ({"*": "0", "core_id": "5", "package": "?"},)}
    assert frame.commands == {"tool --version": CommandOutput(status=1, lines=("tool 1.0",))}
    assert frame.absent == {"/g h": "no such file"}


@pytest.mark.parametrize("text", [SMALL, *STREAMS.values()], ids=["small", *STREAMS])
def test_every_proper_prefix_is_incomplete(text: str) -> None:
    whole = parse_frame(text)
    assert whole.complete
    lengths = range(len(text)) if len(text) < 1000 else {*range(0, len(text), 17), *range(len(text) - 50, len(text))}
    for length in lengths:
        facts = parse_facts(text[:length])
        assert not facts.complete
        assert facts.hostname in ("", whole.hostname)


def test_a_prefix_believes_no_unfinished_line_and_no_unfinished_block() -> None:
    frame = parse_frame(SMALL[: SMALL.index("|@end")])
    assert frame.absent == {"/e": "broken off"}
    assert frame.files == {}
    assert parse_frame(SMALL[: SMALL.index("|2")]).values == {}
    assert "end before" in frame.reason("/g h")


@pytest.mark.parametrize(
    "text",
    [
        "slurmstepd: error: no such step\n",
        "#seatrial-fact",
        "#seatrial-facts 2 n1\n#end n1\n",
        "#seatrial-facts 1\n",
        "#seatrial-facts 1 n1 n2\n",
        "#seatrial-facts 1 n1\n#end n2\n",
        "\n#seatrial-facts 1 n1\n#end n1\n",
        SMALL + SMALL,
        SMALL + "x",
        SMALL.replace("#end n1", "#end n12"),
    ],
)
def test_what_is_no_stream_is_refused_with_a_sentence(text: str) -> None:
    if text == "#seatrial-fact":
        assert not parse_frame(text).complete
        return
    with pytest.raises(FactsFormatError) as refusal:
        parse_frame(text)
    assert str(refusal.value).endswith(".")
    assert refusal.value.remedy


def test_words_of_a_later_version_are_kept_as_unknown() -> None:
    frame = parse_frame("#seatrial-facts 1 n1\n@novelty /x|1\nplain\n|stray\n@value nobar\n@end\n#end n1\n")
    assert frame.unknown == ("@novelty /x|1", "plain", "|stray", "@value nobar", "@end")


def test_a_broken_block_costs_only_itself() -> None:
    frame = parse_frame("#seatrial-facts 1 n1\n@file /x\n|1\n@oops\n@value /y|2\n@command z\n@end ?\n#end n1\n")
    assert frame.values == {"/y": "2"}
    assert frame.absent == {"/x": "broken off", "z": "ended with the unknown status '?'"}


def test_only_newlines_divide_lines() -> None:
    frame = parse_frame("#seatrial-facts 1 n1\n@value /a|x\r\x0b\x0c\x85\u2028y\n#end n1\n")
    assert frame.values == {"/a": "x\r\x0b\x0c\x85\u2028y"}


def test_numbers_too_long_are_no_numbers() -> None:
    frame = parse_frame(f"#seatrial-facts 1 n1\n@value /a|{'9' * 5000}\n@value /b|٣\n@value /c| -7 \n#end n1\n")
    assert (frame.integer("/a"), frame.integer("/b"), frame.integer("/c")) == (None, None, -7)
