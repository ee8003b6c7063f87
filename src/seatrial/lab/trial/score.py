"""Compares what a check named with what was planted: pure."""

from collections.abc import Sequence

import msgspec

SHAPER_ERROR = 0.001
"""The rate that a fault leaves is exact to this share; measured with 250 Mb/s to 2 Gb/s."""


class ReportedInterval(msgspec.Struct, frozen=True, kw_only=True):
    """What a score needs of an estimate."""

    low: float
    high: float


class ReportedFinding(msgspec.Struct, frozen=True, kw_only=True):
    """What a score needs of a finding in the JSON of a check; other fields are ignored."""

    kind: str
    subject: str
    ambiguous_with: tuple[str, ...] = ()
    direction: str = ""
    statement: str = ""
    measured: ReportedInterval | None = None
    peers: float | None = None
    of_peers: ReportedInterval | None = None

    @property
    def share(self) -> tuple[float, float] | None:
        """The interval of the share of its peers that the finding states, or that follows from its numbers."""
        if self.of_peers is not None:
            return self.of_peers.low, self.of_peers.high
        if self.measured is None or not self.peers:
            return None
        return self.measured.low / self.peers, self.measured.high / self.peers


class CheckOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What a score needs of the object that `check --json` prints."""

    verdict: str
    exit_code: int
    findings: tuple[ReportedFinding, ...] = ()
    run: str = ""


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """A finding that must be made; any one of the kinds and subjects suffices, and any direction if none is given."""

    kinds: tuple[str, ...]
    subjects: tuple[str, ...]
    direction: str = ""
    of_peers: float | None = None
    """The true share of the peers' value: the interval of the finding must contain it."""

    def meets(self, finding: ReportedFinding) -> bool:
        """Whether a finding is this one: its kind fits, and it names one of our subjects or is ambiguous with it."""
        same_direction = self.direction in ("", finding.direction)
        return (
            same_direction
            and finding.kind in self.kinds
            and not set(self.subjects).isdisjoint((finding.subject, *finding.ambiguous_with))
        )

    def wrong_interval(self, finding: ReportedFinding) -> str:
        """What is wrong with the finding's interval, in one line; empty where it contains the true value."""
        if self.of_peers is None:
            return ""
        expected = f"{self.text}: {self.of_peers:.1%} of its peers expected"
        if finding.share is None:
            return f"{expected}, and the finding has no interval"
        low, high = finding.share
        if low - SHAPER_ERROR <= self.of_peers <= high + SHAPER_ERROR:
            return ""
        return f"{expected}, measured {low:.2%} to {high:.2%}"

    @property
    def text(self) -> str:
        """Kinds and subjects in one line."""
        way = f" ({self.direction})" if self.direction else ""
        return f"{' or '.join(self.kinds)} {' or '.join(self.subjects)}{way}"


class TrialScore(msgspec.Struct, frozen=True, kw_only=True):
    """One run against its truth: expectations met, expectations not met, findings that nothing was planted for."""

    hits: tuple[Expected, ...]
    misses: tuple[Expected, ...]
    false_names: tuple[ReportedFinding, ...]
    wrong_intervals: tuple[str, ...] = ()
    """Hits whose interval does not contain the true value."""

    @property
    def right(self) -> bool:
        """Nothing missed, no false finding, every interval true."""
        return not self.misses and not self.false_names and not self.wrong_intervals


def score(
    expected: Sequence[Expected], findings: Sequence[ReportedFinding], also_allowed: Sequence[Expected] = ()
) -> TrialScore:
    """Each expectation takes one finding that meets it; what is left over and not allowed either is a false name.

    Expectations with the fewest alternatives choose first. A finding whose own subject was expected goes before one
    that is merely ambiguous with it, so that a precise finding and an ambiguous one cannot take each other's place.
    """
    left = list(findings)
    hits: list[Expected] = []
    misses: list[Expected] = []
    wrong_intervals: list[str] = []
    for expectation in sorted(expected, key=lambda one: len(one.subjects)):
        meeting = [finding for finding in left if expectation.meets(finding)]
        meeting.sort(key=lambda finding: finding.subject not in expectation.subjects)
        if meeting:
            left.remove(meeting[0])
            hits.append(expectation)
            wrong_intervals += filter(None, [expectation.wrong_interval(meeting[0])])
        else:
            misses.append(expectation)
    false_names = [finding for finding in left if not any(allowed.meets(finding) for allowed in also_allowed)]
    return TrialScore(
        hits=tuple(hits), misses=tuple(misses), false_names=tuple(false_names), wrong_intervals=tuple(wrong_intervals)
    )
