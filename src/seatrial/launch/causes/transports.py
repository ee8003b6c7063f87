"""MPIs that were left no transport, each by its own words."""

from seatrial.launch.causes.cause import Cause

LEFT_TO_CHOOSE = (
    "Leave the choice to Open MPI (no pml, mtl or btl in the environment and in openmpi-mca-params.conf), or allow one "
    "whose device is there: `seatrial transports` shows which are."
)
TRANSPORTS = (
    Cause(
        look=r"selected pml (\w+), but peer [^\n]* selected pml \w+",
        meaning=r"{nodes} chose Open MPI's pml \1, and the ranks on other nodes another one.",
        remedy="Give all nodes the same openmpi-mca-params.conf, or name one pml for all: export OMPI_MCA_pml=ob1.",
        where=r"(?m)^\[([\w.-]+):\d+\] [^\n]*selected pml \w+, but peer",
    ),
    Cause(
        look=r"invalid value was given for btl_tcp_if_include[\s\S]{0,200}?Value:\s+(\S+)",
        meaning=r"the nodes have no interface \1, which Open MPI's TCP was told to use.",
        remedy="Name one that all nodes have in btl_tcp_if_include, or leave it unset.",
    ),
    Cause(
        look=r"requested component was not found[\s\S]{0,600}?Component:\s+(\S+)",
        meaning=r"Open MPI was told to use its component \1, which is not here or cannot be opened.",
        remedy="See who says so (env | grep OMPI_MCA; openmpi-mca-params.conf), and name one that `ompi_info` lists.",
    ),
    Cause(
        look=r"PML (\w+) cannot be selected",
        meaning=r"Open MPI's pml \1 finds nothing here that it could work with: no device, no provider, no component.",
        remedy=LEFT_TO_CHOOSE,
    ),
    Cause(
        look=r"pair of MPI processes are unable to reach each other[\s\S]{0,900}?BTLs attempted: ([^\n]*)",
        meaning=r"no transport that Open MPI was allowed reaches from one rank to the other (it tried \1).",
        remedy=LEFT_TO_CHOOSE,
    ),
    Cause(
        look=r"at address 0xc8\)[\s\S]{0,800}mca_pml_ob1_isend",
        meaning="Open MPI's pml ob1 crashed, having no transport to the other rank.",
        remedy=LEFT_TO_CHOOSE,
    ),
    Cause(
        look=r"MPIDI_UCX[\s\S]{0,800}Destination is unreachable",
        meaning="UCX was left no transport that reaches the other rank.",
        remedy="Leave UCX_TLS unset, or name in it what `ucx_info -d` lists for the device.",
    ),
    Cause(
        look=r"OFI [^\n]*(?:addrinfo|getinfo)[^\n]*No data available",
        meaning="libfabric has no provider here of those that it was allowed.",
        remedy="Leave FI_PROVIDER unset, or name one that `fi_info` lists.",
    ),
)
"""The crash at 0xc8 is Open MPI 4.1's, in a list of transports that is empty."""
