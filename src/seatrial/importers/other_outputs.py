"""Outputs that are not tables of pairs: how each is recognised, what it is called, and which command reads it, if any.

A table of pairs is refused far more often because it is another tool's output than because it is damaged.
"""

import re

from seatrial.importers.machine_outputs import MACHINE_OUTPUTS, OtherOutput
from seatrial.model.errors import UsageError

LOOKED_AT = 1 << 18
"""Characters at the beginning of a file that are searched for marks of a tool."""
CHECK = "seatrial check measures all pairs itself."
FORMATS = "Formats of tables of pairs: docs/judge-pairs.md."
NONE = f"No seatrial command reads it. {FORMATS}"
PAIR_LINES = f"A table of its pairs is judged, as source,target,bandwidth_gbit_s. {CHECK}"
UNMEASURED = "It has no measurement: give the numbers that a benchmark reached."
JSON_TEXT = "JSON"
"""Name of a text of which no more is known."""


def _output(mark: str, name: str, remedy: str = NONE, *, document: bool = False) -> OtherOutput:
    return OtherOutput(re.compile(mark, re.MULTILINE), name, remedy, document)


PROSE = _output(
    r"\A\s*(?:# [^\n#:]{1,100}\n\s*\n|\w[\w &/-]{2,100}\n={3,100}\n\s*\n)|^```\w{0,20}[ \t]*$",
    "a text about programs (Markdown or reStructuredText)",
    "Copy the output of a program out of it into a file of its own.",
)
"""It may quote an output of any program."""
ONE_NODE = {
    "Intel's Memory Latency Checker": r"^Intel\(R\) Memory Latency Checker|^ALL Reads\s*:",
    "single lines of fio": r"^ {0,8}bw=[\d.]{1,12}[KMG]?i?B/s \([\d.]{1,12}[kMG]?B/s\), [\d.]{1,12}[KMG]?i?B/s-",
    "likwid-perfctr": r"^(?:Region \S{1,200}, )?Group \d{1,3}: [A-Z][A-Z0-9_]{1,30}$|^\| {1,60}\S.{0,80} STAT {1,60}\|",
    "likwid-bench": r"^LIKWID MICRO BENCHMARK|^MByte/s:\s",
    "Intel's Linpack": r"^(?:=+ )?Timing linear equation system solver|^Performance Summary \(GFlops\)",
    "sysbench": r"^sysbench \d|^[\d.]{1,20} Mi?B transferred \([\d.]|^ {1,8}events per second: {1,20}\d",
    "stress-ng": r"\bstress-ng: \w{4,7}: ",
    "mixbench": r"^mixbench\b|^Experiment ID, Single Precision",
    "Graph500": r"^[ \t]*+(?:(?:bfs|sssp) +)?(?:min|max|median|harmonic_mean)_TEPS:",
    "lmbench": r"^STREAM2? \w{3,8} (?:latency|bandwidth): \d|^ +L M B E N C H ",
    "hdparm": r"^[ \t]*+Timing (?:buffered disk|cached|buffer-cache|O_DIRECT)[\w ]{0,20} reads:",
    "dd": r"^\d{1,20} bytes (?:\([^)\n]{1,60}\) )?copied, ",
    "UnixBench": r"^System Benchmarks (?:Partial )?Index\b|^[ \t]*+BYTE UNIX Benchmarks\b",
    "gpu-fryer": r"^GPU #\d{1,3}: {1,8}[\d.]{1,12} [GT]flops/s",
    "the Phoronix Test Suite": r"^Phoronix Test Suite v\d|^[ \t]*+pts/[\w.-]{1,60} \[",
    "mpiP": r"^@ mpiP\b",
    "Caliper": r"^Path +(?:Min|Max|Avg|Time)\b.{0,80} %",
    "iostat, sar or vmstat": r"^Linux \d\S{1,80} \([\w.-]{1,80}\)[ \t]|^procs -{3,20}memory-",
    "netperf": r"(?:STREAM|REQUEST/RESPONSE|MAERTS) TEST\b",
    "time -v": r'^\s*Command being timed: "',
    "perf stat": r"^ Performance counter stats for ",
    "turbostat": r"^turbostat version \d|^(?:\w{1,20}[ \t]{1,8}){0,6}CPU[ \t]{1,8}Avg_MHz[ \t]",
    "ethtool -S": r"^NIC statistics:",
    "ping": r"^PING \S{1,100} \(|^rtt min/avg/max/mdev = ",
    "cyclictest": r"^T: ?\d{1,5} \( {0,8}\d{1,8}\) P: ?\d",
    "nvidia-smi dmon": r"^# gpu {1,8}(?:pwr|sm|fb)\b",
    "IOzone": r"^[ \t]*+(?:Children see|Parent sees) throughput for |^[ \t]*+Iozone: Performance Test of File I/O",
    "gdsio": r"^IoType: \w{1,20} XferType: \w",
    "bonnie++": r"^Version +\d[\w.]{1,8} +-{6}Sequential Output-",
    "mbw": r"^(?:\d{1,6}|AVG)\s+Method: [A-Z]{3,10}\s+Elapsed: ",
    "elbencho": r"\bOPERATION +RESULT TYPE +FIRST DONE|^ISO Date,Label,Phase,RuntimeMS|^elbencho\b",
    "Google Benchmark": (
        r'"library_build_type"\s*:\s*"|^(?:\d{1,7}: )?Benchmark {2,200}Time {2,40}CPU {1,20}Iterations\b'
    ),
    "MLPerf": r"^(?:\d{1,7}: {1,4}|\[\d{1,7}\] )?:::MLL(?:OG)? \{",
    "an application (VASP, WRF, CP2K or NAMD)": (
        r"^ vasp\.\d|\bLOOP\+:\s+cpu time|^Timing for (?:main|Writing)\b|\bSUCCESS COMPLETE WRF|^ CP2K\|"
        r"|^Info: NAMD \d|^Info: Benchmark time: |^WallClock: {1,8}\d{1,12}\.\d{1,9} {1,8}CPUTime: "
    ),
    "hyperfine": r'\A\s*\{\s*"results"\s*:\s*\[\s*\{\s*"command"\s*:|^Benchmark \d{1,4}: .{1,400}\n {1,8}Time \(mean ',
    "ioping": r"^\d{1,9} requests completed in [\d.]{1,12} \w{1,3}, .{0,60}iops",
}
"""Programs whose figures are of one node: name and mark."""
OUTPUTS = (
    _output(
        r"^final\s+=\s+[\d.]{1,12} GF\b|^HPCG-NVIDIA \d",
        "what NVIDIA's HPCG prints while it runs",
        "It does not say whether the result is valid: seatrial judge reads its report, HPCG-Benchmark_*.txt.",
    ),
    _output(
        r"^Port=\d{1,18} Lid=0x|^START_PM_INFO",
        "counters of ibdiagnet",
        "seatrial fabric check --counters reads two of them.",
    ),
    _output(
        r"\bibdiagnet\b|^START_(?:LINKS|NODES)|^-I- (?:Discovering \.|Stage\s)|^-[EW]- (?:[Ll]ink: |\S{3,300} - \")",
        "the output of ibdiagnet",
        "seatrial fabric check reads ibdiagnet2.db_csv and the log.",
    ),
    _output(
        r"^Errors for .*\"\s*$|^## Summary: \d{1,18} nodes checked",
        "the output of ibqueryerrors",
        "seatrial fabric check --counters reads two of them.",
    ),
    _output(
        r"^Port Number\s+\d{1,18}\s*$",
        "counters of an Omni-Path port (opapmaquery)",
        "seatrial fabric check --counters reads two of them.",
    ),
    _output(
        r'^(?:Switch|Ca|Hca|Rt)\s+\d{1,18}\s+"|^(?:CA|SW|RT)\s+\d{1,18}\s+\d{1,18}\s+0x[0-9a-fA-F]{8,}',
        "a fabric map (ibnetdiscover)",
        "seatrial fabric check reads it.",
    ),
    _output(
        r"^# Port (?:extended )?counters: Lid|^PortXmitData:",
        "counters of perfquery",
        "seatrial fabric check --counters reads two of them.",
    ),
    _output(r"^Unicast lids \[", "forwarding tables of a fabric", "seatrial fabric check --routes reads them."),
    _output(
        r"^\[P2P \(Peer-to-Peer\) GPU Bandwidth Latency Test\]|^P2P Connectivity Matrix"
        r"|^(?:\w{2,3}directional )?P2P=(?:En|Dis)abled\b|^[ \t]*+D\\D[ \t]++0\b",
        "the output of CUDA's p2pBandwidthLatencyTest",
        "seatrial judge reads nvbandwidth, which measures the same paths.",
        document=True,
    ),
    _output(
        r"^Successfully ran diagnostic for group|^\|\s+Deployment\s+[|-]",
        "the table of dcgmi diag",
        "Run it with -j: seatrial judge reads its JSON, which has each test of each GPU.",
    ),
    _output(
        r"^Communicators\.\.\. \(|\"communicators_count\"\s*:",
        "the state of a job from NCCL's or RCCL's RAS",
        "seatrial does not read it: it has no measurement.",
    ),
    _output(
        r"^[ \t]*+\d{1,9}[ \t]++\d{1,4}\[[ \t]*+\]?[ \t]*+==\(|"
        r"^0x[0-9a-f]{16} \".{0,200}\" +\d{1,9} +\d{1,4}\[|"
        r"^(?:Switch|CA):? 0x[0-9a-f]{8,} .{1,200}:$|==\([ \t]*+(?:\d{1,3}X|Down)",
        "the output of iblinkinfo",
        "seatrial fabric check reads it.",
    ),
    _output(
        r"\[\s*ID\]\s+Interval\s+Transfer|Connecting to host \S{1,99} port "
        r"|sockperf|^lagscope \d",
        "the output of a network benchmark between two hosts (iperf or similar)",
        PAIR_LINES,
    ),
    _output(
        r"\bbytes +#sent +#ack +total +time\b|^#?p0[ \t]+p1[ \t]+dist[ \t]+len\b"
        r"|^\|[ \t]+Stage[ \t]+\|[ \t]*# iterations[ \t]*\|",
        "the output of fi_pingpong, ucx_perftest or mpptest",
        PAIR_LINES,
        document=True,
    ),
    _output(
        r"^[ \t]*+\[  (?:FAILED|PASSED)  \] Ran \d|^[ \t]*+\[ {5,7}(?:OK|FAIL) \] \( {0,4}\d|^\[ReFrame Setup\]",
        "the log of ReFrame",
        "seatrial import reads its performance logs (perflogs) and its report in JSON.",
        document=True,
    ),
    _output(
        r"^numa_hit[ \t]+\d|^Per-node (?:process|system|numastat)\b",
        "the output of numastat",
        UNMEASURED,
        document=True,
    ),
    _output(
        r"(?:^[ \t]*+[\w.+-]{1,100}-\d[\w.+~^]{0,60}-[\w.+~^]{1,80}\.(?:x86_64|noarch|aarch64|ppc64le|i686)\s*\n){2}"
        r"|^ii {1,4}\S{1,100} {1,100}\S{1,100} {1,60}(?:amd64|arm64|ppc64el|all) ",
        "a list of packages (rpm -qa or dpkg -l)",
        UNMEASURED,
        document=True,
    ),
    _output(
        r"^IO500 version |^\[RESULT\] +(?:ior|mdtest)-\w{4}-\w{4,6} ",
        "the result of IO500",
        "seatrial judge reads the outputs of IOR and mdtest that it ran (its folder of results).",
        document=True,
    ),
    _output(
        r'\A\s*\{\s*"Version"\s*:\s*"[^"]{0,40}",[\s\S]{0,4000}?"Tests"\s*:',
        "the JSON of IOR (-O summaryFormat=JSON)",
        "seatrial judge reads what IOR prints without that option.",
        document=True,
    ),
    *(
        _output(
            mark,
            f"the output of {name}",
            "seatrial judge FOLDER compares files named after nodes, as n01.txt; or give a table of its figures.",
            document=True,
        )
        for name, mark in ONE_NODE.items()
    ),
    _output(
        r"^Network(?:Load)? Tests v\d|^\|[ \t]+RR (?:Two|Get|Put|Multiple|One)\b.{0,40}[ \t]\|",
        "the output of GPCNet",
        f"It has no numbers of single nodes. {CHECK}",
        document=True,
    ),
    _output(
        r"\bload averages?: \d.{0,40}\n(?:.{1,120}>>.{0,20}\n)?.{1,200}\bload averages?: \d",  # one line of each node
        "the output of uptime",
        UNMEASURED,
        document=True,
    ),
    _output(
        r"\(core affinity = \d",
        "what xthi prints on the places of ranks",
        UNMEASURED,
        document=True,
    ),
    _output(
        r"^# TYPE \w{1,200} (?:counter|gauge|histogram|summary|untyped)$",
        "what an exporter of Prometheus serves",
        "It has the values of one moment: a table of them is judged, a row for each node: seatrial judge TABLE.csv.",
    ),
    _output(
        r'"RAMBLE_STATUS"|^Experiment \S{1,200} figures of merit:',
        "the results of Ramble",
        "A table of its figures of merit is judged, a row for each node and experiment: seatrial judge TABLE.csv.",
    ),
    *MACHINE_OUTPUTS,
    _output(r"^(?:SwitchName|BlockName)=", "a topology.conf of Slurm", "seatrial judge TABLE --topology reads it."),
    _output(r"^- topology:\s", "a topology.yaml of Slurm", "seatrial judge TABLE --topology reads it."),
    _output(
        r"^sdiag output|^(?:NodeName|PartitionName|JobId)=|\bNODELIST\b|^JobID(?:Raw)?\b.*[|]|^slurmstepd:"
        r"|^srun: (?:error|job)|^\S+\|(?:up|down|idle|alloc)",
        "output of Slurm",
        "Why a job failed says seatrial doctor --from FILE; seatrial jobs --from FILE reads the output of sacct.",
    ),
    _output(
        r'\A\s*\{.*"seatrial"|\A\s*\{\s*"(?:exit_code|format|verdict)"',
        "JSON of seatrial",
        "seatrial report shows a run of the archive.",
    ),
    _output(r"\A\s*(?:\{\s*[\"}]|\[\s*[\[{\"])", JSON_TEXT),
    _output(r"\A\s*(?:<\?xml|<html|<!DOCTYPE|<svg)", "XML or HTML"),
    _output(
        r"(?i)(?:</?(?:br|p|span|div|pre|td|tr)\b[^<>\n]{0,200}>[^<>]{0,2000}){6}", "HTML", "Save the page as text."
    ),
)
"""The first whose mark occurs in the text counts."""
PACKED = (
    ("\x1f\ufffd", "gzip", "zcat"),
    ("BZh", "bzip2", "bzcat"),
    ("\ufffd7zXZ", "xz", "xzcat"),
    ("(\ufffd/\ufffd", "zstd", "zstdcat"),
    ("PK\x03\x04", "zip", "unzip -p"),
)
"""First characters of a compressed file, foreign bytes replaced; its format; and what unpacks it."""
UTF16 = "\ufffd\ufffd"
UTF8_MARK = b"\xef\xbb\xbf"
CONTROLS = re.compile(r"[\0-\x08\x0b\x0e-\x1a\x1c-\x1f\ufffd]")
"""All but tabs, line and page breaks and the escape of colours; and what replaces bytes that are not UTF-8."""
MOST_CONTROLS = 0.05
"""Share of control characters from which on a text is binary."""
HALF = 0.4
"""Share of bytes that are 0 in a text of UTF-16: every second one in words of tools, and hardly any in other files."""
SION = "sion"
"""LinkTest's binary result: its importer says how to convert it."""


def other_output(text: str) -> OtherOutput | None:
    """What a text looks like that no benchmark printed, by its beginning."""
    beginning = text[:LOOKED_AT]
    prose = PROSE if PROSE.mark.search(beginning) else None
    other = next((output for output in OUTPUTS if output.mark.search(beginning)), prose)
    if prose and other is not None:  # it may mention any program
        return other._replace(name=f"{PROSE.name} with {other.name}") if other.document else PROSE
    return other


def one_node_program(text: str) -> str:
    """The program that printed a text, of those whose figures are of one node; empty: JSON, another, or not known."""
    output = None if text.lstrip()[:1] in ("{", "[") else other_output(text)
    name = output.name.removeprefix("the output of ") if output else ""
    return name if name in ONE_NODE else ""


def refuse_unread(beginning: bytes) -> None:
    """Raises UsageError for an empty, packed or binary file, and for text in two-byte characters."""
    if not beginning.strip():
        raise UsageError("The file is empty.", "Give the table of pairs that another tool printed.")
    refuse_binary(beginning[:LOOKED_AT].decode("utf-8", errors="replace"))


def refuse_binary(text: str) -> None:
    """Raises UsageError for a packed or binary file, read as UTF-8 with foreign bytes replaced, and for UTF-16."""
    sample = text[:LOOKED_AT]
    controls = len(CONTROLS.findall(sample))
    for mark, name, program in PACKED:
        if text.startswith(mark) and controls:
            raise UsageError(f"The file is compressed with {name}.", f"Unpack it: {program} FILE > NEW.")
    if text.startswith(UTF16) and sample.count("\0") > HALF * len(sample):
        raise UsageError("The file is text in UTF-16.", "Convert it: iconv -f utf-16 -t utf-8 FILE > NEW.")
    if ("\0" in sample or controls > MOST_CONTROLS * len(sample)) and not text.startswith(SION):
        raise UsageError("The file is binary, not text.", "Check that it is the right file.")
