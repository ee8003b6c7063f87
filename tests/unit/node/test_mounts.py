"""Mounts, and what answers: the collector goes on whatever hangs."""

import os
import re
import shutil
import time
from pathlib import Path

import pytest

from seatrial.drift.expected_differences import excused_between_nodes, excused_over_time
from seatrial.node.mounts import is_passing
from seatrial.node.system import read_system
from seatrial.rules.mounts import lasting_mounts
from tests.support.collecting import SHELLS, collect, finish, program, start, write
from tests.support.facts_examples import mount
from tests.support.processes import kill_all

MOUNTS = r"""proc /proc proc rw 0 0
/dev/sda1 / ext4 rw,relatime 0 0
systemd-1 /proc/sys/fs/binfmt_misc autofs rw,fd=34,pgrp=1,pipe_ino=7 0 0
/etc/auto.home /home autofs rw,fd=6,pgrp=2367,timeout=300,pipe_ino=45723,indirect 0 0
nas1:/vol/a\040b /data/a\040b nfs4 rw,vers=4.1,addr=10.0.0.9,clientaddr=10.0.0.5 0 0
10.1.1.1@o2ib:10.1.1.2@o2ib:/fs1 /scratch lustre rw,flock 0 0
//srv/share /win cifs rw,username=alice,uid=1000,vers=3.0 0 0
tmpfs /run/user/1000 tmpfs rw,uid=1000 0 0
mallory@h: /home/mallory/mnt fuse.sshfs rw,nosuid,nodev,relatime,user_id=1000,group_id=1000 0 0
lustre@tcp:/fs /tmp/scratch fuse.lustre user_id=1000,group_id=1000 0 0
gluster /shared fuse.glusterfs rw,relatime,user_id=0,group_id=0,allow_other 0 0
short line
"""


@pytest.mark.parametrize("shell", SHELLS)
def test_mounts(tmp_path: Path, shell: str) -> None:
    write(tmp_path, "/proc/mounts", MOUNTS)
    frame = collect(str(tmp_path), shell)
    facts, _ = read_system(frame)
    assert [(each.path, each.source, each.kind, each.options, each.reachable) for each in facts.mounts] == [
        ("/", "/dev/sda1", "ext4", ("rw", "relatime"), None),
        ("/home", "/etc/auto.home", "autofs", ("rw", "timeout=300", "indirect"), None),
        ("/data/a b", "nas1:/vol/a b", "nfs4", ("rw", "vers=4.1"), None),
        ("/scratch", "ADDRESS@o2ib:ADDRESS@o2ib:/fs1", "lustre", ("rw", "flock"), None),
        ("/win", "//srv/share", "cifs", ("rw", "username=HIDDEN", "uid=HIDDEN", "vers=3.0"), None),
        ("/shared", "gluster", "fuse.glusterfs",
         ("rw", "relatime", "user_id=HIDDEN", "group_id=HIDDEN", "allow_other"), None),
    ]  # fmt: skip
    assert not re.search(r"10\.0\.0|alice|1000", repr(frame.files["/proc/mounts"]))


@pytest.mark.parametrize("shell", SHELLS)
def test_what_is_reachable(tmp_path: Path, shell: str) -> None:
    here, gone = tmp_path / "here", tmp_path / "gone"
    here.mkdir()
    lines = [f"srv:/a {here} nfs4 rw 0 0", f"srv:/b {gone} lustre rw 0 0", f"auto {here} autofs rw 0 0"]
    write(tmp_path, "/overlay/proc/mounts", "\n".join([*lines, "/dev/sda1 / ext4 rw 0 0"]) + "\n")
    named = f"relative:{here}:{gone}/deep::/"
    facts, _ = read_system(collect(f"{tmp_path}/overlay:/", shell, SEATRIAL_PATHS=named))
    assert [(each.kind, each.reachable) for each in facts.mounts] == [
        ("nfs4", True), ("lustre", False), ("autofs", None), ("ext4", None)
    ]  # fmt: skip
    assert facts.paths == {str(here): True, f"{gone}/deep": False, "/": True}


def test_a_recorded_machine_is_not_asked(tmp_path: Path) -> None:
    write(tmp_path, "/proc/mounts", f"srv:/a {tmp_path} nfs4 rw 0 0\n")
    facts, _ = read_system(collect(str(tmp_path), SEATRIAL_PATHS="/"))
    assert (facts.mounts[0].reachable, facts.paths) == (None, {})


def hanging(folder: Path, name: str) -> None:
    """A program that never answers; it tells its process id, so that the test can end it."""
    hangs = f'case "$*" in *hangs*) echo $$ >>{folder}/pids; exec sleep 60 ;; esac'
    program(folder, name, f'{hangs}\nexec {shutil.which(name)} "$@"')


@pytest.mark.parametrize(("stuck", "seconds"), [("stat", 3.0), ("timeout", 4.0)])
def test_a_dead_file_server_stops_nobody(tmp_path: Path, stuck: str, seconds: float) -> None:
    """A `stat` that hangs is killed; a `timeout` that hangs stands for one that cannot be killed."""
    hanging(tmp_path, stuck)
    lines = "".join(f"srv:/{number} {tmp_path}/hangs{number} nfs rw 0 0\n" for number in range(20))
    write(tmp_path, "/overlay/proc/mounts", lines)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SEATRIAL_PATHS": "/hangs:/"}
    started = time.monotonic()
    try:
        running = [start(f"{tmp_path}/overlay:/", shell, **environment) for shell in SHELLS]
        frames = [finish(process) for process in running]
        elapsed = time.monotonic() - started
    finally:
        kill_all(map(int, (tmp_path / "pids").read_text().split()))
    assert seconds - 0.5 < elapsed < 45  # of the 60 that they hang; four shells on a machine that others use
    for frame in frames:
        facts, absent = read_system(frame)
        assert facts.paths == {"/": True, "/hangs": False}
        assert [mount.reachable for mount in facts.mounts] == [False] * 16 + [None] * 4
        assert absent[f"system.mounts.{tmp_path}/hangs7"] == "no answer in 3 s"


# One list of passing mounts: rules and comparisons pass over the same ones.
PASSING = [
    "/run",
    "/run/user/1000",
    "/boot",
    "/boot/efi",
    "/media/stick",
    "/dev/hugepages-1G",
    "/dev/mqueue",
    "/var/lib/docker/overlay2/x/merged",
    "/var/spool/slurmd.n1/job1",
    "/snap/core/1",
    "/sys/kernel/debug",
]
STAYING = [
    "/",
    "/home",
    "/bootstrap",
    "/running",
    "/dev/shm",
    "/dev/hugepages",
    "/var/lib",
    "/var/spool/mail",
    "/tmp/x",
]


@pytest.mark.parametrize("path", [*PASSING, *STAYING])
def test_all_pass_over_the_same(path: str) -> None:
    passing = path in PASSING
    assert is_passing(path) is passing
    assert (path in lasting_mounts((mount(path),), ())) is not passing
    for fact in (f"system.mounts.{path}", f"system.mounts.{path}.options"):
        assert excused_between_nodes(fact) is passing
        assert excused_over_time(fact) is passing
