"""Settings that can be changed and restored while a node works: where they are, and for whom a change takes effect.

A setting is one or more files that the kernel provides (their content is the setting), or the environment of a job.
What is not in the table is never changed.
"""

import enum
import re
from collections.abc import Mapping, Sequence

import msgspec

from seatrial.drift.comparison import Value
from seatrial.judgement.comparison.records import ChangedFact, FileSetting, Suspect
from seatrial.model.facts import NodeFacts
from seatrial.node.mpi import is_variable

# Quotas of processor time: only groups of Slurm and of its jobs, and those of a virtual cluster's nodes. A quota of
# anything else (a user's session, a slice of the system, a container) also limits programs that have nothing to do with
# the measurement.

QUOTA_FACT = r"processor\.quota_processors"
QUOTA_FILE = re.compile(r"/sys/fs/cgroup(?:/[\w@:,\\-][\w@:,.\\-]*)+/(?:cpu\.max|cpu\.cfs_quota_us)")
"""No component begins with a dot, so none leads upwards."""
CHANGEABLE = re.compile(r"slurm[\w.@-]*|uid_\d+|job_\d+|step_\w+|seatrial-lab-[\w-]+")
"""Names of the last component: of slurmd and its jobs, of a node of the lab."""
QUOTA_TEXT = re.compile(r"[0-9]{1,18}( [0-9]{1,18})?")
UNLIMITED = {"cpu.max": "max", "cpu.cfs_quota_us": "-1"}


def quota_setting(changed: ChangedFact, before: NodeFacts | None, after: NodeFacts | None) -> FileSetting | str:
    """The file of the group that has the quota now, and what it is to contain meanwhile; or why it is not touched."""
    present = after.processor if after else None
    if present is None or present.quota_processors is None or not QUOTA_TEXT.fullmatch(present.quota_text):
        return "the control group that has the quota is not known"
    if not QUOTA_FILE.fullmatch(present.quota_file):
        return f"{present.quota_file or 'nothing'} is not a file of a control group"
    folder, _, file = present.quota_file.rpartition("/")
    name = folder.rpartition("/")[2]
    if not CHANGEABLE.fullmatch(name):
        return f"the quota is that of the control group {name}, which is not one of Slurm or its jobs"
    former = before.processor if before else None
    if former is None or former.quota_processors is None:
        return "the quota before the change is not known"
    earlier = UNLIMITED[file]
    if former.quota_processors >= 0:
        if former.quota_file != present.quota_file or not QUOTA_TEXT.fullmatch(former.quota_text):
            return "another control group had a quota before the change"
        earlier = former.quota_text
    return FileSetting(fact=changed.fact, places=((present.quota_file,),), present=present.quota_text, earlier=earlier)


def is_changeable(file: str) -> bool:
    """Whether a file is the quota of a control group that may be changed."""
    group = file.rpartition("/")[0].rpartition("/")[2]
    return QUOTA_FILE.fullmatch(file) is not None and CHANGEABLE.fullmatch(group) is not None


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


class Scope(enum.StrEnum):
    """The nodes on which a setting must be changed to show its effect."""

    NODE = "node"
    ALL = "all"
    """Both ends of a message: every node on which it changed."""
    JOB = "job"
    """A setting of one job's environment; no node is changed, and no privilege is needed."""


class Reversible(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of setting."""

    pattern: str
    """Pattern of the dotted name of the fact; its group names the setting in `paths`."""
    scope: Scope
    paths: tuple[str, ...] = ()
    """Files in which kernels keep it; the first that exists counts."""
    per_processor: bool = False
    """`paths` have a number, one file for each processor."""


SOFTWARE = "software.mpi_settings."
REVERSIBLE = (
    Reversible(pattern=r"interfaces\.([\w-]+)\.mtu_bytes", scope=Scope.ALL, paths=("/sys/class/net/{name}/mtu",)),
    Reversible(
        pattern=r"settings\.scheduler\.(\w+)",
        scope=Scope.NODE,
        paths=("/sys/kernel/debug/sched/{name}", "/proc/sys/kernel/sched_{name}"),
    ),
    Reversible(
        pattern=r"processor\.(governors)",
        scope=Scope.NODE,
        paths=("/sys/devices/system/cpu/cpu{number}/cpufreq/scaling_governor",),
        per_processor=True,
    ),
    Reversible(
        pattern=r"settings\.(transparent_huge_pages)",
        scope=Scope.NODE,
        paths=("/sys/kernel/mm/transparent_hugepage/enabled",),
    ),
    Reversible(
        pattern=r"settings\.sysctls\.(net\.[\w.-]+|vm\.(?:swappiness|zone_reclaim_mode|dirty_\w+)"
        r"|kernel\.(?:numa_balancing|sched_\w+|watchdog|nmi_watchdog))",
        scope=Scope.NODE,
        paths=("/proc/sys/{name}",),
    ),
    Reversible(pattern=QUOTA_FACT, scope=Scope.NODE),
    Reversible(pattern=rf"{re.escape(SOFTWARE)}([\w.-]+)", scope=Scope.JOB),
)
"""The settings that can be taken back; only sysctls whose change harms nothing: not reserved memory, not what the
kernel starts."""
EQUAL_PROCESSORS = re.compile(r"(\S+) × (\d{1,9})")
"""How facts show a value that all processors have."""
MPI_FILES = f"{MCA}mca_base_param_files"
"""Names the files that Open MPI reads in place of the system's and the user's."""
NO_FILE = "/dev/null"


class Reversal(msgspec.Struct, frozen=True, kw_only=True):
    """How a suspect is taken back."""

    facts: tuple[ChangedFact, ...]
    """The facts of the suspect that are taken back."""
    nodes: tuple[str, ...]
    """The nodes on which they are; all nodes of the job if only its environment changes."""
    files: tuple[FileSetting, ...] = ()
    environment: dict[str, str] = {}
    """The environment of the job, with the values before the change."""


def reversal_of(
    suspect: Suspect, before: Mapping[str, NodeFacts], after: Mapping[str, NodeFacts], slowest: str
) -> Reversal | str:
    """What takes a suspect back, or why that is not possible. `slowest`: the node to change, where one is enough."""
    kind_of = {
        each.fact: kind for each in suspect.facts for kind in REVERSIBLE if re.fullmatch(kind.pattern, each.fact)
    }
    if not kind_of:
        return f"{suspect.facts[0].fact} cannot be changed and restored while the node works"
    of_job = [each for each in suspect.facts if each.fact in kind_of and kind_of[each.fact].scope is Scope.JOB]
    of_node = [each for each in suspect.facts if each.fact in kind_of and each not in of_job]
    node = slowest if slowest in suspect.nodes else suspect.nodes[0]
    settings_of = {each: _file_setting(each, kind_of[each.fact], before.get(node), after.get(node)) for each in of_node}
    files = {each: setting for each, setting in settings_of.items() if isinstance(setting, FileSetting)}
    if not files and not of_job:
        return next(setting for setting in settings_of.values() if isinstance(setting, str))
    everywhere = any(kind_of[each.fact].scope is Scope.ALL for each in files)
    nodes = suspect.nodes if everywhere or of_job else (node,)
    environment = _environment(of_job, before[nodes[0]].software.mpi_settings) if of_job else {}
    if isinstance(environment, str):
        return environment
    return Reversal(
        facts=(*files, *of_job),
        nodes=nodes,
        files=tuple(files.values()),
        environment=environment,
    )


def _environment(changes: Sequence[ChangedFact], settings: Mapping[str, str]) -> dict[str, str] | str:
    """The environment of a job with the values before the changes, or why there is none.

    `settings`: all those before the change. Where a parameter of Open MPI was added, the job reads no file of
    parameters, and gets all earlier ones by its environment.
    """
    wanted = {changed.fact.removeprefix(SOFTWARE): changed.before for changed in changes}
    environment: dict[str, str] = {}
    if any(value is None and not is_variable(name) for name, value in wanted.items()):
        wanted = {**{name: value for name, value in settings.items() if not is_variable(name)}, **wanted}
        environment[MPI_FILES] = NO_FILE
    for name, value in wanted.items():
        if value is None and is_variable(name):
            return f"the variable {name}, which the node sets, cannot be taken out of a job's environment"
        if value is None:
            continue
        variable = job_variable(name, value)
        if variable is None:
            return f"{name} is not one of the settings that are taken from recorded facts, since others load programs"
        environment[variable[0]] = variable[1]
    return environment


def _file_setting(
    changed: ChangedFact, kind: Reversible, before: NodeFacts | None, after: NodeFacts | None
) -> FileSetting | str:
    """`before`, `after`: of the node to change. Why it is left alone, where a value is unknown or processors differ."""
    if kind.pattern == QUOTA_FACT:
        return quota_setting(changed, before, after)
    match = re.fullmatch(kind.pattern, changed.fact)
    present, earlier = _content(changed.after, kind), _content(changed.before, kind)
    if match is None or not present[0] or not earlier[0] or present[1] != earlier[1]:
        return f"the values of {changed.fact} cannot be written back"
    places = _places(kind, match[1], present[1])
    return FileSetting(fact=changed.fact, places=places, present=present[0], earlier=earlier[0])


def _places(kind: Reversible, name: str, files: int) -> tuple[tuple[str, ...], ...]:
    """Alternatives of where a setting of that name is, with that many files each."""
    name = name if "/proc/sys/{name}" not in kind.paths else name.replace(".", "/")
    return tuple(tuple(path.format(name=name, number=number) for number in range(files)) for path in kind.paths)


def is_reversible(fact: str, paths: Sequence[str]) -> bool:
    """Whether these files, and no others, are where a setting of the table is kept."""
    for kind in REVERSIBLE:
        match = re.fullmatch(kind.pattern, fact)
        if match and kind.pattern == QUOTA_FACT:
            return len(paths) == 1 and is_changeable(paths[0])
        if match:
            return tuple(paths) in _places(kind, match[1], len(paths) if kind.per_processor else 1)
    return False


def _content(value: Value, kind: Reversible) -> tuple[str, int]:
    """What the file has for the value of a fact, and how many files; an empty text where that is not known."""
    if value is None or isinstance(value, bool):
        return "", 0
    if not kind.per_processor:
        return str(value), 1
    match = EQUAL_PROCESSORS.fullmatch(str(value))
    return (match[1], int(match[2])) if match else ("", 0)
