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
        look=r"MPI plugin's pre-launch setup failed",
        meaning="Slurm's own part of MPI's start (its --mpi plugin) failed.",
        remedy="Choose another --mpi, or look into slurmd's log on the nodes; often its PMIx library is missing there.",
    ),
)
