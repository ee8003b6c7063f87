"""Holds what a check named against what was planted: pure."""

from collections.abc import Sequence

import msgspec


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What a score needs of a finding in the JSON of a check; other fields are left alone."""

    kind: str
    subject: str
    ambiguous_with: tuple[str, ...] = ()
    direction: str = ""
    statement: str = ""


class CheckOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What a score needs of the object that `check --json` prints."""

    verdict: str
    exit_code: int
    findings: tuple[Finding, ...] = ()
    run: str = ""


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """A finding that must be made; any one of the subjects suffices, and any direction where none is asked for."""

    kind: str
    subjects: tuple[str, ...]
    direction: str = ""

    def meets(self, finding: Finding) -> bool:
        """Whether a finding is this one: same kind, and a subject of ours named, or not to be told from the named."""
        there = self.direction in ("", finding.direction)
        return (
            there
            and finding.kind == self.kind
            and not set(self.subjects).isdisjoint((finding.subject, *finding.ambiguous_with))
        )

    @property
    def text(self) -> str:
        """Kind and subjects in one line."""
        way = f" ({self.direction})" if self.direction else ""
        return f"{self.kind} {' or '.join(self.subjects)}{way}"


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """One run against its truth: expectations met, expectations not met, findings that nothing was planted for."""

    hits: tuple[Expected, ...]
    misses: tuple[Expected, ...]
    false_names: tuple[Finding, ...]

    @property
    def right(self) -> bool:
        """Nothing missed, nobody blamed wrongly."""
        return not self.misses and not self.false_names


def score(expected: Sequence[Expected], findings: Sequence[Finding], also_allowed: Sequence[Expected] = ()) -> Score:
    """Each expectation takes one finding that meets it; what is left over and not allowed either is a false name.

    Expectations with the fewest alternatives choose first. A finding whose own subject was expected goes before one
    that merely cannot be told from it, so that a precise finding and an ambiguous one cannot take each other's place.
    """
    left = list(findings)
    hits: list[Expected] = []
    misses: list[Expected] = []
    for expectation in sorted(expected, key=lambda one: len(one.subjects)):
        meeting = [finding for finding in left if expectation.meets(finding)]
        meeting.sort(key=lambda finding: finding.subject not in expectation.subjects)
        if meeting:
            left.remove(meeting[0])
            hits.append(expectation)
        else:
            misses.append(expectation)
    false_names = [finding for finding in left if not any(allowed.meets(finding) for allowed in also_allowed)]
    return Score(hits=tuple(hits), misses=tuple(misses), false_names=tuple(false_names))
