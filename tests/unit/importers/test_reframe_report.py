"""Run reports of ReFrame, JSON Lines, and folders whose files are of another tool."""

import json

import pytest

from seatrial.benchmarks.catalogue import refusal_of_folder
from seatrial.importers.formats import read_matrix_files
from seatrial.importers.pair_evidence import NotPairs
from seatrial.importers.reframe import is_perflog, read_perflog
from seatrial.importers.series import read_series
from seatrial.model.errors import UsageError
from seatrial.model.imported import ALL_NODES, Sense

CASES = [
    {
        "name": "stream", "system": "alps:gpu", "environment": "gnu", "result": "success", "nodelist": ["n1"],
        "perfvars": [
            {"name": "triad", "thres_lower": -0.05, "thres_upper": None, "unit": "MB/s", "value": 91000.5},
            {"name": "elapsed", "thres_lower": None, "thres_upper": 0.1, "unit": "s", "value": 9.5},
        ],
    },
    {
        "name": "osu", "system": "alps", "partition": "gpu", "environ": "gnu", "result": "success",
        "nodelist": ["n1", "n2"], "perfvars": None,
        "perfvalues": {"alps:gpu:latency": [1.75, 0, None, None, "us"]},
    },
    {"name": "hello", "system": "alps", "environment": None, "result": "failure", "perfvars": None},
]  # fmt: skip


def report(runs: int = 1) -> str:
    session = {"data_version": "3.1", "time_start": "2025-02-22T21:13:01+0100", "time_end": "2025-02-22T21:13:38+0100"}
    return json.dumps({"session_info": session, "runs": [{"runid": n, "testcases": CASES} for n in range(runs)]})


def test_a_report_of_reframe_is_read() -> None:
    assert is_perflog(report())
    values = [row[-1] for row in read_perflog(report())]
    assert [(value.metric, value.unit, value.sense, value.node, value.value) for value in values] == [
        ("stream triad (alps:gpu gnu)", "MB/s", Sense.HIGHER, "n1", 91000.5),
        ("stream elapsed (alps:gpu gnu)", "s", Sense.LOWER, "n1", 9.5),
        ("osu latency (alps:gpu gnu)", "us", Sense.LOWER, ALL_NODES, 1.75),
    ]


def test_runs_of_one_session_are_told_apart() -> None:
    times = [row[0] for row in read_perflog(report(2))]
    assert times == ["2025-02-22T21:13:38+0100 run 1"] * 3 + ["2025-02-22T21:13:38+0100 run 2"] * 3


@pytest.mark.parametrize("text", [report()[:-40], report().replace("91000.5", '"fast"'), report().replace("runs", "x")])
def test_a_damaged_report_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        read_perflog(text)


def test_a_report_without_values_is_refused() -> None:
    empty = json.loads(report())
    empty["runs"][0]["testcases"] = CASES[2:]
    with pytest.raises(UsageError, match="no value of any test"):
        read_perflog(json.dumps(empty))


def test_json_lines_are_a_table() -> None:
    text = "".join(json.dumps({"time": place, "triad": 100.0 + place}) + "\n" for place in range(5))
    (series,) = read_series(text, ("triad",))
    assert list(series.values) == [100.0, 101.0, 102.0, 103.0, 104.0]
    with pytest.raises(UsageError, match="Line 2 cannot be read as JSON"):
        read_series(
            text.replace("}", "", 2).replace('{"time": 0, "triad": 100.0', '{"time": 0, "triad": 100.0}', 1), ()
        )


NCCL = """# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807
# Collective test starting: sendrecv_perf
# nThread 1 nGpus 1 minBytes 33554432 maxBytes 67108864 step: 2(factor) warmup iters: 5 iters: 20
#                                                              out-of-place                       in-place
    33554432       4194304    double     sum      -1  2500.00   13.42   13.42       0  2490.00   13.48   13.48    N/A
"""


@pytest.mark.parametrize("others", [0, 1])
def test_a_folder_gets_the_name_of_what_most_of_its_files_are(others: int) -> None:
    texts = {f"n{number}-n9.log": NCCL for number in range(3)} | {f"job{n}.err": "chat\n" for n in range(others)}
    refused = refusal_of_folder(texts, "table of pairs")
    assert "look like the output of nccl-tests" in refused.what
    assert "A folder of complete ones" in refused.remedy
    assert ("(3 of 4)" if others else "(all)") in refused.what


def test_a_folder_of_nothing_known_says_what_is_read() -> None:
    with pytest.raises(NotPairs, match="none has an OSU table"):
        read_matrix_files({"a.log": "chat\n"})
    assert "tables of pairs" in refusal_of_folder({"a.log": "chat\n"}, "output of a known benchmark").remedy
