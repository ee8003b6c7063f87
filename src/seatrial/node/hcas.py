"""Network interfaces, and devices of /sys/class/infiniband with their ports and counters, from a frame.

sysfs cannot show links of Omni-Path: hfi1 reports 1, 2 and 3 lanes all as 1X (its verbs.h, opa_width_to_ib), and a link
that lost lanes after it was trained with the width at which it was trained. `opainfo` can.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import msgspec

from seatrial.model.facts import NetworkInterface
from seatrial.model.hca import Hca, Port, PortFamily, PortState
from seatrial.model.words import Unknown
from seatrial.node.frame import WHOLE_NUMBER, Frame, parse_frame
from seatrial.node.pci import pci_address
from seatrial.node.port_rate import port_family, port_rate

NET = "/sys/class/net/"
SOCKETS = "/proc/net/dev"
TOTALS = ("rx_errors", "tx_errors", "rx_dropped", "tx_dropped")


def read_interfaces(frame: Frame) -> tuple[tuple[NetworkInterface, ...], dict[str, str]]:
    """Every folder of /sys/class/net that /proc/net/dev lists too, sorted. Second: name of a fact -> why it is unknown.

    /proc/net/dev is this process's own network namespace, /sys that of whoever mounted it: an interface that only
    /sys shows belongs to another namespace, and no process of the job can send through it.
    """
    listed = frame.lists.get(NET + "*")
    if listed is None:
        return (), {"interfaces": frame.reason(NET + "*")}
    absent: dict[str, str] = {}
    rows = frame.files.get(SOCKETS)
    ours = set(listed) if rows is None else {row.partition(":")[0].strip() for row in rows if ":" in row}
    foreign = sorted(set(listed) - ours)
    missing = sorted(ours - set(listed))
    if foreign:
        absent["interfaces"] = f"{', '.join(foreign)}: in /sys/class/net, but not in this namespace's {SOCKETS}"
    elif missing:
        absent["interfaces"] = f"{', '.join(missing)}: in {SOCKETS}, but not in /sys/class/net"
    interfaces = []
    for name in sorted(set(listed) & ours):
        interface = _interface(frame, name)
        interfaces.append(interface)
        for field, file in (("link_type", "type"), ("speed_bits_per_s", "speed"), ("mtu_bytes", "mtu")):
            if getattr(interface, field) is None:
                absent[f"interfaces.{name}.{field}"] = frame.reason(f"{NET}{name}/{file}")
    return tuple(interfaces), absent


def ethernet_speed(frame: Frame, name: str) -> float | None:
    """Bits per second. The kernel gives Mb/s, and -1 (older ones 65535 or 4294967295) where it is not known."""
    megabits = frame.integer(f"{NET}{name}/speed")
    return megabits * 1e6 if megabits is not None and 0 < megabits not in (0xFFFF, 0xFFFFFFFF) else None


def _interface(frame: Frame, name: str) -> NetworkInterface:
    folder = f"{NET}{name}"
    mtu = frame.integer(f"{folder}/mtu")
    carrier = frame.integer(f"{folder}/carrier")
    totals = {total: frame.integer(f"{folder}/statistics/{total}") for total in TOTALS}
    return NetworkInterface(
        name=name,
        link_type=frame.integer(f"{folder}/type"),
        state=frame.values.get(f"{folder}/operstate", "unknown").strip() or "unknown",
        carrier=None if carrier is None else carrier == 1,
        speed_bits_per_s=ethernet_speed(frame, name),
        mtu_bytes=mtu if mtu is not None and mtu > 0 else None,
        driver=frame.values.get(f"{folder}/device/driver", ""),
        enslaved=f"{folder}/master" in frame.values,
        bridge=name in frame.lists.get(f"{NET}*/bridge", ()),
        lower=frame.lists.get(f"{folder}/lower_*", ()),
        duplex=frame.values.get(f"{folder}/duplex", "").strip(),
        mode=frame.values.get(f"{folder}/mode", "").strip(),
        pci_address=pci_address(frame.real.get(f"{folder}/device", "")),
        errors={total: count for total, count in totals.items() if count is not None and count >= 0},
    )


INFINIBAND = "/sys/class/infiniband/"
VERBS = "ibv_devinfo"
NUMBER = re.compile(r"[1-9][0-9]{0,2}")
HEX_NUMBER = re.compile(r"(?:0x)?[0-9a-f]{1,8}")
COUNT = re.compile(r"[0-9]{1,20}")
MOST = 2**64 - 1
MTU = re.compile(r"[0-9]{1,5}")
INTERFACE = re.compile(r"[^\s/]{1,15}")
STATES = {state.value: state for state in PortState}
PORT_COUNTERS = (
    "symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors", "port_rcv_remote_physical_errors",
    "port_rcv_switch_relay_errors", "port_xmit_discards", "port_xmit_wait", "port_xmit_constraint_errors",
    "port_rcv_constraint_errors", "VL15_dropped", "local_link_integrity_errors", "excessive_buffer_overrun_errors",
    "port_rcv_data", "port_xmit_data", "port_rcv_packets", "port_xmit_packets",
)  # fmt: skip
HARDWARE_COUNTERS = (
    "out_of_sequence", "packet_seq_err", "rnr_nak_retry_err", "local_ack_timeout_err", "np_cnp_sent", "rp_cnp_handled",
    "roce_adp_retrans",
)  # fmt: skip
COUNTER_FILES = (
    *((name, f"counters/{name}") for name in PORT_COUNTERS),
    *((name, f"hw_counters/{name}") for name in HARDWARE_COUNTERS),
)
PORT_FILES = {
    "state": "state", "physical_state": "phys_state", "link_layer": "link_layer", "rate_text": "rate", "lid": "lid",
    "subnet_manager_lid": "sm_lid", "subnet_prefix": "gids/0",
}  # fmt: skip
OPAINFO = "opainfo"
PORT = re.compile(r"(\w{1,64}):([1-9][0-9]{0,2})(?:\s.*)?")
SPEED = re.compile(r"\s*LinkSpeed\s+Act:\s*([0-9]{1,3}(?:\.[0-9])?)Gb\b.*")
TRAINED = re.compile(r"\s*LinkWidth\s+Act:\s*([1-4])\b.*")
REMAINING = re.compile(r"\s*LinkWidthDnGrd\s+ActTx:\s*([1-4])\s+Rx:\s*([1-4])\b.*")
BOTH_WAYS = ("port_rcv_data", "port_xmit_data")
PORT_UNIT_BYTES = 4
"""Ports of HCAs count data octets divided by four: InfiniBand specification 16.1.3.5, PortXmitData."""
RECEIVED, SENT = 0, 8
"""Columns of /proc/net/dev behind the name."""

Traffic = Mapping[str, tuple[int, int]]
"""Device -> bytes received and sent, totals since some time unknown."""


def read_ports(frame: Frame, hca: Hca) -> tuple[tuple[Port, ...], dict[str, str]]:
    """The ports of a device, which is known but for these. Second: name of a fact -> why it is not known."""
    listed = frame.lists.get(f"{INFINIBAND}{hca.name}/ports/*", ())
    numbers = sorted({int(number) for number in listed if NUMBER.fullmatch(number)})
    verbs = frame.commands.get(VERBS)
    mtus = active_mtus(verbs.lines) if verbs else {}
    opainfo = frame.commands.get(OPAINFO)
    links = omni_path_links(opainfo.lines) if opainfo else {}
    counters, odd = _counters(frame, hca.name)
    ports = []
    absent: dict[str, str] = {}
    for number in numbers:
        interfaces = _interfaces(frame, hca.name, number, alone=len(numbers) == 1)
        port, why = _port(frame, hca, number, interfaces)
        port = msgspec.structs.replace(
            port, mtu_bytes=mtus.get((hca.name, number)), counters=counters.get(str(number), {})
        )
        if port.family is PortFamily.OMNI_PATH and (link := links.get((hca.name, number))):
            port = msgspec.structs.replace(port, width=link.lanes, data_bits_per_s=link.data_bits_per_s)
        ports.append(port)
        group, folder = f"hcas.{hca.name}.ports.{number}", f"{INFINIBAND}{hca.name}/ports/{number}"
        absent.update(_absences(frame, group, folder, port))
        if port.data_bits_per_s is None:
            absent[f"{group}.data_bits_per_s"] = f"{folder}/{why}" if port.rate_text else frame.reason(f"{folder}/rate")
        if str(number) in odd or not port.counters:
            absent[f"{group}.counters"] = f"{folder}/{odd.get(str(number), 'counters: none can be read')}"
    return tuple(ports), absent


def port_state(text: str | None) -> PortState | Unknown | None:
    """ "4: ACTIVE" -> ACTIVE: the number of the InfiniBand specification, and its name."""
    if not text:
        return None
    return STATES.get(text.partition(":")[2].strip()) or Unknown(word=text)


@lru_cache(maxsize=1024)
def active_mtus(lines: tuple[str, ...]) -> dict[tuple[str, int], int]:
    """Device and port -> bytes, from what ibv_devinfo prints: "hca_id:", then "port:", then "active_mtu:"."""
    device, port = "", 0
    mtus: dict[tuple[str, int], int] = {}
    for line in lines:
        word, _, rest = line.strip().partition(":")
        value = rest.split()[0] if rest.split() else ""
        if word == "hca_id":
            device, port = value, 0
        elif word == "port":
            port = int(value) if NUMBER.fullmatch(value) else 0
        elif word == "active_mtu" and device and port and MTU.fullmatch(value):
            mtus[device, port] = int(value)
    return mtus


def _port(frame: Frame, hca: Hca, number: int, interfaces: tuple[str, ...]) -> tuple[Port, str]:
    """The port but for its MTU and counters, and why its data rate is not known."""
    folder = f"{INFINIBAND}{hca.name}/ports/{number}"
    text = {field: frame.values.get(f"{folder}/{file}", "").strip() for field, file in PORT_FILES.items()}
    family = port_family(text["link_layer"], hca.node_type, hca.driver, hca.board_id, hca.hca_type, hca.name)
    rate = port_rate(family, text["rate_text"], _speed(frame, interfaces))
    port = Port(
        number=number,
        family=family,
        state=port_state(text["state"]),
        physical_state=text["physical_state"].rpartition(":")[2].strip(),
        link_layer=text["link_layer"],
        rate_text=text["rate_text"],
        speed_name=rate.speed_name,
        width=rate.width,
        data_bits_per_s=rate.data_bits_per_s,
        lid=_local_identifier(text["lid"]),
        subnet_manager_lid=_local_identifier(text["subnet_manager_lid"]),
        subnet_prefix=text["subnet_prefix"],
        interfaces=interfaces,
    )
    return port, rate.why


def _absences(frame: Frame, group: str, folder: str, port: Port) -> dict[str, str]:
    absent = {
        f"{group}.{field}": frame.reason(f"{folder}/{file}")
        for field, file in PORT_FILES.items()
        if getattr(port, field) in (None, "")
    }
    if port.mtu_bytes is None:
        absent[f"{group}.mtu_bytes"] = frame.reason(VERBS)
    return absent


def _local_identifier(text: str) -> int | None:
    return int(text, 16) if HEX_NUMBER.fullmatch(text) else None


def _counters(frame: Frame, name: str) -> tuple[dict[str, dict[str, int]], dict[str, str]]:
    """Port -> counter -> total, and port -> the first that is not a number, such as "N/A (no PMA)"."""
    pattern = f"{INFINIBAND}{name}/ports/*"
    totals: dict[str, dict[str, int]] = {}
    odd: dict[str, str] = {}
    for counter, file in COUNTER_FILES:
        for number, text in frame.columns.get((pattern, file), {}).items():
            if COUNT.fullmatch(text) and int(text) <= MOST:
                totals.setdefault(number, {})[counter] = int(text)
            else:
                odd.setdefault(number, f"{file} contains {text!r}")
    return totals, odd


def _interfaces(frame: Frame, name: str, number: int, *, alone: bool) -> tuple[str, ...]:
    """The one that RoCE is bound to by its first GID; else those of the device, or of this port of it.

    The port of an interface, counted from 0, is in dev_port, for older drivers in dev_id; the other one is 0.
    """
    bound = frame.values.get(f"{INFINIBAND}{name}/ports/{number}/gid_attrs/ndevs/0", "").strip()
    if INTERFACE.fullmatch(bound):
        return (bound,)
    net = f"{INFINIBAND}{name}/device/net/"
    listed = sorted(frame.lists.get(f"{net}*", ()))
    return tuple(each for each in listed if alone or _place(frame, f"{net}{each}") == number - 1)


def _place(frame: Frame, interface: str) -> int | None:
    texts = [frame.values.get(f"{interface}/{file}", "").strip() for file in ("dev_port", "dev_id")]
    numbers = [int(text, 16) for text in texts if HEX_NUMBER.fullmatch(text)]
    return max(numbers, default=None)


def _speed(frame: Frame, interfaces: tuple[str, ...]) -> float | None:
    """Speed of an Ethernet interface in bits per second. Not that of a bond, which is the sum of several ports'."""
    for name in interfaces:
        speed = ethernet_speed(frame, name)
        if speed and not frame.lists.get(f"{NET}{name}/lower_*"):
            return speed
    return None


DEVICE_FILES = {
    "driver": "device/driver", "firmware": "fw_ver", "board_id": "board_id", "hca_type": "hca_type",
    "node_type": "node_type", "pci_address": "device", "numa_node": "device/numa_node",
}  # fmt: skip


def read_hcas(frame: Frame) -> tuple[tuple[Hca, ...], dict[str, str]]:
    """All devices, sorted by name. Second: name of a fact -> why it is not known."""
    listed = frame.lists.get(f"{INFINIBAND}*")
    if listed is None:
        return (), {"hcas": frame.reason(f"{INFINIBAND}*")}
    hcas = []
    absent: dict[str, str] = {}
    for name in sorted(set(listed)):
        hca = _hca(frame, name)
        ports, without = read_ports(frame, hca)
        hcas.append(msgspec.structs.replace(hca, ports=ports))
        for field, file in DEVICE_FILES.items():
            if getattr(hca, field) in (None, ""):
                absent[f"hcas.{name}.{field}"] = frame.reason(f"{INFINIBAND}{name}/{file}")
        absent.update(without)
    return tuple(hcas), absent


def _hca(frame: Frame, name: str) -> Hca:
    folder = f"{INFINIBAND}{name}"
    numa_node = frame.integer(f"{folder}/device/numa_node")
    return Hca(
        name=name,
        driver=frame.values.get(f"{folder}/device/driver", ""),
        firmware=frame.values.get(f"{folder}/fw_ver", "").strip(),
        board_id=frame.values.get(f"{folder}/board_id", "").strip(),
        hca_type=frame.values.get(f"{folder}/hca_type", "").strip(),
        node_type=frame.values.get(f"{folder}/node_type", "").strip(),
        pci_address=pci_address(frame.real.get(f"{folder}/device", "")),
        numa_node=numa_node if numa_node is not None and numa_node >= 0 else None,
    )


class OmniPathLink(NamedTuple):
    """Lanes of the narrower direction, and the data rate of one of them in bits per second."""

    lanes: int
    lane_bits_per_s: float | None

    @property
    def data_bits_per_s(self) -> float | None:
        """Data rate of all lanes, in the narrower direction; None if the speed was not printed."""
        return None if self.lane_bits_per_s is None else self.lanes * self.lane_bits_per_s


@lru_cache(maxsize=1024)
def omni_path_links(lines: tuple[str, ...]) -> dict[tuple[str, int], OmniPathLink]:
    """Device and port -> its link; a port without a link has no width and is left out."""
    links: dict[tuple[str, int], OmniPathLink] = {}
    port: tuple[str, int] | None = None
    lane_bits_per_s: float | None = None
    for line in lines:
        if match := PORT.fullmatch(line):
            port, lane_bits_per_s = (match[1], int(match[2])), None
        elif match := SPEED.fullmatch(line):
            lane_bits_per_s = float(match[1]) * 1e9
            if port in links:
                links[port] = OmniPathLink(links[port].lanes, lane_bits_per_s)
        elif (match := REMAINING.fullmatch(line) or TRAINED.fullmatch(line)) and port:
            lanes = min(int(number) for number in match.groups())
            before = links.get(port)
            links[port] = OmniPathLink(min(lanes, before.lanes) if before else lanes, lane_bits_per_s)
    return links


def read_traffic(text: str) -> Traffic:
    """Interfaces of this network namespace (/proc/net/dev) and ports of HCAs; raises FactsFormatError for no facts."""
    frame = parse_frame(text)
    totals: dict[str, tuple[int, int]] = {}
    for row in frame.files.get(SOCKETS, ()):
        name, colon, numbers = row.partition(":")
        columns = numbers.split()
        if colon and len(columns) > SENT and all(map(WHOLE_NUMBER.fullmatch, (columns[RECEIVED], columns[SENT]))):
            totals[name.strip()] = int(columns[RECEIVED]), int(columns[SENT])
    for hca in read_hcas(frame)[0]:
        for port in hca.ports:
            ways = [port.counters.get(name) for name in BOTH_WAYS]
            if ways[0] is not None and ways[1] is not None:
                totals[f"{hca.name}/{port.number}"] = ways[0] * PORT_UNIT_BYTES, ways[1] * PORT_UNIT_BYTES
    return totals


def passed_between(before: Traffic, after: Traffic) -> dict[str, int]:
    """Device -> bytes that it counted meanwhile, the greater of both ways; one that was reset counted nothing."""
    passed = {}
    for name, (received, sent) in after.items():
        if name in before:
            passed[name] = max(received - before[name][0], sent - before[name][1], 0)
    return passed
