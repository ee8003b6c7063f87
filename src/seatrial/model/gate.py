"""What is left for `seatrial-gate`, the policy of a site and the line of a node, and what the gate answers."""

import enum
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

import msgspec

from seatrial.model.monitoring import NodeStanding
from seatrial.model.verdict import GOOD

OURS = "seatrial: "
"""The beginning of all reasons with which the gate drains a node; it resumes no other node."""
NODE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*", re.ASCII)
"""Names that the gate takes; others are left out."""
FOREIGN_CHARACTER = re.compile(r"[^A-Za-z0-9 .,:%+/>_-]")
"""What the text of a verdict must not contain: it becomes the reason of a drain, and a line of a log."""
MOST_TEXT = 120
"""Slurm cuts no reason of this length, and `sinfo -R` shows it."""


class Step(enum.StrEnum):
    """What the gate may do to a node with a bad verdict, each more than the one before."""

    REPORT = "report"
    COMMENT = "comment"
    DRAIN = "drain"


class Outcome(enum.StrEnum):
    """The gate's answer. The node passes with each but BAD."""

    GOOD = "good"
    BAD = "bad"
    UNKNOWN = "unknown"
    """No verdict, one that is too old, or an undecided one."""
    ERROR = "error"
    """The gate's own: what it needs is missing, damaged, of another user, or does not answer."""


class GatePolicy(msgspec.Struct, frozen=True, kw_only=True):
    """The table [gate] of a site's file. `folder`: where the verdicts are left."""

    folder: Path
    age_s: float
    """Verdicts that are older say nothing."""
    share: float
    """Share of a partition's nodes that may be out of service with a node that the gate drains, 0 to 1."""
    per_hour: int
    """How many nodes the gate drains in an hour."""

    @property
    def line(self) -> str:
        """The line that the gate reads: seconds, a thousandth of the share, drains."""
        return f"{self.age_s:.0f} {int(self.share * 1000 + 1e-6)} {self.per_hour}\n"


class GateAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What the gate said of a node. `text`: why, and what it did."""

    outcome: Outcome
    text: str


SILENT_S = 3600.0
"""A gate that gave no answer for this long is silent; Slurm's HealthCheckInterval is usually some minutes."""
SILENT = "silent"


class NodeAnswers(msgspec.Struct, frozen=True, kw_only=True):
    """The answers that the gate of a node gave so far. `last_s`: when it gave the last one, seconds since 1970."""

    last: Outcome
    last_s: int
    counts: dict[Outcome, int]


class GateTally(msgspec.Struct, frozen=True, kw_only=True):
    """What all gates of a folder answered. `nodes`: by the last answer, `silent` where that is missing or too old."""

    answers: dict[str, int]
    nodes: dict[str, int]


def tally(verdicts: Iterable[str], answers: Mapping[str, NodeAnswers], now_s: float) -> GateTally:
    """Sums over nodes. `verdicts`: the nodes on which a verdict was left."""
    last = {node: given.last.value if now_s - given.last_s < SILENT_S else SILENT for node, given in answers.items()}
    by_last = Counter([*last.values(), *(SILENT for node in verdicts if node not in last)])
    sums = {outcome.value: sum(given.counts[outcome] for given in answers.values()) for outcome in Outcome}
    return GateTally(answers=sums, nodes={word: by_last[word] for word in (*sums, SILENT)})


def verdict_line(standing: NodeStanding) -> str:
    """The line for the gate: bad if a finding is open that can be of no other part, good if nothing is open."""
    certain = [fault for fault in standing.faults if not fault.fault.shared]
    if certain:
        word, text, run = Outcome.BAD, certain[0].fault.text, certain[0].run
    elif standing.faults:
        word, text, run = Outcome.UNKNOWN, f"perhaps {standing.faults[0].fault.text}", standing.faults[0].run
    elif standing.verdict in GOOD:
        word, text, run = Outcome.GOOD, "", standing.run
    else:
        word, text, run = Outcome.UNKNOWN, standing.verdict.value, standing.run
    judged_s = datetime.fromisoformat(standing.judged).timestamp()
    return f"{word} {judged_s:.0f} {run} {FOREIGN_CHARACTER.sub('_', text)[:MOST_TEXT]}".rstrip() + "\n"


def parse_answers(text: str) -> NodeAnswers | None:
    """The line that the gate of a node keeps; None for what it did not write."""
    words = text.split()
    counts = dict(zip((Outcome.GOOD, Outcome.BAD, Outcome.UNKNOWN, Outcome.ERROR), words[2:6], strict=False))
    if len(words) < 7 or words[0] not in [*Outcome] or not all(re.fullmatch(r"\d{1,11}", word) for word in words[1:6]):
        return None
    return NodeAnswers(
        last=Outcome(words[0]), last_s=int(words[1]), counts={outcome: int(count) for outcome, count in counts.items()}
    )
