"""Forms of outputs of programs for GPUs that versions of them have, and what they must not be taken for."""

import json

import msgspec
import pytest

from seatrial.benchmarks.catalogue import BENCHMARKS, parse_auto
from seatrial.judgement.benchmark_result import limits_of_nodes
from seatrial.model.errors import UsageError
from seatrial.model.facts import Gpu, PciKind
from tests.support import gpu_outputs as outputs
from tests.support.facts_examples import device
from tests.support.judged_outputs import judged
from tests.support.limits_examples import node
from tests.unit.benchmarks.test_gpu_outputs import HOST, kinds


@pytest.mark.parametrize("made", [outputs.nccl(), outputs.nccl("all_gather", announced=False)])
def test_rows_below_a_heading_are_read_without_the_settings_above(made: str) -> None:
    _, _, table = made.partition("# Using devices\n")
    rows = "".join(line for line in table.splitlines(keepends=True) if "Rank" not in line)
    benchmark, output = parse_auto(rows)
    whole = parse_auto(made)[1]
    assert benchmark is BENCHMARKS["nccl-tests"]
    assert len(output.missing) == 1
    assert output.work("test") == ("all_reduce" if "concluded" in made else "not named")
    for metric in ("bus_bandwidth_bytes_per_s", "time_s"):
        assert output.values(metric) == whole.values(metric) != []
    tail = rows[rows.index("# Avg") :]
    assert len(parse_auto(tail + made)[1].missing) == 2  # neither settings nor rows
    assert parse_auto(tail + made)[1].results == parse_auto("\n" * tail.count("\n") + made)[1].results
    bare = "".join(line for line in rows.splitlines(keepends=True) if "size" not in line)
    assert not parse_auto(bare)[1].results


def warned(**warning: object) -> str:
    """`dcgmi diag -j` on a GPU with one warning."""
    result = {"entity_group": "GPU", "entity_id": 0, "status": "Fail", "warnings": [warning]}
    tests = [{"name": "software", "results": [result]}]
    return json.dumps({"DCGM Diagnostic": {"test_categories": [{"category": "Deployment", "tests": tests}]}}) + "\n"


PERSISTENCE = "Persistence mode for GPU 0 is currently disabled."


@pytest.mark.parametrize(
    ("warning", "kind"),
    [
        ({"warning": PERSISTENCE}, "diagnostic-setting"),
        ({"warning": "x", "error_severity": 5}, "diagnostic-setting"),
        ({"warning": "x", "error_severity": "5"}, "diagnostic-setting"),
        ({"warning": PERSISTENCE, "error_severity": 3, "error_category": 1}, "diagnostic-failed"),
        ({"warning": "x"}, "diagnostic-failed"),
    ],
)
def test_a_warning_is_a_setting_by_its_severity_and_without_one_by_its_words(
    warning: dict[str, object], kind: str
) -> None:
    assert kinds(judged(warned(**warning))) == {kind}


def test_tests_between_nodes_have_ranks_and_no_limit_of_a_host() -> None:
    """GPUs of 700 GB/s between nodes were above the PCIe link of a host, as columns of a test whose rows are CPUs."""
    cells = (714.59, 714.55, 714.51, 714.60)
    text = outputs.nvbandwidth().replace(
        "Waived: \n",
        "Running multinode_bisect_write_ce.\nmemcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)\n"
        "           0  1  2  3\n"
        f" 0  {'  '.join(map(str, cells))}\n\nSUM multinode_bisect_write_ce {sum(cells):.2f}\n\n"
        "Running multinode_device_to_device_memcpy_read_ce.\nmemcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
        "           0         1\n 0       N/A    397.57\n 1    397.50       N/A\n\n"
        "SUM multinode_device_to_device_memcpy_read_ce 795.07\n\n",
    )
    output = judged(text, **{HOST: 63e9})
    assert (output.missing, kinds(output)) == ((), set())
    between = [result for result in output.results if str(result.labels["test"]).startswith("multinode")]
    assert [result.metric for result in between] == ["peer_bandwidth_bytes_per_s"] * 6
    assert [result.labels.get("rank") for result in between[:4]] == [0, 1, 2, 3]
    assert [(result.labels["from"], result.labels["to"]) for result in between[4:]] == [
        ("rank 0", "rank 1"), ("rank 1", "rank 0"),
    ]  # fmt: skip
    assert not any("gpu" in result.labels for result in between)


@pytest.mark.parametrize("path", ["G0 -> D0:2 -> G1G2", "G0 -> D0:2 -> N0", "G0G1 -> D0:2 -> G2"])
def test_a_transfer_of_several_memories_or_none_is_no_copy_between_two(path: str) -> None:
    output = judged(outputs.transferbench().replace("G0 -> D0:2 -> G1", path))
    assert [result.labels["from"] for result in output.results] == ["CPU 0"]


@pytest.mark.parametrize(("word", "expected"), [("PASS", set()), ("FAIL", {"data-corrupt"})])
def test_the_check_of_paths_of_rocm_bandwidth_test_counts(word: str, expected: set[str]) -> None:
    table = f"          Data Path Validation\n\n          D/D       0    2\n\n          0         N/A  {word}\n\n"
    text = outputs.rocm_bandwidth().replace("          Unidirectional", f"{table}          Unidirectional")
    assert kinds(judged(text)) == expected


def test_the_peak_of_processors_limits_no_program_on_a_node_with_gpus() -> None:
    """HPL of NVIDIA reached ten times the peak of the node's processors: INVALID on every node with GPUs."""
    benchmark = BENCHMARKS["hpl"]
    plain = node("n1", cpu_model="AMD EPYC 7742 64-Core Processor", cores=64)
    assert limits_of_nodes(benchmark, {"n1": plain}) == {"rate_flops_per_s": pytest.approx(64 * 16 * 3.4e9)}
    with_gpus = msgspec.structs.replace(plain, gpus=(Gpu(address="0000:11:00.0"),))
    assert limits_of_nodes(benchmark, {"n1": plain, "n2": with_gpus}) == {}
    listed = device("0000:11:00.0", kind=PciKind.GPU, vendor=0x10DE, class_code=0x030200)
    assert limits_of_nodes(benchmark, {"n1": msgspec.structs.replace(plain, pci=(listed,))}) == {}


def test_columns_of_words_behind_the_figures_are_passed_over() -> None:
    text = outputs.nccl()
    rows = [f"{line}  RING  SIMPLE  16" if line[:1] == " " else line for line in text.splitlines()]
    heads = [f"{row}  algo  proto  nchannels" if "algbw" in row else row for row in rows]
    output = judged("\n".join(heads) + "\n")
    assert (output.missing, kinds(output)) == ((), set())
    assert output.values("bus_bandwidth_bytes_per_s") == judged(text).values("bus_bandwidth_bytes_per_s")


def test_what_hpcg_of_nvidia_prints_while_it_runs_is_refused_by_its_name() -> None:
    text = (
        "HPCG-NVIDIA 24.9.0  -- NVIDIA accelerated HPCG benchmark -- NVIDIA\n\nStart of application (GPU-Only) ...\n"
        "SpMV  =  985.6 GF ( 6207.1 GB/s Effective)  123.2 GF_per ( 775.9 GB/s Effective)\n"
        "final = 1122.5 GF ( 8512.8 GB/s Effective)  140.3 GF_per (1064.1 GB/s Effective)\n"
    )
    with pytest.raises(UsageError) as error:
        parse_auto(text)
    assert "what NVIDIA's HPCG prints while it runs" in error.value.what


def test_a_list_of_sizes_of_rocm_bandwidth_test_is_refused_with_what_to_do() -> None:
    head = outputs.rocm_bandwidth().partition("          Unidirectional")[0]
    title = "================    Unidirectional Benchmark Result    ================"
    output = judged(f"{head}{title}\n\n512 MB  19028.470  28.214  19009.000  28.243\n\n")
    assert "run it with -a or -A" in output.missing[0]
