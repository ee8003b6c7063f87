"""A node whose lines, cells or files hold no number belongs to the table of pairs: it was not measured."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from seatrial.importers.formats import read_matrix, read_matrix_files
from seatrial.model.errors import UsageError
from tests.support.command_line import Seatrial
from tests.support.gpu_outputs import nccl

NODES = tuple(f"n{number}" for number in range(1, 17))
PAIRS = tuple(itertools.permutations(NODES, 2))
Line = Callable[[str, str], str]


def rate(source: str, target: str) -> str:
    return f"12.{(37 * int(source[1:]) + 17 * int(target[1:])) % 11:02d}"


def rows(heading: str, mark: str, lost: str, node: str = "n5") -> str:
    lines = (mark.join((a, b, lost if node in (a, b) else rate(a, b))) for a, b in PAIRS)
    return "\n".join([heading.replace(",", mark), *lines, ""])


def square(lost: str) -> str:
    cells = ([lost if "n5" in (a, b) or a == b else rate(a, b) for b in NODES] for a in NODES)
    lines = (",".join([name, *row]) for name, row in zip(NODES, cells, strict=True))
    return "\n".join([",".join(["bandwidth_GB/s", *NODES]), *lines, ""])


def prose(lost: str) -> str:
    return "".join(f"{a} -> {b}: {lost if 'n5' in (a, b) else rate(a, b) + ' GB/s'}\n" for a, b in PAIRS)


def objects(lost: str | None) -> str:
    return json.dumps(
        [{"src": a, "dst": b, "bw_GB/s": lost if "n5" in (a, b) else float(rate(a, b))} for a, b in PAIRS]
    )


def numbered(lost: str) -> str:
    return "".join(
        f"{int(a[1:]) - 1},{int(b[1:]) - 1},{lost if 'n5' in (a, b) else '1.05,' + rate(a, b)}\n" for a, b in PAIRS
    )


TABLES = {
    **{
        f"cell {lost!r}": rows("src,dst,bw_GBps", ",", lost)
        for lost in ("", "n/a", "DOWN", "no route to host", "12,3 4")
    },
    "semicolons": rows("from,to,bw_Gbit/s", ";", "-"),
    "tabs": rows("node1,node2,latency_us", "\t", "unreachable"),
    "blanks": rows("source,target,bw_GBps", " ", "n/a"),
    "blanks and words": rows("source,target,bw_GBps", " ", "connection timed out by peer"),
    "square": square("-"),
    "prose": prose("n/a"),
    "objects": objects(None),
}
SAY_DEAD = {"cell 'DOWN'", "tabs"}
"""Their words say that the node was tried."""


@pytest.mark.parametrize("form", TABLES)
def test_a_node_without_a_number_withholds_pass_and_is_named(form: str, tmp_path: Path, seatrial: Seatrial) -> None:
    (tmp_path / "t.txt").write_text(TABLES[form])
    said = seatrial("judge", str(tmp_path / "t.txt"), code=1 if form in SAY_DEAD else 2).out
    first = said.partition("\n")[0]
    assert first.startswith("DOWN  n5 was measured" if form in SAY_DEAD else "NOT_RUN  no number of n5, on 16 nodes")
    assert len(first) <= 80


@pytest.mark.parametrize("text", [numbered(",,"), numbered(","), numbered("FAIL,-")])
def test_a_rank_without_a_number_was_not_measured(text: str) -> None:
    assert "4" in read_matrix(text).nodes


def test_a_rank_without_a_line_was_not_measured() -> None:
    text = "".join(line + "\n" for line in numbered("x").splitlines() if not line.endswith("x"))
    assert read_matrix(text).nodes == (*map(str, (*range(4), *range(5, 16), 4)),)


def test_the_highest_of_ranks_far_apart_shows_nothing_of_those_between() -> None:
    text = "".join(f"{8 * int(a[1:])},{8 * int(b[1:])},1.05,{rate(a, b)}\n" for a, b in PAIRS)
    assert len(read_matrix(text).nodes) == 16


def test_no_word_of_a_message_is_a_node() -> None:
    messages = "n1 is down\nAverage,n1,\n# n1,n99,\nn1: task 3: Exited, code 1\n"
    text = rows("source,target,bw_GBps", ",", "n/a", node="") + messages
    assert {*read_matrix(text).nodes} == {*NODES}


def osu(level: float) -> str:
    sizes = "".join(f"{2**power:<10}{level * 2**power / (2**power + 8000):15.2f}\n" for power in range(23))
    return f"# OSU MPI Bandwidth Test v5.9\n# Size      Bandwidth (MB/s)\n{sizes}"


def folder(names: str, text: Line) -> dict[str, str]:
    return {names.format(a, b): text(a, b) for a, b in itertools.combinations(NODES, 2)}


ERROR = "ssh: Could not resolve hostname n5"


@pytest.mark.parametrize("names", ["osu_bw_{}_{}.out", "{}--{}.txt", "run7-{}-{}.log"])
@pytest.mark.parametrize("lost", [ERROR, "", "# OSU MPI Latency"])
def test_files_of_osu_without_a_table_name_the_node(names: str, lost: str) -> None:
    texts = folder(names, lambda a, b: lost if "n5" in (a, b) else osu(24000 + 10 * int(a[1:]) + int(b[1:])))
    texts["job.sh"] = "#!/bin/sh\nsrun osu_bw\n"
    texts["slurm-4711.out"] = "done\n"
    table = read_matrix_files(texts)
    assert {*table.nodes} == {*NODES}
    assert table.pairs == 105


def test_headings_without_a_table_name_the_node() -> None:
    texts = folder("{}x{}", lambda a, b: f"# {a} {b}\n" + (ERROR if "n5" in (a, b) else osu(24000)))
    numbered_files = {f"run_{number}.out": text for number, text in enumerate(texts.values())}
    assert {*read_matrix_files(numbered_files).nodes} == {*NODES}
    assert {*read_matrix("\n".join(texts.values())).nodes} == {*NODES}


def test_a_file_like_the_others_that_shows_no_pair_is_asked_about() -> None:
    texts = folder("{}x{}", lambda a, b: "" if "n5" in (a, b) else f"# {a} {b}\n" + osu(24000))
    numbered_files = {f"run_{number}.out": text for number, text in enumerate(texts.values())}
    with pytest.raises(UsageError, match=r"run_3.out has no result"):
        read_matrix_files(numbered_files)


@pytest.mark.parametrize("names", ["nccl_{}_{}.log", "{}-{}.out", "all_reduce.{}+{}.txt"])
@pytest.mark.parametrize("lost", ["", "srun: error: Unable to create step", "Permission denied, please try again."])
def test_files_of_nccl_tests_without_a_run_name_the_node(names: str, lost: str) -> None:
    texts = folder(names, lambda a, b: lost if "n5" in (a, b) else nccl("sendrecv", (a, b), 2, most=40.0))
    table = read_matrix_files(texts)
    assert {*table.nodes} == {*NODES}
    assert table.pairs == 105


def test_numbered_files_of_nccl_tests_without_a_run_are_asked_about() -> None:
    texts = folder("{}x{}", lambda a, b: "" if "n5" in (a, b) else nccl("sendrecv", (a, b), 2, most=40.0))
    with pytest.raises(UsageError, match="has no result"):
        read_matrix_files({f"run{number}.log": text for number, text in enumerate(texts.values())})
