"""Rounds of groups, carried out whatever happens: a round that is lost costs the group at fault, not the others."""

from collections.abc import Iterable

import msgspec

from seatrial.driver.measurer import Measurer
from seatrial.model.errors import ProbeLost, RoundRefused
from seatrial.model.measurement import GroupRound
from seatrial.model.placement import node_of
from seatrial.model.words import some

MOST_NAMED = 4
"""Ranks of a group that a remark names."""


def measure_groups(measurer: Measurer, wanted: GroupRound, again: bool = False) -> None:
    """One round of groups of nodes that still answer; what is lost with a session is measured again.

    Where the probe is lost, silent nodes are dropped. The rest of the round is repeated in halves until the group that
    cannot be measured is alone and was lost twice (`again`); a remark names it. Raises SeatrialError where no session
    starts any more.
    """
    groups = _open(measurer, wanted.groups)
    if not groups:
        return
    first = len(measurer.group_measurements)
    try:
        measurer.attempt(msgspec.structs.replace(wanted, groups=groups))
        return
    except RoundRefused as error:
        measurer.remarks.append(error.what)
        return
    except ProbeLost as error:
        lost = error
    dropped = measurer.drop_silent("stopped answering in mid-run")
    done = {one.nodes for one in measurer.group_measurements[first:]}
    left = tuple(group for group in groups if group not in done)
    alone = len(groups) == len(left) == 1 and not dropped
    if alone and again:
        names = some(left[0], MOST_NAMED)
        measurer.remarks.append(f"{wanted.shape.kernel} was not measured on {names}: {lost.what}")
        return
    half = len(left) if dropped or len(left) == 1 else (len(left) + 1) // 2
    for part in (left[:half], left[half:]):
        if part:
            measure_groups(measurer, msgspec.structs.replace(wanted, groups=part), again=alone)


def _open(measurer: Measurer, groups: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    lost = measurer.lost.keys()
    return tuple(group for group in groups if not any(name in lost or node_of(name) in lost for name in group))
