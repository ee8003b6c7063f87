"""Sets of runs as a command line names them (runs, dates, baselines), and what each run was and how it measured."""

import os
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from seatrial.archive import baselines, layout
from seatrial.archive.contents import shorter
from seatrial.archive.export import samples_or_problems
from seatrial.archive.journal import SessionStarted, ValuesImported, decode, of_type
from seatrial.archive.layout import DamagedRun, damage, opened_inside
from seatrial.archive.lease import Life, presumed
from seatrial.archive.reader import (
    LAST,
    RESTORE,
    find_run,
    has_run_file,
    is_ahead,
    parse_all,
    read_entries,
    read_facts_texts,
    read_info,
    run_folders,
)
from seatrial.archive.run_values import LEFT_OUT, ValuesFile, read_tables
from seatrial.files.inputs import JOURNAL_BYTES, journal_lines
from seatrial.judgement.comparison.records import unlike_runs
from seatrial.model.errors import NoRun, SeatrialError, UsageError
from seatrial.model.facts import NodeFacts
from seatrial.model.measurement import node_of
from seatrial.model.run import RunInfo, RunKind
from seatrial.model.run_values import MetricTable, RunSummary
from seatrial.model.settings import RunSettings
from seatrial.model.words import count, moment_of, verb

SESSION = b'"entry":"session"'
BEFORE_BYTES = 32 << 20
"""More than a journal has before the first start of the probe: the plan of the pairs."""
RANGE = ".."


def read_summary(folder: Path) -> RunSummary:
    """The summary of a closed run. Raises SeatrialError for an open run, DamagedRun for one that cannot be read."""
    if layout.is_open(folder):
        raise SeatrialError(f"{folder} is still growing or was cut off.", "seatrial runs recover closes it.")
    info = read_info(folder)
    if info.kind is RunKind.IMPORT:
        return summary_of(info, conditions=_conditions(folder))
    return summary_of(info, _ranks_per_node(folder))


def _conditions(folder: Path) -> str:
    """What files of other programs say of how a run was measured: `nodes 2, ranks 64`."""
    sources = [entry.source for entry in of_type(read_entries(folder), ValuesImported)]
    return ", ".join(sorted({f"{name} {value}" for source in sources for name, value in source.conditions.items()}))


def summary_of(info: RunInfo, ranks_per_node: float | None = None, conditions: str = "") -> RunSummary:
    """The summary of a run, from its description alone. `conditions`: those that imported files state."""
    site = info.settings.site if info.settings else None
    return RunSummary(
        run=info.run,
        kind=info.kind.value,
        started=info.started,
        ended=info.ended,
        nodes=info.nodes,
        leaf_of=dict(info.fabric.leaf_of),
        seatrial=info.seatrial,
        cluster=info.cluster,
        controllers=info.controllers,
        launcher=info.launcher,
        mpi_library=info.mpi_library,
        mpi=site.mpi if site else "",
        started_by=info.started_by,
        mpirun_options=site.mpirun_options if site else (),
        environment=info.environment,
        wrap=info.wrap,
        ranks_per_node=ranks_per_node,
        seconds=info.seconds,
        benchmark=conditions or _benchmark(info),
    )


def _benchmark(info: RunInfo) -> str:
    """`hpl --set order=40000, 64 ranks on 2 nodes`, or a check's program; empty for what is not a benchmark."""
    settings = info.settings
    if info.program is not None:
        return shlex.join(info.program.words)
    if not isinstance(settings, RunSettings):
        return ""
    words = [Path(settings.benchmark).stem, *(f"--set {name}={value}" for name, value in settings.parameters.items())]
    if settings.case is not None:
        words.append(f"--case {settings.case}")
    if settings.prepare:
        words.append(f"--prepare {shlex.quote(shlex.join(settings.prepare))}")
    ranks = f"{count(settings.ranks, 'rank')} on " if settings.ranks else ""
    return f"{' '.join(words)}, {ranks}{count(len({node_of(name) for name in info.nodes}), 'node')}"


def _ranks_per_node(folder: Path) -> float | None:
    """The number at the first start of the probe; the journal is read up to it, which is near its beginning."""
    try:
        with opened_inside(folder, folder / layout.JOURNAL_FILE, JOURNAL_BYTES) as journal, damage():
            for line in journal_lines(journal, folder / layout.JOURNAL_FILE):
                if journal.tell() > BEFORE_BYTES:
                    return None
                if SESSION in line:
                    for entry in decode([line]):
                        if isinstance(entry, SessionStarted) and entry.nodes:
                            hosts = {str(rank.get("host", "")) for rank in entry.ranks} or set(entry.nodes)
                            return max(len(entry.ranks), len(entry.nodes)) / len(hosts)
    except (DamagedRun, OSError, msgspec.DecodeError):
        return None
    return None


def runs_between(archive: Path, words: str, note: Callable[[str], None]) -> Iterator[Path]:
    """Closed runs that began within `2026-11-01..2026-11-10`, both days included, oldest first.

    Either end may be empty, or have a time: `2026-11-01T12:00..`. `note` gets a sentence on each run that was cut off,
    and on each whose description cannot be read, but for private ones of others. Raises UsageError.
    """
    first, _, last = words.partition(RANGE)
    try:
        since = moment_of(first) if first else None
        until = moment_of(f"{last}T23:59:59.999999" if len(last) == len("2026-11-01") else last) if last else None
    except ValueError:
        raise UsageError(
            f"{words!r} is not a valid range of dates.", "Write 2026-11-01..2026-11-10, or 2026-11-01.. ."
        ) from None
    for folder in run_folders(archive):
        try:
            began = moment_of(read_info(folder).started)
        except (DamagedRun, ValueError) as error:
            if os.access(folder, os.R_OK | os.X_OK):
                note(LEFT_OUT.format(folder.name, error.what if isinstance(error, DamagedRun) else f"{error}."))
            continue
        if (since is not None and began < since) or (until is not None and began > until):
            continue
        if not layout.is_open(folder):
            yield folder
        elif presumed(folder).life is Life.CUT_OFF:
            note(LEFT_OUT.format(layout.run_of(folder), "It was cut off; `seatrial runs recover` closes it."))


PRINTED = (RunKind.IMPORT, RunKind.RUN)
"""Kinds of runs whose values are numbers that programs printed, and not samples."""
MOST_NOTES = 5
"""Notes on runs that are left out: whoever may write to an archive can put thousands of bad ones there."""


class StoredRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a set, and where its values and facts are."""

    summary: RunSummary
    folder: Path
    """The folder of the run, or of the version of a baseline."""
    in_baseline: bool = False
    by_date: bool = False
    """Nobody named the run: it is one of a range of dates, which anybody may have put into the archive."""

    def facts_texts(self) -> dict[str, str]:
        """Raw facts by node; empty where there are none, a baseline keeps those of another run, or those of a run of a
        range of dates cannot be read.
        """
        if not self.in_baseline:
            try:
                return read_facts_texts(self.folder, layout.BEFORE)
            except DamagedRun:
                if self.by_date:
                    return {}
                raise
        kept = baselines.read_baseline(self.folder).facts_run == self.summary.run
        return baselines.read_facts(self.folder) if kept else {}


class StoredSet(msgspec.Struct, frozen=True, kw_only=True):
    """Runs under the words that named them, oldest first."""

    name: str
    runs: tuple[StoredRun, ...]
    left_out: tuple[str, ...] = ()
    """A sentence on each run of a range of dates that is damaged."""
    label: str = ""
    """The name of the set in texts; empty: `name`."""

    def values(self, *, trials: bool = False) -> list[ValuesFile]:
        """The file of values of each run. `trials`: also those of the trials of nodes at the end of a check, which
        `seatrial nodes` has anyway. Raises NoDuckdb.
        """
        sampled = [run.folder for run in self.runs if not run.in_baseline and run.summary.kind not in PRINTED]
        samples = samples_or_problems(sampled)
        return [_values(run, samples, trials=trials) for run in self.runs]

    @property
    def summaries(self) -> tuple[RunSummary, ...]:
        """What the runs were."""
        return tuple(run.summary for run in self.runs)

    def newest_facts(self) -> tuple[str, dict[str, str]]:
        """Name and raw facts of the newest run that has any; empty where none has."""
        for run in reversed(self.runs):
            if texts := run.facts_texts():
                return run.summary.run, texts
        return "", {}

    def parsed_facts(self) -> dict[str, NodeFacts]:
        """The parsed facts of the newest run that has any; empty if none has."""
        return parse_all(self.newest_facts()[1])


def _values(run: StoredRun, samples: Mapping[Path, Path | SeatrialError], *, trials: bool) -> ValuesFile:
    wanted = run.summary.kind in (RunKind.NODES, RunKind.SOAK) or (trials and run.summary.kind == RunKind.CHECK)
    trials_of = run.folder if wanted else None
    if run.in_baseline:
        path = run.folder / baselines.VALUES_FILE
        return ValuesFile(path=path, run=run.summary.run, in_baseline=True, trials_of=trials_of)
    if run.summary.kind in PRINTED:
        return ValuesFile(path=run.folder, run=run.summary.run, printed=True, by_date=run.by_date)
    return ValuesFile(path=samples[run.folder], run=run.summary.run, trials_of=trials_of, by_date=run.by_date)


def find_runs(archive: Path, words: str) -> StoredSet:
    """`NAME` of a baseline, `RUN`, `RUN,RUN,...`, or `2026-11-01..2026-11-10`. Raises UsageError, DamagedRun."""
    chosen: dict[str, StoredRun] = {}
    left_out: list[str] = []
    for word in words.split(","):
        for run in _runs_of(archive, word.strip(), left_out.append):
            chosen.setdefault(run.summary.run, run)
    ordered = sorted(chosen.values(), key=lambda run: (run.summary.started, run.summary.run))
    return StoredSet(name=words, runs=tuple(ordered), left_out=tuple(dict.fromkeys(left_out)))


def _runs_of(archive: Path, word: str, note: Callable[[str], None]) -> list[StoredRun]:
    """`note` gets a sentence on each run of a range of dates that is left out."""
    if not word:
        raise UsageError("A run without a name.", "Write RUN,RUN without empty places.")
    if (folder := _baseline(archive, word)) is not None:
        runs = baselines.read_baseline(folder).runs
        return [StoredRun(summary=run, folder=folder, in_baseline=True) for run in runs]
    if RANGE in word and "/" not in word:
        readable = [run for folder in runs_between(archive, word, note) if (run := _readable(folder, note)) is not None]
        if not readable and word == RANGE:
            raise UsageError(f"{archive} has no closed run.", "Measure first, or name another folder with --archive.")
        if not readable:
            raise UsageError(f"No closed run of {archive} began in {word}.", "seatrial runs list shows all.")
        return readable
    return [_stored(find_run(archive, word))]


def _baseline(archive: Path, word: str) -> Path | None:
    """The version of a baseline that a word names; None for a run.

    Raises UsageError where it names both, which `baseline set` refuses: others may have put one of them there.
    """
    name, at, version = word.partition("@")
    if word == LAST or (at and not baselines.NUMBER.fullmatch(version)):
        return None
    try:
        numbers = baselines.versions(archive, name)
    except DamagedRun:
        if _is_run(archive, word):
            return None
        raise
    if numbers and not at and has_run_file(archive / name):
        raise UsageError(
            f"{archive} has both a run and a baseline {name!r}.",
            f"Write {archive / name} for the run, {name}@{numbers[-1]} for the baseline.",
        )
    return baselines.folder_of(archive, name, int(version) if at else None) if numbers else None


def _is_run(archive: Path, word: str) -> bool:
    try:
        find_run(archive, word)
    except NoRun:
        return False
    return True


def _stored(folder: Path) -> StoredRun:
    """A run of the archive. Its samples name the journal that they were made from, so the journal need not be read."""
    if shorter(folder, read_info(folder)):
        raise DamagedRun(f"The journal of the run in {folder} has another length than when it was closed.", RESTORE)
    return StoredRun(summary=read_summary(folder), folder=folder)


def _readable(folder: Path, note: Callable[[str], None]) -> StoredRun | None:
    """A run of a range of dates; None where it is damaged, of which `note` gets a sentence.

    Of a clock that was ahead nothing says when the run began; it would be the newest one for ever.
    """
    try:
        stored = msgspec.structs.replace(_stored(folder), by_date=True)
        if is_ahead(stored.summary.started):
            raise DamagedRun(f"The clock was ahead when it began: {stored.summary.started}.")
        return stored
    except DamagedRun as error:
        note(LEFT_OUT.format(folder.name, error.what))
        return None


def like_usual(runs: Sequence[StoredRun], permitted: Collection[str] = ()) -> list[StoredRun]:
    """The runs, oldest first, that are like the newest one of the command of most of them.

    So a run of another command hides none, and after a change of conditions the newer ones count. `permitted`:
    conditions in which they may differ.
    """
    ((usual, _),) = Counter(run.summary.kind for run in reversed(runs)).most_common(1)
    newest = next(run for run in reversed(runs) if run.summary.kind == usual)
    return [run for run in runs if is_like(run, newest, permitted)]


def is_like(run: StoredRun, other: StoredRun, permitted: Collection[str] = ()) -> bool:
    """Whether both measured under the same conditions, but for those that are permitted."""
    return all(each.condition in permitted for each in unlike_runs([run.summary], [other.summary]))


def without(chosen: StoredSet, others: StoredSet) -> StoredSet:
    """The set without the runs that the other has, too. Raises UsageError where nothing is left."""
    shared = {run.summary.run for run in others.runs}
    left = tuple(run for run in chosen.runs if run.summary.run not in shared)
    if not left:
        raise UsageError(f"{chosen.name} has no run that {others.name} does not have.", "Name other runs.")
    return msgspec.structs.replace(chosen, runs=left)


def load_tables(
    sets: Sequence[StoredSet], *, trials: bool = False, note: Callable[[str], None] | None = None
) -> tuple[MetricTable, ...]:
    """All metrics of all runs, in the order of the sets. `trials`: as `StoredSet.values` takes it; `note`: as
    `read_tables` does.

    Raises DamagedRun, TooLittleMemory, SeatrialError.
    """
    files = [file for chosen in sets for file in chosen.values(trials=trials)]
    if not files:
        raise SeatrialError("There are no runs to read.")
    if note is None:
        return read_tables(files)
    left_out = [sentence for chosen in sets for sentence in chosen.left_out]
    tables = read_tables(files, left_out.append)
    sentences = list(dict.fromkeys(left_out))
    for sentence in sentences[:MOST_NOTES]:
        note(sentence)
    if (more := len(sentences) - MOST_NOTES) > 0:
        note(f"{count(more, 'more run')} {verb(more)} left out: seatrial runs list shows what is wrong with them.")
    return tables
