"""mpirun of Open MPI and its daemons, and what an MPI reports about itself when nothing else is known."""

from seatrial.failures.cause import Cause, wrapped

RTE = r"(?:ORTE|PRTE|PRRTE|OpenRTE)"
AGREES = r"(?m)^\[([\w.-]+):\d+\]"

MPI = (
    Cause(
        look=r"\b(\w*run(?:\.\w+)?|prted|orted) has detected an attempt to run as root",
        meaning=r"\1 of Open MPI does not start anything as root.",
        remedy="Do it as another user; or, at your own risk, set OMPI_ALLOW_RUN_AS_ROOT=1 and "
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 (with Open MPI 5 PRTE_ALLOW_RUN_AS_ROOT, too, with its _CONFIRM).",
    ),
    Cause(
        look=wrapped(r"not enough slots available in the system to satisfy the (\d+)")
        + "|"
        + wrapped("All nodes which are allocated for this job are already filled"),
        meaning=r"mpirun has fewer slots than the ranks requested (\1).",
        remedy="Ask for fewer ranks, or start it within an allocation with as many tasks (salloc --ntasks=N): "
        "outside of "
        "one it has this machine's cores alone.",
    ),
    Cause(
        look=wrapped("(requested hosts are not included in the current allocation)")
        + "|"
        + wrapped("(no allocated resources for the application)")
        + "|"
        + wrapped("(unable to find an allocation for this job)"),
        meaning=r"mpirun was given nodes that are not in its allocation, or has none (\1).",
        remedy="Leave --host and --hostfile out within an allocation, or name nodes of it; check SLURM_JOB_NODELIST.",
    ),
    Cause(
        look=r"(detected a mismatch in versions between two processes|Data unpack (?:would read past end of buffer"
        r"|had inadequate space)|UI version string does not match proxy version"
        r"|did not identify itself correctly as an Open MPI process"
        r"|UNPACK-(?:PAST-END|INADEQUATE-SPACE|FAILURE)|received unexpected process identifier"
        r"|UCX +ERROR[^\n]*(?:failed to unpack address|address version mismatch)[^\n]*)",
        meaning=r"MPI is not the same version on all nodes, or mpirun is another MPI's than the program's (\1).",
        remedy="Install the same MPI on all nodes, and use the mpirun beside the mpicc that built the program "
        "(`which -a mpirun`; ompi_info on each node shows its version).",
        where=(AGREES,),
    ),
    Cause(
        look=r"(?m)^(?:\S*: line \d+: |\S*sh: (?:line \d+: )?)\S*?((?:orted|prted|hydra_\w+): "
        r"(?:command not found|No such file or directory|not found))",
        meaning=r"mpirun's own daemon does not exist on the other nodes (\1).",
        remedy="Install that MPI on all nodes in the same folder, or call mpirun by its full path (or with --prefix); "
        "or use srun.",
    ),
    Cause(
        look=r"ssh: Could not resolve hostname ([\w.-]+)",
        meaning=r"mpirun cannot resolve the name of the node \1.",
        remedy="Correct its name in --host or the hostfile, or in DNS and /etc/hosts; within an allocation leave both "
        "out.",
    ),
    Cause(
        look=r"(ssh: connect to host [^\n]*|Permission denied \([\w,-]*(?:publickey|password)[\w,-]*\)"
        r"|Host key verification failed)",
        meaning=r"mpirun cannot reach the other nodes by ssh (\1).",
        remedy="Use srun, or an mpirun that was built with support for Slurm and so needs none; or see that ssh to "
        "them works without a question.",
        where=(r"Remote host:\s+(\S+)",),
    ),
    Cause(
        look=f"An {RTE} daemon has unexpectedly failed|{RTE} has lost communication with a remote daemon"
        + "|"
        + wrapped("was unable to reliably start one or more daemons")
        + r"|A daemon failed to report back after being spawned|A daemon \(pid \w+\) died unexpectedly"
        + r"|A daemon died unexpectedly (?:with status|on signal) \d+"
        + f"|{RTE} (?:does not know how to route a message to|is unable to establish a communication connection to)",
        meaning="mpirun's own daemon does not come up on {nodes}, or ends at once.",
        remedy="Use srun; or check whether Open MPI is installed there in the same folder, whether its /tmp can be "
        "written, and whether it reaches the node that mpirun runs on.",
        where=(r"Remote daemon:[^\n]* on node (\S+)", r"target node:\s+(\S+)", r"Remote host:\s+(\S+)"),
    ),
    Cause(
        look=r"(?:PMIx|PRTE) detected a call to mkdir[\s\S]{0,120}?Directory:\s+(\S+)|unable to (?:write|create)"
        r"[^\n]*session ?directory",
        meaning=r"Open MPI cannot make the folder of its session on {nodes} (\1).",
        remedy="Check whether that file system is full or read-only there; set TMPDIR to a folder of the node's own.",
        where=(AGREES,),
    ),
    Cause(
        look=r"plm_(?:rsh|ssh)_agent[^\n]*path\s+that could not be found|unable to locate a\s+usable \"srun\" command"
        r"|No available launching agents were found",
        meaning="mpirun finds neither Slurm's srun nor ssh to reach the other nodes.",
        remedy="Put srun on PATH, or use an mpirun that was built with support for Slurm.",
    ),
    Cause(
        look=r"A daemon has no recorded node|node\s+was detected to be missing a daemon",
        meaning="a node's hostname differs from its name in Slurm, so mpirun lost its daemon there.",
        remedy="Give the nodes the hostnames that slurm.conf has for them; `seatrial doctor` compares them.",
    ),
    Cause(
        look=r"(opal_init|orte_init|prte_init|pmix_init|PMIx_Init) failed",
        meaning=r"Open MPI cannot set itself up on {nodes} (\1 failed).",
        remedy="Check whether /tmp is full or read-only there, and whether all of Open MPI is installed, its plugins "
        "too: `ompi_info` must run there without an error.",
        where=(AGREES,),
    ),
)

TASK = r"srun: error: ([\w.,\[\]-]+): tasks? [\d,-]+: Bus error"

LAST = (
    Cause(
        look=r"(?:tasks? [\d,-]+: |Signal: |Caught signal 7 \()(Bus error)",
        meaning=r"MPI could not use memory allocated to it on {nodes} (\1): usually /dev/shm is full.",
        remedy="Check its size and use there (df -h /dev/shm), and remove what ended jobs left in it.",
        where=(TASK, AGREES),
        transient=True,
    ),
    Cause(
        look=r"looks like (?!MPI_INIT|MPI_Init|ompi_mpi_init)\w+ failed for[\s\S]{0,700}?\n\s+(\w[^\n]*)\n\s+-->",
        meaning=r"Open MPI cannot set itself up on {nodes} (\1).",
        remedy="Check whether all of it is installed there (`ompi_info` must run without an error), and whether /tmp "
        "can be written.",
        where=(AGREES,),
        transient=True,
    ),
    Cause(
        look=r"looks like \w+ failed for[\s\S]{0,700}?\n\s+(\w[^\n]*\n\s+--> Returned[^\n]*)",
        meaning=r"Open MPI's MPI_Init failed on {nodes} (\1).",
        remedy="See what it chose and dropped: OMPI_MCA_pml_base_verbose=10 OMPI_MCA_mtl_base_verbose=10 "
        "OMPI_MCA_btl_base_verbose=10; `seatrial doctor` tries every --mpi.",
        where=(AGREES,),
        transient=True,
        other_mpi_type=True,
    ),
    Cause(
        look=r"(Local abort before MPI_INIT completed)",
        meaning="MPI_Init failed on {nodes}, and under srun this Open MPI does not report why.",
        remedy="See what sets it up (env | grep OMPI_MCA; openmpi-mca-params.conf); started by the mpirun beside its "
        "mpicc within an allocation it reports more.",
        where=(AGREES,),
        transient=True,
    ),
    Cause(
        look=r"Fatal error in (?:internal_|P)?(?:MPI_)?Init[\s\S]{0,1500}?\)\.*:\s+(?!MPI_Init|fail failed|channel "
        r"init)([^\n]*(?:failed|failure|[Ii]nvalid|[Uu]nable|[Cc]annot|[Ee]rror)[^\n]*)",
        meaning=r"MPI_Init failed (\1).",
        remedy="MPICH_DBG or I_MPI_DEBUG=10 shows more; `seatrial transports` shows which devices there are, and "
        "`seatrial doctor` tries every --mpi.",
        transient=True,
        other_mpi_type=True,
    ),
)
