"""What hardware reports of itself: alarms, the kernel's log, PCIe errors, settings of the firmware."""

from pathlib import Path

import pytest

from seatrial.commands.facts.drift import look_for_drift
from seatrial.driver.facts_reading import FactsRead
from seatrial.model.errors import ExitCode
from seatrial.model.facts import NodeFacts
from seatrial.model.verdict import Verdict
from seatrial.node.kernel_log import read_kernel_log
from seatrial.node.node import node_facts
from seatrial.node.sensors import controller_alarms, controller_sensors
from seatrial.recordings.command_text import commands_in, facts_from_text
from seatrial.render.text import as_text
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


def test_a_recorded_machine_without_a_log_says_so(tmp_path: Path) -> None:
    write(tmp_path, "proc/sys/kernel/hostname", "h1\n")
    assert read_kernel_log(collect(str(tmp_path)))[2] == {"system.kernel_log": "dmesg: recorded machine"}


def test_the_first_line_says_what_is_wrong_inside_a_machine_without_peers(tmp_path: Path) -> None:
    facts = machine(tmp_path)
    found = look_for_drift(FactsRead(facts={"h1": facts}), None, None)
    kinds = [finding.kind for finding in found.findings]
    assert kinds == ["kernel-log", "hardware-alarm", "memory-interleaved", "sockets-differ", "fan-silent"]
    assert found.exit_code is ExitCode.FINDINGS


def test_notes_are_no_fault(tmp_path: Path) -> None:
    facts = machine(tmp_path)
    read = look_for_drift(FactsRead(facts={"h1": facts}), None, None)
    notes = tuple(finding for finding in read.findings if finding.verdict is Verdict.NOTE)
    page = as_text(drift_of({"h1": facts}, (), (), (), notes))
    first = "NOTE  h1: processor 0 is 6 °C hotter than processor 1 (66 and 60 °C); 1 more note"
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
