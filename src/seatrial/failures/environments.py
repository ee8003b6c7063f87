"""Messages of modules, Spack, Guix, Nix and containers about an environment that cannot be entered."""

import re

from seatrial.failures.cause import Cause, first_cause, first_match
from seatrial.failures.plain_text import without_colours
from seatrial.failures.programs import LIBRARIES, PROGRAMS

LABEL = re.compile(r"^ *(\d+): ?(.*)$", re.MULTILINE)
"""The prefix that `srun --label` puts before each line of a task."""
END = r"(?= While processing| Please contact| HINT| seatrial:| srun:|$)"
LONGEST = 300
LONGEST_LINE = 20_000
OF_MPI = r"(?<!PMIX )(?<!OPAL )(?<!PRTE )(?<!PRRTE )(?<!ORTE )(?<!MPICH )"
SPIDER = "`module spider NAME` lists its versions; MODULEPATH says where modules are looked for."
BY_HAND = "Load it by hand in a new shell; if that fails, too, the module needs repair."

ENVIRONMENTS = (
    Cause(
        look=r"seatrial: there is no module command here",
        meaning="there is no module command: neither environment modules nor Lmod were found",
        remedy="Set MODULESHOME to the folder whose init/sh defines the command.",
    ),
    Cause(
        look=r'The following module\(s\) are unknown: ("[^"]+"(?:,? "[^"]+")*)',
        meaning=r"Lmod knows no module \1",
        remedy=SPIDER,
    ),
    Cause(
        look=r'exist but cannot be loaded as requested: ("[^"]+"(?:,? "[^"]+")*)',
        meaning=r"Lmod has \1, and other modules must be loaded before it",
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
        remedy="`module avail` lists the existing ones; MODULEPATH says where they are looked for.",
    ),
    Cause(
        look=r"Loading (\S+) ERROR: Module cannot be loaded due to a conflict|Module '(\S+)' conflicts with",
        meaning=r"module \1 conflicts with a loaded module",
        remedy="Remove one of them from the SPEC, or unload it first (`module list`).",
    ),
    Cause(
        look=rf"(?:Module |:)?{OF_MPI}ERROR:(?:\d+:)? (.+?)" + END,
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
        meaning="Spack is neither on PATH nor in SPACK_ROOT",
        remedy="Set SPACK_ROOT to the folder that Spack is in.",
    ),
    Cause(
        look=r"exec: (apptainer|singularity|guix): not found",
        meaning=r"\1 is not installed here",
        remedy="Put it on PATH: of the node, where the environment is entered there (--wrap inside).",
    ),
    Cause(
        look=r"guix(?: \w+)?: error: (.+?)" + END,
        meaning=r"Guix says: \1",
        remedy="`guix search NAME` finds packages; a cluster's nodes also need GUIX_DAEMON_SOCKET.",
    ),
    Cause(
        look=r"error: (cannot connect to (?:socket|daemon) at \S+.*?)" + END,
        meaning=r"Nix's daemon does not answer: \1",
        remedy="Start nix-daemon there, and check whether /nix is mounted; a cluster's nodes need a daemon each.",
    ),
    Cause(
        look=r"error: (flake \S+ does not provide attribute .+?)(?=,|" + END[3:],
        meaning=r"Nix says: \1",
        remedy="`nix search nixpkgs NAME` finds packages.",
    ),
    Cause(
        look=r"((?:Failed to create user namespace|[Mm]aximum number of user namespaces|unprivileged_userns_clone).*?)"
        + END,
        meaning=r"the container does not start, since that system gives users no namespaces of their own: \1",
        remedy="Have user.max_user_namespaces raised there (sysctl), or Apptainer installed with its setuid part.",
    ),
    Cause(
        look=r"FATAL: +(\S+: executable file not found in \$PATH)",
        meaning=r"the container does not have the program: \1",
        remedy="Give its full path inside the image; a folder of the node's is seen inside where --bind names it.",
    ),
    Cause(
        look=r"FATAL: +.*?(mount source \S+ doesn't exist)",
        meaning=r"the container is configured to mount a path that does not exist: \1",
        remedy="Mount it on that node, or take it out of --bind, APPTAINER_BIND and apptainer.conf.",
    ),
    Cause(
        look=r"FATAL: +(.+?)" + END,
        meaning=r"the container does not start: \1",
        remedy="The image has to be in a folder that all nodes share; what else it has to see is named by --bind.",
    ),
)  # fmt: skip
"""For text in one line, since Lmod wraps its own at the width of the terminal."""


def why_not_entered(text: str) -> tuple[str, str] | None:
    """Meaning, without its full stop, and remedy; None where nothing in `text` is known.

    `text`: standard error, with or without `srun --label`; of several tasks the first counts.
    """
    match = first_match(ENVIRONMENTS, _in_one_line(without_colours(text)))
    if match is not None:
        meaning, cause = match
        return meaning[:LONGEST], cause.remedy
    program = first_cause((*PROGRAMS, *LIBRARIES), text)
    return (program[0].rstrip("."), program[1]) if program is not None else None


def _in_one_line(text: str) -> str:
    tasks = [task for task, _ in LABEL.findall(text)]
    first = [rest for task, rest in LABEL.findall(text) if task == tasks[0]] if tasks else text.splitlines()
    return " ".join(" ".join(first)[:LONGEST_LINE].split())
