"""Listings are refused; a reading of nvidia-smi is compared if it is chosen."""

import pytest

from seatrial.importers.fleets import read_fleet_table
from seatrial.importers.listings import refuse_listing
from seatrial.model.errors import UsageError

READINGS = "node, index, temperature.gpu, power.draw [W], clocks.sm [MHz]\n" + "".join(
    f"n{node}, {gpu}, {44 + (node + gpu) % 3}, {380 + node + gpu / 4:.2f} W, {1400 + 3 * node + gpu} MHz\n"
    for node in range(1, 5)
    for gpu in range(4)
)


def test_readings_are_refused_with_an_option_that_reads_them() -> None:
    with pytest.raises(UsageError, match=r"--column 'temperature\.gpu' with --as fleet --part index"):
        refuse_listing(READINGS)
    with pytest.raises(UsageError, match="output of nvidia-smi"):
        read_fleet_table(READINGS)


@pytest.mark.parametrize(("column", "value"), [("temperature.gpu", 45.0), ("power.draw [W]", 381.0)])
def test_a_chosen_reading_is_one_of_each_gpu(column: str, value: float) -> None:
    (stratum,) = read_fleet_table(READINGS, column, part=["index"]).strata
    assert len(stratum.values) == 16
    assert stratum.values["n1 index 0"] == [value]


def test_a_chosen_column_of_jobs_is_still_none_of_nodes() -> None:
    with pytest.raises(UsageError, match="output of Slurm"):
        read_fleet_table("JOBID PARTITION NAME USER ST TIME NODES\n1 main a b R 1:00 2\n", "NODES")
