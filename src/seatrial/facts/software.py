"""Slurm, MPI and transport libraries, from a frame."""

from seatrial.facts.frame import Frame
from seatrial.model.system import SoftwareFacts


def read_software(frame: Frame) -> tuple[SoftwareFacts, dict[str, str]]:
    """The software of a frame. Second: name of a fact, with the group in front of it -> why it is not known."""
    return SoftwareFacts(), {}
