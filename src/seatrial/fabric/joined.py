"""Devices that cables join, directly or over others."""

from collections.abc import Iterable, Mapping


def joined(near: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Device -> one device, the same for all that are joined. `near`: the devices at the cables of each."""
    group_of: dict[str, str] = {}
    for first in near:
        reached = [] if first in group_of else [first]
        while reached:
            device = reached.pop()
            if device not in group_of:
                group_of[device] = first
                reached += near[device]
    return group_of
