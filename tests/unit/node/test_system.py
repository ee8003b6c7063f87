"""Firmware, limits, clock and sensors: from hand-made frames, recorded machines, and this one."""

import os
import resource
import subprocess
import time
from pathlib import Path

import pytest

from seatrial.launch.collector import collector
from seatrial.model.system import ClockState, Firmware, Limits, Sensor, SystemFacts
from seatrial.node.frame import CommandOutput, Frame, parse_frame
from seatrial.node.system import read_system
from tests.support.collecting import SHELLS, collect, program, write


def system_of(
    values: dict[str, str] | None = None,
    files: dict[str, tuple[str, ...]] | None = None,
    commands: dict[str, CommandOutput] | None = None,
) -> tuple[SystemFacts, dict[str, str]]:
    return read_system(
        Frame(hostname="n1", complete=True, values=values or {}, files=files or {}, commands=commands or {})
    )


@pytest.mark.parametrize("shell", SHELLS)
def test_this_machine(shell: str) -> None:
    facts, _ = read_system(collect("/", shell))
    soft = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_MEMLOCK, resource.RLIMIT_STACK,
                                                     resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC)]  # fmt: skip
    assert facts.limits == Limits(
        locked_memory_bytes=soft[0], stack_bytes=soft[1], open_files=soft[2], processes=soft[3]
    )
    since_boot_s = time.clock_gettime(time.CLOCK_BOOTTIME)  # of a machine that was suspended, too
    assert facts.booted_s is not None and abs(time.time() - since_boot_s - facts.booted_s) < 5
    assert "/" in [mount.path for mount in facts.mounts]
    assert facts.clock.kernel_clock == Path(
        "/sys/devices/system/clocksource/clocksource0/current_clocksource"
    ).read_text().strip()  # fmt: skip


def test_limits_of_the_job_not_of_the_machine() -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", "ulimit -l 64; ulimit -n 100; exec sh -s"],
        input=collector().encode(),
        capture_output=True,
        check=True,
        timeout=60,
        env={**os.environ, "SEATRIAL_FACTS": "quick"},
    )
    facts, _ = read_system(parse_frame(done.stdout.decode()))
    assert (facts.limits.locked_memory_bytes, facts.limits.open_files) == (65536, 100)


def test_unlimited_and_what_is_no_limit() -> None:
    lines = ("Max stack size            unlimited            unlimited            bytes     ",
             "Max open files            many                 1048576              files     ",
             "Max locked memory         67108864             unlimited            bytes     ")  # fmt: skip
    facts, absent = system_of(files={"/proc/self/limits": lines})
    assert facts.limits == Limits(stack_bytes=-1, locked_memory_bytes=67108864)
    assert {"system.limits.open_files", "system.limits.processes"} <= set(absent)


@pytest.mark.parametrize("shell", SHELLS)
def test_firmware_without_serial_numbers(tmp_path: Path, shell: str) -> None:
    for name, content in {"sys_vendor": "Dell Inc. ", "product_name": "PowerEdge R740", "bios_version": "2.2.11",
                          "product_serial": "SECRET1", "product_uuid": "SECRET2", "board_asset_tag": "SECRET3",
                          "chassis_serial": "SECRET4", "board_serial": "SECRET5"}.items():  # fmt: skip
        write(tmp_path, f"/sys/class/dmi/id/{name}", f"{content}\n")
    write(tmp_path, "/sys/devices/platform/ipmi_bmc.0/firmware_revision", "4.22\n")
    frame = collect(str(tmp_path), shell)
    facts, absent = read_system(frame)
    assert facts.firmware == Firmware(
        vendor="Dell Inc.", product="PowerEdge R740", bios_version="2.2.11", bmc_version="4.22"
    )
    assert absent["system.firmware.bios_date"] == "/sys/class/dmi/id/bios_date: no such file"
    assert "SECRET" not in repr(frame)


def test_knights_landing_modes() -> None:
    dump = ("cluster_mode: Quadrant", "memory_mode: Hybrid25")
    facts, absent = system_of(files={"/var/run/hwloc/knl_memoryside_cache": dump})
    assert (facts.firmware.cluster_mode, facts.firmware.memory_mode) == ("quadrant", "hybrid25")
    assert "system.firmware.memory_mode" not in absent
    facts, absent = system_of(files={"/var/run/hwloc/knl_memoryside_cache": ("memory_mode: Unknown",)})
    assert facts.firmware.memory_mode == ""
    assert "system.firmware.memory_mode" in absent


@pytest.mark.parametrize(
    ("vendor", "family", "packages", "cpulists", "mode"),
    [
        ("GenuineIntel", 6, "0011", ["0", "1", "2", "3"], "snc2"),
        ("GenuineIntel", 6, "0011", ["0-1", "2-3"], ""),
        ("GenuineIntel", 6, "0011", ["0-1", "2-3", ""], ""),
        ("AuthenticAMD", 25, "0011", ["0-1", "2-3"], "nps1"),
        ("AuthenticAMD", 25, "0011", ["0-3"], "nps0"),
        ("GenuineIntel", 6, "0011", ["0-3"], "interleaved"),
        ("AuthenticAMD", 23, "0000", ["0", "1", "2", "3"], "nps4"),
        ("AuthenticAMD", 21, "0000", ["0-1", "2-3"], ""),
        ("GenuineIntel", 6, "0011", ["0", "1", "2-3"], ""),
        ("GenuineIntel", 6, "0011", ["0", "1", "2", "9"], ""),
    ],
)
def test_numa_nodes_of_a_package(vendor: str, family: int, packages: str, cpulists: list[str], mode: str) -> None:
    nodes = "/sys/devices/system/node/node[0-9]*"
    rows = tuple({"*": str(cpu), "physical_package_id": package} for cpu, package in enumerate(packages))
    told = {str(number): cpulist for number, cpulist in enumerate(cpulists)}
    common = {"hostname": "n1", "complete": True, "lists": {nodes: tuple(told)},
              "tables": {"/sys/devices/system/cpu/cpu[0-9]*/topology": rows},
              "files": {"/proc/cpuinfo": (f"vendor_id\t: {vendor}", f"cpu family\t: {family}")}}  # fmt: skip
    by_column = Frame(columns={(nodes, "cpulist"): told}, **common)  # type: ignore[arg-type]
    values = {f"/sys/devices/system/node/node{number}/cpulist": cpulist for number, cpulist in told.items()}
    by_value = Frame(values=values, **common)  # type: ignore[arg-type]
    assert [read_system(frame)[0].firmware.cluster_mode for frame in (by_column, by_value)] == [mode, mode]
    by_value.files["/proc/cpuinfo"] += ("flags\t\t: fpu hypervisor sse2",)
    assert read_system(by_value)[0].firmware.cluster_mode == ""


CHRONY = ("Stratum         : 4", "System time     : 0.000036000 seconds slow of NTP time", "Leap status     : Normal")


@pytest.mark.parametrize(
    ("command", "lines", "clock"),
    [
        ("chronyc -n tracking", CHRONY,
         ClockState(source="chrony", synchronised=True, offset_s=-3.6e-05, stratum=4)),
        ("chronyc -n tracking", ("System time : 12.5 seconds fast of NTP time", "Leap status : Not synchronised"),
         ClockState(source="chrony", synchronised=False, offset_s=12.5)),
        ("chronyc -n tracking", ("Stratum : four", "Leap status : Abnormal"), ClockState(source="chrony")),
        ("ntpq -c rv 0 leap,stratum,offset", ("leap=00, stratum=3, offset=-0.250",),
         ClockState(source="ntp", synchronised=True, offset_s=0.00025, stratum=3)),
        ("ntpq -c rv 0 leap,stratum,offset", ("leap=11, stratum=16, offset=0.000",),
         ClockState(source="ntp", synchronised=False, offset_s=-0.0, stratum=16)),
        ("timedatectl show -p NTPSynchronized", ("NTPSynchronized=no",),
         ClockState(source="timedatectl", synchronised=False)),
        ("timedatectl show -p NTPSynchronized", ("What=ever",), ClockState(source="timedatectl")),
    ],
)  # fmt: skip
def test_clocks(command: str, lines: tuple[str, ...], clock: ClockState) -> None:
    facts, absent = system_of(commands={command: CommandOutput(status=0, lines=lines)})
    assert facts.clock == clock
    assert ("system.clock.synchronised" in absent) == (clock.synchronised is None)
    if clock.synchronised is None:
        assert lines[-1] in absent["system.clock.synchronised"]


def test_no_daemon_is_no_unsynchronised_clock() -> None:
    dead = CommandOutput(status=1, lines=("506 Cannot talk to daemon",))
    facts, absent = system_of(commands={"chronyc -n tracking": dead})
    assert facts.clock == ClockState()
    assert "506 Cannot talk to daemon" in absent["system.clock.synchronised"]
    assert "adjtimex" in absent["system.clock.synchronised"]


def test_the_clock_daemon_is_asked_in_haste_too_and_tells_no_address(tmp_path: Path) -> None:
    said = ("Reference ID    : C0A80073 (192.168.0.115)", *CHRONY)
    program(tmp_path, "chronyc", "\n".join(f"echo '{line}'" for line in said))
    path = f"{tmp_path}:{os.environ['PATH']}"
    quick, full = collect("/", PATH=path), collect("/", PATH=path, SEATRIAL_FACTS="full")
    assert quick.commands["chronyc -n tracking"].lines == full.commands["chronyc -n tracking"].lines == CHRONY


def test_systemd_is_not_asked_about_the_clock_in_haste(tmp_path: Path) -> None:
    for name in ("chronyc", "ntpq"):
        program(tmp_path, name, "exit 1")
    quick = collect("/", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert quick.absent["timedatectl show -p NTPSynchronized"] == "not asked"


@pytest.mark.parametrize("shell", SHELLS)
def test_sensors_of_two_sockets(tmp_path: Path, shell: str) -> None:
    for chip in range(2):
        here = f"/sys/class/hwmon/hwmon{chip}"
        for name, content in {"name": "coretemp", "temp2_input": "45000", "temp2_label": "Core 0",
                              "temp2_crit": "100000", "fan1_input": "7200", "temp3_input": "",
                              "power1_average": "175000000", "in0_input": "12000"}.items():  # fmt: skip
            write(tmp_path, f"{here}/{name}", f"{content}\n")
    write(tmp_path, "/sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n")
    write(tmp_path, "/sys/class/thermal/thermal_zone0/temp", "-5000\n")
    for package in range(2):
        here = f"/sys/class/powercap/intel-rapl:{package}"
        write(tmp_path, f"{here}/name", f"package-{package}\n")
        write(tmp_path, f"{here}/constraint_0_name", "long_term\n")
        write(tmp_path, f"{here}/constraint_0_power_limit_uw", "205000000\n")
        write(tmp_path, f"{here}:0/name", "dram\n")
        write(tmp_path, f"{here}:0/constraint_0_name", "long_term\n")
        write(tmp_path, f"{here}:0/constraint_0_power_limit_uw", "0\n")
    facts, absent = read_system(collect(str(tmp_path), shell))
    assert facts.sensors == (
        Sensor(name="coretemp fan1", unit="rpm", value=7200.0),
        Sensor(name="coretemp power1", unit="W", value=175.0),
        Sensor(name="coretemp Core 0", unit="degC", value=45.0, critical=100.0),
        Sensor(name="coretemp fan1 #2", unit="rpm", value=7200.0),
        Sensor(name="coretemp power1 #2", unit="W", value=175.0),
        Sensor(name="coretemp Core 0 #2", unit="degC", value=45.0, critical=100.0),
        Sensor(name="thermal x86_pkg_temp", unit="degC", value=-5.0),
    )
    assert facts.power_limits_w == {
        "package-0 long_term": 205.0, "package-0 dram long_term": 0.0,
        "package-1 long_term": 205.0, "package-1 dram long_term": 0.0,
    }  # fmt: skip
    assert not {"system.sensors", "system.power_limits_w"} & set(absent)


def test_every_fact_is_there_or_its_absence_is_explained() -> None:
    facts, absent = system_of()
    groups = {f"limits.{name}" for name in Limits.__struct_fields__}
    groups |= {f"clock.{name}" for name in ("synchronised", "offset_s", "stratum", "kernel_clock")}
    groups |= {"firmware"} | {f"firmware.{name}" for name in ("bmc_version", "memory_mode", "cluster_mode")}
    groups |= {"mounts", "sensors", "power_limits_w", "booted_s", "kernel_log"}
    assert set(absent) == {f"system.{name}" for name in groups}
    assert all(absent.values())
    assert facts == SystemFacts()
