"""seatrial judge: matrices of other tools, judged."""

import itertools
import random
from pathlib import Path

import numpy as np
import pytest

from seatrial.frame.command_line import run
from seatrial.importers.fields import pieces
from seatrial.importers.formats import read_matrix
from seatrial.importers.mpigraph import parse_mpigraph
from seatrial.model.errors import UsageError
from tests.support.benchmark_outputs import perftest
from tests.support.command_line import Seatrial, Text
from tests.support.matrices import matrix, nxnlatbw
from tests.support.paths import data


def csv(count: int, slow: str = "", heading: str = "source,target,latency_us,bandwidth_mb_s") -> str:
    names = [f"n{number}" for number in range(1, count + 1)]
    rows = [f"{a},{b},1.50,{600 if slow in (a, b) else 1000}" for a in names for b in names if a != b]
    return "\n".join([heading, *rows]) + "\n"


def varied(text: str) -> str:
    """The same with bandwidths that differ a little, as measured ones do."""
    lines = text.splitlines()
    return "\n".join(line.replace(",1000", f",{1000 + 7 * place % 5}") for place, line in enumerate(lines)) + "\n"


def mpigraph(count: int, slow: int) -> str:
    def table(word: str, way: str) -> list[str]:
        hosts = [f"h{number}:{number}" for number in range(count)]
        rows = [
            f"{host} {way}\t"
            + "".join(f"{0 if i == j else 500 if slow in (i, j) else 1000:.3f}\t" for j in range(count))
            for i, host in enumerate(hosts)
        ]
        return ["", f"{word}\t" + "\t".join(hosts) + "\t", *rows]

    return "\n".join(
        ["START mpiGraph v1.4", "MsgSize\t4096", *table("Send", "to"), *table("Recv", "from"), "END mpiGraph\n"]
    )


def file_of(name: str, folder: Path) -> str:
    """The path of a matrix that is generated from its description."""
    (folder / "matrix.out").write_text(nxnlatbw(matrix(name)))
    return str(folder / "matrix.out")


ROCE = "16 nodes, 3.045 GB/s, 1.37 us, 9+7 on leaves, 2.05 us between leaves"
HDR100 = "56 nodes, 12.2 GB/s, 1.1 us"


def test_the_cluster_of_two_leaf_switches(tmp_path: Path, seatrial: Seatrial) -> None:
    file = file_of(ROCE, tmp_path)
    found = seatrial("judge", file, "--json").data
    assert found["faults"] == found["ambiguous"] == []
    assert [len(one["nodes"]) for one in found["classes"]] == [9, 7]
    said = seatrial("judge", file).out
    assert said.startswith("PASS")
    assert "9 + 7 nodes near each other" in said


def test_a_healthy_cluster(tmp_path: Path, seatrial: Seatrial) -> None:
    assert "3080 of 3080 ordered pairs" in seatrial("judge", file_of(HDR100, tmp_path)).out


def test_a_slow_node_in_a_csv_file(tmp_path: Path, seatrial: Seatrial) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text(csv(8, "n3"))
    (fault,) = seatrial("judge", str(file), "--json", code=1).data["faults"]
    assert (fault["subject"], fault["direction"]) == ("node:n3", "both")
    assert fault["loss_ratio"] == pytest.approx(0.4)
    said = " ".join(seatrial("judge", str(file), code=1).out.split())
    assert "The link of node n3 carries 40 % [40 %–40 %] less than its peers, in both directions" in said


def judge(tmp_path: Path, text: str, *options: str) -> list[str]:
    (tmp_path / "pairs.csv").write_text(text)
    return ["judge", str(tmp_path / "pairs.csv"), *options]


def test_a_pass_says_what_it_is_worth_in_its_first_line(tmp_path: Path, seatrial: Seatrial) -> None:
    text = varied(csv(8))
    first, second = seatrial(*judge(tmp_path, text)).out.splitlines()[:2]
    assert first == "PASS  no fault on 8 nodes"
    assert second.startswith("a node with 1.1 % less bandwidth or 9.0 % more latency would have been reported")
    found = seatrial(*judge(tmp_path, text, "--json")).data
    assert (found["verdict"], found["confidence"]) == ("PASS", 0.99)
    (bandwidth, latency) = found["resolutions"]
    assert bandwidth["detectable_ratio"] == pytest.approx(0.011, abs=0.0005)
    assert (bandwidth["measured_pairs"], bandwidth["expected_pairs"], latency["enough"]) == (56, 56, True)


@pytest.mark.parametrize("value", ["0", "0.00", "NaN", "nan", "inf", "-1"])
def test_zero_and_nan_are_the_worst_value(value: str, tmp_path: Path, seatrial: Seatrial) -> None:
    text = csv(8)
    ran = seatrial(*judge(tmp_path, text.replace("n2,n5,1.50,1000", f"n2,n5,1.50,{value}"), "--json"), code=1)
    (fault,) = ran.data["faults"]
    assert (fault["subject"], fault["dead"], fault["loss_ratio"]) == ("pair:n2>n5", True, 1.0)
    lines = [line.replace("1000", value) if "n3" in line else line for line in text.splitlines()]
    (fault,) = seatrial(*judge(tmp_path, "\n".join(lines), "--json"), code=1).data["faults"]
    assert (fault["subject"], fault["dead"], fault["pairs"]) == ("node:n3", True, 14)
    said = " ".join(seatrial(*judge(tmp_path, "\n".join(lines)), code=1).out.split())
    assert "was measured without a usable bandwidth (0, NaN or impossible)" in said


def test_a_table_of_zeros_is_no_table_in_which_no_fault_could_be_found(seatrial: Seatrial) -> None:
    rows = [f"n{a},n{b},0" for a in range(6) for b in range(6) if a != b]
    text = seatrial("judge", Text("\n".join(["source,target,bandwidth_mb_s", *rows]) + "\n", "table.csv"), code=1).out
    assert text.splitlines()[0] == "DOWN  no measured pair of 6 nodes has a usable bandwidth"
    assert "Bandwidth: 30 of 30 ordered pairs, none with a usable number." in text


def test_dead_latencies_and_dead_cells_of_mpigraph(tmp_path: Path, seatrial: Seatrial) -> None:
    (fault,) = seatrial(*judge(tmp_path, csv(8).replace("n2,n5,1.50", "n2,n5,nan"), "--json"), code=1).data["faults"]
    assert (fault["subject"], fault["metric"], fault["dead"]) == ("pair:n2>n5", "latency_s", True)
    (tmp_path / "out").write_text(mpigraph(6, slow=9).replace("h2:2 from\t1000.000", "h2:2 from\t0.000"))
    (fault,) = seatrial("judge", tmp_path / "out", "--json", code=1).data["faults"]
    assert (fault["subject"], fault["dead"]) == ("pair:h0>h2", True)


def test_absent_rows_are_not_measured(tmp_path: Path, seatrial: Seatrial) -> None:
    text = varied(csv(8))
    lines = [line for line in text.splitlines() if not line.startswith(("n1,n2,", "n7,n3,"))]
    said = seatrial(*judge(tmp_path, "\n".join(lines)), code=2).out
    assert said.startswith("NOT_RUN")
    assert "2 of 56 ordered pairs were not measured" in said
    assert "54 of 56 ordered pairs" in said


def test_a_pair_in_three_lines_keeps_all_three(tmp_path: Path, seatrial: Seatrial) -> None:
    for last in ("n1,n2,1.50,1000\nn1,n2,1.50,400\n", "n1,n2,1.50,400\nn1,n2,1.50,1000\n"):
        found = seatrial(*judge(tmp_path, csv(8) + last, "--json"), code=2).data
        assert (found["verdict"], found["faults"]) == ("UNSTABLE", [])
        (unstable,) = found["unstable"]
        assert (unstable["subject"], unstable["cause"]) == ("pair:n1>n2", "repetitions")
    assert "its repetitions differ by 60 %" in seatrial(*judge(tmp_path, csv(8) + last), code=2).out


def test_the_effect_can_be_asked_for(tmp_path: Path, seatrial: Seatrial) -> None:
    text = csv(8).replace("n4,1.50,1000", "n4,1.50,995").replace("\nn4,", "\nX4,")
    text = "\n".join(line.replace("1000", "995") if "X4" in line else line for line in text.splitlines())
    text = text.replace("X4", "n4")
    assert "Observed: node:n4 has 0.5 %" in seatrial(*judge(tmp_path, text)).out
    found = seatrial(*judge(tmp_path, text, "--effect", "0.4%", "--latency-effect", "5 %", "--json"), code=1).data
    assert [fault["subject"] for fault in found["faults"]] == ["node:n4"]
    assert [one["effect_ratio"] for one in found["resolutions"]] == pytest.approx(
        [1 - 0.996 * 0.999, 0.05]  # the last digit is 1 of 1000
    )
    for wrong in ("0", "150%", "much", "-1%"):
        assert repr(wrong) in seatrial(*judge(tmp_path, text, "--effect", wrong), code=64).err


@pytest.mark.parametrize(("ways", "words"), [("in", " inwards"), ("out", " outwards"), ("in out", "")])
def test_a_faster_node_is_noted_with_its_direction(ways: str, words: str, tmp_path: Path, seatrial: Seatrial) -> None:
    draws, names = random.Random(4), [f"n{number:02d}" for number in range(1, 13)]
    rows = [
        f"{a},{b},{12000 * (1.5 if ('in' in ways and b == 'n05') or ('out' in ways and a == 'n05') else 1) * f:.1f}"
        for a, b in itertools.permutations(names, 2)
        for f in [draws.gauss(1, 0.004)]
    ]
    file = tmp_path / "pairs.csv"
    file.write_text("\n".join(("source,target,bandwidth_mb_s", *rows)) + "\n")
    said = seatrial("judge", str(file), code=0).out
    assert said.startswith(f"NOTE  n05 has 50 % more bandwidth{words} than the others; no fault on 12 nodes\n")


@pytest.mark.parametrize(
    ("column", "usual", "other", "first"),
    [
        ("bw_Gbps", "100", "99", "PASS  no fault on 8 nodes"),
        ("bw_Gbps", "100", "96", "SLOW  n3: 4.0 % less bandwidth"),
        ("bw_GBps", "12", "11", "INCONCLUSIVE  bandwidth: scatter or rounding hides a node"),
        ("bw_GBps", "12", "9", "SLOW  n3: 25 % less bandwidth"),
        ("lat_us", "1", "2", "INCONCLUSIVE  latency: scatter or rounding hides a node"),
        ("lat_us", "1.0", "1.4", "SLOW  n3: 40 % more latency"),
    ],
)
def test_one_step_of_the_last_digit_accuses_nobody(
    column: str, usual: str, other: str, first: str, tmp_path: Path, seatrial: Seatrial
) -> None:
    """99.49 is printed as 99, and 99.51 as 100; both were measured."""
    pairs = itertools.permutations([f"n{number}" for number in range(1, 9)], 2)
    rows = [f"{source},{target},{other if 'n3' in (source, target) else usual}" for source, target in pairs]
    assert seatrial(*judge(tmp_path, "\n".join([f"from,to,{column}", *rows])), code=None).out.startswith(first)


def test_two_populations_and_noise_are_no_pass(tmp_path: Path, seatrial: Seatrial) -> None:
    slow = {f"n{number}" for number in range(1, 5)}
    lines = [line.replace("1000", "250") if slow & set(line.split(",")[:2]) else line for line in csv(8).splitlines()]
    said = seatrial(*judge(tmp_path, "\n".join(lines)), code=2).out
    assert said.startswith("INCONCLUSIVE  two populations: 4 of 8 nodes reach 25 % of the others' bandwidth")
    assert "Population 1 by bandwidth (4 nodes, at 25 %): n1, n2, n3, n4." in said
    draw = random.Random(1)
    noisy = [line.replace("1000", str(draw.randint(700, 1300))) for line in csv(8).splitlines()]
    ran = seatrial(*judge(tmp_path, "\n".join(noisy)), code=2)
    assert "bandwidth: scatter or rounding hides a node that is" in ran.out.splitlines()[0]


def test_mpigraph_counts_in_mebibytes(tmp_path: Path, seatrial: Seatrial) -> None:
    table = parse_mpigraph(pieces(mpigraph(6, slow=2)))
    assert table.nodes == tuple(f"h{number}" for number in range(6))
    assert table.bandwidth_bytes_per_s.max() == pytest.approx(1000 * 2**20)
    file = tmp_path / "out"
    file.write_text(mpigraph(6, slow=2))
    assert "node:h2" in seatrial("judge", str(file), code=1).out
    with pytest.raises(UsageError, match="cut off"):
        read_matrix(mpigraph(6, 2)[:-20])


YAML_TOPOLOGY = data("fabric/blocks.yaml")
SWITCHES = "SwitchName=root Switches=leaf[1-3]\n" + "".join(
    f"SwitchName=leaf{one + 1} Nodes=n[{4 * one}-{4 * one + 3}]\n" for one in range(3)
)
TOPOLOGIES = {
    "topology.yaml": YAML_TOPOLOGY,
    "topology.conf": SWITCHES,
    "blocks": SWITCHES.partition("\n")[2].replace("SwitchName", "BlockName") + "BlockSizes=4\n",
    "lines": "n[0-3] leaf1\nn[4-7] leaf2\nn[8-11] leaf3\n",
}


@pytest.mark.parametrize("kind", TOPOLOGIES)
@pytest.mark.parametrize("once", [False, True])
def test_an_uplink_has_the_name_of_its_switch(tmp_path: Path, seatrial: Seatrial, kind: str, once: bool) -> None:
    draw = np.random.default_rng(1)
    rows = [
        f"n{a},n{b},{12000 * (0.5 if (a // 4 == 1) != (b // 4 == 1) else 1) * (1 + 0.003 * draw.standard_normal()):.1f}"
        for a in range(12)
        for b in range(12)
        if a < b or (a > b and not once)
    ]
    (tmp_path / "pairs").write_text("from,to,bw_mb_s\n" + "\n".join(rows))
    said = seatrial("judge", tmp_path / "pairs", "--topology", Text(TOPOLOGIES[kind], "topology"), code=1).out
    assert said.startswith("SLOW  uplink of leaf2: 50 % less bandwidth than its peers, among 12 nodes")
    assert ("in both directions" in " ".join(said.split())) is not once


def test_nodes_that_the_topology_lacks_are_listed(tmp_path: Path, seatrial: Seatrial) -> None:
    """No uplink can be named of nodes whose names the file has in capitals."""
    draw = np.random.default_rng(2)
    rows = [
        f"n{a},n{b},{12000 * (1 + 0.003 * draw.standard_normal()):.1f}" for a in range(12) for b in range(12) if a != b
    ]
    (tmp_path / "pairs").write_text("from,to,bw_mb_s\n" + "\n".join(rows))
    for leaf3, listed in (("N[8-11]", True), ("n[8-11]", False)):
        (tmp_path / "topology").write_text(SWITCHES.replace("n[8-11]", leaf3))
        said = seatrial("judge", tmp_path / "pairs", "--topology", tmp_path / "topology", code=0).out
        assert ("The topology does not know n8, n9, n10, n11" in said) is listed


def test_a_topology_that_cannot_be_read_says_why(tmp_path: Path, seatrial: Seatrial) -> None:
    (tmp_path / "pairs").write_text("from,to,bw_mb_s\nn1,n2,1000\nn2,n1,1000\n")
    (tmp_path / "topology").write_text(YAML_TOPOLOGY.replace("n[0-3]", "n[0-"))
    ran = seatrial("judge", tmp_path / "pairs", "--topology", tmp_path / "topology", code=64)
    assert "the nodes of leaf1 ('n[0-') are not a host list" in ran.err


@pytest.mark.parametrize("kind", ["slurm", "infiniband"])
def test_the_leaves_come_from_a_topology(tmp_path: Path, seatrial: Seatrial, kind: str) -> None:
    names = [f"n{number}" for number in range(1, 9)]
    far = {("n1", "n2"), ("n3", "n4"), ("n5", "n6"), ("n7", "n8")}
    rows = [f"{a},{b},{1000 if {a, b} in map(set, far) else 800}" for a in names for b in names if a != b]
    (tmp_path / "pairs").write_text("from,to,bw_mb_s\n" + "\n".join(rows))
    leaves = [names[place : place + 2] for place in range(0, 8, 2)]
    if kind == "slurm":
        text = "".join(f"SwitchName=l{place} Nodes={','.join(leaf)}\n" for place, leaf in enumerate(leaves))
    else:
        text = "".join(
            f'Switch\t9 "S-{place}"\t# "l{place}"\n'
            + "".join(f'[{port}]\t"H-{name}"[1]\t# "{name} mlx5_0" lid 1 4xEDR\n' for port, name in enumerate(leaf, 1))
            + "".join(
                f'Ca\t1 "H-{name}"\t# "{name} mlx5_0"\n[1]\t"S-{place}"[{port}]\t# lid 1 4xEDR\n'
                for port, name in enumerate(leaf, 1)
            )
            for place, leaf in enumerate(leaves)
        )
    found = seatrial("judge", tmp_path / "pairs", "--topology", Text(text, "topology"), "--json").data
    assert found["groups"] == leaves
    (tmp_path / "other").write_text("SwitchName=l0 Nodes=x1,x2\n")
    assert "x1" in seatrial("judge", tmp_path / "pairs", "--topology", tmp_path / "other", code=64).err


@pytest.mark.parametrize(
    ("heading", "scale"),
    [("a,b,bw_gb_s", 1e9), ("a,b,bw_MiB_s", 2**20), ("a,b,bandwidth_bytes_per_s", 1.0), ("a,b,BW", 1e6)],
)
def test_units_come_from_the_columns_name(heading: str, scale: float) -> None:
    table = read_matrix(f"{heading}\nn1,n2,3\n")
    assert table.bandwidth_bytes_per_s.tolist() == [3 * scale]
    assert read_matrix("a b latency_s\nn1 n2 0.5\n").latency_s.tolist() == [0.5]
    assert read_matrix("a b latency_us\nn1 n2 0.5\n").latency_s.tolist() == [0.5e-6]


def test_an_empty_field_was_not_measured() -> None:
    table = read_matrix("source,target,latency_us,bandwidth_mb_s\nn1,n2,,1000\nn2,n1,2.0,\n")
    assert sorted(table.bandwidth_bytes_per_s[~np.isnan(table.bandwidth_bytes_per_s)].tolist()) == [1e9]
    assert sorted(table.latency_s[~np.isnan(table.latency_s)].tolist()) == [2e-6]


@pytest.mark.parametrize(
    "text", ["", "hello\nworld\n", "source,target,latency\n", "a,b,c\n1,2,3\n", "a,b,latency_us\nn1,n1,3\n"]
)
def test_what_is_no_matrix_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        read_matrix(text)
    (tmp_path / "x").write_text(text)
    assert run(["judge", "--as", "pairs", str(tmp_path / "x")]) == 64
    assert run(["judge", str(tmp_path / "x"), "--format", "nonsense"]) == 64
    assert run(["judge", str(tmp_path / "nowhere")]) == 64


def test_the_page_has_a_map_of_the_table(tmp_path: Path, seatrial: Seatrial) -> None:
    (tmp_path / "table.csv").write_text(csv(8, slow="n3"))
    page = tmp_path / "map.html"
    seatrial("judge", tmp_path / "table.csv", "--html", str(page), code=1)
    drawn = page.read_text()
    assert "Bandwidth in % of the median" in drawn and "Latency in % of the median" in drawn
    assert "SLOW: 14, paler: less slow" in drawn and "PASS: 42" in drawn
    assert "n3&gt;n1; 600.0 MB/s; 60 % of the median" in drawn
    names = [f"n{number}" for number in range(140)]
    rows = [f"{a},{b},{500 if 'n7' in (a, b) else 1000}" for a in names for b in names if a != b]
    (tmp_path / "large.csv").write_text("\n".join(["source,target,bandwidth_mb_s", *rows, ""]))
    seatrial("judge", tmp_path / "large.csv", "--html", str(page), code=1)
    assert "the 128 of 140 nodes with the worst pairs" in page.read_text()


NODES = [f"hpc0{number}" for number in range(1, 7)]


def outputs_of_pairs(folder: Path, slow: str = "hpc03") -> None:
    for place, (source, target) in enumerate(itertools.permutations(NODES, 2)):
        most = 24e9 * (1 + place % 7 / 2000) * (0.6 if slow in (source, target) else 1)
        (folder / f"{source}_to_{target}.log").write_text(perftest("Gb/sec", most))


def test_outputs_of_perftest_that_are_named_after_two_nodes_are_pairs(tmp_path: Path, seatrial: Seatrial) -> None:
    outputs_of_pairs(tmp_path)
    (tmp_path / "hpc01_to_hpc05.log").write_text(perftest("Gb/sec", 1e9)[:900])
    out = seatrial("judge", tmp_path, code=1).out
    assert out.startswith("SLOW  hpc03: 40 % less bandwidth than its peers, among 6 nodes")
    assert "29 of 30 ordered pairs" in out


def test_outputs_of_pairs_that_are_called_after_settings_are_none(tmp_path: Path, seatrial: Seatrial) -> None:
    for name in ("bw_QDR_single.txt", "bw_FDR_dual.txt"):
        (tmp_path / name).write_text(perftest())
    assert "nothing says between which" in " ".join(seatrial("judge", tmp_path, code=64).err.split())
