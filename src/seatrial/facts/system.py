"""Firmware, limits, clock, mounts and sensors, from a frame."""

from seatrial.facts.frame import Frame
from seatrial.model.system import SystemFacts


def read_system(frame: Frame) -> tuple[SystemFacts, dict[str, str]]:
    """The system of a frame. Second: name of a fact, with the group in front of it -> why it is not known."""
    return SystemFacts(), {}
