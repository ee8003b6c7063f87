"""Open MPI's settings in the lab: TCP over eth0 between nodes, shared memory within one."""

PARAMETERS_FILE = "/etc/openmpi/openmpi-mca-params.conf"


def parameters() -> str:
    """The private openmpi-mca-params.conf of every node and of the login node."""
    return "\n".join(
        [
            "pml = ob1",
            "btl = tcp,self,vader",
            "btl_tcp_if_include = eth0",
            "oob_tcp_if_include = eth0",
            "mpi_yield_when_idle = 1",
            "btl_base_warn_component_unused = 0",
            "",
        ]
    )
