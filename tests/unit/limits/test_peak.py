"""Peak floating point: section 6 of the tables, and which frequency was meant."""

import msgspec
import pytest

from seatrial.limits.peak import compute_peaks, flops_per_cycle
from seatrial.model.facts import NodeFacts, ProcessorFacts
from seatrial.model.limit import ComputePeak, NoLimit
from seatrial.node.node import parse_facts
from tests.support.collecting import facts_text
from tests.support.limits_examples import check_formula, intel, node


def with_sets(*sets: str, vendor: str = "", family: int = 6, model: int = 1) -> NodeFacts:
    numbers = ProcessorFacts(vendor=vendor, family=family, model_number=model, instruction_sets=sets)
    return node("n1", cores=1, processor=numbers)


@pytest.mark.parametrize(
    ("sets", "flops"),
    [(("sse2",), 4), (("sse2", "avx"), 8), (("sse2", "avx", "avx2", "fma"), 16),
     (("sse2", "avx", "avx2", "fma", "avx512f"), 32), (("sse2", "avx", "avx2"), 8)],
)  # fmt: skip
def test_by_instruction_set(sets: tuple[str, ...], flops: int) -> None:
    found = flops_per_cycle(with_sets(*sets))
    assert found is not None
    assert found[0] == flops
    assert "instruction sets" in found[1]


@pytest.mark.parametrize(
    ("facts", "flops"),
    [
        (intel("n1", "Intel(R) Xeon(R) Gold 5122 CPU @ 3.60GHz", 85, 4), 32),
        (intel("n1", "Intel(R) Xeon(R) Gold 5318Y CPU @ 2.10GHz", 106), 32),
        (node("n1", cpu_model="implementer 0x41 part 0xd40"), 16),
        (node("n1", cpu_model="implementer 0x41 part 0xd0c"), 8),
    ],
)
def test_by_the_table(facts: NodeFacts, flops: int) -> None:
    """Processors that the list of leading systems (test_microarchitectures.py) does not name."""
    found = flops_per_cycle(facts)
    assert found is not None
    assert found[0] == flops
    assert "table of processors" in found[1]


@pytest.mark.parametrize(
    ("vendor", "family", "model", "flops"),
    [
        ("AuthenticAMD", 23, 8, 8),
        ("AuthenticAMD", 25, 0x61, 16),
        ("AuthenticAMD", 21, 2, 4),
        ("GenuineIntel", 6, 175, 8),
    ],
)
def test_exceptions_promise_less_than_their_instruction_sets(vendor: str, family: int, model: int, flops: int) -> None:
    found = flops_per_cycle(
        with_sets("sse2", "avx", "avx2", "fma", "avx512f", vendor=vendor, family=family, model=model)
    )
    assert found is not None
    assert found[0] == flops


def peaks(facts: NodeFacts) -> list[ComputePeak]:
    found = [each for each in compute_peaks(facts) if isinstance(each, ComputePeak)]
    for peak in found:
        check_formula(peak, peak.flops_per_s)
    return found


def test_platinum_8276() -> None:
    """CSD3, two sockets: HPL 2510 Gflop/s were 63.7 % of this."""
    facts = intel("n1", "Intel(R) Xeon(R) Platinum 8276 CPU @ 2.20GHz", 85, 7, cores=56)
    (peak,) = peaks(facts)
    assert peak.flops_per_s == pytest.approx(3942e9, rel=1e-3)
    assert 2510e9 / peak.flops_per_s == pytest.approx(0.637, abs=0.0005)
    assert peak.nominal
    assert any("AVX-512" in why for why in peak.unknown)


def test_e5_2683v4() -> None:
    """AlaSKA, two sockets: HPL 1016.5 Gflop/s were 94.5 % of this."""
    (peak,) = peaks(intel("n1", "Intel(R) Xeon(R) CPU E5-2683 v4 @ 2.10GHz", 79, cores=32))
    assert 1016.5e9 / peak.flops_per_s == pytest.approx(0.945, abs=0.0005)
    assert peak.flops_per_s_per_core == pytest.approx(33.6e9)
    assert peak.unknown == ()


def test_both_frequencies_say_which_they_are() -> None:
    facts = with_sets("sse2", "avx", "avx2", "fma")
    speeds = msgspec.structs.replace(
        facts.processor, base_hz=2e9, base_hz_source="cpufreq/base_frequency", hardware_maximum_hz=(3.0e9, 3.5e9)
    )
    base, top = peaks(msgspec.structs.replace(facts, cores=4, processor=speeds))
    assert (base.path, top.path) == (
        "n1 cores > floating point at base frequency",
        "n1 cores > floating point at maximum frequency",
    )
    assert (base.hz, top.hz) == (2e9, 3.5e9)
    assert not base.nominal
    assert "cpufreq/base_frequency on n1" in base.source
    assert any("all cores at once" in why for why in top.unknown)
    assert base.flops_per_s == 4 * 16 * 2e9


def test_a_frequency_out_of_a_name_is_nominal() -> None:
    facts = msgspec.structs.replace(with_sets("sse2", "avx"), cpu_model="Some CPU @ 2.60GHz")
    (peak,) = peaks(facts)
    assert peak.hz == 2.6e9
    assert peak.nominal


def test_the_frequency_that_the_facts_took_from_the_name_is_the_names() -> None:
    lines = ("@value /proc/sys/kernel/hostname|n1", "@file /proc/cpuinfo", "|model name\t: Some CPU @ 2.60GHz",
             "|flags\t: sse2 avx", "@end", "@value /sys/devices/system/cpu/online|0")  # fmt: skip
    facts = parse_facts(facts_text(*lines))
    (peak,) = peaks(msgspec.structs.replace(facts, cores=1))
    assert (peak.hz, peak.nominal) == (2.6e9, True)
    assert peak.source.endswith("the name Some CPU @ 2.60GHz")
    assert "cpufreq" not in peak.source


def test_what_is_not_known_has_no_peak() -> None:
    (found,) = compute_peaks(node("n1", cores=4, cpu_model="Some Processor"))
    assert found == NoLimit(path="n1 cores > floating point", reason="operations per cycle of Some Processor not known")
    (found,) = compute_peaks(msgspec.structs.replace(with_sets("avx"), cores=None))
    assert isinstance(found, NoLimit)
    (found,) = compute_peaks(with_sets("avx"))
    assert isinstance(found, NoLimit)
    assert "base frequency" in found.reason
