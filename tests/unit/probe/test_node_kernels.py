"""Kernels of one node: results are verified, times are there, and a wrong result is found."""

from pathlib import Path
from typing import Any

import pytest

from seatrial.launch.mpi import Mpi
from tests.unit.probe.test_rounds import COMPARED, answers, mpi, probe

assert mpi, probe  # fixtures
ODD_BYTES = 40_000 + 5
"""No whole number of lines, pages or doubles."""
MEMORY = ("memory_copy", "memory_scale", "memory_add", "memory_triad", "memory_read")
TIMED = 3


def samples(mpi: Mpi, probe: Path, *commands: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The samples of each round, all of which must end as they should."""
    delivered = []
    for answer in answers(mpi, probe, *({"warmup": 1, "iterations": TIMED} | one for one in commands)):
        assert (answer[0]["record"], answer[-1]["record"]) == ("start", "end"), answer
        delivered.append(answer[1:-1])
    return delivered


def test_memory_kernels_compute_what_they_should(mpi: Mpi, probe: Path) -> None:
    """Alone, two beside each other, and all ranks together; more ranks than processors share these."""
    rounds = [
        {"kernel": kernel, "message_bytes": message_bytes, "ranks": ranks, "group_sizes": sizes, "verify": verify}
        for kernel in MEMORY
        for message_bytes, ranks, sizes, verify in (
            (ODD_BYTES, [2], [1], "all"),
            (1 << 16, [0, 1, 2, 3], [4], "ends"),
            (0, [3, 1], [1, 1], "ends"),
        )
    ]
    for asked, delivered in zip(rounds, samples(mpi, probe, *rounds), strict=True):
        assert [one["ranks"] for one in delivered] in ([asked["ranks"]], [[3], [1]], [[1], [3]])
        for sample in delivered:
            beside = len(delivered) > 1
            compared = {"all": COMPARED["all"] + 1, "ends": 1 if beside else 2}[str(asked["verify"])]
            assert (sample["errors"], sample["verified"]) == (0, compared)
            assert len(sample["times_s"]) == TIMED
            assert all(time_s > 0 for time_s in sample["times_s"])


def test_a_chase_visits_every_line(mpi: Mpi, probe: Path) -> None:
    asked = {"kernel": "chase", "ranks": [1, 2], "verify": "ends"}
    for delivered in samples(mpi, probe, *(asked | {"message_bytes": size} for size in (ODD_BYTES, 64, 1 << 20))):
        assert [(one["errors"], one["verified"]) for one in delivered] == [(0, 1)] * 2
        assert all(time_s > 0 for one in delivered for time_s in one["times_s"])


def test_arithmetic_is_exact_in_every_width(mpi: Mpi, probe: Path) -> None:
    """The times are 0 if this processor has no vectors of that width; no processor has those of 8 bytes."""
    asked = {"kernel": "fma", "ranks": [0, 3], "window": 4}
    *of_widths, none = samples(mpi, probe, *(asked | {"message_bytes": width} for width in (16, 32, 64, 8)))
    for width, delivered in zip((16, 32, 64), of_widths, strict=True):
        assert [(one["errors"], one["verified"]) for one in delivered] == [(0, TIMED + 1)] * 2
        measured = {time_s > 0 for one in delivered for time_s in one["times_s"]}
        assert measured == {True} or (measured == {False} and width > 16)
    assert none[0]["times_s"] == [0.0] * TIMED


def test_a_wrong_result_of_the_processor_is_counted_in_every_block(mpi: Mpi, probe: Path) -> None:
    blocks = 5
    asked = {"kernel": "miscalculated", "ranks": [2], "message_bytes": 16, "window": blocks}
    ((sample,),) = samples(mpi, probe, asked)
    wrong = 8 * blocks * (TIMED + 1)
    assert (sample["errors"], sample["errors_by_rank"], sample["first_errors"]) == (wrong, [wrong], [24])


def test_the_product_of_matrices_is_compared_and_a_wrong_row_is_found(mpi: Mpi, probe: Path) -> None:
    """Where the system has no BLAS, the times are 0 and no library is named."""
    odd, square, wrong, empty = samples(
        mpi, probe, *({"kernel": kernel, "ranks": ranks, "message_bytes": 8 * rows * rows + more} for
        kernel, ranks, rows, more in (("dgemm", [2, 0], 37, 5), ("dgemm", [1], 256, 0), ("misread", [3], 64, 0),
        ("dgemm", [1], 0, 7))),
    )  # fmt: skip
    assert [(one["errors"], one["verified"]) for one in (*odd, *square, *empty)] == [(0, TIMED + 1)] * 4
    assert empty[0]["times_s"] == [0.0] * TIMED
    has_blas = {time_s > 0 for one in (*odd, *square) for time_s in one["times_s"]}
    assert has_blas == {"library" in square[0]}
    changed = 8 * (TIMED + 1) if "library" in square[0] else 0
    assert (wrong[0]["errors"], wrong[0].get("first_errors", [0])) == (changed, [0])


def test_noise_is_a_time_for_each_quantum(mpi: Mpi, probe: Path) -> None:
    work, detour = samples(mpi, probe, {"kernel": "noise_work", "ranks": [0]}, {"kernel": "noise_detour", "ranks": [0]})
    assert (work[0]["errors"], work[0]["verified"]) == (0, TIMED + 1)
    assert all(time_s > 1e-5 for time_s in work[0]["times_s"])
    assert all(time_s > 0 for time_s in detour[0]["times_s"])


def test_a_byte_goes_through_pipes_and_back(mpi: Mpi, probe: Path) -> None:
    asked: list[dict[str, Any]] = [
        {"ranks": [1, 0], "group_sizes": [2], "iterations": 300},
        {"ranks": [2], "group_sizes": [1]},
        {"ranks": [2, 1, 3], "group_sizes": [3]},
    ]
    kernels = ("pipe_switch", "pipe_wake")
    delivered = samples(mpi, probe, *(own | {"kernel": kernel} for kernel in kernels for own in asked))
    for pair, alone, many in (delivered[:3], delivered[3:]):
        assert (pair[0]["errors"], len(pair[0]["times_s"])) == (0, 300)
        assert all(time_s > 0 for time_s in pair[0]["times_s"])
        for one in (alone[0], many[0]):
            assert (one["times_s"], one["errors"]) == ([0.0] * TIMED, 0), "a pipe has two ends"


def test_a_rank_sleeps_and_shares_its_processor(mpi: Mpi, probe: Path) -> None:
    asleep, shared = samples(
        mpi, probe, {"kernel": "timer_wake", "ranks": [0]}, {"kernel": "time_slice", "ranks": [1], "iterations": 1}
    )
    assert all(time_s > 0 for time_s in asleep[0]["times_s"])
    assert shared[0]["times_s"][0] > 1e-3, "a thread that wants 12 ms gets more than one of them at a time"


def test_far_memory_is_that_of_another_rank(mpi: Mpi, probe: Path) -> None:
    """On one NUMA node it is as near as its own, and the cycle is whole."""
    asked = {"kernel": "chase_far", "message_bytes": 1 << 20, "verify": "ends"}
    pair, own = samples(
        mpi, probe, asked | {"ranks": [1, 0], "group_sizes": [2]}, asked | {"ranks": [2], "group_sizes": [1]}
    )
    for one in (pair[0], own[0]):
        assert (one["errors"], one["verified"]) == (0, 2)
        assert all(time_s > 0 for time_s in one["times_s"])


def test_ranks_meet_and_their_clocks_are_compared(mpi: Mpi, probe: Path) -> None:
    """All ranks here have one clock: the offset that is measured is 0 within what it says of its error.

    The last kernel says that its second rank began each iteration five milliseconds after the first one.
    """
    asked = [
        {"kernel": kernel, "message_bytes": message_bytes, "window": 2, "iterations": 12, "verify": "all"}
        | {"ranks": ranks, "group_sizes": [len(ranks)]}
        for kernel, message_bytes in (("barrier", 0), ("allreduce", 40), ("alltoall", 40))
        for ranks in ([2, 0, 3], [1])
    ]
    dawdle = {"kernel": "dawdle", "ranks": [0, 1], "group_sizes": [2], "iterations": 5}
    *met, (late,) = samples(mpi, probe, *asked, dawdle)
    for (sample,) in met:
        assert (sample["errors"], sample["verified"]) == (0, 0 if sample["kernel"] == "barrier" else 14)
        assert all(time_s > 0 for time_s in sample["times_s"])
        assert (sample["offsets_ns"][0], sample["offset_errors_ns"][0]) == (0, 0)
        for offset_ns, error_ns in zip(sample["offsets_ns"][1:], sample["offset_errors_ns"][1:], strict=True):
            assert error_ns > 0
            assert abs(offset_ns) <= error_ns
        assert min(sample["late_ns"]) >= 0
        assert sum(sample["last"]) >= 12, "in each iteration somebody is last"
    assert late["last"] == [0, 5]
    assert late["late_ns"][1] == pytest.approx(5_000_000, abs=late["offset_errors_ns"][1] + 100)


def test_the_probe_says_what_else_happened(mpi: Mpi, probe: Path) -> None:
    """Of the whole node once in a round, and only with kernels of noise."""
    noise = {"kernel": "noise_work", "ranks": [1, 2], "iterations": 20}
    noisy, quiet = samples(mpi, probe, noise, {"kernel": "memory_read", "message_bytes": 1 << 16, "ranks": [1],
                                               "group_sizes": [1], "verify": "none"})  # fmt: skip
    for sample in (*noisy, *quiet):
        assert sample["wall_s"] >= sum(sample["times_s"])
        assert (sample["switches"] >= 0, sample["faults"] >= 0) == (True, True)
    watched = [sample for sample in noisy if "others_s" in sample]
    assert [sample["ranks"] for sample in watched] == [[1]], "the first rank of the node that takes part"
    assert watched[0]["others_s"] >= 0
    assert watched[0]["interrupts"] >= 0
    assert "others_s" not in quiet[0]
