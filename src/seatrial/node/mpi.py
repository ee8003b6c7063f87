"""MPI and transport libraries of a node: versions, components, the files of their programs, and their settings."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from seatrial.model.system import Library, MpiFile
from seatrial.model.words import Unknown
from seatrial.node.frame import Frame, answer, natural_number

OMPI_COMPONENTS = "ompi_info --parsable"
MPICH_VERSION = "mpichversion"
UCX_VERSION = "ucx_info -v"
UCX_DEVICES = "ucx_info -d"
FABRIC_VERSION = "fi_info --version"
FABRIC_PROVIDERS = "fi_info -l"
LAUNCHERS = frozenset({"Hydra"})
"""Programs that start MPI jobs and are not libraries."""
COMPONENT = re.compile(r"mca:([^:]+):([^:]+)")
DEVICE = re.compile(r"MPICH Device:\s*(\S+)")
UCX = re.compile(r"# (?:Library version: |UCT version=)(\S+).*")
UCX_PART = re.compile(r"#\s*(Transport|Device):\s*(\S+)")
FABRIC = re.compile(r"libfabric: (\S+)")
CONFIGURED = {
    "Open MPI": (OMPI_COMPONENTS, re.compile(r"config:cli:(.*)")),
    "MPICH": (MPICH_VERSION, re.compile(r"MPICH configure:(.*)")),
    "MVAPICH": (MPICH_VERSION, re.compile(r"MVAPICH\S{0,60} configure:(.*)")),
}
"""Which program says how an MPI was configured, and in which line."""
ASKED_FOR = re.compile(r"--with-(\w{1,40})(?:=(\S{1,400}))?(?=\s|$)")
CARRIERS = {
    "psm": {"psm"},
    "psm2": {"psm2"},
    "ofi": {"ofi"},
    "libfabric": {"ofi"},
    "ucx": {"ucx"},
    "verbs": {"openib"},
    "mxm": {"mxm", "yalla"},
    "portals4": {"portals4"},
    "usnic": {"usnic"},
    "hcoll": {"hcoll"},
    "fca": {"fca"},
}
"""Option of configure -> components, any of which carries what it asks for."""
PROVIDER = re.compile(r"(\S{1,100}):")


def read_libraries(frame: Frame) -> tuple[Library | Unknown, ...]:
    """Each once: MPIs in the order their commands name them, then UCX and libfabric; unknown words as Unknown."""
    components: dict[str, Callable[[Frame], dict[str, tuple[str, ...]]]] = {"Open MPI": _open_mpi, "MPICH": _mpich}
    libraries: list[Library | Unknown] = []
    for name, version in mpi_names(frame):
        if not name:
            libraries.append(Unknown(word=version))
        elif name not in LAUNCHERS:
            inside = components[name](frame) if name in components else {}
            line = _configured(frame, name)
            lacks = _lacking(line, inside)
            libraries.append(Library(name=name, version=version, components=inside, configure=line, lacks=lacks))
    ucx = _version(frame, UCX_VERSION, UCX, "UCX", _ucx(frame))
    fabric = _version(frame, FABRIC_VERSION, FABRIC, "libfabric", _providers(frame))
    return (*libraries, *ucx, *fabric)


def _version(
    frame: Frame, command: str, words: re.Pattern[str], name: str, components: dict[str, tuple[str, ...]]
) -> tuple[Library | Unknown, ...]:
    lines = [line.strip() for line in answer(frame, command)]
    versions = [match[1] for line in lines if (match := words.fullmatch(line))]
    if versions:
        return (Library(name=name, version=versions[0], components=components),)
    return (Unknown(word=lines[0][:80]),) if lines and lines[0] else ()


def _configured(frame: Frame, name: str) -> str:
    """What configure was called with; empty where its program does not say."""
    command, pattern = CONFIGURED.get(name, ("", re.compile("")))
    lines = answer(frame, command) if command else ()
    return next((match[1].replace("'", "").strip() for line in lines if (match := pattern.match(line))), "")


def _lacking(configure: str, components: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Transports that were asked for; nothing where the components are not known."""
    if not components:
        return ()
    inside = {re.split(r"[:,]", part)[-1] for parts in components.values() for part in parts}
    wanted = {word for word, value in ASKED_FOR.findall(configure) if value != "no"}
    return tuple(sorted(word for word in wanted if word in CARRIERS and not inside & CARRIERS[word]))


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
    by_kind: defaultdict[str, set[str]] = defaultdict(set)
    for framework, component in pairs:
        by_kind[framework].add(component)
    return {framework: tuple(sorted(by_kind[framework])) for framework in sorted(by_kind)}


MPI_COMMANDS = ("mpirun --version", "ompi_info --version", "mpichversion", "mpiexec --version")


MPI_WORDS = (
    (re.compile(r"mpi(?:run|exec) \(Open MPI\) (\S+)"), "Open MPI"),
    (re.compile(r"Open MPI v(\S+)"), "Open MPI"),
    (re.compile(r"MPICH Version:\s*(\S+)"), "MPICH"),
    (re.compile(r"MVAPICH\S{0,60}(?: MPI)? Version\s*:\s*(\S+)", re.IGNORECASE), "MVAPICH"),
    (re.compile(r"Intel\(R\) MPI Library .{0,80}Version (\S+)"), "Intel MPI"),
    (re.compile(r"\s{1,40}Version:\s+(\S+)"), "Hydra"),
)


def mpi_versions(frame: Frame) -> tuple[str, ...]:
    """Each MPI once ("Open MPI 4.1.4"), in the order the commands name them; an unknown one as it was printed."""
    return tuple(f"{name} {version}" if name else version for name, version in mpi_names(frame))


def mpi_names(frame: Frame) -> tuple[tuple[str, str], ...]:
    """(Name, version) of each MPI; if the words are unknown, they are the version and the name is ""."""
    names: dict[tuple[str, str], None] = {}
    for command in MPI_COMMANDS:
        lines = answer(frame, command)
        unknown = ("", lines[0].strip()[:80]) if lines else ("", "")
        name_and_version = next(filter(None, map(_known, lines)), unknown)
        if name_and_version[1]:
            names[name_and_version] = None
    return tuple(names)


def _known(line: str) -> tuple[str, str] | None:
    for pattern, name in MPI_WORDS:
        if match := pattern.match(line):
            return name, match[1]
    return None


# The files of the MPI programs, and which of them are the same build.

FILES = "cksum mpi-files"
ASKED = "mpi-files"
Build = tuple[int, int | None]
"""Bytes, and the checksum where all compared nodes have one."""


def read_mpi_files(frame: Frame) -> tuple[MpiFile, ...]:
    """Each once by its name, in the stream's order; lines that are none are passed over."""
    output = frame.commands.get(FILES)
    files: dict[str, MpiFile] = {}
    for line in output.lines if output is not None else ():
        name, _, rest = line.partition(" ")
        file = parse_file(rest, name)
        if name and file is not None and file.size_bytes is not None:
            files.setdefault(name, file)
    return tuple(files.values())


def parse_file(text: str, name: str = "") -> MpiFile | None:
    """`CHECKSUM BYTES PATH`, as cksum prints it; None without a path. A text that is not a number counts as unknown."""
    checksum, _, rest = text.partition(" ")
    size, _, path = rest.partition(" ")
    if not path.startswith("/"):
        path = rest if rest.startswith("/") else ""
    numbers = natural_number(checksum), natural_number(size)
    return MpiFile(name=name, path=path, checksum=numbers[0], size_bytes=numbers[1]) if path else None


def builds(files: Mapping[str, MpiFile]) -> dict[str, Build]:
    """Node -> what distinguishes builds of a file; nodes that do not report its size are left out.

    Its path does not count. By size alone where a node has no checksum.
    """
    sized = {node: file for node, file in files.items() if file.size_bytes is not None}
    summed = all(file.checksum is not None for file in sized.values())
    return {
        node: (file.size_bytes, file.checksum if summed else None)
        for node, file in sized.items()
        if file.size_bytes is not None
    }


def told(file: MpiFile) -> str:
    """Path, size and checksum for a reader."""
    marks = [f"{file.size_bytes} bytes"] if file.size_bytes is not None else []
    marks += [f"checksum {file.checksum}"] if file.checksum is not None else []
    return f"{file.path} ({', '.join(marks)})" if marks else file.path


def told_apart(files: Mapping[str, MpiFile]) -> dict[str, list[str]]:
    """Each build, as `told` describes it, and the nodes that have it: one entry where all have the same."""
    nodes_of: dict[Build, list[str]] = {}
    for node, build in builds(files).items():
        nodes_of.setdefault(build, []).append(node)
    return {told(files[nodes[0]]): nodes for nodes in nodes_of.values()}


# Settings of MPI and of its transports, from files and from the environment of a job on the node.

SYSTEM_FILE = "openmpi-mca-params.conf"
USER_FILE = "~/.openmpi/mca-params.conf"
NAMED = "mca_base_param_files "
"""Before each file that the variable of this name gives Open MPI instead of the system's and the user's."""
UCX_FILE = "ucx.conf"
ENVIRONMENT = "environment of an MPI"
OVERRIDE = "openmpi-mca-params-override.conf"
"""The system's file, whose settings win over the environment."""
MCA = "OMPI_MCA_"
NOTHING_SET = "no settings file sets anything"


def read_mpi_settings(frame: Frame) -> dict[str, str]:
    """Name -> value: Open MPI's parameters by their names, all else as environment variables.

    The last line of a name counts; the user's own file wins over the system's, the environment over these, and the
    system's override over all, as in Open MPI.
    """
    settings: dict[str, str] = {}
    for path in _ordered(frame):
        for line in frame.files[path]:
            name, equals, value = line.partition("=")
            if equals and name.strip():
                settings[name.strip().removeprefix(MCA)] = value.strip()
    return dict(sorted(settings.items()))


def is_variable(name: str) -> bool:
    """Whether it is an environment variable (UCX_TLS); Open MPI's parameters (btl) are in small letters."""
    return name.isupper()


def why_no_settings(frame: Frame) -> str:
    """NOTHING_SET where files were looked for and set nothing; else why they were not looked for."""
    looked = list(_ordered(frame)) or frame.reason(SYSTEM_FILE).endswith("no such file")
    return NOTHING_SET if looked else frame.reason(SYSTEM_FILE)


def _ordered(frame: Frame) -> Iterator[str]:
    """The later one wins."""
    files = sorted(frame.files)
    named = [path for path in frame.files if path.startswith(NAMED)]
    usual = [path for path in files if _name(path) == SYSTEM_FILE and path not in named]
    yield from (path for path in files if _name(path) == UCX_FILE and path not in named)
    yield from reversed(named) if named else (*usual, *(path for path in files if path == USER_FILE))
    yield from (path for path in files if path == ENVIRONMENT)
    yield from (path for path in files if _name(path) == OVERRIDE and path not in named)


def _name(path: str) -> str:
    return path.rpartition("/")[2]
