"""Slow cables of a fabric, from sparse tables whose routes are known."""

import random

import numpy as np

from seatrial.fabric.ibnetdiscover import parse_fabric
from seatrial.fabric.parts import FabricParts
from seatrial.fabric.routed_fabric import RoutedFabric, Routing
from seatrial.fabric.routes import Routes
from seatrial.locate.table import locate_in_table
from seatrial.pairs.rounds import sparse_rounds
from tests.support.fabrics import fabric_text
from tests.support.pair_tables import pair_table


def test_slow_cables_of_an_ndr_fabric_are_found_in_six_rounds() -> None:
    """1 to 5 directions of cables between switches, 5 to 50 % slow; the noise is 0.1 %, as of the real matrices."""
    routes = Routes(parse_fabric(fabric_text("16 leaves x 16 hosts, 8 spines, 2 cables, 4xNDR, engines")))
    parts = FabricParts(routes)
    wiring = RoutedFabric(Routing(fabric=routes.fabric, adapter_of={key: key for key in routes.adapters}))
    assert (len(routes.adapters), len(parts.trunks)) == (256, 512)
    hit = planted = false = elements = named = 0
    for seed in range(12):
        draw = random.Random(f"faults {seed}")
        loss = draw.uniform(0.05, 0.5)
        faults = draw.sample(parts.trunks, draw.randint(1, 5))
        pairs = [pair for one in sparse_rounds(routes.adapters, 6, seed) for a, b in one for pair in ((a, b), (b, a))]
        rate = np.array([1 - loss if not set(faults).isdisjoint(path) else 1.0 for path in routes.paths(pairs)])
        noise = 1 + 0.001 * np.random.default_rng(seed).standard_normal(len(pairs))
        table = pair_table(routes.adapters, dict(zip(pairs, (50e9 * rate * noise).tolist(), strict=True)))
        found = locate_in_table(table, wiring=wiring.measured(pairs))
        sets = [{one.subject.name} for one in found.faults] + [
            {one.name for one in each.subjects} for each in found.ambiguous
        ]
        names = [wiring.name_of(parts.of_hop(hop)) for hop in faults]
        planted += len(names)
        hit += sum(any(name in one for one in sets) for name in names)
        false += sum(one.isdisjoint(names) for one in sets)
        named += len(sets)
        elements += sum(map(len, sets))
    assert hit / planted >= 0.95
    assert 1 - false / named >= 0.95
    assert elements / named <= 2
