"""Which variants are chosen for which MPI and nodes."""

import msgspec
import pytest

from seatrial.commands.link.transports.ablation import VERBOSE, own_settings, variants
from seatrial.commands.link.transports.components import (
    MpiFamily,
    Stock,
    expected,
    family_of,
    leave_out,
    missing_drivers,
    offers,
    stock_of,
)
from seatrial.model.facts import NodeFacts
from seatrial.model.hca import Hca, PortFamily
from seatrial.model.subject import node
from seatrial.model.system import Library, SoftwareFacts
from seatrial.model.transport import Carrier, Declared, Role
from tests.support.facts_examples import device, port
from tests.support.transport_series import STOCK


def names(stock: Stock, *presumed: Carrier) -> list[str]:
    return [one.name for one in variants(stock, presumed)]


def with_ports(name: str, family: PortFamily, driver: str = "mlx5_core") -> NodeFacts:
    ports = (msgspec.structs.replace(port(), family=family),)
    return NodeFacts(hostname=name, complete=True, hcas=(Hca(name="mlx5_0", driver=driver, ports=ports),))


def test_between_nodes_open_mpi_gets_every_carrier_that_is_compiled_in() -> None:
    assert names(STOCK, Carrier.OFI) == [
        "default", "reference", "control", "without OFI",
        "hobbled OFI", "hobbled UCX", "hobbled TCP",
        "forced OFI", "forced UCX", "forced TCP", "forced PSM2", "forced InfiniBand verbs",
    ]  # fmt: skip


def test_within_a_node_shared_memory_is_one_of_them() -> None:
    chosen = names(msgspec.structs.replace(STOCK, within=True), Carrier.SHARED_MEMORY)
    assert {"without shared memory", "hobbled shared memory", "forced shared memory"} <= set(chosen)


def test_what_is_not_compiled_in_is_not_tried() -> None:
    poor = msgspec.structs.replace(STOCK, compiled={"pml": ("ob1",), "mtl": (), "btl": ("self", "tcp")})
    assert names(poor) == ["default", "reference", "control", "hobbled TCP", "forced TCP"]


@pytest.mark.parametrize("family", [one for one in MpiFamily if one is not MpiFamily.UNKNOWN])
@pytest.mark.parametrize("within", [False, True])
def test_every_family_has_one_default_and_one_control(family: MpiFamily, within: bool) -> None:
    chosen = variants(Stock(family=family, within=within), (Carrier.TCP,))
    roles = [one.role for one in chosen]
    assert roles[0] is Role.DEFAULT
    assert roles.count(Role.DEFAULT) == roles.count(Role.CONTROL) == 1
    assert len({one.name for one in chosen}) == len(chosen)
    assert all(one.environment for one in chosen if one.role not in (Role.DEFAULT, Role.REFERENCE))
    assert all(one.carrier for one in chosen if one.role in (Role.WITHOUT, Role.HOBBLED, Role.FORCED))


def test_an_unknown_mpi_has_none() -> None:
    assert variants(Stock(family=MpiFamily.UNKNOWN), ()) == ()


def test_words_of_ucx_stay_off_the_standard_output() -> None:
    assert VERBOSE["UCX_LOG_FILE"] == "stderr"


@pytest.mark.parametrize(
    ("said", "family"),
    [
        ("Open MPI v4.1.4, package: Debian OpenMPI", MpiFamily.OPEN_MPI),
        ("MPICH Version:\t4.0.2\nMPICH Device:\tch4:ofi", MpiFamily.MPICH_OFI),
        ("MPICH Version:\t4.0.2\nMPICH Device:\tch4:ucx", MpiFamily.MPICH_UCX),
        ("Intel(R) MPI Library 2021.10 for Linux* OS", MpiFamily.INTEL_MPI),
        ("MPICH Version:      4.1\nMPICH Device:       ch4:ucx\nconfigure: --with-device=ch4:ofi", MpiFamily.MPICH_UCX),
        ("MPICH Version:\t3.3.2\nMPICH Device:\tch3:nemesis", MpiFamily.MPICH_CH3),
        ("MPI VERSION    : CRAY MPICH version 8.1.25.17 (ANL base 3.4a2)", MpiFamily.MPICH_OFI),
        ("MVAPICH Version:\t3.0\nMVAPICH Device:\tch4:ofi", MpiFamily.MPICH_OFI),
        ("MVAPICH2 Version:\t2.3.7\nMVAPICH2 Device:\tch3:mrail", MpiFamily.UNKNOWN),
        ("something else", MpiFamily.UNKNOWN),
    ],
)
def test_the_family_is_told_by_the_library(said: str, family: MpiFamily) -> None:
    assert family_of(said, ()) is family


def test_settings_that_kept_an_mpi_from_looking_hide_no_component() -> None:
    library = Library(name="Open MPI", version="4.1.4", components={"pml": ("ob1", "ucx"), "mtl": ("ofi",)})
    facts = NodeFacts(hostname="n1", complete=True, software=SoftwareFacts(libraries=(library,)))
    declared = Declared(compiled={"pml": ("ob1",), "btl": ("self", "tcp")})
    stock = stock_of("Open MPI v4.1.4", {"n1": facts}, declared, within=False)
    assert stock.compiled == {"btl": ("self", "tcp"), "mtl": ("ofi",), "pml": ("ob1", "ucx")}
    other = stock_of("Open MPI v5.0.1", {"n1": facts}, declared, within=False)
    assert other.has("pml", "ucx")
    assert not other.has("btl", "openib")


def test_components_are_those_of_the_version_that_runs() -> None:
    library = Library(name="Open MPI", version="4.1.1", components={"pml": ("ob1",)})
    facts = NodeFacts(hostname="n1", complete=True, software=SoftwareFacts(libraries=(library,)))
    for said, known in (
        ("Open MPI v4.1.1, package: x", True),
        ("Open MPI v4.1.10", False),
        ("Open MPI v14.1.1", False),
    ):
        assert ("pml" in stock_of(said, {"n1": facts}, None, within=False).compiled) is known


def test_iwarp_is_driven_by_libfabric_or_by_open_mpi_itself_and_not_by_ucx() -> None:
    facts = {"n1": with_ports("n1", PortFamily.IWARP, "iw_cxgb4")}
    assert expected(facts["n1"], within=False) == (Carrier.OFI, Carrier.VERBS)
    assert missing_drivers(facts, STOCK) == []
    bare = msgspec.structs.replace(STOCK, compiled={"pml": ("ob1", "ucx"), "mtl": (), "btl": ("self", "tcp")})
    assert [finding.subject for finding in missing_drivers(facts, bare)] == [node("n1")]


def test_what_is_expected_follows_the_devices_of_each_node() -> None:
    assert expected(with_ports("n1", PortFamily.INFINIBAND), within=False)[0] is Carrier.UCX
    assert expected(with_ports("n1", PortFamily.OMNI_PATH), within=False)[0] is Carrier.PSM2
    assert expected(NodeFacts(hostname="n1", complete=True), within=False)[0] is Carrier.TCP
    assert expected(with_ports("n1", PortFamily.INFINIBAND), within=True) == (Carrier.SHARED_MEMORY,)


def test_slingshot_is_driven_by_libfabric() -> None:
    facts = NodeFacts(hostname="n1", complete=True, pci=(device("0000:21:00.0", vendor=0x17DB, device=0x0501),))
    assert expected(facts, within=False) == (Carrier.OFI,)


def test_a_mixed_pair_has_two_answers() -> None:
    facts = {"n1": with_ports("n1", PortFamily.INFINIBAND), "n2": with_ports("n2", PortFamily.EFA, "efa")}
    assert [one.expected[0] for one in offers(facts, within=False)] == [Carrier.UCX, Carrier.OFI]


def test_ucx_that_was_not_compiled_in_on_a_mellanox_node_is_named() -> None:
    facts = {"n1": with_ports("n1", PortFamily.INFINIBAND), "n2": NodeFacts(hostname="n2", complete=True)}
    without = msgspec.structs.replace(STOCK, compiled={**STOCK.compiled, "pml": ("cm", "ob1")})
    (finding,) = missing_drivers(facts, without)
    assert finding.subject == node("n1")
    assert "UCX was not compiled into this Open MPI on a Mellanox node" in finding.statement
    assert missing_drivers(facts, STOCK) == []
    assert missing_drivers(facts, Stock(family=MpiFamily.OPEN_MPI)) == []


@pytest.mark.parametrize(
    ("own", "value"),
    [
        ("", "^tcp"),
        ("all", "^tcp"),
        ("^openib", "^openib,tcp"),
        ("^openib,tcp", None),
        ("vader,tcp,self", "vader,self"),
        ("tcp,self", "^tcp"),
        ("tcp", "^tcp"),
        ("vader,self", None),
        (" , ", "^tcp"),
    ],
)
def test_leaving_out_gives_nothing_back_that_the_site_withheld(own: str, value: str | None) -> None:
    assert leave_out(("tcp",), own) == value


def test_what_the_site_leaves_out_is_not_taken_away_again() -> None:
    stock = Stock(family=MpiFamily.MPICH_UCX, own={"UCX_TLS": "rc_x,sysv,self"})
    away = {one.carrier: one.environment["UCX_TLS"] for one in variants(stock, ()) if one.role is Role.WITHOUT}
    assert away == {Carrier.SHARED_MEMORY: "rc_x,self", Carrier.VERBS: "sysv,self"}
    stock = Stock(family=MpiFamily.MPICH_OFI, own={"FI_PROVIDER": "tcp;ofi_rxm"})
    providers = [one.environment.get("FI_PROVIDER") for one in variants(stock, ()) if one.role is Role.WITHOUT]
    assert providers == [None, "^tcp"]


def test_the_control_gives_nothing_back_either() -> None:
    for own, value in {"": "^psm", "^ofi": "^ofi,psm", "ofi": "ofi"}.items():
        stock = msgspec.structs.replace(STOCK, own={"OMPI_MCA_mtl": own})
        (control,) = (one for one in variants(stock, ()) if one.role is Role.CONTROL)
        assert control.environment == {"OMPI_MCA_mtl": value}


def test_what_a_node_tells_outdoes_our_own_environment_which_its_jobs_inherit() -> None:
    told = {"mtl": "^ofi", "btl": "tcp,self", "btl_tcp_sndbuf": "1"}
    assert own_settings({"OMPI_MCA_mtl": "ofi", "OMPI_MCA_pml": "cm", "UCX_TLS": "", "HOME": "x"}, told) == {
        "OMPI_MCA_pml": "cm",
        "OMPI_MCA_mtl": "^ofi",
        "OMPI_MCA_btl": "tcp,self",
    }
