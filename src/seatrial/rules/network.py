"""Rules about adapters, ports and Ethernet interfaces."""

from collections import Counter
from collections.abc import Iterator
from operator import lt

from seatrial.drift.peer_groups import mtu_differences
from seatrial.model.fabric import NO_LID
from seatrial.model.facts import ETHERNET, NodeFacts
from seatrial.model.hca import Port, PortFamily, PortState
from seatrial.model.units import link_rate
from seatrial.model.verdict import FindingKind
from seatrial.model.words import count
from seatrial.rules.base import Readings, Rule, Violation, on_each_node
from seatrial.rules.peers import designed_peers, differs, fewer_items, items_differ, peer_values

ACTIVE = PortState.ACTIVE.value
DEFAULT_SUBNET = "fe80:0000:0000:0000"
MANAGED = (PortFamily.INFINIBAND, PortFamily.OMNI_PATH, PortFamily.TRUE_SCALE)
"""Port families that need a subnet manager."""

SERIOUS = (
    "symbol_error",
    "link_error_recovery",
    "link_downed",
    "port_rcv_errors",
    "port_xmit_discards",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
    "VL15_dropped",
)
"""Counters of an InfiniBand port (specification 16.1.3.5) that do not grow within minutes on a good link."""

WIRE = ("rx_errors", "tx_errors")
"""Errors of an Ethernet interface. Dropped packets are ignored: a full buffer is not a fault of the link."""


def port_states(facts: NodeFacts) -> dict[str, str | None]:
    """Port -> state, with the physical state; None for unknown states and for ports that wait for a subnet manager."""
    states: dict[str, str | None] = {}
    for name, port in facts.ports.items():
        state = port.state.value if isinstance(port.state, PortState) and not waits_for_manager(port) else None
        if state is not None and state != ACTIVE and port.physical_state:
            state = f"{state} ({port.physical_state})"
        states[f"port {name}"] = state
    return states


def unmanaged_ports(node: str, facts: NodeFacts) -> Iterator[Violation]:
    """InfiniBand specification 14.2.5.6: the physical link alone leads to INIT; the manager sets the rest."""
    for name, port in facts.ports.items():
        if waits_for_manager(port):
            clause = f"port {name} has its link up and stays in state INIT: no subnet manager configured it"
            brief = f"port {name} stays in INIT without a subnet manager"
            yield Violation(node=node, clause=clause, key=PortState.INIT, details=name, brief=brief)
        elif port.family in MANAGED and port.state is PortState.ACTIVE and port.subnet_manager_lid in NO_LID:
            clause = f"port {name} is active but has no subnet manager (sm_lid {port.subnet_manager_lid})"
            yield Violation(node=node, clause=clause, key=PortState.ACTIVE, details=name)


def waits_for_manager(port: Port) -> bool:
    """Whether the link is up and no subnet manager has configured it."""
    return port.family in MANAGED and port.state is PortState.INIT and port.physical_state == "LinkUp"


def subnet_managers(facts: NodeFacts) -> dict[str, int | None]:
    """Port and its subnet -> LID of the subnet manager, of active ports that know one."""
    return {
        f"the subnet manager's LID of port {name}{_of_subnet(port)}": port.subnet_manager_lid
        for name, port in facts.ports.items()
        if port.family in MANAGED and port.state is PortState.ACTIVE and port.subnet_manager_lid not in (None, *NO_LID)
    }


def unlike_managers(readings: Readings) -> Iterator[Violation]:
    """Another subnet manager in the same subnet, and a port that is alone in its subnet while most peers share one.

    Several nodes in a subnet of their own are an island of the fabric.
    """
    yield from items_differ(subnet_managers)(readings)
    for name, prefixes, most in peer_values(readings, subnet_prefixes):
        holders = Counter(prefixes.values())
        for node, prefix in prefixes.items():
            if most is not None and prefix != most and holders[prefix] == 1:
                clause = f"port {name} is in subnet {prefix}, where most of its peers are in {most}"
                yield Violation(node=node, clause=clause, key=(name, prefix), brief=f"port {name} in another subnet")


def _of_subnet(port: Port) -> str:
    return "" if port.subnet_prefix in ("", DEFAULT_SUBNET) else f" (subnet {port.subnet_prefix})"


def has_managed_port(facts: NodeFacts) -> bool:
    """Whether it has a port that needs a subnet manager."""
    return any(port.family in MANAGED for port in facts.ports.values())


def subnet_prefixes(facts: NodeFacts) -> dict[str, str]:
    """Port -> prefix of its subnet, of active ports that know one."""
    return {name: port.subnet_prefix for name, port in managed_ports(facts)}


def managed_ports(facts: NodeFacts) -> Iterator[tuple[str, Port]]:
    """Name and record of each active port that a subnet manager has configured."""
    for name, port in facts.ports.items():
        if port.family in MANAGED and port.state is PortState.ACTIVE and port.subnet_prefix:
            yield name, port


def shared_subnets(readings: Readings) -> Iterator[Violation]:
    """Ports that claim to be in one subnet and cannot be: two have the same LID, or two of a node other managers.

    LIDs are unique within a subnet, so equal ones show two fabrics with one prefix, mostly the default.
    """
    holders: dict[tuple[str, int], tuple[str, str]] = {}
    for node, facts in readings.facts.items():
        managers: dict[str, tuple[str, int]] = {}
        for name, port in managed_ports(facts):
            prefix, lid, manager = port.subnet_prefix, port.lid, port.subnet_manager_lid
            first = holders.setdefault((prefix, lid), (node, name)) if lid not in (None, *NO_LID) else (node, name)
            other = managers.setdefault(prefix, (name, manager)) if manager not in (None, *NO_LID) else (name, manager)
            what = f"port {name} and port"
            if first != (node, name):
                of_node = "" if first[0] == node else f" of {first[0]}"
                clause = f"{what} {first[1]}{of_node} both have LID {lid} in subnet {prefix}: these are two fabrics"
                brief = f"port {name} has LID {lid}, as port {first[1]}{of_node} has"
                yield Violation(node=node, clause=clause, key=prefix, details=(name, lid), brief=brief)
            elif other[1] != manager:
                clause = f"{what} {other[0]} have subnet managers at LID {manager} and {other[1]} in subnet {prefix}"
                yield Violation(node=node, clause=clause, key=prefix, details=(name, manager))


def unlike_subnets(node: str, facts: NodeFacts) -> Iterator[Violation]:
    """Rails of a node in several subnets."""
    subnets: dict[str, str] = {}
    for name, prefix in subnet_prefixes(facts).items():
        subnets.setdefault(prefix, name)
    if len(subnets) > 1:
        clause = (
            f"its rails lie in {count(len(subnets), 'subnet')}: {', '.join(f'{n} in {p}' for p, n in subnets.items())}"
        )
        yield Violation(node=node, clause=clause, key=tuple(subnets))


FULL_WIDTH = 4
"""Lanes of every adapter and switch port of InfiniBand and Omni-Path on the market since QDR."""
SPLIT = {"HDR": "HDR100", "NDR": "NDR200"}
"""Speeds at which a switch port may be split in two of 2 lanes, and their names then."""


def narrow_ports(node: str, facts: NodeFacts) -> Iterator[Violation]:
    """Active ports with fewer lanes than any port is sold with: no peers are needed to see this."""
    for name, port in facts.ports.items():
        if is_narrow(port):
            split = f", or 2X as {SPLIT[port.speed_name]}" if port.speed_name in SPLIT else ""
            words = "" if port.family is PortFamily.OMNI_PATH else port.rate_text  # hfi1 has 1X for 2X and 3X
            clause = f"port {name} is active at {port.width}X ({words or port.speed_name}), not at 4X{split}"
            yield Violation(node=node, clause=clause, key=(port.width, port.speed_name), details=name)


def is_narrow(port: Port) -> bool:
    """Whether an active port of a switched fabric has lost lanes; hfi1 reports 1X for any number below 4."""
    if port.family not in MANAGED or port.state is not PortState.ACTIVE or port.width is None:
        return False
    return port.width < (2 if port.speed_name in SPLIT else FULL_WIDTH)


def active_rates(facts: NodeFacts) -> dict[str, float | None]:
    """Port -> bit/s after encoding, of active ports only; narrow ones are a finding of their own."""
    return {
        f"the data rate of port {name}": port.data_bits_per_s
        for name, port in facts.ports.items()
        if port.state is PortState.ACTIVE and not is_narrow(port)
    }


def fastest_speed(facts: NodeFacts) -> float | None:
    """bit/s of the fastest interface that is up, whatever its name; 0 if all cards are down; None if it is unknown."""
    if interface := facts.fabric_interface:
        return interface.speed_bits_per_s
    cards = [each for each in facts.interfaces if each.link_type == ETHERNET and each.driver]
    return 0.0 if cards and all(each.state == "down" for each in cards) else None


def speed_text(bits_per_s: float) -> str:
    """`25 Gb/s`; `0 (all are down)`."""
    return link_rate(bits_per_s) if bits_per_s else "0 (all are down)"


def rising_counters(readings: Readings) -> Iterator[Violation]:
    """Growth only: totals began at an unknown time, and these counters stop at their greatest value."""
    for node, before, after in readings.read_twice():
        earlier = error_counters(before)
        for (part, counter), total in error_counters(after).items():
            grown = total - earlier.get((part, counter), total)
            if grown > 0:
                clause = f"{counter} of {part} rose by {grown} during the run"
                yield Violation(node=node, clause=clause, key=counter, details=(part, grown))


def error_counters(facts: NodeFacts) -> dict[tuple[str, str], int]:
    """Part and counter -> total."""
    totals = {
        (f"port {name}", counter): port.counters[counter]
        for name, port in facts.ports.items()
        for counter in SERIOUS
        if counter in port.counters
    }
    for interface in facts.interfaces:
        if interface.link_type == ETHERNET:
            totals |= {(interface.name, name): interface.errors[name] for name in WIRE if name in interface.errors}
    return totals


def half_duplex(node: str, facts: NodeFacts) -> Iterator[Violation]:
    """Interfaces that are up and carry Ethernet."""
    for interface in facts.interfaces:
        if interface.duplex == "half" and interface.carries_ethernet:
            yield Violation(node=node, clause=f"{interface.name} runs in half duplex", key=interface.name)


def unlike_mtus(readings: Readings) -> Iterator[Violation]:
    """All nodes are compared, whatever their model: they talk to each other. Without a majority each is named."""
    for odd in mtu_differences(readings.facts):
        most = odd.usual_mtu_bytes
        compared = "and no MTU has a majority among its peers"
        if most is not None:
            compared = f"where its peers have {most}{_mode(most) if odd.ipoib else ''}"
        yield Violation(
            node=odd.node,
            clause=f"MTU {odd.mtu_bytes} on {odd.interface}{_mode(odd.mtu_bytes) if odd.ipoib else ''}, {compared}",
            key=(odd.node, odd.mtu_bytes),
            brief=f"MTU {odd.mtu_bytes} on {odd.interface}, {'no majority' if most is None else f'its peers {most}'}",
            remedy=IPOIB_REMEDY
            if odd.ipoib
            else f"Set it alike on all nodes and switch ports (ip link set {odd.interface} mtu N).",
        )


IPOIB_REMEDY = (
    "Set the same mode and MTU on all nodes: connected or datagram in /sys/class/net/INTERFACE/mode, kept by the "
    "network's configuration (infiniband.transport-mode of NetworkManager, CONNECTED_MODE); newer drivers (enhanced "
    "IPoIB) know datagram alone."
)
DATAGRAM_BYTES = 4092
"""The largest MTU of IPoIB in datagram mode: 4096 bytes of InfiniBand less its header of 4."""


def _mode(mtu_bytes: int) -> str:
    return " (connected mode)" if mtu_bytes > DATAGRAM_BYTES else " (datagram mode)"


def firmwares(facts: NodeFacts) -> dict[str, str | None]:
    """Adapter and board -> firmware. Only adapters of the same board are compared: other boards have other firmware."""
    return {
        f"the firmware of {hca.name}{f' ({hca.board_id})' if hca.board_id else ''}": hca.firmware for hca in facts.hcas
    }


RISING_COUNTERS = Rule(
    kind=FindingKind.ERROR_COUNTERS_RISING,
    order=60,
    look=rising_counters,
    remedy="Reseat the cable, then replace it, then the transceiver; read the same counters of the switch port, since "
    "an error is counted where it arrives, not where it is made (ibqueryerrors, ethtool -S).",
)

NETWORK = (
    Rule(
        kind=FindingKind.PORT_DOWN,
        order=20,
        look=items_differ(
            port_states, worse=lambda own, peers: own != ACTIVE and peers == ACTIVE, groups=designed_peers, moving=True
        ),
        remedy="Check the cable and the switch port, then the port itself (ibstat, ibportstate, mlxlink): Polling "
        "means that nothing answers at the other end, Disabled that somebody switched it off.",
    ),
    Rule(
        kind=FindingKind.NO_SUBNET_MANAGER,
        order=30,
        look=on_each_node(unmanaged_ports),
        knows=has_managed_port,
        remedy="Start the subnet manager of this fabric (opensm, opafm, or the switch's own) and read its log; if "
        "other ports of the fabric are active, find out why it does not reach this one (sminfo, saquery).",
    ),
    Rule(
        kind=FindingKind.SUBNET_MANAGER_DIFFERS,
        order=32,
        look=unlike_managers,
        knows=has_managed_port,
        remedy="Find out which subnet manager is the master (sminfo, saquery -s): a second one runs besides or took "
        "over, or this node hangs on another fabric (ibnetdiscover on both). Each sets its own LIDs and routes.",
    ),
    Rule(
        kind=FindingKind.SUBNET_SHARED,
        order=33,
        look=shared_subnets,
        knows=has_managed_port,
        remedy="Give each fabric a prefix of its own (subnet_prefix in opensm.conf, SubnetPrefix of the Fabric "
        "Manager), then restart its manager. Open MPI pairs ports by this prefix: with one for two fabrics it connects "
        "ports that cannot reach each other (btl_openib_warn_default_gid_prefix).",
    ),
    Rule(
        kind=FindingKind.PORT_NARROW,
        order=35,
        look=on_each_node(narrow_ports),
        knows=has_managed_port,
        remedy="Reseat the cable at both ends, then replace it: lanes failed. If all ports are like this, check which "
        "widths the switch and the adapters allow (ibportstate, mlxlink, opaportinfo).",
    ),
    Rule(
        kind=FindingKind.PORT_RATE_DIFFERS,
        order=40,
        look=items_differ(active_rates, show=link_rate, worse=lt, groups=designed_peers, moving=True),
        remedy="If the adapter is of another model than those of the peers (ibv_devinfo, board_id), exchange it. Else "
        "replace the cable first, then check the switch port and what both ends allow (iblinkinfo, mlxlink, "
        "ethtool): a failed lane halves the width, a bad or too long cable lowers the speed.",
    ),
    Rule(
        kind=FindingKind.INTERFACE_SPEED_DIFFERS,
        order=50,
        look=differs(
            "the speed of its fastest interface", fastest_speed, show=speed_text, worse=lt, groups=designed_peers
        ),
        remedy="Check what both ends advertise (ethtool), whether the fast interface is up, and whether the card is "
        "that of the peers (lspci); then replace cable or transceiver, and correct the speed of the switch port.",
    ),
    RISING_COUNTERS,
    Rule(
        kind=FindingKind.HCA_MISSING,
        order=70,
        # all together: names move, and another generation of cards has another driver
        look=fewer_items(
            lambda facts: Counter({"the number of its adapters": len(facts.hcas)}), whole=lambda facts: facts.complete
        ),
        remedy="Check whether the bus shows the card (lspci). If it does, its driver did not start (dmesg, openibd or "
        "rdma service); if not, reseat it, then check its power and the slot.",
    ),
    Rule(
        kind=FindingKind.HALF_DUPLEX,
        order=100,
        look=on_each_node(half_duplex),
        knows=lambda facts: any(interface.duplex for interface in facts.interfaces),
        remedy="One end negotiates and the other does not: let both negotiate (ethtool -s DEVICE autoneg on), or set "
        "both alike. Half duplex on a switched link is a mismatch, and it costs collisions.",
    ),
    Rule(
        kind=FindingKind.MTU_DIFFERS,
        order=110,
        look=unlike_mtus,
        remedy="Set it alike on all nodes and switch ports (ip link set DEVICE mtu N).",
    ),
    Rule(
        kind=FindingKind.HCA_FIRMWARE_DIFFERS,
        order=410,
        look=items_differ(firmwares),
        remedy="Bring all adapters of this board to the same firmware (mlxfwmanager, mstflint, or the vendor's own "
        "tool), then restart.",
    ),
)

NETWORK_NOTES = (
    Rule(
        kind=FindingKind.RAILS_IN_SUBNETS,
        order=920,
        look=on_each_node(unlike_subnets),
        knows=has_managed_port,
        remedy="Nothing, where each rail is a fabric of its own: MPI connects ports of one subnet only. Where all "
        "ports hang on one fabric, give them one prefix, or they cannot reach each other.",
    ),
)
