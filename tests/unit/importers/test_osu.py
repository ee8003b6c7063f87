"""Tables of the OSU micro-benchmarks: many files, many tables in a file, old and new columns."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.benchmarks.catalogue import parse_auto
from seatrial.importers.formats import read_matrix, read_matrix_files
from seatrial.importers.osu import named_pair, pairs_of_names, size_tables
from seatrial.model.errors import UsageError
from tests.support.command_line import Seatrial
from tests.support.format_variants import omb_py, osu_single

SIZES = (1, 2, 4, 8, 1024, 4194304)


def bandwidth(rate: float, sizes: tuple[int, ...] = SIZES) -> str:
    rows = [f"{size:<10d}{rate * size / (size + 100):20.2f}" for size in sizes]
    return "\n".join(["# OSU MPI Bandwidth Test v5.6.3", "# Size      Bandwidth (MB/s)", *rows, ""])


def latency(time: float) -> str:
    rows = [f"{size:<10d}{time + size / 1e4:20.2f}" for size in (0, *SIZES)]
    return "\n".join(
        ["# OSU MPI Latency Test v7.4", "# Datatype: MPI_CHAR.", "# Size       Avg Latency(us)", *rows, ""]
    )


def both_orders(count: int) -> list[tuple[str, str]]:
    return list(itertools.permutations([f"n{number}" for number in range(1, count + 1)], 2))


def test_a_folder_of_pairs_names_the_slow_node(tmp_path: Path, seatrial: Seatrial) -> None:
    for a, b in both_orders(6):
        (tmp_path / f"osu_bw_{a}_{b}.out").write_text(bandwidth(600 if "n3" in (a, b) else 1000))
        (tmp_path / f"osu_latency_{a}_{b}.out").write_text(latency(1.5))
    (tmp_path / "job.sh").write_text("srun osu_bw\n")
    said = seatrial("judge", str(tmp_path), code=1).out
    assert "node:n3" in said
    assert "30 of 30 ordered pairs" in said
    seatrial("judge", str(tmp_path), "--format", "csv", code=64)
    seatrial("judge", str(tmp_path), "--format", "linktest", code=64)


@pytest.mark.parametrize("heading", ["# {} {}", "{} -> {}", "=== {} {} ===", "Testing {} to {}", "[{}, {}]", "{} {}"])
def test_one_file_of_many_tables(heading: str) -> None:
    text = "".join(f"{heading.format(a, b)}\n{bandwidth(1000)}\n" for a, b in both_orders(4))
    table = read_matrix(text)
    assert set(table.nodes) == {"n1", "n2", "n3", "n4"}
    assert len(table.source) == 12
    assert table.bandwidth_bytes_per_s.max() == pytest.approx(1e9, rel=1e-3)


@pytest.mark.parametrize("prefix", ["2026-02-01T10:00:01.5Z stdout F ", "[2026-02-01 10:00:01] ", "0: ", "> "])
def test_times_and_tags_before_each_line_of_a_loop(prefix: str, tmp_path: Path, seatrial: Seatrial) -> None:
    text = "".join(f"# {a} {b}\n{bandwidth(600 if 'n3' in (a, b) else 1000)}\n" for a, b in both_orders(5))
    (tmp_path / "loop.log").write_text("".join(f"{prefix}{line}\n" for line in text.splitlines()))
    assert "node:n3" in seatrial("judge", str(tmp_path / "loop.log"), code=1).out


@pytest.mark.parametrize("heading", ["== pair {},{}  run 1/3  17:17:30 ==", "# {} {} 9:05", "{} -> {} [2/20]"])
def test_counts_and_times_beside_the_names_of_a_heading(heading: str) -> None:
    text = "".join(f"{heading.format(a, b)}\n{bandwidth(1000)}\n" for a, b in both_orders(4))
    assert set(read_matrix(text).nodes) == {"n1", "n2", "n3", "n4"}


def test_tables_of_several_tests_below_one_heading_are_of_its_pair() -> None:
    text = "".join(f"# {a} {b}\n{latency(1.5)}\n{bandwidth(1000)}" for a, b in both_orders(4))
    table = read_matrix(text)
    assert len(table.nodes) == 4
    assert (len(table.latency_s), table.bandwidth_bytes_per_s.min()) == (12, pytest.approx(1e9, rel=1e-3))


@pytest.mark.parametrize(
    "second", [bandwidth(900), "another line of words\n" + latency(1.5), latency(1.5) + bandwidth(900)]
)
def test_a_table_that_may_be_of_another_pair_needs_its_own_heading(second: str) -> None:
    """The test returns, so that a heading is missing; or text is between, which may have been a heading."""
    with pytest.raises(UsageError, match="has no line above it"):
        read_matrix(f"# n1 n2\n{bandwidth(1000)}{second}")


def test_chatter_between_heading_and_table_does_no_harm() -> None:
    warning = "Warning: no HCA found, using TCP instead\n"
    table = read_matrix(f"# n1 n2\n{warning}\n{bandwidth(10)}\nsome words more\n# n2 n1\n{bandwidth(20)}")
    assert [table.nodes[place] for place in table.source] == ["n1", "n2"]


def test_latency_is_of_eight_bytes_and_of_both_directions() -> None:
    table = read_matrix("# n1 n2\n" + latency(1.5))
    assert table.latency_s.tolist() == pytest.approx([1.5e-6, 1.5e-6])
    assert [table.nodes[place] for place in table.source] == ["n1", "n2"]
    rows = "# n1 n2\n# OSU MPI Latency Test v5\n# Size Latency (us)\n0 9.0\n2 1.0\n4 2.0\n"
    assert read_matrix(rows).latency_s[0] == pytest.approx(1e-6)


def test_both_directions_at_once_count_half() -> None:
    table = read_matrix("# n1 n2\n# OSU MPI Bi-Directional Bandwidth Test v7\n# Size  Bandwidth (MB/s)\n64 3000.00\n")
    assert table.bandwidth_bytes_per_s.tolist() == [1.5e9, 1.5e9]


def test_the_largest_common_size_and_repetitions() -> None:
    text = f"# n1 n2\n{bandwidth(10)}# n1 n2\n{bandwidth(20)}# n2 n1\n{bandwidth(30, (*SIZES, 1 << 23))}"
    table = read_matrix(text)
    assert table.bandwidth_bytes_per_s.tolist() == pytest.approx([10e6, 20e6, 30e6], rel=1e-3)


@pytest.mark.parametrize(
    ("heading", "row", "number"),
    [
        ("# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations", "8 2.5 1.0 9.0 1000", 2.5),
        ("# Size  Min Latency(us)  Max Latency(us)  Avg Latency(us)", "8 1.0 9.0 2.5", 2.5),
        ("# Size       Avg Latency(us)   P50 Tail Lat(us)   P99 Tail Lat(us)", "8 2.5 2.0 8.0", 2.5),
        ("# Size          Latency (us)        Validation", "8 2.5 Pass", 2.5),
        ("# Size            Latency (us)", "0: 8 2.5", 2.5),
    ],
)
def test_columns_old_and_new(heading: str, row: str, number: float) -> None:
    (table,) = size_tables(f"# OSU MPI Latency Test v7.1\n# Datatype: MPI_CHAR.\n{heading}\n{row}\n", "x")
    assert table.values == {8: number}


def test_many_pairs_a_node() -> None:
    text = "# OSU MPI Multiple Bandwidth / Message Rate Test v7.3\n# [ pairs: 2 ] [ window size: 64 ]\n"
    text += "# Size                  MB/s        Messages/s\n1  11.04  11038618.37\n4194304  12218.04  2913.01\n"
    table = read_matrix("# a b\n" + text)
    assert table.bandwidth_bytes_per_s.tolist() == [12218.04e6]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (bandwidth(10), "has no line above it"),
        (
            "# n1 n2\n# OSU MPI Allreduce Latency Test v7\n# Size Latency (us)\n8 1.0\n",
            "looks like the output of OSU.s Allreduce Latency test",
        ),
        ("# n1 n2\n" + bandwidth(10) + "# n2 n1\n" + bandwidth(10) + "# n1 n3\n" + bandwidth(9, (1, 2)), "n1 n3"),
        ("# n1 n2\n# OSU MPI Latency Test v7\n# Size Latency (us) Validation\n8 1.0 Fail\n", "own check of the data"),
        ("# n1 n2\n# OSU MPI Latency Test v7\n# Size Latency (us)\n", "ends before 1 byte: all"),
    ],
)
def test_what_proves_nothing_is_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_matrix(text)


NAMES = {
    "plain": (["n1", "n2", "n3", "n11"], "{}-{}.txt"),
    "tool before": (["n1", "n2", "n3"], "osu_bw_{}_{}.out"),
    "tool behind": (["n1", "n2", "n3"], "{}.{}.osu_latency.log"),
    "dots": (["n1", "n2", "n3"], "{}.{}.log"),
    "hyphens within": (["gpu-01", "gpu-02", "gpu-03"], "{}-{}.out"),
    "two kinds": (["cn7", "cn8", "gpu-a01", "gpu-a02"], "{}-{}.out"),
    "full names": (["n1.cluster.site", "n2.cluster.site", "n3.cluster.site"], "bw-{}-{}.txt"),
    "strong": (["a-1", "b-c-2", "d"], "{}--{}.txt"),
    "word": (["a-1", "b-c-2", "d"], "{}_to_{}.txt"),
    "common prefix": (["n1", "n2", "n3", "n4"], "monday_{}_{}_after.out"),
    "repetitions": (["n1", "n2", "n3"], "{}-{}_run2.out"),
}


AMBIGUOUS = ("two kinds", "matching")
"""cn7-gpu-a01 alone can be read in two ways, and is refused below."""


@pytest.mark.parametrize(
    ("kind", "design"), [each for each in itertools.product(NAMES, ["all", "upper", "matching"]) if each != AMBIGUOUS]
)
def test_the_two_nodes_of_a_files_name(kind: str, design: str) -> None:
    nodes, form = NAMES[kind]
    pairs = list(itertools.permutations(nodes, 2) if design == "all" else itertools.combinations(nodes, 2))
    if design == "matching":
        pairs = list(itertools.pairwise(nodes))[::2]
    files = {form.format(*pair): pair for pair in pairs}
    assert pairs_of_names(list(files)) == files


@pytest.mark.parametrize(
    "files", [["cn7-gpu-a01.out"], ["results.txt"], ["1.txt", "2.txt"], ["a-b-c.x", "d-e-f.x"], ["n1-n1.txt"]]
)
def test_names_with_two_readings_or_none_are_refused(files: list[str]) -> None:
    with pytest.raises(UsageError, match="do not show which two nodes"):
        pairs_of_names(files)


def test_a_star_around_one_node() -> None:
    assert pairs_of_names(["head-n1.txt", "head-n2.txt"])["head-n2.txt"] == ("head", "n2")
    hyphens = ["gpu-01-gpu-02.out", "gpu-01-gpu-03.out"]
    assert pairs_of_names(hyphens)[hyphens[1]] == ("gpu-01", "gpu-03")


def test_lines_that_name_nothing() -> None:
    for line in ("", "####", "# Size Latency", "one two three", "n1 n1", "# n1", "MPI_Init failed on"):
        assert named_pair(line)[0] in (None, ("Size", "Latency"), ("MPI_Init", "failed"))
    assert named_pair("# src=n1 dst=n2") == (("n1", "n2"), True)


@pytest.mark.parametrize(
    ("title", "heading", "row", "count"),
    [
        ("Bandwidth Test v5.6.2", "# Size      Bandwidth (MB/s)", "{size:<10d}{rate:20.2f}", 1),
        ("Bi-Directional Bandwidth Test v5.6.2", "# Size      Bandwidth (MB/s)", "{size:<10d}{rate:20.2f}", 1),
        ("Latency Test v7.4", "# Size          Latency (us)", "{size:<10d}{rate:20.2f}", 1),
        (
            "Multiple Bandwidth / Message Rate Test v5.6.2", "# Size                  MB/s        Messages/s",
            "{size:<10d}{rate:20.2f}{rate:20.2f}", 1,
        ),
        (
            "Allreduce Latency Test v5.6.2", "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)",
            "{size:<10d}{rate:20.2f}{rate:20.2f}{rate:20.2f}", 0,
        ),
    ],
)  # fmt: skip
def test_generated_outputs_have_one_table_each(title: str, heading: str, row: str, count: int) -> None:
    rows = [row.format(size=1 << power, rate=1000.0 + power) for power in range(23)]
    tables = size_tables("\n".join([f"# OSU MPI {title}", heading, *rows, ""]), "a-b.out")
    assert len(tables) == count
    assert not tables or max(tables[0].values) == 4 << 20


@given(st.dictionaries(st.text(alphabet="n12-_.ogpu", max_size=14), st.just(bandwidth(3)), max_size=6))
def test_any_names_are_read_or_refused(files: dict[str, str]) -> None:
    try:
        table = read_matrix_files(files)
    except UsageError:
        return
    assert len(table.nodes) > 1


def test_tables_of_omb_py_are_tables_of_pairs() -> None:
    text = "".join(f"# {a} {b}\n{omb_py()}" for a, b in both_orders(3))
    table = read_matrix(text)
    assert set(table.nodes) == {"n1", "n2", "n3"}
    assert {*table.bandwidth_bytes_per_s.tolist()} == {86e6}


@pytest.mark.parametrize(("row", "complete"), [("3.17", True), ("3.1", False), ("3.", False), ("8  3.17", True)])
def test_a_single_row_with_two_decimals_needs_no_newline(row: str, *, complete: bool) -> None:
    size = "Size          Latency (us)" if row[0] == "8" else "Avg Latency(us)"
    text = osu_single("_Fetch_and_op" if row[0] == "8" else "Barrier", row, size)
    assert parse_auto(text)[1].complete == complete


def test_a_row_of_several_columns_needs_its_newline() -> None:
    names = "Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations"
    assert not parse_auto(osu_single("Barrier", "     3.17", names))[1].complete
