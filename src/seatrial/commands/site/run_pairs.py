"""The page of the pairs of a check: raw samples of each pair, in the order of measuring and as a distribution.

A click on a pair in the maps of a run's page leads to its section here. Pages stay small: the gravest pairs have one.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from seatrial.archive import reader
from seatrial.commands.site.addresses import pair_anchor
from seatrial.commands.site.node_view import PairSamples, SitePair, samples_of, samples_plot
from seatrial.files.inputs import BadInput, decoded
from seatrial.model import units
from seatrial.model.errors import SeatrialError
from seatrial.model.verdict import Verdict
from seatrial.model.words import count
from seatrial.render.distribution import Reference, of_verdicts
from seatrial.render.matrix import Panels
from seatrial.render.report import Block, Report

MOST_PAIRS = 60
"""Pairs of a run with a section, the gravest: each takes about 10 kB."""


class _TwinPairs(msgspec.Struct, frozen=True):
    pairs: tuple[SitePair, ...] = ()


class _Twin(msgspec.Struct, frozen=True):
    data: _TwinPairs | None


class SitePairsFields(msgspec.Struct, frozen=True, kw_only=True):
    """The raw samples of the gravest pairs of a check; docs/site.md describes each field."""

    run: str
    pairs: tuple[SitePair, ...]
    samples: tuple[PairSamples, ...]


def pairs_of_twin(twin: bytes, stem: str) -> tuple[SitePair, ...]:
    """The ordered pairs in the JSON of a run; none where it has none. `stem`: of its file, for errors."""
    try:
        read = decoded(twin, _Twin, Path(stem))
    except BadInput:
        return ()
    return read.data.pairs if read.data else ()


def run_pairs(folder: Path, run: str, pairs: Sequence[SitePair]) -> SitePairsFields:
    """The gravest pairs of the run in a folder with their samples; a pair without two samples is left out."""
    gravest = sorted(pairs, key=lambda pair: -pair.verdict.gravity)[:MOST_PAIRS]
    names = {(pair.source, pair.target) for pair in gravest}
    try:
        measured = samples_of(reader.measurements_of(reader.read_entries(folder)), names) if names else {}
    except SeatrialError:
        measured = {}
    drawable = {pair for pair, one in measured.items() if len(one.bytes_per_s) > 1 and max(one.bytes_per_s) > 0}
    drawn = tuple(pair for pair in gravest if (pair.source, pair.target) in drawable)
    return SitePairsFields(run=run, pairs=drawn, samples=tuple(measured[pair.source, pair.target] for pair in drawn))


def pairs_report(fields: SitePairsFields) -> Report:
    """The page of the pairs."""
    return Report(
        kind="site pairs",
        sentence=f"{count(len(fields.pairs), 'pair')} of {fields.run}, the gravest first",
        payload=lambda: fields,
        page=lambda: _blocks(fields),
    )


def _blocks(fields: SitePairsFields) -> Iterator[Block]:
    for pair, samples in zip(fields.pairs, fields.samples, strict=True):
        reason = f", {pair.reason}" if pair.reason else ""
        plot = samples_plot([samples], f"{pair.source}>{pair.target}: {pair.verdict.value}{reason}")
        if plot is not None:
            yield replace(plot, anchor=pair_anchor(pair.source, pair.target))
            yield _distribution(pair, samples)


def _distribution(pair: SitePair, samples: PairSamples) -> Panels:
    """How many samples have which rate, with the pair's own median and its limit."""
    rates = [rate for rate in samples.bytes_per_s if rate > 0]
    median = pair.bandwidth_bytes_per_s
    references = []
    if median is not None and median.value > 0:
        text = f"median of the runs {units.bandwidth(median.value)}"
        references.append(Reference(value=median.value, style="peers", text=text))
        if pair.of_limit:
            limit = median.value / pair.of_limit
            references.append(Reference(value=limit, style="limit", text=f"limit {units.bandwidth(limit)}"))
    name = f"{pair.source}>{pair.target}"
    return Panels(
        aside="",
        panels=(
            of_verdicts(
                f"Bandwidth of {count(len(rates), 'sample')} of {name}",
                [(rate, Verdict.MEASURED) for rate in rates],
                references,
                units.bandwidth,
                "samples",
            ),
        ),
    )
