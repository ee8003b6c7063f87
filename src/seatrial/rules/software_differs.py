"""software-differs: Slurm or MPI of other versions than on the peers, or a Slurm at odds with itself."""

import re
from collections.abc import Iterator

from seatrial.model.facts import NodeFacts
from seatrial.model.system import Library
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation
from seatrial.rules.peers import unlike_items

VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)+")
REMEDY = (
    "Install the same packages on all nodes and restart the daemons (slurmd keeps running as what it was when it "
    "was started); look at the software's path and modules where MPI differs."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Client against daemon on each node, then everything against the peers."""
    for node, known in readings.facts.items():
        client, daemon = version(known.software.slurm_client), version(known.software.slurm_daemon)
        if client and daemon and client != daemon:
            says = f"its Slurm commands are of version {client} and its slurmd of {daemon}"
            yield Violation(node=node, says=says, key=says, remedy=REMEDY)
    yield from unlike_items(readings, versions, REMEDY)


def version(text: str) -> str:
    """The numbers in a program's own words: slurm 23.11.4 -> 23.11.4; empty where there are none."""
    found = VERSION.search(text)
    return found[0] if found else ""


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
        **{f"its library {name}": ", ".join(sorted(found)) for name, found in libraries.items()},
    }


RULE = Rule(
    kind=FindingKind.SOFTWARE_DIFFERS,
    title="software differs",
    look=look,
    knows=lambda facts: bool(facts.software.slurm_client and facts.software.slurm_daemon),
)
