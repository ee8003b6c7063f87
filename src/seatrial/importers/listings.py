"""Listings of jobs, nodes, processes, file systems and GPUs, by the names of their columns."""

import re
from typing import NamedTuple

from seatrial.importers.other_outputs import LOOKED_AT
from seatrial.model.errors import UsageError

HEAD_LINES = 12
"""Lines at the beginning of a listing among which its names of columns are."""
LISTED_COLUMNS = 3
LISTED_SHARE = 0.8
"""A listing has at least as many columns whose names are known, and this share of all."""


class Listing(NamedTuple):
    """A table of what is there: jobs, nodes, processes. `own`: names of columns that hardly any other table has."""

    program: str
    own: frozenset[str]
    others: frozenset[str]
    readings: bool = False
    """Whether its numbers are readings of sensors, of which one that the user chooses is compared."""


LISTINGS = (
    Listing(
        "Slurm",
        frozenset({
            "jobid", "partition", "nodelist", "nodelist(reason)", "avail", "timelimit", "time_left", "time_limit",
            "s:c:t", "tmp_disk", "avail_fe", "free_mem", "cpu_load", "jobname", "alloccpus", "exitcode", "qos",
            "jobidraw", "elapsedraw", "cputimeraw", "timelimitraw", "cputime", "totalcpu", "usercpu", "systemcpu",
            "ncpus", "nnodes", "ntasks", "reqcpus", "reqmem", "reqnodes", "reqtres", "alloctres", "allocnodes",
            "avecpu", "averss", "avevmsize", "avediskread", "avediskwrite", "maxrss", "maxrssnode", "maxrsstask",
            "maxvmsize", "maxdiskread", "maxdiskwrite", "mincpu", "mincpunode", "consumedenergy",
            "consumedenergyraw", "time_used", "timeused", "timeleft", "freemem", "cpusstate",
            "cpusload", "allocmem", "gresused",
        }),
        frozenset({
            "name", "user", "st", "state", "time", "nodes", "cpus", "memory", "weight", "reason", "account", "elapsed",
            "start", "end", "hostnames", "submit_time", "start_time", "priority", "cluster", "min_memory", "features",
            "host", "submit", "eligible", "suspended", "nodehost", "statelong", "statecompact", "numnodes",
        }),
    ),
    Listing(
        "ps or top",
        frozenset({"pid", "ppid", "%cpu", "%mem", "vsz", "rss", "tty", "time+", "virt", "shr"}),
        frozenset({
            "user", "uid", "stat", "start", "stime", "time", "command", "cmd", "c", "pr", "ni", "res", "s", "args",
        }),
    ),
    Listing(
        "df or lsblk",
        frozenset({"filesystem", "1k-blocks", "use%", "mounted", "maj:min", "mountpoint", "mountpoints"}),
        frozenset({"name", "size", "used", "available", "avail", "on", "rm", "ro", "type", "fstype"}),
    ),
    Listing(
        "LSF, PBS or Grid Engine",
        frozenset({
            "host_name", "jl/u", "njobs", "ssusp", "ususp", "exec_host", "from_host", "job_name", "r15s", "r1m", "r15m",
            "vnode", "nmics", "f/t", "ncpu", "nsoc", "ncor", "nthr", "memtot", "memuse", "swapto", "swapus",
        }),
        frozenset({
            "status", "max", "run", "rsv", "jobid", "user", "stat", "queue", "submit_time", "ut", "pg", "ls", "it",
            "tmp", "swp", "mem", "state", "os", "hardware", "host", "ncpus", "ngpus", "comment", "susp", "jobs",
            "hostname", "arch", "load",
        }),
    ),
    Listing(
        "nvidia-smi",
        frozenset({
            "temperature.gpu", "utilization.gpu", "utilization.memory", "memory.used", "memory.total", "memory.free",
            "power.draw", "power.limit", "pci.bus_id", "clocks.sm", "clocks.mem", "clocks.gr", "driver_version",
        }),
        frozenset({
            "index", "name", "uuid", "timestamp", "pstate", "count", "gpu_name", "gpu_uuid", "serial", "[%]", "[mib]",
            "[w]", "[mhz]", "node", "host", "hostname",
        }),
        readings=True,
    ),
)  # fmt: skip


def refuse_listing(text: str, remedy: str = "", *, column: str = "") -> None:
    """Raises UsageError for a listing of jobs, nodes, processes or file systems: its numbers are not measurements.

    `column`: the column that the user chose, which may have readings of sensors.
    """
    for line in text[:LOOKED_AT].splitlines()[:HEAD_LINES]:
        cells = [cell.strip() for cell in re.split(r"[|,;]", line)]
        words = [word.lower() for cell in cells for word in cell.split() if not word.endswith(":")]
        for listing in LISTINGS:
            listed = sum(word in listing.own | listing.others for word in words)
            own = next((cell for cell in cells if listing.own.intersection(cell.lower().split())), "")
            if listed < max(LISTED_COLUMNS, LISTED_SHARE * len(words)) or not own or (listing.readings and column):
                continue
            chosen = (
                f"Choose one of its readings: --column '{own}' with --as fleet --part index compares GPUs, if a first "
                "column `node` names their nodes; with --as series it finds changes over time."
            )
            raise UsageError(
                f"This looks like the output of {listing.program}, not like a table of measurements.",
                chosen * listing.readings
                or remedy
                or "Give the numbers that a benchmark reached, as CSV with a first line of names.",
            )
