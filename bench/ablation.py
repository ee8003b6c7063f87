"""`make ablation`: each mechanism of the judging core switched off by itself, over simulated checks.

Every class of trials (`ablation_classes.py`) is checked with the full program and once more without each mechanism,
with the same seeds, so that a difference comes from the mechanism alone. While the full program runs, each mechanism is
watched: where it returned in every call what its replacement returns, the check without it would be the same and is not
repeated.

Columns: trials that are right (nothing missed, no wrong name), faults found, wrong names, PASS with a fault missed,
INCONCLUSIVE, and node-seconds, each for the full program and without the mechanism, over the trials in which it acted;
and the classes whose answers differ. Options: `--seeds N`, `--only MECHANISM` (may be repeated; `none`: the full
program alone), `--classes TEXT`. `--random N`: N checks of each family that are drawn at random (`random_classes.py`)
in place of the classes; `--full` lists those that are wrong, with their seeds.
"""

import argparse
import pickle
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, suppress
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
from bench.ablation_classes import TrialClass, classes, without_member
from bench.random_classes import FAMILIES, drawn
from tests.support import busy_machine

from seatrial.commands.check.next_experiments import plan_retest
from seatrial.experiment.controls import RETEST_RUNS
from seatrial.fabric.parts import PartKind, merged
from seatrial.lab.simulator.faults import SimulatedFault, parse_fault
from seatrial.lab.simulator.score import Match, Truth
from seatrial.lab.simulator.topology import parse_topology
from seatrial.lab.simulator.trial import SimulatedFabric, TrialSettings, run_trial
from seatrial.model.errors import UsageError
from seatrial.model.measurement import Round
from seatrial.model.subject import node
from seatrial.model.verdict import FindingKind, Verdict

Function = Callable[..., Any]
CHECK = "seatrial.commands.check."
LOCATE = "seatrial.locate."
MOST_DRAWS = 20
"""Draws of faults that may have no room beside each other."""
SMALLEST = 0.03
"""A fault that takes less than this share may be named or not: it is below the practical effect."""


class Mechanism(msgspec.Struct, frozen=True, kw_only=True):
    """What is replaced to switch it off."""

    name: str
    place: str
    """Module and attribute, or module, class and attribute."""
    without: Any
    """A function of the same arguments, or the value of a constant."""
    acts: str = ""
    """Place of the function whose call shows that it acted; empty: it acted if what it returns differs."""
    state: Callable[[Any], object] | None = None
    """What a method may change in its object: it acted if it did."""


def owner(place: str) -> tuple[Any, str]:
    """The module or class of a place, and the name in it."""
    path, _, name = place.rpartition(".")
    try:
        return import_module(path), name
    except ModuleNotFoundError:
        module, _, kind = path.rpartition(".")
        return getattr(import_module(module), kind), name


def nothing(value: object) -> Callable[..., Any]:
    """A function that returns this whatever it gets."""
    return lambda *_, **__: value


def first(*given: Any, **_: object) -> Any:  # noqa: ANN401
    """What it gets first."""
    return given[0]


def anywhere(*given: Any, **named: Any) -> list[Round]:  # noqa: ANN401
    """A retest whose controls may be on cables that other jobs use."""
    return plan_retest(*given, **{**named, "leaf_of": None})


def by_near_pairs(proofs: Any, group: Any) -> Any:  # noqa: ANN401
    """The retest of a node by its pairs within its leaf, whatever others of it gave."""
    return proofs._look.of(proofs.on_own_link(group) or group.pairs)


def stage(name: str, place: str, acts: str, value: object = True) -> Mechanism:
    """A stage of the check that measures, or a constant of one. `acts`: see `Mechanism`."""
    without = nothing(value) if value is True else value
    return Mechanism(name=name, place=CHECK + place, without=without, acts=CHECK + acts)


def rule(name: str, place: str, without: object, room: str = CHECK) -> Mechanism:
    """A function without effects beside its value."""
    return Mechanism(name=name, place=room + place, without=without)


MECHANISMS = (
    stage("measured without contention", "run.measure_without_contention", "retests.apart"),
    stage("stage under load", "run.measure_loaded", "loaded_rounds._Stage.again"),
    stage("second retest of late parts", "run.retest_late", "run.retest_late"),
    stage("last look", "run.look_once_more", "run.look_once_more"),
    rule("pairs that distinguish slow parts", "run.next_bandwidth", nothing([])),
    rule("pairs that distinguish late parts", "run.next_latency", nothing([])),
    rule("further retest batches", "retests.not_seen", nothing([])),
    stage("second retests", "retests.MORE_LOOKS", "retests._measure_again", 0),
    rule("retest of pairs of a part that is good", "suspects.Suspicion.unproved", property(nothing(()))),
    rule("attempts after the first without contention", "retests.still_crowded", nothing([])),
    stage("under load: leaves one by one", "loaded_rounds._Stage._one_by_one", "loaded_rounds.again_rounds"),
    stage("under load: all of one by one again", "loaded_rounds.OTHER_PARTNERS", "loaded_rounds.again_rounds", 0),
    stage("under load: leaves after the worst six", "loaded_rounds.MOST_STEPS", "loaded_rounds._Stage._look", 1),
    stage("under load: second time", "loaded_rounds.SECOND_LOOKS", "loaded_rounds._Stage._look", 0),
    rule("under load: two groups of uplinks", "loaded_scene.slower_group", nothing(())),
    rule("under load: absent nodes of a cable", "leaf_comparison.LeafRate.cables_used", nothing(1.0)),
    rule("under load: scatter of leaves", "loaded_scene.lacks", lambda of, effect, **_: dict.fromkeys(of, effect)),
    rule(
        "under load: scatter of leaves one by one",
        "loaded_scene.lacks_alone",
        lambda of, _found, _offered, effect: dict.fromkeys(of, effect),
    ),
    rule("under load: slow ones beside each other", "loaded_scene.LoadState.doubted", property(nothing(set()))),
    rule("under load: slow with some partners only", "leaf_comparison.LeafRatio.by_partners", nothing(False)),
    rule("under load: cables of a slow uplink", "uplink_verdicts.cable_loads", nothing([])),
    rule("suspects by averages", "suspects.averaged", lambda _located, known, *_: known),
    rule("suspects of small clusters", "suspects.set_apart", first),
    rule("suspects bad in one repetition", "suspects.once_bad", first),
    rule("peers without those behind slow uplinks", "assessment.behind_slow_uplinks", nothing(frozenset())),
    Mechanism(
        name="look at the controls of a retest",
        place=CHECK + "retest_verdicts._Proofs.look_at_controls",
        without=nothing(None),
        state=lambda proofs: (dict(proofs.changed), set(proofs._turned)),
    ),
    rule("nodes without pairs of another slow part", "retest_verdicts._beside_others", first),
    rule("what other jobs share takes one level", "retest_verdicts._Proofs._outcome", lambda _, __, seen: seen.outcome),
    rule("better runs below traffic", "second_look.SecondLook._one_level_below_traffic", nothing(False)),
    rule("mixed pairs of a part", "second_look.SecondLook._mixed", nothing(False)),
    rule("calm pairs of an unstable part", "second_look.SecondLook._mostly_calm", nothing(False)),
    rule("runs beside their controls", "second_look.SecondLook._relative", lambda look, pair: look._counting(pair)),
    rule("runs explained by waits", "second_look.SecondLook._unwaited", lambda _look, _pair, relative: relative),
    rule("waits of all ranks", "second_look.SecondLook._all_waited", nothing(False)),
    rule("unstable whatever waits", "second_look.SecondLook._whatever_beside", lambda _look, _pair, relative: relative),
    rule("longest wait of a rank", "processor_waits.RankWaits.longest", nothing(None), "seatrial.judgement."),
    rule("whole fabric below its limit", "suspects._uniformly_slow", nothing(())),
    rule("single late pairs", "suspects._alone_late", nothing([])),
    rule("uplinks by their cables", "suspects._by_cables", lambda suspects, *_: [*suspects]),
    rule("lossy parts", "suspects.lossy_suspects", nothing([])),
    rule("parts cleared of loss", "survey._cleared_of_loss", nothing(frozenset())),
    rule("pairs excused by loss", "suspects.excused_pairs", nothing(set())),
    rule("only what was measured again", "judge.only_proved", lambda suspicion, _: (suspicion, [])),
    Mechanism(
        name="old retests forgotten after the last look",
        place=CHECK + "survey.Survey._forget_old_retests",
        without=nothing(None),
        state=lambda survey: [*map(id, survey.evidence.values()), *map(len, survey.retested.values())],
    ),
    Mechanism(
        name="pairs that were good before a part on their way turned bad",
        place=CHECK + "survey.Survey._find_stale",
        without=nothing(None),
        state=lambda survey: ([*map(set, survey._turned.values())], [*survey._stale.values()]),
    ),
    rule("under load: nodes at fault stay out", "loaded_rounds.left_out", nothing(set())),
    rule("a node by pairs within its leaf", "retest_verdicts._Proofs.on_own_link", nothing([])),
    rule("a node cleared by another pair of it", "retest_verdicts._Proofs.seen", by_near_pairs),
    rule("parts located by the retest", "retest_verdicts.Proofs.contradicts_survey", property(nothing(False))),
    rule("lone pairs explained by a part", "retest_verdicts._Proofs._with_explained", lambda _, slow: [*slow]),
    stage("two retests of shared parts", "retest_verdicts.SHARED_RUNS", "retest_verdicts._Proofs._waited", RETEST_RUNS),
    rule("controls below one switch first", "retests.plan_retest", anywhere),
    rule("a pair within the leaf of a suspected node", "next_experiments._within_leaves", nothing([])),
    rule("loss on cables that nobody knows", "survey._behind", nothing(False)),
    rule("late trips beyond what waits explain", "survey._beyond_waits", nothing(False)),
    rule("pairs that deliver what a slow bundle permits", "retest_verdicts._as_good", nothing(False)),
    rule("under load: slow uplinks that others hide", "loaded_rounds.may_hide", nothing(False)),
    rule("under load: runs before the first look alone", "leaf_comparison._before", first),
    rule("a whole fabric below its limit that waits explain", "suspects.is_starved", nothing(False)),
    rule("two populations of nodes", "dense.split", nothing(None), LOCATE),
    rule("nodes cleared by their partners", "dense.cleared_by_partners", lambda _y, judged: judged, LOCATE),
    rule("uplinks by averages", "dense.slow_uplinks", nothing(((), ())), LOCATE),
)


def unlike(one: object, other: object) -> bool:
    """Whether two values differ; records with arrays by their bytes."""
    try:
        return bool(one != other)
    except ValueError:
        return pickle.dumps(one) != pickle.dumps(other)


def differing(mechanism: Mechanism, original: Function, without: Function, acted: set[str]) -> Function:
    """The original, which notes if its replacement would have returned anything else, or changed nothing."""

    @wraps(original)
    def watched(*given: Any, **named: Any) -> Any:  # noqa: ANN401
        state = mechanism.state
        before = state(given[0]) if state else None
        value = original(*given, **named)
        if state and state(given[0]) != before:
            acted.add(mechanism.name)
        if not state and mechanism.name not in acted:
            value = list(value) if isinstance(value, Iterator) else value
            other = without(*given, **named)
            other = list(other) if isinstance(value, list) else other
            if unlike(value, other):
                acted.add(mechanism.name)
        return value

    return watched


def called(name: str, original: Function, acted: set[str]) -> Function:
    """The original, which notes that it was called."""

    @wraps(original)
    def watched(*given: Any, **named: Any) -> Any:  # noqa: ANN401
        acted.add(name)
        return original(*given, **named)

    return watched


def watch(mechanism: Mechanism, acted: set[str]) -> Any:  # noqa: ANN401
    """The patch that watches the mechanism in the full program."""
    where, name = owner(mechanism.acts or mechanism.place)
    original: Any = where.__dict__[name]
    if mechanism.acts:
        return mock.patch.object(where, name, called(mechanism.name, original, acted))
    if isinstance(original, property):
        value: Any = original.fget
        return mock.patch.object(where, name, property(differing(mechanism, value, mechanism.without.fget, acted)))
    return mock.patch.object(where, name, differing(mechanism, original, mechanism.without, acted))


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One check."""

    named: tuple[str, ...]
    right: bool
    faults: int
    found: int
    wrong: int
    verdict: Verdict
    node_s: float
    measurements: int

    @property
    def false_pass(self) -> bool:
        """Whether it says PASS although a fault was missed."""
        return self.verdict is Verdict.PASS and self.found < self.faults


class Paired(msgspec.Struct, frozen=True, kw_only=True):
    """The checks of one seed of a class: with everything, and without each mechanism that acted."""

    kind: TrialClass
    seed: int
    full: Answer
    without: dict[str, Answer]

    @property
    def text(self) -> str:
        """What was checked, and the answer."""
        kind, full = self.kind, self.full
        routed = " routed" if kind.routed else ""
        checked = f"{kind.name} {self.seed}: {kind.topology}{routed} {' '.join(kind.faults)} {kind.conditions}"
        return f"{checked}: {full.verdict} {', '.join(full.named)}"


def plant(fabric: SimulatedFabric, settings: TrialSettings, seed: int) -> list[SimulatedFault]:
    """The faults of this seed, or of the next one by which they have room beside each other."""
    for later in range(0, 1000 * MOST_DRAWS, 1000):
        with suppress(UsageError):
            return fabric.plant(settings, seed + later)
    return fabric.plant(settings, seed)


def answer(kind: TrialClass, seed: int) -> Answer:
    """Check one fabric of the class."""
    if kind.busy_machine:
        return answer_of_busy_machine(kind, seed)
    shape = parse_topology(kind.topology)
    broken: list[str] = []
    for _ in range(kind.lost_members):
        shape, leaf = without_member(shape, random.Random(seed + len(broken)), broken)
        broken.append(leaf)
    fabric = SimulatedFabric(shape)
    settings = TrialSettings(
        specs=tuple(map(parse_fault, kind.faults)),
        random_faults=kind.random_faults,
        routed=kind.routed,
        design=kind.design,
        conditions=kind.conditions,
    )
    planted = plant(fabric, settings, seed)
    for leaf in broken:
        ways = [part for part in fabric.parts.bundles if part.kind is PartKind.UPLINK and part.place == leaf]
        planted.append(SimulatedFault(part=next(merged(ways)), share=1.0))
    with tempfile.TemporaryDirectory() as folder:
        trial, _ = run_trial(fabric, settings, planted, seed=seed, archive=Path(folder), run="trial")
    wanted = [
        one
        for one, fault in zip(trial.score.faults, planted, strict=True)
        if one.match is not Match.UNSEEN and (fault.loss >= SMALLEST or fault.course.lost or fault.share == 1)
    ]
    found = sum(one.match is not Match.MISSED for one in wanted)
    claims = [claim for claim in trial.score.claims if claim.kind != FindingKind.WAITS_FOR_PROCESSOR]
    wrong = sum(claim.truth is Truth.FALSE for claim in claims)
    return Answer(
        named=tuple(sorted(f"{claim.kind} {claim.subject.text} {len(claim.ambiguous_with)}" for claim in claims)),
        right=found == len(wanted) and not wrong,
        faults=len(wanted),
        found=found,
        wrong=wrong,
        verdict=trial.verdict,
        node_s=trial.cost.node_s,
        measurements=trial.cost.measurements,
    )


def answer_of_busy_machine(kind: TrialClass, seed: int) -> Answer:
    """Check the nodes of one machine; a finding is wrong that is not about pairs with the slow node."""
    shares = [parse_fault(text).share for text in kind.faults] or [1.0]
    with tempfile.TemporaryDirectory() as folder:
        outcome = busy_machine.checked(Path(folder), kind.busy_machine, seed, shares[0])
    findings = outcome.judgement.findings
    wrong = sum(not kind.faults or any("n3" not in pair.split(">") for pair in one.pairs) for one in findings)
    found = sum(one.kind is FindingKind.SLOW_LINK and one.subject == node("n3") for one in findings)
    return Answer(
        named=tuple(sorted(f"{one.kind} {one.subject.text} {len(one.ambiguous_with)}" for one in findings)),
        right=found == len(kind.faults) and not wrong,
        faults=len(kind.faults),
        found=found,
        wrong=wrong,
        verdict=outcome.judgement.verdict,
        node_s=0.0,
        measurements=len(outcome.recorded.measurements),
    )


def paired(job: tuple[TrialClass, int, tuple[str, ...], bool]) -> Paired | None:
    """All checks of one seed of a class; None where its faults have no room beside each other.

    `repeat`: whether to check without the mechanisms, or to say which acted.
    """
    kind, seed, only, repeat = job
    acted: set[str] = set()
    chosen = [one for one in MECHANISMS if (not only or one.name in only)]
    with ExitStack() as stack:
        for one in chosen:
            stack.enter_context(watch(one, acted))
        try:
            full = answer(kind, seed)
        except UsageError:
            return None
    without = {}
    for one in chosen:
        if one.name in acted:
            with mock.patch.object(*owner(one.place), one.without):
                without[one.name] = answer(kind, seed) if repeat else full
    return Paired(kind=kind, seed=seed, full=full, without=without)


def row(name: str, pairs: Sequence[tuple[str, Answer, Answer]]) -> str:
    """One mechanism: the full program, and without it, over the checks in which it acted."""
    if not pairs:
        return f"| {name} | never acted |"
    full, without = [one for _, one, _ in pairs], [other for _, _, other in pairs]
    columns = [
        f"{sum(map(value, full))} → {sum(map(value, without))}"
        for value in (
            lambda one: one.right,
            lambda one: one.found,
            lambda one: one.wrong,
            lambda one: one.false_pass,
            lambda one: one.verdict is Verdict.INCONCLUSIVE,
            lambda one: round(one.node_s),
            lambda one: one.measurements,
        )
    ]
    changed = [kind for kind, one, other in pairs if (one.named, one.verdict) != (other.named, other.verdict)]
    worse = sorted({kind for kind, one, other in pairs if one.right and not other.right})
    return f"| {name} | {len(pairs)} | {' | '.join(columns)} | {len(changed)} | {'; '.join(worse)} |"


def main() -> int:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seeds", type=int, default=1)
    options.add_argument("--first", type=int, default=1)
    options.add_argument("--only", action="append", default=[])
    options.add_argument("--classes", default="")
    options.add_argument("--acted", action="store_true", help="only count the trials in which each mechanism acts")
    options.add_argument("--full", action="store_true", help="also a line for each class, with the full program")
    options.add_argument("--random", type=int, default=0, metavar="N", help="checks of each random family instead")
    given = options.parse_args()
    chosen = [kind for kind in classes() if given.classes in kind.name]
    seeds = range(given.first, given.first + (given.random or given.seeds))
    checks = [(kind, seed) for seed in seeds for kind in chosen]
    if given.random:
        checks = [(drawn(family, seed), seed) for family in FAMILIES if given.classes in family for seed in seeds]
    jobs = [(kind, seed, tuple(given.only), not given.acted) for kind, seed in checks]
    results: dict[str, list[tuple[str, Answer, Answer]]] = defaultdict(list)
    by_class: dict[str, list[tuple[str, Answer, Answer]]] = defaultdict(list)
    wrong = []
    with ProcessPoolExecutor(max_workers=2) as pool:
        for number, one in enumerate(pool.map(paired, jobs)):
            print(f"\r{number + 1} of {len(jobs)}", end="", file=sys.stderr, flush=True)
            if one is None:
                continue
            name = one.kind.name
            by_class[name].append((name, one.full, one.full))
            wrong += [one.text] if one.full.wrong or one.full.false_pass else []
            for other_name, other in one.without.items():
                results[other_name].append((f"{name} {one.seed}", one.full, other))
    columns = "trials | right | found | wrong names | false PASS | INCONCLUSIVE | node-seconds | measurements"
    print(f"\n| mechanism | {columns} | other answers | wrong without it |\n|{'---|' * 11}")
    for name in by_class if given.full else ():
        print(row(name, by_class[name]))
    print(row("full program", [one for many in by_class.values() for one in many]))
    for mechanism in MECHANISMS:
        if not given.only or mechanism.name in given.only:
            print(row(mechanism.name, results[mechanism.name]))
    print(*(wrong if given.full else ()), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
