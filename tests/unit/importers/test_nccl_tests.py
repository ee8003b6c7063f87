"""A folder of nccl-tests between each two nodes: one number a pair, missing pairs, slow nodes, wrong data."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from seatrial.importers.formats import read_matrix, read_matrix_files
from seatrial.importers.nccl_tests import is_nccl_folder, nccl_runs, parse_nccl_files
from seatrial.locate.table import locate_in_table
from seatrial.model.errors import UsageError
from seatrial.model.units import BANDWIDTH
from seatrial.model.verdict import Verdict
from tests.support.command_line import Seatrial
from tests.support.gpu_outputs import nccl

NODES = tuple(f"n{number}" for number in range(1, 11))


def folder(slow: str = "", test: str = "sendrecv") -> dict[str, str]:
    """A file for each pair; `slow`: a node whose pairs have 60 % of the rate of others."""
    return {
        f"run{place}.log": nccl(test, pair, 2, most=(24.0 if slow in pair else 40.0) * (1 + 0.004 * (place % 5)))
        for place, pair in enumerate(itertools.combinations(NODES, 2))
    }


def test_each_pair_has_one_number_at_the_largest_size() -> None:
    table = read_matrix_files(folder())
    assert table.nodes == tuple(sorted(NODES))
    assert table.pairs == 45
    assert np.nanmax(table.metric(BANDWIDTH)) == pytest.approx(40e9 * 1.016, rel=0.01)


def test_a_slow_node_is_named_without_directions() -> None:
    located = locate_in_table(read_matrix_files(folder("n4")))
    assert located.verdict is Verdict.SLOW
    assert [fault.subject.text for fault in located.faults] == ["node:n4"]
    assert locate_in_table(read_matrix_files(folder())).verdict is Verdict.PASS


def test_runs_that_failed_or_were_cut_off_leave_their_pairs_out() -> None:
    texts = folder()
    head = texts["run3.log"].partition("#       size")[0]
    texts["run3.log"] = f"{head}n2: Test NCCL failure common.cu:1279 'remote process exited'\n"
    texts["run7.log"] = texts["run7.log"].partition("# Out of bounds")[0]
    table = read_matrix_files(texts)
    assert table.pairs == 43
    assert len(table.nodes) == 10


def test_the_collective_that_most_pairs_have_counts() -> None:
    texts = {name: text + nccl("alltoall", most=9.0, hosts=pair, gpus=2) if place % 2 else text
             for place, ((name, text), pair) in enumerate(
                 zip(folder().items(), itertools.combinations(NODES, 2), strict=True))}  # fmt: skip
    assert np.nanmin(read_matrix_files(texts).metric(BANDWIDTH)) > 30e9


def test_prefixes_of_launchers_change_no_pair() -> None:
    tagged = {name: "".join(f"[1,0]<stdout>:{line}\n" for line in text.splitlines()) for name, text in folder().items()}
    assert is_nccl_folder(tagged)
    assert read_matrix_files(tagged).pairs == 45


def test_wrong_data_are_a_fault_and_no_rate() -> None:
    texts = folder()
    texts["run5.log"] = nccl("sendrecv", ("n1", "n7"), 2, failed=3)
    with pytest.raises(UsageError, match="check of the data failed between n1 and n7"):
        parse_nccl_files(texts)


def test_one_file_with_all_pairs_is_a_table_too() -> None:
    text = "".join(folder("n4").values())
    assert read_matrix(text).pairs == 45
    assert not is_nccl_folder({"one": nccl("sendrecv", ("n1", "n2"), 2)})


def test_runs_keep_what_their_heads_say() -> None:
    text = nccl("all_reduce", ("n1", "n2"), 4) + nccl("alltoall", ("n1",), 8, announced=False)
    first, second = nccl_runs(enumerate(text.splitlines(), 1))
    assert (first.collective, first.hosts, len(first.ranks), first.complete) == ("all_reduce", ("n1", "n2"), 8, True)
    assert (second.hosts, second.iterations, second.complete) == (("n1",), 20, True)


def test_judge_reads_a_folder_of_pairs(tmp_path: Path, seatrial: Seatrial) -> None:
    for name, text in folder("n4").items():
        (tmp_path / name).write_text(text)
    report = seatrial("judge", str(tmp_path), code=1)
    assert report.out.startswith("SLOW  n4: ")
    assert "table of pairs" in report.out
