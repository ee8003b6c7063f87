"""Frequencies by processor and by policy, turbo, idle states, instruction sets, throttling."""

from pathlib import Path

import pytest

from seatrial.model.facts import IN_NAME, IdleState, ProcessorFacts
from seatrial.node.frame import parse_frame
from seatrial.node.processor import read_processor
from tests.support.collecting import SHELLS, collect, facts_text, write
from tests.support.paths import DATA

RECORDED = DATA / "processors" / "virtual-machine.facts"
SYSTEM = "/sys/devices/system/cpu"
BY_PROCESSOR = f"{SYSTEM}/cpu[0-9]*/cpufreq"
BY_POLICY = f"{SYSTEM}/cpufreq/policy[0-9]*"
THROTTLE = f"{SYSTEM}/cpu[0-9]*/thermal_throttle"


def processor_of(*lines: str) -> tuple[ProcessorFacts, dict[str, str]]:
    return read_processor(parse_frame(facts_text(*lines)))


def columns(pattern: str, names: str, **files: str) -> list[str]:
    return [f"@list {pattern}|{names}", *(f"@column {pattern} {file}|{cells}" for file, cells in files.items())]


def cpuinfo(*lines: str) -> list[str]:
    return ["@file /proc/cpuinfo", *(f"|{line}" for line in lines), "@end"]


def test_a_virtual_machine() -> None:
    facts, absent = read_processor(parse_frame(RECORDED.read_text()))
    assert (facts.vendor, facts.family, facts.model_number, facts.stepping) == ("GenuineIntel", 6, 207, 2)
    assert facts.microcode == "0x1" and facts.smt_active is False and facts.allowed == (0, 1)
    assert {"sse2", "avx2", "fma", "avx512f", "avx512_fp16"} <= set(facts.instruction_sets)
    assert {"fpu", "aes", "hypervisor"}.isdisjoint(facts.instruction_sets)
    assert facts.idle_states == (
        IdleState(name="POLL", latency_s=0.0, disabled=False),
        IdleState(name="haltpoll idle", latency_s=1e-6, disabled=False),
    )
    assert facts.mitigations["retbleed"] == "Vulnerable" and facts.mitigations["spectre_v2"].startswith("Mitigation:")
    assert absent["processor.governors"] == "no cpufreq: the kernel does not set frequencies here"
    assert {"processor.turbo", "processor.base_hz", "processor.throttle_events"} <= set(absent)


def test_frequencies_in_the_order_of_the_processors_numbers() -> None:
    facts, absent = processor_of(
        *columns(BY_PROCESSOR, "0 1 10 2", scaling_cur_freq="1\t2\t11\t3", scaling_max_freq="5\t5\t5\t?",
                 scaling_governor="performance\tpowersave\tperformance\tperformance"),
        f"@value {SYSTEM}/cpu0/cpufreq/scaling_driver|intel_pstate",
        f"@value {SYSTEM}/cpu0/cpufreq/base_frequency|2300000",
    )  # fmt: skip
    assert facts.present_hz == (1e3, 2e3, 3e3, 11e3)
    assert facts.maximum_hz == (5e3, 5e3, 5e3)
    assert facts.governors == {"performance": 3, "powersave": 1}
    assert (facts.frequency_driver, facts.base_hz) == ("intel_pstate", 2.3e9)
    assert absent["processor.minimum_hz"].startswith(BY_PROCESSOR)


def test_a_policy_counts_for_each_of_its_processors() -> None:
    facts, _ = processor_of(
        f"@list {BY_PROCESSOR}|",
        *columns(BY_POLICY, "0 4", affected_cpus="0 1 2 3\t4 5", scaling_max_freq="2000000\t3000000",
                 scaling_governor="schedutil\tperformance", energy_performance_preference="power\tpower", boost="1\t1"),
        f"@value {SYSTEM}/cpufreq/policy0/scaling_driver|cppc_cpufreq",
    )  # fmt: skip
    assert facts.maximum_hz == (2e9,) * 4 + (3e9,) * 2
    assert facts.governors == {"schedutil": 4, "performance": 2}
    assert facts.energy_preferences == {"power": 6}
    assert (facts.frequency_driver, facts.turbo) == ("cppc_cpufreq", True)


@pytest.mark.parametrize("value", ["<unknown>", "0", "-1", "", "1e6", "9" * 40])
def test_a_frequency_that_is_none_is_left_out(value: str) -> None:
    facts, absent = processor_of(*columns(BY_PROCESSOR, "0", cpuinfo_max_freq=value or "?"))
    assert facts.hardware_maximum_hz == () and "processor.hardware_maximum_hz" in absent


@pytest.mark.parametrize(
    ("lines", "turbo"),
    [([f"@value {SYSTEM}/intel_pstate/no_turbo|1"], False), ([f"@value {SYSTEM}/intel_pstate/no_turbo|0"], True),
     ([f"@value {SYSTEM}/cpufreq/boost|1"], True), ([f"@value {SYSTEM}/cpufreq/boost|0"], False),
     (columns(BY_PROCESSOR, "0 1", boost="1\t0"), False), (columns(BY_PROCESSOR, "0 1", boost="1\t1"), True),
     ([f"@value {SYSTEM}/cpufreq/boost|maybe"], None)],
)  # fmt: skip
def test_turbo(lines: list[str], turbo: bool | None) -> None:
    facts, absent = processor_of(*lines)
    assert facts.turbo is turbo
    assert ("processor.turbo" in absent) == (turbo is None)


def test_base_frequency_from_cppc_and_from_the_name() -> None:
    name = cpuinfo("model name\t: Intel(R) Xeon(R) CPU E5-2650 0 @ 2.00GHz")
    named = processor_of(*name)[0]
    assert (named.base_hz, named.base_hz_source) == (2e9, IN_NAME)
    nominal = processor_of(*name, f"@value {SYSTEM}/cpu0/acpi_cppc/nominal_freq|2450")[0]
    assert (nominal.base_hz, nominal.base_hz_source) == (2.45e9, "acpi_cppc/nominal_freq")
    assert processor_of(*cpuinfo("model name\t: AMD EPYC 7763 64-Core Processor"))[0].base_hz is None


def test_arm_and_power() -> None:
    arm, _ = processor_of(*cpuinfo("Features\t: fp asimd evtstrm aes sve asimdhp sve2 sme i8mm bf16 cpuid",
                                   "CPU implementer\t: 0x41", "CPU part\t: 0xd4f"))  # fmt: skip
    assert (arm.vendor, arm.instruction_sets) == ("0x41", ("asimd", "sve", "asimdhp", "sve2", "sme", "i8mm", "bf16"))
    power, absent = processor_of(*cpuinfo("processor\t: 0", "cpu\t\t: POWER9, altivec supported"))
    assert power.instruction_sets == () and "processor.instruction_sets" in absent


def test_idle_states_beyond_ten_keep_their_order() -> None:
    pattern = f"{SYSTEM}/cpu0/cpuidle/state[0-9]*"
    facts, _ = processor_of(*columns(pattern, "0 10 2", name="POLL\tC10\tC2", latency="0\t?\t133", disable="0\t1\t?"))
    assert facts.idle_states == (
        IdleState(name="POLL", latency_s=0.0, disabled=False),
        IdleState(name="C2", latency_s=133e-6, disabled=False),
        IdleState(name="C10", latency_s=None, disabled=True),
    )


def test_throttling_is_counted_once_a_core_and_once_a_package() -> None:
    """Two packages of two cores of two threads; each sibling saw its core's events, one of them late."""
    rows = [f"|{each} {each % 2} {each // 2 % 2} {each % 4},{each % 4 + 4}" for each in range(8)]
    table = [f"@table {SYSTEM}/cpu[0-9]*/topology core_id physical_package_id thread_siblings_list", *rows, "@end"]
    counts = columns(THROTTLE, "0 1 2 3 4 5 6 7", core_throttle_count="3\t0\t1\t0\t2\t0\t1\t0",
                     package_throttle_count="5\t5\t7\t7\t4\t5\t7\t7")  # fmt: skip
    assert processor_of(*table, *counts)[0].throttle_events == (3 + 1) + (5 + 7)
    assert processor_of(*counts)[0].throttle_events == (3 + 1 + 2 + 1) + 7
    assert processor_of(*columns(THROTTLE, "0", core_throttle_count="0"))[0].throttle_events == 0
    assert processor_of(f"@list {THROTTLE}|")[0].throttle_events is None


def test_where_the_job_may_run() -> None:
    facts, _ = processor_of("@file /proc/self/status", "|Cpus_allowed_list:\t0-1,6", "@end")
    assert facts.allowed == (0, 1, 6)


@pytest.mark.parametrize(
    ("groups", "quota"),
    [
        ("40000 100000", 0.4),
        ("max 100000;250000 100000;max 100000", 2.5),
        ("-1 100000;4000 10000;-1 100000", 0.4),
        ("max 100000", -1.0),
        ("-1 100000", -1.0),
        ("1000 0", None),
        ("x;;7", None),
    ],
)
def test_the_least_quota_of_all_control_groups_counts(groups: str, quota: float | None) -> None:
    facts, absent = processor_of(f"@value processor quotas|{groups}")
    assert facts.quota_processors == quota
    assert ("processor.quota_processors" in absent) is (quota is None)


@pytest.mark.parametrize(
    ("groups", "file", "text"),
    [
        ("max 100000 /sys/fs/cgroup/a/cpu.max;250000 100000 /sys/fs/cgroup/cpu.max",
         "/sys/fs/cgroup/cpu.max", "250000 100000"),
        ("-1 100000 /g/a/b/cpu.cfs_quota_us;4000 10000 /g/a b/cpu.cfs_quota_us", "/g/a b/cpu.cfs_quota_us", "4000"),
        ("4000 10000", "", ""),
        ("-1 100000 /g/cpu.cfs_quota_us", "", ""),
    ],
)  # fmt: skip
def test_where_the_least_quota_is_set(groups: str, file: str, text: str) -> None:
    facts, _ = processor_of(f"@value processor quotas|{groups}")
    assert (facts.quota_file, facts.quota_text) == (file, text)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("cgroup", "files", "quota"),
    [
        ("0::/a.slice/job\n", {"a.slice/cpu.max": "150000 100000", "a.slice/job/cpu.max": "max 100000"}, 1.5),
        ("0::/\n", {"cpu.max": "800000 100000"}, 8.0),
        ("0::/a.slice\n", {"a.slice/cpu.max": "max 100000"}, -1.0),
        (
            "4:cpu,cpuacct:/slurm/job_4\n0::/other\n",
            {
                "cpu,cpuacct/slurm/job_4/cpu.cfs_quota_us": "-1",
                "cpu,cpuacct/slurm/job_4/cpu.cfs_period_us": "100000",
                "cpu,cpuacct/slurm/cpu.cfs_quota_us": "5000",
                "cpu,cpuacct/slurm/cpu.cfs_period_us": "10000",
            },
            0.5,
        ),
        ("0::/a.slice\n", {"b.slice/cpu.max": "150000 100000"}, None),
        ("3:memory:/a\n", {"cpu/a/cpu.cfs_quota_us": "1000", "cpu/a/cpu.cfs_period_us": "10000"}, None),
    ],
)
def test_quotas_of_a_group_and_of_all_above_it(
    shell: str, cgroup: str, files: dict[str, str], quota: float | None, tmp_path: Path
) -> None:
    write(tmp_path, "/proc/self/cgroup", cgroup)
    for name, content in files.items():
        write(tmp_path, f"/sys/fs/cgroup/{name}", f"{content}\n")
    facts, _ = read_processor(collect(str(tmp_path), shell))
    assert facts.quota_processors == quota
    limits = [name for name, content in files.items() if "period" not in name and not content.startswith(("max", "-1"))]
    assert facts.quota_file == (f"/sys/fs/cgroup/{limits[0]}" if limits and quota is not None else "")


def test_everything_that_is_not_known_has_its_reason() -> None:
    facts, absent = processor_of()
    empty = (name for name in facts.__struct_fields__ if getattr(facts, name) in (None, "", (), {}))
    assert {f"processor.{name}" for name in empty} == set(absent)
    assert all(absent.values())
