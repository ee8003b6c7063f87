"""In the second kernel: a lab whose login node is a file server, and an archive on NFS that two nodes write at once.

usage: python -m tests.lab.shared.cluster [real]; prints what happens, writes /run/reports/found.json.
"""

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from seatrial.lab.cluster.daemons import node_states
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan, make_plan
from seatrial.lab.cluster.start import needed_folders, raise_lab
from seatrial.process.process import Completed, run
from tests.lab.shared.writer import LEAVE
from tests.support.json_objects import parsed

EXPORTED = Path("/run/exported")
SHARED = Path("/run/shared")
ARCHIVE = SHARED / "archive"
NOTES = Path("/run/notes")
FOUND = Path("/run/reports/found.json")
SERVER_ADDRESS = "10.77.0.1"
VERSION = "4.2"
WRITERS = {"n1": "first", "n2": "second"}
REAL = {"n1": "n1,n2", "n2": ""}
"""The nodes that a real check takes from Slurm. This kernel has one slow processor: two checks would be too slow."""
COMMAND_S = 180.0
ROUNDS = 2
SERVE = f"""
set -e
mount -t nfsd nfsd /proc/fs/nfsd
exportfs -o rw,no_root_squash,no_subtree_check,insecure,fsid=0 '*:{EXPORTED}'
echo 10 >/proc/fs/nfsd/nfsv4leasetime; echo 10 >/proc/fs/nfsd/nfsv4gracetime
rpc.mountd --no-nfs-version 3
rpc.nfsd --no-nfs-version 3 --no-udp 4
echo Y >/proc/fs/nfsd/v4_end_grace || true
"""


def main() -> None:
    """Everything in order."""
    for folder in (EXPORTED, SHARED, NOTES):
        folder.mkdir()
    plan = make_plan(name="u", nodes=len(WRITERS), folders=needed_folders())
    raise_lab(plan)
    say(f"a lab is up: {node_states(plan)}")
    serve(plan)
    for node in WRITERS:
        mount(plan, node)
    found = disturb(plan)
    FOUND.write_text(json.dumps(found, indent=1))
    say("done")


def real() -> bool:
    """Whether the first check is a real one, through Slurm and MPI."""
    return "real" in sys.argv


def say(what: str) -> None:
    """A line with the time."""
    print(f"{time.monotonic():7.1f}  {what}", flush=True)


def on(plan: LabPlan, node: str, argv: Sequence[str]) -> Completed:
    """Run a program on a node."""
    return run(as_user(plan, argv, host=node), timeout_s=COMMAND_S)


def must(done: Completed) -> str:
    """What it printed; an error ends it all."""
    if not done.ok:
        raise SystemExit(f"{done.argv} failed ({done.returncode}): {done.stdout} {done.stderr}")
    return done.stdout


def serve(plan: LabPlan) -> None:
    """Export a folder by the kernel's NFS server, in the login node's network."""
    must(on(plan, "login", ["sh", "-c", SERVE]))
    say("the NFS server is up")


def mount(plan: LabPlan, node: str) -> None:
    """Mount it with default caching. The node gets a boot id of its own, as any other machine has."""
    must(on(plan, node, ["mount", "-t", "nfs4", "-o", f"vers={VERSION}", f"{SERVER_ADDRESS}:/", str(SHARED)]))
    boot_id = NOTES / f"{node}.boot_id"
    boot_id.write_text(f"{uuid.uuid4()}\n")
    must(on(plan, node, ["mount", "--bind", str(boot_id), "/proc/sys/kernel/random/boot_id"]))
    mounted = must(on(plan, node, ["grep", f" {SHARED} ", "/proc/mounts"]))
    say(f"{node}: {mounted.strip()}")


def seatrial(plan: LabPlan, node: str, *words: str) -> Completed:
    """A seatrial command over the shared archive."""
    return on(plan, node, [sys.executable, "-m", "seatrial", *words, "--archive", str(ARCHIVE)])


def start_writer(plan: LabPlan, node: str, name: str) -> "subprocess.Popen[bytes]":
    """A check on a node that writes the shared archive."""
    program = [sys.executable, "-m", "tests.lab.shared.writer"]
    words = [str(ARCHIVE), name, str(NOTES / name), REAL[node] if real() else ""]
    return subprocess.Popen(as_user(plan, [*program, *words], host=node))


def disturb(plan: LabPlan) -> dict[str, object]:
    """Two checks; `runs recover` and `runs list` on either node meanwhile; then one driver is killed."""
    writers = {name: start_writer(plan, node, name) for node, name in WRITERS.items()}
    while not all(noted(name) for name in WRITERS.values()):
        time.sleep(0.1)
    rounds = [at_once(plan, writers) for _ in range(1 if real() else ROUNDS)]
    killed = writers["first"]
    still_running = killed.poll() is None
    killed.kill()
    killed.wait()
    at_kill = {name: noted(name) for name in WRITERS.values()}
    say(f"the first driver is killed, delivered by then: {at_kill}")
    began = time.monotonic()
    recovered = seatrial(plan, "n2", "runs", "recover", "--json")
    took_s = time.monotonic() - began
    say(f"recovered from n2 in {took_s:.1f} s: {seen(recovered)}")
    (NOTES / LEAVE).touch()
    code = writers["second"].wait()
    say(f"the second driver ended with {code}; lines lost: { ({name: lost(name) for name in WRITERS.values()}) }")
    return {
        "rounds": rounds,
        "killed_while_running": still_running,
        "delivered_at_kill": at_kill,
        "recovered": seen(recovered),
        "recover_s": took_s,
        "second_exit_code": code,
        "list": seen(seatrial(plan, "n1", "runs", "list", "--json")),
        "folders": sorted(os.listdir(EXPORTED / "archive")),  # noqa: PTH208
        "lost": {name: lost(name) for name in WRITERS.values()},
        "reports": {name: seatrial(plan, "n1", "report", name).returncode for name in WRITERS.values()},
    }


def at_once(plan: LabPlan, writers: dict[str, "subprocess.Popen[bytes]"]) -> dict[str, object]:
    """`runs recover` and `runs list` on both nodes at the same time; whether the drivers still run then."""
    asked = [(node, command) for node in WRITERS for command in ("recover", "list")]
    with ThreadPoolExecutor(max_workers=len(asked)) as pool:
        done = list(pool.map(lambda one: seatrial(plan, one[0], "runs", one[1], "--json"), asked))
    found: dict[str, object] = {
        f"{command} on {node}": seen(one) for (node, command), one in zip(asked, done, strict=True)
    }
    say(f"at once: {found}")
    return {"commands": found, "alive": alive(writers)}


def seen(done: Completed) -> dict[str, object]:
    """A command's exit code and what it printed."""
    said = parsed(done.stdout) if done.stdout.startswith("{") else done.stdout
    return {"exit_code": done.returncode, "said": said, "errors": done.stderr}


def alive(writers: dict[str, "subprocess.Popen[bytes]"]) -> dict[str, bool]:
    """Which drivers are running."""
    return {name: process.poll() is None for name, process in writers.items()}


def noted(name: str) -> int:
    """How many lines a driver has delivered."""
    path = NOTES / name
    return path.read_bytes().count(b"\n") if path.exists() else 0


def lost(name: str) -> int:
    """How many delivered lines the server's copy of the run lacks, under whatever name it was closed."""
    delivered = (NOTES / name).read_bytes().splitlines()
    journals = (EXPORTED / "archive").glob(f"{name}*/journal.jsonl")
    kept = {line for journal in journals for line in journal.read_bytes().splitlines()}
    return len([line for line in delivered if line not in kept])


if __name__ == "__main__":
    main()
