"""A scenario: a lab, the faults planted in it, and what a check must then name. Read from TOML."""

import re
from pathlib import Path
from typing import Literal

import msgspec

from seatrial.files.inputs import SCENARIO_BYTES, BadInput, read_input
from seatrial.lab.cluster.plan import LabPlan, make_plan, parse_rate
from seatrial.lab.cluster.planting import fault_named
from seatrial.lab.faults.base import Parameters, check_parameters, check_rail, check_subject, check_timing
from seatrial.lab.trial.disturbances import MOST_HOGS
from seatrial.lab.trial.score import Expected
from seatrial.model.errors import UsageError, toml_record
from seatrial.model.subject import Direction, Subject
from seatrial.model.verdict import FindingKind, Verdict

NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}", re.ASCII)
"""It becomes a part of names of folders."""
KINDS = frozenset(FindingKind)
"""Everything that a check can find."""


class ScenarioFault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One fault of a scenario.

    With `after_s` it is planted that long after the measuring began, which is the first round of the survey, else
    before the check. With `every_s` it flaps: it is on for this long, then off for as long, repeatedly until the end.
    """

    kind: str
    subject: str
    percent: float | None = None
    rate: str | None = None
    direction: Direction | None = None
    mtu: int | None = None
    rail: str | None = None
    after_s: float | None = None
    every_s: float = 0.0

    @property
    def during(self) -> bool:
        """Whether the fault begins or changes while the check runs."""
        return self.after_s is not None or bool(self.every_s)

    @property
    def parameters(self) -> Parameters:
        """The values in base units."""
        rate = None if self.rate is None else parse_rate(self.rate)
        return Parameters(
            percent=self.percent, rate_bit_per_s=rate, direction=self.direction, mtu=self.mtu, rail=self.rail
        )


class ExpectSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One finding that the check must make, or may; of several kinds or subjects any one suffices."""

    kind: str | tuple[str, ...]
    subject: str | tuple[str, ...]
    direction: Direction | None = None
    of_peers: float | None = None
    """The true share of the peers' value, which the interval of the finding must contain."""

    @property
    def expected(self) -> Expected:
        """The expected findings as the score takes them."""
        subjects = (self.subject,) if isinstance(self.subject, str) else self.subject
        kinds = (self.kind,) if isinstance(self.kind, str) else self.kind
        return Expected(kinds=kinds, subjects=subjects, direction=self.direction or "", of_peers=self.of_peers)


class Scenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A scenario file. Without `exit_code`, `verdicts` or `within_s` any exit code, verdict or time will do."""

    name: str
    nodes: int
    leaves: int = 2
    rate: str = "1gbit"
    uplink_rate: str | None = None
    mtu: int = 1500
    rails: int = 1
    command: Literal["check", "nodes"] = "check"
    """Which command judges."""
    node_trials: bool = False
    """Whether `check` also tries each node by itself, which takes a second for each."""
    arguments: tuple[str, ...] = ()
    faults: tuple[ScenarioFault, ...] = ()
    expect: tuple[ExpectSpec, ...] = ()
    also_allowed: tuple[ExpectSpec, ...] = ()
    exit_code: int | None = None
    verdicts: tuple[Verdict, ...] = ()
    """The verdicts that the check may come to. Where it may be INCONCLUSIVE, a check that is need not name anything."""
    within_s: float | None = None
    """The longest that the check may take."""
    hogs: int = 0
    """Programs that compute, copy memory and start programs, in turn, while the check runs."""

    @property
    def words(self) -> tuple[str, ...]:
        """The command that judges, with its arguments."""
        left_out = ("--no-nodes",) if self.command == "check" and not self.node_trials else ()
        return (self.command, *left_out, *self.arguments)

    @property
    def ends_lives(self) -> bool:
        """Whether a fault ends or stops processes while the check runs, so that the lab cannot be used again."""
        return any(fault.during and fault_named(fault.kind).stops_node for fault in self.faults)

    def plan(self, name: str, folders: tuple[str, ...] = ()) -> LabPlan:
        """The lab of this scenario, under a name."""
        return make_plan(
            name=name,
            nodes=self.nodes,
            leaves=self.leaves,
            rate=self.rate,
            uplink_rate=self.uplink_rate,
            mtu=self.mtu,
            rails=self.rails,
            folders=folders,
        )


REMEDY = "See docs/lab.md for its keys."


def read_scenario(path: Path) -> Scenario:
    """Read and check a scenario file. Raises UsageError that names the file and what is wrong in it."""
    try:
        return parse_scenario(read_input(path, SCENARIO_BYTES).decode(), str(path))
    except BadInput as error:
        raise UsageError(f"The scenario cannot be read: {error.what}", "Give a TOML file.") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"The scenario {path} cannot be read: {error}.", "Give a TOML file.") from None


def parse_scenario(text: str, source: str) -> Scenario:
    """The scenario in a text; `source` names it in errors."""
    scenario = toml_record(text, Scenario, f"In the scenario {source}", REMEDY)
    try:
        _check(scenario)
    except ValueError as error:
        raise UsageError(f"In the scenario {source}: {error}.", REMEDY) from None
    except UsageError as error:
        raise UsageError(f"In the scenario {source}: {error.what}", error.remedy) from None
    return scenario


def _check(scenario: Scenario) -> None:
    if not NAME.fullmatch(scenario.name):
        raise UsageError(
            f"{scenario.name!r} is not a valid name of a scenario.", "Use letters, digits, -, _ and ., at most 100."
        )
    plan = scenario.plan("scenario")
    for fault in scenario.faults:
        kind = fault_named(fault.kind)
        check_subject(kind, plan, fault.subject)
        check_parameters(kind, fault.parameters)
        check_rail(plan, fault.parameters)
        check_timing(kind, after_s=fault.after_s or 0.0, every_s=fault.every_s)
    if not 0 <= scenario.hogs <= MOST_HOGS:
        raise UsageError(f"{scenario.hogs} hogs are out of range.", f"Give 0 to {MOST_HOGS}.")
    if scenario.within_s is not None and not scenario.within_s > 0:
        raise UsageError(f"No check ends within {scenario.within_s:g} s.", "Give more than 0.")
    for spec in (*scenario.expect, *scenario.also_allowed):
        if not spec.expected.subjects:
            raise UsageError("An expected finding has no subject.", "Give one, or a list of alternatives.")
        if not spec.expected.kinds:
            raise UsageError("An expected finding has no kind.", "Give one, or a list of alternatives.")
        for kind_of_finding in spec.expected.kinds:
            if kind_of_finding not in KINDS:
                raise UsageError(f"There is no finding {kind_of_finding!r}.", "docs/findings.md lists them.")
        if spec.of_peers is not None and not 0 <= spec.of_peers <= 1:
            raise UsageError(f"of_peers = {spec.of_peers:g} is not a share.", "Give 0 to 1.")
        for subject in spec.expected.subjects:
            _check_expected(plan, subject)


def _check_expected(plan: LabPlan, text: str) -> None:
    subject = Subject.parse(text)
    names = {"node": plan.node_names, "uplink": plan.leaf_names}.get(subject.kind.value)
    if names is not None and subject.name not in names:
        raise UsageError(
            f"This lab has no subject {text!r}, which the scenario expects.", f"It has {', '.join(names)}."
        )
