"""Which of the nodes that sinfo lists a request selects; pure."""

import re
from collections.abc import Collection, Container, Mapping, Sequence
from typing import NamedTuple

from seatrial.model.errors import UsageError
from seatrial.model.settings import SlurmRequest
from seatrial.model.words import count
from seatrial.slurm import text as slurm_text
from seatrial.slurm.text import NodeLine

TOKEN = re.compile(r"[&|,()]|[^&|,()\s]+")
FEATURE = re.compile(r"[^\[\]*&|,()]+")


class WantedNodes(NamedTuple):
    """What the user wants measured."""

    nodes: tuple[str, ...] = ()
    """Names of nodes; none: all that fit."""
    partition: str = ""
    reserved: Collection[str] = ()
    """The nodes of the reservation, where there is one."""
    request: SlurmRequest = SlurmRequest()


def select(
    lines: Sequence[NodeLine], features: Mapping[str, Container[str]], wanted: WantedNodes
) -> tuple[NodeLine, ...]:
    """The lines of the wanted nodes, whatever their state. Raises UsageError for names that do not exist or fit."""
    partitions = sorted({line.partition for line in lines})
    if wanted.partition and wanted.partition not in partitions:
        raise UsageError(
            f"There is no partition {wanted.partition!r} on this cluster.", f"It has {', '.join(partitions)}."
        )
    _refuse_strange(wanted.nodes, lines)
    _refuse_strange(wanted.request.exclude, lines, "--exclude: ")
    mine = slurm_text.partition_lines(lines, wanted.partition)
    if wanted.nodes:
        mine = _named(lines, mine, wanted)
    elif wanted.reserved:
        mine = tuple(line for line in mine if line.node in wanted.reserved)
    mine = tuple(line for line in mine if line.node not in wanted.request.exclude)
    return _constrained(mine, features, wanted)


def _refuse_strange(names: Sequence[str], lines: Sequence[NodeLine], option: str = "") -> None:
    strange = slurm_text.unknown_names(names, (line.node for line in lines))
    if strange:
        raise UsageError(f"{option}Slurm knows no node {strange[0]!r}.", "sinfo --Node lists those that it knows.")


def _named(lines: Sequence[NodeLine], mine: Sequence[NodeLine], wanted: WantedNodes) -> tuple[NodeLine, ...]:
    elsewhere = slurm_text.unknown_names(wanted.nodes, (line.node for line in mine)) if wanted.partition else []
    if elsewhere:
        theirs = sorted({line.partition for line in lines if line.node == elsewhere[0]})
        raise UsageError(
            f"Node {elsewhere[0]} is not in the partition {wanted.partition}.", f"It is in {', '.join(theirs)}."
        )
    by_name = {line.node: line for line in (*lines, *mine)}
    return tuple(by_name[name] for name in wanted.nodes)


def _constrained(
    mine: Sequence[NodeLine], features: Mapping[str, Container[str]], wanted: WantedNodes
) -> tuple[NodeLine, ...]:
    constraint = wanted.request.constraint
    if not constraint:
        return tuple(mine)
    fitting = tuple(line for line in mine if satisfies(constraint, features.get(line.node, ())))
    missing = [line.node for line in mine if line not in fitting] if wanted.nodes else []
    if missing or (mine and not fitting):
        who = f"Node {missing[0]} does not satisfy" if missing else f"None of {count(len(mine), 'node')} satisfies"
        raise UsageError(f"{who} --constraint {constraint}.", "sinfo --format='%N %f' lists the features.")
    return fitting


def satisfies(constraint: str, features: Container[str]) -> bool:
    """Whether a node with these features satisfies a constraint of Slurm's: names, & or a comma, |, parentheses.

    Slurm evaluates from left to right; & does not bind more tightly than |. Raises UsageError for what Slurm judges
    by a whole set of nodes ([a|b] and a*2), and for what it would refuse.
    """
    tokens = TOKEN.findall(constraint)
    value, left = _expression(tokens, features, constraint)
    if left:
        raise _invalid(constraint)
    return value


def _expression(tokens: Sequence[str], features: Container[str], whole: str) -> tuple[bool, Sequence[str]]:
    """The value of what begins here, and the tokens after it."""
    value, tokens = _term(tokens, features, whole)
    while tokens and tokens[0] in ("&", ",", "|"):
        operator = tokens[0]
        other, tokens = _term(tokens[1:], features, whole)
        value = (value or other) if operator == "|" else (value and other)
    return value, tokens


def _term(tokens: Sequence[str], features: Container[str], whole: str) -> tuple[bool, Sequence[str]]:
    if not tokens:
        raise _invalid(whole)
    if tokens[0] == "(":
        value, left = _expression(tokens[1:], features, whole)
        if not left or left[0] != ")":
            raise _invalid(whole)
        return value, left[1:]
    if not FEATURE.fullmatch(tokens[0]):
        raise _invalid(whole)
    return tokens[0] in features, tokens[1:]


def _invalid(constraint: str) -> UsageError:
    return UsageError(
        f"--constraint {constraint!r} cannot be used to select nodes.",
        "Combine features with &, | and parentheses: 'hdr&(rome|milan)'. Counts (a*2) and alternatives of a whole job "
        "([a|b]) are not supported; name the nodes by --nodes.",
    )
