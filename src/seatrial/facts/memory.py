"""Memory modules and their errors, from a frame."""

from seatrial.facts.frame import Frame
from seatrial.model.memory import MemoryFacts


def read_memory(frame: Frame) -> tuple[MemoryFacts, dict[str, str]]:
    """The memory of a frame. Second: name of a fact, with the group in front of it -> why it is not known."""
    return MemoryFacts(), {}
