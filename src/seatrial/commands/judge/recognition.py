"""What files are, by their contents: the kinds that `seatrial judge` takes, and how each is recognised.

A reading that fits surely decides. Where several are possible, the command line must say which is meant.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from seatrial.archive.layout import RUN_FILE
from seatrial.benchmarks import catalogue
from seatrial.benchmarks.declaration import Benchmark
from seatrial.benchmarks.node_outputs import files_of_pairs, pairs_in_names
from seatrial.commands.judge.kinds import WORDS, Kind
from seatrial.commands.judge.sources import Sources
from seatrial.importers.columns import json_value
from seatrial.importers.fields import pieces
from seatrial.importers.formats import FORMATS
from seatrial.importers.line_prefixes import untagged
from seatrial.importers.linktest import LIST
from seatrial.importers.listings import refuse_listing
from seatrial.importers.machine_outputs import MACHINE_OUTPUTS
from seatrial.importers.nccl_tests import is_nccl_folder
from seatrial.importers.osu import pairs_of_names, size_tables
from seatrial.importers.other_outputs import JSON_TEXT, PROSE, UTF8_MARK, other_output, refuse_unread
from seatrial.importers.output_names import OUTPUT_NAME, lines_of_files
from seatrial.importers.pair_lines import RANK_COLUMNS, column_names, names_columns, parse_columns, parse_csv
from seatrial.importers.pair_tables import is_pair_table
from seatrial.importers.printed_text import NothingRanError, UnclearResultError, by_node, plain
from seatrial.importers.reframe import is_perflog
from seatrial.importers.table_kinds import MEASURES, is_star, kinds_of_table
from seatrial.model.benchmark import Label
from seatrial.model.column_words import NODE_NAMES
from seatrial.model.errors import UsageError
from seatrial.model.words import count, name_form

SIZES_OF_OUTPUTS = ("nodes", "ranks")
"""Evidence of outputs that says how large a run was."""
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
    path = paths[0]
    if not sources.one_file:
        if len(paths) == 1 and (path / RUN_FILE).is_file():
            return (Kind.RUN,)
        return _kinds_of_files(sources.together())
    beginning = next(pieces(sources.stream(path)), b"").removeprefix(UTF8_MARK)
    refuse_unread(beginning)
    if _is_pairs(beginning):
        return (Kind.PAIRS,)
    return _kinds_of_text(sources.text(path))


def _kinds_of_files(texts: Mapping[str, str]) -> tuple[Kind, ...]:
    """The kinds of several files: pairs where each file, or a heading in it, names two nodes; else outputs by node.

    Sizes that occur about equally often are those of a scaling curve; else a run may have lost ranks.
    """
    if LIST in texts or is_nccl_folder(texts) or _has_pairs(texts) or pairs_in_names(texts):
        return (Kind.PAIRS,)
    if not any(catalogue.detected(text) for text in texts.values()):
        return _kinds_of_tables(texts)
    _refuse_configurations(texts)
    for name in SIZES_OF_OUTPUTS:
        sizes = Counter(size for text in texts.values() if (size := _size_of(text, name)) is not None)
        if len(sizes) > 1 and sizes.total() == len(texts):
            even = 2 * min(sizes.values()) >= max(sizes.values())
            return (Kind.SCALING,) if even else (Kind.FLEET, Kind.SCALING)
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


def _kinds_of_tables(texts: Mapping[str, str]) -> tuple[Kind, ...]:
    """Tables of sizes are those of curves, others of nodes. Raises UsageError where none is a table."""
    if lines_of_files(texts):
        return (Kind.FLEET,)
    kinds, refused = list[tuple[Kind, ...]](), UsageError("The folder is empty.", MEASURES)
    for name, text in texts.items():
        try:
            kinds.append(_kinds_of_text(text))
        except UsageError as error:
            refused = UsageError(f"{name}: {error.what}", error.remedy)
    if not kinds:
        raise catalogue.refusal_of_folder(texts, "output of a known benchmark", refused)
    return (Kind.SCALING,) if all(Kind.SCALING in of for of in kinds) else (Kind.FLEET,)


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
        pairs = named and heading.lower().replace(",", " ").split()[0] not in NODE_NAMES and not is_star(text)
        return pairs and catalogue.recognised(text) is None


def _has_several_pairs(text: str) -> bool:
    """Whether tables of OSU are of several pairs. One whose check of the data failed is an output that names it."""
    try:
        return len({table.pair for table in size_tables(text, "the file") if table.pair}) > 1
    except UsageError:
        return False


def _kinds_of_text(text: str) -> tuple[Kind, ...]:
    """The kinds that a text can be which is not a table of pairs. Raises UsageError where none is."""
    paired = pairs_in_names(files_of_pairs(text))
    if paired or catalogue.outputs_by_node(text):
        return (Kind.PAIRS,) if paired else (Kind.FLEET,)
    other = catalogue.recognised(text)
    if catalogue.detected(text) is not None:
        quoted, output = catalogue.parse_auto(text) if other is PROSE else (None, None)
        if other is not None and quoted and output and not (output.results or output.breaches):
            raise UsageError(
                f"This looks like {other.name} that quotes {quoted.title}, without a result in it.", other.remedy
            )
        return (Kind.OUTPUT,)
    if other is not None and other.document and (other.is_all_of(text) or not by_node(text)):
        raise UsageError(f"This looks like {other.name}, which seatrial judge does not read.", other.remedy)
    refuse_listing(plain(text, moments=False), other.remedy if other and other is not PROSE else "")
    if is_perflog(text):
        raise UsageError(
            "This is a performance log of ReFrame, which is not judged as a file.",
            "seatrial import FILE writes its values into the archive; seatrial judge --runs judges them there.",
        )
    try:
        kinds = tuple(map(Kind, kinds_of_table(text)))
    except NothingRanError:
        raise
    except UnclearResultError:
        _refuse_machines(text)
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
        advice = error.remedy if error.what.startswith("Column ") else MEASURES
        raise UsageError(f"seatrial judge does not know this: {error.what}", advice) from error
    if not kinds:
        raise UsageError(
            "This is a table of configurations, counters or sizes, not of nodes.",
            "seatrial compare --side-by-side FILE compares them; --as fleet takes each for a node.",
        )
    return kinds


def _refuse_machines(text: str) -> None:
    """Raise UsageError for what describes several nodes, of which another command knows what matters."""
    machine = other_output(next(iter(by_node(text).values()), ""))
    if machine in MACHINE_OUTPUTS:
        raise UsageError(f"This looks like {machine.name} of several nodes.", machine.remedy)


def _outputs_within(value: object) -> Iterator[Benchmark]:
    """The benchmarks of outputs that are texts within a JSON value."""
    if isinstance(value, str):
        yield from filter(None, [catalogue.detected(value)] if "\n" in value else [])
    elif isinstance(value, dict | list):
        for member in value.values() if isinstance(value, dict) else value:
            yield from _outputs_within(member)
