"""smt-differs: simultaneous multithreading is on here and off on the peers, or the other way round."""

from collections.abc import Iterator

from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation
from seatrial.rules.peers import unlike

REMEDY = (
    "Set it as on the other nodes, in the BIOS or by /sys/devices/system/cpu/smt/control, and hold it against "
    "what slurm.conf says (ThreadsPerCore): binding by number goes to other cores where it differs."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Neither is wrong by itself; to differ is."""
    return unlike(
        readings, "SMT", lambda facts: facts.processor.smt_active, REMEDY, show=lambda smt: "on" if smt else "off"
    )


RULE = Rule(kind=FindingKind.SMT_DIFFERS, title="SMT differs", look=look)
