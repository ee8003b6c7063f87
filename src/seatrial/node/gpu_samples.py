"""Samples of GPUs while a program runs on their node: what nvidia-smi prints again and again, and their summary.

Bits of the reasons for a lower clock: nvml.h, nvmlClocksEventReasons.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from statistics import median
from typing import NamedTuple

from seatrial.model.facts import NodeFacts
from seatrial.model.system import LoadedGpu
from seatrial.model.words import natural_key
from seatrial.node.gpus import MEGAHERTZ, pci_address

QUERY = "pci.bus_id,temperature.gpu,clocks.sm,power.draw"
"""What is asked for with --query-gpu, as CSV without a head and units; REASONS follows as the last column."""
REASONS = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")
"""Names of the last column, in later drivers and in earlier ones."""
LINE = re.compile(
    r"([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]), ([^,]{1,40}), ([^,]{1,40}), ([^,]{1,40}), ([^,]{1,40})"
)
NUMBER = re.compile(r"\d{1,9}(?:\.\d{1,6})?")
BITS = re.compile(r"0x[0-9A-Fa-f]{1,16}")
IDLE = 0x1
SLOWDOWNS = {
    0x4: "sw_power_cap", 0x8: "hw_slowdown", 0x20: "sw_thermal_slowdown", 0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
}  # fmt: skip


class GpuSample(NamedTuple):
    """One GPU at one moment; None: not reported."""

    address: str
    celsius: float | None
    hertz: float | None
    watts: float | None
    reasons: int

    @property
    def slowdowns(self) -> tuple[str, ...]:
        """The active reasons for a lower clock, in nvidia-smi's words, without idleness and settings."""
        return tuple(name for bit, name in SLOWDOWNS.items() if self.reasons & bit)


def gpu_samples(text: str) -> list[GpuSample]:
    """All samples in a text; lines of another form, as of messages and of a line that was cut off, are left out."""
    samples = []
    for line in text.splitlines():
        if (match := LINE.fullmatch(line.strip())) and BITS.fullmatch(match[5]):
            celsius, megahertz, watts = (
                float(cell) if NUMBER.fullmatch(cell) else None for cell in match.group(2, 3, 4)
            )
            hertz = None if megahertz is None else megahertz * MEGAHERTZ
            samples.append(GpuSample(pci_address(match[1]), celsius, hertz, watts, int(match[5], 16)))
    return samples


def loaded_gpus(texts: Iterable[tuple[str, str]], facts: Mapping[str, NodeFacts]) -> tuple[LoadedGpu, ...]:
    """A summary for each GPU of the samples in which it was not idle. `texts`: node and samples of each start."""
    by_gpu: dict[tuple[str, str], list[GpuSample]] = {}
    for node, text in texts:
        for sample in gpu_samples(text):
            if not sample.reasons & IDLE:
                by_gpu.setdefault((node, sample.address), []).append(sample)
    labels = {(node, gpu.address): gpu.label for node, of_node in facts.items() for gpu in of_node.gpus}
    return tuple(
        _summary(node, labels.get((node, address), f"GPU {address}"), samples)
        for (node, address), samples in sorted(by_gpu.items(), key=lambda each: (natural_key(each[0][0]), each[0][1]))
    )


def _summary(node: str, gpu: str, samples: list[GpuSample]) -> LoadedGpu:
    celsius = [sample.celsius for sample in samples if sample.celsius is not None]
    hertz = [sample.hertz for sample in samples if sample.hertz is not None]
    watts = [sample.watts for sample in samples if sample.watts is not None]
    slowed = Counter(name for sample in samples for name in sample.slowdowns)
    return LoadedGpu(
        node=node,
        gpu=gpu,
        samples=len(samples),
        celsius=max(celsius, default=None),
        hertz=median(hertz) if hertz else None,
        least_hz=min(hertz, default=None),
        watts=median(watts) if watts else None,
        slowdowns={name: number / len(samples) for name, number in slowed.items()},
    )
