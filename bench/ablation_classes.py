"""Classes of simulated checks for `make ablation`: fabrics, faults and disturbances of many kinds."""

import random
from collections.abc import Collection, Iterator

import msgspec

from seatrial.lab.simulator.disturbances import SimulatedConditions, Starved
from seatrial.model.errors import UsageError
from seatrial.model.fabric import DeviceKind, FabricMap
from seatrial.pairs.survey import DesignChoice


class TrialClass(msgspec.Struct, frozen=True, kw_only=True):
    """Trials of one kind, which differ in their seeds."""

    name: str
    topology: str
    faults: tuple[str, ...] = ()
    random_faults: int = 0
    routed: bool = False
    lost_members: int = 0
    """Leaves of which one cable to another switch is missing from the map; the check knows leaves only."""
    conditions: SimulatedConditions = SimulatedConditions()
    design: str = DesignChoice.SPARSE
    busy_machine: int = 0
    """Nodes of one machine on whose cores programs come and go (`tests/support/busy_machine.py`), of which n3 has the
    share of the only fault, in place of a topology."""


def classes() -> Iterator[TrialClass]:
    """All classes."""
    for name, topology in (
        ("4", "fat-tree:4,per-leaf=4"),
        ("5", "fat-tree:5,per-leaf=5"),
        ("12", "fat-tree:12"),
        ("31, 4:1", "fat-tree:31,oversubscription=4"),
        ("27, three levels", "fat-tree3:27"),
        ("20, dragonfly", "dragonfly:20"),
    ):
        yield TrialClass(name=f"{name}, healthy", topology=topology)
        yield TrialClass(name=f"{name}, 1 fault", topology=topology, faults=("node:0.85",))
        for routed in (False, True) if "," in name else ():
            known = "routes" if routed else "leaves"
            yield TrialClass(name=f"{name}, {known}, 3 faults", topology=topology, random_faults=3, routed=routed)
    for noise in (0.001, 0.01, 0.03, 0.1):
        rough = SimulatedConditions(noise=noise)
        yield TrialClass(name=f"12, noise {noise:g}, healthy", topology="fat-tree:12", conditions=rough)
        yield TrialClass(name=f"12, noise {noise:g}", topology="fat-tree:12", faults=("node:0.8",), conditions=rough)
    for level in ("0.98", "0.96", "0.92"):
        yield TrialClass(name=f"12, {level} left", topology="fat-tree:12", faults=(f"node:{level}",))
        yield TrialClass(name=f"5, {level} left, in", topology="fat-tree:5,per-leaf=5", faults=(f"node:{level}:in",))
    for nodes, faults, ratio, jobs in ((64, 5, 1, 4), (31, 3, 4, 4), (31, 0, 4, 4)):
        for routed in (False, True):
            yield TrialClass(
                name=f"{nodes}, {ratio}:1, {'routes' if routed else 'leaves'}, {faults} faults, {jobs} jobs",
                topology=f"fat-tree:{nodes},oversubscription={ratio}",
                random_faults=faults,
                routed=routed,
                conditions=SimulatedConditions(jobs=jobs),
            )
    yield TrialClass(name="84, healthy", topology="fat-tree:84")
    yield TrialClass(name="400, 120 nodes", topology="fat-tree:400,per-leaf=20", faults=("node:0.8",) * 120)
    for level in ("0.9", "0.94"):
        rough = SimulatedConditions(noise=0.02)
        small = "fat-tree:4,per-leaf=4"
        yield TrialClass(name=f"4, noise 0.02, {level}", topology=small, faults=(f"node:{level}",), conditions=rough)
    yield from faulty_fabrics()
    yield from fast_trunks()
    yield from many_uplinks()
    yield from complete_designs()
    yield from changing_faults()
    yield from late_parts()


def faulty_fabrics() -> Iterator[TrialClass]:
    """Jobs on the nodes, slow and lossy cables, bundles with a lost member."""
    shared = SimulatedConditions(jobs=2, shared_nodes=True)
    yield TrialClass(name="12, jobs on its nodes", topology="fat-tree:12", faults=("node:0.7",), conditions=shared)
    yield TrialClass(name="12, jobs on its nodes, healthy", topology="fat-tree:12", conditions=shared)
    tree = "fat-tree:48,per-leaf=8,oversubscription=2"
    yield TrialClass(name="48, uplink, 2 nodes", topology=tree, faults=("uplink:0.7", "node:0.8", "node:0.6:in"))
    yield TrialClass(name="48, half of the uplinks", topology=tree, faults=("uplink:0.6",) * 3)
    yield TrialClass(name="48, lost member", topology=tree, lost_members=1)
    jobs_beside = SimulatedConditions(jobs=2)
    yield TrialClass(name="48, lost member, jobs", topology=tree, lost_members=1, conditions=jobs_beside)
    yield TrialClass(name="31, cable", topology="fat-tree:31,oversubscription=2", faults=("link:0.5",), routed=True)
    yield TrialClass(name="12, 2 pairs", topology="fat-tree:12", faults=("pair:0.6", "pair:0.8"))
    yield TrialClass(name="12, 5 slow", topology="fat-tree:12", faults=("node:0.8",) * 5)
    yield TrialClass(name="20, cable lossy", topology="fat-tree:20", faults=("link:0.97,lost=0.02",), routed=True)
    for nodes in (8, 12):
        lossy = ("uplink:0.6,lost=0.03",)
        slow = f"{nodes}, slow uplink lossy"
        yield TrialClass(name=slow, topology=f"fat-tree:{nodes},per-leaf=4", faults=lossy, routed=True)
    for ratio in (1, 2):
        busy = SimulatedConditions(jobs=6)
        narrow = f"fat-tree:24,per-leaf=6,oversubscription={ratio}"
        for health, faults in (("healthy", ()), ("uplink", ("uplink:0.7",))):
            name = f"24, {ratio}:1, routes, {health}, 6 jobs"
            yield TrialClass(name=name, topology=narrow, faults=faults, routed=True, conditions=busy)
    yield TrialClass(name="48, uplink since 0.3 s", topology=tree, faults=("uplink:0.5,since=0.3",))
    yield TrialClass(name="48, uplink comes and goes", topology=tree, faults=("uplink:0.5,period=0.8",))


def fast_trunks() -> Iterator[TrialClass]:
    """Cables between switches that are faster than ports: a single pair is as fast over a slow one."""
    tree = "fat-tree:32,per-leaf=8,trunk=2"
    for routed in (False, True):
        known = f"32, fast trunks, {'routes' if routed else 'leaves'}"
        yield TrialClass(name=f"{known}, healthy", topology=tree, routed=routed)
        yield TrialClass(name=f"{known}, uplink", topology=tree, faults=("uplink:0.6",), routed=routed)
        yield TrialClass(name=f"{known}, cable", topology=tree, faults=("link:0.4",), routed=routed)
    slow_half = ("uplink:0.6",) * 2
    yield TrialClass(name="32, fast trunks, half of the uplinks", topology=tree, faults=slow_half)
    yield TrialClass(name="32, fast trunks, uplink, node", topology=tree, faults=("uplink:0.6", "node:0.7"))
    many = "fat-tree:96,per-leaf=6,trunk=2"
    yield TrialClass(name="96, fast trunks, 2 uplinks", topology=many, faults=("uplink:0.6", "uplink:0.7"))
    jobs = SimulatedConditions(jobs=3)
    yield TrialClass(name="96, fast trunks, uplink, jobs", topology=many, faults=("uplink:0.6",), conditions=jobs)
    yield TrialClass(name="32, fast trunks, uplink since 1 s", topology=tree, faults=("uplink:0.3,since=1",))


def many_uplinks() -> Iterator[TrialClass]:
    """Sixteen leaves, of which many are slow or none: their differences under load look like scatter."""
    tree = "fat-tree:96,per-leaf=6,trunk=2"
    for routed in (False, True):
        known = "routes" if routed else "leaves"
        for slow in (0, 4, 7):
            faults = ("uplink:0.5",) * slow
            yield TrialClass(name=f"16 leaves, {slow} slow, {known}", topology=tree, faults=faults, routed=routed)
        static = "fat-tree:160,per-leaf=10,trunk=2"
        yield TrialClass(name=f"160, static routes, healthy, {known}", topology=static, routed=routed)
        narrow = "fat-tree:96,per-leaf=6,oversubscription=2"
        slow_few = ("uplink:0.5",) * 4
        yield TrialClass(name=f"16 leaves, 2:1, 4 slow, {known}", topology=narrow, faults=slow_few, routed=routed)


def complete_designs() -> Iterator[TrialClass]:
    """All pairs measured, from which averages show what no single pair does."""
    for noise in (0.001, 0.006):
        rough = SimulatedConditions(noise=noise)
        for name, nodes, faults in (
            ("healthy", 16, ()),
            ("0.985 left", 16, ("node:0.985",)),
            ("0.965 left", 16, ("node:0.965",)),
            ("uplink", 16, ("uplink:0.95",)),
            ("half of the nodes", 12, ("node:0.8",) * 6),
            ("half of the uplinks", 16, ("uplink:0.8",) * 2),
            ("4 nodes, 0.965 left, in", 4, ("node:0.965:in",)),
        ):
            yield TrialClass(
                name=f"complete, noise {noise:g}, {name}",
                topology=f"fat-tree:{nodes}",
                faults=faults,
                conditions=rough,
                design=DesignChoice.COMPLETE,
            )
    for noise, share in ((0.015, 0.97), (0.03, 0.95), (0.03, 0.92)):
        rough = SimulatedConditions(noise=noise)
        yield TrialClass(
            name=f"complete, 16, noise {noise:g}, {share:g} left",
            topology="fat-tree:16,per-leaf=16",
            faults=(f"node:{share}",),
            conditions=rough,
            design=DesignChoice.COMPLETE,
        )
    slow_parts = ("uplink:0.7", "node:0.8", "pair:0.6")
    yield TrialClass(name="complete, 3 faults", topology="fat-tree:20", faults=slow_parts, design=DesignChoice.COMPLETE)
    yield TrialClass(
        name="complete, routes, 3 faults", topology="fat-tree:20", random_faults=3, routed=True,
        design=DesignChoice.COMPLETE,
    )  # fmt: skip


def changing_faults() -> Iterator[TrialClass]:
    """Busy machines, packets lost, faults that begin during the run or come and go."""
    for name, faults, starved in (
        ("healthy", (), Starved.NOBODY),
        ("all busy", (), Starved.ALL),
        ("one busy", (), Starved.ONE),
        ("since 0.5 s", ("node:0.7,since=0.5",), Starved.NOBODY),
        ("since 1 s", ("node:0.5,since=1",), Starved.NOBODY),
        ("period 0.5 s", ("node:0.5,period=0.5",), Starved.NOBODY),
        ("period 4 s", ("node:0.5,period=4",), Starved.NOBODY),
        ("period 4 s, all busy", ("node:0.5,period=4",), Starved.ALL),
    ):
        for nodes in (6, 8):
            one_kernel = SimulatedConditions(starved=starved, one_kernel=True, noise=0.003)
            topology = f"fat-tree:{nodes},per-leaf=4"
            yield TrialClass(
                name=f"{nodes}, one kernel, {name}", topology=topology, faults=faults, conditions=one_kernel
            )
    for name, faults in (("healthy", ()), ("1 fault", ("node:0.8",))):
        wavering = SimulatedConditions(drift=0.05)
        yield TrialClass(name=f"12, drift 0.05, {name}", topology="fat-tree:12", faults=faults, conditions=wavering)
    for level in ("0.6", "0.85"):
        always = SimulatedConditions(starved=Starved.ALWAYS, noise=0.003)
        topology = "fat-tree:5,per-leaf=5"
        name = f"5, always busy, noise 0.003, {level} left"
        yield TrialClass(name=name, topology=topology, faults=(f"node:{level}",), conditions=always)
    for noise in (0.0008, 0.003):
        costless = SimulatedConditions(starved=Starved.ALL, idle_waits=0.6, noise=noise)
        name = f"10, all busy, most waits cost nothing, noise {noise:g}"
        yield TrialClass(name=name, topology="fat-tree:10,per-leaf=10", conditions=costless)
    for nodes, topology in ((5, "fat-tree:5,per-leaf=5"), (12, "fat-tree:12")):
        for lost in (0.005, 0.01, 0.03):
            yield TrialClass(name=f"{nodes}, {lost:g} lost", topology=topology, faults=(f"node:0.97,lost={lost}",))
        for starved in (Starved.ONE, Starved.ALL):
            for known in (True, False):
                busy = SimulatedConditions(starved=starved, waits_known=known)
                name = f"{nodes}, {starved.value} busy, waits {'known' if known else 'unknown'}"
                yield TrialClass(name=name, topology=topology, conditions=busy)
        busy = SimulatedConditions(starved=Starved.ALWAYS)
        lossy = ("node:0.97,lost=0.03",)
        yield TrialClass(name=f"{nodes}, always busy, 0.03 lost", topology=topology, faults=lossy, conditions=busy)
        yield TrialClass(name=f"{nodes}, always busy, healthy", topology=topology, conditions=busy)
        yield TrialClass(name=f"{nodes}, always busy", topology=topology, faults=("node:0.6",), conditions=busy)
        busy = SimulatedConditions(starved=Starved.ALL)
        yield TrialClass(name=f"{nodes}, all busy, 1 fault", topology=topology, faults=("node:0.6",), conditions=busy)
        for since in (0.15, 0.4):
            yield TrialClass(name=f"{nodes}, since {since} s", topology=topology, faults=(f"node:0.5,since={since}",))
        for period in (0.2, 0.8):
            swings = f"node:0.5,period={period}"
            yield TrialClass(name=f"{nodes}, period {period:g} s", topology=topology, faults=(swings,))


def late_parts() -> Iterator[TrialClass]:
    """Parts over which small messages take longer: slow processors, cables and leaves, pairs over more switches."""
    for nodes, topology in ((5, "fat-tree:5,per-leaf=5"), (16, "fat-tree:16"), (48, "fat-tree:48,per-leaf=8")):
        for name, faults in (
            ("node, 1 µs", ("node:1:both,late=1e-6",)),
            ("node, 0.4 µs", ("node:1:both,late=4e-7",)),
            ("nodes in and out", ("node:1:in,late=1e-6", "node:1:out,late=2e-6")),
            ("pair, 5 µs", ("pair:1,late=5e-6",)),
            ("pair, 1 µs", ("pair:1,late=1e-6",)),
            ("node since 0.2 s", ("node:1:both,late=1e-6,since=0.2",)),
            ("node comes and goes", ("node:1:both,late=1e-6,period=0.4",)),
        ):
            yield TrialClass(name=f"late, {nodes}, {name}", topology=topology, faults=faults)
        busy = SimulatedConditions(starved=Starved.ALL, one_kernel=nodes == 5)
        late = ("node:1:both,late=3e-6",)
        yield TrialClass(name=f"late, {nodes}, node, all busy", topology=topology, faults=late, conditions=busy)
        if nodes < 48:
            for name, faults in (
                ("node, 0.2 µs", ("node:1:both,late=2e-7",)),
                ("pair, 5 µs", ("pair:1,late=5e-6",)),
                ("uplink, 0.2 µs", ("uplink:1,late=2e-7",)) if nodes > 5 else ("two", ("node:1:both,late=4e-7",) * 2),
            ):
                yield TrialClass(
                    name=f"late, {nodes}, complete, {name}",
                    topology=topology,
                    faults=faults,
                    design=DesignChoice.COMPLETE,
                )
        if nodes > 5:
            yield TrialClass(name=f"late, {nodes}, uplink", topology=topology, faults=("uplink:1,late=1e-6",))
            for routed in (False, True):
                known = "routes" if routed else "leaves"
                cable = ("link:1:both,late=1e-6",)
                yield TrialClass(name=f"late, {nodes}, cable, {known}", topology=topology, faults=cable, routed=routed)


def without_member(fabric: FabricMap, draw: random.Random, but: Collection[str] = ()) -> tuple[FabricMap, str]:
    """The fabric without one cable between a leaf switch and another switch, and the key of that leaf.

    `but`: leaves that keep their cables. A bundle that lost a member carries less, and routes use what is left of it.
    Raises UsageError if no leaf has a cable to lose.
    """
    switches = {device.key for device in fabric.devices if device.kind is DeviceKind.SWITCH}
    ends = [{link.one.device, link.other.device} for link in fabric.links]
    leaves = {key for both in ends if len(both & switches) == 1 for key in both & switches} - set(but)
    trunks = [place for place, both in enumerate(ends) if both <= switches and both & leaves]
    if not trunks:
        raise UsageError("No leaf of this fabric has a cable to lose.", "Give a fabric with more leaves.")
    lost = draw.choice(trunks)
    links = tuple(link for place, link in enumerate(fabric.links) if place != lost)
    return msgspec.structs.replace(fabric, links=links), min(ends[lost] & leaves)
