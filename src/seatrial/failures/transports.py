"""MPIs without a transport, and devices that cannot be opened."""

from seatrial.failures.cause import Cause, wrapped

LEFT_TO_CHOOSE = (
    "Leave the choice to Open MPI (no pml, mtl or btl in the environment and in openmpi-mca-params.conf), or allow one "
    "whose device is there: `seatrial transports` shows which are."
)
UCX_CHOICE = "Leave UCX_TLS and UCX_NET_DEVICES unset, or name in them what `ucx_info -d` lists for the device."
AGREES = r"(?m)^\[([\w.-]+):\d+\]"
UCX_HOST = r"(?m)^\[\d+\.\d+\] \[([\w.-]+):\d+"

TRANSPORTS = (
    Cause(
        look=r"selected pml (\w+), but peer [^\n]* selected pml \w+",
        meaning=r"{nodes} chose Open MPI's pml \1, and the ranks on other nodes another one.",
        remedy="Give all nodes the same openmpi-mca-params.conf, or name one pml for all: export OMPI_MCA_pml=ob1.",
        where=(r"(?m)^\[([\w.-]+):\d+\] [^\n]*selected pml \w+, but peer",),
    ),
    Cause(
        look=r"invalid value was given for btl_tcp_if_include[\s\S]{0,200}?Value:\s+(\S+)",
        meaning=r"the nodes have no interface \1, which Open MPI's TCP was set to use.",
        remedy="Name one that all nodes have in btl_tcp_if_include, or leave it unset.",
    ),
    Cause(
        look=r"requested\s+component\s+was\s+not\s+found[\s\S]{0,600}?Component:\s+(openib)\b",
        meaning=r"Open MPI was set to use its component \1, which does not exist here: Open MPI 5 has none.",
        remedy="See what sets it (env | grep OMPI_MCA; openmpi-mca-params.conf), and name ucx (OMPI_MCA_pml=ucx) or "
        "nothing.",
    ),
    Cause(
        look=r"requested\s+component\s+was\s+not\s+found[\s\S]{0,600}?Component:\s+(\S+)",
        meaning=r"Open MPI was set to use its component \1, which does not exist here or cannot be opened.",
        remedy="See what sets it (env | grep OMPI_MCA; openmpi-mca-params.conf), and name one that `ompi_info` lists.",
    ),
    Cause(
        look=r"(?:network device|transport) '([^'\n]+)' is not available, please use",
        also=r"PML ucx cannot be selected|MPIDI_UCX|ucp_\w+\([^\n]*failed|no active messages transport",
        meaning=r"UCX was set to use \1, which does not exist here.",
        remedy=UCX_CHOICE,
        where=(UCX_HOST,),
    ),
    Cause(
        look=r"PML (\w+) cannot be selected",
        meaning=r"Open MPI's pml \1 finds nothing usable here: no device, no provider, no component.",
        remedy=LEFT_TO_CHOOSE,
    ),
    Cause(
        look=r"pair of MPI processes are unable to\s+reach each other[\s\S]{0,900}?BTLs attempted:\s*([^\n]*)",
        meaning=r"no transport that Open MPI was allowed reaches from one rank to the other (it tried \1).",
        remedy=LEFT_TO_CHOOSE,
    ),
    Cause(
        look=wrapped("MPI_INIT has failed because at least one MPI process is unreachable"),
        meaning="no transport that Open MPI was allowed reaches from one rank to the other.",
        remedy=LEFT_TO_CHOOSE,
        where=(r"Process 2 [^\n]*is on host:\s+(\S+)",),
    ),
    Cause(
        look=r"at address 0xc8\)[\s\S]{0,800}mca_pml_ob1_isend",
        meaning="Open MPI's pml ob1 crashed because it has no transport to the other rank.",
        remedy=LEFT_TO_CHOOSE,
    ),
    Cause(
        look=r"(?:MPIDI_UCX|UCX +ERROR no active messages transport|ucp_ep_create\()"
        r"[\s\S]{0,800}?Destination is unreachable",
        meaning="UCX has no permitted transport that reaches the other rank.",
        remedy=UCX_CHOICE,
        where=(AGREES, UCX_HOST),
    ),
    Cause(
        look=r"UCX +ERROR no usable transports/devices \((asked [^)\n]*)\)"
        r"|MPIDI_UCX\w*[^\n]*failed status\(([^)\n]*)\)",
        meaning=r"UCX finds none of the devices that it may use (\1).",
        remedy=UCX_CHOICE,
        where=(UCX_HOST,),
    ),
    Cause(
        look=r"(mm ep failed to connect to remote FIFO[^\n]*|ucp_ep_create\([^\n]*Shared memory error)",
        meaning=r"ranks on one node do not see each other's shared memory (\1), as in containers with their own users.",
        remedy="Set UCX_POSIX_USE_PROC_LINK=n, or start all ranks of a node in one container and one user namespace.",
        where=(AGREES, UCX_HOST),
    ),
    Cause(
        look=r"OFI [^\n]*(?:addrinfo|getinfo)[^\n]*(?:No data available|failure)",
        meaning="libfabric has none of the providers here that it may use.",
        remedy="Leave FI_PROVIDER unset, or name one that `fi_info` lists.",
    ),
    Cause(
        look=r"(OFI (?:endpoint|EP|domain|fabric|fi_\w+|get address)[^\n(]*failed(?: \([^\n)]*\))?)",
        meaning=r"libfabric finds a device but cannot open it (\1).",
        remedy="Name another provider by FI_PROVIDER (fi_info lists them; tcp works everywhere), or check whether that "
        "device's port is up and may be opened (ulimit -l unlimited).",
    ),
    Cause(
        look=r"MPIDI_OFI_\w+\(\d+\)[.\s]*:[ \t]*\n\(unknown\)\(\): Other MPI error",
        meaning="Intel MPI's libfabric cannot open a network device.",
        remedy="Run it with I_MPI_DEBUG=10 to see which provider it takes, and name one by FI_PROVIDER: tcp works "
        "everywhere, shm on one node (I_MPI_FABRICS=shm).",
    ),
    Cause(
        look=r"(No active HCAs found[^\n]*|rdma_(?:open_hca|iba_hca_init|find_active_port)\w*[^\n]*)",
        meaning=r"MVAPICH2 finds no InfiniBand adapter that it could use (\1).",
        remedy="Look at the ports by ibstat, or use an MPI that also speaks TCP.",
    ),
    Cause(
        look=r"No components were able to be opened in the (\w+) framework",
        meaning=r"Open MPI cannot open any permitted component of its framework \1.",
        remedy="Check whether one is named that it does not have (env | grep OMPI_MCA; openmpi-mca-params.conf); where "
        "none is, it is not whole, or OPAL_PREFIX is wrong: ompi_info lists what it finds.",
        where=(r"(?m)^[ \t]*Host:\s+([\w.-]+)",),
    ),
)
"""The crash at 0xc8 is Open MPI 4.1's, in an empty list of transports."""

DEVICES = (
    Cause(
        look=r"Segmentation fault[\s\S]*?Message:\s+connect\(\) to \S+ failed",
        meaning="a rank crashed on {nodes} while MPI started (segmentation fault), so others could not connect to it.",
        remedy="Run the command again: Open MPI 4.1 crashes in MPI_Init where a message comes before a rank is ready. "
        "If it crashes each time, check that all nodes have the same Open MPI.",
        where=(r"srun: error: (\S+): tasks? \d+: Segmentation fault", r"(?m)^\[([\w.-]+):\d+\] Signal: Segmentation"),
        transient=True,
    ),
    Cause(
        look=r"(?:btl_tcp\w*\.c[^\n]*|Message:\s+)connect\(\) to (\S+(?: port \d+)? failed[^\n]*)",
        meaning=r"Open MPI's TCP cannot connect from {nodes} (connect() to \1).",
        remedy="Check whether a firewall lets the nodes speak on all ports; where a node has several networks, name "
        "one "
        "that all share: export OMPI_MCA_btl_tcp_if_include=10.0.0.0/16.",
        where=(r"(?m)^\[([\w.-]+)\]\[\[[\d,]+\],\d+\]\[btl_tcp", r"Local host:\s+(\S+)"),
        transient=True,
    ),
    Cause(
        look=r"(?:failed: |failed\. )?Please set max locked memory \(ulimit -l\)[^\n]*|memlock limits are set too\s+low"
        r"|ibv_(?:create_cq|reg_mr|create_qp)\w*\([^\n]*Cannot allocate memory",
        meaning="the limit of locked memory (ulimit -l) is too low for the InfiniBand adapter on {nodes}.",
        remedy="Have PropagateResourceLimitsExcept=MEMLOCK set in slurm.conf and LimitMEMLOCK=infinity for slurmd; "
        "check by srun sh -c 'ulimit -l'.",
        where=(UCX_HOST, r"Local host:\s+(\S+)"),
        transient=True,
    ),
    Cause(
        look=r"(PSM[23]? (?:can't open \w+ unit[^\n]*|no \w+ units are active[^\n]*)"
        r"|PSM2? was unable to open an endpoint)",
        meaning=r"the Omni-Path or PSM device of {nodes} cannot be opened (\1).",
        remedy="Check whether its port is up and enough contexts are free (opainfo, hfi1_control -i); on one node "
        "PSM2_DEVICES=self,shm (PSM3_DEVICES) does without it.",
        where=(r"(?m)^([A-Za-z][\w.-]*?)(?:\.\d+|:rank\d+: )PSM",),
        transient=True,
    ),
    Cause(
        look=r"network device '([^']+)' is not available",
        meaning=r"UCX_NET_DEVICES names \1, which does not exist here.",
        remedy=UCX_CHOICE,
        where=(UCX_HOST,),
    ),
    Cause(
        look=r"transport '([^']+)' is not available",
        meaning=r"UCX_TLS names \1, which does not exist here.",
        remedy=UCX_CHOICE,
        where=(UCX_HOST,),
    ),
    Cause(
        look=r"OFI Libfabric library call \((\w+)\)",
        meaning=r"libfabric's \1 failed on {nodes}.",
        remedy="Leave it out (export OMPI_MCA_mtl=^ofi OMPI_MCA_btl=^ofi), or name a provider that works by "
        "OMPI_MCA_mtl_ofi_provider_include; fi_info lists them.",
        where=(r"Local host:\s+(\S+)",),
        transient=True,
    ),
    Cause(
        look=r"PMIX ERROR: ((?!(?:PMIX_)?ERROR in file \S*gds_ds)[A-Z][\w-]+ in file [^\n]*)",
        meaning=r"the PMIx of the launcher and that of MPI do not fit together (\1).",
        remedy="Choose another --mpi, as `seatrial doctor` tries them; or use an MPI that was built with Slurm's PMIx.",
        where=(AGREES,),
        transient=True,
        other_mpi_type=True,
    ),
)
"""Used if nothing more specific matches."""
