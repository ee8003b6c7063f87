"""A library of the program is not there, or another one: what the dynamic linker says."""

from seatrial.failures.cause import Cause
from seatrial.failures.programs import ENDED

BY_127 = (ENDED.format(code=127),)
BY_1 = (ENDED.format(code="(?:1|127)"),)
SAME_MODULE = "Load the same MPI module on the nodes as where the probe was built, and install it on all of them alike."

LIBRARIES = (
    Cause(
        look=r"(version `GLIBC_[\d.]+' not found)",
        meaning=r"the program was built against a newer C library than is on {nodes} (\1).",
        remedy="Build it on one of these nodes, or on the oldest system of the cluster; a container that is given the "
        "node's libraries needs an image of the same age.",
        where=BY_1,
    ),
    Cause(
        look=r"(version `[\w.]+' not found \(required by [^\n)]*\)|version [\w.]+ not defined in file \S+)",
        meaning=r"on {nodes} a library is older than the one the program was built with (\1).",
        remedy=SAME_MODULE,
        where=BY_1,
    ),
    Cause(
        look=r"error while loading shared libraries: ([^:\n]*): (?:file too short|invalid ELF header)",
        meaning=r"the library \1 is cut off on {nodes}.",
        remedy="Install its package there again.",
        where=BY_127,
    ),
    Cause(
        look=r"error while loading shared libraries: ([^:\n]*): (?:wrong ELF class|ELF file)",
        meaning=r"the library \1 that is found first on {nodes} is one for other processors.",
        remedy="Look at LD_LIBRARY_PATH: a folder of another architecture stands in it before the right one.",
        where=BY_127,
    ),
    Cause(
        look=r"error while loading shared libraries: ([^:\n]*): (?:cannot open shared object file: Permission denied"
        r"|failed to map segment from shared object[^\n]*)",
        meaning=r"the library \1 is there on {nodes}, and may not be used.",
        remedy="Look whether you may read it and its folders, whether they are mounted noexec, and at ulimit -v.",
        where=BY_127,
    ),
    Cause(
        look=r"error while loading shared libraries: ([^:\n]*): cannot (?!open)([^\n]*)",
        meaning=r"the library \1 cannot be loaded on {nodes}.",
        remedy="Run ldd on the program there; the library's own package says what it needs.",
        where=BY_127,
    ),
    Cause(
        look=r"error while loading shared libraries: ([^:\n]*):",
        meaning=r"the library \1 is missing on {nodes}.",
        remedy=SAME_MODULE,
        where=BY_127,
    ),
    Cause(
        look=r"symbol lookup error: [^\n]*undefined symbol: (\w+)",
        meaning=r"on {nodes} a library is of another version than the program was built with (no \1 in it).",
        remedy=SAME_MODULE,
        where=BY_127,
    ),
)
