"""What hardware reports of itself: alarms, the kernel's log, PCIe errors, settings of the firmware."""

from pathlib import Path

import msgspec
import pytest

from seatrial.commands.facts.drift import look_for_drift
from seatrial.driver.facts_reading import FactsRead
from seatrial.model.errors import ExitCode
from seatrial.model.facts import NodeFacts
from seatrial.model.system import Sensor
from seatrial.model.verdict import Verdict
from seatrial.node.node import node_facts
from seatrial.node.sensors import controller_alarms, controller_sensors, read_kernel_log
from seatrial.recordings.command_text import commands_in, facts_from_text
from seatrial.render.text import as_text
from seatrial.rules.hardware import unlike_sockets
from tests.support.collecting import collect, write
from tests.support.reports import drift_of

IPMITOOL = """\
Firmware Revision         : 2.54
IPMI Version              : 2.0
FAN1             | 0 RPM             | cr
FAN2             | 4200 RPM          | ok
CPU1 Temp        | 66 degrees C      | ok
PS1 Status       | 0x01              | ok
PS2 Status       | 0x0b              | ok
PSU3 | C8h | ok | 10.1 | Presence detected, Failure detected
"""
DMESG = """\
[    1.000000] mlx5_core 0000:03:00.0: firmware version: 16.35.2000
[ 7463.123456] NVRM: Xid (PCI:0000:03:00): 79, pid=0, GPU has fallen off the bus.
[ 7464.000000] pcieport 0000:00:02.0: AER: Corrected error received: 0000:03:00.0
[ 7465.000000] pcieport 0000:00:02.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer
[ 7466.000000] mlx5_core 0000:03:00.0: health_care:154: handling bad device here
"""


def machine(root: Path) -> NodeFacts:
    """Two processors, two fans, a device with PCIe errors, a log, and a setting of the BIOS."""
    for path, content in {
        "proc/sys/kernel/hostname": "h1",
        "sys/class/hwmon/hwmon0/name": "coretemp",
        "sys/class/hwmon/hwmon0/temp1_label": "Package id 0",
        "sys/class/hwmon/hwmon0/temp1_input": "66000",
        "sys/class/hwmon/hwmon0/temp1_crit_alarm": "1",
        "sys/class/hwmon/hwmon1/name": "coretemp",
        "sys/class/hwmon/hwmon1/temp1_label": "Package id 1",
        "sys/class/hwmon/hwmon1/temp1_input": "60000",
        "sys/class/hwmon/hwmon2/name": "nct6779",
        "sys/class/hwmon/hwmon2/fan1_input": "0",
        "sys/class/hwmon/hwmon2/fan2_input": "1200",
        "sys/bus/pci/devices/0000:03:00.0/class": "0x020700",
        "sys/bus/pci/devices/0000:03:00.0/aer_dev_correctable": "RxErr 3\nTOTAL_ERR_COR 12",
        "sys/bus/pci/devices/0000:03:00.0/aer_dev_fatal": "TOTAL_ERR_FATAL 0",
        "sys/class/firmware-attributes/dell/attributes/NodeInterleave/current_value": "Enabled",
        "sys/class/firmware-attributes/dell/attributes/AssetTag/current_value": "secret",
        "sys/class/mei/mei0/fw_ver": "0:11.8.77.3664",
        "var/log/dmesg": DMESG.rstrip(),
    }.items():
        write(root, path, content + "\n")
    return node_facts(collect(str(root)))


def test_the_collector_reads_what_hardware_reports(tmp_path: Path) -> None:
    facts = machine(tmp_path)
    assert facts.system.alarms == {"coretemp Package id 0": "crit alarm"}
    assert facts.system.firmware.settings == {"NodeInterleave": "Enabled"}
    assert facts.system.firmware.management_engine == "11.8.77.3664"
    assert facts.pci[0].path[-1].errors == {"correctable": 12, "fatal": 0}
    assert facts.system.kernel_log == {"GPU error (Xid)": 1, "corrected PCIe error": 2, "adapter error": 1}
    assert facts.system.kernel_log_last["GPU error (Xid)"].startswith("NVRM: Xid (PCI:0000:03:00): 79")


def test_a_program_whose_name_is_that_of_a_hardware_error_is_none(tmp_path: Path) -> None:
    """Any user can give a program such a name, and have the kernel log it."""
    lines = [
        "[  1.000000] Hardware Error[77]: segfault at 0 ip 00000000 sp 00000000 error 4 in a.out[400000+1000]",
        "[  1.000000] [  T77] traps: NVRM: Xid[77] general protection fault ip:0 sp:0 error:0 in a.out",
        "[  1.000000] EDAC UE[77]: segfault at 0 ip 00000000 sp 00000000 error 4",
        "Hardware Error[77]: segfault at 0",
        "[  1.000000] Hardware Error invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
        "[  1.000000] [   77]  1000    77     4000      100    53248        0             0 Hardware Error",
        "[  1.000000] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task=Hardware Error,pid=77,uid=1000",
        "[  1.000000] Memory cgroup out of memory: Killed process 77 (Hardware Error) total-vm:4kB",
        "[  1.000000] process '/tmp/I/O error, dev sda' started with executable stack",
        "[  1.000000] x86/split lock detection: #AC: NVRM: Xid/77 took a split_lock trap at address: 0x1",
        "[  1.000000] INFO: task Hardware Error:77 blocked for more than 120 seconds.",
        "[  1.000000] CPU: 3 PID: 77 Comm: Hardware Error Not tainted 6.1.0",
    ]
    real = [
        "[  2.000000] mce: [Hardware Error]: CPU 3: Machine Check: 0 Bank 5: bea0000000000108",
        "[  2.000000] {1}[Hardware Error]: event severity: fatal",
        "[  2.000000] EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0 (channel:0 slot:0)",
        "[  2.000000] blk_update_request: I/O error, dev sda, sector 123 op 0x0:(READ)",
        "[  2.000000] I/O error, dev nvme0n1, sector 123 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0",
        "[  2.000000] NVRM: Xid (PCI:0000:03:00): 31, pid=77, name=python, Ch 00000008, intr 00000000",
        "[  2.000000] CPU3: Package temperature above threshold, cpu clock throttled (total events = 1)",
    ]
    write(tmp_path, "var/log/dmesg", "\n".join(lines + real) + "\n")
    numbers, last, _ = read_kernel_log(collect(str(tmp_path)))
    assert sum(numbers.values()) == len(real)
    assert not [line for line in last.values() if "77]" in line]


def test_a_recorded_machine_without_a_log_says_so(tmp_path: Path) -> None:
    write(tmp_path, "proc/sys/kernel/hostname", "h1\n")
    assert read_kernel_log(collect(str(tmp_path)))[2] == {"system.kernel_log": "dmesg: recorded machine"}


def test_the_first_line_says_what_is_wrong_inside_a_machine_without_peers(tmp_path: Path) -> None:
    facts = machine(tmp_path)
    found = look_for_drift(FactsRead(facts={"h1": facts}), None, None)
    kinds = [finding.kind for finding in found.findings]
    assert kinds == ["kernel-log", "hardware-alarm", "memory-interleaved", "sockets-differ", "fan-silent"]
    assert found.exit_code is ExitCode.FINDINGS


@pytest.mark.parametrize(
    ("first", "second", "key"),
    [
        ("CPU1 Temp", "CPU2 Temp", ("CPU2", "CPU1")),
        ("02-CPU 1", "03-CPU 2", ("CPU 2", "CPU 1")),
        ("CPU1 VRM Temp", "CPU2 VRM Temp", None),
    ],
)
def test_a_controller_names_the_hotter_processor(first: str, second: str, key: tuple[str, str] | None) -> None:
    """Sensors that the kernel has of the processors count: a controller's are rounded, and late."""
    rows = [f"{name} | {value} degrees C | ok" for name, value in ((first, 60), (second, 66))]
    facts = facts_from_text("\n".join(rows), "h1")
    found = [(violation.details, violation.key) for violation in unlike_sockets("h1", facts)]
    assert found == ([] if key is None else [(6.0, key)])
    kernel = [Sensor(name=f"coretemp Package id {number}", unit="degC", value=60.0) for number in (0, 1)]
    sensors = (*facts.system.sensors, *kernel)
    system = msgspec.structs.replace(facts.system, sensors=sensors)
    assert not [*unlike_sockets("h1", msgspec.structs.replace(facts, system=system))]


def test_notes_are_no_fault(tmp_path: Path) -> None:
    facts = machine(tmp_path)
    read = look_for_drift(FactsRead(facts={"h1": facts}), None, None)
    notes = tuple(finding for finding in read.findings if finding.verdict is Verdict.NOTE)
    page = as_text(drift_of({"h1": facts}, (), (), (), notes))
    first = "NOTE  h1: processor 0 is 6 °C hotter than processor 1 (66 and 60 °C)\n1 more note"
    assert page.startswith(first)
    (tmp_path / "sys/class/hwmon/hwmon0/temp1_crit_alarm").unlink()
    (tmp_path / "var/log/dmesg").unlink()
    (tmp_path / "sys/class/firmware-attributes/dell/attributes/NodeInterleave/current_value").unlink()
    quiet = look_for_drift(FactsRead(facts={"h1": node_facts(collect(str(tmp_path)))}), None, None)
    assert quiet.exit_code is ExitCode.PASS and len(quiet.findings) == 2


def test_what_the_controller_of_a_board_reports() -> None:
    assert controller_alarms(IPMITOOL.splitlines()) == {
        "BMC FAN1": "critical",
        "BMC PS2 Status": "failure, input lost",
        "BMC PSU3": "failure detected",
    }
    assert [(each.name, each.value, each.unit) for each in controller_sensors(IPMITOOL.splitlines())] == [
        ("BMC FAN1", 0.0, "rpm"),
        ("BMC FAN2", 4200.0, "rpm"),
        ("BMC CPU1 Temp", 66.0, "degC"),
    ]


@pytest.mark.parametrize("text", [IPMITOOL, IPMITOOL.partition("FAN1")[1] + IPMITOOL.partition("FAN1")[2]])
def test_its_recorded_output_is_read(text: str) -> None:
    assert commands_in(text) == {"ipmitool"}
    facts = facts_from_text(text, "h1")
    assert "BMC FAN1" in facts.system.alarms
    assert facts.system.firmware.bmc_version == ("2.54" if text == IPMITOOL else "")
