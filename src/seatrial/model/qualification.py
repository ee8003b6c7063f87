"""What `seatrial qualify` follows and reports: the site's policy, its slices, the scores of nodes, the coverage."""

import msgspec

from seatrial.model.errors import UsageError, toml_record
from seatrial.model.verdict import Verdict

YEAR_MINUTES = 365.25 * 24 * 60
WEEK_MINUTES = 7 * 24 * 60
FEWEST_NODES = 4
"""A node with fewer than three partners cannot be distinguished from them."""
MOST_NODES = 64
MOST_ALARMS = 100
LEAST_MINUTES = 0.1
EXAMPLE = "docs/qualify.md describes the file; an empty one has all defaults."


class QualifyPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """How much idle time is used, and what follows from findings: the whole content of POLICY.toml."""

    minutes: float = 20.0
    """Least time between two slices."""
    nodes: int = 8
    """Most nodes of a slice."""
    keep_free: float = 0.05
    """Share of each partition that stays idle."""
    alarms_per_year: float = 1.0
    """Good nodes that all slices of a year together may call bad, at most, on average."""
    drain: bool = False
    """Ask the gate to drain bad nodes; else they are only reported."""

    @property
    def judgements_per_year(self) -> float:
        """Judgements of nodes by slices, at most."""
        return self.nodes * YEAR_MINUTES / self.minutes


class QualifySlice(msgspec.Struct, frozen=True, kw_only=True):
    """One short check of idle nodes; none was taken if it has no nodes."""

    nodes: tuple[str, ...] = ()
    run: str = ""
    why: str = ""
    """Why none was taken, or why it was stopped before its end."""


class NodeScore(msgspec.Struct, frozen=True, kw_only=True):
    """What slices found on a node. `findings`: slices with a finding since the score was last 0."""

    node: str
    score: float = 0.0
    bad: bool = False
    findings: int = 0
    verdict: Verdict = Verdict.PASS
    """The verdict of the last finding, if there is one; of a node that is good PASS."""
    text: str = ""
    """The last finding, to follow the node's name."""
    run: str = ""
    """The run of the last finding."""
    judged: str = ""
    """When the last run ended that decided on the node: UTC, ISO 8601; empty: none did."""


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a partition was judged: nodes and links within a week, pairs in all runs that were read.

    Links: between nodes and their leaf switches, and between leaf switches and the spine.
    """

    nodes: int
    nodes_judged: int
    links: int
    links_judged: int
    pairs: int
    pairs_judged: int


def parse_policy(text: str, source: str) -> QualifyPolicy:
    """The content of POLICY.toml. Raises UsageError that says what is wrong in it."""
    policy = toml_record(text, QualifyPolicy, source, EXAMPLE)
    possible = {
        "minutes": LEAST_MINUTES <= policy.minutes <= WEEK_MINUTES,
        "nodes": FEWEST_NODES <= policy.nodes <= MOST_NODES,
        "keep-free": 0 <= policy.keep_free < 1,
        "alarms-per-year": 0 < policy.alarms_per_year <= MOST_ALARMS,
    }
    for key, is_possible in possible.items():
        if not is_possible:
            value = getattr(policy, key.replace("-", "_"))
            raise UsageError(f"{source}: {key} = {value:g} is not possible.", EXAMPLE)
    return policy
