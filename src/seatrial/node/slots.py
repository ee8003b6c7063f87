"""Which socket and which memory channel a slot belongs to, as far as the firmware's words for it tell."""

import re
from collections.abc import Sequence
from typing import NamedTuple

CHANNEL = re.compile(r"(?<![A-Z])CH(?:AN(?:NEL)?)?[ _#-]*([A-Z]|[0-9]{1,2})(?![A-Z0-9])")
"""P0 CHANNEL A; NODE 0 CHANNEL 0 DIMM 0; P0_Node0_Channel0_Dimm0; Controller0-ChannelA-DIMM0; CPU0_IMC0_CH1."""
CONTROLLER = re.compile(r"(?<![A-Z])(?:I?MC|CONTROLLER)[ _#-]*([0-9]{1,2})(?![0-9])")
SOCKET = re.compile(r"(?<![A-Z0-9])(?:PROC|CPU|SOCKET|P)[ _#-]*([0-9]{1,2})(?![0-9])")
NODE = re.compile(r"(?<![A-Z])NODE[ _#-]*([0-9]{1,2})(?![0-9])")
LETTER = re.compile(r"(?:DIMM|(?<![A-Z])P[0-9]|CPU[0-9])[ _#-]*([A-Z])([0-9]{1,2})$")
"""CPU1_DIMM_A1, P1-DIMMA1, DIMM_P0_A0, DIMM_A1: channel A; or, the last one on older Dells, socket A."""
DELL = re.compile(r"([A-H])([0-9]{1,2})")
"""A1: the letter is the socket, the number runs through its slots."""
SLOTS_OF_A_CHANNEL = 3
"""At most: DDR3 had three, DDR4 and DDR5 have two."""


class Place(NamedTuple):
    """Socket as numbered by the firmware (None: not told), and channel in words ("" likewise)."""

    socket: int | None = None
    channel: str = ""


def places(slots: Sequence[tuple[str, str]]) -> tuple[Place, ...]:
    """Of each slot, of locator and bank locator, its place; sockets from 0 on, as the kernel's packages mostly are.

    A letter after DIMM is a channel's, unless the numbers behind it go beyond the slots that a channel can have: then
    it is a socket's, and the channel is not told. Words that follow no pattern known here tell nothing.
    """
    upper = [(locator.strip().upper(), bank.strip().upper()) for locator, bank in slots]
    letters_are_sockets = any(
        int(match[2]) > SLOTS_OF_A_CHANNEL for locator, _ in upper if (match := LETTER.search(locator))
    )
    found = [_place(locator, bank, letters_are_sockets) for locator, bank in upper]
    sockets = [place.socket for place in found if place.socket is not None]
    first = 1 if sockets and min(sockets) == 1 else 0
    return tuple(
        _named(place._replace(socket=None if place.socket is None else place.socket - first)) for place in found
    )


def _place(locator: str, bank: str, letters_are_sockets: bool) -> Place:
    if match := DELL.fullmatch(locator):
        return Place(ord(match[1]) - ord("A"))
    both = f"{locator} {bank}"
    socket = SOCKET.search(both)
    number = int(socket[1]) if socket else None
    if channel := CHANNEL.search(locator) or CHANNEL.search(bank):
        return Place(number, " ".join([*_words(both), channel[1]]))
    letter = LETTER.search(locator)
    if letter and letters_are_sockets:
        return Place(number if number is not None else ord(letter[1]) - ord("A"))
    return Place(number, letter[1] if letter else "")


def _words(both: str) -> list[str]:
    """The node and the controller that a channel is of, where they are told."""
    node, controller = NODE.search(both), CONTROLLER.search(both)
    return [*([f"N{node[1]}"] if node else []), *([f"MC{controller[1]}"] if controller else [])]


def _named(place: Place) -> Place:
    """With the socket in front of the channel: every socket has a channel A."""
    if place.channel and place.socket is not None:
        return place._replace(channel=f"P{place.socket} {place.channel}")
    return place
