"""Text of iperf3 of many nodes, whose names are in its first lines."""

import pytest

from seatrial.importers.fleets import read_fleet_table
from seatrial.importers.printed_text import UnclearResultError

NODES = [f"n{number}" for number in range(1, 7)]
TEXT = "".join(
    f"Connecting to host {node}, port 5201\n[ ID] Interval           Transfer     Bitrate         Retr\n"
    f"[  5]   0.00-1.00   sec  1.10 GBytes  9.4{place} Gbits/sec    0\n"
    f"[  5]   1.00-2.00   sec  1.10 GBytes  9.3{place} Gbits/sec    0\n"
    f"[  5]   0.00-2.00   sec  2.20 GBytes  9.2{place} Gbits/sec    0             sender\n"
    f"[  5]   0.00-2.0{place}   sec  2.20 GBytes  9.1{place} Gbits/sec                  receiver\n\niperf Done.\n"
    for place, node in enumerate(NODES)
)


def test_it_is_of_the_nodes_and_one_of_its_lines_is_chosen_by_its_last_word() -> None:
    with pytest.raises(UnclearResultError, match="receiver"):
        read_fleet_table(TEXT)
    (stratum,) = read_fleet_table(TEXT, "receiver").strata
    assert list(stratum.values) == NODES
    assert stratum.values["n3"] == [9.12]
