"""Made-up maps, the routes over them, and the parts that can be at fault there."""

import itertools
import random
from collections import Counter

import pytest

from seatrial.fabric.ibnetdiscover import parse_fabric
from seatrial.fabric.parts import FabricParts, PartKind, Way, merged
from seatrial.fabric.routed_fabric import pairs_across
from seatrial.fabric.routes import Routes
from seatrial.lab.simulator.faults import draw_faults, parse_fault
from seatrial.lab.simulator.topology import dragonfly, fat_tree, fat_tree3, parse_topology
from seatrial.model.errors import UsageError
from seatrial.model.fabric import DeviceKind, FabricMap
from tests.support.fabrics import fabric_text

SMALL = {
    "fat-tree": fat_tree(60, {"per-leaf": 6}),
    "fat-tree3": fat_tree3(54, {"per-leaf": 3}),
    "dragonfly": dragonfly(72),
}


def switches(fabric: FabricMap) -> int:
    return sum(device.kind is DeviceKind.SWITCH for device in fabric.devices)


def test_the_shapes_have_the_sizes_that_their_definitions_give() -> None:
    two = fat_tree(60, {"per-leaf": 6, "cables": 2, "spines": 3})
    assert (switches(two), len(two.links)) == (10 + 3, 60 + 10 * 3 * 2)
    three = fat_tree3(54, {"per-leaf": 3})
    assert (switches(three), len(three.links)) == (6 * 3 + 6 * 3 + 9, 54 + 6 * 9 + 6 * 9)
    flies = dragonfly(72)
    assert (switches(flies), len(flies.links)) == (9 * 4, 72 + 9 * 6 + 9 * 8 // 2)


@pytest.mark.parametrize(("ratio", "uplinks"), [(1, 16), (2, 8), (4, 4)])
def test_a_leaf_has_as_many_fewer_uplinks_as_it_is_over_subscribed(ratio: int, uplinks: int) -> None:
    fabric = parse_topology(f"fat-tree:256,oversubscription={ratio}")
    leaf = next(device.key for device in fabric.devices if device.name == "leaf1")
    ends = [link for link in fabric.links if leaf in (link.one.device, link.other.device)]
    assert len(ends) == 16 + uplinks
    three = fat_tree3(54, {"per-leaf": 4, "oversubscription": 2})
    leaf = next(device.key for device in three.devices if device.name == "leaf1-1")
    assert sum(leaf in (link.one.device, link.other.device) for link in three.links) in (4 + 2, 3 + 2)


def test_fast_trunks_are_fewer_and_carry_as_much_together() -> None:
    plain, fast = (fat_tree(32, {"per-leaf": 8, "trunk": trunk}) for trunk in (1, 2))
    widths = [Counter(link.width for link in fabric.links) for fabric in (plain, fast)]
    assert widths == [{4: 32 + 4 * 8}, {4: 32, 8: 4 * 4}]


@pytest.mark.parametrize("name", SMALL)
def test_every_port_is_used_once_and_everybody_reaches_everybody(name: str) -> None:
    fabric = SMALL[name]
    ends = Counter(end for link in fabric.links for end in (link.one, link.other))
    assert set(ends.values()) == {1}
    routes = Routes(fabric)
    pairs = [(one, other) for one in routes.adapters for other in routes.adapters if one != other]
    paths = routes.paths(pairs)
    for (source, target), path in zip(pairs, paths, strict=True):
        assert routes.ends(path[0])[0].device == source
        assert routes.ends(path[-1])[1].device == target
        for hop, onward in itertools.pairwise(path):
            assert routes.ends(hop)[1].device == routes.ends(onward)[0].device
    chosen = random.Random(1).sample(range(len(pairs)), 300)
    assert [routes.path(*pairs[row]) for row in chosen] == [paths[row] for row in chosen]


@pytest.mark.parametrize("name", ["fat-tree", "fat-tree3"])
def test_routes_of_a_full_fat_tree_spread_over_all_of_its_cables(name: str) -> None:
    routes = Routes(SMALL[name])
    pairs = [(one, other) for one in routes.adapters for other in routes.adapters if one != other]
    load = Counter(hop for path in routes.paths(pairs) for hop in path)
    trunks = FabricParts(routes).trunks
    assert all(load[hop] for hop in trunks)
    upward = [load[hop] for hop in trunks if routes.ends(hop)[0].device in routes.leaf_of.values()]
    assert max(upward) <= 1.2 * min(upward)


def test_tables_of_the_fabric_decide_for_many_pairs_as_for_one() -> None:
    fabric = SMALL["fat-tree"]
    plain = Routes(fabric)
    leaf, target = plain.leaf_of[plain.adapters[0]], plain.adapters[-1]
    ports = [end.port for link in fabric.links for end in (link.one, link.other) if end.device == leaf]
    for port in ports:
        routes = Routes(fabric, {(leaf, target): port})
        pairs = [(routes.adapters[0], target), (routes.adapters[1], target), (routes.adapters[20], target)]
        assert routes.paths(pairs) == [routes.path(*pair) for pair in pairs]


@pytest.mark.parametrize("name", SMALL)
def test_pairs_across_a_hop_cross_it(name: str) -> None:
    routes = Routes(SMALL[name])
    parts = FabricParts(routes)
    hops = random.Random(3).sample([*parts.trunks, *parts.ports], 60)
    for hop in hops:
        found = pairs_across(routes, hop, 6, seed=hop)
        assert found
        assert len({pair for pair, _ in found}) == len(found) <= 6
        for pair, path in found:
            assert hop in path
            assert routes.path(*pair) == path


def test_pairs_below_one_leaf_are_offered_for_an_adapter() -> None:
    routes = Routes(SMALL["fat-tree"])
    for hop in FabricParts(routes).ports:
        near = [pair for pair, _ in pairs_across(routes, hop, 8, seed=1) if len({routes.leaf_of[x] for x in pair}) == 1]
        assert len(near) >= 4


def test_a_switchs_own_engine_takes_no_part() -> None:
    routes = Routes(parse_fabric(fabric_text("4 leaves x 4 hosts, 2 spines, 2 cables, 4xNDR, engines")))
    engines = [
        2 * number
        for number, link in enumerate(routes.fabric.links)
        if DeviceKind.AGGREGATION in {routes.fabric.by_key[end.device].kind for end in (link.one, link.other)}
    ]
    assert engines
    assert all(pairs_across(routes, hop + way, 4, 1) == [] for hop in engines[:3] for way in (0, 1))
    assert not {*engines} & {*FabricParts(routes).trunks, *FabricParts(routes).ports}


def test_bundles_are_all_cables_of_a_leaf_one_way_and_all_of_a_spine() -> None:
    parts = FabricParts(Routes(fat_tree(60, {"per-leaf": 6, "cables": 2, "spines": 3})))
    sizes = Counter((bundle.kind, bundle.way, len(bundle.hops)) for bundle in parts.bundles)
    assert sizes == {
        (PartKind.UPLINK, Way.OUT, 6): 10,
        (PartKind.UPLINK, Way.IN, 6): 10,
        (PartKind.SPINE, Way.BOTH, 40): 3,
    }


def test_two_directions_of_one_cable_are_one_part() -> None:
    parts = FabricParts(Routes(SMALL["fat-tree"]))
    hop = parts.trunks[0]
    (joined,) = merged([parts.of_hop(hop), parts.of_hop(hop ^ 1)])
    assert (joined.way, joined.hops) == (Way.BOTH, tuple(sorted((hop, hop ^ 1))))
    assert len(list(merged([parts.of_hop(hop), parts.of_hop(parts.trunks[2] ^ 1)]))) == 2


@pytest.mark.parametrize(
    "text", ["ring:9", "fat-tree:x", "fat-tree:1", "fat-tree:99,leaves=3", "fat-tree3:9,per-leaf=0"]
)
def test_other_topologies_are_refused_with_their_text(text: str) -> None:
    with pytest.raises(UsageError, match=text):
        parse_topology(text)


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (("link", "link:2", "link:1", "cable:0.5", "link:0.5:left", "spine:0.5:in", "node:-1"), "--fault"),
        (("node:0.5,until=3", "node:0.5,since=-1", "node:0.5,period=x", "node:0.5,lost"), "setting that is not valid"),
        (("node:1", "node:1,since=3", "node:1.1,late=1e-6"), "not a valid fault"),
    ],
)
def test_other_faults_are_refused_with_their_text(texts: tuple[str, ...], why: str) -> None:
    for text in texts:
        with pytest.raises(UsageError, match=why) as refused:
            parse_fault(text)
        assert text in str(refused.value)


def test_faults_are_drawn_apart_and_the_same_again_for_one_seed() -> None:
    parts = FabricParts(Routes(SMALL["fat-tree"]))
    specs = [parse_fault(text) for text in ["link:0.5"] * 20 + ["node:0.8:in", "uplink:0.5", "spine:0", "pair:0.3"]]
    drawn = draw_faults(parts, specs, random.Random(5))
    assert drawn == draw_faults(parts, specs, random.Random(5))
    assert len({(one.part.kind, one.part.place) for one in drawn}) == len(specs)
    assert drawn[20].part.way is Way.IN
    assert {one.part.way for one in drawn[:20]} == set(Way)
    with pytest.raises(UsageError, match="no spine"):
        draw_faults(FabricParts(Routes(SMALL["dragonfly"])), [parse_fault("spine:0.5")], random.Random(1))
