"""Outputs with a number for each GPU: a GPU is a part of its node, in one output and over many."""

from pathlib import Path

import pytest

from seatrial.benchmarks.node_outputs import table_of_outputs
from seatrial.judgement.fleet.strata import judge_strata
from seatrial.model.verdict import Verdict
from tests.support.command_line import Seatrial, Text
from tests.support.gpu_outputs import diagnostic, gpu_burn, nvbandwidth
from tests.support.json_objects import parsed

NODES = tuple(f"n{number:02}" for number in range(1, 13))


def outputs(slow: float = 1.0, runs: int = 3, *, bandwidth: bool = False) -> dict[str, str]:
    """A file for each node and run; one GPU of n04 has this share of its rate in every run."""
    made = nvbandwidth if bandwidth else gpu_burn
    name = "nvbandwidth" if bandwidth else "gpu-burn"
    return {
        f"{node}-{name}-run{run}.log": made(slow if node == "n04" else 1.0, gpus=8).replace(
            "17000", str(17000 + 7 * run + place)
        )
        for place, node in enumerate(NODES)
        for run in range(1, runs + 1)
    }


@pytest.mark.parametrize(("bandwidth", "gpu"), [(False, "n04 GPU 1"), (True, "n04 GPU 2")])
def test_one_gpu_of_96_that_is_low_in_every_run_is_named(gpu: str, *, bandwidth: bool) -> None:
    table = table_of_outputs(outputs(0.7, bandwidth=bandwidth))
    assert table is not None
    judged = judge_strata({"outputs": table})
    assert judged.verdict is Verdict.SLOW
    assert [(each.subject, each.node, each.verdict) for each in judged.named] == [(gpu, "n04", Verdict.SLOW)]
    healthy = table_of_outputs(outputs(bandwidth=bandwidth))
    assert healthy is not None
    assert judge_strata({"outputs": healthy}).verdict is Verdict.PASS


def test_judge_names_it_in_the_first_line(tmp_path: Path, seatrial: Seatrial) -> None:
    for name, text in outputs(0.7).items():
        (tmp_path / name).write_text(text)
    report = seatrial("judge", tmp_path, code=1)
    assert report.out.startswith("SLOW  n04 GPU 1")


def test_one_file_is_judged_gpu_by_gpu(seatrial: Seatrial) -> None:
    report = seatrial("judge", Text(gpu_burn(0.7, gpus=8), "burn.log"), code=2)
    assert report.out.startswith("INCONCLUSIVE  burn.log: ")
    assert "GPU 1 is 30 % worse" in report.out
    good = seatrial("judge", Text(gpu_burn(gpus=8), "good.log"))
    assert good.out.startswith("PASS  good.log: gpu-burn 17.0 Tflop/s; 8 GPUs alike\n")
    assert "Detectable: a GPU that is" in good.out


@pytest.mark.parametrize(
    ("status", "severity", "word", "code"),
    [("Pass", 0, "PASS", 0), ("Fail", 2, "DOWN", 1), ("Fail", 5, "MISCONFIGURED", 1), ("Skip", 0, "INCONCLUSIVE", 2)],
)
def test_a_diagnostic_has_a_word_and_an_exit_code(
    status: str, severity: int, word: str, code: int, seatrial: Seatrial
) -> None:
    report = seatrial("judge", Text(diagnostic(4, status, severity), "diag.json"), code=code)
    assert report.out.startswith(f"{word}  diag.json: ")


@pytest.mark.parametrize("text", ["", "CUDA_ERROR_NO_DEVICE: no device was found\n"])
def test_a_node_whose_gpus_printed_nothing_has_no_value(text: str, tmp_path: Path, seatrial: Seatrial) -> None:
    for name, output in outputs(runs=1).items():
        (tmp_path / name).write_text(text if name.startswith("n07") else output)
    report = seatrial("judge", tmp_path, code=2)
    assert report.out.startswith("NOT_RUN")
    assert "n07" in report.out


@pytest.mark.parametrize(("parts", "slow"), [(2, {1}), (4, {2, 3}), (4, {0}), (2, {0, 1})])
def test_half_the_parts_of_a_node_are_not_the_node(
    parts: int, slow: set[int], tmp_path: Path, seatrial: Seatrial
) -> None:
    """Under each condition and in all together a part is low twice, and is one part."""
    rows = [
        f"n{node:02},{run},{kernel},{part},{level * (0.75 if node == 4 and part in slow else 1) + node % 5 / 10:.1f}"
        for node in range(1, 13)
        for run in range(3)
        for kernel, level in (("copy", 190), ("triad", 180))
        for part in range(parts)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["node,run,kernel,socket,GBs", *rows, ""]))
    named = parsed(seatrial("judge", tmp_path / "t.csv", "--json", code=1).out)["named"]
    wanted = {"n04"} if len(slow) == parts else {f"n04 socket {part}" for part in slow}
    assert {one["subject"] for one in named} == wanted
