"""The program or a library of it is not there, or not to be run."""

from seatrial.launch.causes.cause import Cause

STEPD = r"slurmstepd-([\w.-]+): error: execve"
EXITED_127 = r"srun: error: ([\w.,\[\]-]+): tasks? [\d,-]+: Exited with exit code 127"
SAME_MODULE = "Load the same MPI module on the nodes as where the probe was built, and install it on all of them alike."

PROGRAMS = (
    Cause(
        look=r"execve\(\): (\S*seatrial-probe): No such file or directory"
        r"|error: .*?(/\S*seatrial-probe)[^\n]*No such file",
        meaning=r"the probe \1 is not there on {nodes}.",
        remedy="Name a folder that all nodes share with --probe-dir.",
        where=STEPD,
    ),
    Cause(
        look=r"execve\(\): ([^:\n]*): No such file or directory",
        meaning=r"the program \1 is not there on {nodes}.",
        remedy="Install it there, or name one in a folder that all nodes share.",
        where=STEPD,
    ),
    Cause(
        look=r"execve\(\): (\S*seatrial-probe): Permission denied",
        meaning=r"the probe \1 may not be run on {nodes}.",
        remedy="Name a folder that is not mounted noexec, and that you may read there, with --probe-dir.",
        where=STEPD,
    ),
    Cause(
        look=r"execve\(\): ([^:\n]*): Permission denied",
        meaning=r"the program \1 may not be run on {nodes}.",
        remedy="Look whether it is mounted noexec there, and whether you may read and run it.",
        where=STEPD,
    ),
    Cause(
        look=r"execve\(\): ([^:\n]*): Exec format error",
        meaning=r"\1 is no program for the processors of {nodes}.",
        remedy="Build it on a node of that kind.",
        where=STEPD,
    ),
    Cause(
        look=r"(version `GLIBC_[\d.]+' not found)",
        meaning=r"the program was built against a newer C library than {nodes} have (\1).",
        remedy="Build it on one of these nodes, or on the oldest system of the cluster.",
        where=r"srun: error: ([\w.,\[\]-]+): tasks? [\d,-]+: Exited with exit code 1\b",
    ),
    Cause(
        look=r"error while loading shared libraries: ([^:\n]*): file too short",
        meaning=r"the library \1 is cut off on {nodes}.",
        remedy="Install its package there again.",
        where=EXITED_127,
    ),
    Cause(
        look=r"error while loading shared libraries: ([^:\n]*):",
        meaning=r"the library \1 is missing on {nodes}.",
        remedy=SAME_MODULE,
        where=EXITED_127,
    ),
    Cause(
        look=r"symbol lookup error: [^\n]*undefined symbol: (\w+)",
        meaning=r"on {nodes} a library is of another version than the program was built with (no \1 in it).",
        remedy=SAME_MODULE,
        where=EXITED_127,
    ),
    Cause(
        look=r"srun: error: [^\n]*: Illegal instruction",
        meaning="the program or its MPI uses instructions that the processors of {nodes} do not have.",
        remedy="Build for the oldest processor of the partition (-march), or choose nodes that are alike by --nodes.",
        where=r"srun: error: ([\w.,\[\]-]+): tasks? [\d,-]+: Illegal instruction",
    ),
    Cause(
        look=r"oom[-_ ]kill|Out Of Memory",
        meaning="the job's limit of memory killed it on {nodes}.",
        remedy="Ask your site for the partition's DefMemPerNode, or take another --partition.",
        where=r"srun: error: ([\w.,\[\]-]+): tasks? [\d,-]+: Out Of Memory",
    ),
)
