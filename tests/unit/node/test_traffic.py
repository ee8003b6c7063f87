"""Bytes counted by interfaces and ports, and Open MPI's files of settings, from streams of facts."""

from pathlib import Path

import pytest

from seatrial.node.frame import FactsFormatError
from seatrial.node.hcas import passed_between, read_traffic
from seatrial.node.mpi import NOTHING_SET
from seatrial.node.node import node_facts, parse_facts
from tests.support.collecting import SHELLS, collect, facts_text, write

HEAD = "Inter-|   Receive                                                |  Transmit"
ETH0 = "|  eth0: 1000 10 0 0 0 0 0 0 2500 12 0 0 0 0 0 0"


def test_received_and_sent_of_each_interface() -> None:
    text = facts_text("@file /proc/net/dev", f"|{HEAD}", ETH0, "|    lo:7 1 0 0 0 0 0 0 7 1", "|odd: x", "@end")
    assert read_traffic(text) == {"eth0": (1000, 2500), "lo": (7, 7)}


def test_a_node_that_tells_nothing_has_none() -> None:
    assert read_traffic(facts_text()) == {}


def test_what_is_no_facts_is_refused() -> None:
    with pytest.raises(FactsFormatError):
        read_traffic("no facts")


def test_the_greater_way_counts_and_a_device_that_was_reset_counted_nothing() -> None:
    before = {"eth0": (100, 100), "lo": (5, 5), "mlx5_0/1": (900, 900)}
    after = {"eth0": (150, 1100), "lo": (5, 5), "mlx5_0/1": (0, 0), "new": (9, 9)}
    assert passed_between(before, after) == {"eth0": 1000, "lo": 0, "mlx5_0/1": 0}


SYSTEM = "/etc/openmpi/openmpi-mca-params.conf"


def test_the_users_file_counts_over_the_systems_and_the_last_line_over_the_first() -> None:
    text = facts_text(
        "@file ~/.openmpi/mca-params.conf", "|btl = tcp,self", "@end",
        f"@file {SYSTEM}", "|pml = cm", "|pml=ob1 ", "|btl = vader", "|= nothing", "|no setting", "@end",
    )  # fmt: skip
    facts = parse_facts(text)
    assert facts.software.mpi_settings == {"btl": "tcp,self", "pml": "ob1"}
    assert "software.mpi_settings" not in facts.absent


def test_no_file_and_an_empty_file_set_nothing_and_an_old_recording_does_not_tell() -> None:
    for lines in ([f"@file {SYSTEM}", "@end"], ["@absent openmpi-mca-params.conf|no such file"]):
        assert parse_facts(facts_text(*lines)).absent["software.mpi_settings"] == NOTHING_SET
    assert parse_facts(facts_text()).absent["software.mpi_settings"] != NOTHING_SET


@pytest.mark.parametrize("shell", SHELLS)
def test_the_collector_prints_what_sets_something(shell: str, tmp_path: Path) -> None:
    write(tmp_path, SYSTEM, "# a comment\n\npml = ob1\nbtl_tcp_if_include = 10.1.2.0/24\n")
    facts = node_facts(collect(str(tmp_path), shell))
    assert facts.software.mpi_settings == {"btl_tcp_if_include": "ADDRESS/24", "pml": "ob1"}
