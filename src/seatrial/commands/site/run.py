"""Renders an archive as a site: a page for each run, each node and the whole, each with its fields as JSON beside it.

What other commands make of a run comes from `Readers`, since no command imports another.
"""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from msgspec.structs import replace

from seatrial.archive import layout, listing
from seatrial.archive.listing import RunRow
from seatrial.commands.site import lists
from seatrial.commands.site.addresses import (
    INDEX,
    PAIRS,
    RUN_LIST,
    RUNS,
    UP,
    file_stem,
    node_page,
    pair_section,
    run_page,
    ways,
)
from seatrial.commands.site.generation import Generation
from seatrial.commands.site.node_pages import nodes_of, render_nodes
from seatrial.commands.site.over_time import render_over_time
from seatrial.commands.site.pages import Readers, page_text, page_texts, source_hash, twin_text, with_links
from seatrial.commands.site.past import changed_verdicts
from seatrial.commands.site.run_pairs import pairs_of_twin, pairs_report, run_pairs
from seatrial.commands.site.view import SiteFields
from seatrial.files.owners import is_own_or_roots
from seatrial.judgement.standings import looks_of
from seatrial.model.errors import SeatrialError
from seatrial.model.run import RunKind
from seatrial.model.subject import SubjectKind
from seatrial.model.words import count, utc_text
from seatrial.render.envelope import error_envelope, failure_of
from seatrial.render.html import as_html
from seatrial.render.json import json_text
from seatrial.render.report import PageLink, Report
from seatrial.render.standing import standings_of

LINKED_HEADS = ("node", "source", "target", "pair")
"""Heads of columns that name nodes and pairs."""
MOST_NAMED = 8
"""Nodes at fault to which the page of a run has links at its top."""


def render_site(archive: Path, made: Generation, readers: Readers, at: datetime) -> SiteFields:
    """Render what changed since the present site, and keep all else. Raises OSError, SeatrialError."""
    folders, left_out = _runs(archive)
    for stem, row in folders.items():
        _render_run(made, Path(row.folder), stem, row, readers, at)
    rows = readers.judged_rows([*folders.values()])
    runs = dict(zip(folders, rows, strict=True))
    nodes = nodes_of(readers.judged_runs(archive))
    number = render_nodes(made, nodes, runs, readers, at)
    render_over_time(archive, made, runs, readers, at)
    listed = lists.Listed(
        nodes=nodes.standings,
        leaf_of=nodes.leaf_of,
        changes=changed_verdicts(nodes.runs),
        runs=runs,
        left_out=left_out,
        at=at,
        ago=readers.ago,
    )
    about = (str(archive), f"as of {utc_text(at)}")
    index = readers.status(nodes.standings, len(nodes.runs), nodes.unread, at)
    index = replace(index, kind="status", page=lambda: lists.index_blocks(listed), about=about)
    made.write(INDEX, utc_text(at), *page_texts(INDEX, index, at))
    run_list = replace(
        readers.run_list(rows),
        kind="runs list",
        sentence=count(len(rows), "run"),
        page=lambda: lists.run_list_blocks(listed),
        about=about,
    )
    made.write(RUN_LIST, utc_text(at), *page_texts(RUN_LIST, run_list, at))
    made.finish()
    return SiteFields(
        folder=made.place,
        runs=len(runs),
        nodes=number,
        rendered=made.written,
        kept=made.kept,
        removed=made.removed,
        unread=nodes.unread,
        left_out=tuple(left_out),
    )


def _runs(archive: Path) -> tuple[dict[str, RunRow], list[str]]:
    """Runs by the stem of their page, the newest first, and a sentence on each that gets none: anybody may put what he
    likes into a shared archive.
    """
    chosen: dict[str, RunRow] = {}
    left_out = []
    rows = listing.list_archive(archive)
    closed = {file_stem(Path(row.folder).name) for row in rows if not layout.is_open(Path(row.folder))}
    for row in rows:
        folder = Path(row.folder)
        if folder.is_symlink():
            left_out.append(f"{folder.name} is a link, which is not followed.")
        elif not is_own_or_roots(folder):
            left_out.append(f"{folder.name} belongs to another user; `seatrial report` shows it.")
        else:
            stem = file_stem(layout.run_of(folder))  # the address that it keeps when it is closed
            taken = layout.is_open(folder) and (stem in closed or stem in chosen)
            chosen[file_stem(folder.name) if taken else stem] = row
    return chosen, left_out


def _render_run(made: Generation, folder: Path, stem: str, row: RunRow, readers: Readers, at: datetime) -> None:
    """The page of a run, unless it is there already: what its report says, or why there is none."""
    name, pairs_name, source = f"{RUNS}/{stem}", f"{PAIRS}/{stem}", _source_of(folder, row)
    if made.keep(name, source):
        made.keep(pairs_name, source)
        return
    of_pairs = None
    try:
        report = readers.report_of(folder)
        nodes = _judged_nodes(report, folder)
        twin = twin_text(report, at)
        fields = run_pairs(folder, row.run, pairs_of_twin(twin.encode(), stem)) if row.kind == RunKind.CHECK else None
        links = {}
        if fields is not None and fields.pairs:
            of_pairs = page_texts(pairs_name, pairs_report(fields), at, [run_page(row.run, stem)])
            links = {(link := pair_section(pair.source, pair.target, stem)).text: link for pair in fields.pairs}
        linked = with_links(report, LINKED_HEADS, nodes | links)
        texts = page_text(name, linked, _named(report, nodes)), twin
    except SeatrialError as error:
        texts = _unread(name, row, error, at)
    except Exception as error:  # whatever a run holds, the others have their pages
        what = f"The run cannot be shown ({type(error).__name__}: {error})."
        texts = _unread(name, row, SeatrialError(what, "This is a bug of seatrial; please report it."), at)
        of_pairs = None
    made.write(name, source, *texts)
    if of_pairs is not None:
        made.write(pairs_name, source, *of_pairs)


def _unread(name: str, row: RunRow, error: SeatrialError, at: datetime) -> tuple[str, str]:
    """The page of a run that cannot be shown, and the object that `seatrial report --json` prints of it."""
    about = tuple(text for text in (row.run, row.started, row.state) if text)
    report = Report(sentence=error.what, remedy=error.remedy, payload=lambda: row, about=about)
    page = as_html(report, ways(UP, name.rpartition("/")[2]))
    return page, json_text(error_envelope(failure_of(error), time=utc_text(at)))


def _judged_nodes(report: Report, folder: Path) -> dict[str, PageLink]:
    """A link to each node that the run judges. Only a closed run that measured nodes gives each of them a page."""
    if report.run is None or layout.is_open(folder) or not looks_of(report.run):
        return {}
    names = (standing.node for standing in standings_of(report))
    return {name: node_page(name) for name in names if ":" not in name}


def _named(report: Report, nodes: Mapping[str, PageLink]) -> list[PageLink]:
    """Links to the first nodes that the run finds at fault."""
    subjects = (finding.subject for finding in report.findings if finding.at_fault)
    names = dict.fromkeys(subject.name for subject in subjects if subject.kind is SubjectKind.NODE)
    return [nodes[name] for name in names if name in nodes][:MOST_NAMED]


def _source_of(folder: Path, row: RunRow) -> str:
    """What changes when a run does: its state, and size and time of its description and its journal."""
    parts: list[object] = [row.state, row.problem]
    for name in (layout.RUN_FILE, layout.JOURNAL_FILE):
        try:
            status = (folder / name).lstat()
        except OSError:
            continue
        parts += [name, status.st_ino, status.st_size, status.st_mtime_ns]
    return source_hash(parts)
