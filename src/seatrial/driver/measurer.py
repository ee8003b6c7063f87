"""Carries rounds out, whatever happens: a round that hangs costs its culprit, never what was delivered."""

import math
from collections.abc import Callable, Sequence

import msgspec

from seatrial.archive import layout
from seatrial.archive.journal import NodeLost, PairCapped, PairHung, RoundEnded, SessionStarted
from seatrial.archive.writer import RunWriter
from seatrial.driver.capping import UNTOUCHED, Caps
from seatrial.driver.clock import monotonic_s
from seatrial.driver.node_selection import grouped
from seatrial.driver.progress import Progress
from seatrial.driver.session_losses import Losses, carry_out, delivered, placed, started, timed
from seatrial.files.inputs import read_end
from seatrial.launch.contract import PLAIN, Launcher, Session, StartManner
from seatrial.model.errors import LaunchError, ProbeLost, RoundRefused, SeatrialError
from seatrial.model.loss import CappedPair, Loss, LossCause, Moment, SessionLoss, unmeasured
from seatrial.model.measurement import (
    GroupMeasurement,
    GroupRound,
    Kernel,
    Measurement,
    ProbeStart,
    Round,
    Verification,
    node_of,
)
from seatrial.model.run import NodeCause, NodeState
from seatrial.node.rank_places import rank_places

Pair = tuple[str, str]
LOG_BYTES = 16 << 20
"""The end of a launch's standard error that is searched for what the MPI library reports."""
STARTS = 5
"""Open MPI 4.1's TCP transport crashes in about one start of 180 where ranks share cores: a NULL callback. Where frames
are lost besides, it did three times in a row."""
GROUP_PATIENCE_S = 60.0
"""Shortest timeout of a round that is not of pairs: before it is timed, a rank may fill and compare gigabytes."""
PATIENCE = 100.0
"""A round may take this many times what it should."""
LEAST_PATIENCE_S = 5.0
"""Timeout of a round across a part where another pair hung before, unless the usual one is shorter."""


class Measurer:
    """Sessions of the probe, one after the other where one is lost, and all that they delivered."""

    def __init__(
        self,
        launcher: Launcher,
        writer: RunWriter,
        nodes: Sequence[str],
        progress: Progress,
        round_timeout_s: float,
        fewest: int = 2,
    ) -> None:
        """`fewest`: ranks that a start needs at least; 1 where only their places are wanted."""
        self.measurements: list[Measurement] = []
        self.group_measurements: list[GroupMeasurement] = []
        self.lost: dict[str, NodeState] = {}
        self.hung: list[Pair] = []
        self.remarks: list[str] = []
        """Sentences for the report on what did not go smoothly."""
        self.header: dict[str, object] = {}
        self.starts: list[ProbeStart] = []
        """Launches whose ranks said where they are."""
        self.sessions = 0
        """How often the probe came up."""
        self.session_of: Callable[[Session], Session] = lambda session: session
        """What measures in place of a session of the probe that has come up."""
        self.window_s = 0.0
        """How long one window of the bandwidth kernel is expected to take."""
        self.verify = Verification.ENDS
        """How much of the data is compared in rounds that do not say it themselves."""
        self._launcher = launcher
        self._writer = writer
        self._nodes = tuple(nodes)
        self._fewest = fewest
        self._progress = progress
        self._round_timeout_s = round_timeout_s
        self._manner = PLAIN
        self._session: Session | None = None
        self._sessions = 0
        self._number, self._round_began_s = 0, 0.0
        self._began, self._deadline = monotonic_s(), math.inf
        self._cut = False
        """Whether a round was given up since its deadline had come."""
        self._given_up: set[frozenset[str]] = set()
        """Pairs whose rounds ended the session again and again."""
        self._losses = Losses(writer)
        self._caps = Caps(writer.info.fabric)

    @property
    def nodes(self) -> tuple[str, ...]:
        """Nodes that still answer."""
        return tuple(node for node in self._nodes if node not in self.lost)

    @property
    def answering(self) -> tuple[str, ...]:
        """These, and nodes that were left out though they answer."""
        return tuple(node for node in self._nodes if node not in self.lost or self.lost[node].rank_died)

    @property
    def losses(self) -> list[SessionLoss]:
        """Sessions that were lost, in order."""
        return self._losses.all

    def run(self, rounds: Sequence[Round], deadline: float) -> bool:
        """Measure the rounds in order; False where `deadline` (monotonic_s) came first. Raises as `measure`."""
        self._deadline, self._cut = deadline, False
        self._progress.until(deadline)
        try:
            for done, one in enumerate(rounds):
                if monotonic_s() > deadline:
                    self._progress.advance(len(rounds) - done)
                    return False
                self.measure(one)
                self._progress.advance()
        finally:
            self._deadline = math.inf
        return not self._cut

    @property
    def capped(self) -> tuple[CappedPair, ...]:
        """Pairs of the survey of which nothing was measured, since they cross a part that is known to be faulty."""
        left_out = self._caps.left_out
        return unmeasured(left_out.values(), self.measurements) if left_out else ()

    def resume(self, deadline: float) -> bool:
        """Measure pairs that were left out and whose part turned out good since; as `run`."""
        rounds = self._caps.released()
        if rounds:
            self._progress.stage(f"Measuring pairs that were left out (rounds: {len(rounds)})")
            self._progress.rounds(len(rounds))
        return self.run(rounds, deadline)

    def measure(self, wanted: Round) -> None:
        """One round, without the pairs that are known not to answer. Raises TooManyLost.

        Pairs across a part with gross faults are measured apart from the others: cut short, and in full only if they
        turn out good, or not at all.
        """
        doubtful = wanted.pairs
        while True:  # what good pairs show may settle the doubts about others
            found = self._caps.sort(wanted, doubtful)
            for pair in self._caps.put_off(wanted, found.left_out):
                self._writer.append(PairCapped(pair=pair))
            doubtful = found.doubtful
            if not found.plain:
                break
            self._measure(msgspec.structs.replace(wanted, pairs=found.plain))
        if not doubtful:
            return
        short = self._caps.cut(wanted.shape, doubtful)
        first = len(self.measurements)
        self._measure(msgspec.structs.replace(wanted, pairs=doubtful, shape=short))
        if short != wanted.shape:
            good = tuple(one.pair for one in self.measurements[first:] if self._caps.is_good(one))
            self._measure(msgspec.structs.replace(wanted, pairs=good))

    def _measure(self, wanted: Round, again: bool = False) -> None:
        """One round, until it is delivered or its culprit is known.

        Where the probe is lost in it, nodes that are silent are dropped and the rest of the round is repeated, as it is
        where the launcher names the node whose rank died; otherwise the round's pairs are halved until the one that
        hangs is alone. Raises TooManyLost where this promises nothing any more.
        """
        if self._open_pairs(wanted.pairs):
            self.start()  # which takes nodes out whose ranks die in it
        left = self._open_pairs(wanted.pairs)
        if not left:
            return
        wanted = msgspec.structs.replace(wanted, pairs=left)
        first = len(self.measurements)
        try:
            self._once(wanted)
            return
        except RoundRefused as error:
            self.remarks.append(error.what)
            return
        except ProbeLost as error:
            lost = error
        self.close(kill=True)
        known = self._round_lost(lost, wanted)
        delivered = {one.pair for one in self.measurements[first:]}
        left = tuple(pair for pair in left if pair not in delivered)
        if left and monotonic_s() > self._deadline:
            self._cut = True
        elif known:
            self._measure(msgspec.structs.replace(wanted, pairs=left))
        elif len(left) > 1:
            half = (len(left) + 1) // 2
            for pairs in (left[:half], left[half:]):
                self._measure(msgspec.structs.replace(wanted, pairs=pairs))
        elif left and not again and not self._hangs_again(lost, wanted, left[0]):
            # few enough iterations that a merely slow pair delivers them in time
            shape = self._caps.cut(wanted.shape, left) if _is_survey(wanted) else wanted.shape
            self._measure(msgspec.structs.replace(wanted, pairs=left, shape=shape), again=True)
        elif left and (lost.outcome == "timeout" or self._altered):
            self.hung.append(left[0])
            self._caps.hang(left[0], wanted.shape.kernel)
            self.remarks.append(f"{left[0][0]} to {left[0][1]} is left out: {lost.what}")
            self._writer.append(PairHung(source=left[0][0], target=left[0][1]))
        elif left:
            self._given_up.add(frozenset(left[0]))
            if lost.loss.pair is None:
                self.remarks.append(f"{left[0][0]} to {left[0][1]} was not measured: the probe died in it twice.")

    def _round_lost(self, error: ProbeLost, wanted: Round) -> bool:
        """Write the loss down; whether its place is known, so that the rest of the round can simply be repeated.

        Nodes that are silent, or have cost too many sessions, are taken out. Raises TooManyLost.
        """
        silent = self.drop_silent("stopped answering in mid-run")
        one = self._note_loss(_of_silent(error.loss, silent), Moment.ROUND, error.what, wanted)
        if silent or one.altered:
            return bool(silent)
        return self._drop_worn_out() or placed(one)

    def _note_loss(
        self, loss: Loss, moment: Moment, detail: str, wanted: Round | GroupRound | None = None
    ) -> SessionLoss:
        return self._losses.add(
            loss,
            session=self._sessions,
            moment=moment,
            at_s=monotonic_s() - self._began,
            manner=self._manner,
            detail=detail,
            number=self._number if wanted else 0,
            wanted=wanted,
            began_s=self._round_began_s,
        )

    def _drop_worn_out(self) -> bool:
        """Take nodes out whose ranks died too often; whether there are any. Raises TooManyLost."""
        worn = self._losses.worn_out()
        for node, last in worn.items():
            what = f"the rank on {node} died in {self._losses.of(node)} sessions"
            if node not in self.nodes or len(self.nodes) <= max(self._fewest, 2):
                raise self._losses.too_many(what[0].upper() + what[1:], last)
            reason = f"{what}, and was not started again"
            self.lose(NodeState(node=node, reason=reason, fault=True, rank_died=True, cause=NodeCause.RANK_DIED))
        self._losses.refuse_more()
        return bool(worn)

    @property
    def _altered(self) -> bool:
        return bool(self._manner.environment or self._manner.options)

    def drop_silent(self, what: str) -> tuple[str, ...]:
        """Ask all nodes for a sign of life; those that gave none, which are taken out."""
        silent = self._launcher.read_facts(self.nodes).silent if self.nodes else {}
        for node, why in silent.items():
            self.lose(NodeState(node=node, reason=f"{what}: {why}", fault=True, cause=NodeCause.SILENT))
        return tuple(silent)

    def lose(self, state: NodeState) -> None:
        """Take a node out for the rest of the run."""
        self.lost[state.node] = state
        self._writer.append(NodeLost(state=state))

    def begin(self, manner: StartManner = PLAIN, starts: int = STARTS) -> Session:
        """A session of that manner, which later ones keep; one that runs in another is ended. Errors as of `start`.

        `starts`: how often it is tried in all.
        """
        if manner != self._manner:
            self.close()
        self._manner = manner
        return self.start(STARTS - starts)

    def forget(self) -> None:
        """Free what was delivered so far from memory: a soak of days is judged from its journal."""
        self.measurements.clear()
        self.group_measurements.clear()

    def attempt(self, wanted: Round | GroupRound) -> None:
        """One round as it is, for settings under which it may well not work. Raises ProbeLost, RoundRefused."""
        try:
            self._once(wanted)
        except ProbeLost as error:
            self.close(kill=True)
            self._note_loss(error.loss, Moment.ROUND, error.what, wanted)
            raise

    def said(self) -> str:
        """What the latest launch wrote to standard error so far, and to standard output before the probe was ready."""
        folder = self._writer.folder
        text = read_end(folder / layout.LOGS_FOLDER / f"launch-{self._sessions}.err", LOG_BYTES, folder)
        return f"{text}\n{getattr(self._session, 'banter', '')}"

    def close(self, *, kill: bool = False) -> None:
        """End the session, if there is one."""
        session, self._session = self._session, None
        loss = session.close(kill=kill) if session is not None else None
        if loss is not None:
            self._note_loss(loss, Moment.END, "The probe died after its last round.")

    def start(self, failed: int = 0) -> Session:
        """The session, started if there is none; a start that failed for no known reason is tried again, STARTS in all.

        Raises LaunchError, and SeatrialError where too few nodes are left.
        """
        if self._session is not None:
            return self._session
        if len(self.nodes) * self._manner.ranks_per_node < self._fewest:
            raise SeatrialError(
                f"Nodes that still answer: {len(self.nodes)} of {len(self._nodes)}; a pair needs two.",
                f"{grouped(self.lost.values())}. `seatrial doctor` looks for the cause.",
            )
        self._sessions += 1
        log = self._writer.log_file(f"launch-{self._sessions}.err")
        try:
            session = self.session_of(self._launcher.start(self.nodes, log, self._manner))
        except LaunchError as error:
            silent = self.drop_silent("did not answer when the probe was started")
            if error.loss is not None:
                self._note_loss(_of_silent(error.loss, silent), Moment.START, error.what)
            if silent or (not self._altered and error.transient and self._drop_worn_out()):
                return self.start()
            if failed + 1 == STARTS or not error.transient:
                raise
            if error.loss is None:
                self.remarks.append(f"A start of the probe failed and was repeated: {error.what}")
            return self.start(failed + 1)
        self._session = session
        self.sessions += 1
        self.header = self.header or session.header
        ranks = rank_places(session.nodes, session.ranks, self._writer.info.nodes)
        if ranks:
            self.starts.append(ProbeStart(session=self._sessions, ranks=ranks))
        self._writer.append(
            SessionStarted(
                session=self._sessions, nodes=session.nodes, header=session.header, ranks=tuple(session.ranks)
            )
        )
        return session

    def _once(self, wanted: Round | GroupRound) -> None:
        session = self.start()
        if wanted.verify is Verification.NONE:
            wanted = msgspec.structs.replace(wanted, verify=self.verify)
        if self.starts and self.starts[-1].session == self._sessions:
            self.starts[-1] = msgspec.structs.replace(self.starts[-1], variant=wanted.variant)
        self._number += 1
        at_s = self._round_began_s = round(monotonic_s() - self._began, 6)
        self._writer.append(started(self._number, self._sessions, at_s, wanted))
        outcome, detail = "interrupted", ""
        try:
            for one in timed(carry_out(session, wanted, self._patience_s(wanted)), at_s):
                if isinstance(one, Measurement):
                    self.measurements.append(one)
                    self._caps.take(one)
                else:
                    self.group_measurements.append(one)
                self._writer.append(delivered(self._number, one))
            outcome = "complete"
        except ProbeLost as error:
            outcome, detail = error.outcome, error.what
            raise
        except RoundRefused as error:
            outcome, detail = "refused", error.what
            raise
        finally:
            self._writer.append(RoundEnded(number=self._number, outcome=outcome, detail=detail))

    def _patience_s(self, wanted: Round | GroupRound) -> float:
        if isinstance(wanted, GroupRound):
            return max(self._round_timeout_s, GROUP_PATIENCE_S)
        windows = wanted.shape.iterations + wanted.shape.warmup
        expected_s = 0.0 if wanted.shape.kernel is Kernel.PINGPONG else windows * self.window_s
        usual_s = max(self._round_timeout_s, PATIENCE * expected_s)
        kernel = wanted.shape.kernel
        if _is_survey(wanted) and all(self._caps.hangs_again(pair, kernel) for pair in wanted.pairs):
            return min(usual_s, LEAST_PATIENCE_S)
        return usual_s

    def _hangs_again(self, lost: ProbeLost, wanted: Round, pair: Pair) -> bool:
        """Whether a second try shows nothing: another pair hung across a part of this one before."""
        return lost.outcome == "timeout" and _is_survey(wanted) and self._caps.hangs_again(pair, wanted.shape.kernel)

    def _open_pairs(self, pairs: Sequence[Pair]) -> tuple[Pair, ...]:
        if not self.lost and not self.hung and not self._given_up:
            return tuple(pairs)
        closed = {frozenset(pair) for pair in self.hung} | self._given_up
        answers = (pair for pair in pairs if not self.lost.keys() & {*pair, *map(node_of, pair)})
        return tuple(pair for pair in answers if frozenset(pair) not in closed)


def _is_survey(wanted: Round) -> bool:
    """Whether the round is one of many pairs, of which single ones may be cut short."""
    return wanted.phase not in UNTOUCHED


def _of_silent(loss: Loss, silent: tuple[str, ...]) -> Loss:
    """The loss put down to the nodes that are silent since, where there are any."""
    return msgspec.structs.replace(loss, cause=LossCause.NODE_FAILURE, suspects=silent) if silent else loss
