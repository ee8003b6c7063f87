"""Which node and run an output of a benchmark is of, by the name of its file, and which files should have one."""

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePath
from typing import NamedTuple

from seatrial.importers.other_outputs import one_node_program
from seatrial.importers.outcome_words import fails
from seatrial.model.column_words import CONDITION_WORDS, NODE_NAMES, PART_WORDS, PLACE_WORDS, RUN_WORDS
from seatrial.model.words import name_form

OUTPUT_NAME = re.compile(r"(?P<node>.+?)-[A-Za-z_]+-[0-9]{1,9}n-[0-9]{1,9}-iter-(?P<run>[0-9]{1,9})\.(?:out|log|txt)")
"""`NODE-stream-1n-226-iter-1.out`, as flux and Slurm jobs of converged-computing's studies write them."""
RUN = r"(?:(?:run|iter|rep|try)[-_]?)?(?P<run>\d{1,6})"
"""Number of a run behind the name of the benchmark in the name of a file."""
ENDINGS = frozenset({
    "out", "output", "stdout", "err", "stderr", "log", "txt", "dat", "res", "result", "results", "json", "csv", "tsv",
    "xml", "yml", "yaml", "time",
})  # fmt: skip
"""Words at the end of the names of files, and in none of nodes."""
ENDING = re.compile(rf"(?i)\.(?:{'|'.join(ENDINGS)}|[oe]?\d{{1,18}})$")
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
COUNTED_RUN = re.compile(r"(.*\d)_(\d{1,3})|((?:[A-Za-z]+\d+){2,9})-(\d{1,3})")
"""A node and what may be the number of its run, as `node06_2`, `r1n3-2`; a host's name has no underscore (RFC 952)."""
DIVIDES = "-_."
LETTERS = re.compile(r"[A-Za-z]+")
NO_NODES = ENDINGS | RUN_WORDS | PART_WORDS | (CONDITION_WORDS - {"n", "p", "q"}) | frozenset({
    "pass", "round", "step", "thread", "v", "version", "omp", "openmp", "o", "opt", "gcc", "icc", "icx", "ifx", "ifort",
    "intel", "oneapi", "clang", "llvm", "aocc", "nvhpc", "pgi", "cce", "cuda", "rocm", "openmpi", "ompi", "mpich",
    "impi", "mvapich", "ucx", "ofi", "pmix", "kernel", "el", "rhel", "sles", "mlx", "hfi", "cxi", "bnxt", "nvme", "sda",
    "sdb", "sdc", "slurm", "hpcg", "hpl", "stream", "eth", "eno", "ens", "enp",
})  # fmt: skip
"""Letters of names that repetitions, parts of a node, sizes, compilers, libraries and devices have."""
FEW_PARTS = PART_WORDS - {"rank", "core", "cpu", "uuid", "serial"}
"""Parts of which no node has a hundred: gpu004 is a node of a cluster of GPUs."""
LONGEST_REASON = 100
"""Characters of what was printed in place of an output."""


class OutputPlace(NamedTuple):
    """The node of an output, and the number of its run; 0 where the name has none."""

    node: str
    run: int = 0


def may_be_node(name: str) -> bool:
    """Whether a name with a number can be that of a node: no `run1`, no `gcc12`; `stream_n1` may be, `hpl-2` not."""
    letters = re.search(r"(?<![A-Za-z])[A-Za-z]{1,40}+(?=\d)", name) or LETTERS.match(name)
    word = letters[0].lower() if letters else "run"
    return word not in NO_NODES or (word in FEW_PARTS and re.search(r"[A-Za-z]-?\d{3}(?!\d)", name) is not None)


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
    places = _in_folders(names) or _with_runs({name: place_of(name, benchmark) for name in names})
    ends = {TEST_BEHIND.search(place.node) for place in places.values()} if len({*places.values()}) > 1 else {None}
    if None not in ends and len({end[0] for end in ends if end}) == 1:
        places = {name: place._replace(node=TEST_BEHIND.sub("", place.node)) for name, place in places.items()}
    words = {place.node: place.node.split("_") for place in places.values()}
    shared = set.intersection(*map(set, words.values())) if len(words) > 1 else set[str]()
    nodes = {node: "_".join(word for word in own if word not in shared) for node, own in words.items()}
    if not all(node[:1].isalpha() for node in nodes.values()):
        return places
    return {name: place._replace(node=nodes[place.node]) for name, place in places.items()}


def _in_folders(names: Collection[str]) -> dict[str, OutputPlace]:
    """Node and run of files in folders that are named after nodes, all with files of one name; none of others."""
    paths = {name: PurePath(name) for name in names}
    folders = {path.parent.name for path in paths.values()}
    files = [tuple(sorted(path.name for path in paths.values() if path.parent.name == folder)) for folder in folders]
    several = {of for of in files if len(of) > 1}
    places = {name_form(folder).rstrip("0-_").lower() for folder in folders}
    if len(folders) < 2 or places <= PLACE_WORDS or not are_nodes(folders):
        return {}
    if len(several) > 1:
        return {}
    numbers = {name: number for of in several for number, name in enumerate(of, 1)}
    return {name: OutputPlace(path.parent.name, numbers.get(path.name, 0)) for name, path in paths.items()}


def _with_runs(places: dict[str, OutputPlace]) -> dict[str, OutputPlace]:
    """The places with the number behind each name as that of a run, if all nodes have runs with the same numbers."""
    split = {name: match for name, place in places.items() if (match := COUNTED_RUN.fullmatch(place.node))}
    if len(split) < len(places) or any(place.run for place in places.values()):
        return places
    counted = {name: OutputPlace(of[1] or of[3], int(of[2] or of[4])) for name, of in split.items()}
    runs: dict[str, list[int]] = {}
    for place in counted.values():
        runs.setdefault(place.node, []).append(place.run)
    return counted if len(runs) > 1 and numbered_alike(runs.values()) else places


def numbered_alike(runs: Collection[Collection[int]]) -> bool:
    """Whether all have the same numbers of runs, from 0 or 1 on, and several of them."""
    numbers = sorted(next(iter(runs), ()))
    counted = len(numbers) > 1 and numbers in ([*range(len(numbers))], [*range(1, len(numbers) + 1)])
    return counted and all(sorted(own) == numbers for own in runs)


def are_nodes(names: Collection[str]) -> bool:
    """Whether names can be those of nodes, and differ in digits alone."""
    named = all(re.match(r"[A-Za-z].*\d", name) and may_be_node(name) for name in names)
    return named and len({*map(name_form, names)}) == 1


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
    """What files have that are named after nodes, behind the name of each, of one program that is not a benchmark.

    It is a list of objects of JSON, a table below the line of names of all files, or lines. Empty for other files, and
    where their names do not differ in digits alone, or a table names its nodes itself.
    """
    nodes = {name: place.node for name, place in places_of(texts).items()}
    if len({*nodes.values()}) < 2 or not are_nodes({*nodes.values()}):
        return ""
    if all(text.lstrip().startswith("{") for text in texts.values()):
        return _objects_of_files(texts, nodes)
    naming = {*NODE_NAMES} - {"name"}
    if not (lines := [line for text in texts.values() for line in text.splitlines() if line.strip()]):
        return ""
    cells = re.split("[,;\t]", lines[0].lower())
    heads = lines.count(lines[0]) == len(texts) and {len(re.split("[,;\t]", line)) for line in lines} == {len(cells)}
    table = heads and not any(cell.strip(' "') in naming or cell.strip()[:1].isdigit() for cell in cells)
    tools = {"table" if table and len(cells) > 1 else one_node_program(text) for text in texts.values()}
    if len(tools) > 1 or "" in tools:
        return ""
    return "".join(f"{nodes[name]}: {line}\n" for name in sorted(texts) for line in texts[name].splitlines())


def _objects_of_files(texts: Mapping[str, str], nodes: Mapping[str, str]) -> str:
    """The objects of files as a list, each with the name of its node; empty where one is not of values alone."""
    try:
        objects = {nodes[name]: json.loads(texts[name]) for name in sorted(texts)}
    except (ValueError, RecursionError):
        return ""
    plain = all(not isinstance(value, dict | list) for own in objects.values() for value in own.values())
    named = any(name.lower() in NODE_NAMES for own in objects.values() for name in own)
    return "" if named or not plain else json.dumps([{"node": node, **own} for node, own in objects.items()])


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
