"""What MPIs declare, read from logs recorded on a virtual cluster; and why starts failed there."""

import pytest

from seatrial.commands.link.transports.components import read_declared
from seatrial.failures.start_failure import explain
from seatrial.model.transport import Carrier
from tests.support.paths import DATA

RECORDED = DATA / "transports"


@pytest.mark.parametrize(
    ("name", "carrier", "words"),
    [
        ("openmpi-cm", Carrier.OFI, ("pml cm", "mtl ofi", "OFI domain eth0")),
        ("openmpi-ob1", Carrier.SHARED_MEMORY, ("pml ob1", "btl vader")),
        ("openmpi-ucx", Carrier.UCX, ("pml ucx", "UCX tcp/eth0")),
        ("mpich-ucx", Carrier.SHARED_MEMORY, ("UCX sysv/memory cma/memory",)),
    ],
)
def test_recorded_logs(name: str, carrier: Carrier, words: tuple[str, ...]) -> None:
    found = read_declared((RECORDED / f"{name}.err").read_text())
    assert found is not None
    assert found.carriers == (carrier,)
    assert found.words == words


def test_components_are_read_process_by_process() -> None:
    found = read_declared((RECORDED / "openmpi-cm.err").read_text())
    assert found is not None
    assert found.compiled["mtl"] == ("ofi", "psm", "psm2")
    assert found.compiled["btl"] == ("ofi", "openib", "self", "sm", "tcp", "vader")
    assert "ucx" in found.compiled["pml"]


@pytest.mark.parametrize(
    ("lines", "carriers", "words"),
    [
        (("libfabric provider: tcp;ofi_rxm",), (Carrier.TCP,), ("libfabric provider tcp;ofi_rxm",)),
        (("libfabric provider: mlx", "shm segment size (1 MB per rank) * (1 local ranks) = 1 MB total"),
         (Carrier.UCX,), ("libfabric provider mlx",)),
        (("libfabric provider: psm3",), (Carrier.OFI,), ("libfabric provider psm3",)),
        (("shm segment size (699 MB per rank) * (2 local ranks) = 1399 MB total",), (Carrier.SHARED_MEMORY,), ("shm",)),
    ],
)  # fmt: skip
def test_what_intel_mpi_says(lines: tuple[str, ...], carriers: tuple[Carrier, ...], words: tuple[str, ...]) -> None:
    """The form of I_MPI_DEBUG=10 of 2021.18; the providers' names are from its documentation."""
    found = read_declared("".join(f"[0] MPI startup(): {line}\n" for line in lines))
    assert found is not None and (found.carriers, found.words) == (carriers, words)


def test_a_log_that_says_nothing_known() -> None:
    assert read_declared("") is None
    assert read_declared("srun: error: n1: task 0: Killed\n") is None


@pytest.mark.parametrize(
    ("name", "meaning", "remedy"),
    [
        ("pml-cannot-be-selected", "pml cm finds nothing", "seatrial link --transports"),
        ("no-btl", "reaches from one rank to the other (it tried self)", "seatrial link --transports"),
        ("ob1-crash", "because it has no transport to the other rank", "openmpi-mca-params.conf"),
        ("no-component", "its component nonsense, which does not exist here", "ompi_info"),
        ("no-interface", "no interface ib0", "btl_tcp_if_include"),
        ("ucx-unreachable", "UCX has no permitted transport", "UCX_TLS"),
        ("other-pml", "n2 chose Open MPI's pml cm", "openmpi-mca-params.conf"),
    ],
)
def test_why_a_start_without_a_transport_failed(name: str, meaning: str, remedy: str) -> None:
    failure = explain((RECORDED / f"{name}.err").read_text())
    said, advice = failure.meaning, failure.remedy
    assert meaning in said
    assert remedy in advice
