"""One reason for which a job stands in the queue."""

import msgspec


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """One reason. `hopeless`: no waiting helps until somebody changes something."""

    look: str
    meaning: str
    remedy: str = ""
    hopeless: bool = False
