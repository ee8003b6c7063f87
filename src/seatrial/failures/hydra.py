"""mpiexec of MPICH, Intel MPI and MVAPICH2 (Hydra), and what it starts on the other nodes."""

from seatrial.failures.cause import Cause

PROXY = r"\[proxy:\d+(?::\d+)?@([\w.-]+)\]"

HYDRA = (
    Cause(
        look=r"HYD\w*(?:create_process|spawn)[^\n]*execvp error on file (?:\S*/)?(srun|ssh|rsh|hydra_\w+)\b",
        meaning=r"mpiexec does not find \1, by which it reaches the other nodes.",
        remedy="Put it on PATH; or start by srun, with an MPI that was built for one of its --mpi types.",
    ),
    Cause(
        look=r"HYD\w*(?:create_process|spawn)[^\n]*execvp error on file ([^\n]*?) \(No such file or directory\)",
        meaning=r"the program \1 is not there on {nodes}.",
        remedy="Install it there, or name one in a folder that all nodes share; a script needs its "
        "interpreter before it.",
        where=(PROXY,),
    ),
    Cause(
        look=r"HYD\w*(?:create_process|spawn)[^\n]*execvp error on file ([^\n]*?) \(Permission denied\)",
        meaning=r"the program \1 may not be run on {nodes}.",
        remedy="Look whether it is mounted noexec there, and whether you may read and run it.",
        where=(PROXY,),
    ),
    Cause(
        look=r"unable to (change wdir to [^\n]*)",
        meaning=r"the folder that one stands in is not there on {nodes} (\1).",
        remedy="Start it from a folder that all nodes share.",
        where=(PROXY,),
    ),
    Cause(
        look=r"[Uu]nable to run (?:bstrap_)?proxy on [\w.-]+|[Uu]nable to run bstrap_proxy"
        r"|hydra_bstrap_proxy or it crashed",
        meaning="Intel MPI's mpirun cannot start its own daemon on {nodes}.",
        remedy="Set I_MPI_HYDRA_BOOTSTRAP=slurm within an allocation, look whether Intel MPI is installed there in the "
        "same folder, and whether ssh works without a password; or use srun with I_MPI_PMI_LIBRARY.",
        where=(r"[Uu]nable to run (?:bstrap_)?proxy on ([\w.-]+)",),
    ),
    Cause(
        look=r"This (?:program|application) was not built to run (?:i|o)n (your system|the processor in your system)"
        r"|(processor support Intel\S* [^\n]*) instructions",
        meaning="the program was built for a newer processor than is in {nodes}.",
        remedy="Build it for the oldest processor of the partition (-x, -march), or choose nodes that are alike by "
        "--nodes.",
        where=(r"srun: error: ([\w.,\[\]-]+): tasks? [\d,-]+:", PROXY),
    ),
)
