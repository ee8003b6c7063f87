"""Words in the names of columns: what they say of the role of a column."""

import itertools
import re
from collections.abc import Collection

from seatrial.model.unit_text import unit_of

NODE_NAMES = (
    "node", "hostname", "host", "nodename", "nodelist", "server", "machine", "compute_node", "nodes", "name", "knoten",
    "rechner", "nodo",
)  # fmt: skip
"""The first that a table has is the column of the nodes; `nodes` may be a number, and `name` that of a test."""
SIZES_OF_RUNS = ("nodes", "ranks", "cores", "processes", "procs", "tasks", "threads", "gpus")
"""What a run can be large in; the first that a table or an output has is what its curves run over."""
ABBREVIATED = {"np": "ranks", "nprocs": "procs", "ntasks": "tasks"}
COUNTING = frozenset({"number", "num", "no", "nr", "n", "count", "total", "mpi", "omp", "openmp", "of", "compute"})
"""Words beside the one that says what is counted."""
RUN_NAMES = frozenset({"run", "iter", "iteration", "rep", "repetition", "repeat", "trial", "time", "date", "timestamp"})
RUN_WORDS = frozenset({
    "run", "lauf", "essai", "iter", "iteration", "rep", "repetition", "repeat", "trial", "attempt", "try", "job",
    "jobid", "timestamp", "date", "day", "started", "when", "seed",
})  # fmt: skip
PART_WORDS = frozenset({
    "gpu", "device", "dev", "gcd", "card", "accelerator", "socket", "package", "numa", "cpu", "core", "port", "nic",
    "hca", "adapter", "rail", "disk", "drive", "dimm", "slot", "rank", "die", "tile", "uuid", "serial", "part",
})  # fmt: skip
CONDITION_WORDS = frozenset({
    "size", "bytes", "length", "msg", "message", "block", "blocksize", "bs", "n", "nb", "p", "q", "threads", "ranks",
    "procs", "tasks", "ppn", "np", "gpus", "cores", "cpus", "nodes", "jobs", "depth", "iodepth", "numjobs", "test",
    "kernel", "op", "operation", "function", "collective", "algorithm", "metric", "benchmark", "case", "mode", "rw",
    "direction", "precision", "dtype", "type", "pattern", "config", "variant", "count", "num", "level", "frequency",
})  # fmt: skip
COUNT_WORDS = frozenset({"count", "num"})
COUNTED_WORDS = frozenset({
    "gpu", "gcd", "device", "rank", "node", "thread", "core", "cpu", "proc", "process", "task", "job", "message", "of",
    "elements", "total",
})  # fmt: skip
"""What a count must be of to be the size of a run; other counts are of what happened: retries, restarts, stalls."""
BEFORE = frozenset({"before", "old", "pre", "baseline", "vorher", "alt", "avant", "antes"})
AFTER = frozenset({"after", "new", "post", "upgraded", "nachher", "neu", "despues"})
PLACE_WORDS = frozenset({"rack", "row", "chassis", "cabinet", "leaf", "switch"})
SOFTWARE_WORDS = frozenset({"bios", "firmware", "microcode", "driver", "version", "release"})
PROPERTY_WORDS = PLACE_WORDS | SOFTWARE_WORDS
NO_LAST = frozenset({"name", "a", "b", "c", "v", "m", "cm", "src", "dst", "days", "phy"})
"""Last words of names that say nothing of what a column is."""
MODEL_WORDS = frozenset({"model", "type", "sku", "generation", "arch", "architecture", "processor", "cpu", "partition"})
"""Words of a property by which nodes differ on purpose: nodes of one model are compared with each other."""
CAPACITY_WORDS = frozenset({"mem", "memory", "ram", "vram", "hbm", "swap", "disk", "cores", "sockets", "capacity"})
"""What nodes have, where all rows say the same, and not how fast it is."""
DEVIATIONS = frozenset({"std", "stdev", "stddev", "sd", "sigma", "cv", "rsd", "var", "variance", "err", "sem", "mad"})
"""Words of columns that say how far the values of others scatter."""
INDEX_WORDS = frozenset({"index", "idx", "id", "nr", "no", "row"})
IDENTIFIER_WORDS = frozenset({
    "id", "index", "idx", "nr", "no", "number", "sn", "slot", "port", "pid", "ppid", "tid", "uid", "gid", "jobid",
    "seed", "lid", "guid", "qpn",
})  # fmt: skip
CHECKSUM_WORDS = frozenset({"checksum", "crc", "hash", "sha"})
ERROR_WORDS = frozenset({
    "error", "residual", "residuals", "norm", "tolerance", "epsilon", "eps", "diff", "difference",
    "deviation",
})  # fmt: skip
"""How far an answer is from the right one."""
TRAFFIC_WORDS = frozenset({"packets", "pkts", "octets", "frames", "events", "interrupts"})
"""What counters of a port or node have counted since they were cleared."""
SENSOR_WORDS = frozenset({"temperature", "temp", "fan", "fans", "power", "voltage", "utilization", "load"})
PART_NUMBERS = PART_WORDS | INDEX_WORDS | {"number", "num", "local", "name", "node", "label", "ordinal", "bus", "minor"}
"""The last words of a number that says which part of a node it is; others measure something of the part."""


def words_of(name: str) -> list[str]:
    """The words of a name, lower case: `h2d_GB_s` to h, d, gb, s."""
    return re.findall(r"[a-zµ]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())


def size_of_run(name: str) -> str:
    """What a column of numbers with this name counts, as `nodes` of `No. of nodes`; empty for another name.

    One node, as in `node number`, is a label, but for `num_node` and `node count`.
    """
    words = words_of(name)
    left = [ABBREVIATED.get(word, word) for word in words if word not in COUNTING]
    endings = ("", "s", "es") if COUNT_WORDS.intersection(words) else ("",)
    named = {word + end for word in left for end in endings} if len(left) == 1 else set()
    return next((kind for kind in SIZES_OF_RUNS if kind in named), "")


def states_in(names: Collection[str]) -> list[str]:
    """The names of columns that say before and after a change; none where one of the two is missing."""
    before, after = ([name for name in names if words.intersection(words_of(name))] for words in (BEFORE, AFTER))
    return [*before, *after] if before and after and len({*before, *after}) == len(before) + len(after) else []


def last_word(name: str) -> str:
    """The last word of a name, before a unit or the word `name`: `model` of `Model name`, `power` of `rack_power_W`."""
    words = words_of(name)
    units = (word in NO_LAST or unit_of(word) or unit_of(word.upper()) for word in words[:0:-1])
    return "".join(words[-1 - len([*itertools.takewhile(bool, units)]) :][:1])


def names_result(name: str) -> bool:
    """Whether numbers of that name can be results, by which nodes are faster or slower: no identifiers, no errors.

    With a unit behind it the name of a part is that of its rate: `port_GBps`.
    """
    last = last_word(name)
    identifies = last in IDENTIFIER_WORDS and words_of(name)[-1:] == [last]
    return not identifies and last not in CHECKSUM_WORDS | ERROR_WORDS | SOFTWARE_WORDS | TRAFFIC_WORDS


def names_condition(name: str) -> bool:
    """Whether the words of a name are those of a condition: `Number of Threads requested`."""
    longer = {word for word in words_of(name) if len(word) > 1}
    return not CONDITION_WORDS.isdisjoint({last_word(name), *longer})
