"""An environment cannot be entered: what modules, Spack, Guix, Nix and containers print then."""

import re

from seatrial.launch.causes.cause import Cause, first_cause
from seatrial.launch.causes.programs import PROGRAMS

LABEL = re.compile(r"^ *(\d+): ?(.*)$", re.MULTILINE)
"""What `srun --label` puts before each task's line."""
END = r"(?= While processing| Please contact| HINT| seatrial:| srun:|$)"
LONGEST = 300
SPIDER = "`module spider NAME` lists its versions; MODULEPATH says where modules are looked for."
BY_HAND = "Load it by hand in a new shell: where that fails, too, the module is to be mended."

ENVIRONMENTS = (
    Cause(
        look=r"seatrial: there is no module command here",
        meaning="there is no module command: neither environment modules nor Lmod were found",
        remedy="Set MODULESHOME to the folder whose init/sh brings the command along.",
    ),
    Cause(
        look=r'The following module\(s\) are unknown: ("[^"]+"(?:,? "[^"]+")*)',
        meaning=r"Lmod knows no module \1",
        remedy=SPIDER,
    ),
    Cause(
        look=r'exist but cannot be loaded as requested: ("[^"]+"(?:,? "[^"]+")*)',
        meaning=r"Lmod has \1, and cannot load it before other modules are",
        remedy="`module spider NAME` says which, a compiler most often: name them first, as in module:gcc openmpi.",
    ),
    Cause(
        look=r'Cannot load module ("[^"]+" without these module\(s\) loaded: .+?)' + END,
        meaning=r"Lmod cannot load module \1",
        remedy="Name those modules first, as in module:gcc openmpi.",
    ),
    Cause(look=r"Lmod has detected the following error: (.+?)" + END, meaning=r"Lmod says: \1", remedy=BY_HAND),
    Cause(
        look=r"Unable to locate a modulefile for ('[^']*')",
        meaning=r"there is no module \1",
        remedy="`module avail` lists those there are; MODULEPATH says where they are looked for.",
    ),
    Cause(
        look=r"Loading (\S+) ERROR: Module cannot be loaded due to a conflict|Module '(\S+)' conflicts with",
        meaning=r"module \1 does not go with another that is loaded",
        remedy="Take one of them out of the SPEC, or unload it before (`module list`).",
    ),
    Cause(
        look=r"(?:Module |:)?ERROR:(?:\d+:)? (.+?)" + END,
        meaning=r"modules say: \1",
        remedy=BY_HAND,
    ),
    Cause(
        look=r"==> Error: (\S+) matches multiple packages",
        meaning=r"Spack has more than one \1",
        remedy="Say which: by a version (openmpi@4.1), or by a hash as `spack find --long` shows it (/abcdefg).",
    ),
    Cause(
        look=r"==> Error: (.+?)" + END, meaning=r"Spack says: \1", remedy="`spack find` lists what is installed."
    ),
    Cause(
        look=r"(bin/spack: (?:not found|No such file))",
        meaning="there is no spack on PATH, nor by SPACK_ROOT",
        remedy="Set SPACK_ROOT to the folder that Spack is in.",
    ),
    Cause(
        look=r"exec: (apptainer|singularity|guix): not found",
        meaning=r"there is no \1 here",
        remedy="Put it on PATH: of the node, where the environment is entered there (--wrap inside).",
    ),
    Cause(
        look=r"guix (?:shell|environment): error: (.+?)" + END,
        meaning=r"Guix says: \1",
        remedy="`guix search NAME` finds packages; a cluster's nodes also need GUIX_DAEMON_SOCKET.",
    ),
    Cause(
        look=r"FATAL: +(.+?)" + END,
        meaning=r"the container does not start: \1",
        remedy="The image has to be in a folder that all nodes share; what else it has to see is named by --bind.",
    ),
)  # fmt: skip
"""For text in one line, as Lmod breaks its own wherever the terminal ends."""


def why_not_entered(text: str) -> tuple[str, str] | None:
    """Meaning, without its full stop, and remedy; None where nothing in `text` is known.

    `text`: standard error, with or without `srun --label`; of several tasks the first is believed.
    """
    known = first_cause(ENVIRONMENTS, _in_one_line(text))
    if known is not None:
        return known[0][:LONGEST], known[1]
    program = first_cause(PROGRAMS, text)
    return (program[0].rstrip("."), program[1]) if program is not None else None


def _in_one_line(text: str) -> str:
    tasks = [task for task, _ in LABEL.findall(text)]
    first = [rest for task, rest in LABEL.findall(text) if task == tasks[0]] if tasks else text.splitlines()
    return " ".join(" ".join(first).split())
