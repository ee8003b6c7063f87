"""mpi-build-differs: files of MPI that call themselves the same version as the peers' and are another build."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from seatrial.model.facts import NodeFacts
from seatrial.model.system import Library, MpiFile
from seatrial.model.verdict import FindingKind
from seatrial.node.mpi import Build, builds, told
from seatrial.rules.base import Readings, Rule, Violation
from seatrial.rules.peers import unlike_values

REMEDY = (
    "That files differ is no proof that one of them is slower, and the numbers tell whether this node is; ranks of "
    "different builds may also hang or crash. Install the same package or module on all nodes (`dpkg -V`, `rpm -V` "
    "name files changed after installation), and look at PATH and LD_LIBRARY_PATH where the folders differ."
)
OF_LIBRARY = {"libucp": "UCX", "libfabric": "libfabric"}
"""File -> the library whose version it is of; PMIx tells none, all others are of the MPIs'."""
OF_NONE = frozenset({"libpmix"})


def look(readings: Readings) -> Iterator[Violation]:
    """File by file, among peers that tell the same version of what it is of: other versions are software-differs."""
    for group in readings.peers:
        alike: defaultdict[tuple[str, str], dict[str, MpiFile]] = defaultdict(dict)
        for node in group:
            for file in readings.facts[node].software.mpi_files:
                alike[file.name, _version(readings.facts[node], file.name)][node] = file
        for (name, _), files in alike.items():
            yield from unlike_builds(name, files)


def unlike_builds(name: str, files: Mapping[str, MpiFile]) -> Iterator[Violation]:
    """One file of nodes that should have the same."""
    of = builds(files)
    examples = {build: told(files[node]) for node, build in reversed(of.items())}

    def show(build: Build) -> str:
        return examples[build]

    yield from unlike_values(of, f"its {name}", REMEDY, show=show)


def _version(facts: NodeFacts, name: str) -> str:
    if name in OF_NONE:
        return ""
    if name in OF_LIBRARY:
        libraries = [one for one in facts.software.libraries if isinstance(one, Library)]
        return ", ".join(sorted(one.version for one in libraries if one.name == OF_LIBRARY[name]))
    return ", ".join(sorted(facts.mpi_versions))


RULE = Rule(
    kind=FindingKind.MPI_BUILD_DIFFERS,
    title="MPI build differs",
    look=look,
    knows=lambda facts: bool(facts.software.mpi_files),
)
