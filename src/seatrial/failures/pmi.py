"""The launcher and the MPI do not find each other (PMI, PMIx); failures of Hydra, the mpiexec of the MPICH family."""

from seatrial.failures.cause import Cause, wrapped

NOT_KNOWN = "the launcher and this MPI do not know each other, so its ranks did not find each other."
CHOOSE = (
    "`seatrial doctor` tries every --mpi that srun offers and reports which work; without Slurm use the mpirun of the "
    "same MPI as mpicc."
)
STEPD = r"mpi/pmix\w*: \w+: ([\w.-]+) \[\d+\]:"
STEPD_NAMED = r"slurmstepd-([\w.-]+): error:[^\n]*mpi/pmix"

PMI = (
    Cause(
        look=f"({wrapped('OMPI was not built with SLURM')}'s\\s+PMI\\s+support)",
        meaning=r"the launcher and this Open MPI do not know each other (\1), so its ranks did not find each other.",
        remedy=CHOOSE,
        other_mpi_type=True,
    ),
    Cause(
        look=r"PMI server not found|Please set I_MPI_PMI_LIBRARY",
        meaning="Intel MPI was given no PMI, so its ranks did not find each other.",
        remedy="Set I_MPI_PMI_LIBRARY to Slurm's libpmi2.so (or libpmi.so), and choose --mpi pmi2.",
    ),
    Cause(
        look=r"(pmi/pmix: (?:can not load PMIx library|incorrect PMIx library version)[^\n]*"
        r"|mpi_pmix\w*\.so[^\n]*cannot open shared object file)",
        meaning=r"Slurm's PMIx plugin does not find the PMIx library that it was built with (\1).",
        remedy="Install that version of PMIx where srun and slurmd run, and start with an LD_LIBRARY_PATH that hides "
        "none; or choose another --mpi.",
        other_mpi_type=True,
    ),
    Cause(
        look=r"Invalid MPI type '([^']*)'|[Cc]ouldn't find the specified plugin name for mpi/(\w+)",
        meaning=r"Slurm knows no MPI type '\1'.",
        remedy="srun --mpi=list shows those it knows.",
    ),
    Cause(
        look=r"(mpi/pmix[^\n]*: (?:Address already in use|Cannot bind[^\n]*))",
        meaning=r"Slurm's PMIx cannot open its socket on {nodes} (\1).",
        remedy="A process of an earlier job holds it, or two slurmd share a /tmp: read slurmd's spool and TmpDir.",
        where=(STEPD_NAMED, STEPD),
    ),
    Cause(
        look=r"mpi/pmix\w*:[^\n]*?(PMIx_server_init failed[^\n]*|[Cc]an(?:not|'t) create[^\n]*|mkdir[^\n]*failed[^\n]*"
        r"|No space left on device|pmixp_stepd_init\(\) failed)",
        meaning=r"Slurm's PMIx cannot set itself up on {nodes} (\1).",
        remedy="Check whether slurmd's spool folder and /tmp are full or read-only there, and read slurmd's log; or "
        "choose another --mpi.",
        where=(STEPD_NAMED, STEPD),
        other_mpi_type=True,
    ),
    Cause(
        look=r"(mpi/pmi2: (?:invalid PMI1 init|failed to parse|request not begin|value not properly|no value for)"
        r"[^\n]*)",
        meaning=r"Slurm's pmi2 does not understand what the ranks say (\1): they were built for another PMI.",
        remedy=CHOOSE,
        other_mpi_type=True,
    ),
    Cause(
        look=r"(No PMIx server was reachable, but a PMI1/2 was detected)",
        meaning=r"each rank came up alone, as a world of one (\1): Open MPI 5 supports only PMIx.",
        remedy=f"Start it by --mpi=pmix. {CHOOSE}",
        other_mpi_type=True,
    ),
    Cause(
        look=r"(requires access to a local PMIx server to execute|uses unsupported PMI version \w+)",
        meaning=r"the launcher and this MPI do not know each other (\1), so its ranks did not find each other.",
        remedy=CHOOSE,
        other_mpi_type=True,
    ),
    Cause(
        look=r"(PMII_singinit: execv failed|write_line error; fd=-1 buf=:cmd=(?!abort)\w+)",
        meaning=r"each rank came up alone, as a world of one (\1): this MPICH sees no PMI of its launcher.",
        remedy=CHOOSE,
        other_mpi_type=True,
    ),
    Cause(
        look=r"\bPMI[2xX]?_\w+ returned -?\d|PMI\w*_Init[^\n]{0,200}failed|PMI_Get_\w+ (?:returned|\[)"
        r"|_pmi_(?:mmap|inet)\w*:[^\n]*(?:[Ff]ailed|failure)",
        meaning=NOT_KNOWN,
        remedy=CHOOSE,
        other_mpi_type=True,
    ),
    Cause(
        look=r"OPAL ERROR: (Unreachable|Not found) in file \S*(?:pmix\w*|ext\d\w*|s[12])_client\.c",
        meaning=NOT_KNOWN,
        remedy=CHOOSE,
        other_mpi_type=True,
    ),
    Cause(
        look=r"MPI\s+runtime\s+init\s+failed[\s\S]{0,600}?\n\s+((?:node rank|local rank|(?:num )?local \w+|job size"
        r"|universe size|[\w ]+)\n\s+--> Returned[^\n]*)",
        meaning=r"Open MPI did not receive from its launcher what it needs (\1): their PMIx do not fit together.",
        remedy="Use an Open MPI that was built with Slurm's own PMIx (--with-pmix), or choose another --mpi: "
        "`seatrial doctor` tries them.",
        other_mpi_type=True,
    ),
    Cause(
        look=r"Framework:\s+psec\s+Component:\s+(\w+)",
        meaning=r"PMIx cannot open its component \1, which authenticates ranks.",
        remedy="Set PMIX_MCA_psec=native, or install munge's library where the ranks run (in the container, too).",
    ),
    Cause(
        look=r"MPI plugin's pre-launch setup failed|Failed mpi_hook_slurmstepd_prefork|Invalid MPI plugin name",
        meaning="Slurm's own part of MPI's start (its --mpi plugin) failed.",
        remedy="Choose another --mpi, or read slurmd's log on the nodes; often its PMIx library is missing there.",
        other_mpi_type=True,
    ),
)

UNREACHABLE = (
    Cause(
        look=r"mpi/pmix\w*:[^\n]*?(send failed, rc=[^\n]*|Can(?:not| not) (?:send message|establish)[^\n]*"
        r"|Unable to connect to[^\n]*|collective timeout[^\n]*|unexpected contrib from[^\n]*)",
        meaning=r"Slurm's PMIx on {nodes} does not reach the PMIx of the other nodes (\1).",
        remedy="Check whether a firewall lets the nodes speak to each other on all ports, and whether all have the "
        "same PMIx; or choose another --mpi (`seatrial doctor` tries them).",
        where=(STEPD,),
        other_mpi_type=True,
    ),
)
"""Also what the PMIx of the healthy nodes writes when the program could not start on one node: every cause of that
comes first."""

PROXY = r"\[proxy:\d+(?::\d+)?@([\w.-]+)\]"

HYDRA = (
    Cause(
        look=r"HYD\w*(?:create_process|spawn)[^\n]*execvp error on file (?:\S*/)?(srun|ssh|rsh|hydra_\w+)\b",
        meaning=r"mpiexec does not find \1, by which it reaches the other nodes.",
        remedy="Put it on PATH; or start by srun, with an MPI that was built for one of its --mpi types.",
    ),
    Cause(
        look=r"HYD\w*(?:create_process|spawn)[^\n]*execvp error on file ([^\n]*?) \(No such file or directory\)",
        meaning=r"the program \1 does not exist on {nodes}.",
        remedy="Install it there, or name one in a folder that all nodes share; a script needs its "
        "interpreter before it.",
        where=(PROXY,),
    ),
    Cause(
        look=r"HYD\w*(?:create_process|spawn)[^\n]*execvp error on file ([^\n]*?) \(Permission denied\)",
        meaning=r"the program \1 may not be run on {nodes}.",
        remedy="Check whether it is mounted noexec there, and whether you may read and run it.",
        where=(PROXY,),
    ),
    Cause(
        look=r"unable to (change wdir to [^\n]*)",
        meaning=r"the current folder does not exist on {nodes} (\1).",
        remedy="Start it from a folder that all nodes share.",
        where=(PROXY,),
    ),
    Cause(
        look=r"[Uu]nable to run (?:bstrap_)?proxy on [\w.-]+|[Uu]nable to run bstrap_proxy"
        r"|hydra_bstrap_proxy or it crashed",
        meaning="Intel MPI's mpirun cannot start its own daemon on {nodes}.",
        remedy="Set I_MPI_HYDRA_BOOTSTRAP=slurm within an allocation, check whether Intel MPI is installed there in "
        "the "
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
