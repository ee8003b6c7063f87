"""Archived runs for a terminal: a list of them, and one by itself."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from seatrial.archive.lease import Life
from seatrial.archive.listing import CLOSED, RunRow
from seatrial.archive.reader import is_ahead
from seatrial.model.errors import ExitCode
from seatrial.model.run import RunInfo
from seatrial.model.units import bandwidth, duration, size
from seatrial.model.words import count
from seatrial.render.escape import clean
from seatrial.render.report import Block, Cells, Copy, Lines, Paragraph, Report, Table, columns, record_table

GAP = 2
"""Blanks between columns."""
SECONDS = 19
"""Characters of 2026-11-21T08:00:01; what follows are fractions."""
UNJUDGED = "?"
MOST_SHOWN = 5
"""Runs below a list that are named for the same reason; all have it in the JSON."""
HEADS = ("run", "kind", "started", "ending", "nodes", "headline")


class RunListFields(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of the archive; docs/commands.md describes each field."""

    runs: tuple[RunRow, ...]


class KernelRow(msgspec.Struct, frozen=True, kw_only=True):
    """What one kernel of a run delivered."""

    phase: str
    kernel: str
    message_bytes: int
    ordered_pairs: int
    samples: int
    latency_s: float | None
    bandwidth_bytes_per_s: float | None
    median_time_s: float


class RunShowFields(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is, and what its kernels delivered; docs/archive.md describes each field."""

    info: RunInfo
    kernels: tuple[KernelRow, ...]
    damage: tuple[str, ...]
    problem: str


class RunState(msgspec.Struct, frozen=True, kw_only=True):
    """A detached run that is not over; docs/commands.md describes each field."""

    state: str


def list_report(rows: Sequence[RunRow], nothing: str) -> Report:
    """All runs. `nothing`: the sentence where there is none."""
    return Report(
        payload=lambda: RunListFields(runs=tuple(rows)), terminal=lambda width: _list_blocks(rows, nothing, width)
    )


def _list_blocks(rows: Sequence[RunRow], nothing: str, width: int) -> Iterator[Block]:
    if not rows:
        yield Copy(lines=(nothing,))
        return
    cells = [_cells(row) for row in rows]
    widths = [max(len(clean(row[place])) for row in (HEADS, *cells)) for place in range(len(HEADS))]
    if sum(widths) + GAP * (len(HEADS) - 1) <= width:
        yield Table(columns=columns(*HEADS), rows=tuple(cells))
    else:
        yield from _two_lines_each(cells)
    cut_off = [(row.run, row.started) for row in rows if row.state == Life.CUT_OFF]
    unjudged = [(row.run, row.unjudged) for row in rows if row.unjudged]
    ahead = [(row.run, row.started) for row in rows if is_ahead(row.started)]
    for what, named in (
        ("cut off; `seatrial runs recover` closes what is yours, with every sample", cut_off),
        ("not judged (?)", unjudged),
        ("began later than now, so a clock is or was wrong", ahead),
    ):
        if named:
            yield Lines(title=f"{count(len(named), 'run')} {what}:", rows=tuple(named[:MOST_SHOWN]))
    damaged = [row for row in rows if row.problem]
    yield Lines(title=f"{count(len(damaged), 'damaged run')}:", rows=tuple((row.run, row.problem) for row in damaged))


def _two_lines_each(cells: Sequence[tuple[str, ...]]) -> Iterator[Block]:
    """The list for a terminal that is too narrow for a table: the headline below the other columns."""
    for place, (name, kind, started, ending, nodes, headline) in enumerate(cells):
        size = count(int(nodes), "node") if int(nodes) else ""
        about = ", ".join(part for part in (kind, started.replace("T", " "), ending, size) if part)
        yield Paragraph(text=f"{name}  {about}", tight=place > 0)
        if headline:
            yield Lines(rows=(("", headline),), indent=GAP, tight=True)


def _cells(row: RunRow) -> tuple[str, ...]:
    headline = UNJUDGED if row.unjudged else row.headline
    return (row.run, row.kind, row.started[:SECONDS], _ending(row), str(row.nodes), headline)


def _ending(row: RunRow) -> str:
    """The ending of a closed run; of an open one what is known of it."""
    if row.state == CLOSED:
        return row.ending
    return row.state + (f" on {row.host} since {row.since}" if row.host else "")


KERNELS: Cells[KernelRow] = {
    "phase": lambda row: row.phase,
    "kernel": lambda row: row.kernel,
    "#message": lambda row: size(row.message_bytes),
    "#pairs": lambda row: str(row.ordered_pairs),
    "#samples": lambda row: str(row.samples),
    "#one-way latency": lambda row: "" if row.latency_s is None else duration(row.latency_s),
    "#bandwidth": lambda row: "" if row.bandwidth_bytes_per_s is None else bandwidth(row.bandwidth_bytes_per_s),
}


def show_report(
    info: RunInfo,
    table: Sequence[tuple[Any, ...]],
    *,
    damage: Sequence[str] = (),
    problem: str = "",
    exit_code: ExitCode = ExitCode.PASS,
) -> Report:
    """What a run is, and a row of `table` for each kernel that was measured.

    `problem`: why its samples cannot be read.
    """
    kernels = tuple(KernelRow(**dict(zip(KernelRow.__struct_fields__, row, strict=True))) for row in table)
    return Report(
        kind="runs show",
        run=info,
        payload=lambda: RunShowFields(info=info, kernels=kernels, damage=tuple(damage), problem=problem),
        exit_code=exit_code,
        terminal=lambda _: _show_blocks(info, kernels, damage, problem),
    )


def _show_blocks(info: RunInfo, kernels: Sequence[KernelRow], damage: Sequence[str], problem: str) -> Iterator[Block]:
    rows = (
        ("run", info.run),
        ("kind", info.kind.value),
        ("started", info.started),
        ("INVALID", f"the run is damaged: {'; '.join(damage)}" if damage else ""),
        ("ended", f"{info.ended} ({info.ending})"),
        ("launcher", f"{info.launcher} {f'job {info.job}' if info.job else ''}".strip()),
        ("cluster", info.cluster),
        ("nodes", " ".join(info.nodes)),
        ("MPI", info.mpi_library),
        ("design", info.design.statement if info.design else ""),
        ("remark", info.reason),
        ("problem", problem),
    )
    yield Lines(rows=rows, indent=0)
    yield record_table(KERNELS, kernels, None)


def waiting_report(run: str, state: str) -> Report:
    """A detached run that is not over, for programs."""
    return Report(run_name=run, payload=lambda: RunState(state=state), exit_code=ExitCode.INCOMPLETE)
