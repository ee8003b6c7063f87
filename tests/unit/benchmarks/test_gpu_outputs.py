"""Outputs of programs for GPUs: recorded ones with their numbers, forms of versions and launchers, failed runs."""

import re
from collections.abc import Callable

import msgspec
import pytest

from seatrial.benchmarks.catalogue import parse_auto
from seatrial.judgement.benchmark_result import word_of_output
from seatrial.model.benchmark import Output
from seatrial.model.errors import UsageError
from seatrial.model.unit_text import number_of
from seatrial.model.verdict import INCOMPLETE
from tests.support import gpu_outputs as outputs
from tests.support.judged_outputs import judged
from tests.support.paths import DATA

FOLDER = DATA / "gpu"
HOST = "host_bandwidth_bytes_per_s"


def kinds(output: Output) -> set[str]:
    return {breach.kind.value for breach in output.breaches}


class TestNccl:
    def test_bus_bandwidth_is_the_factor_times_size_over_time(self) -> None:
        output = judged(outputs.nccl("all_reduce", ("n1", "n2"), 4, most=40))
        largest = [each for each in output.results if each.labels["bytes"] == 1 << 28]
        rates = {(each.metric, each.labels["buffer"]): each.value for each in largest}
        rate = (1 << 28) / (30e-6 + (1 << 28) / 40e9)
        assert rates["algorithm_bandwidth_bytes_per_s", "out-of-place"] == pytest.approx(rate, rel=1e-3)
        assert rates["bus_bandwidth_bytes_per_s", "in-place"] == pytest.approx(rate * 1.75, rel=1e-3)
        assert (output.work("nodes"), output.work("ranks")) == (2, 8)

    def test_a_bus_bandwidth_of_another_formula_is_invalid(self) -> None:
        text = outputs.nccl("all_reduce").replace("all_reduce_perf", "all_gather_perf")
        assert kinds(judged(text)) == {"numbers-disagree"}

    def test_wrong_values_are_corrupt_data(self) -> None:
        assert kinds(judged(outputs.nccl(failed=12))) == {"data-corrupt"}
        assert kinds(judged(outputs.nccl(wrong="3"))) == {"data-corrupt"}
        unchecked = judged(outputs.nccl(wrong="N/A"))
        assert unchecked.breaches == ()
        assert any("not compared" in note for note in unchecked.notes)
        for wrong, word in (("0", "PASS"), ("N/A", "MEASURED")):
            compared = msgspec.structs.replace(judged(outputs.nccl(wrong=wrong)), references=("limit",))
            assert word_of_output(compared) == word

    def test_the_largest_error_of_earlier_versions_is_no_count(self) -> None:
        text = outputs.nccl(wrong="2e-07").replace("#wrong", " error")
        assert judged(text).breaches == ()
        assert kinds(judged(text.replace("values : 0 OK", "values : 4 FAILED"))) == {"data-corrupt"}

    def test_copies_that_were_built_without_mpi_are_invalid(self) -> None:
        alone = outputs.nccl("sendrecv", ("n1",), 1, announced=False)
        in_turn = judged(alone * 4)
        assert "ranks-differ" in kinds(in_turn)
        mixed = "".join(line * 4 for line in alone.splitlines(keepends=True))
        assert "ranks-differ" in kinds(judged(mixed))
        assert word_of_output(judged(mixed)) == "INVALID"
        announced = outputs.nccl("sendrecv", ("n1",), 1)
        assert "ranks-differ" in kinds(judged("".join(line * 2 for line in announced.splitlines(keepends=True))))

    def test_reduced_sizes_are_evidence(self) -> None:
        text = outputs.nccl().replace(
            "#\n# Using", "#\n# Reducing maxBytes to 268435456 due to memory limitation\n# Using"
        )
        output = judged(text)
        assert output.work("largest_bytes") == 268435456
        assert any("reduced" in note for note in output.notes)

    def test_a_failing_start_is_incomplete_and_says_so(self) -> None:
        head = outputs.nccl().partition("#       size")[0]
        output = judged(
            f"{head}n2: Test NCCL failure common.cu:1279 'remote process exited or there was a network error'\n"
        )
        assert word_of_output(output) == INCOMPLETE
        assert kinds(output) == {"program-failed"}

    def test_small_rates_that_round_to_nothing_are_no_zero_results(self) -> None:
        output = judged(outputs.nccl(most=0.001, largest=1 << 20))
        assert output.breaches == ()
        assert judged(outputs.nccl(most=4.0).replace("  0.00 ", "  4.00 ")).results

    @pytest.mark.parametrize(
        ("test", "rate", "valid"),
        [
            ("all_reduce", 40, True),  # a tree or reduction in switches: twice what a ring of this limit reaches
            ("all_reduce", 60, False),
            ("all_gather", 80, True),
            ("all_gather", 110, False),
            ("sendrecv", 49, True),
            ("sendrecv", 53, False),
            ("alltoall", 24, True),
            ("alltoall", 27, False),
        ],
    )
    def test_a_bus_bandwidth_above_the_links_is_invalid_and_trees_are_not(
        self, test: str, rate: float, *, valid: bool
    ) -> None:
        """Links of 50 GB/s between two nodes of four GPUs each."""
        output = judged(outputs.nccl(test, most=rate), bus_bandwidth_bytes_per_s=50e9)
        assert (output.breaches == ()) is valid
        assert valid or kinds(output) == {"above-limit"}

    def test_a_size_of_time_that_is_printed_with_two_digits_agrees(self) -> None:
        text = outputs.nccl(most=1.05, largest=1 << 34)
        row = next(line for line in text.splitlines() if line.split()[:1] == [str(1 << 34)])
        time = row.split()[5]
        assert judged(text.replace(time, f"{number_of(time):.1e}")).breaches == ()

    def test_groups_have_their_own_number_of_ranks(self) -> None:
        text = outputs.nccl("all_gather", ("n1",), 4)
        last = text.rindex("#  Rank")
        end = text.index("\n", last) + 1
        other = "".join(
            f"#  Rank {rank:>2} Group  1 Pid {4000 + rank} on n2 device {rank - 4:>2} [0000:1b:00] NVIDIA H100\n"
            for rank in range(4, 8)
        )
        output = judged(text[:end] + other + text[end:])
        assert (output.breaches, output.missing, output.work("ranks"), output.work("nodes")) == ((), (), 4, 1)
        uneven = judged(text[:end] + other.partition("\n")[0] + "\n" + text[end:])
        assert word_of_output(uneven) == INCOMPLETE

    def test_errors_with_asterisks_are_numbers(self) -> None:
        text = outputs.nccl(wrong="1e+00*", failed=8).replace("#wrong", " error")
        assert word_of_output(judged(text)) == "INVALID"

    def test_rows_of_several_types_are_apart(self) -> None:
        text = outputs.nccl()
        row = next(line for line in text.splitlines(keepends=True) if line.split()[:1] == [str(1 << 20)])
        output = judged(text.replace(row, row + row.replace("float", "f8e4m3")))
        assert {each.labels.get("type") for each in output.results} == {"float", "f8e4m3"}
        assert all("redop" not in each.labels for each in output.results)

    def test_hypercube_leaves_out_the_own_part_of_its_size(self) -> None:
        text = outputs.nccl("hypercube", ("n1", "n2"), 1, wrong="0")
        assert kinds(judged(text)) == {"numbers-disagree"}
        halved = "".join(
            f"{' '.join(cell if place not in (6, 7, 10, 11) else f'{float(cell) / 2:.3f}' for place, cell in cells)}\n"
            if (cells := list(enumerate(line.split()))) and cells[0][1].isdecimal()
            else f"{line}\n"
            for line in text.splitlines()
        )
        assert judged(halved).breaches == ()

    @pytest.mark.parametrize("collective", ["all_reduce", "sendrecv"])
    def test_one_rank_has_no_bus_bandwidth(self, collective: str) -> None:
        text = outputs.nccl(collective, ("n1",), 1)
        output = judged(text)
        assert word_of_output(output) == "MEASURED"
        assert not output.values("bus_bandwidth_bytes_per_s")

    def test_a_list_of_programs_names_no_collective(self) -> None:
        text = outputs.nccl("all_gather", announced=False)
        assert judged("all_gather_perf all_reduce_perf alltoall_perf\n" + text).breaches == ()

    def test_a_run_after_a_failed_one_has_its_own_ranks(self) -> None:
        text = outputs.nccl("all_gather", announced=False)
        failed = text.partition("#       size")[0]
        failed += "n1: Test timeout (60s) common.cu:700\nn1 pid 4000: Test failure common.cu:700\n"
        output = judged(failed + text)
        assert [each.value for each in output.evidence if each.name == "ranks"] == [8, 8]
        assert "numbers-disagree" not in kinds(output)
        assert word_of_output(output) == INCOMPLETE


class TestParts:
    @pytest.mark.parametrize("made", [outputs.nvbandwidth, outputs.gpu_burn])
    def test_a_slow_gpu_is_named_and_not_proved_by_one_run(self, made: Callable[..., str]) -> None:
        output = judged(made(0.7, gpus=8))
        assert kinds(output) == {"gpu-below-peers"}
        assert word_of_output(output) == "INCONCLUSIVE"
        (breach,) = output.breaches
        assert re.match(r"GPU [12] is 30 % worse", breach.reason)

    @pytest.mark.parametrize("made", [outputs.nvbandwidth, outputs.gpu_burn])
    def test_alike_gpus_pass_with_what_would_have_been_detected(self, made: Callable[..., str]) -> None:
        output = judged(made(gpus=8))
        assert word_of_output(output) == "PASS"
        assert output.references == ("peers",)
        assert any(re.match(r"Detectable: a GPU that is \d", note) for note in output.notes)

    def test_few_gpus_are_compared_with_nothing(self) -> None:
        assert word_of_output(judged(outputs.gpu_burn(gpus=2))) == "MEASURED"

    def test_gpu_burn_counts_errors_and_calls_a_gpu_faulty(self) -> None:
        output = judged(outputs.gpu_burn(errors=12))
        assert kinds(output) == {"data-corrupt"}
        assert [breach.reason[:5] for breach in output.breaches] == ["GPU 2", "GPU 2"]


class TestNvbandwidth:
    def test_a_sum_that_is_not_that_of_the_numbers_is_invalid(self) -> None:
        text = outputs.nvbandwidth().replace("SUM host_to_device_memcpy_ce 2", "SUM host_to_device_memcpy_ce 3")
        assert kinds(judged(text)) == {"numbers-disagree"}

    def test_an_error_of_a_test_is_reported(self) -> None:
        assert kinds(judged(outputs.nvbandwidth_json("Error"))) == {"program-failed"}

    def test_peers_of_a_write_are_in_the_direction_of_the_data(self) -> None:
        output = judged(outputs.nvbandwidth_json())
        ends = [(each.labels["from"], each.labels["to"]) for each in output.results if "from" in each.labels]
        assert ends == [("GPU 1", "GPU 0"), ("GPU 0", "GPU 1")]

    def test_a_version_without_a_closing_note_has_an_unknown_end(self) -> None:
        text = outputs.nvbandwidth().partition("NOTE:")[0]
        assert "nothing shows that such an output is whole" in judged(text).missing[0]

    def test_copies_both_ways_have_a_matrix_for_each_direction_and_their_sum(self) -> None:
        test = "device_to_device_bidirectional_memcpy_read_ce"
        matrices = "".join(
            f"memcpy CE GPU(row) <-> GPU(column) {part} bandwidth (GB/s)\n           0         1\n"
            f" 0       N/A    {rate:.2f}\n 1    {rate:.2f}       N/A\n\nSUM {test}_{part.lower()} {2 * rate:.2f}\n\n"
            for part, rate in (("Read1", 209.5), ("Read2", 208.5), ("Total", 418.0))
        )
        text = outputs.nvbandwidth().replace("Waived: \n", f"Running {test}.\n{matrices}Waived: \n")
        output = judged(text)
        assert output.missing == ()
        assert output.work("tests") == 4
        rates = {each.labels["part"]: each.value for each in output.results if "part" in each.labels}
        assert rates == {"read1": 209.5e9, "read2": 208.5e9, "total": 418e9}
        without_total = judged(text.replace(f"SUM {test}_total", "SUM x"))
        assert any("has no sum" in each for each in without_total.missing)

    def test_a_json_object_needs_no_newline(self) -> None:
        assert word_of_output(judged(outputs.nvbandwidth_json().rstrip())) == "MEASURED"
        assert word_of_output(judged(outputs.nvbandwidth_json().rstrip()[:-1])) == INCOMPLETE


@pytest.mark.parametrize(
    "text",
    [
        "Tested 1 GPUs:\n\tGPU 0: OK\n",
        '{"nvbandwidth": {"testcases": [{"name": "a", "status": "Waived"}]}}\n',
        "[CUDA Bandwidth Test] - Starting...\nRunning on...\n\nResult = PASS\n",
    ],
)
def test_an_output_without_a_number_measured_nothing(text: str) -> None:
    assert word_of_output(judged(text)) == INCOMPLETE


@pytest.mark.parametrize(
    ("lines", "word", "kind"),
    [
        ("Couldn't init a GPU test: Error in \"cuInit\": no device\nTested 0 GPUs:\n", INCOMPLETE, "program-failed"),
        ("100.0%  proc'd: 0 (0 Gflop/s)   errors: 0   temps: 62 C \nTested 1 GPUs:\n\tGPU 0: OK\n",
         "INVALID", "zero-result"),
        ("50.0%  proc'd: 5 (9 Gflop/s) - -1 (0 Gflop/s)   errors: 0 - -1  (DIED!)  temps: 62 C - -- \nTested 2 GPUs:\n"
         "\tGPU 0: OK\n\tGPU 1: FAULTY\n", "INVALID", "program-failed"),
    ],
)  # fmt: skip
def test_a_gpu_without_work_is_not_good(lines: str, word: str, kind: str) -> None:
    output = judged("Burning for 10 seconds.\n" + lines)
    assert word_of_output(output) == word
    assert kind in kinds(output)


def test_the_sum_over_several_devices_has_no_limit_of_one_link() -> None:
    text = outputs.cuda_bandwidth()
    device = next(line for line in text.splitlines(keepends=True) if line.startswith(" Device 0:"))
    output = judged(text.replace(device, device + device.replace("0", "1", 1)), host_bandwidth_bytes_per_s=1e6)
    assert output.breaches == ()
    assert {each.labels["gpus"] for each in output.results} == {"all"}


def test_transferbench_prints_averages_with_two_blanks_and_lists_with_bars() -> None:
    matrix = outputs.transferbench_matrix()
    assert "(During BiDir)" in matrix
    assert judged(matrix.replace("(During BiDir)", "(During  BiDir)")).missing == ()
    text = outputs.transferbench()
    bars = "".join(
        f"\N{BOX DRAWINGS LIGHT VERTICAL}{line}\n" if "GB/s |" in line else f"{line}\n" for line in text.splitlines()
    )
    assert len(judged(bars).results) == len(judged(text).results)


def test_rows_of_an_all_to_all_are_between_their_gpus() -> None:
    output = judged(outputs.transferbench_all())
    assert {(each.labels["from"], each.labels["to"], each.value) for each in output.results} >= {
        ("GPU 0", "GPU 1", 51.126e9), ("GPU 2", "GPU 0", 51.145e9)
    }  # fmt: skip
    assert {each.labels["ways"] for each in output.results} == {"all to all"}
    assert len(output.results) == 6


class TestDiagnostic:
    @pytest.mark.parametrize(
        ("version", "status", "severity", "word", "kind"),
        [
            (4, "Pass", 0, "PASS", ""),
            (3, "Pass", 0, "PASS", ""),
            (4, "Fail", 2, "DOWN", "diagnostic-failed"),
            (4, "Fail", 5, "MISCONFIGURED", "diagnostic-setting"),
            (4, "Warn", 2, "DOWN", "diagnostic-failed"),
            (3, "Fail", 0, "DOWN", "diagnostic-failed"),
            (4, "Skip", 0, "INCONCLUSIVE", "diagnostic-skipped"),
            (4, "Something new", 0, "INCONCLUSIVE", "diagnostic-skipped"),
        ],
    )
    def test_a_skip_is_no_pass_and_a_setting_is_no_hardware(
        self, version: int, status: str, severity: int, word: str, kind: str
    ) -> None:
        output = judged(outputs.diagnostic(version, status, severity))
        assert word_of_output(output) == word
        assert kinds(output) == ({kind} if kind else set())

    def test_a_failure_that_belongs_to_no_gpu_is_in_the_summary_alone(self) -> None:
        text = outputs.diagnostic().replace('"results"', '"test_summary": {"status": "Fail"}, "results"')
        assert word_of_output(judged(text)) == "DOWN"

    def test_lines_before_the_object_are_passed_over(self) -> None:
        assert word_of_output(judged("WARNING: nobody expects this\n" + outputs.diagnostic())) == "PASS"


def test_the_state_of_a_job_is_refused_by_its_name() -> None:
    with pytest.raises(UsageError, match="RAS"):
        parse_auto((FOLDER / "rccl_v2283_text_degraded.txt").read_text(encoding="utf-8"))


def test_the_peers_of_cuda_samples_are_refused_by_their_name() -> None:
    text = "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\nDevice: 0, NVIDIA A100-SXM4-80GB, pciBusID: 7\n"
    with pytest.raises(UsageError, match="p2pBandwidthLatencyTest"):
        parse_auto(text)
