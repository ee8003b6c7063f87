"""Devices of /sys/class/infiniband and their ports, from a frame."""

from seatrial.facts.frame import WHOLE_NUMBER, Frame
from seatrial.model.hca import Hca, Port, PortFamily, PortState
from seatrial.model.unknown import Unknown

INFINIBAND = "/sys/class/infiniband/"


def read_hcas(frame: Frame) -> tuple[tuple[Hca, ...], dict[str, str]]:
    """All devices, sorted by name. Second: name of a fact -> why it is not known."""
    names = sorted(frame.lists.get(INFINIBAND + "*", ()))
    return tuple(Hca(name=name, ports=_ports(frame, name)) for name in names), {}


def _ports(frame: Frame, name: str) -> tuple[Port, ...]:
    here = f"{INFINIBAND}{name}/ports/"
    numbers = [number for number in frame.lists.get(f"{here}*", ()) if WHOLE_NUMBER.fullmatch(number)]
    return tuple(
        Port(
            number=int(number),
            family=PortFamily.INFINIBAND,
            state=port_state(frame.values.get(f"{here}{number}/state")),
        )
        for number in numbers
    )


def port_state(text: str | None) -> PortState | Unknown | None:
    """ "4: ACTIVE" -> ACTIVE: the number of the InfiniBand specification, and its name."""
    if text is None:
        return None
    word = text.partition(":")[2].strip()
    return PortState(word) if word in tuple(PortState) else Unknown(word=text)
