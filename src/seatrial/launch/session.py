"""A session of the probe behind pipes."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from seatrial.failures.rank_deaths import Ranks, read_loss
from seatrial.failures.start_failure import explain
from seatrial.launch.probe_text import (
    STOP,
    check_header,
    group_command,
    group_measurement,
    hosts_by_rank,
    measure_command,
    measurement,
    nodes_by_rank,
    parse_record,
    places,
)
from seatrial.model.errors import LaunchError, ProbeLost, RoundRefused
from seatrial.model.loss import Loss
from seatrial.model.measurement import DefaultStart, GroupMeasurement, GroupRound, Measurement, Round
from seatrial.process.pipe import LinePipe

Asked = TypeVar("Asked")
Delivered = TypeVar("Delivered")

TOO_LATE = (
    "Without other evidence: MPI waits like this while nodes cannot reach each other. Check whether a firewall lets "
    "them connect on all ports, and which interface MPI uses (btl_tcp_if_include, UCX_NET_DEVICES)."
)


DEFAULT_START_S = 20.0
"""It is worth no more: nothing of the run depends on it."""
BETWEEN_QUESTIONS_S = 1.0
"""Between two questions whether it makes sense to wait for a start any longer."""
MOST_BANTER = 500
"""Lines of standard output that are not records: UCX, Hydra and the mpirun of Open MPI 5 report errors there. The
first and the last ones are kept."""


class PipeSession:
    """The probe under mpirun or srun: rank 0's standard input and output are ours."""

    def __init__(
        self,
        argv: Sequence[str],
        wanted: Sequence[str] | None,
        log: Path,
        *,
        one_host: bool = False,
        timeout_s: float,
        extra_environment: Mapping[str, str] | None = None,
        ranks_per_node: int = 1,
        ranks: int | None = None,
        names: Mapping[str, str] | None = None,
        by_daemons: bool = False,
        in_vain: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """Start `argv` and wait until all ranks are there.

        `one_host`: all ranks share this machine, so rank i is the i-th of `wanted`; otherwise host names decide.
        `ranks_per_node`: this many on each of `wanted`; with more than one `nodes` are places, NODE:0, NODE:1, ...
        `by_daemons`: as of `failures.rank_deaths.Ranks`.
        `in_vain`: called now and then with what was written to standard error, until the first rank is there; the wait
        ends where it says yes.
        `names`: host name that a machine gives itself -> its name in `wanted`, where these differ.
        `wanted` None: whatever hosts the ranks come up on, and `ranks` of them, or as many as come; `nodes` are places.
        Raises LaunchError with the program's last words.
        """
        ranks = ranks if wanted is None else len(wanted) * ranks_per_node
        self._pipe = LinePipe(argv, log, extra_environment)
        self._number = 0
        self._closed = False
        self._by_daemons = by_daemons
        self._banter: list[bytes] = []
        self.ranks: tuple[dict[str, Any], ...] = ()
        self.header: dict[str, Any] = {}
        try:
            self._greet(ranks, time.monotonic() + timeout_s, in_vain)
            if wanted is None:
                self.nodes = places(hosts_by_rank(self.ranks))
            elif one_host:
                self.nodes = tuple(wanted)
            else:
                self.nodes = nodes_by_rank(self.ranks, wanted, ranks_per_node, names)
        except ProbeLost as error:
            timed_out = error.outcome == "timeout"
            self.nodes = tuple(wanted or ()) if one_host else ()
            loss = self._loss(timed_out=timed_out)
            self.close(kill=True)
            failure = explain(self._said(), wanted or ())
            remedy = failure.remedy or (TOO_LATE if timed_out else "")
            late = f"not within {timeout_s:.0f} s; " if timed_out else ""
            many = f" on {ranks} ranks" if ranks else ""
            what = f"The probe did not start{many}: {late}{failure.meaning}"
            transient = failure.transient and not timed_out
            raise LaunchError(
                what,
                remedy,
                transient=transient,
                loss=loss,
                other_mpi_type=failure.other_mpi_type,
                absent_probe=failure.absent_probe,
            ) from error
        except BaseException:
            self.close(kill=True)
            raise

    def _greet(self, wanted: int | None, deadline: float, in_vain: Callable[[str], bool]) -> None:
        ranks: list[dict[str, Any]] = []
        while True:
            line = self._awaited(deadline, in_vain) if not ranks else self._pipe.receive(deadline)
            record = parse_record(line)
            match record and record["record"]:
                case None:
                    self._keep(line)
                case "header":
                    self.header = record or {}
                    check_header(self.header, wanted)
                case "rank":
                    ranks.append(record or {})
                case "ready":
                    self.ranks = tuple(ranks)
                    return

    def _awaited(self, deadline: float, in_vain: Callable[[str], bool]) -> bytes:
        while True:
            try:
                return self._pipe.receive(min(deadline, time.monotonic() + BETWEEN_QUESTIONS_S))
            except ProbeLost as error:
                if error.outcome != "timeout" or time.monotonic() >= deadline or in_vain(self._said()):
                    raise

    def _keep(self, line: bytes) -> None:
        if len(self._banter) >= MOST_BANTER:
            del self._banter[MOST_BANTER // 2]
        self._banter.append(line)

    def _loss(self, *, timed_out: bool = False) -> Loss:
        """What the launcher says of the session's end; Hydra says it on standard output."""
        self._keep_left_over()
        pids = {(str(one.get("host", "")), one.get("pid", 0)): rank for rank, one in enumerate(self.ranks)}
        return read_loss(
            self._said(), Ranks(places=self.nodes, pids=pids, by_daemons=self._by_daemons), timed_out=timed_out
        )

    def _keep_left_over(self) -> None:
        """Lines that came after the last record that was received."""
        for line in self._pipe.left_over:
            if parse_record(line) is None:
                self._keep(line)
        self._pipe.left_over.clear()

    @property
    def banter(self) -> str:
        """What others wrote to standard output; Intel MPI says there what it chose, Hydra which rank died."""
        return b"\n".join(self._banter).decode("utf-8", errors="replace")

    def _said(self) -> str:
        return f"{self._pipe.said()}\n{self.banter}"

    def measure(self, wanted: Round, timeout_s: float) -> Iterator[Measurement]:
        """See launch.contract.Session.measure."""
        return self._carry_out(measure_command, measurement, wanted, timeout_s)

    def measure_groups(self, wanted: GroupRound, timeout_s: float) -> Iterator[GroupMeasurement]:
        """See launch.contract.MeasuresGroups.measure_groups."""
        return self._carry_out(group_command, group_measurement, wanted, timeout_s)

    def _carry_out(
        self,
        command: Callable[[int, Asked, Mapping[str, int]], bytes],
        read: Callable[[Mapping[str, Any], Asked, Sequence[str]], Delivered],
        wanted: Asked,
        timeout_s: float,
    ) -> Iterator[Delivered]:
        """Ask for a round with `command` and yield what `read` makes of each of its samples."""
        try:
            deadline = time.monotonic() + timeout_s
            for record in self._samples(lambda number, rank_of: command(number, wanted, rank_of), deadline):
                try:
                    delivered = read(record, wanted, self.nodes)
                except msgspec.ValidationError as error:
                    raise ProbeLost(f"The probe delivered an invalid sample: {error}", "died") from error
                yield delivered
        except ProbeLost as error:
            raise ProbeLost(error.what, error.outcome, self._loss(timed_out=error.outcome == "timeout")) from error

    def _samples(
        self, command: Callable[[int, Mapping[str, int]], bytes], deadline: float
    ) -> Iterator[Mapping[str, Any]]:
        self._number += 1
        rank_of = {node: rank for rank, node in enumerate(self.nodes)}
        self._pipe.send(command(self._number, rank_of))
        while True:
            line = self._pipe.receive(deadline)
            record = parse_record(line)
            if record is None:
                self._keep(line)
            if record is None or record.get("id") not in (self._number, 0):
                continue
            match record["record"]:
                case "sample":
                    yield record
                case "error":
                    raise RoundRefused(f"The probe refused a round: {record.get('message')}")
                case "end":
                    return

    def close(self, *, kill: bool = False) -> Loss | None:
        """See launch.contract.Session.close; closing again does nothing."""
        if self._closed:
            return None
        self._closed = True
        gone: Loss | None = None
        asked = not kill
        if asked:
            try:
                self._pipe.send(STOP)
            except ProbeLost:
                gone, kill = self._loss(), True
        status = self._pipe.close(kill=kill)
        self._keep_left_over()
        if asked and status and not (gone and gone.deaths):
            gone = self._loss()
        return gone if gone and gone.deaths else None


def look(
    line: str,
    argv: Sequence[str],
    nodes: Sequence[str],
    log: Path,
    variables: Mapping[str, str],
    *,
    one_host: bool,
    names: Mapping[str, str] | None = None,
) -> DefaultStart:
    """Start the probe by an mpiexec, read where its ranks are, and end it. What goes wrong is the result.

    `line`: the same as a user would write it; `names`: as of PipeSession.
    """
    try:
        session = PipeSession(
            argv, nodes, log, one_host=one_host, timeout_s=DEFAULT_START_S, extra_environment=variables, names=names
        )
    except (LaunchError, OSError) as error:
        return DefaultStart(line=line, failure=error.what if isinstance(error, LaunchError) else str(error))
    session.close()
    return DefaultStart(line=line, nodes=session.nodes, ranks=session.ranks)
