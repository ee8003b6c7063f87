"""Settings of MPI and of its transports that may be taken from recorded facts into the environment of a job.

Facts are data of others. Some variables load libraries or start programs (LD_PRELOAD, OMPI_MCA_plm_rsh_agent,
OMPI_MCA_mca_component_path, UCX_MODULE_DIR, UCX_GDB_COMMAND, FI_PROVIDER_PATH, HYDRA_LAUNCHER_EXEC, I_MPI_OFI_LIBRARY),
or name files that are written (UCX_LOG_FILE). So only settings that are listed are taken: they choose among what is
installed, or are sizes, counts and names of devices.

Sources: ompi_info --all (Open MPI 4.1, 5.0); ucx_info -c -f (UCX 1.13); fi_info -e (libfabric 1.17); psm2(7); Intel MPI
Developer Reference 2021; mpichversion and README.envvar of MPICH 4; user guide of MVAPICH2 2.3.
"""

import re

from seatrial.node.mpi import is_variable

MCA = "OMPI_MCA_"
PARAMETERS = re.compile(
    r"pml|mtl|btl|bml|osc|coll|smsc"
    r"|btl_[a-z0-9]{2,12}_(?:eager_limit|rndv_eager_limit|max_send_size|min_rdma_pipeline_size|rdma_pipeline_\w{4,12}"
    r"|exclusivity|flags|latency|bandwidth|links|sndbuf|rcvbuf|use_nagle|if_include|if_exclude|free_list_(?:num|max|inc)"
    r"|single_copy_mechanism|receive_queues|max_inline_data|allow_ib|disable_family|cpc_include|cpc_exclude|gid_index)"
    r"|pml_(?:ucx|ob1|cm)_(?:tls|devices|priority|progress_iterations|send_pipeline_depth|recv_pipeline_depth"
    r"|unexpected_limit|use_all_rdma)"
    r"|mtl_(?:ofi|psm2|psm)_(?:priority|provider_include|provider_exclude|progress_mode|av|tag_mode|enable_sep)"
    r"|coll_[a-z]{2,10}_(?:enable|priority|use_dynamic_rules|\w{3,24}_algorithm|\w{3,24}_segmentsize|\w{3,24}_tree_fanout"
    r"|\w{3,24}_chain_fanout|\w{3,24}_max_requests|np|init_tree_fanout|init_chain_fanout)"
    r"|osc_[a-z0-9]{2,10}_(?:priority|acc_single_intrinsic)"
    r"|mpi_(?:leave_pinned|leave_pinned_pipeline|yield_when_idle|preconnect_mpi|spin_count)"
    r"|opal_(?:leave_pinned|progress_yield_count|common_ucx_(?:tls|devices))"
    r"|hwloc_base_(?:binding_policy|mem_alloc_policy|use_hwthreads_as_cpus)"
)
"""Parameters of Open MPI, by its own names."""
VARIABLES = re.compile(
    r"UCX_(?:TLS|NET_DEVICES|SHM_DEVICES|ACC_DEVICES|SELF_DEVICES|PROTO_ENABLE|RNDV_THRESH|RNDV_SCHEME|RNDV_FRAG_SIZE"
    r"|ZCOPY_THRESH|BCOPY_THRESH|MAX_RNDV_RAILS|MAX_RNDV_LANES|MAX_EAGER_RAILS|MAX_EAGER_LANES|USE_MT_MUTEX|ADAPTIVE_PROGRESS"
    r"|UNIFIED_MODE|MULTI_LANE_MAX_RATIO|SEG_SIZE|MEMTYPE_CACHE|RCACHE_ENABLE)"
    r"|UCX_(?:IB|RC|DC|UD|TCP|CMA|KNEM|XPMEM|MM|SYSV|POSIX|SELF)_(?:(?:VERBS|MLX5)_)?(?:SL|TRAFFIC_CLASS|GID_INDEX|PKEY"
    r"|NUM_PATHS|PATH_MTU|AR_ENABLE|PCI_RELAXED_ORDERING|ADDR_TYPE|TIMEOUT|RETRY_COUNT|RNR_TIMEOUT|RNR_RETRY_COUNT"
    r"|SEG_SIZE|TX_QUEUE_LEN|RX_QUEUE_LEN|TX_MIN_SGE|TX_MIN_INLINE|TX_SEG_SIZE|RX_SEG_SIZE|MAX_BUFS|SNDBUF|RCVBUF|NODELAY"
    r"|BRIDGE_ENABLE|MAX_NUM_EPS|FIFO_SIZE|BW|RX_INLINE|TX_MAX_BATCH|MAX_RD_ATOMIC|REG_METHODS|ODP_NUMA_POLICY)"
    r"|FI_(?:PROVIDER|UNIVERSE_SIZE|MR_CACHE_MONITOR|MR_CACHE_MAX_SIZE|MR_CACHE_MAX_COUNT)"
    r"|FI_(?:TCP|SOCKETS|VERBS|OFI_RXM|OFI_RXD|PSM2|PSM3|OPX|EFA|CXI|SHM)_(?:IFACE|BUFFER_SIZE|EAGER_LIMIT|SAR_LIMIT"
    r"|TX_SIZE|RX_SIZE|USE_SRX|MTU|MIN_RNR_TIMER|RDZV_THRESHOLD|RDZV_GET_MIN|RDZV_EAGER_SIZE|RX_MATCH_MODE"
    r"|DEFAULT_CQ_SIZE|DEFAULT_TX_SIZE|REQ_BUF_SIZE|OFLOW_BUF_SIZE|OPTIMIZED_MRS|USE_DEVICE_RDMA|TX_QUEUE_SIZE)"
    r"|PSM2_(?:DEVICES|MULTIRAIL|MULTIRAIL_MAP|MTU|MEMORY|RCVTHREAD|RCVTHREAD_FREQ|MQ_RNDV_HFI_THRESH|MQ_RNDV_SHM_THRESH"
    r"|MQ_RNDV_HFI_WINDOW|MQ_EAGER_SDMA_SZ|SHAREDCONTEXTS|MAX_CONTEXTS_PER_JOB|PATH_SELECTION|IB_SERVICE_ID|RTS_CTS_INTERLEAVE)"
    r"|HFI_(?:UNIT|PORT|NO_CPUAFFINITY)"
    r"|I_MPI_(?:FABRICS|DEVICE|OFI_PROVIDER|SHM|EAGER_THRESHOLD|PIN|PIN_DOMAIN|PIN_ORDER|PIN_CELL|SPIN_COUNT|MULTIRAIL"
    r"|ASYNC_PROGRESS|THREAD_YIELD|ADJUST_[A-Z_]{3,24})"
    r"|MPICH_(?:OFI_NUM_NICS|OFI_NIC_POLICY|OFI_STARTUP_CONNECT|OFI_DEFAULT_TCLASS|SMP_SINGLE_COPY_SIZE|GNI_MAX_EAGER_MSG_SIZE"
    r"|ASYNC_PROGRESS)"
    r"|MPIR_CVAR_(?:CH4_NETMOD|NEMESIS_NETMOD|ASYNC_PROGRESS|ODD_EVEN_CLIQUES|POLLS_BEFORE_YIELD|CH4_NUM_VCIS"
    r"|[A-Z0-9_]{3,40}_(?:ALGORITHM|THRESHOLD|MSG_SIZE|EAGER_LIMIT))"
    r"|MV2_(?:IBA_HCA|NUM_HCAS|NUM_PORTS|IBA_EAGER_THRESHOLD|VBUF_TOTAL_SIZE|RNDV_PROTOCOL|DEFAULT_MTU|ENABLE_AFFINITY"
    r"|CPU_BINDING_POLICY|CPU_BINDING_LEVEL|CPU_MAPPING|RAIL_SHARING_POLICY|USE_RDMA_CM|USE_SHARED_MEM|SMP_EAGERSIZE)"
)
VALUE = re.compile(r"[ -~]{0,1000}")
"""Printable, on one line."""


def job_variable(name: str, value: object) -> tuple[str, str] | None:
    """The variable that gives a job this setting, and its text; None if it is not known to be harmless."""
    text = str(value)
    listed = VARIABLES if is_variable(name) else PARAMETERS
    if not listed.fullmatch(name) or not VALUE.fullmatch(text):
        return None
    return (name if is_variable(name) else f"{MCA}{name}"), text
