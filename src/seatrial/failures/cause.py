"""A known way to fail: who reports it, its message, its meaning, and what to do. The tables are in `causes/*.toml`.

`pending.toml` has the reasons of waiting jobs: Slurm's job_state_reason.c and slurm.schedmd.com/job_reason_codes.html,
Slurm 18 to 25.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import cache
from importlib import resources
from typing import Annotated, Any, TypeVar

import msgspec

from seatrial.failures.printed_text import Origin, plain
from seatrial.failures.rank_deaths import KILL, OOM_KILL, TERM, Ranks, nodes_of, read_loss, task_ends
from seatrial.model.loss import RankDeath

MOST_LOOKED_AT = 500
"""Names of nodes and node sets, of which a sentence has a few at most; a node set may have 65,536 nodes."""


class EndedNodes(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes on which ranks ended, by their short names, and where ranks ran."""

    struck: frozenset[str] = frozenset()
    """Nodes of ranks that ended before the launcher ended all, or otherwise than by its signals."""
    ended: frozenset[str] = frozenset()
    """Nodes of which nothing is reported but ranks that the launcher ended."""
    places: Mapping[int, str] = {}
    """Rank -> node."""
    printed: Mapping[str, Origin] = {}
    """The origin of each line, by its words."""

    def likely(self, names: Sequence[str], own: Iterable[str]) -> list[str]:
        """The nodes and node sets among `names`, as they are printed, that a message without a node may be about.

        `own`: its lines. Labels name the ranks that printed them.
        """
        sets = {name: _short(name) for name in names[:MOST_LOOKED_AT]}
        spoke = self._of_lines(own)
        by_label = [name for name, nodes in sets.items() if spoke & nodes]
        struck = [name for name, nodes in sets.items() if self.struck & nodes]
        return by_label or struck or [name for name, nodes in sets.items() if not nodes <= self.ended]

    def _of_lines(self, lines: Iterable[str]) -> frozenset[str]:
        """The nodes of the ranks that printed these lines; none unless all of them are known."""
        ranks = {rank for line in lines if (origin := self.printed.get(line.strip())) for rank in origin.ranks}
        if not ranks <= self.places.keys():
            return frozenset()
        return frozenset(_base(self.places[rank]) for rank in ranks)


def ended_nodes(text: str, printed: Mapping[str, Origin]) -> EndedNodes:
    """What plain text reports of the ends of ranks. `printed`: where its lines come from."""
    deaths = [death for death in read_loss(text, Ranks()).deaths if death.node]
    ends = [(frozenset(map(_base, end.nodes)), end.death) for end in task_ends(text)]
    ends = ends or [(frozenset([_base(death.node)]), death) for death in deaths]
    others = any(end.first and end.signal != TERM for _, end in ends)
    memory = OOM_KILL.search(text) is not None
    struck, ended, alone = frozenset[str](), frozenset[str](), False
    for nodes, end in ends:
        late = end.signal == KILL and (alone and not memory if end.first else others)
        struck |= nodes if _by_itself(end) and not late else frozenset()
        ended |= nodes if end.signal == TERM or late else frozenset()
        alone = alone or (_by_itself(end) and end.signal != KILL)
    places = {death.rank: death.node for death in deaths if death.rank is not None}
    return EndedNodes(struck=struck, ended=ended - struck, places=places, printed=printed)


def _by_itself(end: RankDeath) -> bool:
    return end.signal != TERM if end.first else end.signal not in (None, TERM, KILL)


def _base(node: str) -> str:
    return node.partition(".")[0]


def _short(name: str) -> frozenset[str]:
    return frozenset(map(_base, nodes_of(name)))


Text = Annotated[str, msgspec.Meta(min_length=1)]
Kind = TypeVar("Kind")
NODES = "the nodes"
SINGLE = re.compile(r"[^ ,[]+")
"""One node, and neither several nor a set."""
VERBS = {"has": "have", "does": "do", "admits": "admit", "allows": "allow"}
MOST_NODES = 8
LONGEST_QUOTE = 240
QUOTE_END = 80
"""Characters of a longer text that are kept from its end, where a program says what the system answered."""
STAMP = re.compile(r"^\[\d{1,20}\.\d{1,9}\] +")
"""UCX begins its lines with the time."""
MOST_REPEATS = 400
"""What `*` and `+` of the tables stand for at most, so that searching takes a time in proportion to the text."""
REPEAT = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\]){0,200}\]|(?<![*+?}])[*+]", re.DOTALL)
WORD = re.compile(r"<([a-z-]+)>")
NEWLINE = re.compile(r"\n")
COMMAND = re.compile(r"\n(?:srun|salloc|sbatch): error: ")


class Speaker(Enum):
    """Who reports a failure, in order: what a later speaker says may be a consequence of what an earlier one says."""

    ENVIRONMENT = "environment"
    """Modules and others, which are entered before anything else."""
    NODE = "node"
    """The kernel and the linker of a node, and Slurm about a node that it lost."""
    DRIVER = "driver"
    """An adapter with its driver and firmware, through whatever library."""
    TRANSPORT = "transport"
    """UCX, libfabric, PSM, MVAPICH's channels, Open MPI's own."""
    PMI = "pmi"
    MPI = "mpi"
    LAUNCHER = "launcher"
    """mpirun, mpiexec and their daemons."""
    SITE = "site"
    """A site's own rules within Slurm (job_submit, cli_filter)."""
    STEP = "step"
    """slurmstepd and its plugins on a node."""
    SLURM = "slurm"
    PROGRAM = "program"
    """The program itself, its interpreter and its run-time library."""

    @property
    def rank(self) -> int:
        """The place in the order of speakers, from 0."""
        return list(Speaker).index(self)


class FailureCause(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One known way to fail. All expressions are searched in text as `plain` returns it."""

    look: Text | tuple[Text, ...]
    """A regular expression, or several. `{1}` stands for its first group that matched, and `({1})` quotes the line."""
    meaning: Text
    """A sentence without its capital. `{nodes}` stands for what `where` finds, or "the nodes"; `{peer}` for `peer`.
    A verb in braces agrees with the nodes: `{nodes} {has}`."""
    remedy: Text
    speaker: Speaker = Speaker.SLURM
    unspecific: bool = False
    """The message says that something failed, or what may be overcome, and not what is wrong."""
    where: tuple[Text, ...] = ()
    """Regular expressions whose only group is a node, or a node set, that reports it; the first that matches counts.

    They are searched in the lines of the message first, and only then in the rest. If none matches, the nodes are those
    of the tasks that srun reports to have ended."""
    peer: tuple[Text, ...] = ()
    """Regular expressions whose only group is the other end of a connection; the first that matches counts."""
    also: str | tuple[Text, ...] = ""
    """A regular expression that must match as well, before or after."""
    unless: str | tuple[Text, ...] = ""
    """A regular expression for output that shows that the failure was overcome, or is another one."""
    lasting: bool = False
    """Hardware reports its fault: that a job went on for a while does not show that it did without that part."""
    recorded: bool = False
    """Hardware corrected or contained an error, or only counts it: a job that goes on does not fail by it."""
    crash: bool = False
    """A program that goes on after it may crash by a signal of its own."""
    transient: bool = False
    """Another start may succeed: the message does not state the cause exactly, or the cause may be transient."""
    other_mpi_type: bool = False
    absent_probe: bool = False
    """Nodes may not have the probe where it was built."""
    """The remedy proposes another `srun --mpi`."""

    def found(self, text: str) -> re.Match[str] | None:
        """The place of `text` that states this cause; None if it does not."""
        match = re.search(one_of(self.look), text)
        if match is None or not re.search(one_of(self.also), text):
            return None
        return None if self.unless and re.search(one_of(self.unless), text) else match

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Begin and end of all places of `text` that match."""
        return [match.span() for match in re.finditer(one_of(self.look), text)]

    def meant(self, match: re.Match[str], own: Sequence[str], text: str, ended: EndedNodes) -> str:
        """The meaning in words, with the details that `text` tells. `own`: its lines that state this cause."""
        shown = shortened(COMMAND.sub(" ", next((group for group in match.groups() if group), "")))
        stating = "\n".join(own)
        expressions = (*self.where, shared_words()["task"])
        named = (ended.likely(names_found(expression, text), own) for expression in expressions)
        nodes = first_found(self.where, stating) or listed(next(filter(None, named), [])) or NODES
        peer = first_found(self.peer, stating) or first_found(self.peer, text)
        sentence = self.meaning
        for singular, plural in VERBS.items():
            sentence = sentence.replace(f"{{{singular}}}", singular if SINGLE.fullmatch(nodes) else plural)
        sentence = sentence.replace("({peer})", f"({peer})").replace("{peer}", peer or "the other node")
        sentence = sentence.replace("{nodes}", nodes).replace("{1}", shown)
        return sentence.replace(" ()", "")


def one_of(expressions: str | tuple[str, ...]) -> str:
    """One expression that matches what any of them matches."""
    return expressions if isinstance(expressions, str) else "|".join(expressions)


def shortened(words: str) -> str:
    """`words` in one line, without its middle if it is longer than LONGEST_QUOTE characters."""
    words = " ".join(words.split())
    if len(words) <= LONGEST_QUOTE:
        return words
    return f"{words[: LONGEST_QUOTE - QUOTE_END]} ... {words[-QUOTE_END:]}"


def first_found(expressions: Iterable[str], text: str) -> str:
    """What the first expression that matches finds, each once; empty where none does."""
    return next((listed(names) for expression in expressions if (names := names_found(expression, text))), "")


def names_found(expression: str, text: str) -> list[str]:
    """What the only group of an expression finds, each once."""
    return list(dict.fromkeys(re.findall(expression, text)))


def listed(names: Sequence[str]) -> str:
    """The names in a row, without those after the first MOST_NODES."""
    more = f" and {len(names) - MOST_NODES} more" if len(names) > MOST_NODES else ""
    return ", ".join(names[:MOST_NODES]) + more


@cache
def causes(*names: str) -> tuple[FailureCause, ...]:
    """The causes of these tables, in order."""
    return tuple(cause for name in names for cause in parse_table(_read(name)))


def parse_table(text: bytes) -> tuple[FailureCause, ...]:
    """The causes of one table, whose head has what all share that do not say otherwise.

    Raises msgspec.ValidationError where a field is missing or unknown.
    """
    head = msgspec.toml.decode(text, type=dict[str, Any])
    rows = [{**head, **cause} for cause in head.pop("cause")]
    return msgspec.convert(expanded(rows), tuple[FailureCause, ...])


def read_table(name: str, kind: type[Kind]) -> Kind:
    """A table of another form, with its words replaced."""
    return msgspec.convert(expanded(msgspec.toml.decode(_read(name))), kind)


EXPRESSIONS = ("look", "where", "peer", "also", "unless")


def expanded(value: object, key: str = "") -> object:
    """The value with shared words in place of their names, and bounded repeats in expressions."""
    if isinstance(value, dict):
        return {name: expanded(inner, str(name)) for name, inner in value.items()}
    if isinstance(value, list):
        return [expanded(inner, key) for inner in value]
    if not isinstance(value, str):
        return value
    words = shared_words()
    text = WORD.sub(lambda name: words.get(name.group(1), name.group()), value)
    return bounded(text) if key in EXPRESSIONS else text


def bounded(expression: str) -> str:
    """The expression with `*` and `+` that repeat at most MOST_REPEATS times."""

    def repeat(token: re.Match[str]) -> str:
        least = {"*": "0", "+": "1"}.get(token.group())
        return token.group() if least is None else f"{{{least},{MOST_REPEATS}}}"

    return REPEAT.sub(repeat, expression)


@cache
def shared_words() -> Mapping[str, str]:
    """Names that the tables share, and what they stand for."""
    return msgspec.convert(msgspec.toml.decode(_read("words")), dict[str, dict[str, str]])["words"]


def _read(name: str) -> bytes:
    return (resources.files(__package__) / "causes" / f"{name}.toml").read_bytes()


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """What a text states of one cause."""

    cause: FailureCause
    meaning: str
    first: int
    """The number of the first line of its message, from 0."""
    last: int
    lines: tuple[int, ...]
    """The numbers of all lines that state this cause."""
    quote: str
    """The lines where it begins and ends, and that of its group, shortened."""
    quoted: bool
    """The meaning contains the quote already."""

    @property
    def weight(self) -> tuple[bool, int]:
        """Specific before unspecific, then by the order of speakers."""
        return self.cause.unspecific, self.cause.speaker.rank


def statements(
    table: Iterable[FailureCause], text: str, printed: Mapping[str, Origin] | None = None
) -> list[Statement]:
    """All causes that plain text states, in the order of the tables. `printed`: where its lines come from."""
    lines = text.split("\n")
    matches = [(cause, match) for cause in table if (match := cause.found(text)) is not None]
    if not matches:
        return []
    ends, ended = [number.start() for number in NEWLINE.finditer(text)], ended_nodes(text, printed or {})

    def stated(cause: FailureCause, match: re.Match[str]) -> Statement:
        spans = [match.span(), *(match.span(number) for number, group in enumerate(match.groups(), 1) if group)]
        places = {place for start, end in spans for place in (start, max(start, end - 1))}
        numbers = sorted({bisect_left(ends, place) for place in places})
        spans = cause.spans(text)
        ranges = [range(bisect_left(ends, start), bisect_left(ends, max(start, end - 1)) + 1) for start, end in spans]
        own = sorted({number for lines_of in ranges for number in lines_of})
        return Statement(
            cause=cause,
            meaning=cause.meant(match, [lines[number] for number in own], text, ended),
            first=numbers[0],
            last=numbers[-1],
            lines=tuple(own),
            quote=shortened(" ... ".join(STAMP.sub("", lines[number].strip()) for number in numbers)),
            quoted="({1})" in cause.meaning and any(match.groups()),
        )

    return [stated(cause, match) for cause, match in matches]


def strongest(stated: Sequence[Statement]) -> Statement | None:
    """The most specific statement of the first speaker; of several the first in the text, on one line of the tables."""
    if not stated:
        return None
    best = min(statement.weight for statement in stated)
    equal = [statement for statement in stated if statement.weight == best]
    earliest = min(equal, key=lambda statement: statement.first)
    return next(same for same in equal if same.first <= earliest.last and earliest.first <= same.last)


def cause_of_complaint(line: str) -> FailureCause | None:
    """What a program complains of in one line, whatever its words: the first of `causes/complaints.toml`."""
    return next((cause for cause in causes("complaints") if cause.found(line)), None)


def first_cause(table: Iterable[FailureCause], text: str) -> tuple[str, str] | None:
    """Meaning and remedy of the cause that `text` states most clearly, whatever its launcher put around it."""
    statement = strongest(statements(table, plain(text)))
    return (statement.meaning, statement.cause.remedy) if statement is not None else None


class Pending(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One reason. `hopeless`: the job cannot start until somebody changes something."""

    look: str | tuple[str, ...]
    meaning: str
    remedy: str = ""
    hopeless: bool = False
    nodes_out: bool = False
    """Nodes that it asks for are out of service."""


class Reasons(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table `causes/pending.toml`."""

    cause: tuple[Pending, ...]


@cache
def reasons() -> tuple[Pending, ...]:
    """The reasons that are known, in order: the first that matches counts."""
    return read_table("pending", Reasons).cause


def why_pending(reason: str) -> Pending | None:
    """What squeue's word for it means; None for one that we do not know."""
    for pending in reasons():
        match = re.search(one_of(pending.look), reason)
        if match:
            shown = match.group(1) if match.groups() else ""
            return msgspec.structs.replace(pending, meaning=pending.meaning.replace("{1}", shown))
    return None
