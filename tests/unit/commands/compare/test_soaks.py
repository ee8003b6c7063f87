"""`compare` of runs of `seatrial nodes --for`: the hottest readings, and the figures of the trials."""

from pathlib import Path

import msgspec
import pytest

from seatrial.commands.compare.run import run_comparison
from seatrial.model.measurement import Conditions
from seatrial.model.node_trials import Measure
from tests.support.command_line import Seatrial
from tests.support.node_series import GOOD, soaked
from tests.support.run_archives import archived_groups

NAMES = ("n1", "n2", "n3")


def archived(archive: Path, run: str, celsius: float, seed: int) -> None:
    series = soaked(lambda _node, _cycle: GOOD, NAMES, 2, seed)
    groups = []
    for group in series.group_measurements:
        of_node = 500 * NAMES.index(group.nodes[0].partition(":")[0])
        warm = Conditions(wall_s=1.0, millicelsius=round(1e3 * celsius) + of_node)
        groups.append(msgspec.structs.replace(group, conditions=warm))
    archived_groups(archive, msgspec.structs.replace(series, group_measurements=tuple(groups)), run=run)


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two soaks with the doors closed, two with the doors open."""
    folder = tmp_path / "archive"
    for seed, (run, celsius) in enumerate((("c1", 67.0), ("c2", 67.2), ("o1", 61.0), ("o2", 61.3)), 1):
        archived(folder, run, celsius, seed)
    monkeypatch.setenv("SEATRIAL_ARCHIVE", str(folder))
    return folder


def test_two_sets_of_soaks_are_compared_like_others(archive: Path) -> None:
    comparison = run_comparison(archive, "c1,c2", "o1,o2")
    heat = next(each for each in comparison.metrics if each.metric.kernel is Measure.HEAT)
    assert heat.together.before == pytest.approx(67.6, abs=0.1)
    assert heat.together.after == pytest.approx(61.65, abs=0.1)
    assert Measure.TRIAD in {each.metric.kernel for each in comparison.metrics}


def test_side_by_side_the_temperature_of_soaks_is_the_answer(archive: Path, seatrial: Seatrial) -> None:
    ran = seatrial("compare", "--side-by-side", "o1,o2", "c1,c2", "--label", "open", "--label", "closed", code=None)
    assert ran.out.startswith("FASTER  open: 61.6 °C, 6.0 °C lower than closed\n")
