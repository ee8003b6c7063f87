"""Frequencies, governors, idle states and instruction sets, from a frame."""

from seatrial.facts.frame import Frame
from seatrial.model.processor import ProcessorFacts


def read_processor(frame: Frame) -> tuple[ProcessorFacts, dict[str, str]]:
    """The processors of a frame. Second: name of a fact, with the group in front of it -> why it is not known."""
    return ProcessorFacts(), {}
