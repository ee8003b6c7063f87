"""Numbers for millions of node names, and one name for a node that is written with and without its domain."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.importers.fields import MASKS, PADDING, Fields, Places
from seatrial.model.errors import UsageError
from seatrial.model.pair_table import PairTable
from seatrial.model.words import name_form

Words = NDArray[np.uint64]
FACTORS = np.array([0x9E3779B97F4A7C15**power % 2**64 for power in range(PADDING // 8)], dtype=np.uint64)
"""The hash of a name is the sum of its words times these, modulo 2⁶⁴. Names of up to eight bytes are their own hash."""
RUN = 4
"""Average repeats of a name from which each run of equal names is looked up once."""

SET = re.compile(r"\[\d{1,9}(?:[-,]\d{1,9})+(?:,[-,\d]{0,200})?\]")
"""Numbers of several nodes in a name, as Slurm and pdsh write them: n[01-04], n[1,3]."""


SUMMARIES = frozenset({
    "average", "avg", "mean", "geomean", "median", "min", "minimum", "max", "maximum", "sum", "total", "grand total",
    "subtotal", "std", "stdev", "stddev", "std dev", "std. dev", "standard deviation", "sigma", "range", "cv", "rsd",
    "cov", "var", "variance", "spread", "mittelwert", "mittel", "durchschnitt", "summe", "gesamt", "insgesamt",
    "standardabweichung", "stdabw", "std.abw", "stabw", "abweichung", "streuung", "varianz", "spannweite", "ø", "∅",
    "moyenne", "somme", "écart-type", "promedio", "media", "suma", "desviación", "all", "all nodes", "overall",
})  # fmt: skip
"""Names of rows and columns of spreadsheets that summarise the nodes."""
AROUND = " :.%()[]*"
"""What is written around them: `cv%`, `(avg)`, `Total:`."""


FEWEST_NUMBERED = 3
"""Words that differ in digits alone and may be nodes: of fewer, gcc12 and gcc13 are as likely."""


def are_numbered(words: Collection[str]) -> bool:
    """Whether words differ in digits alone, as the names of nodes do."""
    forms = {name_form(word) for word in words}
    return len({*words}) >= FEWEST_NUMBERED and len(forms) == 1 and "0" in min(forms)


class NodeNames:
    """Names in the order in which they were first read.

    A name is compared byte by byte: equal hashes do not suffice.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self._number: dict[str, int] = {}
        self._raw: dict[bytes, int] = {}
        self._hashes: Words = np.zeros(0, dtype=np.uint64)
        self._words: Words = np.zeros((0, len(FACTORS)), dtype=np.uint64)
        self._lengths: Places = np.zeros(0, dtype=np.int64)
        self._numbers: NDArray[np.int32] = np.zeros(0, dtype=np.int32)

    def number(self, raw: bytes) -> int:
        """The number of one name, a new one at its first occurrence."""
        node = self._raw.get(raw)
        if node is None:
            name = raw.decode("utf-8", errors="replace")
            node = self._raw[raw] = self._number.setdefault(name, len(self.names))
            if node == len(self.names):
                self.names.append(name)
        return node

    def number_all(self, fields: Fields, chosen: Places) -> NDArray[np.int32]:
        """The numbers of the names in those fields."""
        start = fields.start[chosen]
        length = fields.end[chosen] - start
        if not len(chosen):
            return np.zeros(0, dtype=np.int32)
        if int(length.max()) > PADDING:
            raw = fields.content.tobytes()
            pairs = zip(start.tolist(), length.tolist(), strict=True)
            return np.array([self.number(raw[place : place + count]) for place, count in pairs], dtype=np.int32)
        words = _words(fields, start, length)
        hashes = np.zeros(len(start), dtype=np.uint64)
        for word, factor in zip(words, FACTORS, strict=False):
            hashes += word * factor
        changed = np.flatnonzero(hashes[1:] != hashes[:-1]) + 1
        if len(changed) * RUN < len(hashes):
            heads = np.concatenate(([0], changed))
            nodes = self._look_up(fields, hashes[heads], [word[heads] for word in words], start[heads], length[heads])
            where = np.repeat(np.arange(len(heads)), np.diff(np.concatenate((heads, [len(hashes)]))))
            same = length == length[heads][where]
            for word in words:
                same &= word == word[heads][where]
            if same.all():
                return nodes[where]
        return self._look_up(fields, hashes, words, start, length)

    def _look_up(
        self, fields: Fields, hashes: Words, words: list[Words], start: Places, length: Places
    ) -> NDArray[np.int32]:
        """Looked up in the table of known names; new names are added first."""
        place, known = self._find(hashes, words, length)
        if not known.all():
            new = np.flatnonzero(~known)
            _, first = np.unique(hashes[new], return_index=True)
            self._learn(fields, new[first], hashes, words, start, length)
            place, known = self._find(hashes, words, length)
        found = self._numbers[place]
        for row in np.flatnonzero(~known).tolist():  # another name has the same hash
            found[row] = self.number(fields.content[start[row] : start[row] + length[row]].tobytes())
        return found

    def _find(self, hashes: Words, words: list[Words], length: Places) -> tuple[Places, NDArray[np.bool_]]:
        if not len(self._hashes):
            return np.zeros(len(hashes), dtype=np.int64), np.zeros(len(hashes), dtype=np.bool_)
        place = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
        known = (self._hashes[place] == hashes) & (self._lengths[place] == length)
        for number, word in enumerate(words):
            known &= self._words[place, number] == word
        return place, known

    def _learn(
        self, fields: Fields, rows: Places, hashes: Words, words: list[Words], start: Places, length: Places
    ) -> None:
        rows = rows[~np.isin(hashes[rows], self._hashes)]
        raw = [fields.content[start[row] : start[row] + length[row]].tobytes() for row in rows.tolist()]
        added = np.zeros((len(rows), len(FACTORS)), dtype=np.uint64)
        for number, word in enumerate(words):
            added[:, number] = word[rows]
        hashed = np.concatenate((self._hashes, hashes[rows]))
        order = np.argsort(hashed)
        self._hashes = hashed[order]
        self._words = np.concatenate((self._words, added))[order]
        self._lengths = np.concatenate((self._lengths, length[rows]))[order]
        numbers = np.array([self.number(name) for name in raw], dtype=np.int32)
        self._numbers = np.concatenate((self._numbers, numbers))[order]


def _words(fields: Fields, start: Places, length: Places) -> list[Words]:
    """The bytes of every name, eight at a time, zeros behind its end."""
    content = fields.content
    at_every_place = np.ndarray((len(content) - 7,), dtype="<u8", buffer=content.data, strides=(1,))
    return [
        at_every_place[start + first] & MASKS[np.clip(length - first, 0, 8)] for first in range(0, int(length.max()), 8)
    ]


def is_summary(name: str) -> bool:
    """Whether a row or column of that name is `Average`, `min`, `Total:` or the like, and not a node."""
    return name.strip().lower().strip(AROUND) in SUMMARIES


MOST_WORDS = 3
"""Words of a name with the part of the node: n04 gpu 3."""


def refuse_sets(names: Iterable[str]) -> None:
    """Raise UsageError for a name that stands for several nodes: one value for all does not measure each."""
    if several := next((name for name in names if "[" in name and SET.search(name)), ""):
        raise UsageError(
            f"{several[:60]!r} is several nodes, and one value for all of them does not measure each.",
            "Write a row for each node; groups of nodes that are compared need names of their own: group1.",
        )


def refuse_phrases(names: Iterable[str]) -> None:
    """Raise UsageError for texts such as `Elapsed time (sec):` or `[0.12]` before numbers, which are not names."""
    if phrase := next((name for name in names if len(name.split()) > MOST_WORDS or {*"()=[]"} & {*name}), ""):
        raise UsageError(
            f"{phrase[:60]!r} is not the name of a node.",
            "Give columns `node` and `value`, and `run` if you like; or write the name of the node before each line.",
        )


def short_names(names: Collection[str]) -> dict[str, str]:
    """Name -> the one that is used for the same node, where it is written in several ways: as n1.cluster, N1 and n1.

    That is the one without a domain and in small letters. A rank behind a colon stays: n1.cluster:0 is n1:0. Hosts of
    one name in two domains keep both of their names.
    """
    small = {name.lower(): name for name in sorted(names)}
    full: defaultdict[str, set[str]] = defaultdict(set)
    for name in small:
        address, colon, rank = name.partition(":")
        host, dot, _ = address.partition(".")
        if dot and not host.isdecimal():
            full[f"{host}{colon}{rank}"].add(name)
    alone = {name: host for host, of_host in full.items() if host in small and len(of_host) == 1 for name in of_host}
    used = {name: small[alone.get(name.lower(), name.lower())] for name in names}
    return {name: one for name, one in used.items() if name != one}


def one_name_each(table: PairTable) -> PairTable:
    """The table with one node for each pair of names such as n1 and n1.cluster, without rows of a node with itself.

    Raises UsageError for a name that stands for several nodes.
    """
    refuse_sets(table.nodes)
    short = short_names(table.nodes)
    if not short and len({*table.nodes}) == len(table.nodes):
        return table
    nodes = tuple(dict.fromkeys(short.get(name, name) for name in table.nodes))
    place = {name: number for number, name in enumerate(nodes)}
    places = np.array([place[short.get(name, name)] for name in table.nodes], dtype=np.int32)
    source, target = places[table.source], places[table.target]
    kept = np.flatnonzero(source != target)
    order = kept[np.lexsort((target[kept], source[kept]))]
    return msgspec.structs.replace(
        table,
        nodes=nodes,
        source=source[order],
        target=target[order],
        bandwidth_bytes_per_s=table.bandwidth_bytes_per_s[order],
        latency_s=table.latency_s[order],
    )
