"""collect/facts.sh, run for real: on this machine, on hand-made machines, and on overlays."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from seatrial.launch.collector import collector
from seatrial.limits.path import path_limit
from seatrial.model.facts import NodeFacts
from seatrial.model.limit import Limit
from seatrial.node.frame import CommandOutput, parse_frame
from seatrial.node.node import node_facts, parse_facts
from tests.support.collecting import SHELLS, program, write
from tests.support.collecting import collected_text as collect
from tests.support.processor_time import within


def make_interface(root: Path, name: str, **attributes: str) -> None:
    for attribute, value in {"type": "1", "operstate": "up", "mtu": "1500", "carrier": "1", **attributes}.items():
        write(root, f"sys/class/net/{name}/{attribute}", value + "\n")


def make_node(root: Path, hostname: str, processors: int = 4, sockets: int = 2) -> None:
    """A node of two threads a core: processor i and i + processors/2 are siblings."""
    write(root, "proc/sys/kernel/hostname", hostname + "\n")
    write(root, "sys/devices/system/cpu/online", f"0-{processors - 1}\n")
    cores = processors // 2
    for number in range(processors):
        core = number % cores
        here = f"sys/devices/system/cpu/cpu{number}/topology"
        write(root, f"{here}/core_id", f"{core % (cores // sockets)}\n")
        write(root, f"{here}/physical_package_id", f"{core * sockets // cores}\n")
        write(root, f"{here}/thread_siblings_list", f"{core},{core + cores}\n")


@pytest.mark.parametrize("shell", SHELLS)
def test_live_machine(shell: str) -> None:
    text = collect(shell=shell)
    facts = parse_facts(text)
    assert facts.complete
    assert facts.hostname == os.uname().nodename
    assert facts.kernel == os.uname().release
    assert facts.processors == os.sysconf("SC_NPROCESSORS_ONLN")
    assert facts.memory_bytes == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert facts.cores and facts.sockets and facts.numa_nodes and facts.boot_id
    assert "lo" in [interface.name for interface in facts.interfaces]
    assert parse_frame(text).unknown == ()


def test_kernel_lists_that_refuse_single_byte_reads_are_read() -> None:
    frame = parse_frame(collect())
    for row in frame.tables["/sys/devices/system/cpu/cpu[0-9]*/topology"]:
        here = Path(f"/sys/devices/system/cpu/cpu{row['*']}/topology/thread_siblings_list")
        assert row["thread_siblings_list"] == here.read_text().strip()
    for number in frame.lists.get("/sys/devices/system/node/node[0-9]*", ()):
        path = f"/sys/devices/system/node/node{number}/cpulist"
        assert frame.values[path] == Path(path).read_text().strip()


def test_needs_no_home_no_path_and_no_folder(tmp_path: Path) -> None:
    done = subprocess.run(
        ["/bin/sh", "-s"], input=collector().encode(), capture_output=True, check=True, cwd=tmp_path, env={}, timeout=60
    )
    assert parse_facts(done.stdout.decode()).complete
    assert done.stderr == b""


def test_a_script_cut_short_on_the_way_prints_nothing() -> None:
    whole = collector().encode()
    done = subprocess.run(["/bin/sh", "-s"], input=whole[:-7], capture_output=True, check=False, timeout=60)
    assert done.stdout == b""


def test_commands_cannot_eat_the_script_nor_hang(tmp_path: Path) -> None:
    programs = {
        "sinfo": "cat",
        "slurmd": "exec sleep 30",
        "mpirun": "printf 'odd \\001\\377\\nname\\n'; exit 3",
        "timeout": f'[ "$1" = 5 ] && shift; exec {shutil.which("timeout")} 2 "$@"',
    }
    for name, body in programs.items():
        program(tmp_path, name, body)
    frame = parse_frame(collect(PATH=f"{tmp_path}:{os.environ['PATH']}"))
    assert frame.complete and frame.unknown == ()
    assert frame.commands["sinfo --version"] == CommandOutput(status=0, lines=())
    assert frame.commands["mpirun --version"] == CommandOutput(status=3, lines=("odd \x01\ufffd", "name"))
    assert "slurmd -V: no answer in 5 s" in node_facts(frame).absent["software.slurm_daemon"]


def test_two_sockets_with_smt(tmp_path: Path) -> None:
    make_node(tmp_path, "n1", processors=16, sockets=2)
    write(tmp_path, "sys/devices/system/node/online", "0-1\n")
    write(tmp_path, "sys/devices/system/node/node0/cpulist", "0-15\n")
    write(tmp_path, "sys/devices/system/node/node1/cpulist", "\n")
    facts = parse_facts(collect(str(tmp_path)))
    assert (facts.processors, facts.cores, facts.sockets, facts.numa_nodes) == (16, 8, 2, 2)


def test_a_recorded_machine_runs_no_command_and_names_what_it_lacks(tmp_path: Path) -> None:
    make_node(tmp_path, "n7")
    frame = parse_frame(collect(f"{tmp_path}/"))
    assert (frame.hostname, frame.complete, frame.commands) == ("n7", True, {})
    assert frame.absent["mpirun --version"] == "recorded machine"
    facts = node_facts(frame)
    assert {name for name in facts.absent if "." not in name} >= {
        "kernel", "boot_id", "cpu_model", "numa_nodes", "memory_bytes",
        "tcp_segments_sent", "tcp_segments_resent", "mpi_versions",
    }  # fmt: skip
    assert {"processors", "cores", "sockets", "topology.cores", "interfaces"}.isdisjoint(facts.absent)


def test_256_processors_take_less_than_a_second(tmp_path: Path) -> None:
    make_node(tmp_path, "n1", processors=256, sockets=2)
    with within(1.0):  # 0.08 s on the machine it was written on
        text = collect(f"{tmp_path}:/")
    facts = parse_facts(text)
    assert (facts.processors, facts.cores, facts.sockets) == (256, 128, 2)
    assert len(text) < 32_000


def test_overlay_wins_over_the_live_machine_file_by_file(tmp_path: Path) -> None:
    write(tmp_path, "proc/sys/kernel/hostname", "n3\n")
    write(tmp_path, "sys/class/net/lo/mtu", "9000\n")
    facts = parse_facts(collect(f"{tmp_path}:/"))
    loopback = next(interface for interface in facts.interfaces if interface.name == "lo")
    assert (facts.hostname, loopback.mtu_bytes, loopback.link_type) == ("n3", 9000, 772)
    assert facts.kernel == os.uname().release


def test_first_of_three_roots_wins_and_folders_unite(tmp_path: Path) -> None:
    for number, root in enumerate(("a b", "c"), start=1):
        write(tmp_path, f"{root}/proc/sys/kernel/hostname", f"n{number}\n")
        make_interface(tmp_path / root, f"eth{number}", speed=f"{number}000")
        make_interface(tmp_path / root, "eth9", speed=f"{number}00")
    facts = parse_facts(collect(f"{tmp_path}/a b::{tmp_path}/c:{tmp_path}/none"))
    assert facts.hostname == "n1"
    assert [(each.name, each.speed_bits_per_s) for each in facts.interfaces] == [
        ("eth1", 1e9), ("eth2", 2e9), ("eth9", 1e8),
    ]  # fmt: skip


def test_bond_vlan_bridge_and_down_interfaces(tmp_path: Path) -> None:
    make_node(tmp_path, "n1")
    net = tmp_path / "sys/class/net"
    make_interface(tmp_path, "eth0", speed="25000")
    make_interface(tmp_path, "eth1", speed="25000")
    make_interface(tmp_path, "eth2", speed="-1", operstate="down", carrier="0")
    make_interface(tmp_path, "bond0", speed="50000", mtu="9000")
    make_interface(tmp_path, "bond0.7", speed="50000", mtu="9000")
    make_interface(tmp_path, "br0", speed="100000")
    (net / "br0" / "bridge").mkdir()
    (net / "bonding_masters").write_text("bond0\n")
    for member in ("eth0", "eth1"):
        (net / member / "master").symlink_to("../bond0")
        (net / "bond0" / f"lower_{member}").symlink_to(f"../{member}")
    (net / "bond0.7" / "lower_bond0").symlink_to("../bond0")
    driver = tmp_path / "sys/bus/pci/drivers/mlx5_core"
    driver.mkdir(parents=True)
    (net / "eth0" / "device").mkdir()
    (net / "eth0" / "device" / "driver").symlink_to(driver)
    (net / "eth1" / "device").mkdir()
    (net / "eth1" / "device" / "driver").symlink_to("../nowhere/ice")
    facts = parse_facts(collect(str(tmp_path)))
    interfaces = {each.name: each for each in facts.interfaces}
    assert list(interfaces) == ["bond0", "bond0.7", "br0", "eth0", "eth1", "eth2"]
    assert [each.name for each in facts.ethernet_interfaces] == ["bond0"]
    assert interfaces["eth0"].enslaved and interfaces["eth0"].driver == "mlx5_core"
    assert interfaces["bond0"].lower == ("eth0", "eth1")
    assert interfaces["br0"].bridge
    assert interfaces["eth2"].speed_bits_per_s is None
    assert facts.absent["interfaces.eth2.speed_bits_per_s"] == "/sys/class/net/eth2/speed contains '-1'"


def hca_node(tmp_path: Path, hostname: str, state: str) -> NodeFacts:
    root = tmp_path / hostname
    make_node(root, hostname)
    make_interface(root, "eth0", speed="1000")
    for name, content in (("state", state), ("rate", "100 Gb/sec (4X EDR)"), ("link_layer", "InfiniBand")):
        write(root, f"sys/class/infiniband/mlx5_0/ports/1/{name}", content + "\n")
    return parse_facts(collect(str(root)))


def test_an_hca_counts_where_a_port_is_active(tmp_path: Path) -> None:
    active, down = hca_node(tmp_path, "n1", "4: ACTIVE"), hca_node(tmp_path, "n2", "1: DOWN")
    other_down = hca_node(tmp_path, "n3", "1: DOWN")
    assert [hca.name for hca in active.active_hcas] == ["mlx5_0"]
    assert ([hca.name for hca in down.hcas], down.active_hcas) == (["mlx5_0"], ())
    found = path_limit(active, down)
    assert isinstance(found, Limit)
    assert any("share no network but Ethernet" in why for why in found.unknown)
    assert isinstance(path_limit(down, other_down), Limit)


def test_foreign_bytes_and_folders_in_a_files_place_do_no_harm(tmp_path: Path) -> None:
    make_node(tmp_path, "n1")
    odd = tmp_path / "proc/sys/kernel/osrelease"
    odd.write_bytes(b"6.1\x00\x01\xff\x85\x0b|@end %s\\n\nsecond\n")
    (tmp_path / "proc/sys/kernel/random/boot_id").mkdir(parents=True)
    (tmp_path / "proc/cpuinfo").mkdir()
    for shell in SHELLS:
        frame = parse_frame(collect(str(tmp_path), shell=shell))
        assert frame.complete and frame.unknown == ()
        assert frame.values["/proc/sys/kernel/osrelease"].endswith("|@end %s\\n")
        assert frame.absent["/proc/cpuinfo"] == "not readable"
        assert "/proc/sys/kernel/random/boot_id" in frame.absent
