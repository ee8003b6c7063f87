"""Renders an archive as a site: a page for each run, each node and the whole, each with its fields as JSON beside it.

What other commands make of a run comes from `Readers`, since no command imports another.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec.structs import replace

from seatrial.archive import layout, listing, reader
from seatrial.archive.listing import RunRow
from seatrial.archive.run_files import DamagedRun
from seatrial.commands.site import lists, node_view
from seatrial.commands.site.addresses import INDEX, NODES, RUN_LIST, RUNS, TWIN, UP, file_stem, node_page, ways
from seatrial.commands.site.generation import Generation
from seatrial.commands.site.node_view import MOST_PAIRS, SiteNodeFields, SitePair
from seatrial.commands.site.over_time import render_over_time
from seatrial.commands.site.pages import Readers, page_texts, source_hash, time_text
from seatrial.commands.site.pair_samples import MOST_PAIRS as MOST_DRAWN
from seatrial.commands.site.pair_samples import Pair, PairSamples, samples_of
from seatrial.commands.site.past import Look, changed_verdicts, looks_of_nodes
from seatrial.commands.site.view import SiteFields
from seatrial.files.inputs import BadInput, decoded
from seatrial.files.owners import is_own_or_roots
from seatrial.judgement.qualification import confirmed
from seatrial.judgement.standings import Judged, looks_of, standings_after
from seatrial.model.errors import SeatrialError
from seatrial.model.facts import NodeFacts
from seatrial.model.monitoring import NodeStanding
from seatrial.model.run import RunInfo, RunKind
from seatrial.model.subject import SubjectKind
from seatrial.model.verdict import GOOD
from seatrial.model.words import count
from seatrial.render.envelope import error_envelope, failure_of
from seatrial.render.html import as_html
from seatrial.render.json import json_text
from seatrial.render.report import PageLink, Report

TWIN_BYTES = 128 << 20
"""The JSON of a run that is read for the pairs of nodes: 200,000 pairs have about that."""
MOST_NAMED = 8
"""Nodes at fault to which the page of a run has links at its top."""


class _TwinPairs(msgspec.Struct, frozen=True):
    pairs: tuple[SitePair, ...] = ()


class _Twin(msgspec.Struct, frozen=True):
    data: _TwinPairs | None


class Nodes(msgspec.Struct, frozen=True, kw_only=True):
    """All nodes after the runs of the archive. `unread`: runs that cannot be read."""

    standings: Mapping[str, NodeStanding]
    looks: Mapping[str, tuple[Look, ...]]
    leaf_of: Mapping[str, str]
    runs: Sequence[Judged]
    unread: int


def render_site(archive: Path, made: Generation, readers: Readers, at: datetime) -> SiteFields:
    """Render what changed since the present site, and keep all else. Raises OSError, SeatrialError."""
    folders, left_out = _runs(archive)
    for stem, row in folders.items():
        _render_run(made, Path(row.folder), stem, row, readers, at)
    rows = readers.judged_rows([*folders.values()])
    runs = dict(zip(folders, rows, strict=True))
    nodes = _nodes(readers.judged_runs(archive))
    of_nodes = {name: standing for name, standing in nodes.standings.items() if standing.is_node}
    _render_nodes(made, nodes, of_nodes, runs, readers, at)
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
    about = (str(archive), f"as of {time_text(at)}")
    index = readers.status(nodes.standings, len(nodes.runs), nodes.unread, at)
    index = replace(index, kind="status", page=lambda: lists.index_blocks(listed), about=about)
    made.write(INDEX, time_text(at), *page_texts(INDEX, index, at))
    run_list = replace(
        readers.run_list(rows),
        kind="runs list",
        sentence=count(len(rows), "run"),
        page=lambda: lists.run_list_blocks(listed),
        about=about,
    )
    made.write(RUN_LIST, time_text(at), *page_texts(RUN_LIST, run_list, at))
    made.finish()
    return SiteFields(
        folder=made.place,
        runs=len(runs),
        nodes=len(of_nodes),
        rendered=made.written,
        kept=made.kept,
        removed=made.removed,
        left_out=tuple(left_out),
    )


def _runs(archive: Path) -> tuple[dict[str, RunRow], list[str]]:
    """Runs by the stem of their page, the newest first, and a sentence on each that gets none: anybody may put what he
    likes into a shared archive.
    """
    chosen: dict[str, RunRow] = {}
    left_out = []
    for row in listing.list_archive(archive):
        folder = Path(row.folder)
        if folder.is_symlink():
            left_out.append(f"{folder.name} is a link, which is not followed.")
        elif not is_own_or_roots(folder):
            left_out.append(f"{folder.name} belongs to another user; `seatrial report` shows it.")
        else:
            chosen[file_stem(folder.name)] = row
    return chosen, left_out


def _render_run(made: Generation, folder: Path, stem: str, row: RunRow, readers: Readers, at: datetime) -> None:
    """The page of a run, unless it is there already: what its report says, or why there is none."""
    name, source = f"{RUNS}/{stem}", _source_of(folder, row)
    if made.keep(name, source):
        return
    try:
        report = readers.report_of(folder)
        texts = page_texts(name, report, at, _named(report, folder))
    except SeatrialError as error:
        texts = _unread(name, row, error, at)
    except Exception as error:  # whatever a run holds, the others have their pages
        what = f"The run cannot be shown ({type(error).__name__}: {error})."
        texts = _unread(name, row, SeatrialError(what, "This is a bug of seatrial; please report it."), at)
    made.write(name, source, *texts)


def _unread(name: str, row: RunRow, error: SeatrialError, at: datetime) -> tuple[str, str]:
    """The page of a run that cannot be shown, and the object that `seatrial report --json` prints of it."""
    about = tuple(text for text in (row.run, row.started, row.state) if text)
    report = Report(sentence=error.what, remedy=error.remedy, payload=lambda: row, about=about)
    page = as_html(report, ways(UP, name.rpartition("/")[2]))
    return page, json_text(error_envelope(failure_of(error), time=time_text(at)))


def _named(report: Report, folder: Path) -> tuple[PageLink, ...]:
    """Links to the nodes that a run finds at fault. Only a closed run that judges nodes gives each of them a page."""
    if report.run is None or layout.is_open(folder) or not looks_of(report.run):
        return ()
    subjects = (finding.subject for finding in report.findings if finding.at_fault)
    names = dict.fromkeys(subject.name for subject in subjects if subject.kind is SubjectKind.NODE)
    return tuple(node_page(name) for name in [*names][:MOST_NAMED])


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


def _nodes(read: Iterable[tuple[RunInfo, Judged] | None]) -> Nodes:
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
        standings=standings_after(counted),
        looks=looks_of_nodes(counted),
        leaf_of=leaf_of,
        runs=counted,
        unread=unread,
    )


def _render_nodes(
    made: Generation,
    nodes: Nodes,
    of_nodes: Mapping[str, NodeStanding],
    runs: Mapping[str, RunRow],
    readers: Readers,
    at: datetime,
) -> None:
    """The pages of all nodes of which a run says something else than the present pages do.

    Nodes with the same newest runs are rendered together, so that each run is read once.
    """
    pages = lists.stems(runs)
    together: dict[tuple[str, str], dict[str, str]] = {}
    for name, standing in of_nodes.items():
        looks = nodes.looks.get(name, ())
        pairs_run = next((look.run for look in looks if _is_check(look.run, pages, runs)), "")
        facts_run = looks[0].run if looks else ""
        of_runs = [made.source(f"{RUNS}/{pages.get(run, '')}") for run in (pairs_run, facts_run)]
        linked = [look.run in pages for look in looks]
        source = source_hash((standing, looks, nodes.leaf_of.get(name, ""), of_runs, linked))
        if not made.keep(f"{NODES}/{file_stem(name)}", source):
            together.setdefault((pairs_run, facts_run), {})[name] = source
    for (pairs_run, facts_run), sources in together.items():
        facts = _facts(runs, pages.get(facts_run, ""), sources)
        pairs = _pairs(made, pages.get(pairs_run, ""), sources)
        samples = _samples(runs, pages.get(pairs_run, ""), pairs)
        for name, source in sources.items():
            fields = SiteNodeFields(
                node=of_nodes[name],
                leaf=nodes.leaf_of.get(name, ""),
                looks=nodes.looks.get(name, ()),
                pairs_run=pairs_run,
                pairs=tuple(pairs.get(name, ())[:MOST_PAIRS]),
                samples=tuple(samples[pair.source, pair.target] for pair in _drawn(pairs.get(name, ()), samples)),
                facts_run=facts_run if name in facts else "",
                facts=facts.get(name),
            )
            blocks = [*readers.facts({name: facts[name]}).page()] if name in facts else []
            blocks[:1] = [replace(block, title=f"Facts in {facts_run}") for block in blocks[:1]]
            report = node_view.node_report(fields, pages, of_nodes, blocks)
            page = f"{NODES}/{file_stem(name)}"
            made.write(page, source, *page_texts(page, report, at))


def _is_check(run: str, pages: Mapping[str, str], runs: Mapping[str, RunRow]) -> bool:
    return run in pages and runs[pages[run]].kind == RunKind.CHECK


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
        content = made.read(f"{RUNS}/{stem}{TWIN}", TWIN_BYTES)
        twin = decoded(content, _Twin, Path(stem))
    except (BadInput, OSError):
        return {}
    of_node: dict[str, list[SitePair]] = {name: [] for name in wanted}
    for pair in twin.data.pairs if twin.data else ():
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
