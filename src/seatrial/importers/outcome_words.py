"""What lines and remarks say of a run: that it failed, that its result is right, or that it may not be."""

import re
from functools import lru_cache

SUCCESSES = frozenset({
    "ok", "okay", "pass", "passed", "done", "completed", "complete", "success", "successful", "succeeded", "true",
    "valid", "yes", "y", "t", "good", "fine", "normal", "healthy", "verified", "correct", "finished", "ended", "0",
    "0:0", "1", "no error", "no errors", "none", "✓", "✔", "✅", "bestanden", "erfolgreich",
})  # fmt: skip
FAILURES = frozenset({
    "fail", "failed", "failure", "failing", "error", "err", "invalid", "incorrect", "wrong", "bad", "nok", "not ok",
    "timed out", "aborted", "abort", "killed", "crash", "crashed", "oom", "segfault", "boot_fail", "cancelled",
    "critical", "canceled", "deadline", "node_fail", "out_of_memory", "preempted", "timeout", "not_run", "skipped",
    "incomplete", "unsuccessful", "✗", "✘", "❌", "fehler", "fehlgeschlagen", "abgebrochen",
})  # fmt: skip
"""Words of harnesses, of what ended a program, and Slurm's states of a job."""
SAYS_NONE = r"(?:no|not|non|never|without|zero|0|ohne|keine?|sans|sin)"
FAILING = re.compile(
    rf"(?<![\w-])(?P<none>{SAYS_NONE} (?:[\w-]+ (?:or|nor|and|oder|und) )?(?:\w+ )?)?"
    r"(?:fail(?:ed|ure|ures|s|ing)?|err(?:or|ors)?|crash(?:ed|es)?"
    r"|abort(?:ed|s)?|killed|died|hung|seg(?:mentation )?fault(?:s|ed)?|core dumped|oom|out of memory|timed out"
    r"|timeouts?|exception|panic|fatal|invalid|incorrect|wrong|mismatch(?:es)?|corrupt(?:ed|ion)?|cancell?ed"
    r"|unsuccessful|fehler(?:haft)?|fehlgeschlagen|abgebrochen|abgestürzt|defekt|broken|échoué|cannot|can't|unable"
    r"|refused|unreachable|exited with|no route to host|no such|(?:permission )?denied|not found|xid)"
    r"(?![\w-]|[ :=<~]{0,4}(?:0\b|none\b|\d*\.\d|\d+e-)| (?:less than|below|within) )"
)
"""What a line says of a run that failed, wherever it says so; `none`: that it did not."""
RIGHT = re.compile(
    r"(?i)\b(?:valid(?:ates|ated)?|pass(?:ed|es)?|verified|success(?:ful|fully)?|succeeded|correct|bestanden"
    r"|erfolgreich)\b"
)
"""What a line says of a result that was checked."""
DOUBTFUL = re.compile(
    r"(?i)^[\[<(*#]{0,8}warn(?:ing)?\b|\bun(?:verified|validated)\b|\bungültig"
    r"|\b(?:not|nicht|never|cannot be) (?:\w+ )?(?:validated?|valid|pass(?:ed)?|verif(?:y|ied)|correct|reliable"
    r"|bestanden|ok)\b"
)
"""A line that is worth a word even where all nodes print it."""
NOT_STARTED = (
    r"(?:command not found|no such file|connection (?:refused|timed out|closed)|permission denied|no route to host"
    r"|host key verification failed|unreachable)"
)
"""Words of a launcher or a shell about a program that did not begin."""
OF_LAUNCHER = re.compile(r"Permanently added '[^']{1,200}' ")
"""What ssh says of a node to which nobody connected before."""


@lru_cache(maxsize=1 << 12)  # columns of thousands of nodes repeat their cells
def fails(text: str) -> bool:
    """Whether a text says that something failed, and not that nothing did."""
    return any(not match["none"] for match in FAILING.finditer(plain_words(text)))


def ran(text: str) -> bool:
    """Whether a text is of a program that failed, and not of a launcher that did not start it."""
    return fails(text) and re.search(rf"(?i){NOT_STARTED}", text) is None


def plain_words(cell: str) -> str:
    """The words in lower case, with single blanks between them."""
    return " ".join(cell.lower().split())
