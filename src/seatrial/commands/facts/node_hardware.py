"""Label and text for one node's machine, processors, memory and NUMA nodes. Nothing is judged."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from seatrial.commands.facts.node_devices import device_name
from seatrial.drift.fact_words import hertz, memory_speed
from seatrial.drift.flat_facts import counted
from seatrial.model import units
from seatrial.model.facts import IN_NAME, Dimm, NodeFacts, NumaNode, ProcessorFacts
from seatrial.model.words import count, ranges

Row = tuple[str, str]


def machine(facts: NodeFacts) -> Iterator[Row]:
    """Maker, product, firmware and modes."""
    firmware = facts.system.firmware
    bios = " ".join(filter(None, (firmware.bios_vendor, firmware.bios_version)))
    parts = [
        " ".join(filter(None, (firmware.vendor, firmware.product))),
        f"board {firmware.board}" if firmware.board else "",
        f"BIOS {bios}" + (f" of {firmware.bios_date}" if firmware.bios_date else "") if bios else "",
        f"BMC {firmware.bmc_version}" if firmware.bmc_version else "",
        f"Management Engine {firmware.management_engine}" if firmware.management_engine else "",
        f"memory mode {firmware.memory_mode}" if firmware.memory_mode else "",
        f"cluster mode {firmware.cluster_mode}" if firmware.cluster_mode else "",
    ]
    if any(parts):
        yield "machine", "; ".join(filter(None, parts))
    if firmware.settings:
        yield "BIOS settings", ", ".join(f"{name} {value}" for name, value in firmware.settings.items())


def processors(facts: NodeFacts) -> Iterator[Row]:
    """How many, of which model, how fast, and their idle states."""
    set_up = facts.processor
    counts = [
        count(facts.cores, "core") if facts.cores is not None else "",
        f"{facts.processors} logical" if facts.processors is not None else "",
        "" if set_up.smt_active is None else f"SMT {_on(set_up.smt_active)}",
        f"microcode {set_up.microcode}" if set_up.microcode else "",
        f"quota {quota:.3g}" if (quota := set_up.quota_processors) is not None and quota >= 0 else "",
    ]
    sockets = "" if facts.sockets is None else f"{facts.sockets} × "
    yield "processors", ", ".join(filter(None, (sockets + (facts.cpu_model or "model not reported"), *counts)))
    if set_up.instruction_sets:
        yield "extensions", " ".join(set_up.instruction_sets)
    frequency = [
        counted(set_up.governors),
        f"driver {set_up.frequency_driver}" if set_up.frequency_driver else "",
        counted(set_up.energy_preferences),
        span("allowed", (*set_up.minimum_hz, *set_up.maximum_hz)),
        span("hardware's most", set_up.hardware_maximum_hz),
        _base(set_up),
        span("at this instant", set_up.present_hz),
        "" if set_up.turbo is None else f"turbo {_on(set_up.turbo)}",
        f"throttled {set_up.throttle_events} times since boot" if set_up.throttle_events else "",
    ]
    if any(frequency):
        yield "frequency", "; ".join(filter(None, frequency))
    if len(set_up.present_hz) > 1:
        yield "clocks now", " ".join(f"{hertz / 1e9:.2f}" for hertz in set_up.present_hz) + " GHz, by processor"
    if set_up.idle_states:
        yield "idle states", ", ".join(f"{each.name}{' (off)' if each.disabled else ''}" for each in set_up.idle_states)


def memory(facts: NodeFacts) -> Iterator[Row]:
    """Size, modules and channels, caches, errors."""
    modules = facts.memory
    parts = [] if facts.memory_bytes is None else [units.memory(facts.memory_bytes)]
    filled = [each for each in modules.dimms if each.size_bytes != 0]
    if modules.dimms:
        parts += [f"{_modules(filled)}, {count(len(modules.dimms) - len(filled), 'slot')} empty"]
        channels = {each.channel for each in filled if each.channel}
        parts += [f"{count(len(channels), 'channel')} in use"] if channels else []
    for word, errors in (("corrected", modules.corrected_errors), ("uncorrected", modules.uncorrected_errors)):
        parts += [f"{errors} {word} errors since boot"] if errors else []
    if parts:
        yield "memory", "; ".join(parts)
    if facts.topology.caches:
        yield (
            "caches",
            ", ".join(
                f"{each.count} × L{each.level} {each.kind} {units.size(each.size_bytes)}"
                + (f" shared by {each.shared_by}" if each.shared_by is not None else "")
                for each in facts.topology.caches
            ),
        )


def numa(facts: NodeFacts) -> Iterator[Row]:
    """Each NUMA node with its processors, its memory, and the devices that hang on it."""
    for node in facts.topology.numa_nodes:
        parts = [
            f"processors {_numbers(node.processors)}" if node.processors else "no processors",
            "" if node.memory_bytes is None else units.memory(node.memory_bytes),
            f"distances {' '.join(map(str, node.distances))}" if node.distances else "",
            ", ".join(_hanging_on(facts, node)),
        ]
        yield f"NUMA node {node.index}", "; ".join(filter(None, parts))


def _hanging_on(facts: NodeFacts, node: NumaNode) -> list[str]:
    on_pci = {name: each for each in facts.pci for name in (each.names or (device_name(each),))}
    names = [hca.name for hca in facts.hcas if hca.numa_node == node.index]
    return list(dict.fromkeys((*names, *(name for name, each in on_pci.items() if each.numa_node == node.index))))


def _modules(dimms: Sequence[Dimm]) -> str:
    kinds = Counter(
        " ".join(
            filter(
                None,
                (
                    units.size(each.size_bytes) if each.size_bytes is not None else "size not reported",
                    each.kind,
                    _at(each),
                ),
            )
        )
        for each in dimms
    )
    return ", ".join(f"{number} × {kind}" for kind, number in kinds.most_common()) or "no modules"


def _at(dimm: Dimm) -> str:
    speed = dimm.configured_transfers_per_s or dimm.rated_transfers_per_s
    if speed is None:
        return ""
    rated = dimm.rated_transfers_per_s
    slower = f" (rated {memory_speed(rated)})" if rated is not None and rated != speed else ""
    return f"at {memory_speed(speed)}{slower}"


def span(what: str, frequencies: Sequence[float]) -> str:
    """`clocks now 2.4 GHz to 3.01 GHz`: the lowest and the highest of frequencies in hertz; empty if there are none."""
    if not frequencies:
        return ""
    least, most = hertz(min(frequencies)), hertz(max(frequencies))
    return f"{what} {least}" if least == most else f"{what} {least} to {most}"


def _base(set_up: ProcessorFacts) -> str:
    if set_up.base_hz is None:
        return ""
    return f"base {hertz(set_up.base_hz)}" + (f" (of {IN_NAME})" if set_up.base_hz_source == IN_NAME else "")


def _on(active: bool) -> str:
    return "on" if active else "off"


def _numbers(processors: Sequence[int]) -> str:
    """0-15,32-47; where they alternate between NUMA nodes, "0 to 62 by 2"."""
    steps = {after - before for before, after in pairwise(processors)}
    if len(processors) > 2 and len(steps) == 1 and (step := steps.pop()) > 1:
        return f"{processors[0]} to {processors[-1]} by {step}"
    return ranges(processors)
