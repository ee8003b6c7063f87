"""Programs that start another one (`env A=1`, `taskset -c 0`, `numactl -N0`): where they end, and whether they bind."""

import re
from collections.abc import Iterable, Sequence

import msgspec

from seatrial.launch.line_options import SRUN


class Wrapper(msgspec.Struct, frozen=True, kw_only=True):
    """One of them with its own words. `binds`: it chooses processors, or memory to go with them."""

    words: tuple[str, ...]
    binds: bool = False


class _Manner(msgspec.Struct, frozen=True, kw_only=True):
    """How an option is written. `values`: options that take the next word; `places`: other words before the program."""

    values: frozenset[str] = frozenset()
    places: int = 0
    binding: frozenset[str] | None = frozenset()
    """Options by which it binds; None: it always does."""


def _manner(values: str = "", places: int = 0, binding: str | None = "") -> _Manner:
    chosen = None if binding is None else frozenset(binding.split())
    return _Manner(values=frozenset(values.split()), places=places, binding=chosen)


_PROCESSORS = "N C cpunodebind physcpubind"
_WRAPPERS = {
    "env": _manner("u C S unset chdir split-string"),
    "nice": _manner("n adjustment"),
    "ionice": _manner("c n class classdata"),
    "nohup": _manner(),
    "time": _manner("f o format output"),
    "stdbuf": _manner("i o e input output error"),
    "timeout": _manner("k s kill-after signal", places=1),
    "salloc": _Manner(values=frozenset(SRUN.values)),
    "numactl": _manner(f"{_PROCESSORS} m p i w P membind preferred interleave", binding=_PROCESSORS),
    "taskset": _manner(places=1, binding=None),
    "likwid-pin": _manner("c s", binding=None),
    "hwloc-bind": _manner("mempolicy pid", binding=None),
}
"""From env(1), nice(1), taskset(1), numactl(8), hwloc-bind(1) and their like; salloc takes srun's options."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.ASCII | re.DOTALL)
_LOCATION = re.compile(r"~?\^?(all|root|0x[0-9a-fA-F]+|[a-zA-Z]+[0-9]{0,9}:[0-9a-z:.=-]+)")


def unwrapped(words: Sequence[str]) -> tuple[tuple[Wrapper, ...], tuple[str, ...]]:
    """What comes before the program that the words start in the end, one after the other; and the rest."""
    found: list[Wrapper] = []
    rest = tuple(words)
    while rest and (manner := _WRAPPERS.get(rest[0].rpartition("/")[2])):
        taken, binds = _taken(rest, manner)
        found.append(Wrapper(words=rest[:taken], binds=binds))
        rest = rest[taken:]
    return tuple(found), rest


def words_of(wrappers: Iterable[Wrapper], *, bound: bool) -> list[str]:
    """All their words; without `bound` those that bind are left out."""
    return [word for one in wrappers if bound or not one.binds for word in one.words]


def assigned(words: Sequence[str]) -> tuple[str, ...]:
    """`A=1 srun app`, which a shell would understand, as `env A=1 srun app`."""
    return ("env", *words) if words and _ASSIGNMENT.fullmatch(words[0]) else tuple(words)


def _taken(words: Sequence[str], manner: _Manner) -> tuple[int, bool]:
    """How many words are the wrapper's, and whether it binds."""
    name = words[0].rpartition("/")[2]
    binds, places, at = manner.binding is None, manner.places, 1
    while at < len(words):
        word = words[at]
        if word == "--":
            return at + 1, binds
        if word.startswith("-") and len(word) > 1:
            option = word.lstrip("-").partition("=")[0]
            short = option[:1] if not word.startswith("--") else option
            binds = binds or (manner.binding is not None and not manner.binding.isdisjoint((option, short)))
            at += 2 if option in manner.values and "=" not in word else 1
        elif places:
            places, at = places - 1, at + 1
        elif (name == "env" and _ASSIGNMENT.fullmatch(word)) or (name == "hwloc-bind" and _LOCATION.fullmatch(word)):
            at += 1
        else:
            break
    return min(at, len(words)), binds
