"""The kernel's settings: from hand-made frames, and from files read by the script in every shell."""

import os
import subprocess
from pathlib import Path

import pytest

from seatrial.launch.collector import collector
from seatrial.node.frame import Frame, parse_frame
from seatrial.node.node import read_kernel
from tests.support.collecting import SHELLS, collect, write


def settings_of(**values: str) -> Frame:
    return Frame(hostname="n1", complete=True, values=values)


@pytest.mark.parametrize("shell", SHELLS)
def test_numbers_of_proc_sys_are_whole(shell: str) -> None:
    """A shell's `read` gets one digit of each: the kernel answers such a file to the first read alone."""
    facts, _ = read_kernel(collect("/", shell))
    for name in ("vm.swappiness", "net.core.netdev_max_backlog", "net.ipv4.tcp_rmem"):
        path = Path("/proc/sys") / name.replace(".", "/")
        if path.exists():
            assert facts.sysctls[name] == " ".join(path.read_text().split())


@pytest.mark.parametrize("shell", SHELLS)
def test_each_generation_of_the_scheduler(tmp_path: Path, shell: str) -> None:
    generations = {
        "old": {"/proc/sys/kernel/sched_min_granularity_ns": "10000000\n", "/proc/sys/kernel/sched_latency_ns": "24\n"},
        "debug": {
            "/sys/kernel/debug/sched/min_granularity_ns": "3000000\n",
            "/sys/kernel/debug/sched/tunable_scaling": "none (logarithmic) linear\n",
        },
        "eevdf": {"/sys/kernel/debug/sched/base_slice_ns": "2800000\n", "/sys/kernel/debug/sched/preempt": "(full)\n"},
    }
    found = {}
    for name, files in generations.items():
        for path, content in files.items():
            write(tmp_path / name, path, content)
        facts, absent = read_kernel(collect(str(tmp_path / name), shell))
        found[name] = facts.scheduler
        assert "settings.scheduler" not in absent
    assert found == {
        "old": {"min_granularity_ns": "10000000", "latency_ns": "24"},
        "debug": {"min_granularity_ns": "3000000", "tunable_scaling": "logarithmic"},
        "eevdf": {"base_slice_ns": "2800000", "preempt": "full"},
    }


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_debugfs_that_only_root_may_search(tmp_path: Path) -> None:
    """The other user reaches the files through a descriptor: folders above may be closed to it."""
    tmp_path.chmod(0o755)
    write(tmp_path, "/sys/kernel/debug/sched/base_slice_ns", "2800000\n")
    (tmp_path / "sys/kernel/debug").chmod(0o700)
    root = os.open(tmp_path, os.O_RDONLY)
    try:
        done = subprocess.run(
            ["/bin/sh", "-s"],
            input=collector().encode(),
            capture_output=True,
            check=True,
            user=65534,
            cwd="/",
            env={"PATH": os.environ["PATH"], "SEATRIAL_SYSROOT": f"/proc/self/fd/{root}"},
            pass_fds=(root,),
            timeout=60,
        )
    finally:
        os.close(root)
    _, absent = read_kernel(parse_frame(done.stdout.decode()))
    assert absent["settings.scheduler"].endswith("/sys/kernel/debug/sched: debugfs needs root")


def test_autogroup_is_a_sysctl_and_no_granularity() -> None:
    facts, absent = read_kernel(settings_of(**{"/proc/sys/kernel/sched_autogroup_enabled": "1"}))
    assert facts.scheduler == {}
    assert facts.sysctls == {"kernel.sched_autogroup_enabled": "1"}
    assert "settings.scheduler" in absent


def test_what_identifies_the_node_is_no_sysctl() -> None:
    facts, _ = read_kernel(settings_of(**{"/proc/sys/kernel/random/boot_id": "1", "/proc/sys/kernel/hostname": "n1"}))
    assert facts.sysctls == {}


def test_tabs_and_runs_of_blanks_become_one() -> None:
    facts, _ = read_kernel(settings_of(**{"/proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t  6291456 "}))
    assert facts.sysctls == {"net.ipv4.tcp_rmem": "4096 131072 6291456"}


@pytest.mark.parametrize(
    ("text", "word"),
    [("always [madvise] never", "madvise"), ("[always] madvise never", "always"), ("always", ""), ("[", ""), ("", "")],
)
def test_huge_pages_are_the_word_in_brackets(text: str, word: str) -> None:
    facts, absent = read_kernel(settings_of(**{"/sys/kernel/mm/transparent_hugepage/enabled": text}))
    assert facts.transparent_huge_pages == word
    assert ("settings.transparent_huge_pages" in absent) == (word == "")


@pytest.mark.parametrize("shell", SHELLS)
def test_modules_and_the_versions_of_those_that_matter(tmp_path: Path, shell: str) -> None:
    write(tmp_path, "/proc/modules", "mlx5_core 1 0 - Live 0xffffffffc0000000 (OE)\nfuse 2 1 - Live 0x0\nlnet 3 4\n")
    write(tmp_path, "/sys/module/mlx5_core/version", "23.10-1.1.9\n")
    write(tmp_path, "/sys/module/fuse/version", "7\n")
    frame = collect(str(tmp_path), shell)
    facts, _ = read_kernel(frame)
    assert facts.modules == {"fuse": "", "lnet": "", "mlx5_core": "23.10-1.1.9"}
    assert frame.files["/proc/modules"] == ("mlx5_core", "fuse", "lnet")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_command_line_without_addresses_and_secrets(tmp_path: Path, shell: str) -> None:
    line = (
        "BOOT_IMAGE=/vmlinuz-5.14.0-427.13.1.el9_4.x86_64 root=UUID=0a1b2c3d-0000-1111-2222-0123456789ab ro  "
        "ip=10.1.2.3:10.0.0.1:10.0.0.1:255.255.255.0:n1:eth0:none BOOTIF=01-aa-bb-cc-dd-ee-0f "
        "nfsroot=[fd00::1]:/image rd.iscsi.password=hunter2 isolcpus=1-3,5 intel_iommu=on mitigations=off"
    )
    write(tmp_path, "/proc/cmdline", line)
    facts, absent = read_kernel(collect(str(tmp_path), shell))
    assert facts.command_line == (
        "BOOT_IMAGE=/vmlinuz-5.14.0-427.13.1.el9_4.x86_64 root=UUID=UUID ro "
        "ip=ADDRESS:ADDRESS:ADDRESS:ADDRESS:n1:eth0:none BOOTIF=ADDRESS "
        "nfsroot=ADDRESS:/image rd.iscsi.password=HIDDEN isolcpus=1-3,5 intel_iommu=on mitigations=off"
    )
    assert "settings.command_line" not in absent


@pytest.mark.parametrize("shell", SHELLS)
def test_odd_files_shift_no_value_to_another(tmp_path: Path, shell: str) -> None:
    """All are read by one grep, whose lines must find back to their files."""
    for name, content in {
        "swappiness": "",
        "zone_reclaim_mode": "\n",
        "overcommit_memory": "1\n2\n3\n",
        "nr_hugepages": "no newline at the end",
        "dirty_ratio": "a\0b\n",
    }.items():
        write(tmp_path, f"/proc/sys/vm/{name}", content)
    write(tmp_path, "/proc/sys/kernel/watchdog", "1\n")
    write(tmp_path, "/proc/sys/net/core/rmem_max", f"{tmp_path}/./proc/sys/net/core/wmem_max:7\n")
    write(tmp_path, "/proc/sys/net/core/default_qdisc", "fq\n")
    frame = collect(str(tmp_path), shell)
    facts, _ = read_kernel(frame)
    expected = {
        "kernel.watchdog": "1",
        "net.core.default_qdisc": "fq",
        "net.core.rmem_max": f"{tmp_path}/./proc/sys/net/core/wmem_max:7",
        "vm.nr_hugepages": "no newline at the end",
        "vm.overcommit_memory": "1",
        "vm.zone_reclaim_mode": "",
    }
    assert {name: facts.sysctls.get(name) for name in expected} == expected
    assert frame.absent["/proc/sys/vm/swappiness"] == "empty or not readable"
    assert frame.absent["/proc/sys/net/core/wmem_max"] == "no such file"


def test_an_overlay_wins_setting_by_setting(tmp_path: Path) -> None:
    write(tmp_path, "/sys/kernel/debug/sched/base_slice_ns", "100000\n")
    write(tmp_path, "/proc/sys/vm/zone_reclaim_mode", "3\n")
    facts, _ = read_kernel(collect(f"{tmp_path}:/"))
    assert facts.scheduler["base_slice_ns"] == "100000"
    assert facts.sysctls["vm.zone_reclaim_mode"] == "3"
    assert facts.sysctls["vm.swappiness"] == Path("/proc/sys/vm/swappiness").read_text().strip()


def test_every_fact_is_there_or_its_absence_is_explained() -> None:
    facts, absent = read_kernel(Frame(hostname="n1", complete=True))
    assert set(absent) == {f"settings.{name}" for name in facts.__struct_fields__}
    assert all(absent.values())
