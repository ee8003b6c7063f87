"""Rounds of the probe under a real MPI, with kernels whose times say which ranks took part (probe/tests/kernels)."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from seatrial.launch.collector import source_folder
from seatrial.launch.contract import MeasuresGroups
from seatrial.launch.local import LocalLauncher, mpirun_argv
from seatrial.launch.mpi import Mpi, find_mpi, without_schedulers
from seatrial.launch.probe_build import build, default_folder, probe_sources
from seatrial.model.errors import RoundRefused
from seatrial.model.measurement import GroupRound, Kernel, Phase, Round, Shape
from tests.support.made_once import made_once

RANKS = 4
US = 1e-6


@pytest.fixture(scope="module", params=["mpicc.openmpi", "mpicc.mpich"])
def mpi(request: pytest.FixtureRequest) -> Mpi:
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    return find_mpi(request.param)


@pytest.fixture(scope="module")
def probe(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real probe with the table of test kernels."""
    folder = source_folder("probe")
    own = [path for path in probe_sources() if path.suffix == ".c" and path != folder / "kernels" / "table.c"]
    units = [*own, folder / "tests" / "kernels" / "table.c"]

    def compile_into(made: Path) -> None:
        argv = [mpi.mpicc, "-std=c11", "-O1", "-I", folder, "-o", made / "seatrial-probe", *units, "-ldl"]
        subprocess.run([*map(str, argv)], check=True)

    return made_once(tmp_path_factory, f"test-probe-{Path(mpi.mpicc).name}", compile_into) / "seatrial-probe"


def answers(mpi: Mpi, probe: Path, *commands: dict[str, Any], limit_kib: int = 0) -> list[list[dict[str, Any]]]:
    """What the probe answers to each of the commands, on four ranks. `limit_kib`: of memory for each rank."""
    usual = {"command": "measure", "message_bytes": 0, "window": 1, "warmup": 1, "iterations": 2, "verify": "none"}
    lines = [json.dumps({**usual, "id": number, **own}) for number, own in enumerate(commands, 1)]
    limited = ["sh", "-c", f'ulimit -v {limit_kib}; exec "$0"', probe] if limit_kib else [probe]
    argv = without_schedulers(mpirun_argv(mpi, RANKS, *limited, root=os.geteuid() == 0), os.environ)
    done = subprocess.run(argv, input="\n".join(lines), capture_output=True, text=True, check=True, timeout=100)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    return [[one for one in records if one.get("id") == number] for number in range(1, len(commands) + 1)]


def measured(answer: list[dict[str, Any]]) -> dict[tuple[int, ...], list[float]]:
    """The times of each group in microseconds, warm-up first, of a round that ended as it should."""
    assert (answer[0]["record"], answer[-1]["record"]) == ("start", "end")
    samples = answer[1:-1]
    assert [one["record"] for one in samples] == ["sample"] * answer[-1]["samples"]
    return {
        tuple(one["ranks"]): [round(time_s / US) for time_s in one["warmup_times_s"] + one["times_s"]]
        for one in samples
    }


def test_a_group_has_its_own_ranks_in_the_order_of_the_command(mpi: Mpi, probe: Path) -> None:
    rounds = [([3, 1, 2], [3]), ([0, 3, 2, 1], [2, 2]), ([2, 0, 1, 3], [1, 3]), ([1], [1]), ([3, 2, 1, 0], [4])]
    for answer, (ranks, sizes) in zip(
        answers(mpi, probe, *({"kernel": "roll_call", "ranks": one, "group_sizes": cut} for one, cut in rounds)),
        rounds,
        strict=True,
    ):
        groups = [tuple(ranks[sum(sizes[:i]) : sum(sizes[: i + 1])]) for i in range(len(sizes))]
        digits = {group: sum(rank * 10**place for place, rank in enumerate(group)) for group in groups}
        assert measured(answer) == {group: [time] * 3 for group, time in digits.items()}


def test_one_group_of_all_ranks_delivers_the_longest_time_of_each_iteration(mpi: Mpi, probe: Path) -> None:
    (answer,) = answers(mpi, probe, {"kernel": "everyone", "message_bytes": 10})
    assert measured(answer) == {(0, 1, 2, 3): [4, 4, 8]}
    assert answer[1]["errors"] == 0


SCHEDSTAT = Path("/proc/thread-self/schedstat")
COMPARED = {"none": 0, "ends": 2, "all": 4}
"""Iterations of a set that is alone in its round; beside others, the first is not compared."""
BESIDE = {"none": 0, "ends": 1, "all": 3}


def test_wrong_bytes_are_counted_for_each_rank_of_a_group(mpi: Mpi, probe: Path) -> None:
    rounds = ({"kernel": "everyone", "message_bytes": 10, "verify": verify} for verify in COMPARED)
    for compared, answer in zip(COMPARED.values(), answers(mpi, probe, *rounds), strict=True):
        sample, wrong = answer[1], RANKS * compared
        assert (sample["verified"], sample["errors"]) == (compared, wrong)
        assert sample.get("errors_by_rank", []) == ([0, wrong, 0, 0] if wrong else [])
        assert sample.get("first_errors", []) == ([-1, 1, -1, -1] if wrong else [])


def test_wrong_bytes_of_a_pair_say_which_way_they_went(mpi: Mpi, probe: Path) -> None:
    bytes_each = 1001
    garbled = {"kernel": "garbled", "pairs": [2, 1, 0, 3], "message_bytes": bytes_each}
    delivered = answers(mpi, probe, *(garbled | {"verify": verify} for verify in COMPARED))
    for verify, sample in (
        (verify, one) for verify, rows in zip(COMPARED, delivered, strict=True) for one in rows[1:-1]
    ):
        assert sample["verified"] == BESIDE[verify]
        assert sample["warmup_times_s"] + sample["times_s"] == [US] * 3
        never_came, last = BESIDE[verify] * bytes_each, BESIDE[verify]
        assert sample["errors"] == never_came + last
        assert sample.get("errors_by_rank", [0, 0]) == [never_came, last]
        assert sample.get("first_errors", [-1, -1]) == ([0, bytes_each - 1] if verify != "none" else [-1, -1])


@pytest.mark.parametrize("kernel", ["pingpong", "oneway"])
def test_good_data_are_found_good(mpi: Mpi, probe: Path, kernel: str) -> None:
    asked = {"kernel": kernel, "pairs": [3, 0, 1, 2], "window": 1 if kernel == "pingpong" else 5}
    rounds: list[dict[str, Any]] = [
        asked | {"message_bytes": message_bytes, "verify": verify, "warmup": warmup}
        for message_bytes in (0, 1, 4097, 1 << 20)
        for verify in COMPARED
        for warmup in (0, 2)
    ]
    for answer, one in zip(answers(mpi, probe, *rounds), rounds, strict=True):
        assert [each["record"] for each in answer] == ["start", "sample", "sample", "end"]
        for sample in answer[1:-1]:
            assert sample["errors"] == 0
            assert all(0 <= waited_s < 60 for waited_s in sample.get("waited_s", []))
            assert len(sample.get("waited_s", [])) == 2 * SCHEDSTAT.exists()
            assert sample["verified"] == (BESIDE[one["verify"]] if one["message_bytes"] else 0)


def test_a_kernel_without_data_verifies_nothing(mpi: Mpi, probe: Path) -> None:
    (answer,) = answers(mpi, probe, {"kernel": "roll_call", "ranks": [1, 2], "group_sizes": [2], "verify": "all"})
    assert answer[1]["verified"] == 0


def test_single_ranks_measure_at_the_same_time_each_alone(mpi: Mpi, probe: Path) -> None:
    one, several = answers(
        mpi, probe, {"kernel": "alone", "ranks": [2], "message_bytes": 1 << 20},
        {"kernel": "alone", "ranks": [3, 0, 1], "message_bytes": 8},
    )  # fmt: skip
    assert measured(one) == {(2,): [2, 2, 2]}
    assert measured(several) == {(rank,): [rank] * 3 for rank in (0, 1, 3)}


def test_pairs_and_groups_follow_each_other_and_a_refusal_leaves_nothing_behind(mpi: Mpi, probe: Path) -> None:
    pair = {"kernel": "pingpong", "pairs": [3, 0], "message_bytes": 8}
    group = {"kernel": "roll_call", "ranks": [3, 0], "group_sizes": [2]}
    wrong = {"kernel": "roll_call", "ranks": [3, 0], "group_sizes": [3]}
    first, refused, second, third = answers(mpi, probe, pair, wrong, group, pair)
    assert [one["record"] for one in refused] == ["error"]
    assert measured(second) == {(3, 0): [3, 3, 3]}
    for answer in (first, third):
        (sample,) = answer[1:-1]
        assert (sample["source"], sample["target"]) == (3, 0)
        assert "ranks" not in sample


def test_ranks_without_memory_end_the_round_and_not_the_session(mpi: Mpi, probe: Path) -> None:
    """The kernel sends one message and receives three: the first part is there, and the second is refused."""
    too_much = {"kernel": "alone", "ranks": [2, 1], "message_bytes": 1 << 28}
    group = {"kernel": "roll_call", "ranks": [3, 2, 1], "group_sizes": [3]}
    (error,), after = answers(mpi, probe, too_much, group, limit_kib=1_040_000)
    assert error["record"] == "error"
    assert error["message"].startswith("rank 1 has no memory for its part: it takes 10737")
    assert measured(after) == {(3, 2, 1): [123] * 3}


def test_a_session_measures_barriers(mpi: Mpi, tmp_path: Path) -> None:
    launcher = LocalLauncher(mpi, build(mpi, default_folder()), 2)
    nodes = launcher.hosts().nodes
    shape = Shape(kernel=Kernel.BARRIER, message_bytes=0, window=1, warmup=2, iterations=5)
    asked: dict[str, Any] = {"phase": Phase.SURVEY, "repetition": 1, "shape": shape}
    session = launcher.start(nodes, tmp_path / "log")
    try:
        assert isinstance(session, MeasuresGroups)
        for groups in ((nodes[::-1],), (nodes[:1], nodes[1:])):
            delivered = list(session.measure_groups(GroupRound(**asked, groups=groups), 60))
            assert {one.nodes for one in delivered} == set(groups)
            assert [(len(one.warmup_times_s), len(one.times_s)) for one in delivered] == [(2, 5)] * len(groups)
            assert all(0 < time_s < 60 for one in delivered for time_s in one.times_s)
            assert all((one.groups_at_once, one.errors) == (len(groups), 0) for one in delivered)
        with pytest.raises(RoundRefused, match="'pairs' is not a key for barrier"):
            list(session.measure(Round(**asked, pairs=((nodes[0], nodes[1]),)), 60))
        assert len(list(session.measure_groups(GroupRound(**asked, groups=(nodes,)), 60))) == 1
    finally:
        session.close()
