"""`seatrial swap`: what it records, what it prints, and what it refuses."""

import json
from pathlib import Path

import pytest

from seatrial.frame.command_line import run
from tests.support.command_line import Seatrial

PLACES = ["node=n1,slot=s1,card=c1,cable=k1", "node=n2,slot=s2,card=c2,cable=k2"]
TABLE = """run,node,card,cable,result
r1,n1,c1,k1,bad
r1,n2,c2,k2,good
r2,n1,c2,k1,good
r2,n2,c1,k2,bad
r2,shelf,,k3,
"""


@pytest.fixture(autouse=True)
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEATRIAL_ARCHIVE", str(tmp_path / "archive"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "archive"


def started() -> None:
    assert run(["swap", "start", "gpu", *PLACES, "--fixed", "node,slot"]) == 2


def test_the_advice_to_measure_again_says_so_once(seatrial: Seatrial) -> None:
    assert "Next:" not in seatrial("swap", "start", "ok", "node=n1,card=c1", "node=n2,card=c2", code=2).out
    ran = seatrial("swap", "record", "ok", "n1=good", "n2=good", code=2)
    assert "\nNext: exchange the card of n1 and n2, and measure.\n" in ran.out
    ran = seatrial("swap", "record", "ok", "n1=good", "n2=good", code=2)
    assert "\nNext: measure again without an exchange.\n" in ran.out


def test_a_search_to_its_end(seatrial: Seatrial) -> None:
    started()
    ran = seatrial("swap", "record", "gpu", "n1/s1=bad", "n2/s2=good", code=2)
    assert "--exchange card,cable:n1/s1,n2/s2" in ran.out
    seatrial("swap", "record", "gpu", "--exchange", "card,cable:n1/s1,n2/s2", "n1/s1=good", "n2/s2=bad", code=2)
    ran = seatrial("swap", "record", "gpu", "--exchange", "cable:n1/s1,n2/s2", "n1/s1=good", "n2/s2=bad", code=1)
    assert ran.out.startswith("SLOW  card c1 is at fault, ")
    data = seatrial("swap", "status", "gpu", "--json", code=1).object["data"]
    assert data["named"][0]["hypothesis"]["parts"] == [["card", "c1"]]
    assert data["history"]["steps"][-1]["places"][1] == {"node": "n2", "slot": "s2", "card": "c1", "cable": "k2"}


def test_parts_that_no_exchange_separates_are_both_named(seatrial: Seatrial) -> None:
    started()
    for words in (["n1/s1=bad"], ["--exchange", "card,cable:n1/s1,n2/s2", "n1/s1=bad"]):
        run(["swap", "record", "gpu", *words, "n2/s2=good"])
    assert "node n1 or slot s1" in seatrial("swap", "status", "gpu", code=1).out


def test_a_history_from_a_table(seatrial: Seatrial) -> None:
    Path("table.csv").write_text(TABLE)
    out = seatrial("swap", "start", "link", "--from", "table.csv", code=1).out
    assert out.startswith("SLOW  card c1 is at fault")
    assert "shelf" in out


@pytest.mark.parametrize(
    ("before", "after"),
    [("bad", "FAIL"), ("good", "OK"), ("bad", "Xid 79"), ("bad", "timeout"), ("run,", "date,"), ("result", "Status")],
)
def test_tables_have_words_of_their_own_for_runs_and_results(before: str, after: str, seatrial: Seatrial) -> None:
    Path("table.csv").write_text(TABLE.replace(before, after))
    assert seatrial("swap", "start", "link", "--from", "table.csv", code=1).out.startswith("SLOW  card c1 is at fault")


@pytest.mark.parametrize("word", ["yes", "0", "slow", "hang"])
def test_words_that_may_be_either_are_refused(word: str, seatrial: Seatrial) -> None:
    Path("table.csv").write_text(TABLE.replace("bad", word))
    said = seatrial("swap", "start", "link", "--from", "table.csv", code=64).err
    assert f"'{word}' is not a result" in said


def test_remarks_and_dates_beside_runs_are_no_parts(seatrial: Seatrial) -> None:
    first, *rows = TABLE.splitlines()
    lines = [f"{first},date,note", *(f"{row},2026-10-0{1 + at // 2},by hand" for at, row in enumerate(rows))]
    Path("table.csv").write_text("\n".join(lines) + "\n")
    history = seatrial("swap", "start", "link", "--from", "table.csv", "--json", code=1).object["data"]["history"]
    assert not {"date", "note"}.intersection(history["kinds"])


def test_a_measurement_between_two_places(seatrial: Seatrial) -> None:
    places = [f"node=n{number},cable=k{number}" for number in (1, 2, 3)]
    seatrial("swap", "start", "link", *places, code=2)
    seatrial("swap", "record", "link", "n1+n2=bad", "n2+n3=good", "n1+n3=bad", code=2)
    ran = seatrial(
        "swap", "record", "link", "--exchange", "cable:n1,n3", "n1+n2=good", "n2+n3=bad", "n1+n3=bad", code=1
    )
    assert "cable k1 is at fault" in ran.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["start", "gpu", *PLACES], "There is a search 'gpu' already"),
        (["start", "new"], "Either places or --from"),
        (["start", "new", "node"], "'node' is not a valid place"),
        (["start", "new", "node=n1,card=c1", "node=n2,card=c1"], "'card c1' is in two places at once"),
        (["start", "new", "node=n1,card=c1"], "There is 1 place."),
        (["start", "new", *PLACES, "--fixed", "rack"], "No part is of the kind 'rack'"),
        (["start", "new", *PLACES, "--fixed", "node,slot,card,cable"], "No kind of part can be moved"),
        (["start", "new", "node=n1,card=c+1", "node=n2,card=c2"], "'c+1' has one of the characters"),
        (["start", "new", *PLACES, "--miss", "60%"], "cannot find one"),
        (["start", "../x", *PLACES], "not a valid name"),
        (["record", "gpu"], "Nothing is recorded"),
        (["record", "gpu", "n1=bad"], "there is no place 'n1'"),
        (["record", "gpu", "n1/s1=maybe"], "'maybe' is not a result"),
        (["record", "gpu", "n1/s1"], "is not a result"),
        (["record", "gpu", "--exchange", "slot:n1/s1,n2/s2", "n1/s1=bad"], "not a kind of part that can be moved"),
        (["record", "gpu", "--exchange", "card:n1/s1", "n1/s1=bad"], "does not name kinds of parts and two places"),
        (["status", "other"], "There is no search 'other'"),
    ],
)
def test_what_is_refused(words: list[str], message: str, seatrial: Seatrial) -> None:
    started()
    assert message in seatrial("swap", *words, code=64).err


def test_a_damaged_history_is_refused(archive: Path, seatrial: Seatrial) -> None:
    started()
    path = archive / "swaps" / "gpu.json"
    history = json.loads(path.read_text())
    changes: tuple[dict[str, object], ...] = ({"steps": []}, {"format": 99}, {"fixed": ["x"]}, {"steps": "x"})
    for change in changes:
        path.write_text(json.dumps(history | change))
        assert run(["swap", "status", "gpu"]) in (2, 64)
    history["steps"][0]["results"] = {"elsewhere": True}
    path.write_text(json.dumps(history))
    assert "there is no place 'elsewhere'" in seatrial("swap", "status", "gpu", code=64).err


ONE_PLACE = """run,driver,card,clock,slot,result
r1,388.13,gtx1080,1900,slot3,bad
r2,384.94,gtx1080,1900,slot3,bad
r3,384.94,gtx1060,1700,slot3,bad
r4,384.94,gtx1060,1700,slot1,good
r5,388.13,gtx1080,1900,slot1,good
"""


def test_the_history_of_one_place_names_the_part(seatrial: Seatrial) -> None:
    Path("one.csv").write_text(ONE_PLACE)
    ran = seatrial("swap", "start", "gpu", "--from", "one.csv", code=1)
    assert ran.out.startswith("SLOW  slot slot3 is at fault, 99 % after 4 exchanges\n")
    assert "shelf" not in ran.out


def test_in_one_place_a_part_is_replaced_by_a_spare_one(seatrial: Seatrial) -> None:
    Path("one.csv").write_text("run,kernel,card,result\nr1,k1,c1,bad\nr2,k2,c1,bad\nr3,k2,c2,good\n")
    ran = seatrial("swap", "start", "gpu", "--from", "one.csv", code=2)
    assert "\nNext: in here, replace card c2 by c1, and measure.\n" in ran.out
    line = next(line for line in ran.out.splitlines() if line.startswith("seatrial swap record"))
    assert line == "seatrial swap record gpu --exchange card:here,shelf1 here=good|bad"
    ran = seatrial("swap", "record", "gpu", "--exchange", "card:here,shelf1", "here=bad", code=2)
    assert ran.out.startswith("INCONCLUSIVE  not decided after 3 exchanges; most probable: card c1, ")
    data = seatrial("swap", "status", "gpu", "--json", code=2).object["data"]
    assert data["history"]["steps"][0]["results"] == {"here": False}


def test_too_many_parts_of_one_place_are_refused(seatrial: Seatrial) -> None:
    rows = "".join(f"r{number},c{number},bad\n" for number in range(40))
    Path("one.csv").write_text(f"run,card,result\n{rows}")
    assert "40 parts of one kind" in seatrial("swap", "start", "gpu", "--from", "one.csv", code=64).err


def test_nothing_is_measured_on_a_shelf(seatrial: Seatrial) -> None:
    Path("one.csv").write_text(ONE_PLACE)
    seatrial("swap", "start", "gpu", "--from", "one.csv", code=1)
    assert "lacks a part" in seatrial("swap", "record", "gpu", "shelf1=good", code=64).err


def test_exchanges_of_too_many_kinds_of_parts_are_not_compared(seatrial: Seatrial) -> None:
    """More than 4 GB of memory were taken by 40 kinds."""

    def places(kinds: int) -> list[str]:
        return [f"node=n{n}," + ",".join(f"k{kind}=p{n}k{kind}" for kind in range(kinds)) for n in (1, 2)]

    assert "9 kinds of parts can be moved; at most 8" in seatrial("swap", "start", "x", *places(9), code=64).err
    seatrial("swap", "start", "x", *places(8), code=2)
    seatrial("swap", "start", "y", *places(9), "--fixed", "node,k0", code=2)
