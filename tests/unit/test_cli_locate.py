"""seatrial locate: matrices of other tools, judged."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.benchmarks.matrices import FORMATS, read_matrix
from seatrial.benchmarks.mpigraph import parse_mpigraph
from seatrial.benchmarks.pieces import pieces
from seatrial.cli.main import run
from seatrial.model.errors import UsageError

PAIRWISE = Path(__file__).resolve().parents[3] / "shared" / "data" / "pairwise"
recorded = pytest.mark.skipif(not PAIRWISE.is_dir(), reason="../shared/data/pairwise is not here")


def csv(count: int, slow: str = "", heading: str = "source,target,latency_us,bandwidth_mb_s") -> str:
    names = [f"n{number}" for number in range(1, count + 1)]
    rows = [f"{a},{b},1.50,{600 if slow in (a, b) else 1000}" for a in names for b in names if a != b]
    return "\n".join([heading, *rows]) + "\n"


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


@recorded
def test_the_cluster_of_two_leaf_switches(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["locate", str(PAIRWISE / "alaska-roce25-openmpi.out"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["faults"] == found["ambiguous"] == []
    assert [len(one["nodes"]) for one in found["classes"]] == [9, 7]
    assert run(["locate", str(PAIRWISE / "alaska-roce25-openmpi.out")]) == 0
    said = capsys.readouterr().out
    assert said.startswith("PASS")
    assert "9 + 7 nodes near each other" in said


@recorded
def test_a_healthy_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["locate", str(PAIRWISE / "csd3-hdr100-openmpi.out")]) == 0
    assert "3080 of 3080 ordered pairs" in capsys.readouterr().out


def test_a_slow_node_in_a_csv_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text(csv(8, "n3"))
    assert run(["locate", str(file), "--json"]) == 1
    (fault,) = json.loads(capsys.readouterr().out)["faults"]
    assert (fault["subject"], fault["direction"], fault["kind"]) == ("node:n3", "both", "node")
    assert fault["loss_ratio"] == pytest.approx(0.4)
    assert run(["locate", str(file)]) == 1
    assert "carries 40 % [40 %–40 %] less than its peers, in both directions" in capsys.readouterr().out


def test_mpigraph_counts_in_mebibytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = parse_mpigraph(pieces(mpigraph(6, slow=2)))
    assert table.nodes == tuple(f"h{number}" for number in range(6))
    assert table.bandwidth_bytes_per_s.max() == pytest.approx(1000 * 2**20)
    file = tmp_path / "out"
    file.write_text(mpigraph(6, slow=2))
    assert run(["locate", str(file)]) == 1
    assert "node:h2" in capsys.readouterr().out
    with pytest.raises(UsageError, match="cut off"):
        read_matrix(mpigraph(6, 2)[:-20])


@pytest.mark.parametrize("kind", ["slurm", "infiniband"])
def test_the_leaves_come_from_a_topology(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
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
    (tmp_path / "topology").write_text(text)
    assert run(["locate", str(tmp_path / "pairs"), "--topology", str(tmp_path / "topology"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["design"]["groups"] == leaves
    (tmp_path / "other").write_text("SwitchName=l0 Nodes=x1,x2\n")
    assert run(["locate", str(tmp_path / "pairs"), "--topology", str(tmp_path / "other")]) == 64
    assert "x1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("heading", "scale"),
    [("a,b,bw_gb_s", 1e9), ("a,b,bw_MiB_s", 2**20), ("a,b,bandwidth_bytes_per_s", 1.0), ("a,b,BW", 1e6)],
)
def test_units_come_from_the_columns_name(heading: str, scale: float) -> None:
    table = read_matrix(f"{heading}\nn1,n2,3\n")
    assert table.bandwidth_bytes_per_s.tolist() == [3 * scale]
    assert read_matrix("a b latency_s\nn1 n2 0.5\n").latency_s.tolist() == [0.5]
    assert read_matrix("a b latency_us\nn1 n2 0.5\n").latency_s.tolist() == [0.5e-6]


@pytest.mark.parametrize(
    "text", ["", "hello\nworld\n", "source,target,latency\n", "a,b,c\n1,2,3\n", "a,b,latency_us\nn1,n1,3\n"]
)
def test_what_is_no_matrix_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        read_matrix(text)
    (tmp_path / "x").write_text(text)
    assert run(["locate", str(tmp_path / "x")]) == 64
    assert run(["locate", str(tmp_path / "x"), "--format", "nonsense"]) == 64
    assert run(["locate", str(tmp_path / "nowhere")]) == 64


@given(st.sampled_from(["auto", *FORMATS]), st.text(alphabet="ab01,.\t\nRecv from:-e", max_size=200))
def test_any_text_is_read_or_refused(form: str, text: str) -> None:
    try:
        table = read_matrix(text, form)
    except UsageError:
        return
    assert len(table.source) > 0
