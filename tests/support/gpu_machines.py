"""GPUs of made-up nodes, and for every kind of finding on GPUs readings that fire it on n2 and readings that do not."""

from typing import Any

from seatrial.model.facts import Gpu, PciDevice, PciKind
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings
from tests.support.facts_examples import CARD, all_alike, cluster, device, hop, server, settings

SWITCH, ROOT = "0000:10:00.0", "0000:00:01.0"


def gpu(index: int, **changes: Any) -> Gpu:
    """A healthy GPU of a node of four, under load."""
    healthy: dict[str, Any] = {
        "address": f"0000:{0x11 + index:02x}:00.0", "index": index, "name": "NVIDIA H100", "driver": "550.54.15",
        "firmware": "550.54.15", "vbios": "96.00.74.00.01", "memory_bytes": 80 << 30, "persistence": True, "mig": False,
        "ecc": True, "uncorrected_errors": 0, "repair_pending": False, "link_generation": 5, "link_generation_max": 5,
        "link_width": 16, "link_width_max": 16, "power_limit_w": 700.0, "clock_max_hz": 1.98e9, "state": "P0",
        "use": 0.9, "nvlinks": (25e9,) * 4,
    }  # fmt: skip
    return Gpu(**{**healthy, **changes})


def gpus(odd: int = -1, number: int = 4, **changes: Any) -> tuple[Gpu, ...]:
    """As many GPUs, of which one is changed."""
    return tuple(gpu(index, **(changes if index == odd else {})) for index in range(number))


def of_n2(others: tuple[Gpu, ...] = gpus(), **n2: Any) -> Readings:
    """Four nodes with these GPUs, of which n2 has other facts."""
    return Readings(facts=cluster(every={"gpus": others}, odd=n2))


def on_bus(index: int) -> PciDevice:
    """What the bus shows of a GPU."""
    address = gpu(index).address
    return device(
        address, hop(ROOT), own=hop(address), kind=PciKind.GPU, vendor=0x10DE, device=0x2330, class_code=0x030200
    )


def apart(path: str) -> dict[str, Any]:
    """A node whose GPU 0 has this path to its adapter."""
    return {"gpus": gpus(0, 1, paths={"mlx5_0": path})}


GPU_FIRING: dict[str, Readings] = {
    FindingKind.GPU_FAULT: of_n2(gpus=gpus(3, uncorrected_errors=2)),
    FindingKind.GPU_MISSING: of_n2(gpus=gpus(number=3)),
    FindingKind.GPU_LINK_DEGRADED: of_n2(gpus=gpus(1, link_generation=3)),
    FindingKind.NVLINK_DOWN: of_n2(gpus=gpus(2, nvlinks=(25e9, 0.0, 25e9, 25e9))),
    FindingKind.GPU_SLOWED: of_n2(gpus=gpus(0, slowdowns=("hw_thermal_slowdown",), temperature_celsius=91.0)),
    FindingKind.GPU_PATH_DIFFERS: Readings(facts=cluster(every=apart("PIX"), odd=apart("SYS"))),
    FindingKind.GPU_PERSISTENCE_OFF: of_n2(gpus=gpus(3, persistence=False)),
    FindingKind.GPU_SETTINGS_DIFFER: of_n2(gpus=gpus(3, power_limit_w=500.0)),
    FindingKind.GPU_SOFTWARE_DIFFERS: of_n2(gpus=tuple(gpu(index, driver="535.1") for index in range(4))),
}

GPU_SILENT: dict[str, Readings] = {
    FindingKind.GPU_FAULT: of_n2(gpus=gpus(3, uncorrected_errors=None, repair_pending=None)),
    FindingKind.GPU_MISSING: of_n2(gpus=()),  # no answer: nothing is known
    # idle GPUs lower their links
    FindingKind.GPU_LINK_DEGRADED: of_n2(gpus=gpus(1, link_generation=1, state="P8", use=0.0)),
    FindingKind.NVLINK_DOWN: of_n2(gpus=gpus(2, nvlinks=(0.0,) * 4)),  # a node without bridges
    FindingKind.GPU_SLOWED: of_n2(gpus=gpus(0, slowdowns=("sw_power_cap", "gpu_idle"))),
    FindingKind.GPU_PATH_DIFFERS: Readings(facts=cluster(every=apart("SYS"))),
    FindingKind.GPU_PERSISTENCE_OFF: of_n2(gpus=gpus(3, persistence=None)),
    FindingKind.GPU_SETTINGS_DIFFER: of_n2(gpus=gpus(3, power_limit_w=None)),
    FindingKind.GPU_SOFTWARE_DIFFERS: of_n2(gpus=gpus(3, firmware="")),
}

LOST = Readings(
    facts=cluster(every={"gpus": gpus(), "pci": (*server().pci, *map(on_bus, range(4)))}, odd={"gpus": gpus(number=3)})
)
"""The driver's program lists three GPUs on n2, and the bus has four."""
TRANSLATING = all_alike(gpus=gpus(), settings=settings(command_line="intel_iommu=on mitigations=off"))
THROUGH = all_alike(gpus=gpus(), settings=settings(command_line="intel_iommu=on iommu=pt"))
BELOW_ONE_SWITCH = all_alike(
    gpus=(gpu(0),),
    pci=(
        device(CARD, hop(ROOT), own=hop(CARD), names=("mlx5_0",)),
        device(gpu(0).address, hop(ROOT), own=hop(gpu(0).address), kind=PciKind.GPU),
    ),
)
