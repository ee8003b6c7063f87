"""The kernel's settings, from a frame."""

from seatrial.facts.frame import Frame
from seatrial.model.system import KernelFacts


def read_kernel(frame: Frame) -> tuple[KernelFacts, dict[str, str]]:
    """The settings of a frame. Second: name of a fact, with the group in front of it -> why it is not known."""
    return KernelFacts(), {}
