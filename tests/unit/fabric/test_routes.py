"""Routes over a map, and cables found by the pairs that cross them."""

from seatrial.fabric.routes import Routes
from seatrial.model.fabric import DeviceKind, End, FabricDevice, FabricLink, FabricMap


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
