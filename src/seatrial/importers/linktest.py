"""The results of Jülich's LinkTest 1.x for each pair: its output in serial mode, and the list of pingponganalysis -g.

Built from the program's public source and the wiki of 2.x; no output of a real run has been seen.
"""

import re
from collections import defaultdict
from collections.abc import Mapping

from seatrial.importers.pair_evidence import NotPairs, refuse_other_ends
from seatrial.importers.pair_lines import MEBIBYTE, Pair
from seatrial.model.errors import UsageError
from seatrial.model.pair_table import PairTable, repeated_pair_table

LATENCY_BYTES = 1024
"""A message of at most this size measures latency, a longer one bandwidth."""
TASK = re.compile(r"(?m)^[ \t]*task\[(?P<rank>\d{1,9})\] on (?P<host>\S+)")
SERIAL = re.compile(
    r"(?m)^[ \t]*(\d{1,9})->[ \t]*(\d{1,9}):[ \t]*(\d{1,9}\.\d{1,9})us \([ \t]*(\d{1,9}\.\d{1,9}) MB/s\)"
)
LISTED = re.compile(r"(?m)^[ \t]*(\d{1,9})[ \t]+(\d{1,9})[ \t]+(\d{1,18}\.\d{8})[ \t]+(\d{1,18}\.\d{8})[ \t]*$")
SUMMARY = re.compile(r"(?:Parallel|Serial)\s+(?:PingPong for step|Results for step)|Aggregated Results:")
LIST, HOSTS = "gnuplotinput.dat", "mapping.dat"
LIST_HINT = "LinkTest 1.x: 'pingponganalysis -g FILE.sion' writes gnuplotinput.dat and mapping.dat; give their folder."
CSV_HINT = "LinkTest 2.x: write what its Python package reads from the SION file as csv: source,target,latency_us."


def is_linktest(text: str) -> bool:
    """Whether it is any form of LinkTest's results, such as can be read or not."""
    listed = len(LISTED.findall(text))
    most = 2 * listed > sum(1 for line in text.splitlines() if line.strip())
    return is_sion(text) or most or bool(SERIAL.search(text) or SUMMARY.search(text))


def is_sion(text: str) -> bool:
    """A SION file, which is binary: recognised by its first four bytes and LinkTest's own mark further on."""
    return text.startswith("sion") and ("\0" in text or "LKTST" in text or "LinkTest" in text)


def parse_linktest(text: str) -> PairTable:
    """The pairs of one file. Raises UsageError for a SION file, or an output without results of pairs."""
    if is_sion(text):
        raise UsageError("This is LinkTest's binary result, a SION file; it is not read.", f"{LIST_HINT} {CSV_HINT}")
    return _table(text, {int(task["rank"]): task["host"] for task in TASK.finditer(text)})


def parse_linktest_files(texts: Mapping[str, str]) -> PairTable:
    """A folder with gnuplotinput.dat, and mapping.dat for the hosts' names. Raises UsageError without the first."""
    if LIST not in texts:
        raise UsageError(f"There is no {LIST} in this folder.", LIST_HINT)
    return _table(texts[LIST], _places(texts.get(HOSTS, "")))


def _places(text: str) -> dict[int, str]:
    """Lines of mapping.dat: rank, coordinates in a torus, host."""
    lines = [line.split() for line in text.splitlines()]
    return {int(words[0]): words[-1] for words in lines if len(words) > 2 and re.fullmatch(r"[0-9]{1,9}", words[0])}


def _table(text: str, hosts: Mapping[int, str]) -> PairTable:
    """Microseconds in the program's output, seconds in the list; its MB are 2²⁰ bytes. Zero: not measured."""
    rows = [(a, b, float(us) * 1e-6, float(rate)) for a, b, us, rate in SERIAL.findall(text)]
    rows += [(a, b, float(seconds), float(rate)) for a, b, seconds, rate in LISTED.findall(text)]
    measured = [
        (int(a), int(b), time, rate * MEBIBYTE) for a, b, time, rate in rows if a != b and time > 0 and rate > 0
    ]
    if not measured:
        raise NotPairs(
            "This output of LinkTest has no results of pairs: in parallel mode it prints summaries only.",
            f"{LIST_HINT} {CSV_HINT}",
        )
    ranks = sorted({rank for a, b, *_ in measured for rank in (a, b)})
    names = _names(ranks, hosts)
    sizes = sorted(time * rate for _, _, time, rate in measured)
    short = sizes[len(sizes) // 2] <= LATENCY_BYTES
    values: defaultdict[Pair, list[float]] = defaultdict(list)
    for a, b, time, rate in measured:
        values[names[a], names[b]].append(time if short else rate)
    table = repeated_pair_table(tuple(names.values()), {} if short else values, values if short else {})
    refuse_other_ends(table)
    return table


def _names(ranks: list[int], hosts: Mapping[int, str]) -> dict[int, str]:
    """A rank's host; HOST:RANK for all where several share one or any has none; the bare number where none has any."""
    if not hosts:
        return {rank: str(rank) for rank in ranks}
    names = [hosts.get(rank, "") for rank in ranks]
    alone = len(set(names)) == len(ranks) and all(names)
    return {rank: hosts[rank] if alone else f"{hosts.get(rank, 'rank')}:{rank}" for rank in ranks}
