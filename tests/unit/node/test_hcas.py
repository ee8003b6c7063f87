"""HCAs and their ports: names, rates, counters, interfaces; from hand-made frames."""

import pytest

from seatrial.model.hca import LANES, Hca, Port, PortFamily, PortState
from seatrial.model.words import Unknown
from seatrial.node.frame import parse_frame
from seatrial.node.hcas import active_mtus, port_state, read_hcas
from seatrial.node.port_rate import PortRate, port_family, port_rate
from tests.support.collecting import facts_text

IB = "/sys/class/infiniband"


def read(*lines: str) -> tuple[tuple[Hca, ...], dict[str, str]]:
    return read_hcas(parse_frame(facts_text(*lines)))


def device(name: str, ports: str = "1", **values: str) -> list[str]:
    """Lines of a device; `_` stands for `/` in the names of its files, `__` for `_`."""
    files = {key.replace("__", "?").replace("_", "/").replace("?", "_"): value for key, value in values.items()}
    return [
        f"@list {IB}/*|{name}", f"@list {IB}/{name}/ports/*|{ports}",
        *(f"@value {IB}/{name}/{file}|{value}" for file, value in files.items()),
    ]  # fmt: skip


def one_port(name: str, rate: str, link_layer: str = "InfiniBand", **values: str) -> tuple[Port, dict[str, str]]:
    lines = device(name, ports_1_rate=rate, ports_1_link__layer=link_layer, **values)
    hcas, absent = read(*lines)
    return hcas[0].ports[0], absent


@pytest.mark.parametrize(
    ("text", "name", "width", "data"),
    [
        ("10 Gb/sec (4X)", "SDR", 4, 8e9),
        ("10 Gb/sec (4X SDR)", "SDR", 4, 8e9),
        ("2.5 Gb/sec (1X)", "SDR", 1, 2e9),
        ("2.5 Gb/sec (1X SDR)", "SDR", 1, 2e9),
        ("20 Gb/sec (4X DDR)", "DDR", 4, 16e9),
        ("40 Gb/sec (4X QDR)", "QDR", 4, 32e9),
        ("10 Gb/sec (1X QDR)", "QDR", 1, 8e9),
        ("80 Gb/sec (8X QDR)", "QDR", 8, 64e9),
        ("40 Gb/sec (4X FDR10)", "FDR10", 4, 40e9),
        ("56 Gb/sec (4X FDR)", "FDR", 4, 4 * 14.0625e9 * 64 / 66),
        ("56.25 Gb/sec (4X FDR)", "FDR", 4, 4 * 14.0625e9 * 64 / 66),
        ("14 Gb/sec (1X FDR)", "FDR", 1, 14.0625e9 * 64 / 66),
        ("168 Gb/sec (12X FDR)", "FDR", 12, 12 * 14.0625e9 * 64 / 66),
        ("100 Gb/sec (4X EDR)", "EDR", 4, 100e9),
        ("25 Gb/sec (1X EDR)", "EDR", 1, 25e9),
        ("100 Gb/sec (2X HDR)", "HDR", 2, 100e9),
        ("200 Gb/sec (4X HDR)", "HDR", 4, 200e9),
        ("200 Gb/sec (2X NDR)", "NDR", 2, 200e9),
        ("400 Gb/sec (4X NDR)", "NDR", 4, 400e9),
        ("800 Gb/sec (4X XDR)", "XDR", 4, 800e9),
    ],
)
def test_infiniband_rates(text: str, name: str, width: int, data: float) -> None:
    rate = port_rate(PortFamily.INFINIBAND, text)
    assert (rate.speed_name, rate.width, rate.why) == (name, width, "")
    assert rate.data_bits_per_s == pytest.approx(data, rel=1e-12)
    assert rate.nominal_bits_per_s == float(text.split(maxsplit=1)[0]) * 1e9


def test_lanes_with_error_correction_carry_round_numbers_exactly() -> None:
    for name, gigabits in (("HDR", 50), ("NDR", 100), ("XDR", 200), ("EDR", 25), ("FDR10", 10)):
        assert LANES[name].signalled_bits_per_s * LANES[name].encoding == gigabits * 10**9


@pytest.mark.parametrize(
    ("text", "name", "width"),
    [
        ("160 Gb/sec (4X)", "", 4),
        ("1600 Gb/sec (4X GDR)", "GDR", 4),
        ("50 Gb/sec (4X EDR)", "EDR", 4),
        ("100 Gb/sec (3X EDR)", "", None),
        ("0 Gb/sec (4X)", "", None),
        ("100 Gb/s", "", None),
        ("", "", None),
    ],
)
def test_a_rate_that_is_not_understood_has_a_reason(text: str, name: str, width: int | None) -> None:
    rate = port_rate(PortFamily.INFINIBAND, text)
    assert (rate.speed_name, rate.width, rate.data_bits_per_s) == (name, width, None)
    assert repr(text) in rate.why


@pytest.mark.parametrize(
    ("text", "interface", "data"),
    [
        ("50 Gb/sec (2X EDR)", None, 50e9),
        ("25 Gb/sec (1X EDR)", None, 25e9),
        ("40 Gb/sec (4X QDR)", None, 40e9),
        ("10 Gb/sec (1X QDR)", None, 10e9),
        ("100 Gb/sec (4X EDR)", None, 100e9),
        ("100 Gb/sec (4X EDR)", 100e9, 100e9),
        ("2.5 Gb/sec (1X SDR)", 1e9, 1e9),
        ("2.5 Gb/sec (1X SDR)", None, None),
        ("20 Gb/sec (4X DDR)", 25e9, 25e9),
        ("", 10e9, 10e9),
        ("", None, None),
    ],
)
def test_roce_has_the_speed_of_its_ethernet(text: str, interface: float | None, data: float | None) -> None:
    rate = port_rate(PortFamily.ROCE, text, interface)
    assert (rate.speed_name, rate.width, rate.data_bits_per_s) == ("", None, data)
    assert bool(rate.why) == (data is None)


@pytest.mark.parametrize(
    ("text", "name", "width", "data"),
    [("100 Gb/sec (4X EDR)", "OPA100", 4, 100e9), ("25 Gb/sec (1X EDR)", "OPA100", 1, None),
     ("56 Gb/sec (4X FDR)", "", 4, None), ("400 Gb/sec (4X NDR)", "", 4, None)],
)  # fmt: skip
def test_omni_path_is_not_edr(text: str, name: str, width: int, data: float | None) -> None:
    rate = port_rate(PortFamily.OMNI_PATH, text)
    assert (rate.speed_name, rate.width, rate.data_bits_per_s) == (name, width, data)
    assert bool(rate.why) == (data is None)


def test_the_rate_of_an_unknown_family_is_not_interpreted() -> None:
    rate = port_rate(Unknown(word="Sonic"), "100 Gb/sec (4X EDR)")
    assert (rate.speed_name, rate.width, rate.data_bits_per_s) == ("EDR", 4, None)
    assert port_rate(PortFamily.EFA, "100 Gb/sec (4X EDR)") == PortRate(data_bits_per_s=100e9, nominal_bits_per_s=100e9)


@pytest.mark.parametrize(
    ("known", "family"),
    [
        ({"driver": "mlx5_core", "node_type": "1: CA", "hca_type": "MT4115"}, PortFamily.INFINIBAND),
        ({"driver": "mlx4_core", "hca_type": "MT4099", "name": "mlx4_0"}, PortFamily.INFINIBAND),
        ({"driver": "ib_mthca", "node_type": "1: CA"}, PortFamily.INFINIBAND),
        ({"driver": "hfi1", "node_type": "1: CA", "name": "hfi1_0"}, PortFamily.OMNI_PATH),
        ({"name": "hfi1_0"}, PortFamily.OMNI_PATH),
        ({"board_id": "Cornelis Omni-Path Host Fabric Interface Adapter 100 Series"}, PortFamily.OMNI_PATH),
        ({"driver": "ib_qib", "node_type": "1: CA", "board_id": "InfiniPath_QLE7340"}, PortFamily.TRUE_SCALE),
        ({"hca_type": "InfiniPath_QLE7342"}, PortFamily.TRUE_SCALE),
        ({"name": "qib0"}, PortFamily.TRUE_SCALE),
        ({"name": "ipath0"}, PortFamily.TRUE_SCALE),
        ({"node_type": "4: RNIC", "driver": "cxgb4", "name": "cxgb4_0"}, PortFamily.IWARP),
        ({"node_type": "4: RNIC", "driver": "mlx5_core", "name": "siw0"}, PortFamily.IWARP),
        ({"hca_type": "I40IW", "name": "i40iw0"}, PortFamily.IWARP),
        ({"driver": "efa", "node_type": "7: unspecified", "name": "rdmap0s6"}, PortFamily.EFA),
        ({"node_type": "5: usNIC", "driver": "usnic_verbs"}, Unknown(word="5: usNIC")),
        ({"node_type": "8: quantum"}, Unknown(word="8: quantum")),
        ({}, PortFamily.INFINIBAND),
    ],
)
def test_families_of_ports_that_call_themselves_infiniband(known: dict[str, str], family: PortFamily | Unknown) -> None:
    assert port_family("InfiniBand", **known) == family
    assert port_family("", **known) == family


@pytest.mark.parametrize(
    "known",
    [
        {"driver": "mlx4_core", "name": "mlx4_0"},
        {"driver": "mlx5_core", "node_type": "1: CA", "name": "mlx5_bond_0"},
        {"driver": "bnxt_en", "node_type": "1: CA", "name": "bnxt_re0"},
        {"driver": "qede", "node_type": "1: CA", "name": "qedr0"},
        {"driver": "ice", "node_type": "1: CA", "name": "irdma0"},
        {"driver": "erdma", "node_type": "1: CA", "name": "erdma_0"},
        {"driver": "virtio_net", "node_type": "1: CA", "name": "rxe0"},
        {"driver": "cxgb4", "node_type": "1: CA", "name": "rxe0"},
        {"driver": "hns3", "node_type": "1: CA", "name": "hns_0"},
    ],
)
def test_roce_is_who_speaks_infiniband_over_ethernet(known: dict[str, str]) -> None:
    assert port_family("Ethernet", **known) is PortFamily.ROCE


def test_iwarp_and_unknown_link_layers() -> None:
    assert port_family("Ethernet", node_type="4: RNIC", driver="ice", name="irdma0") is PortFamily.IWARP
    assert port_family("Sonic", node_type="1: CA") == Unknown(word="Sonic")
    assert port_family("Unspecified", driver="efa") is PortFamily.EFA


def test_an_infiniband_card() -> None:
    hcas, absent = read(
        *device(
            "mlx5_0", node__type="1: CA", board__id="MT_2180110032", fw__ver="12.28.2006", hca__type="MT4115",
            device_numa__node="1", ports_1_state="4: ACTIVE", ports_1_phys__state="5: LinkUp",
            ports_1_rate="100 Gb/sec (4X EDR)", ports_1_link__layer="InfiniBand", ports_1_lid="0x2a",
            ports_1_sm__lid="0x1", ports_1_gids_0="fe80:0000:0000:0000",
        ),
        f"@real {IB}/mlx5_0/device|/sys/devices/pci0000:80/0000:80:02.0/0000:81:00.0",
        f"@link {IB}/mlx5_0/device/driver|mlx5_core",
        f"@list {IB}/mlx5_0/device/net/*|ib0 ib0.8001",
        f"@column {IB}/mlx5_0/ports/* counters/symbol_error|3",
        f"@column {IB}/mlx5_0/ports/* hw_counters/out_of_sequence|18446744073709551615",
        "@command ibv_devinfo", "|hca_id:\tmlx5_0", "|\t\tport:\t1", "|\t\t\tactive_mtu:\t\t4096 (5)", "@end 0",
    )  # fmt: skip
    port = Port(
        number=1, family=PortFamily.INFINIBAND, state=PortState.ACTIVE, physical_state="LinkUp",
        link_layer="InfiniBand", rate_text="100 Gb/sec (4X EDR)", speed_name="EDR", width=4, data_bits_per_s=100e9,
        mtu_bytes=4096, lid=42, subnet_manager_lid=1, subnet_prefix="fe80:0000:0000:0000",
        interfaces=("ib0", "ib0.8001"), counters={"symbol_error": 3, "out_of_sequence": 2**64 - 1},
    )  # fmt: skip
    assert hcas == (
        Hca(name="mlx5_0", driver="mlx5_core", firmware="12.28.2006", board_id="MT_2180110032", hca_type="MT4115",
            node_type="1: CA", pci_address="0000:81:00.0", numa_node=1, ports=(port,)),
    )  # fmt: skip
    assert absent == {}


def test_true_scale_omni_path_and_roce_by_their_right_names() -> None:
    qib, _ = one_port("qib0", "40 Gb/sec (4X QDR)", board__id="InfiniPath_QLE7340")
    assert (qib.family, qib.speed_name, qib.data_bits_per_s) == (PortFamily.TRUE_SCALE, "QDR", 32e9)
    hfi, _ = one_port("hfi1_0", "100 Gb/sec (4X EDR)", node__type="1: CA")
    assert (hfi.family, hfi.speed_name, hfi.data_bits_per_s) == (PortFamily.OMNI_PATH, "OPA100", 100e9)
    roce, _ = one_port("mlx5_0", "50 Gb/sec (2X EDR)", "Ethernet", node__type="1: CA")
    assert (roce.family, roce.speed_name, roce.data_bits_per_s) == (PortFamily.ROCE, "", 50e9)
    assert roce.rate_text == "50 Gb/sec (2X EDR)"


def opainfo(width: str = "4", sending: str = "4", receiving: str = "4", speed: str = "25Gb") -> tuple[str, ...]:
    return (
        "@command opainfo", "|hfi1_0:1", f"|   LinkSpeed      Act: {speed}         En: 25Gb        ",
        f"|   LinkWidth      Act: {width}            En: 4           ",
        f"|   LinkWidthDnGrd ActTx: {sending}  Rx: {receiving}   En: 3,4         ", "@end 0",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rate", "printed", "width", "data_bits_per_s"),
    [
        ("100 Gb/sec (4X EDR)", opainfo(), 4, 100e9),
        ("100 Gb/sec (4X EDR)", opainfo(receiving="3"), 3, 75e9),
        ("25 Gb/sec (1X EDR)", opainfo("2", "2", "2"), 2, 50e9),
        ("100 Gb/sec (4X EDR)", opainfo(sending="2", speed="12.5Gb"), 2, 25e9),
        ("100 Gb/sec (4X EDR)", opainfo("Noop", "0", "0"), 4, 100e9),
        ("25 Gb/sec (1X EDR)", (), 1, None),
    ],
)
def test_lanes_of_omni_path_are_those_of_opainfo(
    rate: str, printed: tuple[str, ...], width: int, data_bits_per_s: float | None
) -> None:
    lines = device("hfi1_0", node__type="1: CA", ports_1_rate=rate, ports_1_link__layer="InfiniBand")
    ((hca,), _) = read(*lines, *printed)
    assert (hca.ports[0].width, hca.ports[0].data_bits_per_s) == (width, data_bits_per_s)


def test_what_a_port_does_not_tell_is_explained() -> None:
    port, absent = one_port("mlx5_0", "160 Gb/sec (4X)", ports_1_lid="many", ports_1_state="")
    assert (port.data_bits_per_s, port.lid, port.state, port.mtu_bytes) == (None, None, None, None)
    here = f"{IB}/mlx5_0/ports/1"
    assert absent["hcas.mlx5_0.ports.1.data_bits_per_s"] == (
        f"{here}/rate contains '160 Gb/sec (4X)', a speed that is not known"
    )
    assert absent["hcas.mlx5_0.ports.1.lid"] == f"{here}/lid contains 'many'"
    assert absent["hcas.mlx5_0.ports.1.state"] == f"{here}/state contains ''"
    assert absent["hcas.mlx5_0.ports.1.mtu_bytes"] == "ibv_devinfo: not in the facts"
    assert absent["hcas.mlx5_0.ports.1.counters"] == f"{here}/counters: none can be read"
    assert absent["hcas.mlx5_0.pci_address"] == f"{IB}/mlx5_0/device: not in the facts"


def test_counters_without_a_performance_agent() -> None:
    hcas, absent = read(
        *device("i40iw0", "1 2"),
        f"@column {IB}/i40iw0/ports/* counters/symbol_error|N/A (no PMA)\t7",
        f"@column {IB}/i40iw0/ports/* counters/link_downed|?\t99999999999999999999",
    )
    assert [port.counters for port in hcas[0].ports] == [{}, {"symbol_error": 7}]
    here = f"{IB}/i40iw0/ports"
    assert absent["hcas.i40iw0.ports.1.counters"] == f"{here}/1/counters/symbol_error contains 'N/A (no PMA)'"
    assert absent["hcas.i40iw0.ports.2.counters"] == f"{here}/2/counters/link_downed contains '99999999999999999999'"


@pytest.mark.parametrize("file", ["dev_port", "dev_id"])
def test_which_of_two_ports_an_interface_is_on(file: str) -> None:
    hcas, _ = read(
        *device("mlx4_0", "1 2"),
        f"@list {IB}/mlx4_0/device/net/*|ib1 ib0 odd",
        f"@value {IB}/mlx4_0/device/net/ib0/dev_port|0",
        f"@value {IB}/mlx4_0/device/net/ib1/dev_port|0",
        f"@value {IB}/mlx4_0/device/net/ib1/{file}|0x1" if file == "dev_id" else
        f"@value {IB}/mlx4_0/device/net/ib1/{file}|1",
    )  # fmt: skip
    assert [port.interfaces for port in hcas[0].ports] == [("ib0",), ("ib1",)]


def test_roce_takes_the_speed_of_the_interface_it_is_bound_to() -> None:
    rate = "2.5 Gb/sec (1X SDR)"
    lines = device("rxe0", node__type="1: CA", ports_1_link__layer="Ethernet", ports_1_rate=rate,
                   ports_1_gid__attrs_ndevs_0="eth0")  # fmt: skip
    hcas, absent = read(*lines, "@value /sys/class/net/eth0/speed|1000")
    assert (hcas[0].ports[0].interfaces, hcas[0].ports[0].data_bits_per_s) == (("eth0",), 1e9)
    assert "hcas.rxe0.ports.1.data_bits_per_s" not in absent
    hcas, absent = read(*lines, "@value /sys/class/net/eth0/speed|-1")
    assert hcas[0].ports[0].data_bits_per_s is None
    assert absent["hcas.rxe0.ports.1.data_bits_per_s"].endswith(
        f"rate contains {rate!r}, which is not an Ethernet speed"
    )


def test_a_bond_does_not_lend_a_port_the_sum_of_its_members() -> None:
    lines = device("mlx5_bond_0", ports_1_link__layer="Ethernet", ports_1_rate="100 Gb/sec (4X EDR)",
                   ports_1_gid__attrs_ndevs_0="bond0")  # fmt: skip
    bond = ["@value /sys/class/net/bond0/speed|200000", "@list /sys/class/net/bond0/lower_*|eth0 eth1"]
    hcas, _ = read(*lines, *bond)
    assert (hcas[0].ports[0].interfaces, hcas[0].ports[0].data_bits_per_s) == (("bond0",), 100e9)


@pytest.mark.parametrize(
    ("text", "state"),
    [("4: ACTIVE", PortState.ACTIVE), ("1: DOWN", PortState.DOWN), ("2: INIT", PortState.INIT),
     ("3: ARMED", PortState.ARMED), ("5: ACTIVE_DEFER", PortState.ACTIVE_DEFER),
     ("6: DREAMING", Unknown(word="6: DREAMING")), ("ACTIVE", Unknown(word="ACTIVE")), (None, None)],
)  # fmt: skip
def test_states(text: str | None, state: PortState | Unknown | None) -> None:
    assert port_state(text) == state


def test_a_port_in_an_unknown_state_is_not_active_and_one_that_tells_none_may_be() -> None:
    assert not one_port("mlx5_0", "", ports_1_state="6: DREAMING")[0].active
    assert one_port("mlx5_0", "")[0].active


def test_mtus_of_two_devices_with_two_ports() -> None:
    lines = [
        "hca_id:\tmlx4_0", "\t\tport:\t1", "\t\t\tactive_mtu:\t\t2048 (4)", "\t\tport:\t2",
        "\t\t\tactive_mtu:\t\t4096 (5)", "hca_id:\tmlx5_0", "\t\t\tactive_mtu:\t\t256 (1)", "\t\tport:\t1",
        "\t\t\tactive_mtu:\t\tinvalid MTU (0)",
    ]  # fmt: skip
    assert active_mtus(tuple(lines)) == {("mlx4_0", 1): 2048, ("mlx4_0", 2): 4096}


def test_no_devices_and_a_stream_that_breaks_off() -> None:
    assert read(f"@list {IB}/*|") == ((), {})
    assert read_hcas(parse_frame("#seatrial-facts 1 n1\n"))[1] == {"hcas": f"{IB}/*: the facts end before it"}
