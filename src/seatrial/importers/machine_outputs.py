"""Texts that describe a machine, its network or its settings: marks, names, and which command reads them."""

import re
from typing import NamedTuple


class OtherOutput(NamedTuple):
    """`mark` occurs in the text of such an output, and hardly anywhere else."""

    mark: "re.Pattern[str]"
    name: str
    remedy: str
    document: bool = False
    """It could be read as a table, and is none."""

    def is_all_of(self, text: str) -> bool:
        """Whether each line has the mark, also behind the name of a node."""
        return all(self.mark.search(line) for line in text.splitlines() if line.strip())


FACTS = "seatrial facts --from reads recordings of machines."
COLLECTED = "seatrial facts reads the same on the node itself; --output FILE records it for seatrial facts --from FILE."
FABRIC = "seatrial fabric check reads the maps of ibnetdiscover, iblinkinfo and ibdiagnet, which have every port."


def _described(mark: str, name: str, remedy: str = COLLECTED, *, document: bool = False) -> OtherOutput:
    return OtherOutput(re.compile(mark, re.MULTILINE), name, remedy, document)


MACHINE_OUTPUTS = (
    _described(
        r"^hfi1_\d{1,3}:\d{1,3}\s+PortG(?:U)?ID:",
        "the output of opainfo",
        "seatrial facts collects it on the node; seatrial fabric check reads opareport -o links.",
    ),
    _described(
        r"^Fabric \d{1,3}:\d{1,3} Information:",
        "the output of opafabricinfo",
        "seatrial fabric check reads opareport -o links.",
    ),
    _described(
        r"ROCm System Management Interface|^GPU\[\d{1,3}\]\s*: ",
        "a table of rocm-smi",
        "It is read as JSON: seatrial facts collects it (amd-smi metric --json, rocm-smi -a --json) on the node.",
    ),
    _described(r"<!DOCTYPE topology|<topology\b|^Machine \(\d{1,18}", "the output of hwloc (lstopo)", FACTS),
    _described(
        r"^Architecture\s?:\s+\S+|^[^\n:：]{1,60}[:：]\s*+(?:Little|Big) Endian$|"
        r"^CPU op-mode\(s\):|^# dmidecode|^Handle 0x[0-9A-F]{4}",
        "a description of a machine (lscpu or dmidecode)",
        FACTS,
    ),
    _described(r'\A\s*\{\s*"lscpu"\s*:', "JSON of lscpu", FACTS, document=True),
    _described(
        r'"(?:openapi|data_parser)/|"Slurm"\s*:\s*\{|\A\s*\{\s*"jobs"\s*:\s*\[\s*\{\s*"account"',
        "JSON of Slurm",
        "seatrial jobs --from FILE reads the output of sacct.",
        document=True,
    ),
    _described(
        r"^[ \t]*+(?:Size: (?:No Module|\d{1,6} [GM]B)|Configured (?:Memory|Clock) Speed: )",
        "single lines of dmidecode",
        "seatrial facts --from reads its whole output (dmidecode, or dmidecode -t 17).",
    ),
    _described(r"<nvidia_smi_log", "the output of nvidia-smi -q -x", FACTS),
    _described(
        r"NVIDIA-SMI|^[ \t]*+GPU0\s+GPU1|^GPU \d{1,4}: .{1,120}\(UUID: |^=+NVSMI LOG=+$",
        "the output of nvidia-smi",
        "seatrial facts --from reads that of nvidia-smi -q -x, and seatrial facts collects the other forms itself.",
    ),
    _described(
        r"\bxpu-smi\b|^\| Device ID +\| Device Information",
        "the output of xpu-smi",
        "seatrial reads no Intel GPUs but what the PCI bus shows of them (seatrial facts).",
    ),
    _described(r"<system version=\"\d", "a topology file of NCCL", FACTS),
    _described(
        r'"card0"\s*:\s*\{',
        "the output of rocm-smi --json",
        "seatrial facts --from reads that of rocm-smi -a --json, which has the place of each GPU on the bus.",
    ),
    _described(
        r"^available: \d{1,18} nodes|^node distances:",
        "the output of numactl",
        "seatrial facts collects the same on the node, and reads the XML of hwloc (lstopo).",
    ),
    _described(r"^CA '\S{1,60}'\s*$|^Infiniband device '\S{1,60}' port \d", "the output of ibstat or ibstatus"),
    _described(r"^hca_id:\s", "the output of ibv_devinfo"),
    _described(
        r"^(?:# )?(?:Port|Node|SM) info: |^sminfo: sm lid |^LinkWidthActive:\.",
        "the output of ibportstate, smpquery or sminfo",
        FABRIC,
    ),
    _described(
        r"^Operational Info$|^Querying Mellanox devices firmware",
        "the output of mlxlink or mlxfwmanager",
        f"seatrial facts reads firmware, rates and errors of adapters on the node itself; {FABRIC}",
    ),
    _described(r"^Device: cxi\d{1,3}$", "the output of cxi_stat", "seatrial reads no Slingshot devices yet."),
    _described(
        r"^(?:Settings|Features|(?:Coalesce|Ring|Pause|Channel) parameters) for \S{1,40}:$|^NIC statistics:$",
        "the output of ethtool",
    ),
    _described(r"^\d{1,5}: \S{1,40}: <[A-Z0-9,_-]{2,200}> mtu \d", "the output of ip link or ip address"),
    _described(
        r"^(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] [A-Z][\w /()-]{2,60}(?: \[[0-9a-f]{4}\])?: |"
        r"\bLnkSta:\s+Speed ",
        "the output of lspci",
    ),
    _described(r"^analyzing CPU \d|^Current active profile: ", "the output of cpupower or tuned-adm"),
    _described(r"^(?:kernel|vm|net|fs)\.[\w./-]{3,80} ?= ?-?\d", "the output of sysctl"),
    _described(
        r"^BOOT_IMAGE=|^Limit +Soft Limit +Hard Limit|^max locked memory +\(|"
        r"^\S{1,200} /\S{0,200} (?:ext4|xfs|nfs4?|lustre|tmpfs|proc|sysfs) \w{2}[,\w]",
        "a file of /proc (cmdline, limits, mounts) or the output of ulimit",
    ),
    _described(
        r"^[^|\n]{1,80}\| *(?:[0-9A-F]{2}h *\| *(?:ok|ns|nc|cr|nr) *\||"
        r"(?:-?[\d.]{1,12} (?:degrees C|RPM|Volts|Amps|Watts|percent)|0x[0-9a-f]{2}|no reading|disabled) *"
        r"\| *(?:ok|ns|nc|cr|nr)\b)",
        "the output of ipmitool sdr",
        "seatrial facts --drift --from FILE reads it, also of many nodes.",
        document=True,
    ),
    _described(
        r"^[^|\n]{1,40}\|[^|\n]{1,20}\| *(?:degrees C|RPM|Volts|Amps|Watts|percent|discrete) *\||"
        r"^ID +\| Name +\| Type +\|",
        "the output of ipmitool sensor or ipmi-sensors",
        "seatrial facts --from reads that of ipmitool sdr.",
    ),
    _described(
        r"^Adapter: (?:ISA|PCI|SMBus|I2C|Virtual|ACPI)\b.{0,60}$",
        "the output of sensors",
        "seatrial facts reads the same on the node itself, and seatrial facts --from the output of ipmitool sdr.",
    ),
    _described(
        r"^\[Key=BIOS\.Setup\.",
        "settings of the BIOS by racadm",
        "seatrial facts reads them where the kernel shows them (/sys/class/firmware-attributes).",
    ),
    _described(r"^mc\d{1,3}: (?:csrow\d|\d{1,9} )|^Label\s+CE\s+UE$", "memory errors of edac-util or ras-mc-ctl"),
    _described(
        r"^\s{0,30}(?:MCA \w{1,20}: |Configure command line: )|^#\s+Memory domain: |^provider: [\w;]{2,40}$",
        "the output of ompi_info, ucx_info or fi_info",
    ),
    _described(r"^(?:srun: )?MPI plugin types are", "the list of srun --mpi=list", "seatrial doctor tries each type."),
    _described(
        r"^(?:ClusterName|SlurmctldHost|SelectType|AuthType|ProctrackType|AutoDetect|Constrain\w{3,20}|CgroupPlugin)\s*=",
        "a configuration of Slurm",
        "seatrial doctor tries what it leads to; topology.conf is read by seatrial judge TABLE --topology.",
    ),
    _described(
        r"^\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4}\] [\w.-]{2,40}(?: [\da-f:.]{7,12})?: |"
        r"^\[[^\]\n]{1,60}\] NVRM: |\bNVRM: Xid \(|^\w{3} [ \d]\d [\d:]{8} \S{1,60} kernel: |^\[ *\d{1,9}\.\d{6}\] ",
        "the log of a kernel",
        "seatrial doctor --from FILE names faults of hardware in it.",
    ),
)
