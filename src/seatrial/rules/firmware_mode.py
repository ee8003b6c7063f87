"""firmware-mode: memory or cluster mode other than the scheduler's features promise."""

from collections.abc import Iterator

from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation

MEMORY_MODES = {
    "flat": "flat",
    "cache": "cache",
    "hybrid": "hybrid",
    "hybrid25": "hybrid",
    "hybrid50": "hybrid",
    "equal": "hybrid",
    "split": "hybrid",
}
CLUSTER_MODES = {
    "quad": "quadrant",
    "quadrant": "quadrant",
    "hemi": "hemisphere",
    "hemisphere": "hemisphere",
    "a2a": "all2all",
    "all2all": "all2all",
    "alltoall": "all2all",
    "all-to-all": "all2all",
    "snc2": "snc2",
    "snc-2": "snc2",
    "snc4": "snc4",
    "snc-4": "snc4",
    "nps0": "nps0",
    "nps1": "nps1",
    "nps2": "nps2",
    "nps4": "nps4",
}
"""Slurm's words (knl.conf: AllowMCDRAM, AllowNUMA) and the makers', each -> one name."""

REMEDY = (
    "Set the mode in the BIOS (or let Slurm do it by a restart: node_features/knl_generic) as the feature says, "
    "or correct the node's features (scontrol update NodeName=NODE ActiveFeatures=...)."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Only where the features name one mode: a list of several says what could be, not what is."""
    for node, known in readings.facts.items():
        firmware = known.system.firmware
        words = [word.lower() for word in readings.features.get(node, ())]
        for what, modes, told in (
            ("memory mode", MEMORY_MODES, firmware.memory_mode),
            ("cluster mode", CLUSTER_MODES, firmware.cluster_mode),
        ):
            claimed = {modes[word] for word in words if word in modes}
            actual = modes.get(told.lower())
            if actual is not None and len(claimed) == 1 and actual not in claimed:
                says = f"its {what} is {actual}, where the scheduler's features say {claimed.pop()}"
                yield Violation(node=node, says=says, key=says, remedy=REMEDY)


RULE = Rule(
    kind=FindingKind.FIRMWARE_MODE,
    title="mode unlike the scheduler's features",
    look=look,
    knows=lambda facts: bool(facts.system.firmware.memory_mode or facts.system.firmware.cluster_mode),
)
