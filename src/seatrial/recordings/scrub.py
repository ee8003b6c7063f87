"""Replaces names in recorded facts: hosts, file servers, clusters, users. The same name gets the same stand-in.

Addresses, UUIDs and secrets are never recorded: the collector leaves them out (collect/parts/reading.sh).
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from seatrial.model.run import KIND_WORD, PARTITION_WORD
from seatrial.model.words import natural_sorted

HOME = re.compile(r"(/(?:home|users|Users)/)([^/\s|:,\\]+)")
NETWORK = re.compile(r"(?:tcp|o2ib|gni|kfi|ptlf)[0-9]*")
"""What follows the @ of a Lustre server, where in user@host the host does."""
HIDING = ("ADDRESS", "UUID", "HIDDEN")
"""What the collector has put in place of what it leaves out."""
TELLING_OPTION = re.compile(r"(?<=[ ,])((?:client|mount)?addr|mgsnode|domain|workgroup|servername|mon_addr)=[^ ,]*")
URL_HOST = re.compile(r"[a-z]://([A-Za-z0-9][A-Za-z0-9.-]*)")
PATH_HOST = re.compile(r"[=:]([A-Za-z0-9][A-Za-z0-9.-]*):/(?!/)")


def host_parts(line: str) -> tuple[list[str], list[str]]:
    """The servers and the users in the source of a line of /proc/mounts."""
    source, _, rest = line.partition(" ")
    kind = rest.split(" ")[1] if rest.count(" ") >= 2 else ""
    if source.startswith("//"):
        return _named([source[2:].partition("/")[0]]), []
    before, mark, _ = source.rpartition(":/")
    if not mark or before.startswith("/") or "=" in before or kind == "autofs":
        return [], []
    hosts, users = [], []
    for piece in re.split(r"[,:]", before):
        name, _, network = piece.partition("@")
        if network and not NETWORK.fullmatch(network):
            users.append(name)
            name = network
        hosts.append(name)
    return _named(hosts), _named(users)


def _named(words: list[str]) -> list[str]:
    return [word for word in words if word and word not in HIDING and not word.isdigit()]


def url_hosts(command_line: str) -> list[str]:
    """The servers that a kernel's command line names: nfsroot=HOST:/path, inst.repo=http://HOST/path."""
    return _named([*URL_HOST.findall(command_line), *PATH_HOST.findall(command_line)])


def mount_line(line: str, names: Callable[[str], str]) -> str:
    """A line of /proc/mounts with `names` replaced in all but the kind of file system: a server may be called nfs."""
    parts = line.split(" ")
    if len(parts) < 4:
        return names(line)
    source, path, kind, *options = parts
    if kind == "autofs" and re.search(r"[:=]", source):
        source = "map"
    hidden = TELLING_OPTION.sub(r"\1=HIDDEN", " " + " ".join(options))
    return " ".join([names(source), names(path), kind, names(hidden[1:])])


# Output of site commands: sinfo and ibnetdiscover.


GUID = re.compile(r"(?<![0-9a-f])[0-9a-f]{16}(?![0-9a-f])")
QUOTED = re.compile(r'"([^"\n]*)"')
IDENTIFIER = re.compile(r"[SHR]-[0-9a-f]{16}")
MANAGED = re.compile(r"(MF0;)([^:]*)(:.*)")
"""How managed switches call themselves: MF0;NAME:MODEL/U1."""
MAKERS = re.compile(r"Mellanox|NVIDIA|Intel|Cornelis|QLogic|Voltaire|Technologies|Aggregation")
"""What unnamed devices call themselves holds no name of the site's."""


class StandIns:
    """Every name that was found and its stand-in."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """`names`: name -> stand-in."""
        self.names = dict(names)
        self._all = _words(self.names)
        self._peculiar = _words(name for name in self.names if _is_peculiar(name))

    def of(self, name: str) -> str:
        """The stand-in of a node, a server or the cluster; an unknown name stays."""
        return self.names.get(name, name)

    def everywhere(self, text: str) -> str:
        """Replace all of them, the words of plain letters too: for text that is about names."""
        return self._replace(self._all, text)

    def with_care(self, text: str) -> str:
        """Replace those that cannot be a plain word of the kernel, such as performance, nfs or 0."""
        return self._replace(self._peculiar, text)

    def _replace(self, words: re.Pattern[str], text: str) -> str:
        text = words.sub(lambda found: self.names[found[0]], text)
        return HOME.sub(lambda found: found[1] + self.names.get(found[2], found[2]), text)


def scrub_sinfo(text: str, stand_ins: StandIns) -> str:
    """Lines node|state|partition|reason: states stay, partitions are p1, p2, ..., and a reason is HIDDEN or none."""
    partitions: dict[str, str] = {}
    lines = []
    for line in text.splitlines():
        fields = line.split("|", 3)
        if len(fields) != 4:
            continue
        node, state, partition, reason = fields
        name = partition.rstrip("*")
        stand_in = partitions.setdefault(name, f"p{len(partitions) + 1}") + partition[len(name) :]
        shown_reason = reason if reason.strip().lower() in ("none", "") else "HIDDEN"
        lines.append(f"{stand_ins.of(node.strip())}|{state}|{stand_in}|{shown_reason}\n")
    return "".join(lines)


def scrub_descriptions(features: Mapping[str, Sequence[str]], stand_ins: StandIns) -> dict[str, tuple[str, ...]]:
    """Node -> its features without names; partitions are p1, p2, ... in the order in which they occur, kinds k1, ..."""
    numbered: dict[str, dict[str, str]] = {PARTITION_WORD: {}, KIND_WORD: {}}

    def without_names(word: str) -> str:
        for begins, names in numbered.items():
            if word.startswith(begins):
                return names.setdefault(word, f"{begins}{begins[0]}{len(names) + 1}")
        return stand_ins.everywhere(word)

    return {stand_ins.of(node): tuple(map(without_names, words)) for node, words in features.items()}


def scrub_features(text: str, stand_ins: StandIns) -> str:
    """Lines node|feature,feature: rules read features, so they stay but for the names in them."""
    lines = (line.partition("|") for line in text.splitlines() if "|" in line)
    return "".join(f"{stand_ins.of(node.strip())}|{stand_ins.everywhere(words)}\n" for node, _, words in lines)


def scrub_fabric(text: str, stand_ins: StandIns) -> str:
    """ibnetdiscover's map: GUIDs are numbered, hosts have their stand-ins, switches are switch1, ..."""
    guids: dict[str, str] = {}
    devices: dict[str, str] = {}

    def guid(match: re.Match[str]) -> str:
        return guids.setdefault(match[0], f"{len(guids) + 1:016x}")

    def description(match: re.Match[str]) -> str:
        words = match[1]
        managed = MANAGED.fullmatch(words)
        host, blank, rest = words.partition(" ")
        if managed:
            words = f"{managed[1]}{_stand_in(devices, managed[2], 'switch')}{managed[3]}"
        elif host in stand_ins.names:
            words = f"{stand_ins.of(host)}{blank}{rest}"
        elif words and not IDENTIFIER.fullmatch(words) and not MAKERS.search(words):
            words = f"{_stand_in(devices, host, 'device')}{blank}{stand_ins.with_care(rest)}"
        return f'"{words}"'

    return GUID.sub(guid, QUOTED.sub(description, text))


def _stand_in(devices: dict[str, str], name: str, kind: str) -> str:
    return devices.setdefault(name, f"{kind}{len(devices) + 1}")


HOSTNAME = "/proc/sys/kernel/hostname"
NAMING_FILES = ("/proc/mounts", "/proc/cmdline")
NAMING_VALUES = (HOSTNAME, "/proc/sys/kernel/version")
NAMING_ITEMS = ("mount /", "reach /")
KERNEL_OWN = ("/sys/devices/system/", "/proc/", "/sys/class/dmi/")
"""Paths whose parts are the kernel's words, though a host may be called node1 or cpu0 as well."""


def stand_ins(texts: Mapping[str, str], nodes: Iterable[str], cluster: str = "", users: Sequence[str] = ()) -> StandIns:
    """n1, n2, ... for the nodes in natural order; server1, ... domain1, ... user1, ... as they come; and cluster.

    `texts`: all streams by node; `nodes`: further nodes, as the scheduler names them; `users`: besides those whose
    homes are mounted.
    """
    hosts = {node: node for node in (*nodes, *texts)}
    hosts = {host: node for node, text in texts.items() for host in _own_names(text)} | hosts
    hosts = {_short(host): node for host, node in hosts.items()} | hosts
    short = natural_sorted({_short(node) for node in hosts.values()})
    numbers = {name: f"n{number}" for number, name in enumerate(short, start=1)}
    names = {host: numbers[_short(node)] for host, node in hosts.items()}
    servers, homes = _found_in_mounts(texts.values())
    strange = [server for server in servers if server not in names]
    for number, server in enumerate(strange, start=1):
        names[server] = names.setdefault(_short(server), f"server{number}")
    domains = dict.fromkeys(name.partition(".")[2] for name in (*sorted(hosts), *servers) if "." in name)
    names |= {domain: f"domain{number}" for number, domain in enumerate(domains, start=1)}
    people = [user for user in dict.fromkeys((*users, *homes)) if user and user != "root" and user not in names]
    names |= {user: f"user{number}" for number, user in enumerate(people, start=1)}
    if cluster and cluster not in names:
        names[cluster] = "cluster"
    return StandIns(names)


def scrubbed(text: str, stand_ins: StandIns) -> str:
    """One stream without those names; everything else stays as it was, byte for byte."""
    lines = []
    inside = ""
    for line in text.split("\n"):
        word, _, rest = line.partition(" ")
        if word in ("@file", "@table", "@command"):
            inside = rest
        if line.startswith("|"):
            lines.append(_inner(line, inside, stand_ins))
        elif line.startswith("#"):
            lines.append(stand_ins.everywhere(line))
        else:
            lines.append(_item(word, rest, stand_ins) if rest else line)
    return "\n".join(lines)


def _inner(line: str, inside: str, stand_ins: StandIns) -> str:
    if inside == "/proc/mounts":
        return "|" + mount_line(line[1:], stand_ins.everywhere)
    if inside in NAMING_FILES:
        return stand_ins.everywhere(line)
    return stand_ins.with_care(line)


def _item(word: str, rest: str, stand_ins: StandIns) -> str:
    subject, bar, value = rest.partition("|")
    if subject.startswith(NAMING_ITEMS):
        return f"{word} {stand_ins.everywhere(rest)}"
    value = stand_ins.everywhere(value) if subject in NAMING_VALUES else stand_ins.with_care(value)
    subject = subject if subject.startswith(KERNEL_OWN) else stand_ins.with_care(subject)
    return f"{word} {subject}{bar}{value}"


def _own_names(text: str) -> Iterable[str]:
    """The host of a stream, as its opening line and the kernel have it."""
    opening = text.partition("\n")[0].split(" ")
    if len(opening) == 3:
        yield opening[2]
    match = re.search(rf"^@value {re.escape(HOSTNAME)}\|(\S+)$", text, re.MULTILINE)
    if match:
        yield match[1]


def _found_in_mounts(texts: Iterable[str]) -> tuple[dict[str, None], dict[str, None]]:
    """Servers and users, each once, in the order they come."""
    servers: dict[str, None] = {}
    users: dict[str, None] = {}
    for text in texts:
        users |= dict.fromkeys(found[2] for found in HOME.finditer(text))
        inside = ""
        for line in text.split("\n"):
            if line.startswith("@"):
                inside = line.partition(" ")[2]
            elif line.startswith("|") and inside == "/proc/mounts":
                hosts, people = host_parts(line[1:])
                servers |= dict.fromkeys(hosts)
                users |= dict.fromkeys(people)
            elif line.startswith("|") and inside == "/proc/cmdline":
                servers |= dict.fromkeys(url_hosts(line))
    return servers, users


def _short(host: str) -> str:
    return host.partition(".")[0] or host


def _is_peculiar(name: str) -> bool:
    """Has letters, and a digit, a dash or a dot among them; eth0 of a host called eth0 is a risk that is left."""
    return not name.isalpha() and any(letter.isalpha() for letter in name)


def _words(names: Iterable[str]) -> re.Pattern[str]:
    """Any of the names as a whole word, the longest first; a pattern that never matches where there is none."""
    longest = sorted(filter(None, names), key=lambda name: (-len(name), name))
    either = "|".join(map(re.escape, longest)) or r"(?!)"
    return re.compile(rf"(?<![A-Za-z0-9])(?:{either})(?![A-Za-z0-9])")
