"""What a program printed, without what launchers, clocks and terminals add: prefixes of ranks, times, colours."""

import re

from seatrial.model.words import MOMENT

COLOUR = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][0-9A-B]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\\\)")
PREFIXES = tuple(
    re.compile(f"^(?:{pattern})", re.MULTILINE)
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
"""Share of the lines with text that must have a prefix; other lines come from the script around the program."""


def plain(text: str, *, moments: bool = True) -> str:
    """The text as the program printed it, line by line. `moments`: False leaves times before the lines."""
    if "\x1b" in text:
        text = COLOUR.sub("", text)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    for _ in range(MOST_PREFIXES):
        prefix = _prefix_of(text, PREFIXES if moments else PREFIXES[:3])
        if prefix is None:
            break
        text = prefix.sub("", text)
    return text


def _sample(text: str) -> list[str]:
    """Lines that are not empty, evenly from the whole text; the last line, which may be cut off, only if it is alone.

    No list of all lines is made: an output may have millions.
    """
    whole = text[: text.rfind("\n")] if "\n" in text else text
    every = max(whole.count("\n") // (2 * SAMPLE), 1)
    written, begin, place = [], 0, 0
    while begin <= len(whole):
        end = whole.find("\n", begin)
        end = len(whole) if end < 0 else end
        if place % every == 0 and not whole[begin:end].isspace() and end > begin:
            written.append(whole[begin:end])
        begin, place = end + 1, place + 1
    return written


def _prefix_of(text: str, prefixes: "tuple[re.Pattern[str], ...]") -> "re.Pattern[str] | None":
    """What nearly all lines begin with."""
    written = _sample(text)
    for prefix in prefixes:
        matching = sum(bool(prefix.match(line)) for line in written)
        if written and matching >= SHARE * len(written):
            return prefix
    return None
