"""MPI and the launcher do not fit together."""

from seatrial.launch.causes.cause import Cause

NOT_KNOWN = "the launcher and this MPI do not know each other, so its ranks found nobody to join."
CHOOSE = (
    "`seatrial doctor` tries every --mpi that srun offers and tells which work; without Slurm use the mpirun of the "
    "same MPI as mpicc."
)

MPI = (
    Cause(
        look=r"(OMPI was not built with SLURM's PMI support)",
        meaning=r"the launcher and this Open MPI do not know each other (\1), so its ranks found nobody to join.",
        remedy=CHOOSE,
    ),
    Cause(look=r"PMI\w*_Init.*failed|PMI_Get_\w+ returned", meaning=NOT_KNOWN, remedy=CHOOSE),
    Cause(
        look=r"PMI server not found|Please set I_MPI_PMI_LIBRARY",
        meaning="Intel MPI was told of no PMI, so its ranks found nobody to join.",
        remedy="Set I_MPI_PMI_LIBRARY to Slurm's libpmi2.so (or libpmi.so), and choose --mpi pmi2.",
    ),
    Cause(
        look=r"Invalid MPI type '([^']*)'",
        meaning=r"Slurm knows no MPI type '\1'.",
        remedy="srun --mpi=list shows those it knows.",
    ),
    Cause(
        look=r"(mpi/pmix[^\n]*: (?:Address already in use|Cannot bind[^\n]*))",
        meaning=r"Slurm's PMIx cannot open its socket on {nodes} (\1).",
        remedy="A process of an earlier job holds it, or two slurmd share a /tmp: look into slurmd's spool and TmpDir.",
        where=r"slurmstepd-([\w.-]+): error:[^\n]*mpi/pmix",
    ),
    Cause(
        look=r"(opal_init|orte_init) failed",
        meaning=r"Open MPI cannot set itself up on {nodes} (\1 failed).",
        remedy="Look whether /tmp is full or read-only there, and whether all of Open MPI is installed, its plugins "
        "too: `ompi_info` must run there without an error.",
        where=r"(?m)^\[([\w.-]+):\d+\]",
    ),
    Cause(
        look=r"ORTE daemon has unexpectedly failed|lost communication with a remote daemon",
        meaning="mpirun's own daemon does not come up on {nodes}, or ends at once.",
        remedy="Use srun; or look whether Open MPI is installed there in the same folder, whether its /tmp can be "
        "written, and whether it reaches the node that mpirun runs on.",
        where=r"Remote daemon:[^\n]* on node (\S+)",
    ),
    Cause(
        look=r"plm_rsh_agent[^\n]*path\s+that could not be found",
        meaning="mpirun finds neither Slurm's srun nor ssh to reach the other nodes.",
        remedy="Put srun on PATH, or use an mpirun that was built with support for Slurm.",
    ),
    Cause(
        look=r"(tasks? \d[\d,-]*(?: \(on [^)]*\))?) launch failed: Unspecified error",
        meaning=r"slurmd could not begin \1, and only its log tells why.",
        remedy="Look into slurmd's log on that node; often Slurm's PMIx cannot write to its folder there (/tmp is full "
        "or read-only).",
    ),
    Cause(
        look=r"MPI plugin's pre-launch setup failed",
        meaning="Slurm's own part of MPI's start (its --mpi plugin) failed.",
        remedy="Choose another --mpi, or look into slurmd's log on the nodes; often its PMIx library is missing there.",
    ),
)
