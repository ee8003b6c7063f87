"""The pages of nodes: what all runs say of each, with pairs, samples and facts from the newest ones."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec.structs import replace

from seatrial.archive import layout, reader
from seatrial.archive.layout import DamagedRun
from seatrial.archive.listing import RunRow
from seatrial.commands.site import lists, node_view
from seatrial.commands.site.addresses import NODES, RUNS, TWIN, file_stem
from seatrial.commands.site.generation import Generation
from seatrial.commands.site.node_view import MOST_PAIRS, SiteNodeFields, SitePair
from seatrial.commands.site.pages import Readers, page_texts, source_hash
from seatrial.commands.site.pair_samples import MOST_PAIRS as MOST_DRAWN
from seatrial.commands.site.pair_samples import Pair, PairSamples, samples_of
from seatrial.commands.site.past import Look, looks_of_nodes
from seatrial.commands.site.run_pairs import pairs_of_twin
from seatrial.drift.changes import changes
from seatrial.files.inputs import BadInput
from seatrial.judgement.qualification import confirmed
from seatrial.judgement.standings import Judged, standings_after
from seatrial.model.errors import SeatrialError
from seatrial.model.facts import NodeFacts
from seatrial.model.monitoring import NodeStanding
from seatrial.model.run import RunInfo, RunKind
from seatrial.model.verdict import GOOD

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
        standings=standings_after(counted),
        looks=looks_of_nodes(counted),
        leaf_of=leaf_of,
        runs=counted,
        unread=unread,
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
