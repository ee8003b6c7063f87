"""Which complaints of a job did not end it: it went on after them, or they came after the first rank had died."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from seatrial.failures.cause import Speaker, Statement, shared_words
from seatrial.failures.last_words import EXCEPTION, FRAME, reports_end
from seatrial.failures.printed_text import EDGE, HARMLESS, Origin
from seatrial.failures.rank_deaths import TASKS, TERM, task_ends
from seatrial.failures.start_failure import COMPLAINS, speaker_of
from seatrial.model.loss import Loss

PEERS = (Speaker.DRIVER, Speaker.TRANSPORT, Speaker.PMI, Speaker.MPI)
"""Who complains of a peer that has died."""
MAY_FOLLOW = re.compile(
    r"\b(?:NCCL|RCCL|MPI|UCX|CUDA|HIP|OFI|PMI\w?|GPU|cuda\w+|hip\w+|nccl\w+|MPI_\w+|libfabric|socket|network|connect\w*"
    r"|peer|remote|I/?O|files?|read\w*|writ\w+|open\w*|disk|space|memory|alloc\w*|time-?out|timed out)\b|Errno",
    re.IGNORECASE,
)
"""Words of complaints that another complaint, of an adapter, a GPU or a file system, may have caused."""
MISTAKE = re.compile(
    r"\b(?:KeyError|AttributeError|NameError|TypeError|ImportError|ModuleNotFoundError|FileNotFoundError|OutOfMemory\w*)\b"
    r"|\bout of memory\b|\bend[- ]of[- ]file\b",
    re.IGNORECASE,
)
"""What a program says of itself or of its input, and no fault of hardware makes it say."""
LEAST_PROGRESS, LEAST_NEW = 2, 5
"""Lines of progress after a complaint, from which on a program is believed to have gone on: a single line may have
waited in a buffer, and a few alike that did not come before it are those of cleaning up."""
KERNEL = re.compile(shared_words()["kernel"])
NUMBER = re.compile(r"[-+]?\d[\d.,:eE+-]*")
NAN = re.compile(r"(?<![\w.%/-])[-+]?(?i:nan|inf|infinity)(?![\w(%/-])|(?<!\*)\*{5,20}(?!\*)")
"""How programs print what is not a number; Fortran prints stars for a number that has no room."""
ROW = re.compile(r"#(?: {1,80}#){1,80}")
"""A line of a table of results, with # for each number."""
MEMBER = re.compile(r"\b(?:rank|process|proc|task|node|PE)\W{1,12}#", re.IGNORECASE)
"""How a program names a rank, with # for its number."""
NO_PROGRESS = re.compile(
    r"\[[\w.-]+:\d|\S+:\d+:\d+ \[|(?:srun|slurmstepd\S{0,255}|sbatch|mpirun|mpiexec|prterun): |\s*File \""
    r"|.{0,400}(?:0x[0-9A-Fa-f]|\b0{4}[0-9A-Fa-f]{4}|\bline \d|\(\d{1,6}\)[. ]{0,80}:|\b(?:NCCL|UCX|libfabric)\b"
    r"|\b(?:retry|retrying|attempt|waiting|alive|heartbeat|without progress)\b)"
)
"""Lines of launchers and libraries, of lists of calls and of who waits, which differ in numbers, too."""


class OutputOrder:
    """The lines of one job, in the order in which they were printed."""

    def __init__(self, seen: str, telling: str, printed: Mapping[str, Origin], loss: Loss) -> None:
        """`seen`: plain text. `telling`: without harmless lines. `printed`: where lines come from."""
        self._seen = seen
        self._lines = telling.split("\n")
        self._printed = printed
        first = [death for death in loss.deaths if death.first and death.signal != TERM]
        self._dead = frozenset(death.rank for death in first if death.rank is not None)
        self._places = frozenset(death.node for death in first)
        ends_of = (end.tasks for end in task_ends(telling) if end.death.signal != TERM)
        self._first = frozenset(next(ends_of, ()))
        self._labelled = any(origin.ranks for origin in printed.values())
        ends = [line for line in self._lines if TASKS.match(line) and not line.endswith("Terminated")]
        self._end = min((at.first for line in ends if (at := self._at(line))), default=None) if first else None
        self._died = bool(first)

    def without_passed(self, stated: Sequence[Statement]) -> str:
        """The telling lines without complaints that did not end the job; all if no rank is reported to have died."""
        if not self._died:
            return "\n".join(self._lines)
        own = self._own(stated, _complains_of_itself)
        mistakes = self._own((), lambda line: MISTAKE.search(line) is not None)
        named = any(self._is_own_cause(one) for one in stated)
        passed = [
            one
            for one in stated
            if (named and self._of_others(one))
            or (own and self._late(one))
            or self._past(one, self._excuses(one, own, mistakes))
        ]
        kept = {number for one in stated if one not in passed for number in one.lines}
        dropped = {number for one in passed for number in one.lines} - kept
        dropped |= {number for number, line in enumerate(self._lines) if own and self._of_late_peer(line)} - kept
        return "\n".join(line for number, line in enumerate(self._lines) if number not in dropped)

    def of_dead(self, text: str) -> str:
        """The lines of a plain text without those that others alone printed than the ranks that died first."""
        others = {line for line, at in self._printed.items() if self._dead and at.ranks and not at.ranks & self._dead}
        return "\n".join(line for line in text.split("\n") if line.strip() not in others)

    def went_on(self, best: Statement) -> bool:
        """Whether no line complains any more, and those of progress follow, after the last that states this cause."""
        if self._is_exception(best):
            return False
        if best.cause.speaker in PEERS and self.results_follow(best.lines):
            return True
        return self._progress_after(best, self._last_complaint(best.lines)) is not None

    def results_follow(self, stating: Sequence[int] = ()) -> bool:
        """Whether results are the last that is printed, after all complaints and the lines `stating` one."""
        last = self._last_complaint(stating)
        return any(at.last > last for at in self._results)

    def _last_complaint(self, stating: Sequence[int]) -> int:
        complaints = [self._lines[number] for number in stating]
        complaints += [line for line in self._lines if COMPLAINS.search(line) and not HARMLESS.search(line)]
        progress = {at.first for same in self._progress for at in same}
        ends = ((line, self._at(line)) for line in self._lines if EXCEPTION.search(line))
        complaints += [line for line, at in ends if at and at.first not in progress]
        return max((at.last for line in complaints if (at := self._at(line))), default=len(self._lines))

    def passed(self, stated: Statement) -> bool:
        """Whether progress followed it."""
        last = max((at.last for at in self._origins(stated)), default=None)
        return last is not None and self._progress_after(stated, last) is not None

    def goes_on_after(self, line: str) -> bool:
        """Whether progress followed this line, by the same ranks if known."""
        at = self._at(line)
        return at is not None and self._progress_since(at, at.last) is not None

    def precedes(self, line: str, stated: Statement) -> bool:
        """Whether this line was printed before all that state it."""
        at = self._at(line)
        return at is not None and all(at.last < other.first for other in self._origins(stated))

    @cached_property
    def not_a_number(self) -> str:
        """The first line without a number in a place where all lines like it had one before, and none has after."""
        first: dict[str, str] = {}
        for line in map(str.strip, self._seen.split("\n")):
            form = NUMBER.sub("#", NAN.sub("0", line))
            if not NAN.search(line) and form != line:
                first[form] = ""
            elif first.get(form) == "":
                first[form] = line
        return next(filter(None, first.values()), "")

    def _at(self, line: str) -> Origin | None:
        return self._printed.get(line.strip())

    def _origins(self, stated: Statement) -> list[Origin]:
        """Places and ranks of the lines that state it, as far as they are known."""
        return [at for number in stated.lines if (at := self._at(self._lines[number]))]

    def _ranks(self, stated: Statement) -> frozenset[int]:
        return frozenset(rank for at in self._origins(stated) for rank in at.ranks)

    def _own(self, stated: Sequence[Statement], says: Callable[[str], bool]) -> list[int]:
        """When the rank that died first printed such lines; without labels, when any program did."""
        of_peers = {number for one in stated if one.cause.speaker in PEERS for number in one.lines}
        return [
            at.first
            for number, line in enumerate(self._lines)
            if number not in of_peers
            and (at := self._at(line)) is not None
            and (self._end is None or at.first < self._end)
            and (at.ranks & self._dead if self._labelled and self._dead else True)
            and says(line)
        ]

    def _of_others(self, stated: Statement) -> bool:
        """Whether other ranks alone said it than those that died first."""
        ranks = self._ranks(stated)
        return bool(ranks) and not ranks & self._dead

    def _is_own_cause(self, stated: Statement) -> bool:
        """Whether a rank that died first said it, and it is not about a peer."""
        cause = stated.cause
        return not cause.unspecific and cause.speaker not in PEERS and bool(self._ranks(stated) & self._dead)

    def _late(self, stated: Statement) -> bool:
        """Whether peers said it after the first rank had died."""
        lines = [self._lines[number] for number in stated.lines]
        return stated.cause.speaker in PEERS and all(self._is_after_end(line) for line in lines)

    def _is_after_end(self, line: str) -> bool:
        at = self._at(line)
        return self._end is not None and at is not None and at.first > self._end and not at.ranks & self._first

    def _of_late_peer(self, line: str) -> bool:
        return speaker_of(line) in PEERS and self._is_after_end(line)

    def _past(self, stated: Statement, own: Sequence[int]) -> bool:
        """Whether the program went on after it, and then the rank that died complained of something else."""
        origins = self._origins(stated)
        last = max((at.last for at in origins), default=None)
        if last is None or self._is_exception(stated):
            return False
        went_on = self._progress_after(stated, last)
        stating = {at.first for at in origins}
        if stated.cause.recorded:
            return went_on is not None
        return went_on is not None and any(number > went_on and number not in stating for number in own)

    def _excuses(self, stated: Statement, own: Sequence[int], mistakes: Sequence[int]) -> Sequence[int]:
        """When a rank said what may come of something else than this."""
        if not stated.cause.lasting:
            return own
        return mistakes if self._is_of_hardware(stated) else [*own, *mistakes]

    def _is_of_hardware(self, stated: Statement) -> bool:
        """Whether it is about hardware that the rank may have used which died first, as far as its lines say whose."""
        hosts = {host for number in stated.lines for host in KERNEL.findall(self._lines[number])}
        elsewhere = "" not in self._places and hosts and not {host.partition(".")[0] for host in hosts} & self._places
        return not elsewhere and not self._of_others(stated)

    def _progress_after(self, stated: Statement, last: int) -> int | None:
        """When LEAST_PROGRESS lines of progress had been printed after `last`, by the same ranks if known."""
        begun = min((at.first for at in self._origins(stated)), default=last)
        return self._progress_since(Origin(first=begun, last=last, ranks=self._ranks(stated)), last)

    def _progress_since(self, stated: Origin, last: int) -> int | None:
        ranks, begun = stated.ranks, stated.first
        end = self._end if self._end is not None else float("inf")
        went_on = []
        for same in self._progress:
            after = sorted(at.first for at in same if last < at.first < end and (not ranks or at.ranks & ranks))
            least = LEAST_PROGRESS if any(at.first < begun for at in same) else LEAST_NEW
            went_on += after[least - 1 : least]
        return min(went_on, default=None)

    def _is_exception(self, stated: Statement) -> bool:
        """Whether it is the last line of a traceback, or looks so."""
        return any(EXCEPTION.search(self._lines[number]) for number in stated.lines)

    @cached_property
    def _progress(self) -> list[list[Origin]]:
        """Lines that come again with other numbers, as a program prints of its steps, those alike together."""
        alike = (same for same in self._forms.values() if len(same) >= LEAST_PROGRESS)
        return [[at for line in same if (at := self._at(line)) is not None] for same in alike]

    @cached_property
    def _results(self) -> list[Origin]:
        """What only ranks print that reach each other: rows of results, and the place of each rank in a whole world."""
        sure = (same for form, same in self._forms.items() if ROW.fullmatch(form) or _is_world(form, same))
        return [at for same in sure for line in same if (at := self._at(line)) is not None]

    @cached_property
    def _forms(self) -> Mapping[str, set[str]]:
        """The lines with numbers that complain of nothing, by what is left with # for each number."""
        forms: defaultdict[str, set[str]] = defaultdict(set)
        in_box = False
        for line in self._seen.split("\n"):
            in_box ^= EDGE.match(line) is not None
            if not in_box and NUMBER.search(line) and not _is_no_progress(line):
                forms[NUMBER.sub("#", line.strip())].add(line)
        return forms


def _is_world(form: str, lines: set[str]) -> bool:
    """Whether lines alike count from 0, and name ranks, or the number of all lines as another number: their world."""
    numbers = ([number.strip(",:.") for number in NUMBER.findall(line)] for line in lines)
    columns = [*map(set, zip(*numbers, strict=False))]
    named = MEMBER.search(form) is not None or {str(len(lines))} in columns
    return len(lines) > 1 and named and {str(rank) for rank in range(len(lines))} in columns


def _is_no_progress(line: str) -> bool:
    return bool(NO_PROGRESS.match(line) or FRAME.match(line) or COMPLAINS.search(line) or reports_end(line))


def _complains_of_itself(line: str) -> bool:
    """Whether a line is a complaint of a program that no other complaint explains."""
    complains = COMPLAINS.search(line) or EXCEPTION.search(line)
    return bool(complains) and not (reports_end(line) or MAY_FOLLOW.search(line) or speaker_of(line) in PEERS)
