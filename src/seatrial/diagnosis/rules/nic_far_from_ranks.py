"""nic-far-from-ranks: the job may run only on a socket that the adapter does not hang on."""

from collections.abc import Iterator

from seatrial.diagnosis.rules.base import Readings, Rule, Violation
from seatrial.model.facts import NodeFacts
from seatrial.model.hca import PortState
from seatrial.model.verdict import FindingKind

REMEDY = (
    "Let the job have the whole node, or cores of the adapter's socket (srun --cpu-bind, --distribution; in "
    "gres.conf Cores=). Every message crosses the link between the sockets as it is."
)


def look(readings: Readings) -> Iterator[Violation]:
    """One near adapter suffices: then the job has chosen among several."""
    for node, known in readings.facts.items():
        packages = adapter_packages(known)
        allowed = set(known.processor.allowed)
        everything = set(known.topology.processors)
        if not packages or len(known.topology.packages) < 2 or not allowed or not allowed <= everything:
            continue
        used = {core.package for core in known.topology.cores if allowed.intersection(core.processors)}
        if None not in used and used.isdisjoint(packages.values()):
            adapters = ", ".join(f"{name} on socket {package}" for name, package in packages.items())
            sockets = ", ".join(str(package) for package in sorted(each for each in used if each is not None))
            says = f"its processors for this job are on socket {sockets}, and {adapters}"
            yield Violation(node=node, says=says, key=says, remedy=REMEDY)


def adapter_packages(facts: NodeFacts) -> dict[str, int]:
    """Active adapters, or for want of any the fabric interface, -> package. Empty where the place of one is unknown."""
    places: dict[str, int | None] = {
        hca.name: hca.numa_node for hca in facts.hcas if any(port.state is PortState.ACTIVE for port in hca.ports)
    }
    interface = facts.fabric_interface
    if not places and not facts.active_hcas and interface is not None:
        numa_nodes = [device.numa_node for device in facts.pci if device.address == interface.pci_address]
        places = {interface.name: numa_nodes[0]} if numa_nodes else {}
    packages = {
        name: package
        for name, numa in places.items()
        if numa is not None and (package := facts.topology.package_of(numa)) is not None
    }
    return packages if len(packages) == len(places) else {}


RULE = Rule(
    kind=FindingKind.NIC_FAR_FROM_RANKS,
    title="adapter on another socket than the ranks",
    look=look,
    knows=lambda facts: bool(adapter_packages(facts)),
)
