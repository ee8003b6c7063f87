"""The complete judgement of one run. It is derived from the archive and computed again for every report."""

import enum
from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from seatrial.model.errors import ExitCode
from seatrial.model.limit import Limit
from seatrial.model.measurement import Estimate, Measurement, Phase, node_of
from seatrial.model.node_trials import NodeTrials
from seatrial.model.pair_faults import Population
from seatrial.model.past import PastRatio
from seatrial.model.run import Design, NodeState
from seatrial.model.subject import Direction
from seatrial.model.verdict import Finding, Verdict, worst

RANKS = " ranks"


class SpectrumMode(msgspec.Struct, frozen=True, kw_only=True):
    """One mode of a spectrum: pairs of ranks whose values lie together, apart from those of other modes."""

    median: float
    low: float
    high: float
    """The least and the greatest value."""
    pairs: int
    explained: tuple[str, ...] = ()
    """What its pairs share and pairs of other modes do not: `within a leaf`. Empty: unexplained, or the only mode."""


class Spectrum(msgspec.Struct, frozen=True, kw_only=True):
    """The values of one metric over all pairs of ranks, rank i of a node with rank i of another, that ran at once."""

    ranks_per_node: int
    metric: str
    pairs: int
    """Pairs of ranks: ordered ones for bandwidth, without direction for latency."""
    median: float
    together: float | None = None
    """Bytes per second of all ranks of a pair of nodes while all send, the median over pairs of nodes; None for
    latency, and where they never did."""
    ranks_per_port: int | None = None
    """Most ranks of a node that share a port; None: the ports are not known."""
    modes: tuple[SpectrumMode, ...]
    """The modes by their median, rising; one where the values lie together."""
    quantiles: tuple[float, ...]
    """The values, rising; of many pairs evenly spaced ones."""
    out_of_line: tuple[str, ...] = ()
    """Nodes whose pairs are worse than others with several ranks per node, measured once; one rank is judged by itself.
    """


def variant_of(ranks: int) -> str:
    """Name of the setting with that number of ranks on each node: `4 ranks`."""
    return f"{ranks}{RANKS}"


def ranks_of(variant: str) -> int:
    """The ranks per node of such a setting; 1 for any other text."""
    number = variant.removesuffix(RANKS)
    return int(number) if variant.endswith(RANKS) and number.isdecimal() else 1


def between_nodes(measurements: Iterable[Measurement]) -> Iterator[Measurement]:
    """The measurements with the nodes of ranks in place of the ranks: what arrived wrong names a node."""
    for measured in measurements:
        if measured.phase is not Phase.SATURATION:
            yield measured
            continue
        wrong = tuple(
            replace(each, source=node_of(each.source), target=node_of(each.target)) for each in measured.corruptions
        )
        yield replace(measured, source=node_of(measured.source), target=node_of(measured.target), corruptions=wrong)


class LeafLoad(msgspec.Struct, frozen=True, kw_only=True):
    """One leaf while all of its nodes that took part send to other leaves, or receive from them."""

    leaf: str
    direction: Direction
    nodes: int
    """Nodes that sent or received at the same time."""
    bytes_per_s: Estimate
    """The rate of all nodes of the leaf together, one value a round."""
    alone_bytes_per_s: float
    """What the same nodes reach one at a time, added up."""
    share: float
    """What is left to a node under load, as a share of what it reaches alone."""
    of_peers: float | None = None
    """Share of what other leaves carry in rounds of the same kind, 1 where equal; None: nothing to compare with."""


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of all rounds under load."""

    rounds: int
    leaves: tuple[LeafLoad, ...] = ()
    bisection_bytes_per_s: Estimate | None = None
    """The rate of all pairs together while half of the nodes send to the other half; the median over such rounds."""
    bisection_pairs: int = 0
    """Pairs in one such round."""
    bisection_share: float | None = None
    """Share of what the same pairs reach one at a time."""
    oversubscription: float | None = None
    """Measured: how many times what they carry under load the nodes of a leaf could send; the median over leaves. 1
    where uplinks limit no pair."""
    design_oversubscription: float | None = None
    """Oversubscription by the widths and speeds of the cables; None if these are unknown."""
    undecided: tuple[str, ...] = ()
    """Leaves whose uplinks carried less than others, and were neither confirmed as slow nor cleared."""
    detectable_ratio: float | None = None
    """An uplink that carries less than its peers' by more than this would have been measured again and named; None
    where there was nothing to compare with."""


class PairVerdict(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One ordered pair: data flows from source to target."""

    source: str
    target: str
    verdict: Verdict
    reason: str
    bandwidth_bytes_per_s: Estimate | None = None
    latency_s: Estimate | None = None
    """One way: half the round trip; the same for both directions."""
    limit: Limit | None = None
    retested: bool = False
    bandwidth_verdict: Verdict | None = None
    """The part of bandwidth in the verdict; None where it is not known apart."""
    latency_verdict: Verdict | None = None
    """The part of latency."""

    @property
    def on_bandwidth(self) -> Verdict:
        """The verdict, but where only latency made the pair slow that on its bandwidth."""
        return self._apart(self.bandwidth_verdict)

    @property
    def on_latency(self) -> Verdict:
        """The verdict, but where only bandwidth made the pair slow that on its latency."""
        return self._apart(self.latency_verdict)

    def _apart(self, own: Verdict | None) -> Verdict:
        return own if own is not None and self.verdict is Verdict.SLOW else self.verdict

    @property
    def limit_bytes_per_s(self) -> float | None:
        """What physics permits between the two; None where it is not known."""
        return self.limit.limit_bytes_per_s if self.limit else None

    @property
    def binding(self) -> str | None:
        """The term that binds the limit."""
        return self.limit.binding if self.limit else None

    @property
    def of_limit(self) -> float | None:
        """Bandwidth as a share of the limit, 0 to 1; None where either is unknown."""
        if self.bandwidth_bytes_per_s is None or self.limit is None:
            return None
        return self.bandwidth_bytes_per_s.value / self.limit.limit_bytes_per_s


class NodeVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """One node: the best that it sent to and received from any partner."""

    node: str
    leaf: str
    verdict: Verdict
    reason: str
    best_out_bytes_per_s: float | None = None
    best_in_bytes_per_s: float | None = None
    best_latency_s: float | None = None


class Power(msgspec.Struct, frozen=True, kw_only=True):
    """What a run could have shown of one metric, as shares of what peers do: 0.03 for 3 % less."""

    metric: str
    effect_ratio: float
    """The practical effect: a smaller loss is not a fault."""
    scatter_ratio: float
    """Standard deviation of a healthy pair."""
    detectable_ratio: float
    """The smallest loss of a node, in both directions, that would have been named with 95 % power."""
    enough: bool
    """False where noise would have hidden a loss of 10 %."""


class Threshold(msgspec.Struct, frozen=True, kw_only=True):
    """A line between good and bad in the survey; what is beyond it was measured again."""

    metric: str
    value: float
    """The value, in the unit of the metric."""
    text: str
    """Which side of it is bad: `suspected below`."""


class VerdictBasis(msgspec.Struct, frozen=True, kw_only=True):
    """What the verdicts on bandwidth rest on."""

    pairs: int = 0
    """Ordered pairs whose bandwidth was measured."""
    with_limit: int = 0
    """Pairs that were compared with their limit."""
    with_peers: int = 0
    """Pairs that were compared with their peers."""
    earlier_runs: int = 0
    """Runs with which the nodes were compared."""
    verified_bytes: int = 0
    """Data that were compared with what was sent, in all kernels."""

    @property
    def with_nothing(self) -> bool:
        """Whether pairs were measured and nothing says what they should deliver."""
        return self.pairs > 0 and not (self.with_limit or self.with_peers or self.earlier_runs)


class Doubt(enum.StrEnum):
    """Why a run without findings is not a PASS, the gravest first."""

    SPEED_GROUPS = "speed-groups"
    """The nodes have two paces, and no reference shows which is right."""
    NODES_OUT_OF_LINE = "nodes-out-of-line"
    """A trial showed nodes that are worse than their peers, and they were not tried often enough to decide."""
    RANKS_OUT_OF_LINE = "ranks-out-of-line"
    """Nodes were worse than their peers with several ranks per node, which is measured only once."""
    UPLINKS_UNDECIDED = "uplinks-undecided"
    STARTS_CRASHED = "starts-crashed"
    """MPI crashed in many starts while ranks waited for a processor, as it does on healthy nodes, too."""
    DATA_UNCHECKED = "data-unchecked"
    """The program that measured did not check the data that it received: nothing shows that they are right."""
    PAST_IN_WAITS = "past-in-waits"
    """Nodes were slower than in the past while their ranks waited for a processor: either may be why."""
    STALLS_IN_WAITS = "stalls-in-waits"
    """Round trips took as long as with a lost packet while their ranks waited for a processor: either may be why."""
    NODES_UNTRIED = "nodes-untried"
    """Nodes were to be compared by trials of themselves, and the time was too short for some of them in these."""
    NOISE_OF_LINKS = "noise-of-links"
    """A node whose link lacks a tenth would not have been named."""
    NOISE_OF_TRIALS = "noise-of-trials"
    """A node that is much worse than its peers in a trial would not have been named."""


class Withheld(msgspec.Struct, frozen=True, kw_only=True):
    """One reason for which a PASS is withheld."""

    doubt: Doubt
    subjects: tuple[str, ...] = ()
    """Nodes, leaves, pairs, trials or programs; empty where the doubt is about the whole run."""


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """All verdicts of a run, the references they were compared with, and the findings, worst first."""

    pairs: tuple[PairVerdict, ...]
    nodes: tuple[NodeVerdict, ...]
    findings: tuple[Finding, ...]
    peers_bandwidth_bytes_per_s: float | None
    """What pairs are compared with: the median over nodes of each node's best pair."""
    peers_latency_s: float | None
    """The median over nodes of each node's least one-way latency; between leaves if such pairs were measured."""
    notes: tuple[str, ...]
    """Sentences that qualify the verdicts: what could not have been seen, what was left out and why."""
    complete: bool
    """Whether all that was planned was measured, nodes aside that do not answer."""
    median_bandwidth_bytes_per_s: float | None = None
    """The median over all ordered pairs that were measured."""
    median_latency_s: float | None = None
    """One way, over all pairs that were measured."""
    design: Design | None = None
    trials: NodeTrials | None = None
    """What each node does by itself; None where that was not measured."""
    loaded: Loaded | None = None
    """What uplinks and the fabric carry while many nodes send at once; None where that was not measured."""
    lost: tuple[NodeState, ...] = ()
    powers: tuple[Power, ...] = ()
    """What the run could have shown, by metric."""
    thresholds: tuple[Threshold, ...] = ()
    populations: tuple[Population, ...] = ()
    """Both paces of the nodes if they have two, the slower first; else empty."""
    crashed_starts: tuple[str, ...] = ()
    """Nodes on which many starts of the probe crashed while ranks waited for a processor."""
    late_pairs: tuple[str, ...] = ()
    """Pairs with round trips as late as after a lost packet, while their ranks waited for a processor."""
    unchecked_program: str = ""
    """Benchmark whose starts measured without checking their data; empty: data were checked, or the probe measured."""
    past: tuple[PastRatio, ...] = ()
    """Every node compared with earlier runs, if there are any: a baseline, or the last runs in a user's own job."""
    compared: VerdictBasis | None = None
    """What the verdicts rest on; None where nothing was judged."""
    spectra: tuple[Spectrum, ...] = ()
    """All pairs of ranks at each number of ranks per node, latency first; empty unless several were asked for."""
    damage: tuple[str, ...] = ()
    """How the run's files differ from those with which it was closed; then nothing else is judged."""

    @property
    def verdict(self) -> Verdict:
        """The verdict of the gravest finding, or INVALID; without findings the most severe of pairs and nodes.

        A node that was drained on purpose or is busy does not count. MEASURED where all would pass and nothing was
        compared with a limit, peers or earlier runs.
        """
        if self.damage:
            return Verdict.INVALID
        if self.findings:
            untrusted = any(pair.verdict is Verdict.INVALID for pair in self.pairs)
            verdicts = [finding.verdict for finding in self.findings]
            return worst([*verdicts, Verdict.INVALID] if untrusted else verdicts)
        excused = {state.node for state in self.lost if not state.fault}
        verdicts = [pair.verdict for pair in self.pairs]
        verdicts += [node.verdict for node in self.nodes if node.node not in excused]
        verdicts += [Verdict.MEASURED] if self.unjudged else []
        return worst([*verdicts, Verdict.INCONCLUSIVE] if self.withheld else verdicts)

    @property
    def unjudged(self) -> bool:
        """Whether pairs were measured, and nothing says what they should deliver or what is wrong with them."""
        return not self.findings and self.compared is not None and self.compared.with_nothing

    @property
    def withheld(self) -> tuple[Withheld, ...]:
        """Why a PASS is withheld, the gravest reason first; empty where nothing is in doubt."""
        trials, groups = self.trials, [node for one in self.populations for node in one.nodes]
        doubts = {
            Doubt.SPEED_GROUPS: groups,
            Doubt.NODES_OUT_OF_LINE: trials.out_of_line if trials else (),
            Doubt.RANKS_OUT_OF_LINE: dict.fromkeys(name for one in self.spectra for name in one.out_of_line),
            Doubt.UPLINKS_UNDECIDED: self.loaded.undecided if self.loaded else (),
            Doubt.STARTS_CRASHED: self.crashed_starts,
            Doubt.DATA_UNCHECKED: [self.unchecked_program] if self.unchecked_program else (),
            Doubt.PAST_IN_WAITS: dict.fromkeys(one.node for one in self.past if one.in_waits),
            Doubt.STALLS_IN_WAITS: self.late_pairs,
            Doubt.NODES_UNTRIED: trials.untried if trials else (),
            Doubt.NOISE_OF_LINKS: [power.metric for power in self.powers if not power.enough],
            Doubt.NOISE_OF_TRIALS: trials.undecided if trials else (),
        }
        return tuple(Withheld(doubt=doubt, subjects=tuple(of)) for doubt, of in doubts.items() if of)

    @property
    def exit_code(self) -> ExitCode:
        """FINDINGS where something is at fault; else INCOMPLETE where numbers are missing, undecided or impossible."""
        if self.damage:
            return ExitCode.INCOMPLETE
        if any(finding.names_fault for finding in self.findings):
            return ExitCode.FINDINGS
        open_verdicts = (Verdict.INVALID, Verdict.INCONCLUSIVE, Verdict.UNSTABLE)
        undecided = any(pair.verdict in open_verdicts for pair in self.pairs)
        return ExitCode.INCOMPLETE if undecided or self.withheld or not self.complete else ExitCode.PASS
