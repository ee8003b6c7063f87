"""`seatrial judge --as fleet`: what it reads, its verdicts, and a recorded fleet."""

import json
import random
from pathlib import Path

import pytest

from seatrial.frame.command_line import run
from seatrial.importers.fleets import one_stratum, read_fleet_table
from seatrial.judgement.fleet.strata import FleetJudgement, judge_strata, with_facts
from seatrial.model.errors import UsageError
from seatrial.model.imported import Sense
from seatrial.model.verdict import Verdict
from seatrial.render.fleet.view import fleet_report
from seatrial.render.report import Report
from tests.support.benchmark_outputs import hpl, osu, stream
from tests.support.builders import Cluster
from tests.support.command_line import Seatrial, Text
from tests.support.facts_examples import server
from tests.unit.statistics.test_fleets import fleet

VALUES = {"n1": [1.0, 2.0], "n2": [3.0]}


@pytest.mark.parametrize(
    "text",
    [
        "node,value\nn1,1\nn1,2\nn2,3\n",
        "host,iter,rate\nn1,2,2\nn1,1,1\nn2,1,3\n",
        '{"n1": [1, 2], "n2": [3, null]}',
        '[{"node": "n1", "run": 1, "value": 1}, {"node": "n2", "run": 1, "value": 3}, '
        '{"node": "n1", "run": 2, "value": 2}]',
        '{"node": ["n1", "n1", "n2"], "value": [1, 2, 3]}',
    ],
)
def test_forms_of_a_fleet(text: str) -> None:
    assert read_fleet_table(text).values == VALUES


def test_one_of_several_columns_is_chosen() -> None:
    text = "node,score,triad\nn1,1.5,5\nn2,2.5,6\n"
    assert read_fleet_table(text, "triad").values == {"n1": [5.0], "n2": [6.0]}
    with pytest.raises(UsageError, match=r"score, triad\. Choose one: --column COLUMN"):
        read_fleet_table(text)
    with pytest.raises(UsageError, match="no column of values 'add'"):
        read_fleet_table(text, "add")


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("time,machine,value\n2026-01-02,n1,1\n2026-01-03,n2,3\n", ("machine", "value", "")),
        ("timestamp,box,iter,rate\n2026-01-02T10:00,n1,1,1\n2026-01-02T11:00,n2,1,3\n", ("box", "rate", "")),
        ("started,box,rate\n2026-01-02T10:00,n1,1\n2026-01-02T11:00,n2,3\n", ("box", "rate", "")),
        ("date,node,run,mb_s\n3.1.2026,n1,1,1\n3.1.2026,n2,1,3\n", ("node", "mb_s", "run")),
        ("n1,1\nn2,3\n", ("column 1", "column 2", "")),
        ('[{"date": "2026-01-02", "machine": "n1", "value": 1}, {"date": "", "machine": "n2", "value": 3}]',
         ("machine", "value", "")),
    ],
)  # fmt: skip
def test_a_column_of_times_does_not_hold_the_nodes(text: str, columns: tuple[str, str, str]) -> None:
    table = read_fleet_table(text)
    assert table.values == {"n1": [1.0], "n2": [3.0]}
    assert (table.roles.node, table.roles.value) == columns[:2]


@pytest.mark.parametrize("others", ["", ",bios"])
def test_what_all_nodes_have_is_no_measurement(others: str) -> None:
    rows = [f"cn{number},256" + (f",2.{number % 2}" if others else "") for number in range(1, 9)]
    with pytest.raises(UsageError, match="All rows have the same mem_gb"):
        read_fleet_table("\n".join((f"node,mem_gb{others}", *rows)))


def test_a_time_can_be_the_value() -> None:
    assert read_fleet_table("node,time\nn1,1\nn1,2\nn2,3\n", "time").values == VALUES


@pytest.mark.parametrize("head", ["time,value", "date,value", "timestamp,value", "rack,box,value", "Date,value"])
def test_a_table_without_a_clear_column_of_nodes_is_refused(head: str) -> None:
    cells = {"time": "10:00", "date": "2026-01-02", "Date": "20260102", "timestamp": "1700000000"}
    row = ",".join(cells.get(name, "5" if name == "value" else "x") for name in head.split(","))
    with pytest.raises(UsageError, match=f"the names of the nodes: {head.replace(',', ', ')}"):
        read_fleet_table(f"{head}\n{row}\n")


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("box,device,rate\nb1,GPU0,1\nb1,GPU1,2\nb2,GPU0,1\nb3,GPU0,1\n", "box"),
        ("kind,box,rate\nfast,b1,1\nslow,b2,2\nslow,b3,3\n", "box"),
    ],
)
def test_of_columns_of_words_the_one_with_numbered_names_has_the_nodes(text: str, node: str) -> None:
    assert read_fleet_table(text).roles.node == node
    with pytest.raises(UsageError, match="Several columns can hold the names of the nodes"):
        read_fleet_table(text.replace("b3", "c"))


def test_the_columns_that_were_taken_are_named(tmp_path: Path, seatrial: Seatrial) -> None:
    rows = [f"2026-01-02,{node},{value:.3f}" for node, values in fleet(40).items() for value in values]
    file = tmp_path / "a.csv"
    file.write_text("\n".join(["date,machine,rate", *rows, "2026-01-02,n1,", ""]))
    shown = "".join(seatrial("judge", str(file)).out.split())  # lines are wrapped, a long path within itself
    expected = f"{file}: nodes from column 'machine', values from 'rate'. Constant: 'date'. 1 value is missing, of n1."
    assert "".join(expected.split()) in shown
    data = seatrial("judge", str(file), "--json").object["data"]
    (columns,) = data["columns"]
    assert (columns["file"], columns["node"], columns["value"], columns["runs"]) == (str(file), "machine", "rate", [])
    assert data["without_value"] == ["n1"]


REFUSED = ("node,value\nn1,-3\n", '{"n1": ["x"]}', "node\nn1\n", "")
HUGE = ("node,value\nn1,1e308\n", '{"n1": [1e308]}', f'{{"n1": [{10**400}]}}')


@pytest.mark.parametrize("text", [*REFUSED, *HUGE])
def test_what_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        read_fleet_table(text)


def judged_fleet(values: dict[str, list[float]]) -> FleetJudgement:
    return judge_strata({"a": one_stratum(values, sense=Sense.HIGHER)})


def verdict(values: dict[str, list[float]]) -> Verdict:
    return judged_fleet(values).verdict


def report_of(values: dict[str, list[float]]) -> Report:
    return fleet_report(judged_fleet(values), {})


def test_verdicts() -> None:
    assert verdict(fleet(40)) is Verdict.PASS
    assert verdict({**fleet(40), "n1": [70.0] * 5}) is Verdict.SLOW
    assert verdict({**fleet(40), "n1": [100.0, 100.0, 70.0, 100.0, 100.0]}) is Verdict.UNSTABLE
    assert verdict({**fleet(40, runs=1), "n1": [50.0]}) is Verdict.INCONCLUSIVE
    assert verdict(fleet(2)) is Verdict.INCONCLUSIVE
    assert verdict(fleet(4, scatter=0.05)) is Verdict.INCONCLUSIVE
    assert verdict({**fleet(40), "n1": []}) is Verdict.NOT_RUN
    assert verdict({"n1": []}) is Verdict.NOT_RUN


def test_a_dead_node_is_slow_and_does_not_hide_others() -> None:
    for runs in (1, 5):
        dead = {**fleet(40, runs=runs), "n1": [0.0] * runs}
        assert verdict(dead) is Verdict.SLOW
        assert report_of(dead).sentence == "n1 100 % below its peers, among 40 nodes"
        (result,), (healthy,) = ([stratum.result for stratum in judged_fleet(values).strata]
                                 for values in (dead, fleet(40, runs=runs)))  # fmt: skip
        assert result is not None and healthy is not None
        assert result.node_scatter == pytest.approx(healthy.node_scatter, rel=0.1)
    half = {node: values if int(node[1:]) >= 20 else [0.0] * 5 for node, values in fleet(40).items()}
    assert len(judged_fleet(half).of(Verdict.SLOW)) == 20


def test_a_run_of_value_0_is_a_bad_run() -> None:
    (named,) = judged_fleet({**fleet(40), "n1": [100.0, 0.0, 100.0, 100.0, 100.0]}).named
    assert (named.subject, named.verdict) == ("n1", Verdict.UNSTABLE)
    assert named.loss == pytest.approx(1.0)


def test_zeros_everywhere_or_where_lower_is_better_show_nothing(tmp_path: Path, seatrial: Seatrial) -> None:
    (tmp_path / "a.json").write_text(json.dumps({f"n{number}": [0, 0, 0] for number in range(9)}))
    ran = seatrial("judge", "--as", "fleet", tmp_path / "a.json", code=2)
    assert ran.out.startswith("INCONCLUSIVE  every value of 9 nodes is 0")
    ran = seatrial("judge", "--as", "fleet", tmp_path / "a.json", "--better", "lower", code=64)
    assert "has the value 0; where lower values are better" in ran.err


@pytest.mark.parametrize(("factor", "better", "first"), [
    (1.5, "higher", "NOTE  n7 far higher than 39 nodes alike; a "),
    (1000.0, "higher", "INCONCLUSIVE  check the unit: n7 has 1,0"),
    (0.6, "lower", "NOTE  n7 far lower than 39 nodes alike; a "),
    (0.6, "higher", "SLOW  n7 40 % below its peers, among 40 nodes"),
    (1.0, "higher", "PASS  40 nodes alike; a "),
])  # fmt: skip
def test_a_node_far_better_than_its_peers_is_not_alike(
    factor: float, better: str, first: str, tmp_path: Path, seatrial: Seatrial
) -> None:
    values = fleet(40)
    values["n7"] = [factor * value for value in values["n7"]]
    (tmp_path / "a.json").write_text(json.dumps(values))
    code = {"SLOW": 1, "INCONCLUSIVE": 2}.get(first.split(maxsplit=1)[0], 0)
    assert seatrial("judge", "--as", "fleet", tmp_path / "a.json", "--better", better, code=code).out.startswith(first)


def test_a_single_run_of_another_unit_withholds_pass(seatrial: Seatrial) -> None:
    values = fleet(40)
    values["n7"][1] *= 1000
    out = seatrial("judge", "--as", "fleet", Text(json.dumps(values), "a.json"), "--better", "higher", code=2).out
    assert out.startswith("INCONCLUSIVE  check the unit: n7 has ")


def test_each_node_is_a_test_case(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({**fleet(40), "n1": [0.0] * 5, "n2": []}))
    assert run(["judge", "--as", "fleet", str(tmp_path / "a.json"), "--junit", str(tmp_path / "j.xml")]) == 1
    written = (tmp_path / "j.xml").read_text()
    assert 'name="node:n1">\n   <failure message="100 % worse than its peers in 5 runs" type="SLOW">' in written
    assert 'name="node:n2">\n   <skipped message="NOT_RUN: no value"/>' in written or "NOT_RUN: no value" in written
    assert 'name="node:n3"/>' in written


def test_headlines_name_the_nodes() -> None:
    assert report_of({**fleet(40), "n1": [70.0] * 5}).headline == "SLOW  n1 30 % below its peers, among 40 nodes"
    assert "40 nodes alike; a loss of " in report_of(fleet(40)).sentence
    assert report_of({**fleet(40), "n1": []}).sentence.endswith("not measured: n1")
    scattered = report_of({**{f"n{node}": [100.0 + 5 * (node % 7)] for node in range(2, 14)}, "n1": []})
    assert scattered.word == Verdict.INCONCLUSIVE
    assert scattered.sentence.endswith("; not measured: n1")


def test_the_fact_of_the_slow_nodes_is_named(tmp_path: Path, seatrial: Seatrial) -> None:
    """60 nodes with one MTU, but two slow ones: the first line says so, with p = 1 / 1770."""
    values = {**fleet(60), "n3": [70.0] * 5, "n7": [71.0] * 5}
    (tmp_path / "a.json").write_text(json.dumps(values))
    streams = tmp_path / "facts"
    streams.mkdir()
    for name in values:
        text = Cluster(nodes=(name,)).facts_text(name)
        odd = name in ("n3", "n7")
        (streams / f"{name}.facts").write_text(text.replace("mtu|1500", "mtu|9000") if odd else text)
    words = ["judge", "--as", "fleet", str(tmp_path / "a.json"), "--facts"]
    first, _, rest = seatrial(*words, str(streams), code=1).out.partition("\n")
    assert first == "SLOW  n3 30 %, n7 29 % below their peers; both have MTU of eth0 9000 B"
    shown = " ".join(rest.split())
    assert "n3 and n7, and no other of 60 nodes, have MTU of eth0 9000 B (usually 1500 B; p = " in shown
    (suspect,) = seatrial(*words, str(streams), "--json", code=1).object["data"]["suspects"]
    assert suspect["p_value"] == pytest.approx(1 / 1770)
    assert (suspect["proved"], suspect["slow"], suspect["all_slow"]) == (True, ["n3", "n7"], 2)
    seatrial(*words, tmp_path / "nothing", code=64)


def test_the_first_line_fits_into_a_terminal() -> None:
    """Of many slow nodes as many are named as there is room for, and all in the table."""
    names = {f"compute-rack{rack}-node{node}": [100.0 + node / 9] * 5 for rack in range(6) for node in range(9)}
    slow = dict.fromkeys((f"compute-rack{rack}-node1" for rack in range(6)), [70.0] * 5)
    report = report_of({**names, **slow, "compute-rack7-node1": []})
    assert len(report.headline) <= 80
    assert report.headline.startswith("SLOW  compute-rack")
    assert report.headline.endswith("30 % and 5 more below their peers; 1 node not measured")


def test_without_the_facts_of_the_slow_node_nothing_is_named() -> None:
    judged = judged_fleet({**fleet(40), "n1": [70.0] * 5})
    assert with_facts(judged, {}).suspects == ()
    same = {node: server(node) for node in fleet(40)}
    del same["n1"]
    left = with_facts(judged, same)
    assert (left.suspects, left.without_facts) == ((), ("n1",))


def test_several_files_are_one_fleet(tmp_path: Path, seatrial: Seatrial) -> None:
    values = {**fleet(40), "n1": [70.0] * 5}
    (tmp_path / "a.json").write_text(json.dumps({node: runs[:2] for node, runs in values.items()}))
    (tmp_path / "b.json").write_text(json.dumps({node: runs[2:] for node, runs in values.items()}))
    data = seatrial("judge", "--as", "fleet", tmp_path / "a.json", tmp_path / "b.json", "--json", code=1).object["data"]
    assert (data["slow"], data["unstable"], len(data["nodes"][0]["values"])) == (["n1"], [], 5)
    node = next(node for node in data["nodes"] if node["node"] == "n1")
    assert (node["evidence"], node["low"], node["high"]) == (63 / 6, None, None)
    seatrial("judge", "--as", "fleet", tmp_path / "a.json", "--better", "faster", code=64)


def test_large_medians_have_a_prefix_and_no_exponent(seatrial: Seatrial) -> None:
    rows = [f"n{place},{117_748 * (0.8 if place == 3 else 1) + place + run}" for place in range(12) for run in range(3)]
    out = seatrial("judge", Text("\n".join(["node,value", *rows]), "fleet.csv"), "--better", "higher", code=None).out
    assert "94.2 k" in out
    assert "Median 117.8 k;" in out
    assert "e+0" not in out


def test_outputs_that_do_not_pass_their_gates_have_no_value(tmp_path: Path, seatrial: Seatrial) -> None:
    good = stream()
    wrong = good.replace("Solution Validates", "Failed Validation on array a[]")
    for node, text in {"n1": good, "n2": good, "n3": wrong, "n4": good[: len(good) // 2], "n5": good}.items():
        (tmp_path / f"{node}-stream.out").write_text(text)
    files = [str(path) for path in sorted(tmp_path.iterdir())]
    for words in (files, [str(tmp_path)]):
        report = seatrial("judge", *words, "--json", code=None).object["data"]
        assert sorted(node["node"] for node in report["nodes"]) == ["n1", "n2", "n5"]
        assert sorted(report["without_value"]) == ["n3", "n4"]
        assert "n3-stream.out (the arrays do not have" in " ".join(seatrial("judge", *words, code=None).out.split())


@pytest.mark.parametrize("having", [8, 3])
def test_further_benchmarks_in_the_files_are_conditions(having: int, tmp_path: Path, seatrial: Seatrial) -> None:
    """STREAM behind HPL: node 3 is slow in it alone. `having`: how many nodes ran it."""
    for node in range(1, 9):
        seconds = 0.0116 if node == 3 else 0.0081 + node / 1e6
        text = hpl() + (stream(triad_s=seconds) if node <= having else "")
        (tmp_path / f"n{node}.out").write_text(text)
    data = seatrial("judge", tmp_path, "--json", code=2).object["data"]
    of = {dict(stratum["conditions"])["benchmark"]: stratum for stratum in data["strata"]}
    assert {name: (stratum["unit"], len(stratum["nodes"])) for name, stratum in of.items()} == {
        "hpl": ("flop/s", 8), "stream": ("B/s", having)
    }  # fmt: skip
    assert data["suspected"] == ["n3"]
    assert not data["failed"]


def test_a_node_without_the_further_benchmark_of_the_others_has_failed(tmp_path: Path, seatrial: Seatrial) -> None:
    for node in range(1, 9):
        (tmp_path / f"n{node}.out").write_text(hpl() + (stream() if node != 5 else ""))
    data = seatrial("judge", tmp_path, "--json", code=2).object["data"]
    assert (data["failed"], data["unmeasured"]) == (["n5"], ["n5"])


def test_nodes_are_compared_by_a_latency_where_no_output_has_a_rate(tmp_path: Path, seatrial: Seatrial) -> None:
    for node in range(1, 9):
        text = osu() if node != 3 else osu().replace("  1.50", "  1.95")
        (tmp_path / f"n{node}-osu_latency.out").write_text(text)
    data = seatrial("judge", tmp_path, "--json", code=2).object["data"]
    assert (data["suspected"], data["better"]) == (["n3"], "lower")


def test_outputs_of_two_benchmarks_are_no_fleet(tmp_path: Path, seatrial: Seatrial) -> None:
    (tmp_path / "n1.out").write_text(stream())
    (tmp_path / "n2.out").write_text(hpl())
    assert "n2.out is of hpl, other files are of stream" in seatrial("judge", tmp_path, code=64).err


def times(name: str, slow: float = 1.12) -> str:
    """16 nodes, of which n7 takes longer."""
    draw = random.Random(4)
    rows = [
        f"n{place},{3600 * draw.gauss(1, 0.004) * (slow if place == 7 else 1)}" for place in range(16) for _ in "123"
    ]
    return "\n".join([f"node,{name}", *rows])


@pytest.mark.parametrize("name", ["hpl_time_s", "latency", "Elapsed seconds", "wallTime", "t_us"])
def test_of_a_time_lower_values_are_good(name: str, seatrial: Seatrial) -> None:
    """The node that takes longer would be the best one if higher were better."""
    data = seatrial("judge", Text(times(name), "fleet.csv"), "--json", code=1).object["data"]
    assert (data["slow"], data["better"], data["better_known"]) == (["n7"], "lower", True)


def test_without_a_known_direction_no_node_that_stands_out_passes(tmp_path: Path, seatrial: Seatrial) -> None:
    ran = seatrial("judge", Text(times("score"), "fleet.csv"), code=2)
    assert ran.out.startswith("INCONCLUSIVE  n7 above its peers: is higher better?")
    for better, code in (("higher", 0), ("lower", 1)):
        ran = seatrial("judge", tmp_path / "fleet.csv", "--better", better, "--json", code=code)
        assert ran.object["data"]["ahead"] == (["n7"] if better == "higher" else [])
    seatrial("judge", Text(times("score", slow=1.0), "fleet.csv"))


def test_files_of_both_directions_are_no_fleet(tmp_path: Path, seatrial: Seatrial) -> None:
    for name in ("duration", "rate"):
        (tmp_path / f"{name}.csv").write_text(times(name))
    ran = seatrial("judge", tmp_path / "duration.csv", tmp_path / "rate.csv", code=64)
    assert "lower ones in others" in ran.err


@pytest.mark.parametrize(("factor", "refused"), [(0.8, True), (1.25, True), (0.93, False)])
def test_files_in_which_all_nodes_are_faster_than_in_another_are_no_runs(
    factor: float, refused: bool, tmp_path: Path, seatrial: Seatrial
) -> None:
    """All nodes were slower today than last month, and were alike in both files taken together."""
    for name, of in (("old", 1.0), ("new", factor)):
        rows = [
            f"{node},{run},{of * value:.3f}" for node, values in fleet(8).items() for run, value in enumerate(values)
        ]
        (tmp_path / f"{name}.csv").write_text("\n".join(["node,run,rate", *rows, ""]))
    files = [str(tmp_path / f"{name}.csv") for name in ("old", "new")]
    ran = seatrial("judge", *files, code=64 if refused else None)
    assert ("2 files of each node differ on all nodes alike" in ran.err) == refused
    assert ("seatrial compare" in ran.err) == refused
    if not refused:
        (shift,) = seatrial("judge", *files, "--json", code=0).object["data"]["shifts"]
        assert (Path(shift["worse"]).name, shift["loss"]) == ("new.csv", pytest.approx(0.07, abs=0.01))
    rows = [f"{node},{run},{(factor if node == 'n1' else 1) * value:.3f}" for node, values in fleet(8).items()
            for run, value in enumerate(values)]  # fmt: skip
    (tmp_path / "new.csv").write_text("\n".join(["node,run,rate", *rows, ""]))
    assert seatrial("judge", *files, code=None).code != 64


@pytest.mark.parametrize(("factor", "effect", "word"), [(0.985, "2 %", "PASS"), (0.97, "2 %", "NOTE"),
                                                        (0.97, "4 %", "PASS")])  # fmt: skip
def test_files_in_which_all_nodes_are_a_little_worse_are_no_pass(
    factor: float, effect: str, word: str, tmp_path: Path, seatrial: Seatrial
) -> None:
    chance = random.Random(3)
    for name, of in (("old", 1.0), ("new", factor)):
        rows = [f"n{node},{run},{of * 200 * (1 + chance.gauss(0, 0.001)):.3f}" for node in range(8) for run in range(4)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["node,run,rate", *rows, ""]))
    files = [str(tmp_path / f"{name}.csv") for name in ("old", "new")]
    ran = seatrial("judge", *files, "--effect", effect, code=0)
    assert ran.out.startswith(word)
    assert ("worse in new.csv than in old.csv" in " ".join(ran.out.split())) == (word == "NOTE")


def test_files_whose_states_make_the_scatter_are_named_first(tmp_path: Path, seatrial: Seatrial) -> None:
    for name, of in (("old", 2710), ("new", 2520)):
        rows = [f"n{node},{of + node % 4}" for node in range(10)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["node,gflops", *rows, ""]))
    ran = seatrial("judge", tmp_path / "old.csv", tmp_path / "new.csv", code=2)
    assert ran.out.startswith("INCONCLUSIVE  all nodes 7.0 % worse in new.csv than in old.csv\n")
