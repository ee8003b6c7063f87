"""The program or one of its libraries is missing, or may not or cannot run."""

from seatrial.failures.cause import Cause

STEPD = r"slurmstepd-([\w.-]+): error: execve"
ENDED = r"srun: error: ([\w.,\[\]-]+): tasks? [\d,-]+: Exited with exit code {code}\b"
NOT_THERE = (STEPD, ENDED.format(code=2))
NO_RIGHT = (STEPD, ENDED.format(code=13))
NO_FORMAT = (STEPD, ENDED.format(code="(?:8|126)"))
OF_MPIRUN = r"(?m)^[ \t]*Node:\s+(\S+)"
ON_NODE = r"with PID \d+ on node (\S+) exited on signal 4 "

PROGRAMS = (
    Cause(
        look=r"execve\(\): (\S*seatrial-probe): No such file or directory"
        r"|error: (?:[^\n]*?\s)?(/\S*seatrial-probe)[^\n]*No such file",
        meaning=r"the probe \1 does not exist on {nodes}.",
        remedy="Name a folder that all nodes share with --probe-dir.",
        where=NOT_THERE,
    ),
    Cause(
        look=r"execve\(\): ([^:\n]*): No such file or directory",
        meaning=r"the program \1 does not exist on {nodes}.",
        remedy="Install it there, or name one in a folder that all nodes share.",
        where=NOT_THERE,
    ),
    Cause(
        look=r"execve\(\): (\S*seatrial-probe): Permission denied",
        meaning=r"the probe \1 may not be run on {nodes}.",
        remedy="Name a folder that is not mounted noexec, and that you may read there, with --probe-dir.",
        where=NO_RIGHT,
    ),
    Cause(
        look=r"execve\(\): ([^:\n]*): Permission denied",
        meaning=r"the program \1 may not be run on {nodes}.",
        remedy="Check whether it is mounted noexec there, and whether you may read and run it.",
        where=NO_RIGHT,
    ),
    Cause(
        look=r"execve\(\): ([^:\n]*): Exec format error|(?<![^\s:])([^\s:]+): cannot execute(?: binary file)?: (?:Exec "
        r"format error|required file not found)",
        meaning=r"\1 is not a program for the processors of {nodes}.",
        remedy="Build it on a node of that kind.",
        where=NO_FORMAT,
    ),
    Cause(
        look=r"execve\(\): ([^:\n]*): (?:Stale file handle|Input/output error|Transport endpoint is not connected)",
        meaning=r"the file system of the program \1 does not answer on {nodes}.",
        remedy="Check whether it is mounted there, and mount it again: df on that path.",
        where=(STEPD, ENDED.format(code="(?:5|107|116)")),
    ),
    Cause(
        look=r"run(?:\.\w+)? was unable to (?:find the specified executable file|launch the specified application as "
        r"it could not\s+(?:access(?:\s+or\s+execute)?|find)\s+an\s+executable)[\s\S]{0,500}?Executable:\s+(\S+)",
        meaning=r"the program \1 does not exist on {nodes}, or may not be run.",
        remedy="Install it there, or name one in a folder that all nodes share and that is not mounted noexec.",
        where=(OF_MPIRUN,),
    ),
    Cause(
        look=r"(Illegal instruction|CPU does not support x86-64-v\d|CPU ISA level is lower than required)",
        meaning=r"the program or its MPI uses instructions that the processors of {nodes} do not have (\1).",
        remedy="Build for the oldest processor of the partition (-march), or choose nodes of the same model by "
        "--nodes.",
        where=(r"srun: error: ([\w.,\[\]-]+): tasks? [\d,-]+: Illegal instruction", ON_NODE, ENDED.format(code=127)),
    ),
    Cause(
        look=r"(not enough space for \S+ ?\(the\s+shared-memory backing\s*file\)|system call failed during shared "
        r"memory initialization[\s\S]{0,400}?No space left on device)",
        meaning=r"the folder of shared memory (/dev/shm or /tmp) is full on {nodes}.",
        remedy="Remove there what ended jobs left in it (ls -l /dev/shm), and check how large it is: df -h "
        "/dev/shm /tmp.",
        where=(r"Local host:\s+(\S+)",),
    ),
    Cause(
        look=r"oom[-_ ]kill|Out Of Memory|Exceeded job memory limit|exceeded memory limit",
        meaning="the job's limit of memory killed it on {nodes}.",
        remedy="Ask your site for the partition's DefMemPerNode, or take another --partition.",
        where=(r"srun: error: ([\w.,\[\]-]+): tasks? [\d,-]+: (?:Out Of Memory|Killed)",),
    ),
)

BY_127 = (ENDED.format(code=127),)
BY_1 = (ENDED.format(code="(?:1|127)"),)
SAME_MODULE = "Load the same MPI module on the nodes as where the probe was built, and install it on all of them alike."

LIBRARIES = (
    Cause(
        look=r"(version `GLIBC_[\d.]+' not found)",
        meaning=r"the program was built with a newer C library than {nodes} has (\1).",
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
        meaning=r"the library \1 is truncated on {nodes}.",
        remedy="Install its package there again.",
        where=BY_127,
    ),
    Cause(
        look=r"error while loading shared libraries: ([^:\n]*): (?:wrong ELF class|ELF file)",
        meaning=r"the library \1 that is found first on {nodes} was built for other processors.",
        remedy="Look at LD_LIBRARY_PATH: it lists a folder of another architecture before the right one.",
        where=BY_127,
    ),
    Cause(
        look=r"error while loading shared libraries: ([^:\n]*): (?:cannot open shared object file: Permission denied"
        r"|failed to map segment from shared object[^\n]*)",
        meaning=r"the library \1 exists on {nodes}, but may not be used.",
        remedy="Check whether you may read it and its folders, whether they are mounted noexec, and ulimit -v.",
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
        meaning=r"on {nodes} a library has another version than the one the program was built with (it lacks \1).",
        remedy=SAME_MODULE,
        where=BY_127,
    ),
)
