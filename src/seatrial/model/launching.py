"""What the doctor found: a finding for each thing that was tried, with its remedy."""

import msgspec

from seatrial.model.errors import ExitCode
from seatrial.model.subject import CLUSTER, Subject
from seatrial.model.verdict import Finding, FindingKind, Verdict

MOST_LINES = 60
"""Lines of what programs printed that are in a finding."""


class Examination(msgspec.Struct, frozen=True, kw_only=True):
    """All remarks in the order in which things were tried, cheapest first; PASS for what works."""

    remarks: tuple[Finding, ...]

    @property
    def blocked(self) -> tuple[Finding, ...]:
        """The obstacles."""
        return tuple(one for one in self.remarks if one.verdict is Verdict.BLOCKED)

    @property
    def untried(self) -> tuple[Finding, ...]:
        """What could not be tried."""
        return tuple(one for one in self.remarks if one.verdict is Verdict.NOT_RUN)

    @property
    def exit_code(self) -> ExitCode:
        """FINDINGS where there is an obstacle, INCOMPLETE where not everything could be tried."""
        if self.blocked:
            return ExitCode.FINDINGS
        return ExitCode.INCOMPLETE if self.untried else ExitCode.PASS


def last_lines(text: str) -> str:
    """The end of what a program printed, to be quoted: at most `MOST_LINES` lines."""
    return "\n".join(text.strip("\n").splitlines()[-MOST_LINES:])


def fine(step: str, says: str) -> Finding:
    """All is well."""
    return _finding(step, Verdict.PASS, FindingKind.STEP_PASSED, says)


def noted(
    step: str, kind: FindingKind, says: str, remedy: str = "", said: str = "", subject: Subject = CLUSTER
) -> Finding:
    """Worth knowing, but not an obstacle: launches work nevertheless, or the node is not one of those wanted."""
    return _finding(step, Verdict.NOTE, kind, says, remedy, said, subject)


def blocked(
    step: str, kind: FindingKind, says: str, remedy: str = "", said: str = "", subject: Subject = CLUSTER
) -> Finding:
    """An obstacle."""
    return _finding(step, Verdict.BLOCKED, kind, says, remedy, said, subject)


def untried(step: str, kind: FindingKind, says: str, remedy: str = "") -> Finding:
    """Could not be tried."""
    return _finding(step, Verdict.NOT_RUN, kind, says, remedy)


def _finding(
    step: str,
    verdict: Verdict,
    kind: FindingKind,
    says: str,
    remedy: str = "",
    said: str = "",
    subject: Subject = CLUSTER,
) -> Finding:
    return Finding(kind=kind, subject=subject, verdict=verdict, statement=says, remedy=remedy, step=step, printed=said)
