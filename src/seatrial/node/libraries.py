"""MPI and transport libraries and what is compiled into them, from a frame."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable

from seatrial.model.system import Library
from seatrial.model.unknown import Unknown
from seatrial.node.frame import Frame, answer, why_no_answer

OMPI_COMPONENTS = "ompi_info --parsable"
MPICH_VERSION = "mpichversion"
UCX_VERSION = "ucx_info -v"
UCX_DEVICES = "ucx_info -d"
FABRIC_VERSION = "fi_info --version"
FABRIC_PROVIDERS = "fi_info -l"
LAUNCHERS = frozenset({"Hydra"})
"""What starts MPI jobs and is itself no library."""
COMPONENT = re.compile(r"mca:([^:]+):([^:]+)")
DEVICE = re.compile(r"MPICH Device:\s*(\S+)")
UCX = re.compile(r"# (?:Library version: |UCT version=)(\S+).*")
UCX_PART = re.compile(r"#\s*(Transport|Device):\s*(\S+)")
FABRIC = re.compile(r"libfabric: (\S+)")
PROVIDER = re.compile(r"(\S+):")


def read_libraries(frame: Frame) -> tuple[Library | Unknown, ...]:
    """Each once: MPIs in the order their commands name them, then UCX and libfabric; unknown words as Unknown."""
    components: dict[str, Callable[[Frame], dict[str, tuple[str, ...]]]] = {"Open MPI": _open_mpi, "MPICH": _mpich}
    found: list[Library | Unknown] = []
    for name, version in mpi_names(frame):
        if not name:
            found.append(Unknown(word=version))
        elif name not in LAUNCHERS:
            inside = components[name](frame) if name in components else {}
            found.append(Library(name=name, version=version, components=inside))
    ucx = _version(frame, UCX_VERSION, UCX, "UCX", _ucx(frame))
    fabric = _version(frame, FABRIC_VERSION, FABRIC, "libfabric", _providers(frame))
    return (*found, *ucx, *fabric)


def _version(
    frame: Frame, command: str, words: re.Pattern[str], name: str, components: dict[str, tuple[str, ...]]
) -> tuple[Library | Unknown, ...]:
    lines = [line.strip() for line in answer(frame, command)]
    known = [match[1] for line in lines if (match := words.fullmatch(line))]
    if known:
        return (Library(name=name, version=known[0], components=components),)
    return (Unknown(word=lines[0][:80]),) if lines and lines[0] else ()


def _open_mpi(frame: Frame) -> dict[str, tuple[str, ...]]:
    """Framework -> components, of lines "mca:btl:tcp"."""
    lines = answer(frame, OMPI_COMPONENTS)
    return _sorted((match[1], match[2]) for line in lines if (match := COMPONENT.match(line)))


def _mpich(frame: Frame) -> dict[str, tuple[str, ...]]:
    """The device it was built for: ch4:ofi, ch4:ucx, ch3:nemesis."""
    return _sorted(("device", match[1]) for line in answer(frame, MPICH_VERSION) if (match := DEVICE.match(line)))


def _ucx(frame: Frame) -> dict[str, tuple[str, ...]]:
    names = {"Transport": "transports", "Device": "devices"}
    return _sorted((names[m[1]], m[2]) for line in answer(frame, UCX_DEVICES) if (m := UCX_PART.match(line)))


def _providers(frame: Frame) -> dict[str, tuple[str, ...]]:
    lines = answer(frame, FABRIC_PROVIDERS)
    return _sorted(("providers", match[1]) for line in lines if (match := PROVIDER.fullmatch(line.rstrip())))


def _sorted(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for framework, component in pairs:
        found[framework].add(component)
    return {framework: tuple(sorted(found[framework])) for framework in sorted(found)}


MPI_COMMANDS = ("mpirun --version", "ompi_info --version", "mpichversion", "mpiexec --version")


MPI_WORDS = (
    (re.compile(r"mpi(?:run|exec) \(Open MPI\) (\S+)"), "Open MPI"),
    (re.compile(r"Open MPI v(\S+)"), "Open MPI"),
    (re.compile(r"MPICH Version:\s*(\S+)"), "MPICH"),
    (re.compile(r"MVAPICH\S*(?: MPI)? Version\s*:\s*(\S+)", re.IGNORECASE), "MVAPICH"),
    (re.compile(r"Intel\(R\) MPI Library .*Version (\S+)"), "Intel MPI"),
    (re.compile(r"\s+Version:\s+(\S+)"), "Hydra"),
)


def mpi_versions(frame: Frame) -> tuple[str, ...]:
    """Each MPI once ("Open MPI 4.1.4"), in the order the commands name them; one that we do not know, word for word."""
    return tuple(f"{name} {version}" if name else version for name, version in mpi_names(frame))


def mpi_names(frame: Frame) -> tuple[tuple[str, str], ...]:
    """The same, name and version apart; the name is "" where we do not know the words, and those are the version."""
    found: dict[tuple[str, str], None] = {}
    for command in MPI_COMMANDS:
        lines = answer(frame, command)
        said = ("", lines[0].strip()[:80]) if lines else ("", "")
        name_and_version = next(filter(None, map(_known, lines)), said)
        if name_and_version[1]:
            found[name_and_version] = None
    return tuple(found)


def why_no_mpi(frame: Frame) -> str:
    """What each command that could have told it did instead."""
    return "; ".join(why_no_answer(frame, command) for command in MPI_COMMANDS)


def _known(line: str) -> tuple[str, str] | None:
    for pattern, name in MPI_WORDS:
        if match := pattern.match(line):
            return name, match[1]
    return None
