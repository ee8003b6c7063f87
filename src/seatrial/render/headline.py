"""The first line of every report: the verdict, the culprits, and their numbers."""

from collections.abc import Sequence

from seatrial.model.subject import Subject
from seatrial.model.verdict import Finding, Verdict, worst
from seatrial.model.words import count, some
from seatrial.render.finding_text import brief, part_name

MOST_PARTS = 4
"""Parts that a headline names before it counts the rest."""
MOST_CHARACTERS = 50
"""Characters of all these names, unless the first alone is longer: with verdict and counts a line of 80 columns."""
LINE = 80
"""Columns of the first line."""


def at_fault(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Findings that say that something is wrong."""
    return tuple(finding for finding in findings if finding.at_fault)


def word_of(findings: Sequence[Finding], otherwise: str = Verdict.PASS.value) -> str:
    """The gravest verdict among findings at fault; `otherwise` where there are none."""
    faults = at_fault(findings)
    return worst([finding.verdict for finding in faults]).value if faults else otherwise


def sentence_of(findings: Sequence[Finding], unlisted: int = 0) -> str:
    """`n3: link at 60 % of its limit`; `3 findings: n3, uplink of leaf9, n76`; empty where nothing is at fault.

    `unlisted`: how many parts at fault there are besides those of `findings`.
    """
    faults = at_fault(findings)
    if not faults:
        return ""
    if len(faults) == 1 and not unlisted:
        return finding_sentence(faults[0])
    parts = list(dict.fromkeys(map(_name, faults)))
    return f"{count(len(faults) + unlisted, 'finding')}: {some(parts, _fitting(parts), unlisted)}"


def _fitting(names: Sequence[str]) -> int:
    """How many of the names a headline has room for; one at least."""
    lengths = (len(", ".join(names[:number])) for number in range(2, MOST_PARTS + 1))
    return 1 + sum(length <= MOST_CHARACTERS for length in lengths)


def finding_sentence(finding: Finding) -> str:
    """`n3: link at 60 % of its limit`."""
    joined = " " if finding.verdict is Verdict.DOWN else ": "
    return f"{_name(finding)}{joined}{brief(finding)}"


def _name(finding: Finding) -> str:
    """The subject, and others that the measurements cannot distinguish from it."""
    subjects: list[Subject] = [finding.subject, *finding.ambiguous_with]
    return " or ".join(part_name(subject) for subject in subjects)


def fitting_sentence(verdict: Verdict, sentences: Sequence[str], gaps: Sequence[str] = (), *, needed: bool) -> str:
    """The first of the sentences for which a line has room behind the verdict, with the first of the `gaps` at its end.

    `sentences`, and `gaps` in the measurements: longer ones first; an empty gap is none. `needed`: whether the sentence
    says too much without its gaps; else they are left out where there is no room.
    """
    room = LINE - len(verdict.value) - 2
    if needed and gaps:
        sentences = [f"{text}{gap and '; '}{gap}" for gap in gaps for text in sentences]
    chosen = next((text for text in sentences if len(text) <= room), sentences[-1])
    if needed:
        return chosen
    return next((full for gap in gaps if gap and len(full := f"{chosen}; {gap}") <= room), chosen)


def first_line(sentence: str, room: int) -> tuple[str, str]:
    """The answer, as many clauses of the sentence as there is room for; and the others, for the line below it.

    It is divided between clauses (a semicolon), else before a bracket that has no room, else between parts (a comma);
    one that is too long is not.
    """
    if len(sentence) <= room:
        return sentence, ""
    end = sentence.rfind("; ", 0, room + 2)
    if end < 0 and (bracket := sentence.rfind(" (", 0, room + 1)) > 0 and ")" not in sentence[bracket:room]:
        return sentence[:bracket], sentence[bracket + 1 :]
    end = end if end > 0 else sentence.rfind(", ", 0, room + 2)
    return (sentence[:end], sentence[end + 2 :]) if end > 0 else (sentence, "")
