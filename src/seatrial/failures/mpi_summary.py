"""What MPI says of itself where nothing tells more."""

from seatrial.failures.cause import Cause

AGREES = r"(?m)^\[([\w.-]+):\d+\]"
TASK = r"srun: error: ([\w.,\[\]-]+): tasks? [\d,-]+: Bus error"

LAST = (
    Cause(
        look=r"(?:tasks? [\d,-]+: |Signal: |Caught signal 7 \()(Bus error)",
        meaning=r"MPI could not use memory that it had been given on {nodes} (\1): /dev/shm is full, most often.",
        remedy="Look there how large and how full it is (df -h /dev/shm), and remove what ended jobs left in it.",
        where=(TASK, AGREES),
    ),
    Cause(
        look=r"looks like (?!MPI_INIT|MPI_Init|ompi_mpi_init)\w+ failed for[\s\S]{0,700}?\n\s+(\w[^\n]*)\n\s+-->",
        meaning=r"Open MPI cannot set itself up on {nodes} (\1).",
        remedy="Look whether all of it is installed there (`ompi_info` must run without an error), and whether /tmp "
        "can be written.",
        where=(AGREES,),
    ),
    Cause(
        look=r"looks like \w+ failed for[\s\S]{0,700}?\n\s+(\w[^\n]*\n\s+--> Returned[^\n]*)",
        meaning=r"Open MPI's MPI_Init failed on {nodes} (\1).",
        remedy="See what it chose and dropped: OMPI_MCA_pml_base_verbose=10 OMPI_MCA_mtl_base_verbose=10 "
        "OMPI_MCA_btl_base_verbose=10; `seatrial doctor` tries every --mpi.",
        where=(AGREES,),
    ),
    Cause(
        look=r"(Local abort before MPI_INIT completed)",
        meaning="MPI_Init failed on {nodes}, and under srun this Open MPI keeps to itself why.",
        remedy="See what steers it (env | grep OMPI_MCA; openmpi-mca-params.conf); started by the mpirun beside its "
        "mpicc within an allocation it tells more.",
        where=(AGREES,),
    ),
    Cause(
        look=r"Fatal error in (?:internal_|P)?(?:MPI_)?Init[\s\S]{0,1500}?\)\.*:\s+(?!MPI_Init|fail failed|channel "
        r"init)([^\n]*(?:failed|failure|[Ii]nvalid|[Uu]nable|[Cc]annot|[Ee]rror)[^\n]*)",
        meaning=r"MPI_Init failed (\1).",
        remedy="MPICH_DBG or I_MPI_DEBUG=10 tells more; `seatrial transports` shows which devices there are, and "
        "`seatrial doctor` tries every --mpi.",
    ),
)
