"""Facts under dotted names: none is lost unsaid."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings

from seatrial.drift.expected_differences import excused_between_nodes, excused_over_time
from seatrial.drift.flat_facts import KEYS, LEFT_OUT, SUMMARIES, UNSTEADY, parameters, parts
from seatrial.model.facts import Core, NodeFacts, PciDevice, PciHop, PciKind, ProcessorFacts, Topology
from seatrial.model.hca import Hca, Port, PortFamily
from seatrial.model.system import KernelFacts, Mount, SystemFacts
from seatrial.model.words import Unknown
from seatrial.node.node import parse_facts
from tests.support.fact_places import EXAMPLE, PLACES, Place, example, flatten, values
from tests.support.paths import DATA
from tests.support.properties import examples

RECORDED = DATA / "facts"
OTHER = {str: "other", bool: False, int: 31, float: 7.25}


def another(place: Place) -> object:
    """A value that differs from the one in place."""
    if isinstance(place.value, msgspec.Struct):
        return type(place.value)() if place.value.__struct_fields__ != ("word",) else Unknown(word="other")
    if isinstance(place.value, tuple | dict):
        return example(place.hint, "other") if not _is_records(place.value) else ()
    return next(other for kind, other in OTHER.items() if isinstance(place.value, kind) and other != place.value)


def _is_records(value: object) -> bool:
    return isinstance(value, tuple) and isinstance(value[0], msgspec.Struct)


def test_every_field_is_compared_or_left_out_with_a_reason() -> None:
    plain = flatten(EXAMPLE)
    for place in PLACES:
        changed = another(place)
        if changed == place.value:
            changed = tuple(type(place.value[0])(31) for _ in place.value)
        is_compared = flatten(place.put(changed)) != plain
        assert is_compared == ((place.record, place.field) not in LEFT_OUT), f"{place.record.__name__}.{place.field}"


def test_the_tables_speak_of_fields_that_exist() -> None:
    known = {(place.record, place.field) for place in PLACES}
    assert set(LEFT_OUT) | set(SUMMARIES) | UNSTEADY <= known
    assert all(LEFT_OUT.values())
    assert {(record, field) for record, key in KEYS.items() for field in key.fields if record is not Unknown} <= known


def test_what_is_never_steady_is_excused() -> None:
    full, steady = flatten(EXAMPLE), {name for part in parts(EXAMPLE, steady=True) for name in part.flat(steady=True)}
    apart = full.keys() - steady
    assert len(apart) >= len(UNSTEADY)
    assert all(excused_between_nodes(fact) and excused_over_time(fact) for fact in apart)


def test_a_device_is_told_by_its_name() -> None:
    port = Port(number=1, family=PortFamily.OMNI_PATH, rate_text="100 Gb/sec (4X EDR)")
    hop = PciHop(address="0000:00:02.1", current_width=8)
    facts = NodeFacts(
        hostname="n1",
        complete=True,
        hcas=(Hca(name="hfi1_0", ports=(port,)),),
        pci=(PciDevice(address="0000:03:00.0", kind=PciKind.NETWORK, path=(hop,)),),
        processor=ProcessorFacts(governors={"powersave": 1, "performance": 63}, maximum_hz=(2e9, 3e9, 3e9)),
    )
    flat = flatten(facts)
    assert flat["hcas.hfi1_0"] is True
    assert flat["hcas.hfi1_0.ports.1.family"] == "Omni-Path"
    assert flat["hcas.hfi1_0.ports.1.rate_text"] == "100 Gb/sec (4X EDR)"
    assert flat["pci.0000:03:00.0.path.0000:00:02.1.current_width"] == 8
    assert flat["processor.governors"] == "performance × 63, powersave × 1"
    assert flat["processor.maximum_hz.least"] == 2e9
    assert flat["processor.maximum_hz.most"] == 3e9
    assert "kernel" not in flat


def test_an_unknown_word_is_told() -> None:
    hca = Hca(name="x0", ports=(Port(number=1, family=Unknown(word="Slingshot")),))
    flat = flatten(NodeFacts(hostname="n1", complete=True, hcas=(hca,)))
    assert flat["hcas.x0.ports.1.family"] == "unknown 'Slingshot'"


def test_cores_are_summed_up() -> None:
    cores = tuple(Core(processors=(each, each + 4), package=each // 2, numa_node=each // 2) for each in range(4))
    flat = flatten(NodeFacts(hostname="n1", complete=True, topology=Topology(cores=cores)))
    assert flat["topology.cores.count"] == 4
    assert flat["topology.cores.processors"] == "0-7"
    assert flat["topology.cores.packages"] == "package 0 × 2, package 1 × 2"
    assert flat["topology.cores.siblings"] == "n,n+4 × 4"


def test_records_of_one_name_are_both_told() -> None:
    twice = (Mount(path="/x", source="a", kind="nfs"), Mount(path="/x", source="b", kind="nfs"))
    flat = flatten(NodeFacts(hostname="n1", complete=True, system=SystemFacts(mounts=twice)))
    assert flat["system.mounts./x.source"] == "a"
    assert flat["system.mounts./x#2.source"] == "b"


def test_what_an_automounter_brings_and_an_idle_gpu_are_left_out() -> None:
    mounts = (
        Mount(path="/home", source="auto.home", kind="autofs"),
        Mount(path="/home/ann", source="nfs:/home/ann", kind="nfs4"),
        Mount(path="/homework", source="nfs:/homework", kind="nfs4", options=("rw", "clientaddr=1", "addr=2", "hard")),
        Mount(path="/shm", source="tmpfs", kind="tmpfs", options=("size=4711k", "nodev")),
    )
    path = (PciHop(address="0000:01:00.0", current_transfers_per_s=2.5e9, current_width=16),)
    gpu = PciDevice(address="0000:01:00.0", kind=PciKind.GPU, path=path)
    flat = flatten(NodeFacts(hostname="n1", complete=True, system=SystemFacts(mounts=mounts), pci=(gpu,)))
    assert "system.mounts./home" in flat
    assert not any(name.startswith("system.mounts./home/ann") for name in flat)
    assert flat["system.mounts./homework.options"] == "hard,rw"
    assert flat["system.mounts./shm.options"] == "nodev"
    assert flat["pci.0000:01:00.0.path.0000:01:00.0.current_width"] == 16
    assert "pci.0000:01:00.0.path.0000:01:00.0.current_transfers_per_s" not in flat


def test_the_kernels_parameters_are_told_one_by_one() -> None:
    assert parameters("ro quiet console=tty0 console=ttyS0,115200 isolcpus=1-3") == {
        "ro": "",
        "quiet": "",
        "console": "tty0 ttyS0,115200",
        "isolcpus": "1-3",
    }
    flat = flatten(NodeFacts(hostname="n1", complete=True, settings=KernelFacts(command_line="ro mitigations=off")))
    assert flat["settings.command_line.ro"] == ""
    assert flat["settings.command_line.mitigations"] == "off"


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.facts")), ids=lambda path: path.stem)
def test_recorded_nodes_are_flat_scalars(path: Path) -> None:
    flat = flatten(parse_facts(path.read_text()))
    assert flat["hostname"]
    assert all(type(value) in (str, int, float, bool) for value in flat.values())


@settings(max_examples=examples(40), deadline=None)
@given(values(NodeFacts))
def test_any_facts_are_flat_scalars(facts: NodeFacts) -> None:
    assert all(type(value) in (str, int, float, bool) for value in flatten(facts).values())
