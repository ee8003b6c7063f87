"""A run keeps the kinds of its nodes, and a recording does: what is judged again has the same peers."""

from pathlib import Path

import msgspec

from seatrial.archive.reader import read_run
from seatrial.archive.writer import RunWriter, ended
from seatrial.driver.facts_reading import read_earlier
from seatrial.model.run import Ending
from seatrial.recordings.scrub import StandIns, scrub_descriptions
from tests.support.node_series import GOOD, recorded


def test_facts_of_a_run_have_the_kinds_that_were_declared(tmp_path: Path) -> None:
    info = recorded({"n1": GOOD, "n2": GOOD}).info
    info = msgspec.structs.replace(info, features={"n1": ("hdr", "kind=thin"), "n2": ("hdr",)})
    writer = RunWriter(tmp_path, info)
    for name in ("n1", "n2"):
        for reading in ("before", "after"):
            writer.write_facts(reading, {name: f"#seatrial-facts 1 {name}\n#end {name}\n"})
    folder = writer.close(ended(info, Ending.COMPLETE, info.ended))
    read = read_run(folder)
    for facts in (read.facts, read.facts_after, read_earlier(str(info.run), tmp_path).facts):
        assert {name: one.kind for name, one in facts.items()} == {"n1": "thin", "n2": ""}


def test_kinds_in_a_scrubbed_recording_have_numbers() -> None:
    words = {"a": ("kind=project-x", "partition=x"), "b": ("kind=fat",), "c": ("kind=project-x",)}
    scrubbed = scrub_descriptions(words, StandIns({"a": "n1", "b": "n2", "c": "n3"}))
    assert scrubbed == {"n1": ("kind=k1", "partition=p1"), "n2": ("kind=k2",), "n3": ("kind=k1",)}
