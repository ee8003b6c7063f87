"""LinkTest's results, in the forms that its public source prints; no output of a real run was at hand."""

from pathlib import Path

import pytest

from seatrial.importers.formats import read_matrix, read_matrix_files
from seatrial.model.errors import UsageError
from tests.support.command_line import Seatrial

MESSAGE = 131072


def seconds(a: int, b: int, slow: int) -> float:
    return MESSAGE / ((500 if slow in (a, b) else 1000) * 2**20)


def listed(count: int, slow: int) -> str:
    rows = []
    for a in range(count):
        for b in range(count):
            time = 0.0 if a == b else seconds(a, b, slow)
            rows.append(f"{a:10d} {b:10d} {time:18.8f} {MESSAGE / 2**20 / time if time else 0:18.8f}\n")
    return "".join(rows)


def serial(count: int, slow: int) -> str:
    lines = [f"task[{rank:06d}] on node{rank} (0,0,0,0) mem=    1.0000 MB \n" for rank in range(count)]
    for step in range(1, count):
        lines.append(f" Serial   PingPong for step {step:5d}: \n")
        for a in range(count):
            b = (a + step) % count
            time = seconds(a, b, slow)
            lines.append(f" {a:6d}->{b:6d}:{time * 1e6:12.5f}us ({MESSAGE / 2**20 / time:7.2f} MB/s) (l={a})\n")
    return "".join(lines)


def test_the_list_of_all_pairs_with_the_hosts_of_the_folder(tmp_path: Path, seatrial: Seatrial) -> None:
    (tmp_path / "gnuplotinput.dat").write_text(listed(6, slow=2))
    (tmp_path / "mapping.dat").write_text("".join(f"{rank:6d}    0    0    0    0 host{rank}\n" for rank in range(6)))
    assert "node:host2" in seatrial("judge", str(tmp_path), code=1).out
    assert "node:2" in seatrial("judge", str(tmp_path / "gnuplotinput.dat"), code=1).out


def test_its_megabytes_are_mebibytes() -> None:
    table = read_matrix(listed(3, slow=-1))
    assert table.bandwidth_bytes_per_s.tolist() == pytest.approx([1000 * 2**20] * 6)


def test_the_output_of_serial_mode() -> None:
    table = read_matrix(serial(6, slow=4))
    assert table.nodes == tuple(f"node{rank}" for rank in range(6))
    slow = table.bandwidth_bytes_per_s < 600 * 2**20
    assert {table.nodes[a] for a in table.source[slow]} == set(table.nodes)
    assert ((table.source[slow] == 4) | (table.target[slow] == 4)).all()


def test_short_messages_measure_latency() -> None:
    table = read_matrix("         0          1         0.00000150         5.08626302\n" * 2)
    assert table.latency_s.tolist() == [1.5e-6, 1.5e-6]


def test_ranks_of_one_host_stay_apart() -> None:
    folder = {"gnuplotinput.dat": listed(2, slow=-1), "mapping.dat": "0 0 0 0 0 h\n1 0 0 0 0 h\n"}
    assert read_matrix_files(folder).nodes == ("h:0", "h:1")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sion\0\0\0\1LKTST", "SION file"),
        (
            "Parallel Results for step 3: min: 11.6 us (20.9 GiB/s)\nAggregated Results: min: 11.5 us\n",
            "summaries only",
        ),
        (" Parallel PingPong for step     1:   avg=    10.000us (  1.00 MB/s)\n", "summaries only"),
        ("         0          0         0.00000000         0.00000000\n", "no results of pairs"),
    ],
)
def test_what_holds_no_pairs_says_what_to_do(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        read_matrix(text)
    assert "pingponganalysis -g" in caught.value.remedy
    assert "csv" in caught.value.remedy
