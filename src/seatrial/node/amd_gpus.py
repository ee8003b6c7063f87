"""GPUs of AMD: what amd-smi and rocm-smi print as JSON, from a frame of facts or from a recorded text."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from seatrial.model.facts import Gpu, GpuVendor

AMD_COMMANDS = ("amd-smi static --json", "amd-smi metric --json", "rocm-smi -a --json")
AMD_ADDRESS = re.compile(r"[0-9A-Fa-f]{4}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]")
CARD = re.compile(r"card(\d{1,3})")
LINK = re.compile(r"\((\d{1,3}\.\d)GT/s x(\d{1,2})\)")
VIOLATION = re.compile(r"(\w{1,60}_violation)_status")
AMD_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,9})?")
GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
"""GT/s of a lane -> PCIe generation."""
MEMORY_UNITS = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
MOST_CHARACTERS = 8 << 20
OPENING = re.compile(r"^[ \t]{0,80}[\[{]", re.MULTILINE)
MOST_OPENINGS = 20
"""Lines of warnings may begin with a bracket; JSON that is tried at more places takes long."""


def amd_gpus(static: str, metric: str, rocm: str) -> tuple[Gpu, ...]:
    """The GPUs of amd-smi, else those of rocm-smi, which it replaces; none for texts that are not theirs."""
    metrics = {_amd_number(each.get("gpu")): each for each in _entries(_loaded(metric))}
    gpus = [_amd_gpu(each, metrics.get(_amd_number(each.get("gpu")), {})) for each in _entries(_loaded(static))]
    return tuple(gpu for gpu in gpus if gpu is not None) or tuple(_rocm_gpus(_loaded(rocm)))


def _loaded(text: str) -> Any:  # noqa: ANN401 - JSON from outside
    """The JSON in a text, which warnings may precede; None where there is none."""
    for opening in islice(OPENING.finditer(text[:MOST_CHARACTERS]), MOST_OPENINGS):
        try:
            return json.JSONDecoder().raw_decode(text, opening.end() - 1)[0]
        except (ValueError, RecursionError):
            continue
    return None


def _entries(content: Any) -> Iterator[Mapping[str, Any]]:  # noqa: ANN401 - JSON from outside
    """The entries of amd-smi: a list, in later versions below `gpu_data`."""
    if isinstance(content, Mapping):
        content = content.get("gpu_data")
    yield from (each for each in content if isinstance(each, Mapping)) if isinstance(content, list) else ()


def _at(entry: Mapping[str, Any], *keys: str) -> Any:  # noqa: ANN401 - JSON from outside
    """The content at a path of keys; None where it is missing."""
    content: Any = entry
    for key in keys:
        content = content.get(key) if isinstance(content, Mapping) else None
    return content


def _amd_number(content: Any) -> float | None:  # noqa: ANN401 - JSON from outside
    """A number, alone, as text, or as the `value` beside a `unit`."""
    if isinstance(content, Mapping):
        content = content.get("value")
    if isinstance(content, bool):
        return None
    text = str(content).strip()
    return float(text) if AMD_NUMBER.fullmatch(text) else None


def _amd_whole(content: Any) -> int | None:  # noqa: ANN401 - JSON from outside
    number = _amd_number(content)
    return None if number is None else int(number)


def _word(content: Any) -> str:  # noqa: ANN401 - JSON from outside
    return "" if content in (None, "N/A") or not isinstance(content, str | int | float) else str(content).strip()[:120]


def _amd_gpu(static: Mapping[str, Any], metric: Mapping[str, Any]) -> Gpu | None:
    address = str(_at(static, "bus", "bdf")).lower()
    if not AMD_ADDRESS.fullmatch(address):
        return None
    size = _at(static, "vram", "size")
    unit = MEMORY_UNITS.get(str(_at(size, "unit") if isinstance(size, Mapping) else "MB"), 1 << 20)
    memory = _amd_number(size)
    speed, most = _amd_number(_at(metric, "pcie", "speed")), _amd_number(_at(static, "bus", "max_pcie_speed"))
    use = _amd_number(_at(metric, "usage", "gfx_activity"))
    limit = _at(static, "limit", "ppt0") or _at(static, "limit")
    return Gpu(
        address=address,
        vendor=GpuVendor.AMD,
        index=_amd_whole(static.get("gpu")),
        name=_word(_at(static, "asic", "market_name")),
        driver=_word(_at(static, "driver", "version")),
        vbios=_word(_at(static, "vbios", "version") or _at(static, "ifwi", "version")),
        memory_bytes=None if memory is None else int(memory) * unit,
        corrected_errors=_amd_whole(_at(metric, "ecc", "total_correctable_count")),
        uncorrected_errors=_amd_whole(_at(metric, "ecc", "total_uncorrectable_count")),
        link_generation=GENERATIONS.get(speed or 0.0),
        link_generation_max=GENERATIONS.get(most or 0.0),
        link_width=_amd_whole(_at(metric, "pcie", "width")),
        link_width_max=_amd_whole(_at(static, "bus", "max_pcie_width")),
        power_limit_w=_amd_number(_at(limit, "socket_power_limit") or _at(limit, "socket_power")),
        power_limit_default_w=_amd_number(
            _at(limit, "max_power") or _at(limit, "max_power_limit") or _at(limit, "max_socket_power")
        ),
        use=None if use is None else use / 100,
        slowdowns=tuple(_violations(metric)),
        temperature_celsius=_amd_number(_at(metric, "temperature", "hotspot")),
    )


def _violations(metric: Mapping[str, Any]) -> Iterator[str]:
    """Limits that lower the clock now, of MI300 and later ones: socket_thermal_violation, prochot_violation, ..."""
    throttle = metric.get("throttle")
    for name, status in throttle.items() if isinstance(throttle, Mapping) else ():
        match = VIOLATION.fullmatch(str(name))
        if match and str(status).strip().upper() == "ACTIVE":
            yield match[1]


def _rocm_gpus(content: Any) -> Iterator[Gpu]:  # noqa: ANN401 - JSON from outside
    """The cards of rocm-smi. The driver's version is in an entry of its own."""
    if not isinstance(content, Mapping):
        return
    driver = _word(_at(content, "system", "Driver version"))
    for name, card in content.items():
        match = CARD.fullmatch(str(name))
        address = str(_at(card, "PCI Bus")).lower() if isinstance(card, Mapping) else ""
        if match is None or not AMD_ADDRESS.fullmatch(address):
            continue
        link = LINK.search(str(card.get("pcie clock level", "")))
        use = _amd_number(card.get("GPU use (%)"))
        yield Gpu(
            address=address,
            vendor=GpuVendor.AMD,
            index=int(match[1]),
            name=next(
                filter(None, (_word(card.get(key)) for key in ("Card series", "Card Series", "Device Name"))), ""
            ),
            driver=driver,
            firmware=_word(card.get("SMC firmware version")),
            vbios=_word(card.get("VBIOS version")),
            memory_bytes=_amd_whole(card.get("VRAM Total Memory (B)")),
            link_generation=GENERATIONS.get(float(link[1])) if link else None,
            link_width=int(link[2]) if link else None,
            power_limit_w=_amd_number(card.get("Max Graphics Package Power (W)")),
            use=None if use is None else use / 100,
            temperature_celsius=_amd_number(card.get("Temperature (Sensor junction) (C)")),
        )
