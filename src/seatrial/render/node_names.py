"""Names of many nodes in short form: n[1-3,7]."""

import re
from collections import defaultdict
from collections.abc import Iterable

from seatrial.model.words import natural_key, natural_sorted, ranges

_LAST_NUMBER = re.compile(r"(.*?)([0-9]{1,15})([^0-9]*)", re.DOTALL)
Kind = tuple[str, str, int]
"""The text before and after a number, and its width where it is padded with zeros (0: it is not)."""


def folded(names: Iterable[str]) -> str:
    """n1, n2, n3, n7, login -> login,n[1-3,7]; by the last number in a name, as ClusterShell and Slurm write it."""
    of_kind: defaultdict[Kind, list[int]] = defaultdict(list)
    texts: list[str] = []
    parted = {name: _LAST_NUMBER.fullmatch(name) for name in set(names)}
    filled = {(match[1], match[3], len(match[2])) for match in parted.values() if match and re.match("0.", match[2])}
    for name, match in parted.items():
        if match is None:
            texts.append(name)
            continue
        before, digits, after = match.groups()
        width = len(digits) if (before, after, len(digits)) in filled else 0
        of_kind[before, after, width].append(int(digits))
    for (before, after, width), found in of_kind.items():
        spans = ranges(found, width)
        texts.append(f"{before}{spans}{after}" if len(found) == 1 else f"{before}[{spans}]{after}")
    return ",".join(natural_sorted(texts))


def few(names: Iterable[str], most: int) -> str:
    """The folded names; where these are longer than `most`, the number of nodes, the first and the last."""
    unfolded = sorted(set(names), key=natural_key)
    text = folded(unfolded)
    if len(text) <= most:
        return text
    return f"{len(unfolded)} nodes, {unfolded[0]} to {unfolded[-1]}"
