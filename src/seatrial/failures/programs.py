"""The program is not there, or not to be run."""

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
        meaning=r"the probe \1 is not there on {nodes}.",
        remedy="Name a folder that all nodes share with --probe-dir.",
        where=NOT_THERE,
    ),
    Cause(
        look=r"execve\(\): ([^:\n]*): No such file or directory",
        meaning=r"the program \1 is not there on {nodes}.",
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
        remedy="Look whether it is mounted noexec there, and whether you may read and run it.",
        where=NO_RIGHT,
    ),
    Cause(
        look=r"execve\(\): ([^:\n]*): Exec format error|(?<![^\s:])([^\s:]+): cannot execute(?: binary file)?: (?:Exec "
        r"format error|required file not found)",
        meaning=r"\1 is no program for the processors of {nodes}.",
        remedy="Build it on a node of that kind.",
        where=NO_FORMAT,
    ),
    Cause(
        look=r"execve\(\): ([^:\n]*): (?:Stale file handle|Input/output error|Transport endpoint is not connected)",
        meaning=r"the file system of the program \1 does not answer on {nodes}.",
        remedy="Look whether it is mounted there, and mount it again: df on that path.",
        where=(STEPD, ENDED.format(code="(?:5|107|116)")),
    ),
    Cause(
        look=r"run was unable to (?:find the specified executable file|launch the specified application as it could not"
        r"\s+(?:access(?:\s+or\s+execute)?|find)\s+an\s+executable)[\s\S]{0,500}?Executable:\s+(\S+)",
        meaning=r"the program \1 is not there on {nodes}, or may not be run.",
        remedy="Install it there, or name one in a folder that all nodes share and that is not mounted noexec.",
        where=(OF_MPIRUN,),
    ),
    Cause(
        look=r"(Illegal instruction|CPU does not support x86-64-v\d|CPU ISA level is lower than required)",
        meaning=r"the program or its MPI uses instructions that the processors of {nodes} do not have (\1).",
        remedy="Build for the oldest processor of the partition (-march), or choose nodes that are alike by --nodes.",
        where=(r"srun: error: ([\w.,\[\]-]+): tasks? [\d,-]+: Illegal instruction", ON_NODE, ENDED.format(code=127)),
    ),
    Cause(
        look=r"(not enough space for \S+ ?\(the\s+shared-memory backing\s*file\)|system call failed during shared "
        r"memory initialization[\s\S]{0,400}?No space left on device)",
        meaning=r"the folder of shared memory (/dev/shm or /tmp) is full on {nodes}.",
        remedy="Remove there what ended jobs left in it (ls -l /dev/shm), and look how large it is: df -h "
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
