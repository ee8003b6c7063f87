"""What of a simulated fabric can be at fault: the same parts as of a real one."""

from seatrial.fabric.parts import FEWEST_CABLES, Part, PartKind, Parts, Way, merged

__all__ = ["FEWEST_CABLES", "Part", "PartKind", "Parts", "Way", "merged"]
