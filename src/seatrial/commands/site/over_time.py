"""The pages of metrics over the runs, and of the newest check beside a baseline or the check before it."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec.structs import replace

from seatrial.archive import baselines
from seatrial.archive.layout import DamagedRun
from seatrial.archive.listing import CLOSED, RunRow
from seatrial.archive.run_sets import read_summary
from seatrial.commands.site.addresses import COMPARISON, HISTORY, OVER_TIME, PAGE, RUNS, file_stem, run_page
from seatrial.commands.site.generation import Generation
from seatrial.commands.site.pages import Readers, page_texts, source_hash, with_links
from seatrial.judgement.comparison.records import unlike_runs
from seatrial.model.errors import SeatrialError
from seatrial.model.run import RunKind
from seatrial.model.run_values import RunSummary
from seatrial.render.report import PageLink, Report, rows_table

MOST_RUNS = 60
"""Checks of a history, the newest, and at least as many runs: two months of a check every night. Each new run reads all
of them again."""
MOST_LOOKED_AT = 30
"""Checks among which two of the same nodes are looked for, the newest."""
MOST_TRIED = 3
"""Comparisons that are tried until one can be made."""
HEADS = ("metric", "verdict", "~what happened")


class MetricPage(msgspec.Struct, frozen=True, kw_only=True):
    """One metric that has a page: what `seatrial history` says of it."""

    metric: str
    page: str
    verdict: str
    sentence: str


class SiteHistoryFields(msgspec.Struct, frozen=True, kw_only=True):
    """Metrics over time, or why there is nothing to show; docs/site.md describes each field."""

    metrics: tuple[MetricPage, ...] = ()
    reason: str = ""


def render_over_time(
    archive: Path, made: Generation, runs: Mapping[str, RunRow], readers: Readers, at: datetime
) -> None:
    """The page of each metric, their list, and the comparison; all stay as they are while no closed run is new.

    `runs`: by the stem of their pages, the newest first.
    """
    closed = {stem: row for stem, row in runs.items() if row.state == CLOSED}
    source = source_hash([*((stem, made.source(f"{RUNS}/{stem}")) for stem in closed), *_baselines(archive)])
    if not _kept(made, source):
        _render_histories(archive, made, closed, readers, at, source)
    if not made.keep(COMPARISON, source):
        checks = [row for row in closed.values() if row.kind == RunKind.CHECK]
        report = _compared(archive, checks, readers)
        made.write(COMPARISON, source, *page_texts(COMPARISON, report, at))


def _kept(made: Generation, source: str) -> bool:
    """Whether all pages of metrics stay as they are."""
    return all(made.keep(name, source) for name in (OVER_TIME, *made.names_below(HISTORY)))


def _render_histories(
    archive: Path, made: Generation, closed: Mapping[str, RunRow], readers: Readers, at: datetime, source: str
) -> None:
    links = {row.run: run_page(row.run, stem) for stem, row in closed.items()}
    words = _words([*closed.values()])
    try:
        histories = readers.histories(archive, words)
    except SeatrialError as error:
        made.write(OVER_TIME, source, *page_texts(OVER_TIME, _nothing(error), at))
        return
    rows: list[MetricPage] = []
    for metric, report in histories:
        name = f"{HISTORY}/{file_stem(metric)}"
        made.write(name, source, *page_texts(name, with_links(replace(report, kind="history"), ("run",), links), at))
        rows.append(MetricPage(metric=metric, page=f"{name}{PAGE}", verdict=report.word, sentence=report.sentence))
    cells = tuple((PageLink(row.metric, row.page), row.verdict, row.sentence) for row in rows)
    report = Report(
        kind="site history",
        sentence="Metrics over time",
        payload=lambda: SiteHistoryFields(metrics=tuple(rows)),
        page=lambda: [rows_table(HEADS, cells, None)],
        about=(f"{words or 'all runs'}; of each metric those like the newest one of its most usual command",),
    )
    made.write(OVER_TIME, source, *page_texts(OVER_TIME, report, at))


def _words(closed: Sequence[RunRow]) -> str:
    """The runs of a history as `seatrial history --runs` takes them, as many checks as others; empty: all."""
    if len(closed) <= MOST_RUNS:
        return ""
    checks = [row for row in closed if row.kind == RunKind.CHECK]
    oldest = min(rows[:MOST_RUNS][-1].started for rows in (closed, checks) if rows)
    try:
        return f"{datetime.fromisoformat(oldest):%Y-%m-%dT%H:%M:%S}.."
    except ValueError:
        return ""


def _compared(archive: Path, checks: Sequence[RunRow], readers: Readers) -> Report:
    """The newest check compared with a baseline that has its nodes, else with the check before it that has them.

    A check that nothing can be compared with gives way to the one before it.
    """
    error = SeatrialError("There are no two checks to compare.", "Measure again, or set a baseline.")
    for after, before in list(_sets(archive, checks))[:MOST_TRIED]:
        try:
            report = readers.compared(archive, before, after)
        except SeatrialError as refused:
            error = refused
            continue
        return replace(report, kind="compare", about=(f"{after} compared with {before}",))
    return _nothing(error)


def _sets(archive: Path, checks: Sequence[RunRow]) -> Iterator[tuple[str, str]]:
    """Two runs, or a baseline and a run, of the same nodes and like conditions, the newest first: after and before."""
    summaries = [summary for row in checks[:MOST_LOOKED_AT] if (summary := _summary(Path(row.folder))) is not None]
    kept = [(name, runs) for name in _baselines(archive) if (runs := _runs_of(archive, name))]
    for place, after in enumerate(summaries):
        yield from ((after.run, name) for name, runs in kept if _alike(runs[-1], after))
        yield from ((after.run, before.run) for before in summaries[place + 1 :] if _alike(before, after))


def _alike(before: RunSummary, after: RunSummary) -> bool:
    return set(before.nodes) == set(after.nodes) and not unlike_runs([before], [after])


def _summary(folder: Path) -> RunSummary | None:
    try:
        return read_summary(folder)
    except SeatrialError:
        return None


def _runs_of(archive: Path, baseline: str) -> Sequence[RunSummary]:
    """The runs of the newest version of a baseline; none where it cannot be read."""
    try:
        return baselines.read_baseline(baselines.folder_of(archive, baseline)).runs
    except (SeatrialError, OSError):
        return ()


def _baselines(archive: Path) -> list[str]:
    try:
        return baselines.names(archive)
    except (DamagedRun, OSError):
        return []


def _nothing(error: SeatrialError) -> Report:
    return Report(
        kind="site history",
        sentence=error.what,
        remedy=error.remedy,
        payload=lambda: SiteHistoryFields(reason=error.what),
    )
