"""GPUs of a node: what nvidia-smi prints, from a frame of facts or from a recorded text; and those of AMD.

What it prints again and again while a program runs becomes a summary. Bits of the reasons for a lower clock: nvml.h,
nvmlClocksEventReasons.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from statistics import median
from typing import NamedTuple
from xml.etree import ElementTree as ET

import msgspec

from seatrial.model.facts import Gpu, NodeFacts
from seatrial.model.system import LoadedGpu
from seatrial.model.words import natural_key
from seatrial.node.amd_gpus import AMD_COMMANDS, amd_gpus
from seatrial.node.frame import PLAIN_FACTS, FactsFormatError, Frame, answer, why_no_answer
from seatrial.node.hwloc_devices import xml_root

SMI = "nvidia-smi -q -x"
TOPOLOGY, LINKS, LINK_ERRORS = "nvidia-smi topo -m", "nvidia-smi nvlink -s", "nvidia-smi nvlink -e"
DOCTYPE = re.compile(r"""<!DOCTYPE\s+nvidia_smi_log\s+SYSTEM\s+(?:"[\w.]*"|'[\w.]*')\s*>""")
ROOT = "nvidia_smi_log"
ATTACHED = re.compile(r"<attached_gpus>\s{0,9}(\d{1,4})\s{0,9}</attached_gpus>")
REMEDY = "print it again with nvidia-smi -q -x."
ADDRESS = re.compile(r"(?:(?P<domain>[0-9A-Fa-f]{4,8}):)?(?P<rest>[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])")
NUMBER = re.compile(r"(-?\d{1,15}(?:\.\d{1,6})?)\s{0,4}(\w{0,4}|%)")
MEGAHERTZ, MEBIBYTE, GIGABYTE = 1e6, 1 << 20, 1e9
UNCORRECTED = (
    "sram_uncorrectable", "sram_uncorrectable_parity", "sram_uncorrectable_secded", "dram_uncorrectable",
    "double_bit/total",
)  # fmt: skip
CORRECTED = ("sram_correctable", "dram_correctable", "single_bit/total")
"""Counters in schemas of nvidia-smi from 11 on, and last that of earlier ones."""
PENDING = (
    "remapped_rows/remapped_row_pending", "retired_pages/pending_retirement", "retired_pages/pending_blacklist",
    "ecc_errors/channel_repair_pending", "ecc_errors/tpc_repair_pending",
)  # fmt: skip
POWER = ("gpu_power_readings", "power_readings")
"""Elements with the power limits, in schemas of nvidia-smi from 12 on and in earlier ones."""
RECOVERIES = {"none": False, "reset": True, "reboot": True, "drain and reset": True}
"""gpu_recovery_action, with which later drivers replace reset_required. To drain P2P alone needs no reset."""
FABRIC_HEALTH = {
    "bandwidth": ("degraded",), "route_unhealthy": ("true", "yes"), "access_timeout_recovery": ("true", "yes"),
}  # fmt: skip
"""Element of the fabric's health -> its words for a fault. A recovery of routes in progress ends by itself."""
REASON = re.compile(r"clocks_(?:event|throttle)_reason_(\w{1,60})")
COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}m")
GPU_LINE = re.compile(r"^GPU (\d{1,4}): ")
LINK_RATE = re.compile(r"^\s*Link (\d{1,3}): (?:(\d{1,5}(?:\.\d{1,4})?) GB/s|<inactive>|inactive)")
LINK_ERROR = re.compile(r"^\s*Link (\d{1,3}): ([A-Z][\w ()/-]{1,40}? Errors): (\d{1,18})\s*$")
"""Packets, bit error rates and codewords by corrected symbols (FEC Errors - 0) do not count as errors."""
NIC_NAME = re.compile(r"^\s*(NIC\d{1,3}): (\S{1,60})\s*$")
CELL = re.compile(r"X|NV\d{1,2}|PIX|PXB|PHB|NODE|SYS|SOC|CNS|N/A")
AFFINITIES = ("CPU", "NUMA", "GPU")
"""First words of the columns behind those of GPUs and adapters: CPU Affinity, NUMA Affinity, GPU NUMA ID."""


NOT_PRINTED = "the program that lists GPUs does not print it"
OTHER_FACTS = (*PLAIN_FACTS, "topology", "processor", "memory", "settings", "system", "software")


def is_smi(text: str) -> bool:
    """Whether an XML text is what `nvidia-smi -q -x` prints, by its beginning."""
    return f"<{ROOT}" in text[:4096]


def facts_from_smi(text: str, name: str) -> NodeFacts:
    """The GPUs of a node called `name`, from `nvidia-smi -q -x`. Raises FactsFormatError for another or damaged XML."""
    root = xml_root(text, DOCTYPE, "nvidia-smi", REMEDY)
    gpus = parse_smi(root)
    if root.tag != ROOT or not gpus:
        raise FactsFormatError("This output of nvidia-smi lists no GPU.", f"To read one, {REMEDY}")
    return msgspec.structs.replace(facts_of_gpus(gpus, name), attached_gpus=_attached(text))


def _attached(xml: str) -> int | None:
    """How many GPUs nvidia-smi counts; with `-i`, and for one that it does not reach, it describes fewer."""
    match = ATTACHED.search(xml)
    return int(match[1]) if match else None


def attached_gpus(frame: Frame) -> int | None:
    """The number of GPUs that nvidia-smi counts; None where it did not answer."""
    return _attached("\n".join(answer(frame, SMI)))


def facts_of_gpus(gpus: tuple[Gpu, ...], name: str) -> NodeFacts:
    """The facts of a node called `name`, of which nothing but its GPUs is known."""
    return NodeFacts(hostname=name, complete=True, gpus=gpus, absent=dict.fromkeys(OTHER_FACTS, NOT_PRINTED))


def read_gpus(frame: Frame) -> tuple[tuple[Gpu, ...], dict[str, str]]:
    """The GPUs of a frame, sorted by address; and why they are not known ("gpus")."""
    gpus = nvidia_gpus(
        "\n".join(answer(frame, SMI)), answer(frame, TOPOLOGY), answer(frame, LINKS), answer(frame, LINK_ERRORS)
    )
    gpus += amd_gpus(*("\n".join(answer(frame, command)) for command in AMD_COMMANDS))
    why = {} if gpus else {"gpus": why_no_answer(frame, SMI, *AMD_COMMANDS)}
    return tuple(sorted(gpus, key=lambda gpu: gpu.address)), why


def nvidia_gpus(
    xml: str, topology: Iterable[str] = (), links: Iterable[str] = (), errors: Iterable[str] = ()
) -> tuple[Gpu, ...]:
    """The GPUs of `nvidia-smi -q -x`, with paths, NVLinks and their errors; none for another text or a damaged one."""
    if ROOT not in xml:
        return ()
    try:
        root = xml_root(xml[xml.index("<") : xml.rfind(">") + 1], DOCTYPE, "nvidia-smi", REMEDY)
    except FactsFormatError:
        return ()
    return parse_smi(root, topology, links, errors)


def parse_smi(
    root: ET.Element, topology: Iterable[str] = (), links: Iterable[str] = (), errors: Iterable[str] = ()
) -> tuple[Gpu, ...]:
    """The GPUs below the root of `nvidia-smi -q -x`, in its order."""
    paths, rates, counts = topology_paths(topology), link_rates(links), link_errors(errors)
    driver = _text(root, "driver_version")
    gpus = []
    for index, element in enumerate(root.iterfind("gpu")):
        address = pci_address(element.get("id", "") or _text(element, "pci/pci_bus_id"))
        if address:
            gpu = _gpu(element, address, index, driver)
            gpus.append(
                msgspec.structs.replace(
                    gpu,
                    nvlinks=rates.get(index, ()),
                    nvlink_errors=counts.get(index, {}),
                    paths=paths.get(f"GPU{index}", {}),
                )
            )
    return tuple(gpus)


def pci_address(text: str) -> str:
    """`00000000:01:00.0` to `0000:01:00.0`, as the kernel writes it; empty for any other text."""
    match = ADDRESS.fullmatch(text.strip())
    return f"{int(match['domain'] or '0', 16):04x}:{match['rest'].lower()}" if match else ""


def _gpu(element: ET.Element, address: str, index: int, driver: str) -> Gpu:
    power = next((name for name in POWER if element.find(name) is not None), POWER[0])
    limits = ("current_power_limit", "enforced_power_limit", "power_limit")
    memory = _number(element, "fb_memory_usage/total")
    volatile = "ecc_errors/volatile"
    use = _number(element, "utilization/gpu_util")
    return Gpu(
        address=address,
        index=index,
        name=_text(element, "product_name"),
        driver=driver,
        firmware=_text(element, "gsp_firmware_version"),
        vbios=_text(element, "vbios_version"),
        memory_bytes=None if memory is None else int(memory) * MEBIBYTE,
        persistence=_flag(element, "persistence_mode"),
        mig=_flag(element, "mig_mode/current_mig"),
        ecc=_flag(element, "ecc_mode/current_ecc"),
        corrected_errors=_sum(element, volatile, CORRECTED),
        uncorrected_errors=_sum(element, volatile, UNCORRECTED),
        repair_pending=_any_flag(element, PENDING),
        repair_failed=_flag(element, "remapped_rows/remapped_row_failure"),
        sram_worn=_flag(element, "ecc_errors/aggregate/sram_threshold_exceeded"),
        reset_required=_reset_required(element),
        lost=_lost(element),
        link_generation=_whole(element, "pci/pci_gpu_link_info/pcie_gen/current_link_gen"),
        link_generation_max=_whole(element, "pci/pci_gpu_link_info/pcie_gen/max_link_gen"),
        link_width=_whole(element, "pci/pci_gpu_link_info/link_widths/current_link_width"),
        link_width_max=_whole(element, "pci/pci_gpu_link_info/link_widths/max_link_width"),
        power_limit_w=next(filter(None, (_number(element, f"{power}/{name}") for name in limits)), None),
        power_limit_default_w=_number(element, f"{power}/default_power_limit"),
        clock_max_hz=_hertz(element, "max_clocks/sm_clock"),
        clock_application_hz=_hertz(element, "applications_clocks/graphics_clock"),
        state=_text(element, "performance_state"),
        use=None if use is None else use / 100,
        slowdowns=tuple(_reasons(element)),
        temperature_celsius=_number(element, "temperature/gpu_temp"),
        fabric_state=_text(element, "fabric/state"),
        fabric_faults=tuple(_fabric_faults(element)),
        node_fabric=_node_fabric(element),
    )


def _text(element: ET.Element, path: str) -> str:
    """The text at a path; empty for what is not reported: N/A, [Not Supported], ERR!, Unknown Error."""
    text = (element.findtext(path) or "").strip()
    absent = text.startswith(("[", "N/A", "ERR!", "Unknown", "Requested functionality", "GPU is lost", "Not Available"))
    return "" if absent else text[:120]


def _number(element: ET.Element, path: str) -> float | None:
    match = NUMBER.fullmatch(_text(element, path))
    return float(match[1]) if match else None


def _whole(element: ET.Element, path: str) -> int | None:
    number = _number(element, path)
    return int(number) if number is not None and number > 0 else None


def _hertz(element: ET.Element, path: str) -> float | None:
    number = _number(element, path)
    return None if number is None else number * MEGAHERTZ


def _flag(element: ET.Element, path: str) -> bool | None:
    return {"enabled": True, "yes": True, "disabled": False, "no": False}.get(_text(element, path).lower())


def _reset_required(element: ET.Element) -> bool | None:
    flag = _flag(element, "gpu_reset_status/reset_required")
    return flag if flag is not None else RECOVERIES.get(_text(element, "gpu_recovery_action").lower())


def _fabric_faults(element: ET.Element) -> Iterator[str]:
    """What is wrong with its part of the NVLink fabric: a registration that ended without success, and its health."""
    status = _text(element, "fabric/status")
    if status and status.lower() != "success" and _text(element, "fabric/state").lower() == "completed":
        yield f"registration ended with {status}"
    for name, bad in FABRIC_HEALTH.items():
        if (word := _text(element, f"fabric/health/{name}").lower()) in bad:
            yield f"{name.replace('_', ' ')}{' degraded' if word == 'degraded' else ''}"


def _node_fabric(element: ET.Element) -> bool | None:
    """Whether its NVLinks reach other nodes: the UUID of the fabric's cluster has a digit other than 0."""
    cluster = _text(element, "fabric/clusterUuid")
    return bool(cluster.strip("0-")) if cluster else None


def _lost(element: ET.Element) -> bool:
    """Whether the driver lists the GPU and reaches it no more: not even its name is read."""
    return (element.findtext("product_name") or "").strip().startswith(("GPU is lost", "Unknown Error", "ERR!"))


def _any_flag(element: ET.Element, paths: Iterable[str]) -> bool | None:
    flags = [flag for path in paths if (flag := _flag(element, path)) is not None]
    return any(flags) if flags else None


def _sum(element: ET.Element, above: str, names: Iterable[str]) -> int | None:
    counts = [int(count) for name in names if (count := _number(element, f"{above}/{name}")) is not None]
    return sum(counts) if counts else None


def _reasons(element: ET.Element) -> Iterator[str]:
    """Active reasons for a lower clock."""
    for name in ("clocks_event_reasons", "clocks_throttle_reasons"):
        for reason in element.iterfind(f"{name}/*"):
            match = REASON.fullmatch(reason.tag)
            if match and (reason.text or "").strip() == "Active":
                yield match[1]


def topology_paths(lines: Iterable[str]) -> dict[str, dict[str, str]]:
    """`nvidia-smi topo -m`: GPU0 -> GPU or adapter -> NV12, PIX, ...; adapters by the names of the legend."""
    columns: list[str] = []
    rows: dict[str, dict[str, str]] = {}
    names: dict[str, str] = {}
    for raw in lines:
        line = COLOUR.sub("", raw)
        if legend := NIC_NAME.match(line):
            names[legend[1]] = legend[2]
            continue
        words = line.split()
        if not columns and words[:1] == ["GPU0"] and not CELL.fullmatch(words[-1] if len(words) < 2 else words[1]):
            columns = list(takewhile(lambda word: word not in AFFINITIES, words))
        elif columns and words and words[0] in columns and words[0].startswith("GPU"):
            cells = words[1 : len(columns) + 1]
            if all(CELL.fullmatch(cell) for cell in cells):
                rows[words[0]] = {
                    column: cell for column, cell in zip(columns, cells, strict=False) if cell not in ("X", "N/A")
                }
    return {gpu: {names.get(column, column): cell for column, cell in cells.items()} for gpu, cells in rows.items()}


def link_rates(lines: Iterable[str]) -> dict[int, tuple[float, ...]]:
    """`nvidia-smi nvlink -s`: number of the GPU -> rates of its links in bytes/s, 0 for an inactive one."""
    rates: dict[int, list[float]] = {}
    for gpu, link in _of_gpus(lines, LINK_RATE):
        rates.setdefault(gpu, []).append(float(link[2] or 0) * GIGABYTE)
    return {number: tuple(of_gpu) for number, of_gpu in rates.items()}


def link_errors(lines: Iterable[str]) -> dict[int, dict[str, int]]:
    """`nvidia-smi nvlink -e`: number of the GPU -> kind of error -> its number over all links."""
    errors: dict[int, dict[str, int]] = {}
    for gpu, error in _of_gpus(lines, LINK_ERROR):
        kinds = errors.setdefault(gpu, {})
        kinds[error[2]] = kinds.get(error[2], 0) + int(error[3])
    return errors


def _of_gpus(lines: Iterable[str], form: re.Pattern[str]) -> Iterator[tuple[int, re.Match[str]]]:
    gpu = -1
    for line in lines:
        if head := GPU_LINE.match(line):
            gpu = int(head[1])
        elif gpu >= 0 and (match := form.match(line)):
            yield gpu, match


QUERY = "pci.bus_id,temperature.gpu,clocks.sm,power.draw"
"""What is asked for with --query-gpu, as CSV without a head and units; REASONS follows as the last column."""
REASONS = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")
"""Names of the last column, in later drivers and in earlier ones."""
LINE = re.compile(
    r"([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]), ([^,]{1,40}), ([^,]{1,40}), ([^,]{1,40}), ([^,]{1,40})"
)
PLAIN = re.compile(r"\d{1,9}(?:\.\d{1,6})?")
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
                float(cell) if PLAIN.fullmatch(cell) else None for cell in match.group(2, 3, 4)
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
