"""From the stream to NodeFacts: units, absences, the kernel's odd words."""

import pytest

from seatrial.model.facts import NetworkInterface, NodeFacts
from seatrial.node.node import parse_facts
from tests.support.collecting import facts_text
from tests.support.paths import DATA

RECORDED = DATA / "facts"


def facts_of(*lines: str) -> NodeFacts:
    return parse_facts(facts_text(*lines))


def recorded(name: str) -> NodeFacts:
    return parse_facts((RECORDED / f"{name}.facts").read_bytes().decode())


def cpu_table(*rows: str) -> list[str]:
    pattern = "/sys/devices/system/cpu/cpu[0-9]*/topology"
    columns = "core_id physical_package_id thread_siblings_list"
    return [f"@table {pattern} {columns}", *(f"|{row}" for row in rows), "@end"]


def interface(**values: str) -> tuple[NetworkInterface, dict[str, str]]:
    lines = [f"@value /sys/class/net/eth0/{name}|{value}" for name, value in values.items()]
    facts = facts_of("@list /sys/class/net/*|eth0", *lines)
    return facts.interfaces[0], facts.absent


def test_virtual_machine_without_a_speed() -> None:
    facts = recorded("virtual-machine")
    assert facts.complete
    assert (facts.processors, facts.cores, facts.sockets, facts.numa_nodes) == (2, 2, 1, 1)
    assert facts.cpu_model == "Intel(R) Xeon(R) Processor"
    assert facts.memory_bytes == 24684084 * 1024
    assert (facts.software.slurm_client, facts.software.slurm_daemon) == ("", "22.05.8")
    assert facts.mpi_versions == ("Open MPI 4.1.4", "MPICH 4.0.2")
    assert [each.name for each in facts.ethernet_interfaces] == ["eth0"]
    assert facts.fabric_interface is None
    assert facts.absent["interfaces.eth0.speed_bits_per_s"] == "/sys/class/net/eth0/speed contains '-1'"


def test_bridged_interface_is_not_the_fabric_interface() -> None:
    facts = recorded("bridged-namespace")
    assert facts.fabric_interface == NetworkInterface(
        name="eth0", link_type=1, state="up", carrier=True, speed_bits_per_s=10e9, mtu_bytes=1500,
        errors={"rx_errors": 0, "tx_errors": 0, "rx_dropped": 0, "tx_dropped": 0},
    )  # fmt: skip
    assert {each.name: (each.enslaved, each.bridge) for each in facts.interfaces} == {
        "br0": (False, True), "eth0": (False, False), "eth1": (True, False), "lo": (False, False),
    }  # fmt: skip


def test_interfaces_of_another_namespace_are_left_out_and_named() -> None:
    facts = recorded("foreign-sysfs")
    assert [each.name for each in facts.interfaces] == ["lo"]
    assert facts.absent["interfaces"].startswith("eth0, ifb0, ifb1: in /sys/class/net, but not in this namespace's")


def test_an_interface_that_sys_does_not_show_is_named() -> None:
    facts = facts_of("@file /proc/net/dev", "|  lo: 1", "|eth0:1", "@end", "@list /sys/class/net/*|lo")
    assert facts.absent["interfaces"] == "eth0: in /proc/net/dev, but not in /sys/class/net"


@pytest.mark.parametrize("speed", ["-1", "0", "65535", "4294967295", "", "fast", "1e3"])
def test_a_speed_that_is_none_is_absent_with_its_word(speed: str) -> None:
    eth0, absent = interface(type="1", operstate="up", speed=speed, mtu="1500")
    assert eth0.speed_bits_per_s is None
    assert absent["interfaces.eth0.speed_bits_per_s"] == f"/sys/class/net/eth0/speed contains {speed!r}"


def test_speed_is_megabits() -> None:
    assert interface(speed="1000")[0].speed_bits_per_s == 1e9
    assert interface(speed="400000")[0].speed_bits_per_s == 400e9


@pytest.mark.parametrize(
    ("state", "carrier", "up"),
    [("up", "1", True), ("unknown", "1", True), ("unknown", "0", False), ("unknown", "", False), ("down", "1", False),
     ("dormant", "1", False), ("lowerlayerdown", "0", False), ("someday", "1", False)],
)  # fmt: skip
def test_up_or_unknown_with_a_carrier(state: str, carrier: str, up: bool) -> None:
    assert interface(type="1", operstate=state, carrier=carrier)[0].carries_ethernet is up


@pytest.mark.parametrize("link_type", ["772", "32", "512", ""])
def test_what_is_not_ethernet(link_type: str) -> None:
    assert not interface(type=link_type, operstate="up", speed="1000")[0].carries_ethernet


def test_cores_without_siblings_come_from_package_and_core() -> None:
    facts = facts_of(*cpu_table("0 0 0 ?", "1 0 1 ?", "2 0 0 ?", "3 0 1 ?"))
    assert (facts.cores, facts.sockets) == (2, 2)


def test_core_numbers_that_repeat_in_a_socket_do_not_merge_cores() -> None:
    assert facts_of(*cpu_table("0 0 0 0", "1 0 0 1")).cores == 2


def test_the_kernels_minus_one_is_no_socket() -> None:
    facts = facts_of(*cpu_table("0 0 -1 0", "1 1 -1 1"))
    assert (facts.cores, facts.sockets) == (2, None)
    assert "sockets" in facts.absent


@pytest.mark.parametrize(
    ("listed", "count"),
    [("0", 1), ("0-3", 4), ("0-3,8,10-11", 7), ("0-999999999", None), ("", None), ("3-1", None), ("a", None),
     ("0-", None), ("0-99999999999999", None)],
)  # fmt: skip
def test_kernel_lists(listed: str, count: int | None) -> None:
    facts = facts_of(
        f"@value /sys/devices/system/cpu/online|{listed}", f"@value /sys/devices/system/node/online|{listed}"
    )
    assert (facts.processors, facts.numa_nodes) == (count, count)
    assert {"processors", "numa_nodes"} & facts.absent.keys() == (set() if count else {"processors", "numa_nodes"})


@pytest.mark.parametrize(
    ("lines", "model"),
    [
        (["model name\t: AMD EPYC 7763"], "AMD EPYC 7763"),
        (["cpu\t\t: POWER9, altivec supported"], "POWER9, altivec supported"),
        (["CPU implementer\t: 0x41", "CPU part\t: 0xd0c"], "implementer 0x41 part 0xd0c"),
        (["isa\t: rv64"], ""),
    ],
)
def test_cpu_models(lines: list[str], model: str) -> None:
    facts = facts_of("@file /proc/cpuinfo", *(f"|{line}" for line in lines), "@end")
    assert facts.cpu_model == model
    assert ("cpu_model" in facts.absent) == (model == "")


@pytest.mark.parametrize(
    ("command", "line", "version"),
    [
        ("mpirun --version", "mpirun (Open MPI) 5.0.3", "Open MPI 5.0.3"),
        ("mpirun --version", "Some Vendor MPI 1.2", "Some Vendor MPI 1.2"),
    ],
)
def test_mpi_versions(command: str, line: str, version: str) -> None:
    assert facts_of(f"@command {command}", f"|{line}", "@end 0").mpi_versions == (version,)


def test_hydra_and_the_same_mpi_named_twice() -> None:
    hydra = ["@command mpiexec --version", "|HYDRA build details:", "|    Version:           4.1.1", "@end 0"]
    twice = ["@command mpirun --version", "|mpirun (Open MPI) 4.1.4", "@end 0"]
    again = ["@command ompi_info --version", "|Open MPI v4.1.4", "@end 0"]
    assert facts_of(*twice, *again, *hydra).mpi_versions == ("Open MPI 4.1.4", "Hydra 4.1.1")


def test_a_command_that_fails_says_why_it_gave_no_version() -> None:
    facts = facts_of("@command sinfo --version", "|sinfo: fatal: no configuration", "@end 1",
                     "@command srun --version", "@end 124", "@absent slurmd -V|not installed")  # fmt: skip
    assert facts.software.slurm_client == facts.software.slurm_daemon == ""
    assert facts.absent["software.slurm_client"] == (
        "sinfo --version: exit status 1, printed 'sinfo: fatal: no configuration'; srun --version: no answer in 5 s"
    )
    assert facts.absent["software.slurm_daemon"] == "slurmd -V: not installed"


def test_tcp_counters_by_name_not_by_place() -> None:
    facts = facts_of("@file /proc/net/snmp", "|Tcp: RetransSegs New OutSegs", "|Tcp: 3 -1 500", "@end")
    assert (facts.tcp_segments_sent, facts.tcp_segments_resent) == (500, 3)
    broken = facts_of("@file /proc/net/snmp", "|Tcp: RetransSegs OutSegs", "|Tcp: 3", "@end")
    assert (broken.tcp_segments_sent, broken.tcp_segments_resent) == (None, None)
    assert "tcp_segments_sent" in broken.absent


def test_what_the_kernel_killed_for_want_of_memory() -> None:
    assert facts_of("@file /proc/vmstat", "|oom_kill 12", "@end").oom_kills == 12
    for line in ("|oom_kill", "|oom_kill many", "|oom_kill_other 3"):
        broken = facts_of("@file /proc/vmstat", line, "@end")
        assert broken.oom_kills is None
        assert "oom_kills" in broken.absent


def test_every_fact_is_there_or_its_absence_is_explained() -> None:
    facts = facts_of()
    plain = {name for name in facts.absent if "." not in name}
    assert plain >= {
        "kernel", "boot_id", "cpu_model", "processors", "cores", "sockets", "numa_nodes", "memory_bytes", "interfaces",
        "tcp_segments_sent", "tcp_segments_resent", "oom_kills", "mpi_versions",
    }  # fmt: skip
    assert [name for name in plain if getattr(facts, name) not in (None, "", ())] == []
    assert all(facts.absent.values())
