"""The table of processors: valid, with sources, and complete for leading systems."""

from typing import NamedTuple

import msgspec
import pytest

from seatrial.limits.memory import memory_limits
from seatrial.limits.microarchitectures import nominal_hz, parse_table, recognise, table
from seatrial.limits.peak import compute_peaks
from seatrial.model.facts import NodeFacts, ProcessorFacts
from seatrial.model.limit import ComputePeak, Limit, NoLimit
from tests.support.limits_examples import is_limit, node
from tests.support.paths import DATA


class Listed(NamedTuple):
    """One row of the list of leading systems."""

    name: str
    vendor: str
    family: int | None
    model: int | None
    stepping: int | None
    cores: int
    line: str
    flops: int
    memory: float
    system: str

    def facts(self, *, numbers: bool = True) -> NodeFacts:
        seen = ProcessorFacts()
        if numbers:
            seen = ProcessorFacts(
                vendor=self.vendor, family=self.family, model_number=self.model, stepping=self.stepping
            )
        return node("n1", cpu_model=self.name, cores=self.cores, sockets=1, processor=seen)


def listed() -> list[Listed]:
    rows = (DATA / "processors" / "leading_systems.tsv").read_text().splitlines()
    return [of_row(*row.split("\t")) for row in rows if not row.startswith("#")]


def of_row(
    name: str, vendor: str, family: str, model: str, stepping: str, cores: str, line: str, flops: str, memory: str,
    system: str,
) -> Listed:  # fmt: skip
    numbers = [None if word == "-" else int(word) for word in (family, model, stepping)]
    return Listed(name, vendor, numbers[0], numbers[1], numbers[2], int(cores), line, int(flops), float(memory), system)


PROCESSORS = listed()
ONLY_BY_NUMBERS = ("Genuine Intel(R) CPU  @ 2.60GHz",)
"""Names that several lines have."""


def test_the_list_is_long_enough_and_covers_the_table() -> None:
    assert len({each.name for each in PROCESSORS}) >= 65
    untested = {line.name for line in table()} - {each.line for each in PROCESSORS}
    assert untested == {"Graviton 4"}  # only a name distinguishes it from Grace; see below


@pytest.mark.parametrize("processor", PROCESSORS, ids=lambda each: each.name)
def test_it_has_limits_of_memory_and_floating_point(processor: Listed) -> None:
    facts = processor.facts()
    line = recognise(facts)
    assert line is not None and line.name == processor.line
    (memory,) = map(is_limit, memory_limits(facts))
    assert memory.limit_bytes_per_s == pytest.approx(processor.memory * 1e9)
    assert line.sources[0] in memory.binding_term.source
    peaks = compute_peaks(facts)
    rates = {peak.flops_per_s / peak.hz / peak.cores for peak in peaks if isinstance(peak, ComputePeak)}
    assert rates == {processor.flops}
    reasons = [peak.reason for peak in peaks if isinstance(peak, NoLimit)]
    assert all("base frequency" in reason for reason in reasons)


def test_the_name_alone_is_enough() -> None:
    for processor in PROCESSORS:
        line = recognise(processor.facts(numbers=False))
        assert (line.name if line else None) == (None if processor.name in ONLY_BY_NUMBERS else processor.line)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("Xeon E5-2670 8C 2.600GHz", "Sandy Bridge-EP"),
        ("Intel Xeon Processor E5-2690", "Sandy Bridge-EP"),
        ("Xeon E5-2628L v2", "Ivy Bridge-EP"),
        ("Xeon Gold 6330 28C 2GHz", "Ice Lake-SP"),
        ("Xeon Platinum 8480C 56C 2GHz", "Sapphire Rapids"),
        ("AMD Optimized 3rd Generation EPYC 7A53 64C 2GHz", "Trento"),
        ("AWS Graviton4", "Graviton 4"),
        ("NVIDIA Grace CPU", "Neoverse V2"),
        ("Ampere(R) Altra(R) Max Processor", "Neoverse N1"),
        ("IBM POWER9", None),
        ("Intel(R) Core(TM) i7-6700 CPU @ 3.40GHz", None),
        ("AMD Ryzen 9 7950X 16-Core Processor", None),
        ("Intel(R) Xeon(R) E-2388G CPU @ 3.20GHz", None),
        ("Intel(R) Xeon(R) CPU E3-1275 v6 @ 3.80GHz", None),
        ("Intel(R) Xeon(R) Processor @ 2.60GHz", None),
        ("AMD EPYC-Rome Processor", None),
        ("Neoverse-V3", None),
        ("", None),
    ],
)
def test_other_names(name: str, line: str | None) -> None:
    recognised = recognise(node("n1", cpu_model=name))
    assert (recognised.name if recognised else None) == line


@pytest.mark.parametrize(
    ("name", "model", "stepping", "line"),
    [
        ("Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz", 85, None, "Skylake-SP"),
        ("Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz", 85, None, "Cascade Lake-SP"),
        ("Intel(R) Xeon(R) Platinum 8380H CPU @ 2.90GHz", 85, None, "Cooper Lake"),
        ("Intel(R) Xeon(R) Platinum 8380 CPU @ 2.30GHz", 106, None, "Ice Lake-SP"),
        ("Intel(R) Xeon(R) Platinum 9999 CPU", 85, None, None),
        ("Intel(R) Core(TM) i9-7900X CPU @ 3.30GHz", 85, 4, None),
        ("Intel(R) Xeon(R) Platinum 8480+", 999, 1, None),  # the numbers count where they are known
    ],
)
def test_a_stepping_that_is_not_reported(name: str, model: int, stepping: int | None, line: str | None) -> None:
    seen = ProcessorFacts(vendor="GenuineIntel", family=6, model_number=model, stepping=stepping)
    recognised = recognise(node("n1", cpu_model=name, processor=seen))
    assert (recognised.name if recognised else None) == line


def test_modules_are_not_all_of_the_memory_of_a_processor_with_hbm() -> None:
    lines = {line.name for line in table() if line.has_memory_on_package}
    assert {"Xeon Max", "Knights Landing", "A64FX", "MI300A"} <= lines
    assert not {"Rome", "Sapphire Rapids", "POWER9"} & lines


@pytest.mark.parametrize(
    ("name", "hz"),
    [
        ("AMD EPYC 7742 64-Core Processor", (2.25e9, 3.4e9)),
        ("Intel(R) Xeon(R) Platinum 8480+", (2.0e9, 3.8e9)),
        ("AMD EPYC 7232P 8-Core Processor", (None, 3.9e9)),
        ("POWER9, altivec supported", (None, 4.0e9)),
    ],
)
def test_frequencies(name: str, hz: tuple[float | None, float | None]) -> None:
    line = recognise(node("n1", cpu_model=name))
    assert line is not None and nominal_hz(line, name) == hz


def test_a_nominal_frequency_is_marked_as_such() -> None:
    facts = node("n1", cpu_model="AMD EPYC 7742 64-Core Processor", cores=64)
    base, top = compute_peaks(facts)
    assert isinstance(base, ComputePeak) and isinstance(top, ComputePeak)
    assert base.nominal and base.flops_per_s == pytest.approx(64 * 16 * 2.25e9)
    assert top.hz == 3.4e9 and "table of processors: Rome" in top.source


def test_every_frequency_is_plausible_and_in_order() -> None:
    for line in table():
        assert "" not in list(line.hz)[:-1], f"{line.name}: the rest comes last"
        for name, frequencies in line.hz.items():
            assert list(frequencies) == sorted(frequencies), (line.name, name)
            assert frequencies[-1] <= line.hz.get("", frequencies)[-1], (line.name, name)
            assert all(1e9 <= hz <= 5e9 for hz in frequencies), (line.name, name)


VALID = """[[processor]]
name = "X"
named = "X"
flops_per_cycle = 8
memory = [{ kind = "DDR4", channels = 8, transfers_per_s = 3200e6 }]
sources = ["X data sheet"]
"""


def test_a_valid_entry() -> None:
    (line,) = parse_table(VALID.encode())
    assert line.memory_bytes_per_s == 8 * 3200e6 * 8


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('sources = ["X data sheet"]', "sources = []"),
        ('sources = ["X data sheet"]', ""),
        ("flops_per_cycle = 8", "flops_per_cycle = 0"),
        ("flops_per_cycle = 8", ""),
        ("channels = 8", "channels = -8"),
        ("channels = 8", "chanels = 8"),
        ("memory = [{ kind = \"DDR4\", channels = 8, transfers_per_s = 3200e6 }]", "memory = []"),
        ('named = "X"', 'named = "("'),
        ('named = "X"', 'named = "X"\nvendor = "GenuineIntel"'),
        ('named = "X"', 'named = "X"\nhz = { "" = [] }'),
    ],
)  # fmt: skip
def test_an_entry_that_is_refused(before: str, after: str) -> None:
    text = VALID.replace(before, after)
    assert text != VALID
    with pytest.raises((msgspec.ValidationError, ValueError)):
        parse_table(text.encode())


def test_a_note_is_shown_with_the_limit() -> None:
    (limit,) = memory_limits(node("n1", cpu_model="POWER9, altivec supported"))
    assert isinstance(limit, Limit) and any("AC922" in why for why in limit.unknown)
    kunpeng = compute_peaks(node("n1", cpu_model="Kunpeng-920", cores=64))
    assert any(isinstance(peak, ComputePeak) and any("half" in why for why in peak.unknown) for peak in kunpeng)
