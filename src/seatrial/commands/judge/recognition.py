"""What files are, by their contents: the kinds that `seatrial judge` takes, and how each is recognised.

A reading that fits surely decides. Where several are possible, the command line must say which is meant.
"""

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from seatrial.archive.layout import RUN_FILE
from seatrial.benchmarks import catalogue
from seatrial.benchmarks.declaration import Benchmark
from seatrial.commands.judge.kinds import WORDS, Kind
from seatrial.commands.judge.sources import MOST_FILES, Sources
from seatrial.files.inputs import entries_in
from seatrial.importers.column_roles import are_moments
from seatrial.importers.columns import TableColumn, is_json, json_value, read_columns, refuse_almost_numbers
from seatrial.importers.fields import pieces
from seatrial.importers.formats import FORMATS
from seatrial.importers.line_prefixes import untagged
from seatrial.importers.linktest import LIST
from seatrial.importers.nccl_tests import is_nccl_folder
from seatrial.importers.node_names import are_numbered
from seatrial.importers.osu import pairs_of_names, size_tables
from seatrial.importers.other_outputs import JSON_TEXT, PROSE, UTF8_MARK, refuse_listing, refuse_unread
from seatrial.importers.output_names import OUTPUT_NAME
from seatrial.importers.pair_lines import RANK_COLUMNS, column_names, names_columns, parse_columns, parse_csv
from seatrial.importers.pair_tables import is_pair_table
from seatrial.importers.printed_text import NothingRanError, UnclearResultError, by_node, plain
from seatrial.importers.reframe import is_perflog
from seatrial.importers.row_outcomes import is_outcome, split_outcomes
from seatrial.importers.series import TIME_NAMES, frames_of
from seatrial.importers.series_times import are_samples
from seatrial.importers.wide_columns import transposed
from seatrial.importers.written_numbers import is_missing
from seatrial.model.benchmark import Label
from seatrial.model.column_words import NODE_NAMES, RUN_NAMES, RUN_WORDS, size_of_run, words_of
from seatrial.model.errors import UsageError
from seatrial.model.words import count, name_form, some
from seatrial.statistics.change_points import FEWEST

SIZES_OF_OUTPUTS = ("nodes", "ranks")
"""Evidence of outputs that says how large a run was."""
CLOCKS = frozenset({"time", "times", "date", "datetime", "timestamp", "when", "commit", "revision", "build", "version"})
"""Columns that number the runs of a node, or are the times of a series."""
VERSION_LETTERS = frozenset({"v", "r", "rev", "rc", "release"})
"""Letters before the numbers of versions and revisions."""
FEWEST_STEPS = 3
"""Different steps of a first column that show sizes: days have one step, and a weekend at the end is another."""
CONFIGURATIONS = frozenset({
    "config", "configuration", "variant", "setting", "kernel", "mpi", "compiler", "driver", "network", "adapter",
    "fabric", "rail", "rails", "firmware",
})  # fmt: skip
"""Columns of words that name configurations and never nodes."""
COUNTER, SIZE = re.compile(r"\D+"), re.compile(r"\d+(?:\.\d+)?[kKMGTmg](?:i?[bB])?:?")
"""Words before a colon that nodes are not called by: names of nodes have a number, and more than the letter of one."""
UNPAIRED = ("node", "host", "hostname", "nodename")
"""Behind a first column of ranks or ports they name where each is; a second end has the name of an end."""


def kind_of(sources: Sources, accepting: Sequence[Kind]) -> Kind:
    """The kind of what the command line names. Raises UsageError where it is not known, or several are possible.

    `accepting`: the kinds that take all options of the command line, which decide between several.
    """
    of_number = Kind.SCALING if len(sources.paths) == 1 else Kind.OUTPUT  # the one that takes another number of files
    left = [kind for kind in accepting if kind is not of_number]
    decided = left[0] if len(left) == 1 else None
    try:
        possible = _kinds(sources)
    except UsageError:
        if decided is None:
            raise
        return decided
    fitting = [kind for kind in possible if kind in accepting]
    if len(possible) == 1 or len(fitting) == 1:
        return fitting[0] if fitting else possible[0]
    raise UsageError(
        f"This can be {' or '.join(WORDS[kind].title for kind in possible)}.",
        f"Add {', or '.join(f'{kind.option}, which {WORDS[kind].judgement}' for kind in possible)}.",
    )


def _kinds(sources: Sources) -> tuple[Kind, ...]:
    """The kinds that are possible; one where it is sure. Raises UsageError where none is."""
    paths = sources.paths
    if not paths:  # runs of the archive
        return Kind.FLEET, Kind.SERIES
    if len(paths) > 1:
        return _kinds_of_outputs({str(path): sources.text(path) for path in paths if not path.is_dir()})
    (path,) = paths
    if path.is_dir():
        if (path / RUN_FILE).is_file():
            return (Kind.RUN,)
        inner = entries_in(path, MOST_FILES)
        within = sorted(entry.name for entry in inner if entry.is_dir() and not entry.name.startswith("."))
        texts = sources.folder(path) if len(within) < len(inner) or not within else {}
        if within and not texts:
            raise UsageError(
                f"The folder has {count(len(within), 'folder')} ({some(within, 3)}) and no file, and folders in it are "
                "not read.",
                "Put the outputs into one folder, named by their nodes: NODE-stream.out.",
            )
        return (_kind_of_folder(texts),)
    beginning = next(pieces(sources.stream(path)), b"").removeprefix(UTF8_MARK)
    refuse_unread(beginning)
    if _is_pairs(beginning):
        return (Kind.PAIRS,)
    return _kinds_of_text(sources.text(path))


def _kinds_of_outputs(texts: Mapping[str, str]) -> tuple[Kind, ...]:
    """Several files by name: the kinds that the sizes in outputs of one benchmark permit, or the columns of tables.

    Sizes that occur about equally often are those of a scaling curve; else a run may have lost ranks.
    """
    if not any(catalogue.detected(text) for text in texts.values()):
        scaling = bool(texts) and all(Kind.SCALING in kinds for kinds in map(_kinds_of_text, texts.values()))
        return (Kind.SCALING,) if scaling else (Kind.FLEET,)
    for name in SIZES_OF_OUTPUTS:
        sizes = Counter(size for text in texts.values() if (size := _size_of(text, name)) is not None)
        if len(sizes) > 1 and sizes.total() == len(texts):
            even = 2 * min(sizes.values()) >= max(sizes.values())
            return (Kind.SCALING,) if even else (Kind.FLEET, Kind.SCALING)
    _refuse_configurations(texts)
    return (Kind.FLEET,)


def _refuse_configurations(texts: Mapping[str, str]) -> None:
    """Raise UsageError for outputs of tests between two nodes whose files have unlike names: no nodes, but settings."""
    outputs = {name: found for name, text in texts.items() if (found := catalogue.detected(text))}
    named = any(OUTPUT_NAME.fullmatch(name.rpartition("/")[2]) for name in outputs)
    patterns = {name_form(name) for name in outputs}
    if len(patterns) > 1 and not named and all(benchmark.main.of_path for benchmark in outputs.values()):
        raise UsageError(
            f"These are {count(len(outputs), 'output')} of tests between two nodes, and nothing says between which.",
            "seatrial compare --side-by-side FILE... compares configurations; --as fleet takes each file for a node.",
        )


def _size_of(text: str, name: str) -> Label | None:
    """Number of nodes or ranks on which an output ran; None if the output does not show it."""
    try:
        return catalogue.parse_auto(text)[1].work(name)
    except UsageError:
        return None


def _kind_of_folder(texts: Mapping[str, str]) -> Kind:
    """Pairs where each file, or a heading in it, names two nodes; else outputs of one benchmark, by node."""
    if LIST in texts or is_nccl_folder(texts) or _has_pairs(texts):
        return Kind.PAIRS
    if any(catalogue.detected(text) for text in texts.values()):
        _refuse_configurations(texts)
        return Kind.FLEET
    raise catalogue.refusal_of_folder(texts, "output of a known benchmark")


def _has_pairs(texts: Mapping[str, str]) -> bool:
    """Whether the files are tables of OSU between two nodes, which names or headings show."""
    tables = {name: found for name, text in texts.items() if (found := size_tables(text, name))}
    unnamed = [name for name, found in tables.items() if any(table.pair is None for table in found)]
    try:
        return bool(tables) and bool(not unnamed or pairs_of_names(unnamed))
    except UsageError:
        return False


def _is_pairs(beginning: bytes) -> bool:
    """Whether a file begins as a table of pairs of nodes does, in one of its formats."""
    text = untagged(beginning.decode("utf-8", errors="replace"))
    if any(FORMATS[name].fits(text) for name in ("nccl", "mpigraph", "linktest")):
        return True
    if FORMATS["osu"].fits(text):
        return _has_several_pairs(text)
    if is_pair_table(text):
        return True
    heading = next((line for line in text.splitlines() if line.strip()), "")
    named = names_columns(heading) and column_names(heading)[1].lower() not in UNPAIRED
    try:
        if named:
            return parse_csv(iter([beginning])).pairs > 0
        return FORMATS["nxnlatbw"].fits(text) and parse_columns([beginning], RANK_COLUMNS).pairs > 0
    except UsageError:  # a damaged table of pairs, unless its first column can be one of nodes beside other things
        pairs = named and heading.lower().replace(",", " ").split()[0] not in NODE_NAMES and not _is_star(text)
        return pairs and catalogue.recognised(text) is None


def _is_star(text: str) -> bool:
    """Whether all pairs have one end in common, as of nodes that were all measured from one: it has values of nodes."""
    try:
        columns = read_columns(text)
    except UsageError:
        return False
    ends = columns[:2] if names_columns(",".join(one.name for one in columns)) else ()
    return sorted(min(len({*one.cells}), 2) for one in ends) == [1, 2]


def _has_several_pairs(text: str) -> bool:
    """Whether tables of OSU are of several pairs. One whose check of the data failed is an output that names it."""
    try:
        return len({table.pair for table in size_tables(text, "the file") if table.pair}) > 1
    except UsageError:
        return False


def _kinds_of_text(text: str) -> tuple[Kind, ...]:
    """The kinds that a text can be which is not a table of pairs. Raises UsageError where none is."""
    if catalogue.outputs_by_node(text):
        return (Kind.FLEET,)
    other = catalogue.recognised(text)
    if catalogue.detected(text) is not None:
        quoted, output = catalogue.parse_auto(text) if other is PROSE else (None, None)
        if other is not None and quoted and output and not (output.results or output.breaches):
            raise UsageError(
                f"This looks like {other.name} that quotes {quoted.title}, without a result in it.", other.remedy
            )
        return (Kind.OUTPUT,)
    if other is not None and other.document and not by_node(text):
        raise UsageError(f"This looks like {other.name}, which seatrial judge does not read.", other.remedy)
    refuse_listing(plain(text, moments=False))
    if is_perflog(text):
        raise UsageError(
            "This is a performance log of ReFrame, which is not judged as a file.",
            "seatrial import FILE writes its values into the archive; seatrial judge --runs judges them there.",
        )
    try:
        kinds = _kinds_of_columns(text)
    except NothingRanError:
        raise
    except UnclearResultError:
        return (Kind.FLEET,)
    except UsageError as error:
        if other is not None and other.name != JSON_TEXT:
            unread = "" if other.remedy.startswith("seatrial judge") else ", which seatrial judge does not read"
            raise UsageError(f"This looks like {other.name}{unread}.", other.remedy) from error
        if catalogue.begins(text):
            return (Kind.OUTPUT,)
        if other is not None and (quoted := next(_outputs_within(json_value(text)), None)):
            raise UsageError(
                f"This is JSON with the output of {quoted.title} as the text of a member.",
                "Write that text into a file of its own (jq -r).",
            ) from error
        advice = error.remedy if error.what.startswith("Column ") else catalogue.MEASURES
        raise UsageError(f"seatrial judge does not know this: {error.what}", advice) from error
    if not kinds:
        raise UsageError(
            "This is a table of configurations, counters or sizes, not of nodes.",
            "seatrial compare --side-by-side FILE compares them; --as fleet takes each for a node.",
        )
    return kinds


def _outputs_within(value: object) -> Iterator[Benchmark]:
    """The benchmarks of outputs that are texts within a JSON value."""
    if isinstance(value, str):
        yield from filter(None, [catalogue.detected(value)] if "\n" in value else [])
    elif isinstance(value, dict | list):
        for member in value.values() if isinstance(value, dict) else value:
            yield from _outputs_within(member)


def _kinds_of_columns(text: str) -> tuple[Kind, ...]:
    """The kinds of a table in CSV or JSON, by its columns; none of one of other things than nodes.

    Raises UsageError for what is not a table.
    """
    if is_json(text):
        value = json_value(text)
        if frames_of(value) or (isinstance(value, dict) and isinstance(value.get("series"), list)):
            return (Kind.SERIES,)
        lists = isinstance(value, dict) and bool(value) and all(isinstance(one, list) for one in value.values())
        if isinstance(value, dict) and lists and not _named([str(name) for name in value], NODE_NAMES):
            return Kind.FLEET, Kind.SERIES
    columns = split_outcomes(read_columns(text))
    if not any(column.numeric for column in columns):
        refuse_almost_numbers(columns)
        raise UsageError("no column of it has numbers.", catalogue.MEASURES)
    names = [column.name for column in columns]
    words = [one for one in columns if not (one.numeric or are_moments(one) or is_outcome(one) or _is_remark(one))]
    words = [one for one in words if not _is_clock(one)]
    sized = any(size_of_run(one.name) and one.numeric and len(set(one.cells)) > 1 for one in columns)
    clocks = [column for column in columns if _is_clock(column) and len({*column.cells}) >= FEWEST]
    clock = any(not (sized and not column.numeric and _repeated(column)) for column in clocks)
    if sized and not clock and not _named([name for name in names if not size_of_run(name)], NODE_NAMES):
        return (Kind.FLEET, Kind.SCALING) if any(are_numbered(one.cells) for one in words) else (Kind.SCALING,)
    if any(map(are_samples, clocks)) or not (words or _named(names, NODE_NAMES) or transposed(columns)):
        return (Kind.SERIES, Kind.SCALING) if _is_sweep(columns[0]) else (Kind.SERIES,)
    labelled = any(cell.endswith(":") for column in words[:1] for cell in column.cells)  # by pdsh or clush
    others = labelled and (all(map(COUNTER.fullmatch, words[0].cells)) or all(map(SIZE.fullmatch, words[0].cells)))
    if others or (words and all(one.name.strip().lower() in CONFIGURATIONS for one in words) and not clock):
        return ()
    runs = _named(names, RUN_NAMES - CLOCKS) or _is_star(text)
    repeated = labelled or _named(names, NODE_NAMES) or any(_repeated(one) or _has_nodes(one) for one in words)
    return (Kind.FLEET,) if runs or (repeated and not clock) else (Kind.FLEET, Kind.SERIES)


def _has_nodes(column: TableColumn) -> bool:
    """Whether its cells differ in digits alone, and neither they nor its name say that they number runs or versions."""
    same = itertools.takewhile(lambda letters: len({*letters}) == 1, zip(*column.cells, strict=False))
    named = {column.name.lower(), *words_of(f"{column.name} {''.join(letter for letter, *_ in same)}")}
    return are_numbered(column.cells) and named.isdisjoint(RUN_WORDS | CLOCKS | TIME_NAMES | VERSION_LETTERS)


def _is_remark(column: TableColumn) -> bool:
    """Whether it has few cells, or none, and not one in the first row, where names of groups of rows begin."""
    return 2 * len(column.written) < len(column.cells) and is_missing(column.cells[0])


def _is_clock(column: TableColumn) -> bool:
    """Whether it says when, or for which version, each row was measured; a duration falls and rises."""
    if column.name.strip().lower() not in CLOCKS or len(set(column.cells)) == 1:
        return False
    return not column.numeric or all(earlier <= later for earlier, later in itertools.pairwise(column.numbers()))


def _is_sweep(column: TableColumn) -> bool:
    """Whether it rises by growing steps, as sizes of messages and problems do, and no clock."""
    steps = [after - before for before, after in itertools.pairwise(column.numbers() if column.numeric else ())]
    growing = all(0 < step <= after for step, after in itertools.pairwise(steps))
    return growing and len({*steps}) >= FEWEST_STEPS and not _is_clock(column)


def _repeated(column: TableColumn) -> bool:
    """Whether each cell is in several rows, but not one in all, as the name of a node is that has several runs."""
    return len({*column.cells}) > 1 < min(Counter(column.cells).values())


def _named(names: Iterable[str], known: Collection[str]) -> bool:
    """Whether one of the names is known."""
    return any(name.strip().lower() in known for name in names)
