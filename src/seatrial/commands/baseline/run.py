"""Sets, lists, shows and drops baselines, and says which regressions a replacement would hide."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from seatrial.archive import baselines
from seatrial.archive.layout import DamagedRun
from seatrial.archive.reader import find_run
from seatrial.archive.run_sets import StoredSet, find_runs, load_tables
from seatrial.judgement.comparison.judge import RunSet, compare
from seatrial.judgement.comparison.records import CONDITIONS, Comparison
from seatrial.model.errors import UsageError


class Damaged(msgspec.Struct, frozen=True, kw_only=True):
    """A version that cannot be read, and why."""

    name: str
    version: int
    problem: str


class Replacement(msgspec.Struct, frozen=True, kw_only=True):
    """What a new version of a baseline would change."""

    name: str
    replaced: int
    """The version that would be replaced; 0: the baseline is new."""
    comparison: Comparison | None = None
    """The new runs compared with it; None where the baseline is new, or the two cannot be compared."""
    reason: str = ""
    """Why they cannot be compared."""


def find_set(archive: Path, words: tuple[str, ...]) -> StoredSet:
    """The runs that the command line names. Raises UsageError."""
    if not words:
        raise UsageError("No runs are named.", "Name runs, or dates: 2026-11-01..2026-11-10.")
    return find_runs(archive, ",".join(words))


def replacement(archive: Path, name: str, runs: StoredSet) -> Replacement:
    """What setting the baseline to these runs would change. Raises UsageError, DamagedRun of these runs."""
    baselines.check_name(name)
    _refuse_run_name(archive, name)
    kept = baselines.versions(archive, name)
    if not kept:
        return Replacement(name=name, replaced=0)
    try:
        earlier = find_runs(archive, name)
        comparison = compare(_set(earlier), _set(runs), load_tables([earlier, runs]), across=CONDITIONS)
    except (UsageError, DamagedRun) as error:  # no message size or node in common, or files of the baseline are lost
        return Replacement(name=name, replaced=kept[-1], reason=str(error))
    return Replacement(name=name, replaced=kept[-1], comparison=comparison)


def _refuse_run_name(archive: Path, name: str) -> None:
    """A name that is a run's, too, would change what commands compare with."""
    try:
        folder = find_run(archive, name)
    except UsageError:
        return
    raise UsageError(f"{name!r} is the name of a run, or the beginning of one: {folder.name}.", "Choose another name.")


def _set(stored: StoredSet) -> RunSet:
    return RunSet(name=stored.name, runs=stored.summaries)


def write(archive: Path, name: str, runs: StoredSet, replaced: int) -> baselines.Baseline:
    """Write the next version. Raises SeatrialError where somebody else has changed it meanwhile."""
    facts_run, facts = runs.newest_facts()
    values = runs.values(trials=True)
    return baselines.write_baseline(archive, name, runs.summaries, values, facts, facts_run, replaces=replaced)


def read_all(archive: Path) -> tuple[tuple[baselines.Baseline, ...], tuple[Damaged, ...]]:
    """The newest version of each baseline by name, and those that are damaged, which hide no other."""
    return _read(archive, [(name, None) for name in baselines.names(archive)])


def read_versions(archive: Path, name: str) -> tuple[tuple[baselines.Baseline, ...], tuple[Damaged, ...]]:
    """Readable versions of one baseline, the newest first, and damaged ones. Raises UsageError, DamagedRun."""
    baselines.folder_of(archive, name)
    readable, damaged = _read(archive, [(name, version) for version in reversed(baselines.versions(archive, name))])
    if not readable:
        raise DamagedRun(damaged[0].problem, f"seatrial baseline drop {name} deletes it.")
    return readable, damaged


def _read(
    archive: Path, wanted: Sequence[tuple[str, int | None]]
) -> tuple[tuple[baselines.Baseline, ...], tuple[Damaged, ...]]:
    read, damaged = [], []
    for name, version in wanted:
        try:
            read.append(baselines.read_baseline(baselines.folder_of(archive, name, version)))
        except DamagedRun as error:
            damaged.append(Damaged(name=name, version=version or _newest(archive, name), problem=error.what))
    return tuple(read), tuple(damaged)


def _newest(archive: Path, name: str) -> int:
    """The newest version; 0 where this user may not read the folder of the baseline."""
    try:
        return max(baselines.versions(archive, name), default=0)
    except DamagedRun:
        return 0
