"""A run on two nodes: the frame that curves and saturation share, and the rails between the two."""

from collections import defaultdict
from collections.abc import Callable, Sequence

import msgspec

from seatrial.archive.journal import DefaultStarted, SurveyPlanned
from seatrial.archive.writer import RunWriter
from seatrial.driver.node_selection import allocation_s, enough
from seatrial.driver.progress import SILENT, Progress
from seatrial.driver.run import Judged, MeasuredRun, Run, find_hosts, open_run
from seatrial.launch.contract import Hosts, Launcher, StartManner, StartsByDefault
from seatrial.launch.mpi import family_of
from seatrial.launch.rails import rail_manner
from seatrial.limits.rail_paths import RailDevice, no_rail_because, rail_named, shared_rails
from seatrial.locate.evidence import run_value
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.measurement import DefaultStart, Kernel, Phase, Round, Shape
from seatrial.model.run import Design, RecordedRun, is_kind
from seatrial.model.settings import CurveSettings, SaturateSettings, SiteSettings
from seatrial.model.words import count
from seatrial.pairs.sizes import Pace

Pair = tuple[str, str]
MOST_KINDS = 4
"""More kinds are rather names of racks."""
DEFAULT_LOG = "default-launch.err"
PILOT_BYTES = 8


class TwoNodes(Run):
    """A run that measures one pair."""

    def __init__(
        self,
        settings: SiteSettings,
        launcher: Launcher,
        writer: RunWriter,
        pair: Pair,
        progress: Progress,
        nodes: Sequence[str] = (),
    ) -> None:
        """`nodes`: those that hold the pair, where its ends are places on one node; empty: the pair itself."""
        self.pair = pair
        self._nodes = tuple(nodes) or pair
        super().__init__(settings, launcher, writer, progress, nodes=self._nodes, planned=(pair,))
        self._default: DefaultStart | None = None

    def begin(self) -> None:
        """Get the nodes for as long as the budget takes, and read their facts."""
        self.progress.stage(f"Waiting for {' and '.join(self._nodes)}")
        self.allocate(self._nodes, allocation_s(self.settings.budget_s))
        self._writer.append(SurveyPlanned(pairs=(self.pair,)))
        self.progress.stage(f"Reading the facts of {' and '.join(self._nodes)}")
        self.inspect(self._nodes)

    def start(self, ranks_per_node: int = 1) -> None:
        """Start the probe on both nodes; with several ranks a node, pairs are made of places (NODE:0, NODE:1)."""
        ranks = "" if ranks_per_node == 1 else f", {ranks_per_node} ranks each"
        self.progress.stage(f"Starting the probe on both nodes{ranks}")
        self.measurer.begin(StartManner(ranks_per_node=ranks_per_node))

    def pilot(self, most_bytes: int, rails: int = 1) -> Pace:
        """Latency of a small message and rate of the largest; without results of the pilot, the default pace.

        The rate is divided by `rails`, which may all be in use: rounds then last long enough over one as well.
        """
        for size in (PILOT_BYTES, most_bytes):
            shape = Shape(kernel=Kernel.PINGPONG, message_bytes=size, window=1, warmup=2, iterations=3)
            self.measurer.measure(Round(phase=Phase.PILOT, repetition=0, shape=shape, pairs=(self.pair,)))
        times = [run_value(measured) for measured in self.measurer.measurements if measured.times_s]
        if len(times) < 2 or times[1] <= times[0]:
            return Pace()
        pace = Pace(latency_s=max(times[0], 1e-7), bytes_per_s=most_bytes / (times[1] - times[0]) / rails)
        self.measurer.window_s = pace.time_s(most_bytes)
        return pace

    def plan(
        self,
        name: str,
        rounds: int,
        repetitions: int,
        statement: str,
        *,
        pairs_at_once: int = 1,
        variants: tuple[str, ...] = (),
    ) -> None:
        """Record what is going to be measured of the pair, in one direction."""
        self.designed(
            Design(
                name=name,
                pairs_at_once=pairs_at_once,
                repetitions=repetitions,
                rounds=rounds,
                ordered_pairs=2,
                planned_pairs=1,
                statement=statement,
                variants=variants,
            )
        )

    def measure(self, rounds: Sequence[Round], deadline: float) -> bool:
        """Measure these rounds until `deadline` (monotonic_s); whether all were."""
        self.progress.rounds(len(rounds))
        return self.measurer.run(rounds, deadline)

    def look_at_default(self) -> None:
        """See where the MPI's own launcher would put the ranks; for the report alone, so that no failure matters."""
        if not isinstance(self._launcher, StartsByDefault):
            return
        self.progress.stage("Checking where the MPI's own launcher puts ranks")
        self.measurer.close()
        self._default = self._launcher.default_start(self.pair, self._writer.log_file(DEFAULT_LOG))
        if self._default is not None:
            self._writer.append(DefaultStarted(start=self._default))

    def recorded(self) -> RecordedRun:
        """The results so far."""
        return msgspec.structs.replace(super().recorded(), default_start=self._default)


def run_two_nodes(
    settings: CurveSettings | SaturateSettings,
    work: Callable[[TwoNodes], str],
    judge: Callable[[RecordedRun], Judged],
    progress: Progress = SILENT,
) -> MeasuredRun[Judged]:
    """Carry out `work`, whose answer is a remark for the report or empty. Whatever ends it, the run is closed.

    Raises UsageError, LaunchError, ArchiveError and other SeatrialErrors; KeyboardInterrupt only before the first
    measurement.
    """
    site = settings.site
    launcher, hosts = find_hosts(site, progress)
    pair = pick_ends(enough(hosts, site), hosts, settings.ends)
    opening = open_run(settings, site, launcher, hosts, pair, fewest=len(pair))
    trial = TwoNodes(opening.site, launcher, opening.writer, pair, progress)
    trial.note_cut(opening.cut)
    folder = trial.carry_out(lambda: work(trial))
    recorded = trial.recorded()
    return MeasuredRun(folder=folder, recorded=recorded, result=judge(recorded))


def pairs_of_kinds(nodes: Sequence[str], hosts: Hosts) -> tuple[Pair, ...]:
    """The first two nodes of each kind: of those that the site declares, else by the words of the scheduler.

    Nothing for a single kind, and for more than are worth a measurement each.
    """
    by_kind: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for node in nodes:
        words = hosts.features.get(node, ())
        by_kind[tuple(filter(is_kind, words)) or words].append(node)
    pairs = tuple((of_kind[0], of_kind[1]) for of_kind in by_kind.values() if len(of_kind) > 1)
    return pairs if 1 < len(by_kind) <= MOST_KINDS else ()


def pick_ends(nodes: Sequence[str], hosts: Hosts, ends: Sequence[str]) -> Pair:
    """The two nodes named, or the only two there are. Raises UsageError; SeatrialError for one not to be had."""
    if not ends and len(nodes) == 2:
        return nodes[0], nodes[1]
    if len(ends) != 2 or ends[0] == ends[1]:
        some = ", ".join(nodes[:4]) + (", ..." if len(nodes) > 4 else "")
        kinds = pairs_of_kinds(nodes, hosts)
        proposed = f" One pair of each kind: {', '.join(' '.join(pair) for pair in kinds)}." if kinds else ""
        raise UsageError(
            f"Two different nodes are needed, and {len(set(ends)) or 'none'} was named.", f"There are {some}.{proposed}"
        )
    for end in ends:
        why = next((state.reason for state in hosts.left_out if state.node == end), "")
        if end not in nodes:
            number = count(len(nodes), "node")
            raise SeatrialError(f"{end} cannot be measured: {why or f'it is not one of the {number} here'}.")
    return ends[0], ends[1]


def choose_rails(trial: TwoNodes, wanted: Sequence[str]) -> tuple[tuple[RailDevice, ...], tuple[str, ...]]:
    """The rails to compare, two at least and of one kind, and what is to be said of others. Raises SeatrialError."""
    unread = [node for node in trial.pair if node not in trial.facts]
    if unread:
        raise SeatrialError(f"The facts of {unread[0]} could not be read, and they show which rails it has.")
    ends = [trial.facts[node] for node in trial.pair]
    if not wanted:
        found = shared_rails(*ends)
        if len(found.rails) < 2:
            have = ", ".join(rail.name for rail in found.rails) or "none"
            why = f"; {'; '.join(found.left_out)}" if found.left_out else ""
            pair = " and ".join(trial.pair)
            raise SeatrialError(f"{pair} share fewer than two rails that are up: {have}{why}.")
        return found.rails, tuple(f"{said}." for said in found.left_out)
    chosen = []
    for name in dict.fromkeys(wanted):
        for facts in ends:
            if rail_named(facts, name) is None:
                raise UsageError(f"--rails {name}: {no_rail_because(facts, name)}.", "Name rails that both nodes have.")
        chosen += [rail for rail in [rail_named(ends[0], name)] if rail is not None]
    kinds = dict.fromkeys(rail.kind for rail in chosen)
    if len(chosen) < 2 or len(kinds) > 1:
        said = f"of {' and '.join(kinds)}" if len(kinds) > 1 else "one alone"
        raise UsageError(f"--rails {','.join(wanted)}: {said}.", "Name two rails or more, of one kind.")
    return tuple(chosen), ()


def manners_of(
    library: str, rails: Sequence[RailDevice], variants: dict[str, tuple[str, ...]]
) -> dict[str, StartManner]:
    """Variant -> how to start a probe that is restricted to it. Raises SeatrialError if no setting is known."""
    found = {}
    for variant, names in variants.items():
        manner = rail_manner(family_of(library), rails[0].kind, names)
        if manner is None:
            raise SeatrialError(
                f"How {library.partition(',')[0] or 'this MPI'} is limited to one {rails[0].kind} rail is not known.",
                "Set it by hand in the environment, and measure once with each setting, without --rails.",
            )
        found[variant] = manner
    return found
