"""The probe's language: commands out, records in; pure."""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from seatrial.model.errors import LaunchError
from seatrial.model.measurement import (
    Arrival,
    Conditions,
    Corruption,
    Count,
    GroupMeasurement,
    GroupRound,
    Measurement,
    Needs,
    Round,
    RoundOfKernel,
    Seconds,
)
from seatrial.model.words import count, verb

FORMAT = 2
RUN_OPTION = "--run"
"""The probe runs the program that follows in place of a rank; a header with `runs_programs` says that it can."""


class TimedSample(msgspec.Struct, frozen=True, kw_only=True):
    """What every `sample` record of the probe has; see docs/probe-protocol.md."""

    times_s: tuple[Seconds, ...]
    warmup_times_s: tuple[Seconds, ...] = ()
    verified: Count = 0
    errors: Count = 0
    errors_by_rank: tuple[Count, ...] = ()
    """Errors of each rank of the set, in its order; none if there are no errors."""
    first_errors: tuple[int, ...] = ()


class ProbeSample(TimedSample, frozen=True, kw_only=True):
    """The times of one pair, by rank."""

    source: int
    target: int
    waited_s: tuple[Seconds, Seconds] | None = None
    """None of a probe or a kernel that does not count it."""


class GroupSample(TimedSample, frozen=True, kw_only=True):
    """A sample of a kernel that is not a pair."""

    ranks: tuple[int, ...]
    wall_s: Seconds | None = None
    """None of a probe that does not say what happened meanwhile; the rest as in `Conditions`."""
    offsets_ns: tuple[int, ...] = ()
    """Clock offset of each rank; none if the kernel has no arrivals. The next three are by rank, too."""
    offset_errors_ns: tuple[Count, ...] = ()
    late_ns: tuple[int, ...] = ()
    last: tuple[Count, ...] = ()


def measure_command(number: int, wanted: Round, rank_of: Mapping[str, int]) -> bytes:
    """The line that asks for a round of pairs."""
    return _measure(number, wanted, {"pairs": [rank_of[name] for pair in wanted.pairs for name in pair]})


def group_command(number: int, wanted: GroupRound, rank_of: Mapping[str, int]) -> bytes:
    """The line that asks for a round of groups. Raises ValueError for groups that the kernel cannot use."""
    sizes = [len(group) for group in wanted.groups]
    ranks = [rank_of[name] for group in wanted.groups for name in group]
    match wanted.shape.kernel.needs:
        case Needs.GROUP:
            return _measure(number, wanted, {"ranks": ranks, "group_sizes": sizes})
        case Needs.SINGLE if set(sizes) == {1}:
            return _measure(number, wanted, {"ranks": ranks})
        case Needs.ALL if len(sizes) == 1 and ranks == sorted(rank_of.values()):
            return _measure(number, wanted, {})
    raise ValueError(f"{wanted.shape.kernel} needs {wanted.shape.kernel.needs}, not groups of {sizes} nodes")


def _measure(number: int, wanted: RoundOfKernel, ranks: Mapping[str, list[int]]) -> bytes:
    shape = wanted.shape
    command = {
        "command": "measure",
        "id": number,
        "kernel": shape.kernel.value,
        **ranks,
        "message_bytes": shape.message_bytes,
        "window": shape.window,
        "warmup": shape.warmup,
        "iterations": shape.iterations,
        "verify": wanted.verify.value,
    }
    if isinstance(wanted, GroupRound) and wanted.folder:
        command["folder"] = wanted.folder
    return msgspec.json.encode(command) + b"\n"


STOP = b'{"command":"stop"}\n'


class RankWait(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="ran"):
    """What the rank of a program had of a processor, as the probe that started it reports it."""

    rank: Count
    ran_s: Seconds
    waited_s: Seconds

    @property
    def share(self) -> float:
        """Share of the time for which the rank was ready to run that it waited for a processor."""
        return self.waited_s / (self.ran_s + self.waited_s) if self.waited_s else 0.0


def rank_waits(text: str, ranks: int) -> tuple[float, ...]:
    """The share of time that each rank of a program waited, in their order; empty where one is missing in its errors.

    A program sleeps while it starts and ends. What it could not use of a processor is therefore compared with the time
    for which it wanted one, which is all the time in which ranks wait for messages as MPI does.
    """
    shares: dict[int, float] = {}
    for line in text.splitlines():
        with contextlib.suppress(msgspec.DecodeError):
            reported = msgspec.json.decode(line, type=RankWait)
            shares[reported.rank] = reported.share
    return tuple(shares[rank] for rank in range(ranks)) if shares.keys() == set(range(ranks)) else ()


def parse_record(line: bytes) -> dict[str, Any] | None:
    """One record, or None for a line that is none (an MPI's own banter on standard output)."""
    try:
        record = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return record if isinstance(record, dict) and isinstance(record.get("record"), str) else None


def measurement(record: Mapping[str, Any], wanted: Round, nodes: Sequence[str]) -> Measurement:
    """The measurement in a `sample` record of the round `wanted`.

    Raises msgspec.ValidationError for a record of another form, and for a pair that was not asked for.
    """
    sample = msgspec.convert(record, ProbeSample)
    places = range(len(nodes))
    valid = sample.source in places and sample.target in places
    if not valid or (nodes[sample.source], nodes[sample.target]) not in wanted.pairs:
        raise msgspec.ValidationError(f"ranks {sample.source} and {sample.target} were not asked for")
    timed = _timed(sample, nodes, (sample.source, sample.target))
    return wanted.delivered((nodes[sample.source], nodes[sample.target]), **timed, waited_s=sample.waited_s or ())


def group_measurement(record: Mapping[str, Any], wanted: GroupRound, nodes: Sequence[str]) -> GroupMeasurement:
    """The measurement in a `sample` record of the round of groups `wanted`.

    Raises msgspec.ValidationError for a record of another form, and for a group that was not asked for.
    """
    sample = msgspec.convert(record, GroupSample)
    valid = all(rank in range(len(nodes)) for rank in sample.ranks)
    group = tuple(nodes[rank] for rank in sample.ranks) if valid else ()
    if not group or group not in wanted.groups:
        raise msgspec.ValidationError(f"the group of ranks {list(sample.ranks)} was not asked for")
    return GroupMeasurement(
        **_timed(sample, nodes, sample.ranks),
        phase=wanted.phase,
        repetition=wanted.repetition,
        shape=wanted.shape,
        variant=wanted.variant,
        nodes=group,
        groups_at_once=len(wanted.groups),
        conditions=None if sample.wall_s is None else msgspec.convert(record, Conditions),
        arrivals=_arrivals(sample),
    )


def _arrivals(sample: GroupSample) -> tuple[Arrival, ...]:
    """Raises msgspec.ValidationError where the record does not say all of each rank."""
    columns = (sample.offsets_ns, sample.offset_errors_ns, sample.late_ns, sample.last)
    if not any(columns):
        return ()
    if {len(column) for column in columns} != {len(sample.ranks)}:
        raise msgspec.ValidationError(f"arrivals of other ranks than the {len(sample.ranks)} of the group")
    return tuple(
        Arrival(offset_s=offset_ns / 1e9, error_s=error_ns / 1e9, late_s=late_ns / 1e9, last=last)
        for offset_ns, error_ns, late_ns, last in zip(*columns, strict=True)
    )


def _timed(sample: TimedSample, nodes: Sequence[str], ranks: Sequence[int]) -> dict[str, Any]:
    """Times and checks, as `TimedIterations` has them. Raises msgspec.ValidationError as `_corruptions`."""
    shared = {name: getattr(sample, name) for name in ("times_s", "warmup_times_s", "verified", "errors")}
    return {**shared, "corruptions": _corruptions(sample, nodes, ranks)}


def _corruptions(sample: TimedSample, nodes: Sequence[str], ranks: Sequence[int]) -> tuple[Corruption, ...]:
    """What each rank of the set received wrong; in a set of two the other one sent it.

    Raises msgspec.ValidationError where the record does not say it of each rank.
    """
    if not sample.errors:
        return ()
    if not len(sample.errors_by_rank) == len(sample.first_errors) == len(ranks):
        raise msgspec.ValidationError(
            f"{sample.errors} wrong bytes, and not how many each of {count(len(ranks), 'rank')} got"
        )
    received = zip(ranks, sample.errors_by_rank, sample.first_errors, strict=True)
    return tuple(
        Corruption(
            source=nodes[ranks[1 - place]] if len(ranks) == 2 else "",
            target=nodes[rank],
            wrong_bytes=wrong,
            first_byte=max(first, 0),
        )
        for place, (rank, wrong, first) in enumerate(received)
        if wrong
    )


def check_header(header: Mapping[str, Any], wanted_ranks: int | None) -> None:
    """Raise LaunchError unless the probe speaks our format and came up as one world of the wanted size (None: any)."""
    if header.get("format") != FORMAT:
        raise LaunchError(
            f"The probe speaks format {header.get('format')!r}, this seatrial speaks {FORMAT}.",
            "Let seatrial build its own, without --probe.",
        )
    ranks = header.get("ranks")
    if wanted_ranks is None:
        return
    if ranks == 1 and wanted_ranks > 1:
        raise LaunchError(
            f"MPI came up as {wanted_ranks} worlds of one rank instead of one world of {wanted_ranks}: "
            f"the launcher and this MPI ({header.get('mpi_library', 'unknown')}) do not know each other.",
            "Under Slurm choose another --mpi (srun --mpi=list shows which: pmix, pmi2); without it use the mpirun of "
            "the same MPI as mpicc.",
            other_mpi_type=True,
        )
    if ranks != wanted_ranks:
        raise LaunchError(
            f"{count(wanted_ranks, 'rank')} {verb(wanted_ranks, 'was', 'were')} asked for and {ranks} came up.",
            "Look into the run's logs.",
        )


def nodes_by_rank(
    ranks: Sequence[Mapping[str, Any]],
    wanted: Sequence[str],
    ranks_per_node: int = 1,
    names: Mapping[str, str] | None = None,
) -> tuple[str, ...]:
    """Which node each rank is on; host names match with or without their domain, or as `names` says of a host.

    With several ranks a node, which place of it: NODE:0, NODE:1, ... in the order of ranks. Raises LaunchError for a
    rank on a host that was not asked for, and for more ranks on one than were.
    """
    own = {host: name for host, name in (names or {}).items() if name in wanted}
    by_name = {name.partition(".")[0]: name for name in wanted} | {name: name for name in wanted} | own
    placed: list[str] = []
    for record in ranks:
        host = str(record.get("host", ""))
        node = by_name.get(host) or by_name.get(host.partition(".")[0])
        if node is None:
            raise LaunchError(f"Rank {record.get('rank')} came up on {host}, which was not asked for.")
        if placed.count(node) == ranks_per_node:
            came, asked = ("Two", "one") if ranks_per_node == 1 else (str(ranks_per_node + 1), str(ranks_per_node))
            raise LaunchError(f"{came} ranks came up on {host}, where {asked} was asked for on each node.")
        placed.append(node)
    return tuple(placed) if ranks_per_node == 1 else places(placed)


def hosts_by_rank(ranks: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The name that each rank's machine gave; empty where it gave none."""
    return tuple(str(record.get("host", "")) for record in ranks)


def places(nodes: Sequence[str]) -> tuple[str, ...]:
    """n1, n1, n2 -> n1:0, n1:1, n2:0."""
    return tuple(f"{node}:{nodes[:rank].count(node)}" for rank, node in enumerate(nodes))
