"""The kinds of files that `seatrial judge` takes, and what the command line says of them."""

import enum
from pathlib import Path
from typing import NamedTuple

import msgspec


class Kind(enum.StrEnum):
    """What is judged: the words of `--as`."""

    PAIRS = "pairs"
    OUTPUT = "output"
    FLEET = "fleet"
    SERIES = "series"
    SCALING = "scaling"
    RUN = "run"

    @property
    def option(self) -> str:
        """`--as pairs`."""
        return f"--as {self.value}"


class KindWords(NamedTuple):
    """What messages and programs call a kind, and what its judgement does."""

    title: str
    judgement: str
    json: str
    """`kind` of the JSON object; empty: that of the run."""


WORDS = {
    Kind.PAIRS: KindWords("n×n table of pairs of nodes", "names slow nodes, uplinks and cables", "locate"),
    Kind.OUTPUT: KindWords("output of a benchmark", "judges it by evidence of work and gates", "parse"),
    Kind.FLEET: KindWords("values of many nodes", "compares the nodes", "fleet"),
    Kind.SERIES: KindWords("values over time", "finds where they change", "changepoints"),
    Kind.SCALING: KindWords("runs of one benchmark at several sizes", "judges the scaling curve", "scale"),
    Kind.RUN: KindWords("run of the archive", "prints its report", ""),
}


class JudgeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `seatrial judge`; those of another kind of file have their defaults."""

    benchmark: str
    limit: tuple[tuple[str, str], ...]
    expect: tuple[tuple[str, str], ...]
    largest: int
    form: str
    topology: Path | None
    routes: str
    effect: float | None
    latency_effect: float | None
    column: tuple[str, ...]
    by: tuple[str, ...]
    part: tuple[str, ...]
    better: str
    """`higher`, `lower` or `unknown`."""
    facts: str
    error_rate: float
    runs: str
    archive: Path
