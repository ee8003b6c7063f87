"""Which settings hold which MPI to which rails."""

import pytest

from seatrial.launch.mpi import Family
from seatrial.launch.rails import Transport, rail_environment, rail_manner, transports_for


@pytest.mark.parametrize(
    ("transport", "rails", "expected"),
    [
        (Transport.OPEN_MPI_TCP, ["eth1"], {"OMPI_MCA_btl_tcp_if_include": "eth1"}),
        (Transport.OPEN_MPI_TCP, ["eth0", "eth1"], {"OMPI_MCA_btl_tcp_if_include": "eth0,eth1"}),
        (Transport.OPEN_MPI_VERBS, ["mlx4_0:2"], {"OMPI_MCA_btl_openib_if_include": "mlx4_0:2"}),
        (Transport.UCX, ["mlx5_0:1"], {"UCX_NET_DEVICES": "mlx5_0:1", "UCX_MAX_RNDV_RAILS": "1"}),
        (Transport.UCX, ["mlx5_0:1", "mlx5_1:1"], {"UCX_NET_DEVICES": "mlx5_0:1,mlx5_1:1", "UCX_MAX_RNDV_RAILS": "2"}),
        (
            Transport.OFI_TCP,
            ["eth1"],
            {"FI_TCP_IFACE": "eth1", "FI_NET_IFACE": "eth1", "FI_SOCKETS_IFACE": "eth1", "FI_UDP_IFACE": "eth1"},
        ),
        (Transport.OFI_TCP, ["eth0", "eth1"], {}),
        (Transport.OFI_VERBS, ["mlx5_1:1"], {"FI_VERBS_DEVICE_NAME": "mlx5_1"}),
        (Transport.PSM2, ["hfi1_1:1"], {"PSM2_MULTIRAIL": "0", "HFI_UNIT": "1"}),
        (Transport.PSM2, ["hfi1_0:1", "hfi1_1:1"], {"PSM2_MULTIRAIL": "1", "PSM2_MULTIRAIL_MAP": "0:1,1:1"}),
        (Transport.PSM2, ["opa"], {}),
        (Transport.OPX, ["hfi1_1:1"], {"FI_OPX_HFI_SELECT": "1"}),
        (Transport.OPX, ["hfi1_0:1", "hfi1_1:1"], {}),
    ],
)
def test_each_library_takes_rails_in_its_own_way(
    transport: Transport, rails: list[str], expected: dict[str, str]
) -> None:
    assert rail_environment(transport, rails) == expected


def test_all_that_may_apply_is_given_and_nothing_else_is_touched() -> None:
    manner = rail_manner(Family.OPEN_MPI, "Ethernet", ["eth1"])
    assert manner is not None
    assert manner.environment == {
        "OMPI_MCA_btl_tcp_if_include": "eth1",
        "UCX_NET_DEVICES": "eth1",
        "UCX_MAX_RNDV_RAILS": "1",
        "FI_TCP_IFACE": "eth1",
        "FI_NET_IFACE": "eth1",
        "FI_SOCKETS_IFACE": "eth1",
        "FI_UDP_IFACE": "eth1",
    }
    assert (manner.options, manner.ranks_per_node) == ((), 1)


def test_mpich_and_intel_are_told_how_many_nics_and_whether_to_stripe() -> None:
    one, two = (rail_manner(Family.MPICH, "InfiniBand", rails) for rails in (["mlx5_0:1"], ["mlx5_0:1", "mlx5_1:1"]))
    assert one is not None
    assert two is not None
    assert one.environment["MPIR_CVAR_CH4_OFI_MAX_NICS"] == "1"
    assert two.environment["MPIR_CVAR_CH4_OFI_ENABLE_MULTI_NIC_STRIPING"] == "1"
    assert not any(name.startswith("OMPI") for name in one.environment)


@pytest.mark.parametrize(("family", "kind"), [(Family.UNKNOWN, "Ethernet"), (Family.OPEN_MPI, "EFA")])
def test_what_is_not_documented_is_not_guessed(family: Family, kind: str) -> None:
    assert transports_for(family, kind) == ()
    assert rail_manner(family, kind, ["x0"]) is None
