"""`seatrial judge` on tables of pairs with columns beside the measurement: sizes, settings, statistics, outcomes."""

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from seatrial.importers.formats import read_matrix
from seatrial.importers.lone_cells import lone_ends
from seatrial.importers.pair_evidence import UnclearPairs
from tests.support.command_line import Seatrial, Text
from tests.support.json_objects import parsed

NODES = tuple(f"n{number}" for number in range(1, 9))
PAIRS = tuple(itertools.permutations(NODES, 2))
Cells = Callable[[str, float], str]
"""What stands behind the ends, by the marks of a pair ("", "bad") and its noise around 0."""


def noise(source: str, target: str) -> float:
    return ((37 * int(source[1:]) + 17 * int(target[1:])) % 11 - 5) / 100


def table(heading: str, cells: Cells, *, slow: str = "", bad: str = "n5", mark: str = ",") -> str:
    """`slow`: a node with half the rate, which `cells` see as a noise of -6; `bad`: the node of the bad cells."""
    lines = [
        mark.join((a, b, cells("bad" if bad in (a, b) else "", -6.0 if slow in (a, b) else noise(a, b))))
        for a, b in PAIRS
    ]
    return "\n".join([heading, *lines, ""])


BESIDE: dict[str, tuple[str, Cells]] = {
    "size": ("src,dst,size_MB,bw_GBps", lambda _, x: f"4,{12 + x:.2f}"),
    "message size": ("src,dst,msg_KiB,bandwidth (GB/s)", lambda _, x: f"64,{12 + x:.2f}"),
    "transfer": ("client,server,transfer_GB,bw_Gbps", lambda _, x: f"{116.9 + 10 * x:.1f},{93.6 + 8 * x:.1f}"),
    "setting": ("src,dst,line_rate_Gbps,bw_GBps", lambda _, x: f"100,{12 + x:.2f}"),
    "expected": ("src,dst,bw_GBps,bw_expected_GBps", lambda _, x: f"{12 + x:.2f},12.2"),
    "deviation": ("src,dst,bw_avg_GBps,bw_stddev_GBps", lambda _, x: f"{12 + x:.2f},{abs(x) % 0.1:.3f}"),
    "extremes": ("src,dst,bw_min,bw_mean,bw_max", lambda _, x: f"{9.6 + x:.2f},{12 + x:.2f},{12.2 + x:.2f}"),
    "its deviation": ("src,dst,rate_MB/s,rate_sigma_MB/s", lambda _, x: f"{12000 + 1000 * x:.0f},{70 + x:.1f}"),
    "date": ("src,dst,time,bw_GBps", lambda _, x: f"{1790000000 + 100 * x:.0f},{12 + x:.2f}"),
    "date in ms": ("src,dst,bw_GBps,timestamp time", lambda _, x: f"{12 + x:.2f},{1790000000000 + 1000 * x:.0f}"),
}


@pytest.mark.parametrize("form", BESIDE)
def test_the_metric_alone_is_judged(form: str, seatrial: Seatrial) -> None:
    heading, cells = BESIDE[form]
    healthy = seatrial("judge", Text(table(heading, cells), "t.csv"), code=0).out
    assert healthy.startswith("PASS  no fault on 8 nodes")
    assert "Latency" not in healthy
    assert "SLOW  n5: 5" in seatrial("judge", Text(table(heading, cells, slow="n5"), "t.csv"), code=1).out


def test_the_average_of_latencies_is_judged() -> None:
    text = table("src,dst,lat_min_us,lat_avg_us,lat_max_us", lambda _, x: f"{1.2 + x},{1.3 + x},{6.2 + x}")
    assert sorted(read_matrix(text).latency_s * 1e6)[28] == pytest.approx(1.3)


def test_a_setting_is_no_measurement_of_a_node_without_any(seatrial: Seatrial) -> None:
    text = table("src,dst,line_rate_Gbps,bw_GBps", lambda bad, x: "100," if bad else f"100,{12 + x:.2f}")
    assert seatrial("judge", Text(text, "t.csv"), code=2).out.startswith("NOT_RUN  no number of n5")


@pytest.mark.parametrize("heading", ["src,dst,bw1_GBps,bw2_GBps", "src,dst,run 1 bw,run 2 bw", "src,dst,bw,bw_2"])
def test_columns_that_differ_in_a_number_are_repetitions(heading: str) -> None:
    table_of_two = read_matrix(table(heading, lambda _, x: f"{12 + x:.2f},{12.1 + x:.2f}"))
    assert len(table_of_two.source) == 2 * len(PAIRS)


@pytest.mark.parametrize("heading", ["src,dst,eth_bw_GBps,ib_bw_GBps", "a,b,bw_ab,bw_ba", "src,dst,bw_4KiB,bw_1MiB"])
def test_columns_that_differ_in_words_are_asked_about(heading: str, tmp_path: Path, seatrial: Seatrial) -> None:
    text = table(heading, lambda _, x: f"{12 + x:.2f},{2.1 + x:.2f}")
    with pytest.raises(UnclearPairs, match="Several columns can be the bandwidth of the pairs"):
        read_matrix(text)
    (tmp_path / "t.csv").write_text(text)
    said = seatrial("judge", tmp_path / "t.csv", code=64).err
    assert "Several columns can be the bandwidth of the pairs" in said


OUTCOMES: dict[str, tuple[str, Cells]] = {
    "errors": ("src,dst,bw_GBps,errors", lambda bad, x: f"{12 + x:.2f},{3211 if bad else 0}"),
    "validation": ("src,dst,bw_GBps,validation", lambda bad, x: f"{12 + x:.2f},{'Failed' if bad else 'Pass'}"),
    "data": ("src,dst,data,lat_us", lambda bad, x: f"{'corrupt (failed)' if bad else 'ok'},{1.2 + x / 10:.3f}"),
    "reason": ("src,dst,bw_GBps,reason", lambda bad, x: f"{12 + x:.2f},{'TIMEOUT' if bad else '-'}"),
    "exit code": ("from,to,rate_MB/s,rc", lambda bad, x: f"{12000 + 1000 * x:.0f},{137 if bad else 0}"),
}


@pytest.mark.parametrize("form", [name for name in OUTCOMES if name != "data"])
@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_pair_whose_test_failed_is_dead(form: str, mark: str, tmp_path: Path, seatrial: Seatrial) -> None:
    heading, cells = OUTCOMES[form]
    (tmp_path / "t.csv").write_text(table(heading, cells).replace(",", mark))
    assert seatrial("judge", tmp_path / "t.csv", code=1).out.startswith("DOWN  n5 was measured without")
    (tmp_path / "t.csv").write_text(table(heading, cells, bad="none").replace(",", mark))
    assert seatrial("judge", tmp_path / "t.csv", code=0).out.startswith("PASS")


@pytest.mark.parametrize(
    ("heading", "cells"),
    [
        ("src,dst,packet_loss,lat_us", lambda bad, x: f"{'25%' if bad else '0%'},{1.2 + x / 10:.3f}"),
        ("src,dst,bw_GBps,crc_errors", lambda bad, x: f"{12 + x:.2f},{4411 if bad else 0}"),
        ("src,dst,dropped,bw_GBps", lambda bad, x: f"{7 if bad else 0},{12 + x:.2f}"),
    ],
)
def test_a_count_of_losses_is_asked_about(heading: str, cells: Cells, tmp_path: Path, seatrial: Seatrial) -> None:
    (tmp_path / "t.csv").write_text(table(heading, cells))
    said = seatrial("judge", tmp_path / "t.csv", code=64).err
    assert "for n1,n5, 0 for most pairs, and nothing shows whether such a pair counts" in said
    assert seatrial("judge", Text(table(heading, cells, bad="none"), "t.csv"), code=0).out.startswith("PASS")


@pytest.mark.parametrize(
    ("heading", "cells"),
    [
        ("src,dst,hops,bw_GBps", lambda bad, x: f"{1 if bad else 0},{12 + x:.2f}"),
        ("src,dst,same_leaf,bw_GBps", lambda bad, x: f"{'no' if bad else 'yes'},{12 + x:.2f}"),
        ("src,dst,bw_GBps,place", lambda bad, x: f'{12 + x:.2f},"row 1, {"rack 2" if bad else "rack 3"}"'),
    ],
)
def test_other_columns_say_nothing_of_a_pair(heading: str, cells: Cells, tmp_path: Path, seatrial: Seatrial) -> None:
    (tmp_path / "t.csv").write_text(table(heading, cells))
    assert seatrial("judge", tmp_path / "t.csv", code=0).out.startswith("PASS")


@pytest.mark.parametrize("name", ["bw_GBs", "avg_bw_GBs", "bw (GBs)", "throughput_GB_s", "rate_gbs", "bw_MiBs"])
def test_units_without_a_stroke(name: str) -> None:
    rates = read_matrix(table(f"src,dst,{name}", lambda _, x: f"{12 + x:.2f}")).bandwidth_bytes_per_s
    assert sorted(rates)[28] == pytest.approx(12 * (1 << 20) if "Mi" in name else 12e9, rel=0.01)


@pytest.mark.parametrize(
    ("name", "seconds"), [("rtt_us", 1e-6), ("rtt_avg_ms", 1e-3), ("ping (ms)", 1e-3), ("one_way_ns", 1e-9)]
)
def test_short_times_are_latencies(name: str, seconds: float, tmp_path: Path, seatrial: Seatrial) -> None:
    text = table(f"src,dst,{name}", lambda _, x: f"{7 + x:.2f}")
    assert sorted(read_matrix(text).latency_s)[28] == pytest.approx(7 * seconds, rel=0.01)
    (tmp_path / "t.csv").write_text(text)
    assert seatrial("judge", tmp_path / "t.csv", code=0).out.startswith("PASS")


@pytest.mark.parametrize(("heading", "wrong"), [("bw_GBps", "12000"), ("lat_us", "0.012")])
def test_a_value_far_above_all_others_is_said(heading: str, wrong: str, tmp_path: Path, seatrial: Seatrial) -> None:
    text = table(f"src,dst,{heading}", lambda _, x: f"{12 + x:.2f}")
    ran = seatrial("judge", Text(text.replace("n1,n2,12.00", f"n1,n2,{wrong}", 1), "t.csv"), "--json", code=2)
    assert ran.object["headline"].startswith("INCONCLUSIVE  check the unit: n1>n2 has 12")
    (best,) = ran.object["data"]["too_good"]
    assert (best["subject"], best["values"]) == ("pair:n1>n2", 1)
    (tmp_path / "t.csv").write_text(text)
    assert seatrial("judge", tmp_path / "t.csv", code=0).out.startswith("PASS")


def test_a_value_that_cannot_be_is_said_beside_a_slow_node(seatrial: Seatrial) -> None:
    rows = [
        f"n{i},n{j},{12e6 if (i, j) == (2, 5) else (8000 if 4 in (i, j) else 12000) + (i * 7 + j * 3) % 11}"
        for i in range(8)
        for j in range(8)
        if i != j
    ]
    said = seatrial("judge", Text("\n".join(["src,dst,bw_MB_s", *rows]), "t.csv"), code=1).out
    assert said.startswith("SLOW  n4: 33 % less bandwidth")
    assert "Of bandwidth, check the unit: n2>n5 has 12.0 TB/s, median 12.0 GB/s" in said


def lone_of(
    tmp_path: Path, seatrial: Seatrial, cell: Callable[[str, str], object]
) -> tuple[str, list[tuple[str, str]]]:
    """The beginning of the first line, and who has which cells alone, where `cell` makes them of the ends of a pair."""
    rows = [f"{a},{b},{12 + noise(a, b):.2f},{cell(a, b)}" for a, b in PAIRS]
    (tmp_path / "t.csv").write_text("\n".join(["src,dst,bw_GBps,retransmits", *rows, ""]))
    headline = seatrial("judge", tmp_path / "t.csv", code=0).out.partition(";")[0]
    data = parsed(seatrial("judge", tmp_path / "t.csv", "--json", code=0).out)
    return headline, [(one["subject"], one["cell"]) for one in data["lone"]]


@pytest.mark.parametrize(
    ("cell", "text", "lone"),
    [
        (lambda a, b: 900 * ("n4" in (a, b)), "n4 has retransmits 900, others 0", [("n4", "900")]),
        (
            lambda a, b: (500 + int((a + b).replace("n", ""))) * ("n4" in (a, b)),
            "n4 has retransmits 5",
            [("n4", "545")],
        ),
        (lambda a, _: 2 if a == "n3" else 4, "n3 has retransmits 2, others 4", [("n3", "2")]),
        (
            lambda a, b: 40 * int(a[1:]) * (b == "n4") + int(b[1:]) % 3,
            "n4 has retransmits 201, others 0 to 2",
            [("n4", "201")],
        ),
        (lambda a, b: "flap" if "n4" in (a, b) else "-", "n4 has retransmits flap, others none", [("n4", "flap")]),
        (lambda a, b: "" if "n4" in (a, b) else 0, "n4 has no retransmits, others 0", [("n4", "")]),
        (lambda a, b: 7 * ((a, b) == ("n2", "n5")), "n2 > n5 has retransmits 7, others 0", [("n2 > n5", "7")]),
    ],
    ids=["both ways", "varied", "sender", "receiver", "word", "empty", "one pair"],
)
def test_what_a_node_has_with_its_partners_withholds_the_pass(
    cell: Callable[[str, str], object], text: str, lone: list[tuple[str, str]], tmp_path: Path, seatrial: Seatrial
) -> None:
    headline, cells = lone_of(tmp_path, seatrial, cell)
    assert headline.startswith(f"NOTE  {text}")
    assert cells == lone


@pytest.mark.parametrize(
    "cell",
    [
        lambda a, b: 3 if (a < "n5") == (b < "n5") else 5,
        lambda a, b: round(100 * noise(a, b) + 5) % 3,
        lambda a, b: f"{1 + noise(a, b):.2f}",
    ],
    ids=["hops", "counts that all have", "measurements"],
)
def test_what_many_pairs_have_withholds_nothing(
    cell: Callable[[str, str], object], tmp_path: Path, seatrial: Seatrial
) -> None:
    headline, cells = lone_of(tmp_path, seatrial, cell)
    assert headline.startswith("PASS  no fault on 8 nodes")
    assert cells == []


@pytest.mark.parametrize(("odd", "named"), [(20, 20), (21, 0)])
def test_more_than_twenty_pairs_are_no_exception(odd: int, named: int) -> None:
    pairs = [*itertools.permutations([f"n{number}" for number in range(20)], 2)]
    rows = [f"{a},{b},12,{3 * (place % 17 == 0 and place < 17 * odd)}" for place, (a, b) in enumerate(pairs)]
    assert len(lone_ends("\n".join(["src,dst,bw_GBps,drops", *rows]))) == named


def test_the_beginning_of_a_large_table_shows_what_a_node_has_alone(tmp_path: Path, seatrial: Seatrial) -> None:
    names = [f"n{number}" for number in range(150)]
    rows = [f"{a},{b},{12 + noise(a, b):.2f},{900 * ('n4' in (a, b))}" for a, b in itertools.permutations(names, 2)]
    (tmp_path / "t.csv").write_text("\n".join(["src,dst,bw_GBps,retransmits", *rows, ""]))
    data = parsed(seatrial("judge", tmp_path / "t.csv", "--json", code=None).out)
    assert [(one["subject"], one["cell"]) for one in data["lone"]] == [("n4", "900")]


def test_where_few_nodes_are_receivers_their_measurements_are_not_those_of_few() -> None:
    rows = [f"n{number},server,12,{number * 7 % 41}.{number}" for number in range(40)]
    assert lone_ends("\n".join(["src,dst,bw_GBps,cpu_ms", *rows])) == ()
