"""Rules about software: versions of Slurm, MPI and libraries, MPI builds, MPI settings."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from seatrial.model.facts import NodeFacts
from seatrial.model.system import Library, MpiFile
from seatrial.model.verdict import FindingKind
from seatrial.node.mpi import NOTHING_SET, Build, builds
from seatrial.node.mpi import told as described
from seatrial.rules.base import Readings, Rule, Violation, on_each_node
from seatrial.rules.peers import compare_tables, compare_values, items_differ

VERSION = re.compile(r"(?<![0-9.])[0-9]{1,18}(?:\.[0-9]{1,18})+")
LIBRARY_OF_FILE = {"libucp": "UCX", "libfabric": "libfabric"}
"""File -> the library that it belongs to; other files belong to the MPI."""
WITHOUT_VERSION = frozenset({"libpmix"})
SETTINGS_FACT = "software.mpi_settings"
NOT_SET = "none"


def unlike_versions(readings: Readings) -> Iterator[Violation]:
    """Slurm's commands against the daemon on each node, then everything against the peers."""
    for node, facts in readings.facts.items():
        client, daemon = version(facts.software.slurm_client), version(facts.software.slurm_daemon)
        if client and daemon and client != daemon:
            clause = f"its Slurm commands have version {client} and its slurmd {daemon}"
            yield Violation(node=node, clause=clause, key=(client, daemon))
    yield from items_differ(versions)(readings)


def version(text: str) -> str:
    """The number in a program's output: slurm 23.11.4 -> 23.11.4; empty if there is none."""
    match = VERSION.search(text)
    return match[0] if match else ""


def versions(facts: NodeFacts) -> dict[str, str | None]:
    """Program -> version."""
    libraries: dict[str, list[str]] = {}
    for library in facts.software.libraries:
        if isinstance(library, Library) and library.version:
            libraries.setdefault(library.name, []).append(library.version)
    return {
        "its Slurm": version(facts.software.slurm_client),
        "its slurmd": version(facts.software.slurm_daemon),
        "its MPI": ", ".join(sorted(facts.mpi_versions)),
        **{f"its library {name}": ", ".join(sorted(numbers)) for name, numbers in libraries.items()},
    }


def unlike_mpi_files(readings: Readings) -> Iterator[Violation]:
    """File by file, among peers that report the same version: other versions are the subject of software-differs."""
    for group in readings.peers:
        comparable: defaultdict[tuple[str, str], dict[str, MpiFile]] = defaultdict(dict)
        for node in group:
            for file in readings.facts[node].software.mpi_files:
                comparable[file.name, _version_of(readings.facts[node], file.name)][node] = file
        for (name, _), files in comparable.items():
            yield from unlike_builds(name, files)


def unlike_builds(name: str, files: Mapping[str, MpiFile]) -> Iterator[Violation]:
    """One file of nodes that should have the same."""
    by_node = builds(files)
    examples = {build: described(files[node]) for node, build in reversed(by_node.items())}

    def show(build: Build) -> str:
        return examples[build]

    yield from compare_values(by_node, f"its {name}", show=show)


def _version_of(facts: NodeFacts, file: str) -> str:
    if file in WITHOUT_VERSION:
        return ""
    if file in LIBRARY_OF_FILE:
        libraries = [library for library in facts.software.libraries if isinstance(library, Library)]
        return ", ".join(sorted(library.version for library in libraries if library.name == LIBRARY_OF_FILE[file]))
    return ", ".join(sorted(facts.mpi_versions))


def unlike_mpi_settings(readings: Readings) -> Iterator[Violation]:
    """Parameter by parameter; a parameter that nothing on a node sets is a difference, too."""
    for group in readings.peers:
        settings = {
            name: readings.facts[name].software.mpi_settings
            for name in group
            if reports_mpi_settings(readings.facts[name])
        }
        names = sorted({parameter for table in settings.values() for parameter in table})
        tables = {
            name: {f"its MPI setting {parameter}": table.get(parameter, NOT_SET) for parameter in names}
            for name, table in settings.items()
        }
        yield from compare_tables(tables)


def reports_mpi_settings(facts: NodeFacts) -> bool:
    """Whether the files of its MPIs were read."""
    return bool(facts.software.mpi_settings) or facts.absent.get(SETTINGS_FACT) == NOTHING_SET


MPI_SETTINGS = Rule(
    kind=FindingKind.MPI_SETTINGS_DIFFER,
    order=490,
    look=unlike_mpi_settings,
    knows=reports_mpi_settings,
    remedy="Give this node the same settings as the others: openmpi-mca-params.conf and "
    "openmpi-mca-params-override.conf in /etc/openmpi or in the etc folder of the MPI, ucx.conf, for one user "
    "~/.openmpi/mca-params.conf; and check what sets variables of jobs there, such as Slurm's TaskProlog.",
)


def transports_not_built(node: str, facts: NodeFacts) -> Iterator[Violation]:
    """Transports that the configure line of an MPI asks for and that none of its components carries."""
    for library in facts.software.libraries:
        if isinstance(library, Library) and library.lacks:
            lacks = " and ".join(library.lacks)
            yield Violation(
                node=node,
                clause=f"{library.name} {library.version} was configured with {lacks} and has no component for it",
                key=(library.name, library.version, library.lacks),
                brief=f"{library.name} {library.version} lacks {lacks}, which it was configured with",
            )


SOFTWARE = (
    Rule(
        kind=FindingKind.SOFTWARE_DIFFERS,
        order=470,
        look=unlike_versions,
        knows=lambda facts: bool(facts.software.slurm_client and facts.software.slurm_daemon),
        remedy="Install the same packages on all nodes and restart the daemons (slurmd keeps running the version that "
        "was started); check the software's path and modules if MPI differs.",
    ),
    Rule(
        kind=FindingKind.MPI_BUILD_DIFFERS,
        order=480,
        look=unlike_mpi_files,
        knows=lambda facts: bool(facts.software.mpi_files),
        remedy="Different files do not prove that one of them is slower; the measurements show whether this node is. "
        "Ranks of different builds may also hang or crash. Install the same package or module on all nodes (`dpkg -V`, "
        "`rpm -V` name files changed after installation), and check PATH and LD_LIBRARY_PATH if the folders differ.",
    ),
    MPI_SETTINGS,
)

SOFTWARE_NOTES = (
    Rule(
        kind=FindingKind.TRANSPORT_NOT_BUILT,
        order=920,
        look=on_each_node(transports_not_built),
        knows=lambda facts: any(isinstance(each, Library) and each.configure for each in facts.software.libraries),
        remedy="Install the development files of the transport and build MPI again, or take a package that has it; "
        "`seatrial link --transports` proves which transport carries messages now.",
    ),
)
