"""Routes over a map, and cables found by the pairs that cross them."""

import random
from pathlib import Path

import numpy as np
import pytest

from seatrial.fabric.ibnetdiscover import parse_fabric
from seatrial.fabric.routes import Routes
from seatrial.locate.links import locate_hops
from seatrial.model.fabric_map import DeviceKind, End, FabricDevice, FabricLink, FabricMap
from seatrial.pairing.sparse import sparse_rounds

NDR = Path(__file__).resolve().parents[3] / "shared" / "data" / "fabrics" / "ndr-582-cas.ibnetdiscover"


def two_leaves() -> FabricMap:
    """Two leaves with two adapters each, two spines, one cable from each leaf to each spine."""
    switches = ("S-l1", "S-l2", "S-s1", "S-s2")
    devices = [FabricDevice(key=key, kind=DeviceKind.SWITCH, name=key) for key in switches]
    devices += [FabricDevice(key=f"H-{n}", kind=DeviceKind.ADAPTER, name=f"n{n} mlx5_0") for n in (1, 2, 3, 4)]
    cables = [("H-1", 1, "S-l1", 1), ("H-2", 1, "S-l1", 2), ("H-3", 1, "S-l2", 1), ("H-4", 1, "S-l2", 2)]
    cables += [("S-l1", 9, "S-s1", 1), ("S-l1", 10, "S-s2", 1), ("S-l2", 9, "S-s1", 2), ("S-l2", 10, "S-s2", 2)]
    links = [FabricLink(one=End(device=a, port=p), other=End(device=b, port=q)) for a, p, b, q in cables]
    return FabricMap(devices=tuple(devices), links=tuple(links))


def names(routes: Routes, source: str, target: str) -> list[str]:
    return [routes.ends(hop)[1].device for hop in routes.path(source, target)]


def test_the_shortest_way_and_one_spine_for_each_destination() -> None:
    routes = Routes(two_leaves())
    assert names(routes, "H-1", "H-2") == ["S-l1", "H-2"]
    to_third, to_fourth = names(routes, "H-1", "H-3"), names(routes, "H-1", "H-4")
    assert to_third[0] == to_fourth[0] == "S-l1"
    assert {to_third[1], to_fourth[1]} == {"S-s1", "S-s2"}
    assert names(routes, "H-2", "H-3")[1] == to_third[1]
    assert routes.path("H-1", "H-1") == routes.path("H-1", "H-9") == ()


def test_the_fabrics_own_tables_decide() -> None:
    for port, spine in ((9, "S-s1"), (10, "S-s2")):
        routes = Routes(two_leaves(), {("S-l1", "H-3"): port})
        assert names(routes, "H-1", "H-3")[1] == spine


def test_tables_that_lead_in_a_circle_are_no_way() -> None:
    circle = {("S-l1", "H-3"): 9, ("S-s1", "H-3"): 1}
    assert Routes(two_leaves(), circle).path("H-1", "H-3") == ()


def test_an_adapter_without_a_cable_has_no_way() -> None:
    lonely = FabricDevice(key="H-9", kind=DeviceKind.ADAPTER, name="n9")
    fabric = FabricMap(devices=(*two_leaves().devices, lonely), links=two_leaves().links)
    assert Routes(fabric).path("H-1", "H-9") == ()


@pytest.mark.skipif(not NDR.exists(), reason="../shared/data/fabrics is not here")
def test_slow_cables_of_the_ndr_fabric_are_found_in_six_rounds() -> None:
    """1 to 5 directions of cables between switches, 5 to 50 % slow; the noise is 0.1 %, as of the real matrices."""
    fabric = parse_fabric(NDR.read_text())
    routes = Routes(fabric)
    kinds = {device.key: device.kind for device in fabric.devices}
    trunks = [
        hop
        for hop in range(2 * len(fabric.links))
        if all(kinds[end.device] is DeviceKind.SWITCH for end in routes.ends(hop))
    ]
    assert (len(routes.adapters), len(trunks)) == (542, 1064)
    hit = planted = false = elements = named = 0
    for seed in range(40):
        draw = random.Random(seed)
        loss = draw.uniform(0.05, 0.5)
        faults = set(draw.sample(trunks, draw.randint(1, 5)))
        rounds = sparse_rounds(routes.adapters, 6, seed)
        pairs = [pair for one in rounds for a, b in one for pair in ((a, b), (b, a))]
        paths = [routes.path(*pair) for pair in pairs]
        rate = np.array([1 - loss if faults & set(path) else 1.0 for path in paths])
        noise = 1 + 0.001 * np.random.default_rng(seed).standard_normal(len(pairs))
        found = locate_hops(50e9 * rate * noise, paths, 2 * len(fabric.links)).suspects
        planted += len(faults)
        hit += sum(any(fault in suspect.hops for suspect in found) for fault in faults)
        false += sum(not faults & set(suspect.hops) for suspect in found)
        named += len(found)
        elements += sum(len(suspect.hops) for suspect in found)
    assert hit / planted >= 0.95
    assert 1 - false / named >= 0.95
    assert elements / named <= 2


def test_nothing_measured_nothing_said() -> None:
    assert locate_hops(np.array([]), [], 4).suspects == ()
    assert locate_hops(np.array([np.nan, 1.0]), [(1,), ()], 4).suspects == ()
