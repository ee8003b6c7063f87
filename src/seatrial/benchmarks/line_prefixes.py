"""What terminals, launchers and loggers add to an output: byte order mark, colours, rank and time before each line."""

import re

COLOUR = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][0-9A-B]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\\\)")
MOMENT = (
    r"(?:\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}|\w{3} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,18})?"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,18})?(?:Z|[+-]\d\d:?\d\d)?"
    r"|\d\d:\d\d:\d\d(?:[.,]\d{1,18})?|\d{10}\.\d{1,18})"
)
PREFIXES = tuple(
    re.compile(pattern)
    for pattern in (
        # mpirun --tag-output, with the job's name since Open MPI 5
        r"\[(?:[.@\w-]{1,200}+,){1,3}+\d{1,18}\]<std\w{1,9}>:[ ]?",
        r"\d{1,7}:(?: |$)",  # srun --label
        r"\[\d{1,7}\](?: |$)",  # mpiexec -prepend-rank of MPICH and Intel MPI
        rf"\[{MOMENT}\]:?(?: |\t|$)",
        rf"{MOMENT}(?:<std\w+>)?:?(?: |\t|$)",  # ts, journals, mpirun --timestamp-output
    )
)
MOST_PREFIXES = 3
SAMPLE = 1000
"""Lines of a long output that are examined."""
SHARE = 0.9
"""Of the lines that are not empty: the others come from the script around the program."""


def plain(text: str, *, moments: bool = True) -> str:
    """The text as the program printed it, line by line. `moments`: False leaves times before the lines."""
    if "\x1b" in text:
        text = COLOUR.sub("", text)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    lines = text.split("\n")
    for _ in range(MOST_PREFIXES):
        prefix = _prefix_of(lines, PREFIXES if moments else PREFIXES[:3])
        if prefix is None:
            break
        lines = [prefix.sub("", line, count=1) if prefix.match(line) else line for line in lines]
    return "\n".join(lines)


def _prefix_of(lines: list[str], prefixes: "tuple[re.Pattern[str], ...]") -> "re.Pattern[str] | None":
    """What nearly all lines begin with; the last line may be cut off within it."""
    written = [line for line in lines[:-1] or lines if line.strip()]
    written = written[:: max(len(written) // SAMPLE, 1)]
    for prefix in prefixes:
        matching = sum(bool(prefix.match(line)) for line in written)
        if written and matching >= SHARE * len(written):
            return prefix
    return None
