"""Which facts differ: the odd node is named, what must differ is not, and the most telling difference stands first."""

from collections.abc import Mapping
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.drift import expected_differences, severity
from seatrial.drift.changes import changes
from seatrial.drift.comparison import LOGIN_AND_COMPUTE, FactDifference, against, drift
from seatrial.drift.expected_differences import EVERYONE
from seatrial.drift.peer_groups import groups
from seatrial.model.facts import MemoryFacts, NetworkInterface, NodeFacts, PciDevice, PciHop, PciKind, ProcessorFacts
from seatrial.model.hca import Hca, Port, PortFamily, PortState
from seatrial.model.system import ClockState, Firmware, KernelFacts, Mount, Sensor, SoftwareFacts, SystemFacts
from seatrial.recordings.sysinfo import facts_from_sysinfo
from tests.support.fact_places import EXAMPLE, PLACES, SCALARS, Place, flatten, values
from tests.support.machine_forms import sysinfo
from tests.support.machines import machine
from tests.support.properties import examples


def node(name: str, **changed: Any) -> NodeFacts:
    """A healthy node, with its own name, addresses and counters."""
    number = len(name) * 1000 + sum(map(ord, name))
    port = Port(
        number=1,
        family=PortFamily.INFINIBAND,
        state=PortState.ACTIVE,
        rate_text="100 Gb/sec (4X EDR)",
        width=4,
        lid=number,
        counters={"symbol_error": number},
    )
    facts = NodeFacts(
        hostname=name,
        complete=True,
        boot_id=f"boot-{name}",
        kernel="5.14.0-70",
        cpu_model="Xeon",
        processors=64,
        memory_bytes=512 * 2**30 + number * 4096,
        interfaces=(NetworkInterface(name="ib0", mtu_bytes=4092, errors={"rx_errors": number}),),
        hcas=(Hca(name="mlx5_0", firmware="20.35", ports=(port,)),),
        pci=(PciDevice(address="0000:41:00.0", kind=PciKind.NETWORK, path=(PciHop(address="0000:41:00.0"),)),),
        processor=ProcessorFacts(governors={"performance": 64}, present_hz=(2e9 + number,), throttle_events=number),
        memory=MemoryFacts(corrected_errors=number),
        settings=KernelFacts(sysctls={"vm.swappiness": "10"}, modules={"mlx5_core": "5.8"}),
        system=SystemFacts(
            firmware=Firmware(vendor="Made Up", product="MU-1"),
            clock=ClockState(synchronised=True, offset_s=number * 1e-9),
            mounts=(Mount(path="/scratch", source="mds:/scratch", kind="lustre"),),
            sensors=(Sensor(name="inlet", unit="degC", value=20 + number % 7),),
            booted_s=1_700_000_000 + number,
        ),
        tcp_segments_sent=number,
        software=SoftwareFacts(slurm_client="23.02"),
    )
    return msgspec.structs.replace(facts, **changed)


def cluster(count: int, **odd: NodeFacts) -> dict[str, NodeFacts]:
    return {name: odd.get(name) or node(name) for name in (f"n{number}" for number in range(1, count + 1))}


def slow_port(facts: NodeFacts) -> tuple[Hca, ...]:
    port = msgspec.structs.replace(facts.hcas[0].ports[0], rate_text="50 Gb/sec (2X EDR)", width=2)
    return (msgspec.structs.replace(facts.hcas[0], ports=(port,)),)


def told(differences: tuple[FactDifference, ...]) -> dict[str, FactDifference]:
    return {fact: each for each in differences for fact in (each.fact, *each.along_with)}


def test_nodes_that_are_alike_do_not_drift_whatever_must_differ() -> None:
    facts = cluster(16)
    assert len({flat["memory_bytes"] for flat in map(flatten, facts.values())}) > 1
    assert drift(facts) == ()


def test_a_cluster_of_equals_does_not_drift() -> None:
    names = tuple(f"n{number}" for number in range(16))
    alike = machine("2 sockets x 16 cores x 2 threads, HCA mlx5_0 4xEDR gen3 x16 on socket 0")
    facts = facts_from_sysinfo(sysinfo(alike, names))
    assert len(facts) == 16
    assert drift(facts) == ()
    odd = sorted(facts)[5]
    assert [each.odd for each in drift(facts | {odd: msgspec.structs.replace(facts[odd], kernel="odd")})] == [(odd,)]


def test_the_odd_node_is_named_with_its_value_first() -> None:
    (difference,) = drift(cluster(16, n7=node("n7", kernel="5.14.0-162")))
    assert difference.fact == "kernel"
    assert difference.group == "Made Up MU-1, Xeon"
    assert difference.usual == "5.14.0-70"
    assert difference.values[0] == ("5.14.0-162", ("n7",))
    assert difference.odd == ("n7",)
    assert difference.compared == 16


def test_what_costs_speed_stands_before_what_does_not_and_few_before_many() -> None:
    swappy = KernelFacts(sysctls={"vm.swappiness": "60"}, modules={"mlx5_core": "5.8"})
    facts = cluster(
        16,
        n1=node("n1", software=SoftwareFacts(slurm_client="22.05")),
        n2=node("n2", hcas=slow_port(node("n2"))),
        n3=node("n3", kernel="5.14.0-162"),
        n4=node("n4", kernel="5.14.0-162", settings=swappy),
        n5=node("n5", processor=ProcessorFacts(governors={"powersave": 64})),
    )
    found = drift(facts)
    assert [each.fact for each in found] == [
        "hcas.mlx5_0.ports.1.rate_text",
        "processor.governors",
        "kernel",
        "settings.sysctls.vm.swappiness",
        "software.slurm_client",
    ]
    assert found[0].along_with == ("hcas.mlx5_0.ports.1.width",)
    many = {name: node(name, numa_nodes=2, sockets=1 if number < 6 else 2) for number, name in enumerate(facts)}
    many["n9"] = node("n9", numa_nodes=4, sockets=2)
    assert [(each.fact, len(each.odd)) for each in drift(many)] == [("numa_nodes", 1), ("sockets", 6)]


def test_a_missing_device_is_one_difference() -> None:
    bare = node("n7", hcas=(), interfaces=(), pci=())
    (difference,) = drift(cluster(16, n7=bare))
    assert difference.fact == "hcas.mlx5_0"
    assert difference.usual is True
    assert difference.values[0] == (None, ("n7",))
    assert {"hcas.mlx5_0.ports.1.rate_text", "interfaces.ib0", "pci.0000:41:00.0"} <= set(difference.along_with)


def test_a_mixed_cluster_is_compared_group_by_group() -> None:
    fat = {
        name: node(
            name,
            cpu_model="EPYC",
            processors=256,
            system=SystemFacts(mounts=node(name).system.mounts),
            settings=KernelFacts(sysctls={"vm.swappiness": "1"}),
        )
        for name in ("f1", "f2", "f3")
    }
    facts = cluster(5) | fat
    assert [(group.name, len(group.nodes)) for group in groups(facts)] == [("Made Up MU-1, Xeon", 5), ("EPYC", 3)]
    assert drift(facts) == ()
    fat["f2"] = msgspec.structs.replace(fat["f2"], processors=255)
    (difference,) = drift(cluster(5) | fat)
    assert (difference.fact, difference.group, difference.odd) == ("processors", "EPYC", ("f2",))


def test_versions_that_differ_between_groups_are_told_once() -> None:
    other = {name: node(name, cpu_model="EPYC", software=SoftwareFacts(slurm_client="22.05")) for name in ("f1", "f2")}
    (difference,) = drift(cluster(5) | other)
    assert (difference.fact, difference.group, difference.odd) == ("software.slurm_client", EVERYONE, ("f1", "f2"))


def test_a_node_that_did_not_tell_its_make_is_compared_with_the_only_group_there_is() -> None:
    facts = cluster(4, n2=node("n2", system=SystemFacts(), kernel="odd"))
    assert [group.nodes for group in groups(facts)] == [("n1", "n2", "n3", "n4")]
    assert told(drift(facts))["kernel"].odd == ("n2",)
    two_makes = facts | {name: node(name, system=SystemFacts(firmware=Firmware(vendor="B"))) for name in ("f1", "f2")}
    assert ("n2",) in [group.nodes for group in groups(two_makes)]


def test_a_stream_that_broke_off_is_one_difference() -> None:
    (difference,) = drift(cluster(4, n2=NodeFacts(hostname="n2", complete=False, kernel="5.14.0-70")))
    assert (difference.fact, difference.odd) == ("complete", ("n2",))


def test_two_nodes_that_differ_leave_open_who_is_right() -> None:
    (difference,) = drift({"n1": node("n1"), "n2": node("n2", kernel="odd")})
    assert difference.usual is None
    assert difference.odd == ("n1", "n2")


def test_memory_may_differ_by_little_and_not_by_a_module() -> None:
    whole = 512 * 2**30
    assert drift(cluster(8, n3=node("n3", memory_bytes=whole - 2**30))) == ()
    (difference,) = drift(cluster(8, n3=node("n3", memory_bytes=whole - 16 * 2**30)))
    assert (difference.fact, difference.odd) == ("memory_bytes", ("n3",))


def test_changes_of_many_nodes_are_one() -> None:
    before = cluster(64)
    after = {name: node(name, kernel="5.14.0-162" if name != "n9" else "5.14.0-70") for name in before}
    (change,) = changes(before, after)
    assert (change.fact, change.before, change.after) == ("kernel", "5.14.0-70", "5.14.0-162")
    assert (len(change.nodes), change.of) == (63, 64)
    assert "n9" not in change.nodes


def test_a_new_boot_is_told_and_counters_are_not() -> None:
    before = cluster(3)
    after = {
        name: msgspec.structs.replace(each, boot_id=f"new-{name}", tcp_segments_sent=1) for name, each in before.items()
    }
    (change,) = changes(before, after)
    assert (change.fact, change.nodes) == ("boot_id", ("n1", "n2", "n3"))
    (change,) = changes(before, {name: before[name] for name in ("n1", "n2")})
    assert (change.fact, change.after, change.nodes) == ("node", None, ("n3",))
    assert changes(before, before) == ()


def test_a_device_that_went_is_one_change() -> None:
    before = cluster(4)
    after = before | {"n2": msgspec.structs.replace(before["n2"], hcas=(), interfaces=())}
    (change,) = changes(before, after)
    assert (change.fact, change.before, change.after, change.nodes) == ("hcas.mlx5_0", True, None, ("n2",))
    assert "interfaces.ib0" in change.along_with


def test_what_one_of_the_readings_could_not_read_is_not_a_change() -> None:
    whole = cluster(3)

    def without(reasons: dict[str, str], **left: object) -> dict[str, NodeFacts]:
        return {name: msgspec.structs.replace(each, absent=reasons, **left) for name, each in whole.items()}

    no_mounts = without({"system.mounts": "not asked"}, system=SystemFacts())
    assert "system.mounts./scratch" in {each.fact for each in changes(whole, without({}, system=SystemFacts()))}
    for pair in ((whole, no_mounts), (no_mounts, whole)):
        assert not [each.fact for each in changes(*pair) if each.fact.startswith("system.mounts")]
    for reasons, found in (({"hcas.mlx5_0.ports.rate_text": "rate: empty"}, []), ({}, ["n1"])):
        port = msgspec.structs.replace(whole["n1"].hcas[0].ports[0], rate_text="")
        hca = msgspec.structs.replace(whole["n1"].hcas[0], ports=(port,))
        one = whole | {"n1": msgspec.structs.replace(whole["n1"], absent=reasons, hcas=(hca,))}
        for pair in ((whole, one), (one, whole)):
            assert [name for each in changes(*pair) for name in each.nodes] == found


def test_a_device_that_went_is_a_change_although_others_could_not_be_read() -> None:
    before = {
        name: msgspec.structs.replace(each, absent={"interfaces": "eth7: in /sys/class/net, but not in this namespace"})
        for name, each in cluster(2).items()
    }
    more = NetworkInterface(name="eth9", mtu_bytes=1500)
    after = {name: msgspec.structs.replace(each, interfaces=(*each.interfaces, more)) for name, each in before.items()}
    (change,) = changes(after, before)
    assert (change.fact, change.before, change.after) == ("interfaces.eth9", True, None)


def test_the_login_node_is_compared_in_what_programs_see() -> None:
    nodes = cluster(4)
    login = node("login", cpu_model="EPYC", processors=16, hcas=(), settings=KernelFacts())
    assert against(login, nodes) == ()
    login = msgspec.structs.replace(login, mpi_versions=("Open MPI 4.1.4",), system=SystemFacts())
    found = told(against(login, nodes))
    assert found["mpi_versions"].values[0] == ("Open MPI 4.1.4", ("login",))
    assert found["system.mounts./scratch"].group == LOGIN_AND_COMPUTE
    nodes["n1"] = node("n1", software=SoftwareFacts(slurm_client="22.05"))
    assert "software.slurm_client" not in told(against(login, nodes))


def test_a_login_node_named_like_a_compute_node_is_still_another() -> None:
    (difference,) = against(node("n1", kernel="odd"), cluster(3))
    assert difference.values[0] == ("odd", ("n1 (login)",))


def test_every_fact_has_a_weight() -> None:
    facts = flatten(EXAMPLE)
    assert len(facts) > 200
    assert [fact for fact in facts if not severity.REST <= severity.weight(fact) <= 100] == []


def test_every_excuse_tolerance_and_weight_says_why() -> None:
    for each in (*expected_differences.EXCUSES, *expected_differences.TOLERANCES):
        assert each.reason
    assert all(each.why for each in severity.WEIGHTS)


def test_a_device_without_a_name_is_excused_as_others_are() -> None:
    nameless = NetworkInterface(name="", errors={"rx_errors": 1})
    facts = cluster(3, n2=node("n2", interfaces=(*node("n2").interfaces, nameless)))
    assert expected_differences.excused_between_nodes("interfaces..errors.rx_errors")
    assert [each.fact for each in drift(facts)] == ["interfaces."]


def plants() -> st.SearchStrategy[tuple[Place, Any]]:
    scalars = [place for place in PLACES if not isinstance(place.value, msgspec.Struct | tuple | dict)]
    return st.sampled_from(scalars).flatmap(
        lambda place: st.tuples(
            st.just(place), SCALARS[type(place.value)] if type(place.value) in SCALARS else values(place.hint)
        )
    )


@settings(max_examples=examples(300), deadline=None)
@given(plants(), st.integers(3, 6), st.data())
def test_any_planted_difference_is_reported_with_its_node(
    plant: tuple[Place, Any], count: int, data: st.DataObject
) -> None:
    place, value = plant
    odd = f"n{data.draw(st.integers(1, count))}"
    facts: Mapping[str, NodeFacts] = {f"n{number}": EXAMPLE for number in range(1, count + 1)} | {odd: place.put(value)}
    usual, planted = flatten(EXAMPLE), flatten(facts[odd])
    differ = {fact for fact in usual.keys() | planted.keys() if usual.get(fact) != planted.get(fact)}
    expected = {
        fact
        for fact in differ
        if not expected_differences.excused_between_nodes(fact) and not expected_differences.tolerated_share(fact)
    }
    if len(groups(facts)) > 1:  # another make: no longer to be compared
        of_make = {(Firmware, "vendor"), (Firmware, "product"), (NodeFacts, "cpu_model")}
        assert (place.record, place.field) in {*of_make, (NodeFacts, "kind")}
        return
    if not facts[odd].complete:
        expected = {fact for fact in expected if fact in planted}
    found = told(drift(facts))
    assert {fact: found[fact].odd for fact in expected} == dict.fromkeys(expected, (odd,))
    assert found.keys() - expected <= {fact for fact in differ if expected_differences.tolerated_share(fact)}
