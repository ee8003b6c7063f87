"""Which node and run an output of a benchmark is of, by the name of its file, and which files should have one."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePath
from typing import NamedTuple

from seatrial.importers.other_outputs import one_node_program
from seatrial.importers.outcome_words import fails
from seatrial.model.words import name_form

OUTPUT_NAME = re.compile(r"(?P<node>.+?)-[A-Za-z_]+-[0-9]{1,9}n-[0-9]{1,9}-iter-(?P<run>[0-9]{1,9})\.(?:out|log|txt)")
"""`NODE-stream-1n-226-iter-1.out`, as flux and Slurm jobs of converged-computing's studies write them."""
RUN = r"(?:(?:run|iter|rep|try)[-_]?)?(?P<run>\d{1,6})"
"""Number of a run behind the name of the benchmark in the name of a file."""
ENDING = re.compile(
    r"(?i)\.(?:out|output|stdout|err|stderr|log|txt|dat|res|results?|json|csv|tsv|xml|ya?ml|[oe]?\d{1,18})$"
)
"""What ends the name of a file; that of a host may end in the name of its domain."""
TEST = (
    r"(?:_(?:[a-z]{1,12}_)?(?:bw|bibw|mr|lat(?:ency)?|all[a-z]{4,12}|bcast|barrier|reduce|gather|scatter)(?![a-z\d]))?"
)
"""What follows the name of a benchmark in that of its program: osu_bw, osu_mbw_mr, osu_allreduce."""
ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
"""The name of a host that has none."""
NODE_WORD = "node|host|server|knoten|rechner"
NUMBERED_NODE = re.compile(rf"(?i)(?:.*[-_])?(?:{NODE_WORD})[-_]?\d{{1,9}}")
"""A name without its domain that can only be that of a node, while `before1` and `cn07` may be any series."""
TEST_BEHIND = re.compile(r"(?<=\d)-[A-Za-z]+$")
DIVIDES = "-_."
LONGEST_REASON = 100
"""Characters of what was printed in place of an output."""


class OutputPlace(NamedTuple):
    """The node of an output, and the number of its run; 0 where the name has none."""

    node: str
    run: int = 0


def place_of(name: str, benchmark: str = "") -> OutputPlace:
    """`n3-stream.out`, `stream_n3.log`, `n3-stream-run2.log` and `NODE-stream-1n-226-iter-1.out` to node and run."""
    stem = PurePath(name).name
    if match := OUTPUT_NAME.fullmatch(stem):
        return OutputPlace(match["node"], int(match["run"]))
    stem = stem if ADDRESS.fullmatch(stem) else ENDING.sub("", stem)
    program = f"{re.escape(benchmark)}{TEST}"
    if match := re.fullmatch(rf"(?i)(.*[^-_.])[-_.]+{program}[-_.]+{RUN}", stem):
        return OutputPlace(match[1], int(match["run"]))
    stem = re.sub(rf"(?i)^{program}[-_.]+|(?<![-_.])[-_.]+{program}$", "", stem) or stem
    if match := re.fullmatch(rf"(?i)(.*[^-_.])[-_.]+(?=[a-z]){RUN}", stem):  # `stream_cn07_run2`; cn07_2 may be a node
        return OutputPlace(match[1], int(match["run"]))
    return OutputPlace(stem)


def places_of(names: Collection[str], benchmark: str = "") -> dict[str, OutputPlace]:
    """Node and run of each output, without what all of their names have besides: `hpl_n92160_node04.out` to node04.

    The name of a host has no underscore (RFC 952), so it is between two of them, and begins with a letter. What all
    names end in behind a hyphen is that of a test: `stor05-seqread` to stor05.
    """
    places = {name: place_of(name, benchmark) for name in names}
    ends = {TEST_BEHIND.search(place.node) for place in places.values()} if len({*places.values()}) > 1 else {None}
    if None not in ends and len({end[0] for end in ends if end}) == 1:
        places = {name: place._replace(node=TEST_BEHIND.sub("", place.node)) for name, place in places.items()}
    words = {place.node: place.node.split("_") for place in places.values()}
    shared = set.intersection(*map(set, words.values())) if len(words) > 1 else set[str]()
    nodes = {node: "_".join(word for word in own if word not in shared) for node, own in words.items()}
    if not all(node[:1].isalpha() for node in nodes.values()):
        return places
    return {name: place._replace(node=nodes[place.node]) for name, place in places.items()}


def places_of_runs(names: Sequence[str], benchmark: str) -> dict[str, OutputPlace]:
    """Node and run of the outputs whose names say the node, in an order in which later ones are later runs."""
    places = places_of(names, benchmark)
    runs: Counter[str] = Counter()
    for name in names:
        node = places[name].node
        runs[node] += 1
        if not (OUTPUT_NAME.fullmatch(PurePath(name).name) or NUMBERED_NODE.fullmatch(node.partition(".")[0])):
            del places[name]
        elif not places[name].run:
            places[name] = OutputPlace(node, runs[node])
    return places


def lines_of_files(texts: Mapping[str, str]) -> str:
    """The lines of outputs of one program that is not read as a benchmark, behind the node of each file's name.

    Empty for other files, and where their names do not differ in digits alone.
    """
    tools = set(map(one_node_program, texts.values()))
    nodes = {name: place.node for name, place in places_of(texts).items()}
    alike = len({*map(name_form, nodes.values())}) == 1 and len({*nodes.values()}) > 1
    if len(tools) > 1 or "" in tools or not alike or not all(node[:1].isalpha() for node in nodes.values()):
        return ""
    return "".join(f"{nodes[name]}: {line}\n" for name in sorted(texts) for line in texts[name].splitlines())


def without_output(outputs: Collection[str], others: Mapping[str, str], benchmark: str) -> dict[str, str]:
    """Name -> what is in place of an output, of the files that are named as the outputs are: each should have one.

    Files of another ending, of standard error beside an output, and of another form are none of these. A name of other
    letters is that of a node if it has the benchmark, or outputs differ in letters, and its text is empty or an error.
    """
    places = places_of({*outputs, *others}, benchmark)
    nodes = {places[name].node for name in outputs}
    forms = {name_form(node) for node in nodes}
    frames = {_frame(name, places[name]) for name in outputs}
    without = {}
    for name, text in others.items():
        node = places[name].node
        if _frame(name, places[name]) not in frames:
            continue
        free = len(forms) > 1 or benchmark.lower() in name.lower()
        beside = any(node.startswith(tuple(before + mark for mark in DIVIDES)) for before in nodes)
        failed = not text.strip() or fails(text)
        if name_form(node) in forms or (free and failed and not beside):
            without[name] = reason(text)
    return without


def reason(text: str) -> str:
    """What was printed in place of an output."""
    return " ".join(text.split())[:LONGEST_REASON] or "it is empty"


def _frame(name: str, place: OutputPlace) -> str:
    """The name of a file without that of its node: `stream-.txt`, `-stream-0n-0-iter-0.out`."""
    return name_form(name.replace(place.node, "", 1))
