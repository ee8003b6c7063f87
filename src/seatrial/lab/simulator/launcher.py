"""The launcher's contract over a simulated fabric, so that the real driver measures, judges and names there."""

from collections.abc import Sequence
from pathlib import Path

from seatrial.fabric.routed import RoutedFabric, Routing
from seatrial.fabric.routes import Routes
from seatrial.lab.simulator.conditions import Conditions
from seatrial.lab.simulator.disturbances import Surroundings
from seatrial.lab.simulator.faults import Planted
from seatrial.lab.simulator.network import Network
from seatrial.lab.simulator.nodes import SimulatedNodes
from seatrial.lab.simulator.session import SimulatedSession
from seatrial.launch.contract import PLAIN, FactsReading, Hosts, Manner
from seatrial.model.errors import LaunchError
from seatrial.model.fabric import Fabric


class SimulatedLauncher:
    """Starts nothing. Faults are planted once, for the whole of it."""

    name = "simulated"
    job = ""

    def __init__(
        self,
        routes: Routes,
        planted: Sequence[Planted] = (),
        seed: int = 0,
        conditions: Conditions | None = None,
    ) -> None:
        """`seed` of the trial, for the disturbances. Nodes are the adapters of `routes` that hang on a switch."""
        self.routes = routes
        self.nodes = SimulatedNodes(routes)
        self.surroundings = Surroundings(conditions or Conditions(), routes, seed)
        self._network = Network(routes, planted)
        self._sessions: list[SimulatedSession] = []

    @property
    def spent_s(self) -> float:
        """Seconds of the processor that the made-up measuring took: a real fabric measures by itself."""
        return sum(session.spent_s for session in self._sessions)

    def wiring(self) -> RoutedFabric:
        """The fabric by its cables and routes, as `check --fabric` has it from a map."""
        told = "the simulated fabric's map"
        return RoutedFabric(Routing(fabric=self.routes.fabric, adapter_of=self.nodes.adapter_of, source=told))

    def hosts(self) -> Hosts:
        """All nodes, in the order of leaf and port."""
        fabric = Fabric(leaf_of=self.nodes.leaf_of, source="the simulated fabric's map")
        return Hosts(nodes=self.nodes.names, fabric=fabric, cluster=self.routes.fabric.source)

    def allocate(self, nodes: Sequence[str], seconds: float) -> None:
        """Nothing to get hold of."""

    def read_facts(self, nodes: Sequence[str]) -> FactsReading:
        """Every node answers, the same each time."""
        return FactsReading(texts={node: self.nodes.facts_text(node) for node in nodes}, silent={})

    def start(self, nodes: Sequence[str], log: Path, manner: Manner = PLAIN) -> SimulatedSession:
        """A session on those nodes. Raises LaunchError for several ranks a node: there are none to tell apart."""
        if manner.ranks_per_node != 1:
            raise LaunchError("The simulated fabric has one rank a node.", "Measure that on a cluster.")
        session = SimulatedSession(nodes, self.routes, self._network, self.nodes.adapter_of, self.surroundings)
        self._sessions.append(session)
        return session

    def close(self) -> None:
        """Nothing to give back."""
