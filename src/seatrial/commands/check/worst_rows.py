"""Which rows a table shows first, and which it leaves out."""

from collections.abc import Sequence

from seatrial.commands.check.heatmap import share
from seatrial.model.judgement import Judgement, NodeVerdict, PairVerdict
from seatrial.model.verdict import Verdict
from seatrial.model.words import NaturalKey, natural_key


def pairs_worst_first(judgement: Judgement, *, odd: bool = False) -> list[PairVerdict]:
    """Gravest verdict first, then the least share of the reference, then by name; `odd`: only what did not pass."""

    def key(pair: PairVerdict) -> tuple[int, float, NaturalKey, NaturalKey]:
        part = share(pair, judgement.peers_bandwidth_bytes_per_s)
        return -pair.verdict.gravity, float("inf") if part is None else part, *_names(pair)

    return sorted((pair for pair in judgement.pairs if not odd or pair.verdict is not Verdict.PASS), key=key)


def nodes_worst_first(nodes: Sequence[NodeVerdict]) -> list[NodeVerdict]:
    """Gravest verdict first, then the least bandwidth in either direction, then by name."""

    def key(node: NodeVerdict) -> tuple[int, float, NaturalKey]:
        known = [value for value in (node.best_out_bytes_per_s, node.best_in_bytes_per_s) if value is not None]
        return -node.verdict.gravity, min(known, default=float("inf")), natural_key(node.node)

    return sorted(nodes, key=key)


def unexplained(judgement: Judgement, pairs: Sequence[PairVerdict]) -> list[PairVerdict]:
    """Pairs that did not pass and that no finding names."""
    explained = {name for finding in judgement.findings for name in finding.pairs}
    return [
        pair for pair in pairs if pair.verdict is not Verdict.PASS and f"{pair.source}>{pair.target}" not in explained
    ]


def _names(pair: PairVerdict) -> tuple[NaturalKey, NaturalKey]:
    return natural_key(pair.source), natural_key(pair.target)
