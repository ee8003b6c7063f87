"""The launcher contract over a simulated fabric with its nodes: the real driver measures, judges and locates on it."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from seatrial import __version__
from seatrial.fabric.routed_fabric import RoutedFabric, Routing
from seatrial.fabric.routes import Route, Routes
from seatrial.lab.simulator.disturbances import SimulatedConditions, Surroundings
from seatrial.lab.simulator.faults import SimulatedFault
from seatrial.lab.simulator.network import Network
from seatrial.launch.contract import PLAIN, FactsReading, HoldsNothing, Hosts, StartManner
from seatrial.launch.probe_text import FORMAT
from seatrial.model.errors import ProbeLost, RoundRefused
from seatrial.model.fabric import Fabric, FabricDevice
from seatrial.model.hca import LANES, data_bits_per_s
from seatrial.model.measurement import Kernel, Measurement, Round
from seatrial.model.pair_table import Reals
from seatrial.pairs.rounds import Pair

PAYLOAD_SHARE = 0.97
"""Share of a cable's data rate in large messages. Public runs reach 0.93 to 0.99 of what physics permits."""
NEAR_S, HOP_S = 1.0e-6, 0.15e-6
"""One way: adapters and software, and each cable with the switch behind it."""
PORT_S = 0.1e-6
"""Time for which a port is busy with a small message: each rank waits for half of the others at both ends, on
average."""
LATENCY_SPREAD = 0.02
"""Standard deviation of the logarithm of a run, and again of each round trip in it."""
WINDOW_SPREAD = 0.002
"""Noise per window; noise per run comes from `Surroundings`."""
CLOCK_DIGITS = 9
"""The probe's clock counts nanoseconds."""
RETRANSMISSION_S = 0.2
"""A lost packet with nothing behind it is sent again after TCP's least timeout on Linux."""
ROUND_S = 0.002
"""Between two rounds: the driver's work and the barriers."""
HCA = "mlx5_0"
MTU_BYTES = 4096
UNKNOWN_CABLE = (4, "SDR")
"""What an adapter reports for a cable whose rate is not in the map: 1e9 bytes per second, as `network.UNKNOWN_RATE`."""


class SimulatedSession:
    """The contract's session over a simulated network. Nothing waits: rounds advance the simulated clock alone."""

    def __init__(
        self,
        node_of: Mapping[str, str],
        routes: Routes,
        network: Network,
        adapter_of: Mapping[str, str],
        surroundings: Surroundings,
    ) -> None:
        """`node_of`: what rounds call each rank -> its node. `adapter_of`: node -> its adapter in the routes' map."""
        self.nodes = tuple(node_of)
        self.header: dict[str, Any] = {
            "record": "header",
            "format": FORMAT,
            "probe": __version__,
            "mpi_library": "none: simulated",
            "ranks": len(self.nodes),
        }
        self.ranks: tuple[dict[str, Any], ...] = ()
        self.spent_s = 0.0
        """Seconds of the processor that the made-up measuring took."""
        self._node_of = node_of
        self._routes = routes
        self._network = network
        self._adapter_of = adapter_of
        self._surroundings = surroundings
        self._chance = surroundings.chance
        self._quiet: dict[tuple[Pair, ...], Reals] = {}
        self._paths: dict[tuple[Pair, ...], tuple[list[Pair], list[Route]]] = {}

    def measure(self, wanted: Round, timeout_s: float) -> Iterator[Measurement]:
        """See launch.contract.Session.measure; a pair without a route, or too slow for `timeout_s`, never answers."""
        began = time.process_time()
        self._refuse(wanted)
        delivered, silent = self._answers(wanted, timeout_s)
        self.spent_s += time.process_time() - began
        yield from delivered
        for source, target in silent:
            raise ProbeLost(f"nothing came from {source} to {target} within {timeout_s:.0f} s", "timeout")

    def _answers(self, wanted: Round, timeout_s: float) -> tuple[list[Measurement], list[Pair]]:
        """What the pairs deliver, and those that deliver nothing in time."""
        shape = wanted.shape
        if self._network.advance(self._surroundings.elapsed_s):
            self._quiet.clear()
        kept = [tuple(map(self._surroundings.spells.kept, pair)) for pair in self._between_nodes(wanted.pairs)]
        typical = self._typical_s(wanted) / np.array([self._surroundings.spells.pace(min(both)) for both in kept])
        spread = LATENCY_SPREAD if shape.kernel is Kernel.PINGPONG else WINDOW_SPREAD
        times = shape.warmup + shape.iterations
        slow = np.isnan(typical) | (typical * times > timeout_s)
        drawn = np.exp(spread * self._chance.standard_normal((len(wanted.pairs), times))) * typical[:, None]
        stalls_s = self._stalls_s(wanted, times)
        drawn += stalls_s
        longest_s = float((typical * times + stalls_s.sum(axis=1)).max(initial=0.0))
        self._surroundings.advance(ROUND_S + (timeout_s if slow.any() else longest_s))
        drawn = np.round(drawn, CLOCK_DIGITS)
        delivered: list[Measurement] = []
        silent: list[Pair] = []
        waits_known = self._surroundings.waits_known
        for pair, late, row, shares in zip(wanted.pairs, slow.tolist(), drawn.tolist(), kept, strict=True):
            if late:
                silent.append(pair)
                continue
            times_s, warmup_times_s = tuple(row[shape.warmup :]), tuple(row[: shape.warmup])
            waited_s = tuple((1 - share) * sum(times_s) for share in shares) if waits_known else ()
            delivered.append(wanted.delivered(pair, times_s=times_s, warmup_times_s=warmup_times_s, waited_s=waited_s))
        return delivered, silent

    def _stalls_s(self, wanted: Round, times: int) -> Reals:
        """Seconds that each round trip of each pair waits for a lost packet to be sent again.

        Only round trips: a stream notices a lost packet by those that follow, and sends it again at once.
        """
        stalls: Reals = np.zeros((len(wanted.pairs), times))
        if wanted.shape.kernel is not Kernel.PINGPONG:
            return stalls
        for lost in (self._network.lost(self._follow(way)[1]) for way in _both_ways(wanted.pairs)):
            if lost.any():
                stalls += RETRANSMISSION_S * (self._surroundings.losses.random(stalls.shape) < lost[:, None])
        return stalls

    def close(self, *, kill: bool = False) -> None:
        """Nothing to end."""

    def _between_nodes(self, pairs: Iterable[Pair]) -> tuple[Pair, ...]:
        return tuple((self._node_of[source], self._node_of[target]) for source, target in pairs)

    def _refuse(self, wanted: Round) -> None:
        times = Counter(name for pair in wanted.pairs for name in pair)
        for name, count in times.items():
            if count > 1:
                raise RoundRefused(f"{name} appears in the round {count} times")
            if name not in self._node_of:
                raise RoundRefused(f"{name} is not in this session")

    def _typical_s(self, wanted: Round) -> Reals:
        """Seconds of one round trip or one window of each pair in this run; NaN where there is no route."""
        shape = wanted.shape
        if shape.kernel is Kernel.PINGPONG:
            hops = np.array([len(path) or np.nan for path in self._follow(wanted.pairs)[1]], dtype=np.float64)
            run = np.exp(LATENCY_SPREAD * self._chance.standard_normal(len(hops)))
            beside = Counter(self._node_of[source] for source, _ in wanted.pairs)
            waits_s = PORT_S * np.array([beside[self._node_of[source]] - 1 for source, _ in wanted.pairs])
            far: Reals = 2 * (NEAR_S + HOP_S * hops + waits_s) * run
            for way in _both_ways(wanted.pairs):
                far += self._network.late_s(*self._follow(way))
            return far + 2 * shape.message_bytes / (PAYLOAD_SHARE * self._rates(wanted.pairs))
        rates = self._rates(wanted.pairs) * self._surroundings.factors(self._between_nodes(wanted.pairs))
        window: Reals = shape.window_bytes / (PAYLOAD_SHARE * rates)
        return window

    def _rates(self, ways: tuple[Pair, ...]) -> Reals:
        """Bytes per second on the wire of pairs that run at once, together with the current traffic, without noise."""
        ends, paths = self._follow(ways)
        if len(ways) == 1 and not self._surroundings.crosses(paths[0]):
            return np.array([self._network.alone(ends[0], paths[0])])
        streams = self._surroundings.streams
        if streams:
            return self._network.rates(ends, paths, streams)
        if ways not in self._quiet:
            self._quiet[ways] = self._network.rates(ends, paths)
        return self._quiet[ways]

    def _follow(self, pairs: tuple[Pair, ...]) -> tuple[list[Pair], list[Route]]:
        """Adapters and paths; every repetition of a survey asks for the same pairs, whose paths are looked up once."""
        if pairs not in self._paths:
            between = self._between_nodes(pairs)
            ends = [(self._adapter_of[source], self._adapter_of[target]) for source, target in between]
            self._paths[pairs] = ends, self._routes.paths(ends)
        return self._paths[pairs]


def _both_ways(pairs: tuple[Pair, ...]) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
    """The ways that the messages of a round trip take."""
    return pairs, tuple((target, source) for source, target in pairs)


class SimulatedLauncher(HoldsNothing):
    """Starts nothing. Faults are planted once, for the whole of it."""

    name = "simulated"

    def __init__(
        self,
        routes: Routes,
        planted: Sequence[SimulatedFault] = (),
        seed: int = 0,
        conditions: SimulatedConditions | None = None,
    ) -> None:
        """`seed` of the trial, for the disturbances.

        Nodes are the adapters of `routes` that are connected to a switch.
        """
        conditions = conditions or SimulatedConditions()
        self.routes = routes
        self.nodes = SimulatedNodes(routes, one_kernel=conditions.one_kernel)
        self.surroundings = Surroundings(conditions, routes, seed, self.nodes.names)
        self._network = Network(routes, planted)
        self._sessions: list[SimulatedSession] = []

    @property
    def spent_s(self) -> float:
        """Seconds of the processor that the made-up measuring took: a real fabric measures by itself."""
        return sum(session.spent_s for session in self._sessions)

    def wiring(self) -> RoutedFabric:
        """The fabric by its cables and routes, as `check --fabric` has it from a map."""
        source = "the simulated fabric's map"
        return RoutedFabric(Routing(fabric=self.routes.fabric, adapter_of=self.nodes.adapter_of, source=source))

    def hosts(self) -> Hosts:
        """All nodes, in the order of leaf and port."""
        fabric = Fabric(leaf_of=self.nodes.leaf_of, source="the simulated fabric's map")
        return Hosts(nodes=self.nodes.names, fabric=fabric, cluster=self.routes.fabric.source)

    def read_facts(self, nodes: Sequence[str]) -> FactsReading:
        """Every node answers, the same each time."""
        return FactsReading(texts={node: self.nodes.facts_text(node) for node in nodes}, silent={})

    def start(self, nodes: Sequence[str], log: Path, manner: StartManner = PLAIN) -> SimulatedSession:
        """A session on those nodes; with several ranks per node, which share its port, on their places."""
        ranks = manner.ranks_per_node
        node_of = {f"{node}:{rank}" if ranks > 1 else node: node for node in nodes for rank in range(ranks)}
        session = SimulatedSession(node_of, self.routes, self._network, self.nodes.adapter_of, self.surroundings)
        self._sessions.append(session)
        return session


class SimulatedNodes:
    """One node an adapter, since that is what is measured; nodes are in the order of leaf and port."""

    def __init__(self, routes: Routes, *, one_kernel: bool = False) -> None:
        """Adapters of one host, and switches of one name, are distinguished by what else is known of them.

        `one_kernel`: all nodes say that they run on the same one.
        """
        self._boot_id = "boot-of-all" if one_kernel else ""
        devices = routes.fabric.by_key
        self.adapter_of = _named([devices[key] for key in routes.adapters], host=True)
        """Node -> key of its adapter in the map."""
        self.leaf_name = {
            key: leaf
            for leaf, key in _named(
                [devices[key] for key in dict.fromkeys(routes.leaf_of[key] for key in routes.adapters)]
            ).items()
        }
        """Key of a leaf switch in the map -> its name."""
        self.names = tuple(self.adapter_of)
        self.leaf_of = {node: self.leaf_name[routes.leaf_of[key]] for node, key in self.adapter_of.items()}
        self._cable = dict.fromkeys(routes.adapters, UNKNOWN_CABLE)
        for link in routes.fabric.links:
            for key in (link.one.device, link.other.device):
                if key in self._cable:
                    ends = ((link.width, link.speed), (link.other_width, link.other_speed))
                    rates = [(rate, width, speed) for width, speed in ends if (rate := data_bits_per_s(width, speed))]
                    if rates:
                        _, width, speed = min(rates, key=lambda end: end[0])
                        self._cable[key] = (width or 1, speed)
        self._texts: dict[tuple[int, str], str] = {}

    def facts_text(self, node: str) -> str:
        """What collect/facts.sh would print there: a name, a kernel of its own, and one InfiniBand port."""
        cable = self._cable[self.adapter_of[node]]
        if cable not in self._texts:
            self._texts[cable] = _port_text(*cable)
        host = quote(node)
        return (
            f"#seatrial-facts 1 {host}\n@value /proc/sys/kernel/random/boot_id|{self._boot_id or f'boot-of-{host}'}\n"
            f"{self._texts[cable]}#end {host}\n"
        )


def _port_text(width: int, speed: str) -> str:
    """The lines of one active port. Its rate is printed before the encoding up to QDR, after it from FDR10 on."""
    lane = LANES[speed]
    printed = lane.signalled_bits_per_s * (1 if speed in ("SDR", "DDR", "QDR") else lane.encoding) * width
    folder = f"/sys/class/infiniband/{HCA}"
    values = {
        f"{folder}/node_type": "1: CA",
        f"{folder}/hca_type": "MT4129",
        f"{folder}/fw_ver": "28.39.1002",
        f"{folder}/ports/1/state": "4: ACTIVE",
        f"{folder}/ports/1/phys_state": "5: LinkUp",
        f"{folder}/ports/1/link_layer": "InfiniBand",
        f"{folder}/ports/1/rate": f"{float(printed) / 1e9:g} Gb/sec ({width}X {speed})",
        f"{folder}/ports/1/lid": "0x1",
        f"{folder}/ports/1/sm_lid": "0x1",
    }
    lines = [
        "@list /sys/class/infiniband/*|mlx5_0",
        f"@list {folder}/ports/*|1",
        *(f"@value {path}|{value}" for path, value in values.items()),
        "@command ibv_devinfo",
        f"|hca_id:\t{HCA}",
        "|\tport:\t1",
        f"|\t\tactive_mtu:\t\t{MTU_BYTES} (5)",
        "@end 0",
    ]
    return "\n".join(lines) + "\n"


def _named(devices: list[FabricDevice], *, host: bool = False) -> dict[str, str]:
    """A name without blanks -> key; where several share the short one, the whole description, at last the key."""
    names = {device.key: "-".join((device.host if host else device.name).split()) for device in devices}
    longer = {device.key: "-".join(device.name.split()) for device in devices}
    for better in (longer, {key: key for key in names}):
        times = Counter(names.values())
        names = {key: better[key] if times[name] > 1 or not name else name for key, name in names.items()}
    return {name: key for key, name in names.items()}
