"""Streams that differ in name and boot alone are parsed once, and come out as if each had been parsed."""

import pytest

from seatrial.node.frame import FactsFormatError
from seatrial.node.node import AlikeParser, parse_facts
from tests.support.builders import Cluster, names

CLUSTER = Cluster(nodes=names(4))
TEXTS = [CLUSTER.facts_text(node) for node in CLUSTER.nodes]
OTHER = Cluster(nodes=names(4), megabits=100).facts_text("n2")


def test_alike_streams_are_as_if_each_had_been_parsed_and_share_what_they_have_in_common() -> None:
    parser = AlikeParser()
    found = [parser.parse(text) for text in (*TEXTS, OTHER, TEXTS[0])]
    assert found == [parse_facts(text) for text in (*TEXTS, OTHER, TEXTS[0])]
    assert found[0].interfaces is found[3].interfaces
    assert found[0].interfaces is not found[4].interfaces


@pytest.mark.parametrize(
    "strange",
    [
        TEXTS[1].rpartition("#end")[0],
        TEXTS[1].replace("|boot-of-n2", "|"),
        TEXTS[1].replace("@value /proc/sys/kernel/random/boot_id|boot-of-n2\n", ""),
        TEXTS[1].replace("|boot-of-n2\n", "|one\n@value /proc/sys/kernel/random/boot_id|two\n"),
        TEXTS[1].replace("@list", "#end n2\n@list"),
        TEXTS[1].replace("#end n2", "#end n3"),
        TEXTS[1].replace("n2", "n 2"),
        TEXTS[1].replace("facts 1", "facts 2"),
        TEXTS[1] + "more\n",
        "",
        "nothing of the kind\n",
    ],
)
def test_what_is_not_quite_alike_is_read_for_itself(strange: str) -> None:
    parser = AlikeParser()
    parser.parse(TEXTS[0])
    try:
        wanted = parse_facts(strange)
    except FactsFormatError as error:
        with pytest.raises(FactsFormatError) as raised:
            parser.parse(strange)
        assert str(raised.value) == str(error)
    else:
        assert parser.parse(strange) == wanted
