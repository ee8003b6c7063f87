"""Pieces and switches of curves whose truth is known, and of curves that others measured."""

import math
import random
import re

import msgspec
import pytest

from seatrial.pairs.sizes import geometric_sizes
from seatrial.statistics.piecewise import FEWEST_SIZES
from seatrial.statistics.segments import Break, Segmentation, segment

SIZES = geometric_sizes(4 << 20)


def two_protocols(size: int, switch: int = 8192, jump_s: float = 6e-6) -> float:
    """Eager up to `switch` bytes, then a rendezvous that costs `jump_s` more and carries faster."""
    return 2e-6 + size / 3e9 if size <= switch else 2e-6 + 8192 / 3e9 + jump_s + (size - 8192) / 10e9


def noisy(truth: dict[int, float], runs: int, scale: float, seed: int) -> dict[int, list[float]]:
    draw = random.Random(seed)
    return {size: [time_s * draw.gauss(1, scale) for _ in range(runs)] for size, time_s in truth.items()}


def test_one_line_is_one_piece_and_its_parameters_come_back() -> None:
    found = segment({size: [5e-6 + size / 2e9] for size in SIZES})
    (only,) = found.segments
    assert found.breaks == ()
    assert only.startup_s.value == pytest.approx(5e-6, rel=1e-6)
    assert only.bytes_per_s.value == pytest.approx(2e9, rel=1e-6)
    assert (only.first_bytes, only.last_bytes) == (1, 4 << 20)
    assert only.time_s(0) == pytest.approx(5e-6, rel=1e-6)


def test_what_one_run_says_can_be_written_down() -> None:
    """Without resamples the ends of an interval are its value, which NumPy computed."""
    for runs in (1, 3):
        found = segment({size: [two_protocols(size)] * runs for size in SIZES})
        assert msgspec.json.decode(msgspec.json.encode(found), type=Segmentation) == found


def test_a_switch_is_found_in_its_gap_and_both_lines_come_back() -> None:
    found = segment({size: [two_protocols(size)] * 3 for size in SIZES})
    (switch,) = found.switches
    assert switch.found_share == 1.0
    assert (switch.last_bytes, switch.first_bytes) == (8192, 11585)
    assert switch.jump > 0.5
    before, after = found.segments
    assert before.bytes_per_s.value == pytest.approx(3e9, rel=1e-6)
    assert after.bytes_per_s.value == pytest.approx(10e9, rel=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_noise_moves_no_switch_and_makes_none(seed: int) -> None:
    plain = segment(noisy({size: 5e-6 + size / 2e9 for size in SIZES}, 6, 0.02, seed), resamples=0)
    assert plain.steps == ()
    found = segment(noisy({size: two_protocols(size) for size in SIZES}, 6, 0.02, seed), resamples=100)
    assert [(one.last_bytes, one.first_bytes) for one in found.switches] == [(8192, 11585)]


def test_curvature_is_no_switch() -> None:
    """A rate that grows smoothly with size, as through ever larger packets."""
    found = segment({size: [2e-6 + size / (1e9 + 9e9 * size / (size + 1e5))] for size in SIZES}, resamples=0)
    assert len(found.segments) > 1
    assert found.steps == ()


def test_a_step_that_matters_to_nobody_is_no_switch() -> None:
    found = segment({size: [two_protocols(size, jump_s=-0.1e-6)] for size in SIZES}, resamples=0)
    assert found.steps == ()


def test_a_curve_that_falls_gets_a_flat_piece_and_no_negative_rate() -> None:
    found = segment({size: [1e-5 - size * 1e-13] for size in SIZES}, resamples=5)
    assert all(one.bytes_per_s.value == math.inf and one.bytes_per_s.low > 0 for one in found.segments)


def test_intervals_cover_the_truth_and_the_same_seed_gives_the_same() -> None:
    covered = 0
    for seed in range(8):
        runs = noisy({size: two_protocols(size) for size in SIZES}, 10, 0.02, seed)
        found = segment(runs, seed=3)
        last = found.segments[-1].bytes_per_s
        covered += last.low <= 10e9 <= last.high
        assert last.low < last.value < last.high
        assert found.switches[0].low_bytes <= 8192 < found.switches[0].high_bytes
    assert covered >= 6
    assert segment(runs, seed=3) == found
    assert segment(runs, seed=4) != found


def test_runs_that_miss_sizes_and_sizes_that_miss_runs() -> None:
    runs = {size: [two_protocols(size)] * 3 for size in SIZES}
    runs[64] = [math.nan, two_protocols(64), math.nan]
    runs[128] = [two_protocols(128)]
    assert len(segment(runs, resamples=30).switches) == 1


@pytest.mark.parametrize("runs", [{}, {1: [1.0], 2: [1.0]}, {1: [1.0], 2: [0.0], 3: [1.0]}])
def test_what_cannot_be_fitted_is_refused(runs: dict[int, list[float]]) -> None:
    with pytest.raises(ValueError, match="sizes, least time"):
        segment(runs)


def test_no_piece_has_fewer_sizes_than_it_may() -> None:
    found = segment(noisy(dict.fromkeys(SIZES, 1e-6), 1, 0.5, 1), resamples=0)
    places = {size: place for place, size in enumerate(SIZES)}
    assert all(places[one.last_bytes] - places[one.first_bytes] + 1 >= FEWEST_SIZES for one in found.segments)


def near(one: Break, label: float) -> bool:
    """Whether a switch lies within one power of two of the label."""
    return label / 2 <= one.last_bytes and one.first_bytes <= label * 2


def test_three_switches_of_a_generated_calibration() -> None:
    """Fifty timed messages of each of 90 sizes, as platform calibrations measure them; all switches and no other."""
    labels = (1420, 65536, 400_000)
    sizes = sorted({round(2 ** (power / 4)) for power in range(90)})

    def truth(size: int) -> float:
        passed = sum(size > label for label in labels)
        return (2e-6 + size / 3e9) * (1 + 0.35 * passed)

    found = segment(noisy({size: truth(size) for size in sizes}, 50, 0.02, 4), resamples=60)
    assert [label for label in labels if not any(near(one, label) for one in found.switches)] == []
    assert [one for one in found.switches if not any(near(one, label) for label in labels)] == []


def test_a_generated_table_of_osu_latency_with_one_step() -> None:
    """One run shows a step, and cannot confirm that it is a switch."""
    sizes = [1 << power for power in range(23)]
    lines = [f"{size:<10d}{1e6 * two_protocols(size):20.2f}" for size in sizes]
    rows = re.findall(r"^(\d+)\s+([\d.]+)$", "\n".join(lines), re.MULTILINE)
    found = segment({int(size): [float(micros) * 1e-6] for size, micros in rows})
    assert found.segments[-1].bytes_per_s.value == pytest.approx(10e9, rel=0.01)
    assert [(one.last_bytes, one.first_bytes) for one in found.steps] == [(8192, 16384)]
    assert found.switches == ()
