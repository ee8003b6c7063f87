"""What processors are known to have, by their numbers. Nominal, all of it: no software reads it from the machine.

Numbers of families and models: Linux, arch/x86/include/asm/intel-family.h and the AMD64 processor programming
references. Memory and links: the vendors' product pages, the maximum that any processor of the line supports.
"""

import re

import msgspec

from seatrial.model.facts import NodeFacts


class SocketLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link between sockets: its kind, how fast it can be, what a transfer carries, and how many there can be."""

    kind: str
    transfers_per_s: float
    bytes_per_transfer: float
    links: int


class Microarchitecture(msgspec.Struct, frozen=True, kw_only=True):
    """One line of processors."""

    name: str
    vendor: str
    family: int = 0
    models: tuple[int, ...] = ()
    steppings: range | None = None
    called: str = ""
    """A pattern that the processor's name must match; for Arm, implementer and part."""
    channels: int | None = None
    memory_transfers_per_s: float | None = None
    memory_bytes_per_s: float | None = None
    """Where memory is on the package and has no channels of 8 bytes."""
    socket_link: SocketLink | None = None
    flops_per_cycle: int | None = None
    """Double precision, per core."""


def _qpi(transfers_per_s: float) -> SocketLink:
    return SocketLink(kind="QPI", transfers_per_s=transfers_per_s, bytes_per_transfer=2, links=2)


def _upi(transfers_per_s: float, links: int) -> SocketLink:
    return SocketLink(kind="UPI", transfers_per_s=transfers_per_s, bytes_per_transfer=2, links=links)


def _xgmi(transfers_per_s: float) -> SocketLink:
    return SocketLink(kind="xGMI", transfers_per_s=transfers_per_s, bytes_per_transfer=2, links=4)


def _xeon(name: str, model: int, called: str, channels: int, memory: float, link: SocketLink | None, flops: int,
          steppings: range | None = None) -> Microarchitecture:  # fmt: skip
    return Microarchitecture(
        name=name, vendor="GenuineIntel", family=6, models=(model,), steppings=steppings, called=called,
        channels=channels, memory_transfers_per_s=memory, socket_link=link, flops_per_cycle=flops,
    )  # fmt: skip


def _epyc(name: str, family: int, models: tuple[int, ...], channels: int, memory: float, link: float, flops: int,
          called: str = "EPYC") -> Microarchitecture:  # fmt: skip
    return Microarchitecture(
        name=name, vendor="AuthenticAMD", family=family, models=models, called=called, channels=channels,
        memory_transfers_per_s=memory, socket_link=_xgmi(link), flops_per_cycle=flops,
    )  # fmt: skip


def _arm(
    name: str, implementer: str, part: str, flops: int, memory_bytes_per_s: float | None = None
) -> Microarchitecture:
    return Microarchitecture(name=name, vendor="", called=f"implementer {implementer} part {part}$",
                             flops_per_cycle=flops, memory_bytes_per_s=memory_bytes_per_s)  # fmt: skip


SCALABLE = "Platinum|Gold|Silver|Bronze"
ONE_FMA = "Gold 5(?![12]22)|Silver|Bronze"
"""Of the first two generations of Xeon Scalable these have one AVX-512 unit; the 5122 and the 5222 have two."""

HBM2_STACK_BYTES_PER_S = 1024 / 8 * 2.0e9
"""1024 pins (JESD235) at 2 Gb/s."""

TABLE = (
    _xeon("Nehalem-EP", 26, "X55|E55|L55|W55", 3, 1333e6, _qpi(6.4e9), 4),
    _xeon("Westmere-EP", 44, "X56|E56|L56|W56", 3, 1333e6, _qpi(6.4e9), 4),
    _xeon("Sandy Bridge-EP", 45, "E5-", 4, 1600e6, _qpi(8e9), 8),
    _xeon("Ivy Bridge-EP", 62, "E5-", 4, 1866e6, _qpi(8e9), 8),
    _xeon("Haswell-EP", 63, "E5-", 4, 2133e6, _qpi(9.6e9), 16),
    _xeon("Broadwell-EP", 79, "E5-", 4, 2400e6, _qpi(9.6e9), 16),
    _xeon("Skylake-SP, one FMA unit", 85, ONE_FMA, 6, 2666e6, _upi(10.4e9, 3), 16, range(5)),
    _xeon("Skylake-SP", 85, SCALABLE, 6, 2666e6, _upi(10.4e9, 3), 32, range(5)),
    _xeon("Cascade Lake-SP, one FMA unit", 85, ONE_FMA, 6, 2933e6, _upi(10.4e9, 3), 16, range(5, 8)),
    _xeon("Cascade Lake-AP", 85, "Platinum 92", 12, 2933e6, _upi(10.4e9, 4), 32, range(5, 8)),
    _xeon("Cascade Lake-SP", 85, SCALABLE, 6, 2933e6, _upi(10.4e9, 3), 32, range(5, 8)),
    _xeon("Cooper Lake", 85, SCALABLE, 6, 3200e6, _upi(10.4e9, 6), 32, range(10, 12)),
    _xeon("Ice Lake-SP", 106, SCALABLE, 8, 3200e6, _upi(11.2e9, 3), 32),
    _xeon("Sapphire Rapids", 143, SCALABLE, 8, 4800e6, _upi(16e9, 4), 32),
    _xeon("Emerald Rapids", 207, SCALABLE, 8, 5600e6, _upi(20e9, 4), 32),
    _xeon("Granite Rapids-AP", 173, r"\b69\d\d", 12, 8800e6, _upi(24e9, 6), 32),
    Microarchitecture(name="Knights Landing", vendor="GenuineIntel", family=6, models=(87,), flops_per_cycle=32),
    _epyc("Naples", 23, (1,), 8, 2666e6, 10.667e9, 8),
    _epyc("Rome", 23, (49,), 8, 3200e6, 18e9, 16),
    _epyc("Milan", 25, (1,), 8, 3200e6, 18e9, 16),
    _epyc("Genoa", 25, (17,), 12, 4800e6, 32e9, 16),
    _epyc("Bergamo", 25, (160,), 12, 4800e6, 32e9, 16, "EPYC 97"),
    _epyc("Turin", 26, (2, 17), 12, 6400e6, 32e9, 32),
    _arm("A64FX", "0x46", "0x001", 32, 4 * HBM2_STACK_BYTES_PER_S),
    _arm("Neoverse N1", "0x41", "0xd0c", 8),
    _arm("Neoverse V1", "0x41", "0xd40", 16),
    _arm("Neoverse V2", "0x41", "0xd4f", 16),
    _arm("ThunderX2", "0x43", "0x0af", 8),
    Microarchitecture(name="POWER9", vendor="", called="^POWER9", flops_per_cycle=8),
)


def recognise(facts: NodeFacts) -> Microarchitecture | None:
    """The line that a node's processors belong to; None where no line of the table matches."""
    return next((line for line in TABLE if _is(line, facts)), None)


def _is(line: Microarchitecture, facts: NodeFacts) -> bool:
    seen = facts.processor
    if line.vendor and (seen.vendor, seen.family) != (line.vendor, line.family):
        return False
    if line.models and seen.model_number not in line.models:
        return False
    if line.steppings is not None and seen.stepping not in line.steppings:
        return False
    return re.search(line.called, facts.cpu_model, re.IGNORECASE) is not None
