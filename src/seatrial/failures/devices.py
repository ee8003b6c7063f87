"""Devices that cannot be opened: said on good starts, too, where another is taken then."""

from seatrial.failures.cause import Cause
from seatrial.failures.transports import AGREES, UCX_CHOICE, UCX_HOST

DEVICES = (
    Cause(
        look=r"(?:btl_tcp\w*\.c[^\n]*|Message:\s+)connect\(\) to (\S+(?: port \d+)? failed[^\n]*)",
        meaning=r"Open MPI's TCP does not get through from {nodes} (connect() to \1).",
        remedy="Look whether a firewall lets the nodes speak on all ports; where a node has several networks, name one "
        "that all share: export OMPI_MCA_btl_tcp_if_include=10.0.0.0/16.",
        where=(r"(?m)^\[([\w.-]+)\]\[\[[\d,]+\],\d+\]\[btl_tcp", r"Local host:\s+(\S+)"),
    ),
    Cause(
        look=r"(?:failed: |failed\. )?Please set max locked memory \(ulimit -l\)[^\n]*|memlock limits are set too\s+low"
        r"|ibv_(?:create_cq|reg_mr|create_qp)\w*\([^\n]*Cannot allocate memory",
        meaning="the limit of locked memory (ulimit -l) is too low for the InfiniBand adapter on {nodes}.",
        remedy="Have PropagateResourceLimitsExcept=MEMLOCK set in slurm.conf and LimitMEMLOCK=infinity for slurmd; "
        "check by srun sh -c 'ulimit -l'.",
        where=(UCX_HOST, r"Local host:\s+(\S+)"),
    ),
    Cause(
        look=r"(PSM[23]? (?:can't open \w+ unit[^\n]*|no \w+ units are active[^\n]*)"
        r"|PSM2? was unable to open an endpoint)",
        meaning=r"the Omni-Path or PSM device of {nodes} cannot be opened (\1).",
        remedy="Look whether its port is up and enough contexts are free (opainfo, hfi1_control -i); on one node "
        "PSM2_DEVICES=self,shm (PSM3_DEVICES) does without it.",
        where=(r"(?m)^([A-Za-z][\w.-]*?)(?:\.\d+|:rank\d+: )PSM",),
    ),
    Cause(
        look=r"network device '([^']+)' is not available",
        meaning=r"UCX_NET_DEVICES names \1, which is not here.",
        remedy=UCX_CHOICE,
        where=(UCX_HOST,),
    ),
    Cause(
        look=r"transport '([^']+)' is not available",
        meaning=r"UCX_TLS names \1, which is not here.",
        remedy=UCX_CHOICE,
        where=(UCX_HOST,),
    ),
    Cause(
        look=r"OFI Libfabric library call \((\w+)\)",
        meaning=r"libfabric's \1 failed on {nodes}.",
        remedy="Leave it out (export OMPI_MCA_mtl=^ofi OMPI_MCA_btl=^ofi), or name a provider that works by "
        "OMPI_MCA_mtl_ofi_provider_include; fi_info lists them.",
        where=(r"Local host:\s+(\S+)",),
    ),
    Cause(
        look=r"PMIX ERROR: ((?!(?:PMIX_)?ERROR in file \S*gds_ds)[A-Z][\w-]+ in file [^\n]*)",
        meaning=r"the PMIx of the launcher and that of MPI do not fit together (\1).",
        remedy="Choose another --mpi, as `seatrial doctor` tries them; or use an MPI that was built with Slurm's PMIx.",
        where=(AGREES,),
    ),
)
"""Believed where nothing else tells."""
