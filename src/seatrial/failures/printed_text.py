"""What launchers, MPI and programs print, without what hides their lines: colours, labels, times, harmless warnings."""

import errno
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import pairwise
from textwrap import dedent

import msgspec

from seatrial.model.words import MOMENT, QUOTED

ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)|[\x00-\x08\x0b\x0c\x0e-\x1f]")
LABEL = re.compile(r"^(?: *(\d{1,9}):(?: |$)|\[([\w@,.-]+)\]<std(?:err|out)>:[ \t]?)(.*)$")
"""What srun --label ("3: ") and mpirun --tag-output ("[1,3]<stderr>:") put before each line of a rank."""
WORKER = re.compile(
    r"^(?:\[(rank\d{1,9}|[a-z]{1,40}\d{1,9})\]:(?!\[)[ \t]?|\((\w{1,80}) pid=\d{1,9}(?:, ip=[\d.]{7,15})?\) )(.*)$"
)
"""What PyTorch ("[rank3]: "), torchrun --tee ("[default3]:") and Ray put before a line of a worker."""
RANK = re.compile(r"(?:rank|.{0,255},)?(\d{1,9})")
ELASTIC = re.compile(r"torchrun|torch\.distributed\.(?:elastic|run|launch)|\blocal_rank: ")
"""How torchrun, which starts several ranks in one task, appears in an output."""
STAMPED = re.compile(rf"^(?:{QUOTED})?+(?:(?!\[\d{{10}}\.\d{{1,9}}\] \[)(?:\[{MOMENT}\]|{MOMENT}):?[ \t])?")
"""What a mail, and then a clock, puts before a line."""
SCRIPT_LINE = re.compile(
    r"(?P<script>[ \xa0]?:[ \xa0])?(?:(?:Zeile|ligne|línea|riga|linha|linia|строка) (?P<line>\d{1,9})[ \xa0]?"
    r"|(?:第 )?(?P<place>\d{1,9}) 行)[:：][ \xa0]{0,8}(?:(?P<process>\d{1,9})[ \xa0]{1,40}(?P<ended>[^\n]{1,80}))?"
)
"""How bash names the line of a script in other languages, and says that a signal ended a program there."""
ERRNO = re.compile(r"\b[Ee]rrno[^\w-]{1,3}(\d{1,3})\b|(?:-1 |: |\()(E[A-Z]{3,14})\b")
"""An error of the system by its number or name alone; a negative one is of another table."""
LONGEST_LINE = 6000
"""More than a path may have, with a message about it."""
MOST_CHARACTERS = 200_000
"""Characters that are read; of longer texts both ends: the first error, and its consequences."""
RULE = re.compile(r"^[-=*]{20,}$")
EDGE = re.compile(r"^-{74,76}$")
"""The line above and below what Open MPI and PRRTE have to say."""
WARNS = re.compile(
    r"^\s*(?:\[[\w.-]+:\d+\]\s*)?(?:WARNING: |By default, for Open MPI 4\.0 and later"
    r"|PMIx was unable to find a usable compression library)"
)
TELLS = re.compile(r"btl_tcp_if_|failed to TCP connect")
"""Boxes that begin as a warning, and after which Open MPI does not start."""
HARMLESS = re.compile(
    r"\bUCX {1,80}(?:WARN|INFO|DEBUG)\b(?!.{0,400} (?:is not available, please use|API version is incompatible))"
    r"|libfabric:\S{0,200}(?:<info>|:core:core:\S{0,200}<warn>)"
    r"|^(?:srun|salloc|sbatch): (?:(?:error: )?(?:spank: \S{1,400}: Plugin file not found|[Ww]arning: )|lua: "
    r"|job \d{1,18} )"
    r"|^srun: error: eio_handle_mainloop: Abandoning IO "
    r"|^(?:srun|salloc|sbatch): (?:Step created for|Granted job allocation|Pending job allocation"
    r"|Nodes \S{1,4000} are ready)"
    r"|^slurmstepd\S{0,255}: error: (?:Unable to create TMPDIR|TMPDIR \[|Setting TMPDIR)"
    r"|^slurmstepd\S{0,255}: error: task/cgroup: (?:unable to add task\[pid=\d{1,9}\] to memory cg"
    r"|hwloc_get_obj_below|task\[\d{1,9}\] unable to set taskset|plugin not compiled with hwloc)"
    r"|^slurmstepd\S{0,255}: error: (?:_is_a_lwp|slurm_get_node_energy|_get_joules_task): "
    r"|NCCL WARN (?:Failed to open lib|Missing \")|cuda_driver\.cc:\d{1,9}\] failed call to cuInit: "
    r"|^(?:\[\S{1,300}\] )?\*\*\* (?:MPI_ERRORS_ARE_FATAL|reported by process)"
    r"|more process(?:es)? ha(?:s|ve) sent help message|_base_help_aggregate"
    r"|PMIX ERROR: (?:PMIX_)?ERROR in file \S{0,400}gds_ds\d{1,9}_lock"
    r"|\bEDAC \w{1,20}: \d{1,9} CE\b|AER: Corrected|severity=Corrected|device \[[\w:]{1,20}\] error status/mask="
    r"|^libibverbs: Warning: couldn't load driver "
    r"|I_MPI_PMI_LIBRARY will be ignored|Error in initializing MVAPICH2 ptmalloc|NONEXIST-KEY|_pmi2_kvs_get failed"
    r"|^Read -1, expected \d{1,18}, errno = \d{1,9}$"
)
"""Lines that successful starts also print."""
PREVIOUS_BOOT = re.compile(
    r"(?m)^.{0,400}BERT: Error records? from previous boot.{0,400}\n(?:.{0,400}\[Hardware Error\].{0,400}\n)*"
)
"""Errors of before the start of the node, which its kernel prints again."""
STEP_CREATED = "srun: Step created for"
REQUIRED = re.compile(r"requested\s+component\s+was\s+not\s+found|No components were able to be opened")
LEFT_OUT = re.compile(r"\(ignored\)\s{0,80}$")
"""A component of Open MPI that was left out, which is harmless unless Open MPI requires it."""
STEP_WAITS = re.compile(r"step creation (?:temporarily|still) disabled, retrying")
PORT = re.compile(
    r"(?:.{0,100}?(?<![\w.-]))?([\w.-]{1,80}):\d{1,9}:\d{1,9} .{0,200}?WARN (.{0,60})Got async event : port (\w+)"
)
"""What NCCL prints of a port: the node, the port, and its new state."""
PORT_DOWN, PORT_UP = "error", "active"
NO_FOLDER = re.compile(r"^slurmstepd\S{0,255}: error: couldn't chdir to [`'\"]?(\S[^\n'\"]{0,4000}?)['\"]?: ")
NOT_FOUND = re.compile(
    r"execve\(\): (?:/tmp/)?\./|(?<!\S)(?:/tmp/)?\./\S{1,400}: (?:No such file|command not found)"
    r"|can't open file '/tmp/"
)
"""A program or script that was named as one of the job's folder."""


def without_colours(text: str) -> str:
    """The text without the sequences that move a terminal's cursor and colour its text."""
    return ESCAPES.sub("", text.replace("\r\n", "\n"))


@cache
def translations() -> Mapping[str, Sequence[str]]:
    """What the system and shells say in English, and in other languages: the table `causes/translations.toml`."""
    table = (resources.files(__package__) / "causes" / "translations.toml").read_bytes()
    return msgspec.toml.decode(table, type=dict[str, list[str]])


def errors() -> list[str]:
    """The English words without those of signals, which also have other meanings."""
    return [english for english, others in translations().items() if not others[0].startswith("signal ")]


def in_english(text: str) -> str:
    """The text with English words for what the system and a shell say in another language, or by its number or name."""
    text = ERRNO.sub(_in_words, text)
    foreign = [(words, english) for english in errors() for words in translations()[english] if words in text]
    for words, english in foreign:
        text = re.sub(rf"(?:[ \xa0]?(: ))?{re.escape(words)}", rf"\1{english}", text)
    return SCRIPT_LINE.sub(lambda line: _of_script(line) if foreign or line["ended"] else line[0], text)


def _of_script(report: re.Match[str]) -> str:
    """`line 9: 3312 Killed ./solver` for what bash says in another language."""
    where = f"{': ' if report['script'] else ''}line {report['line'] or report['place']}: "
    if not report["process"]:
        return where
    rests = ((report["ended"].removeprefix(one), name) for name, others in translations().items() for one in others)
    ended = next((name + rest for rest, name in rests if rest != report["ended"]), report["ended"])
    return f"{where}{report['process']} {ended}"


def _in_words(number: re.Match[str]) -> str:
    name = number[2] or errno.errorcode.get(int(number[1]), "")
    words = next((english for english, others in translations().items() if f"errno {name}" in others), "")
    text, end = number.string, number.string.find("\n", number.end())
    line = text[text.rfind("\n", 0, number.start()) + 1 : end if end >= 0 else len(text)]
    return number.group() if words.lower() in line.lower() else f"{number.group()} ({words})"


def plain(text: str) -> str:
    """The text without colours, carriage returns, times and labels; the lines of each rank are at its first line.

    Of several empty lines one is left, and of a line the first LONGEST_LINE characters.
    """
    groups: dict[str | int, list[str]] = {}
    for number, labels, line in _lines(text):
        groups.setdefault(labels[-1] if labels else number, []).append(line)
    return "\n".join(line for lines in groups.values() for line in lines)


def _lines(text: str) -> Iterator[tuple[int, tuple[str, ...], str]]:
    """Number, labels and words of each line, in the order in which they were printed."""
    if len(text) > MOST_CHARACTERS:
        text = f"{text[: MOST_CHARACTERS // 2]}\n{text[-MOST_CHARACTERS // 2 :]}"
    before = "\n"
    for number, line in enumerate(dedent(in_english(without_colours(text))).split("\n")):
        seen = STAMPED.sub("", line.rpartition("\r")[2] or line.rstrip("\r"))
        if not seen.strip() and not before.strip():
            continue
        before = seen
        labels: tuple[str, ...] = ()
        line_of = seen[:LONGEST_LINE]
        for label in (LABEL, WORKER):
            if (match := label.match(line_of)) is not None:
                labels, line_of = (*labels, match[1] or match[2]), match[3]
        yield number, labels, line_of


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """When a line was printed, and by whom."""

    first: int
    """The number of the line of the output, from 0; labels do not change this order."""
    last: int
    """The number of its last repetition."""
    ranks: frozenset[int] = frozenset()
    """The ranks that printed it, as far as labels name them."""


def origins(text: str) -> dict[str, Origin]:
    """The origin of each line of `plain(text)`, by its words without spaces around them."""
    by_torchrun = ELASTIC.search(text) is not None
    by_words: dict[str, Origin] = {}
    for number, labels, line in _lines(text):
        ranks = {rank for label in labels if (rank := _rank(label, by_torchrun=by_torchrun)) is not None}
        words = line.strip()
        before = by_words.get(words, Origin(first=number, last=number))
        by_words[words] = Origin(first=before.first, last=number, ranks=before.ranks | ranks)
    return by_words


def _rank(label: str, *, by_torchrun: bool) -> int | None:
    """The number that srun or mpirun gives to who prints a label. torchrun is one task and starts several ranks."""
    match = RANK.fullmatch(label)
    return None if match is None or (by_torchrun and label.startswith("rank")) else int(match[1])


def without_warnings(text: str) -> str:
    """Plain text without harmless lines, and without the boxes in which Open MPI only warns."""
    pieces = _between(RULE, PREVIOUS_BOOT.sub("", text))
    inner = range(1, len(pieces) - 1)
    kept = [line for number, piece in enumerate(pieces) if number not in inner or not _warns(piece) for line in piece]
    overcome = [STEP_WAITS] if STEP_CREATED in text else []
    overcome += [] if REQUIRED.search(text) else [LEFT_OUT]
    overcome += [] if _misses_folder(text) else [NO_FOLDER]
    chats = (HARMLESS, *overcome)
    return "\n".join(line for line in _without_ports(kept) if not any(chat.search(line) for chat in chats))


def _without_ports(lines: list[str]) -> Iterator[str]:
    """The lines without those of a port that was down, and came up again."""
    events = [PORT.match(line) if "Got async event" in line else None for line in lines]
    up = {event.group(1, 2): number for number, event in enumerate(events) if event and event[3] == PORT_UP}
    for number, (line, event) in enumerate(zip(lines, events, strict=True)):
        if event is None or number > up.get(event.group(1, 2), -1) or event[3] not in (PORT_DOWN, PORT_UP):
            yield line


def _misses_folder(text: str) -> bool:
    """Whether something in the job's folder is not found, or denied, after that folder could not be entered."""
    folders = {found[1] for line in text.split("\n") if (found := NO_FOLDER.match(line)) is not None}
    denied = any(
        f"{folder}/" in line and "Permission denied" in line for line in text.split("\n") for folder in folders
    )
    return bool(folders) and (denied or NOT_FOUND.search(text) is not None)


def boxes(text: str) -> list[str]:
    """What Open MPI and PRRTE say in boxes of plain text, each in one line; without those that only warn."""
    inner = (piece for piece in _between(EDGE, text)[1:-1] if piece and piece[0][:1].isalpha())
    return [" ".join(" ".join(box).split()) for box in inner if not _warns(box)]


def _between(rule: re.Pattern[str], text: str) -> list[list[str]]:
    """The lines before the first rule, between each two, and behind the last."""
    lines = text.split("\n")
    rules = [-1, *(place for place, line in enumerate(lines) if rule.match(line)), len(lines)]
    return [lines[above + 1 : below] for above, below in pairwise(rules)]


def _warns(box: list[str]) -> bool:
    warns = bool(WARNS.match(next((line for line in box if line.strip()), "")))
    return warns and not any(TELLS.search(line) for line in box)
