"""Findings on wrong results: of which kernels, on which ranks, and which parts can have caused them."""

import shlex
from collections.abc import Iterator, Sequence

from seatrial.model.node_trials import NodeFigures, WrongResult
from seatrial.model.subject import CLUSTER, Subject, node
from seatrial.model.verdict import Finding, FindingKind
from seatrial.model.words import MOST_NAMED, count, natural_sorted, some
from seatrial.pairs.node_rounds import COLLECTIVE_KERNELS
from seatrial.pairs.storage_rounds import STORAGE_KERNELS

MOST_RANKS = 8
EXACT = "Every result is known exactly, so this is silent data corruption and no noise."


def wrong_results(figures: Sequence[NodeFigures]) -> Iterator[Finding]:
    """One for each node that computed wrong results by itself; one for all that got them in operations together.

    An operation of several nodes carries the data of each over the network to the others: whose data were wrong is not
    known from it.
    """
    together = [each for each in figures if each.wrong_bytes and all(map(_of_several, each.wrong))]
    yield from (_alone(each) for each in figures if each.wrong_bytes and each not in together)
    if together:
        yield _together(together)


def _of_several(wrong: WrongResult) -> bool:
    return len(wrong.nodes) > 1 and wrong.kernel in COLLECTIVE_KERNELS


def _alone(figures: NodeFigures) -> Finding:
    """A node that gave wrong results without any other node."""
    kernels = " and ".join(str(wrong.kernel) for wrong in figures.wrong)
    local = {wrong.kernel for wrong in figures.wrong if not _of_several(wrong)}
    of_storage = local <= STORAGE_KERNELS
    causes = (
        "The file system, the way to it, or the memory or a processor of the node"
        if of_storage
        else ("Its memory or a processor")
    )
    separate = (
        "Try memory and arithmetic alone (seatrial nodes --trials memory,arithmetic): if these are right, check the "
        "file system and its network, and read the same file on another node."
        if of_storage
        else "Run the trial again, test its memory (memtest86+), look for machine checks (rasdaemon, mcelog), and "
        "replace the module or the processor that these name."
    )
    return Finding(
        kind=FindingKind.WRONG_RESULT,
        subject=node(figures.node),
        verdict=FindingKind.WRONG_RESULT.verdict,
        statement=f"{count(figures.wrong_bytes, 'byte')} of the results of {kernels} on {figures.node} are wrong. "
        f"{EXACT} {causes} can be the cause.",
        remedy="Take the node out of service. Use nothing that it computed until this is explained. " + separate,
        brief=f"wrong results of {kernels}",
    )


def _together(figures: Sequence[NodeFigures]) -> Finding:
    """Wrong results of operations in which several nodes take part."""
    wrong = [result for each in figures for result in each.wrong]
    kernels = " and ".join(dict.fromkeys(str(result.kernel) for result in wrong))
    ranks = natural_sorted({rank for result in wrong for rank in result.ranks})
    nodes = natural_sorted({name for result in wrong for name in result.nodes})
    subjects = [node(each.node) for each in figures]
    subject: Subject = subjects[0] if len(subjects) <= MOST_NAMED else CLUSTER
    wrong_bytes = sum(each.wrong_bytes for each in figures)
    names = some(nodes, MOST_RANKS)
    listed = shlex.quote(",".join(nodes)) if len(nodes) <= MOST_RANKS else "NODES"
    return Finding(
        kind=FindingKind.WRONG_RESULT,
        subject=subject,
        verdict=FindingKind.WRONG_RESULT.verdict,
        ambiguous_with=tuple(subjects[1:]) if subject is not CLUSTER else (),
        statement=f"{count(wrong_bytes, 'byte')} of the results of {kernels} are wrong on "
        f"{count(len(ranks), 'rank')}: {some(ranks, MOST_RANKS)}. {EXACT} {count(len(nodes), 'node')} took part "
        f"({names}): a processor or the memory of any of them can be the cause, and so can the network "
        "between these nodes.",
        remedy="Use nothing that these nodes computed until this is explained. First `seatrial nodes --nodes "
        f"{listed} --trials memory,arithmetic`, which computes on each node without the network: wrong results there "
        f"are of its memory or a processor. If there are none, `seatrial check --nodes {listed} --verify`, which "
        "compares data that were sent: wrong ones there name the part of the network.",
        brief=f"wrong results of {kernels}",
    )
