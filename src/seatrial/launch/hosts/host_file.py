"""Host files of Open MPI and MPICH: one host a line, with its number of slots; pure.

Sources: the section HOSTFILES of mpirun(1) of Open MPI 4.1, and "Using the Hydra Process Manager" of MPICH. Slots are
checked and not used, since the ranks on each host are ours to choose; a host with none is left out, as in Open MPI.
"""

import re
from collections.abc import Iterable, Sequence

from seatrial.model.errors import UsageError
from seatrial.model.node_list import MOST_NODES, expand, node_list

SLOTS = ("slots", "max_slots", "max-slots", "slots_max", "cpu", "count")
"""Words of Open MPI for the number of ranks; `cpu` and `count` are its older names of `slots`."""
IGNORED = ("binding", "ifname", "sockets", "boards", "rack", "sockets_per_board", "cores_per_socket")
"""Words of both for what mpirun does with a host, which does not concern a measurement."""
USER = ("user", "username", "user_name", "user-name")
ADDRESS = re.compile(r"\[([0-9a-fA-F:.]+)\](?::(\d{1,18}))?|([0-9a-fA-F]*:[0-9a-fA-F]*:[0-9a-fA-F:.]*)")
"""An IPv6 address: [fe80::1]:4, or fe80::1 without a number of slots."""
NAME = re.compile(r"([A-Za-z0-9][\w.-]*(?:\[[\d,-]+\][\w.-]*)*)(?::(\d{1,18}))?", re.ASCII)
"""n1, n1:4, n[1-3]:2."""


def parse_host_file(text: str) -> tuple[str, ...]:
    """The hosts, each once, in their order. Raises ValueError that shows the line."""
    hosts: dict[str, None] = {}
    excluded: set[str] = set()
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            names, slots = _host(words)
        except ValueError as error:
            raise ValueError(f"line {number} ({line.strip()[:80]!r}): {error}") from error
        if slots == 0:
            excluded.update(names)
        hosts.update(dict.fromkeys(names))
        if len(hosts) > MOST_NODES:
            raise ValueError(f"it has more than {MOST_NODES:,} hosts")
    return tuple(host for host in hosts if host not in excluded)


def is_name(host: str) -> bool:
    """Whether it can be given to ssh and mpirun: it is neither an option nor a list of theirs."""
    return re.fullmatch(r"[A-Za-z0-9_][\w.-]{0,252}", host, re.ASCII) is not None


def is_address(host: str) -> bool:
    """Whether the host is given as an IPv6 address, which mpirun's options cannot take."""
    return ":" in host


def refuse_names(given: Sequence[str], wanted: Sequence[str]) -> None:
    """Raises UsageError for a wanted host that is not one of those given, and for one that has no valid name."""
    listed = frozenset(given)
    for host in wanted:
        if host not in listed:
            raise UsageError(f"Node {host} is not one of the hosts.", f"They are {node_list(given[:20])}.")
        if is_address(host):
            raise UsageError(
                f"The IPv6 address {host} cannot be given to mpirun.", "Give the host a name in DNS or /etc/hosts."
            )
        if not is_name(host):
            raise UsageError(f"{host!r} is not a valid host name.", "Use letters, digits, '-', '_' and '.'.")


def _host(words: list[str]) -> tuple[tuple[str, ...], int | None]:
    """Names on one line, and their slots where they are given."""
    first, *others = words
    if "@" in first:
        raise ValueError("a user name before @ is not supported; set User in ~/.ssh/config")
    if first.startswith(("^", "+")):
        raise ValueError(f"{first[0]!r} before a name is not supported; name each host")
    address = ADDRESS.fullmatch(first)
    name = NAME.fullmatch(first)
    if address:
        names: tuple[str, ...] = (address[1] or address[3],)
        slots = address[2]
    elif name:
        names = expand(name[1]) if "[" in name[1] else (name[1],)
        slots = name[2]
    else:
        raise ValueError(f"{first!r} is not a valid host name")
    given = _slots(_settings(others))
    return names, int(slots) if slots is not None else given


def _settings(words: Iterable[str]) -> list[tuple[str, str]]:
    """slots=2, slots = 2 and slots= 2 are the same to Open MPI."""
    joined = "=".join(part.strip() for part in " ".join(words).split("="))
    settings = []
    for word in joined.split():
        key, equals, value = word.partition("=")
        if not equals or not value:
            raise ValueError(f"{word!r} is not of the form name=value")
        settings.append((key, value))
    return settings


def _slots(settings: Iterable[tuple[str, str]]) -> int | None:
    slots = None
    for key, value in settings:
        if key in USER:
            raise ValueError(f"{key}= is not supported; set User in ~/.ssh/config")
        if key not in (*SLOTS, *IGNORED):
            raise ValueError(f"{key!r} is unknown; known are {', '.join(SLOTS[:2])}")
        if key in SLOTS and not value.isdecimal():
            raise ValueError(f"{key}={value} is not a number")
        if key in ("slots", "cpu", "count"):
            slots = int(value)
    return slots
