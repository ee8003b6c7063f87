"""Carries out the trials of nodes: all of them a few times, then those out of line again beside good ones."""

import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from seatrial.archive.reader import group_measurements_of, read_entries, read_info
from seatrial.archive.working_folder import Use, WorkingFolder
from seatrial.drift.peer_groups import hardware_groups, one_kernel
from seatrial.driver.clock import monotonic_s
from seatrial.driver.measurer import Measurer
from seatrial.driver.run import Run
from seatrial.experiment.controls import RETEST_RUNS
from seatrial.judgement.nodes.trials import suspected_trials, suspects
from seatrial.launch.contract import StartManner
from seatrial.model.errors import LaunchError, ProbeLost, RoundRefused, UsageError
from seatrial.model.measurement import GroupRound, node_of
from seatrial.model.run import Design
from seatrial.model.settings import CheckSettings, Trial
from seatrial.model.words import count, some, unescaped
from seatrial.pairs.node_places import NodePlaces, places_of, ranks_needed
from seatrial.pairs.node_rounds import (
    FREE_PART,
    FULL,
    FULL_STORAGE,
    QUICK,
    QUICK_STORAGE,
    QUICK_TRIALS,
    SHORT,
    STORAGE_KERNELS,
    Extent,
    StorageExtent,
    bytes_at_once,
    fitting,
    least_bytes,
    rounds_of,
    storage_rounds,
)
from seatrial.statistics.estimates import FEWEST_ALIKE

MOST_PATH_BYTES = 400
IN_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs"})


def make_storage_folder(parent: Path) -> WorkingFolder:
    """A new folder in `parent`, in which storage is tried. Raises UsageError that says what is wrong."""
    check_name(parent)
    try:
        return WorkingFolder(parent, Use.STORAGE)
    except OSError as error:
        raise UsageError(
            f"Storage cannot be tried in {parent}: {error.strerror}.", "Give another folder: --storage DIR."
        ) from None


def check_name(folder: Path) -> None:
    """Refuse a path that the probe's protocol cannot carry. Raises UsageError that shows it."""
    text = str(folder)
    plain = text.isascii() and text.isprintable() and not set(text) & {'"', "\\"}
    if not plain or len(text) > MOST_PATH_BYTES:
        raise UsageError(
            f"Storage cannot be tried in {text!r}: the path must have at most {MOST_PATH_BYTES} ASCII characters, "
            "without quotes and backslashes.",
            "Give another folder: --storage DIR.",
        )


def free_bytes(folder: Path) -> int:
    """What this user may still write there. Raises UsageError where the file system does not say it."""
    try:
        return shutil.disk_usage(folder).free
    except OSError as error:
        raise UsageError(
            f"Storage cannot be tried in {folder}: {error.strerror}.", "Give another folder: --storage DIR."
        ) from None


def kind_of(folder: Path, mounts: str) -> str:
    """The kind of file system of a folder, from the text of /proc/self/mounts; empty where that does not say it."""
    best, kind = -1, ""
    for line in mounts.splitlines():
        words = line.split(" ")
        if len(words) < 3:
            continue
        point = Path(unescaped(words[1]))
        if folder.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), words[2]
    return kind


def in_memory(folder: Path) -> bool:
    """Whether what is written there stays in the memory of this machine."""
    with suppress(OSError):
        return kind_of(folder.resolve(), Path("/proc/self/mounts").read_text(errors="replace")) in IN_MEMORY
    return False


MB = 1e6


class StorageTrial:
    """Writes in a folder of its own, which is removed when the run ends, however it ends."""

    def __init__(self, frame: Run, parent: Path | None, *, whole: bool) -> None:
        """`parent`: the folder to try; None: the archive. `whole`: all scopes and sizes, else a quick look."""
        self._frame = frame
        self._parent = (parent or frame.settings.archive).absolute()
        self._wanted = FULL_STORAGE if whole else QUICK_STORAGE
        self._extent: StorageExtent | None = None
        self._folder = ""

    def prepare(self, nodes: Sequence[NodePlaces]) -> str:
        """Make the folder; a sentence on what will be written. Raises UsageError where nothing can be tried."""
        replayed = self._frame.settings.replay
        if replayed is not None:
            recorded = group_measurements_of(read_entries(replayed))
            tried = any(delivered.shape.kernel in STORAGE_KERNELS for delivered in recorded)
            self._extent = self._wanted if tried else None
            return ""
        check_name(self._parent)
        self._extent = self._fitting(nodes)
        if in_memory(self._parent):
            raise UsageError(
                f"{self._parent} is in the memory of this machine, not on storage.",
                "Give a folder of the shared file system: --storage DIR.",
            )
        folder = make_storage_folder(self._parent)
        self._frame.afterwards.append(lambda: _remove(self._frame, folder))
        self._folder = str(folder.path)
        at_once = bytes_at_once(nodes, self._extent) / MB
        left = " Files that a killed run had left there were removed." if folder.removed else ""
        return f"Storage is tried in {self._parent}, with at most {at_once:.0f} MB at one time.{left}"

    def rounds(self, nodes: Sequence[NodePlaces], repetitions: Iterable[int], *, total: bool) -> tuple[GroupRound, ...]:
        """The rounds of the trial; none if it was not prepared."""
        if self._extent is None:
            return ()
        return tuple(storage_rounds(nodes, repetitions, self._extent, self._folder, total=total))

    def _fitting(self, nodes: Sequence[NodePlaces]) -> StorageExtent:
        free = free_bytes(self._parent)
        extent = fitting(nodes, self._wanted, free)
        if extent is None:
            raise UsageError(
                f"{self._parent} has {free / MB:.0f} MB free. The smallest trial of storage has "
                f"{least_bytes(nodes) / MB:.0f} MB in files at one time, and uses at most a {FREE_PART}th of the free "
                "space.",
                "Give another folder: --storage DIR.",
            )
        return extent


def _remove(frame: Run, folder: WorkingFolder) -> None:
    if not folder.remove():
        frame.measurer.remarks.append(f"{folder.path} could not be removed: remove it.")


def prepared(frame: Run, trial: StorageTrial, nodes: Sequence[NodePlaces], *, required: bool) -> str:
    """The result of `prepare`; if storage is only a part of what is tried, a refusal is a remark."""
    try:
        return trial.prepare(nodes)
    except UsageError as error:
        if required:
            raise
        frame.measurer.remarks.append(f"Storage was not tried: {error.what}")
        return ""


MOST_NAMED = 4
"""Ranks of a group that a remark names."""


def measure_groups(measurer: Measurer, wanted: GroupRound, again: bool = False) -> None:
    """One round of groups of nodes that still answer; what is lost with a session is measured again.

    Where the probe is lost, silent nodes are dropped. The rest of the round is repeated in halves until the group that
    cannot be measured is alone and was lost twice (`again`); a remark names it. Raises SeatrialError where no session
    starts any more.
    """
    groups = _open(measurer, wanted.groups)
    if not groups:
        return
    first = len(measurer.group_measurements)
    try:
        measurer.attempt(msgspec.structs.replace(wanted, groups=groups))
        return
    except RoundRefused as error:
        measurer.remarks.append(error.what)
        return
    except ProbeLost as error:
        lost = error
    dropped = measurer.drop_silent("stopped answering in mid-run")
    done = {one.nodes for one in measurer.group_measurements[first:]}
    left = tuple(group for group in groups if group not in done)
    alone = len(groups) == len(left) == 1 and not dropped
    if alone and again:
        names = some(left[0], MOST_NAMED)
        measurer.remarks.append(f"{wanted.shape.kernel} was not measured on {names}: {lost.what}")
        return
    half = len(left) if dropped or len(left) == 1 else (len(left) + 1) // 2
    for part in (left[:half], left[half:]):
        if part:
            measure_groups(measurer, msgspec.structs.replace(wanted, groups=part), again=alone)


def _open(measurer: Measurer, groups: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    lost = measurer.lost.keys()
    return tuple(group for group in groups if not any(name in lost or node_of(name) in lost for name in group))


CONTROLS = 4
"""Nodes that are measured beside one that is out of line."""
MOST_SUSPECTS = 8


class NodeTrialRounds:
    """The trials of one run, on a session with a rank for each core."""

    def __init__(
        self,
        frame: Run,
        trials: Iterable[Trial],
        extent: Extent = FULL,
        extent_of_shared: Extent | None = None,
        storage: Path | None = None,
    ) -> None:
        """`extent_of_shared`: where nodes are measured one after the other; None: the same.

        `storage`: the folder in which storage is tried; None: the archive.
        """
        self.places: tuple[NodePlaces, ...] = ()
        self.shared = False
        """The nodes share a kernel and its cores, and are measured one after the other."""
        self._frame = frame
        self._trials = tuple(trials)
        self._extents = extent, extent_of_shared or extent
        self._storage = StorageTrial(frame, storage, whole=extent.whole)
        self.storage_said = ""
        """The folder in which storage is tried and how much is written; empty if it is not."""

    def start(self, nodes: Sequence[str]) -> None:
        """Start the probe on all cores; where nodes are places of this machine, these are the ranks."""
        frame = self._frame
        by_places = all(node_of(name) != name for name in nodes)
        ranks_per_node = 1 if by_places else ranks_needed(frame.facts)
        ranks = count(len(nodes) if by_places else ranks_per_node, "rank")
        frame.progress.stage(f"Starting the probe, {ranks} on each node")
        session = frame.measurer.begin(StartManner(ranks_per_node=ranks_per_node))
        self.places = places_of(session.nodes, session.ranks, frame.facts)
        kernels = {node_of(name): facts for name, facts in frame.facts.items()}
        self.shared = len(self.places) > 1 and one_kernel(kernels.values())
        if Trial.STORAGE in self._trials:
            self.storage_said = prepared(frame, self._storage, self.places, required=self._trials == (Trial.STORAGE,))

    def rounds(
        self, repetitions: Iterable[int], nodes: Iterable[str] | None = None, trials: Iterable[Trial] | None = None
    ) -> tuple[GroupRound, ...]:
        """The rounds of these repetitions, of all nodes or of some, of all trials or of some."""
        wanted = None if nodes is None else set(nodes)
        places = [one for one in self.places if wanted is None or one.node in wanted]
        chosen = self._trials if trials is None else tuple(trials)
        at_once, extent = not self.shared, self._extents[self.shared]
        rounds: list[GroupRound] = []
        for number in repetitions:
            rounds += rounds_of(chosen, places, [number], at_once=at_once, extent=extent)
            if Trial.STORAGE in chosen:
                rounds += self._storage.rounds(places, [number], total=wanted is None)
        return tuple(rounds)

    def design(
        self, name: str, statement: str, *, repetitions: int = 0, rounds: int = 0, pairs_at_once: int = 0
    ) -> Design:
        """What is going to be measured, after the start; `statement`: what follows the trials and the nodes."""
        how = "one node after the other" if self.shared else "all nodes at the same time"
        return Design(
            name=name,
            pairs_at_once=pairs_at_once,
            repetitions=repetitions,
            rounds=rounds,
            ordered_pairs=0,
            planned_pairs=0,
            statement=f"{', '.join(self._trials)} of {count(len(self.places), 'node')}, {how}, {statement}",
        )

    def carry_out(self, rounds: Sequence[GroupRound], deadline: float) -> int:
        """Measure the rounds in order until `deadline` (monotonic_s); how many were carried out."""
        frame = self._frame
        frame.progress.rounds(len(rounds))
        for done, wanted in enumerate(rounds):
            if monotonic_s() > deadline:
                frame.progress.advance(len(rounds) - done)
                return done
            measure_groups(frame.measurer, wanted)
            frame.progress.advance()
        return len(rounds)

    def retest(self, repetitions: int, deadline: float) -> bool:
        """Measure nodes that are out of line after `repetitions` again; False where `deadline` (monotonic_s) came."""
        frame = self._frame
        suspected = suspects(frame.measurer.group_measurements, frame.facts)[:MOST_SUSPECTS]
        if not suspected:
            return True
        nodes = (*suspected, *self._controls(suspected))
        frame.progress.stage(f"Measuring {some(suspected, MOST_SUSPECTS)} again beside other nodes")
        again = suspected_trials(frame.measurer.group_measurements, frame.facts)
        trials = [trial for trial in self._trials if trial in again]
        rounds = self.rounds(range(repetitions, repetitions + RETEST_RUNS), nodes, trials)
        return self.carry_out(rounds, deadline) == len(rounds)

    def _controls(self, suspected: Sequence[str]) -> tuple[str, ...]:
        """Other nodes of the suspects' groups."""
        facts = {node_of(name): known for name, known in self._frame.facts.items()}
        names = [one.node for one in self.places]
        groups = hardware_groups({name: facts[name] for name in names if name in facts}) or [tuple(names)]
        chosen: list[str] = []
        for group in groups:
            if set(group) & set(suspected):
                chosen += [name for name in group if name not in suspected][:CONTROLS]
        return tuple(chosen)


REPETITIONS, REPETITIONS_OF_SHARED = 3, 2
AT_ONCE_S = 15.0
"""Longest time for the trials of all nodes at once."""
ONE_NODE_S, LEAST_S = 2.5, 10.0
"""Time for each node if nodes share cores and are measured one after the other, and the least time for all."""


def try_nodes(frame: Run, settings: CheckSettings, deadline: float) -> None:
    """Quick trials of all nodes that still answer, until `deadline` (monotonic_s) at most.

    What could not be tried is a remark and makes the check neither incomplete nor wrong.
    """
    nodes = frame.measurer.nodes
    if not settings.node_trials or settings.answer_s is not None or _left_out(settings):
        return
    if len({node_of(name) for name in nodes}) < FEWEST_ALIKE:
        return  # none could be compared
    remarks = frame.measurer.remarks
    if monotonic_s() > deadline:
        remarks.append("The nodes themselves were not tried: the budget was spent.")
        return
    trials = NodeTrialRounds(frame, QUICK_TRIALS, QUICK, SHORT, settings.storage)
    try:
        trials.start(nodes)
    except LaunchError as error:
        remarks.append(f"The nodes themselves were not tried: {error.what}")
        return
    frame.progress.stage(
        f"Trying memory, arithmetic, noise, scheduler and storage of {count(len(trials.places), 'node')}"
    )
    repetitions = REPETITIONS_OF_SHARED if trials.shared else REPETITIONS
    rounds = trials.rounds(range(repetitions))
    longest_s = max(ONE_NODE_S * len(trials.places), LEAST_S) if trials.shared else AT_ONCE_S
    done = trials.carry_out(rounds, min(monotonic_s() + longest_s, deadline))
    if done < len(rounds):
        remarks.append(
            f"The trials of the nodes themselves were cut off after {done} of {count(len(rounds), 'round')}, to save "
            "time: `seatrial nodes` does all of them."
        )
    if not trials.retest(repetitions, deadline):  # a suspicion withholds PASS: what is left of the budget decides it
        remarks.append("Not all nodes out of line could be tried again: `seatrial nodes` has more time.")


def _left_out(settings: CheckSettings) -> bool:
    """Whether the recording that is replayed has no trials."""
    if settings.replay is None:
        return False
    recorded = read_info(settings.replay).settings
    return not (isinstance(recorded, CheckSettings) and recorded.node_trials)
