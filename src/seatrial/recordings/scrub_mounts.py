"""The names in lines of /proc/mounts and of the kernel's command line: file servers, users."""

import re
from collections.abc import Callable

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
