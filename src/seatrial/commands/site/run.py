"""Renders an archive as a site: a page for each run, each node and the whole, each with its fields as JSON beside it.

What other commands make of a run comes from `Readers`, since no command imports another.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec.structs import replace

from seatrial.archive import layout, listing, reader
from seatrial.archive.layout import DamagedRun
from seatrial.archive.listing import RunRow
from seatrial.commands.site import lists, node_view
from seatrial.commands.site.addresses import (
    INDEX,
    NODES,
    PAIRS,
    RUN_LIST,
    RUNS,
    TWIN,
    UP,
    file_stem,
    node_page,
    pair_section,
    run_page,
    ways,
)
from seatrial.commands.site.generation import Generation
from seatrial.commands.site.node_view import (
    MOST_DRAWN,
    MOST_PAIRS,
    Pair,
    PairSamples,
    SiteNodeFields,
    SitePair,
    samples_of,
)
from seatrial.commands.site.over_time import render_over_time
from seatrial.commands.site.pages import Readers, page_text, page_texts, source_hash, twin_text, with_links
from seatrial.commands.site.past import Look, changed_verdicts, looks_of_nodes
from seatrial.commands.site.run_pairs import pairs_of_twin, pairs_report, run_pairs
from seatrial.commands.site.view import SiteFields
from seatrial.drift.changes import changes
from seatrial.files.inputs import BadInput
from seatrial.files.owners import is_own_or_roots
from seatrial.judgement.qualification import confirmed
from seatrial.judgement.standings import Judged, looks_of, standings_after
from seatrial.model.errors import SeatrialError
from seatrial.model.facts import NodeFacts
from seatrial.model.monitoring import NodeStanding
from seatrial.model.run import RunInfo, RunKind
from seatrial.model.subject import SubjectKind
from seatrial.model.verdict import GOOD
from seatrial.model.words import count, utc_text
from seatrial.render.envelope import error_envelope, failure_of
from seatrial.render.finding_text import standings_of
from seatrial.render.html import as_html
from seatrial.render.json import json_text
from seatrial.render.report import PageLink, Report

TWIN_BYTES = 128 << 20
"""The JSON of a run that is read for the pairs of nodes: 200,000 pairs have about that."""


class Nodes(msgspec.Struct, frozen=True, kw_only=True):
    """All nodes after the runs of the archive. `unread`: runs that cannot be read."""

    standings: Mapping[str, NodeStanding]
    looks: Mapping[str, tuple[Look, ...]]
    leaf_of: Mapping[str, str]
    runs: Sequence[Judged]
    unread: int


class _Newest(msgspec.Struct, frozen=True, kw_only=True):
    """Names of the runs from which the page of a node is made: with its pairs, with its facts, and the one before."""

    pairs: str
    facts: str
    before: str


def nodes_of(read: Iterable[tuple[RunInfo, Judged] | None]) -> Nodes:
    """The standing of each node after all runs, and what the newest of them said of it."""
    judged: list[Judged] = []
    leaf_of: dict[str, str] = {}
    unread = 0
    for run in read:
        if run is None:
            unread += 1
            continue
        for node, leaf in run[0].fabric.leaf_of.items():
            leaf_of.setdefault(node, leaf)
        judged.append(run[1])
    counted = confirmed(reversed(judged))
    return Nodes(
        standings=standings_after(counted), looks=looks_of_nodes(counted), leaf_of=leaf_of, runs=counted, unread=unread
    )


def render_nodes(made: Generation, nodes: Nodes, runs: Mapping[str, RunRow], readers: Readers, at: datetime) -> int:
    """Render the pages of nodes of which a run says something new, and keep the others; how many nodes there are.

    `runs`: by the stem of their pages. Nodes with the same newest runs are rendered together: each run is read once.
    """
    pages = lists.stems(runs)
    of_nodes = {name: standing for name, standing in nodes.standings.items() if standing.is_node}
    together: dict[_Newest, dict[str, str]] = {}
    for name, standing in of_nodes.items():
        looks = nodes.looks.get(name, ())
        with_pages = [look.run for look in looks if look.run in pages]
        newest = _Newest(
            pairs=next((run for run in with_pages if runs[pages[run]].kind == RunKind.CHECK), ""),
            facts=looks[0].run if looks else "",
            before=looks[1].run if len(looks) > 1 else "",
        )
        of_runs = [made.source(f"{RUNS}/{pages.get(run, '')}") for run in (newest.pairs, newest.facts, newest.before)]
        source = source_hash((standing, looks, nodes.leaf_of.get(name, ""), of_runs, with_pages))
        if not made.keep(f"{NODES}/{file_stem(name)}", source):
            together.setdefault(newest, {})[name] = source
    for newest, sources in together.items():
        for fields in _fields_of(made, nodes, newest, [*sources], pages, runs):
            name = fields.node.node
            blocks = [*readers.facts({name: fields.facts}).page()] if fields.facts else []
            blocks[:1] = [replace(block, title=f"Facts in {fields.facts_run}") for block in blocks[:1]]
            report = node_view.node_report(fields, pages, of_nodes, blocks)
            page = f"{NODES}/{file_stem(name)}"
            made.write(page, sources[name], *page_texts(page, report, at))
    return len(of_nodes)


def _fields_of(
    made: Generation,
    nodes: Nodes,
    newest: _Newest,
    names: Sequence[str],
    pages: Mapping[str, str],
    runs: Mapping[str, RunRow],
) -> Iterator[SiteNodeFields]:
    """What the pages of nodes with the same newest runs hold."""
    facts = _facts(runs, pages.get(newest.facts, ""), names)
    before = _facts(runs, pages.get(newest.before, ""), names)
    pairs = _pairs(made, pages.get(newest.pairs, ""), names)
    samples = _samples(runs, pages.get(newest.pairs, ""), pairs)
    for name in names:
        both = name in facts and name in before
        yield SiteNodeFields(
            node=nodes.standings[name],
            leaf=nodes.leaf_of.get(name, ""),
            looks=nodes.looks.get(name, ()),
            pairs_run=newest.pairs,
            pairs=tuple(pairs.get(name, ())[:MOST_PAIRS]),
            samples=tuple(samples[pair.source, pair.target] for pair in _drawn(pairs.get(name, ()), samples)),
            facts_run=newest.facts if name in facts else "",
            facts=facts.get(name),
            facts_since=newest.before if both else "",
            changed_facts=changes({name: before[name]}, {name: facts[name]}) if both else (),
        )


def _facts(runs: Mapping[str, RunRow], stem: str, wanted: Iterable[str]) -> dict[str, NodeFacts]:
    """Facts of these nodes before a run; none where they cannot be read."""
    if stem not in runs:
        return {}
    try:
        texts = reader.read_facts_texts(Path(runs[stem].folder), layout.BEFORE)
    except DamagedRun:
        return {}
    return reader.parse_all({node: texts[node] for node in wanted if node in texts})


def _pairs(made: Generation, stem: str, wanted: Iterable[str]) -> dict[str, list[SitePair]]:
    """The pairs of these nodes, from the JSON beside the page of a run; none where it has none."""
    if not stem:
        return {}
    try:
        pairs = pairs_of_twin(made.read(f"{RUNS}/{stem}{TWIN}", TWIN_BYTES), stem)
    except (BadInput, OSError):
        return {}
    of_node: dict[str, list[SitePair]] = {name: [] for name in wanted}
    for pair in pairs:
        for name in (pair.source, pair.target):
            if name in of_node:
                of_node[name].append(pair)
    return {name: sorted(of_name, key=lambda pair: -pair.verdict.gravity) for name, of_name in of_node.items()}


def _drawn(pairs: Sequence[SitePair], samples: Mapping[Pair, PairSamples]) -> list[SitePair]:
    """The gravest pairs of a node that are not good and have samples."""
    suspected = [pair for pair in pairs if pair.verdict not in GOOD and (pair.source, pair.target) in samples]
    return suspected[:MOST_DRAWN]


def _samples(runs: Mapping[str, RunRow], stem: str, pairs: Mapping[str, Sequence[SitePair]]) -> dict[Pair, PairSamples]:
    """Samples of the pairs of these nodes that are not good; the journal is read only where there are such pairs."""
    wanted = {
        (pair.source, pair.target)
        for of_node in pairs.values()
        for pair in of_node[:MOST_DRAWN]
        if pair.verdict not in GOOD
    }
    if not wanted:
        return {}
    try:
        return samples_of(reader.measurements_of(reader.read_entries(Path(runs[stem].folder))), wanted)
    except SeatrialError:
        return {}


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
