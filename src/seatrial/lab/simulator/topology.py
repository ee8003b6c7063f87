"""Maps of simulated fabrics: fat trees of two and three levels, dragonflies."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from seatrial.fabric import ibnetdiscover
from seatrial.files import inputs
from seatrial.model.errors import UsageError
from seatrial.model.fabric import DeviceKind, End, FabricDevice, FabricLink, FabricMap

MOST_NODES = 20_000
MOST_PER_LEAF = 32
"""Half of the 64 ports of a switch of today (NDR)."""
WIDTH, SPEED = 4, "NDR"


def read_topology(text: str) -> FabricMap:
    """A shape, or a file with the output of ibnetdiscover. Raises UsageError that shows what is wrong."""
    if text.partition(":")[0] in SHAPES:
        return parse_topology(text)
    try:
        return ibnetdiscover.parse_fabric(inputs.argument_text(Path(text), inputs.MAP_BYTES))
    except inputs.BadInput as error:
        raise UsageError(
            f"--topology {text}: {error.what}",
            f"Give a file of ibnetdiscover, or {', '.join(f'{shape}:NODES' for shape in SHAPES)}.",
        ) from None


def parse_topology(text: str) -> FabricMap:
    """`fat-tree:1000`, `fat-tree3:1000`, `dragonfly:1000`, each with settings: `fat-tree:1000,per-leaf=18,cables=2`.

    Raises UsageError that shows what is wrong.
    """
    kind, _, rest = text.partition(":")
    count, *settings = rest.split(",")
    if kind not in SHAPES:
        raise UsageError(
            f"--topology {text!r} is not a known shape.",
            f"Give a file, or {', '.join(f'{one}:NODES' for one in SHAPES)}.",
        )
    build, names = SHAPES[kind]
    if not count.isdecimal() or not 2 <= int(count) <= MOST_NODES:
        raise UsageError(f"--topology {text!r} has no valid number of nodes.", f"Give 2 to {MOST_NODES}: {kind}:100.")
    chosen: dict[str, int] = {}
    for setting in settings:
        name, _, value = setting.partition("=")
        if name not in names or not value.isdecimal() or not 1 <= int(value) <= MOST_NODES:
            raise UsageError(
                f"--topology {text!r}: {setting!r} is not a valid setting.", f"{kind} takes {', '.join(names)}."
            )
        chosen[name] = int(value)
    return build(int(count), chosen)


def fat_tree(nodes: int, settings: Mapping[str, int] | None = None) -> FabricMap:
    """Two levels: every leaf has `cables` cables to every spine.

    Settings: `per-leaf` (nodes a leaf, at most; default the root of `nodes`, 2 to 32), `oversubscription` (nodes for
    each uplink of a leaf, default 1), `cables` (default 2, or 1 where the number of uplinks is odd), `spines` (default:
    as many as give those uplinks), `trunk` (how many times as fast as a port a cable between switches is, default 1;
    there are as many fewer uplinks).
    """
    given = settings or {}
    per_leaf = given.get("per-leaf", min(max(math.isqrt(nodes - 1) + 1, 2), MOST_PER_LEAF))
    leaves = math.ceil(nodes / per_leaf)
    trunk = given.get("trunk", 1)
    uplinks = math.ceil(per_leaf / given.get("oversubscription", 1) / trunk)
    cables = given.get("cables", 1 if uplinks % 2 else 2)
    spines = given.get("spines", max(math.ceil(uplinks / cables), 1))
    made = _Maker()
    leaf_names = [made.switch(f"leaf{leaf + 1}") for leaf in range(leaves)]
    made.nodes(nodes, leaf_names)
    for spine in range(spines if leaves > 1 else 0):
        name = made.switch(f"spine{spine + 1}")
        for leaf, _ in itertools.product(leaf_names, range(cables)):
            made.cable(leaf, name, trunk)
    return made.map(f"fat-tree:{nodes}")


def fat_tree3(nodes: int, settings: Mapping[str, int] | None = None) -> FabricMap:
    """Three levels of p: pods of p leaves with p nodes each and p middle switches; middle switch j of every pod has one
    cable to each of the p core switches of group j.

    Settings: `per-leaf` (p; default the least with at most 2p pods, as in a k-ary fat tree with k = 2p: Al-Fares et
    al., SIGCOMM 2008), `oversubscription` (nodes for each uplink of a leaf, default 1: there are as many fewer middle
    switches).
    """
    given = settings or {}
    p = given.get("per-leaf", max(math.ceil((nodes / 2) ** (1 / 3) - 1e-9), 2))
    uplinks = math.ceil(p / given.get("oversubscription", 1))
    pods = math.ceil(nodes / (p * p))
    made = _Maker()
    leaves = [[made.switch(f"leaf{pod + 1}-{leaf + 1}") for leaf in range(p)] for pod in range(pods)]
    made.nodes(nodes, [name for pod in leaves for name in pod])
    middles = [[made.switch(f"middle{pod + 1}-{one + 1}") for one in range(uplinks)] for pod in range(pods)]
    for pod in range(pods):
        for leaf, middle in itertools.product(leaves[pod], middles[pod]):
            made.cable(leaf, middle)
    for one, two in itertools.product(range(uplinks), range(p if pods > 1 else 0)):
        core = made.switch(f"core{one + 1}-{two + 1}")
        for pod in range(pods):
            made.cable(middles[pod][one], core)
    return made.map(f"fat-tree3:{nodes}")


def dragonfly(nodes: int, settings: Mapping[str, int] | None = None) -> FabricMap:
    """Groups of routers, all routers of a group joined, and one cable between every two groups.

    Settings: `per-router` (p nodes a router), `routers` (a group); defaults a = 2p with the least p that suffices
    (balanced: Kim, Dally, Scott and Abts, ISCA 2008).
    """
    given = settings or {}
    balanced = next(p for p in itertools.count(1) if nodes <= 2 * p * p * (2 * p * p + 1))
    per_router = given.get("per-router", balanced)
    routers = given.get("routers", 2 * per_router)
    groups = math.ceil(nodes / (per_router * routers))
    made = _Maker()
    names = [[made.switch(f"router{group + 1}-{one + 1}") for one in range(routers)] for group in range(groups)]
    made.nodes(nodes, [name for group in names for name in group])
    for group in names:
        for first, second in itertools.combinations(group, 2):
            made.cable(first, second)
    per_pair = max(math.ceil((groups - 1) / routers), 1)
    for one, other in itertools.combinations(range(groups), 2):
        made.cable(names[one][(other - 1) // per_pair], names[other][one // per_pair])
    return made.map(f"dragonfly:{nodes}")


Builder = Callable[[int, Mapping[str, int]], FabricMap]
SHAPES: dict[str, tuple[Builder, tuple[str, ...]]] = {
    "fat-tree": (fat_tree, ("per-leaf", "oversubscription", "cables", "spines", "trunk")),
    "fat-tree3": (fat_tree3, ("per-leaf", "oversubscription")),
    "dragonfly": (dragonfly, ("per-router", "routers")),
}
"""Name -> how it is built, and its settings."""


class _Maker:
    """Collects devices and cables; each cable takes the next free port at both ends."""

    def __init__(self) -> None:
        self._devices: list[FabricDevice] = []
        self._links: list[FabricLink] = []
        self._ports: Counter[str] = Counter()

    def switch(self, name: str) -> str:
        """A new one; its key."""
        return self._device("S", DeviceKind.SWITCH, name)

    def nodes(self, count: int, leaves: list[str]) -> None:
        """Spread nodes over the leaves as evenly as possible, in the order of the leaves."""
        for number in range(count):
            leaf = leaves[number * len(leaves) // count]
            self.cable(self._device("H", DeviceKind.ADAPTER, f"n{number + 1} mlx5_0"), leaf)

    def cable(self, one: str, other: str, times: int = 1) -> None:
        """Join two devices, given by their keys; the cable is `times` as wide as that of a port."""
        ends = []
        for device in (one, other):
            self._ports[device] += 1
            ends.append(End(device=device, port=self._ports[device]))
        (first, second), width = sorted(ends), times * WIDTH
        self._links.append(
            FabricLink(one=first, other=second, width=width, speed=SPEED, other_width=width, other_speed=SPEED)
        )

    def map(self, source: str) -> FabricMap:
        """All of it."""
        devices = tuple(sorted(self._devices, key=lambda device: device.key))
        return FabricMap(devices=devices, links=tuple(sorted(self._links, key=lambda link: link.one)), source=source)

    def _device(self, letter: str, kind: DeviceKind, name: str) -> str:
        key = f"{letter}-{len(self._devices) + 1:016x}"
        self._devices.append(FabricDevice(key=key, kind=kind, name=name, lid=len(self._devices) + 1))
        return key
