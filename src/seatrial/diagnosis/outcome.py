"""What every record of one pair's measuring ends in: verdict, reason, notes, and the exit code that follows."""

import msgspec

from seatrial.diagnosis.evidence import Pair
from seatrial.model.errors import ExitCode
from seatrial.model.verdict import Verdict

AT_FAULT = (Verdict.SLOW, Verdict.UNSTABLE, Verdict.INVALID)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The end of such a record; what else was found stands in it."""

    pair: Pair
    """From which node to which."""
    verdict: Verdict | None
    """None where there is no limit to hold the numbers against, and nothing else is wrong."""
    reason: str
    notes: tuple[str, ...]
    complete: bool

    @property
    def named(self) -> bool:
        """Whether something is at fault and named."""
        return self.verdict in AT_FAULT

    @property
    def exit_code(self) -> ExitCode:
        """As of a check: findings before incompleteness."""
        if self.named:
            return ExitCode.FINDINGS
        good = self.complete and self.verdict in (Verdict.PASS, None)
        return ExitCode.PASS if good else ExitCode.INCOMPLETE

    @property
    def word(self) -> str:
        """The verdict's, with which a report begins."""
        return self.verdict.value if self.verdict else "MEASURED"
