"""Maps that are large in one direction only: what is found in them takes time in proportion to their lines."""

from collections.abc import Callable, Iterator

import pytest

from seatrial.commands.fabric.view import map_report
from seatrial.fabric.ibnetdiscover import parse_fabric
from seatrial.fabric.map_check import check_map
from seatrial.render.text import as_text
from tests.support.processor_time import within


def alone(adapters: int) -> str:
    """Adapters without cables, but for one cable."""
    lines = ['Switch\t2 "S-01"\t\t# "leaf" base port 0 lid 1 lmc 0', '[1]\t"H-ff"[1](1)\t\t# "m HCA-1" lid 2 4xEDR', ""]
    for number in range(adapters):
        lines += [f'Ca\t1 "H-{number:016x}"\t\t# "n{number} HCA-1"', ""]
    return "\n".join(lines)


def tree(leaves: int, spines: int, slow: Callable[[int, int], bool], there: Callable[[int, int], bool]) -> str:
    """Leaves with an adapter each, and cables to all spines that are there."""
    return "\n".join(_lines(leaves, spines, slow, there))


def _lines(
    leaves: int, spines: int, slow: Callable[[int, int], bool], there: Callable[[int, int], bool]
) -> Iterator[str]:
    def rate(leaf: int, spine: int) -> str:
        return "4xDDR" if slow(leaf, spine) else "4xEDR"

    for leaf in range(leaves):
        yield f'Switch\t{spines + 1} "S-1{leaf:08x}"\t\t# "leaf{leaf}" base port 0 lid {leaf + 1} lmc 0'
        for spine in range(spines):
            if there(leaf, spine):
                yield f'[{spine + 1}]\t"S-2{spine:08x}"[{leaf + 1}]\t\t# "spine{spine}" lid 1 {rate(leaf, spine)}'
        yield f'[{spines + 1}]\t"H-{leaf:016x}"[1](1)\t\t# "n{leaf} HCA-1" lid 1 4xEDR'
        yield ""
    for spine in range(spines):
        yield f'Switch\t{leaves} "S-2{spine:08x}"\t\t# "spine{spine}" base port 0 lid 1 lmc 0'
        for leaf in range(leaves):
            if there(leaf, spine):
                yield f'[{leaf + 1}]\t"S-1{leaf:08x}"[{spine + 1}]\t\t# "leaf{leaf}" lid 1 {rate(leaf, spine)}'
        yield ""


@pytest.mark.parametrize(
    "made",
    [
        lambda: alone(30_000),
        lambda: tree(2500, 10, lambda _, spine: spine % 3 == 0, lambda *_: True),
        lambda: tree(10, 2500, lambda leaf, spine: (7 * leaf + 3 * spine) % 5 < 2, lambda *_: True),
        lambda: tree(2500, 10, lambda *_: False, lambda leaf, spine: (7 * leaf + 3 * spine) % 10 > 1),
    ],
    ids=("alone", "slow switches", "slow cables", "missing"),
)
def test_a_large_map_does_not_take_long(made: Callable[[], str]) -> None:
    text = made()
    with within(6):
        fabric = parse_fabric(text)
        check_map(fabric)
        as_text(map_report(fabric, None))


def test_more_switches_than_can_be_compared_are_a_finding() -> None:
    """The square of their number would fill the memory."""
    fabric = parse_fabric(tree(5_000, 1, lambda *_: False, lambda *_: True))
    assert any("5000 switches are in one tier" in finding.statement for finding in check_map(fabric))
