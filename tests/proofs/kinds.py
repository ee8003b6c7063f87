"""The reversible kinds of change: how the lab plants each, with which command it is measured, and what it must cost."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median

import msgspec

from seatrial.lab.cluster import state
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.node_groups import name_of
from seatrial.lab.cluster.plan import PARAMETERS_FILE, LabPlan
from seatrial.lab.cluster.sysroot import BASE_SLICE_FILE, PROCESSOR, below, own
from seatrial.lab.faults.base import Parameters
from seatrial.process.process import run
from tests.support.json_objects import parsed

CURVE = ("link", "n2", "n1", "--max-size", "4MiB", "--per-octave", "1", "--budget", "8s")
TRIALS = ("nodes", "n[1-2]", "--trials", "arithmetic")
MTU, USUAL_MTU = 600, 1500
HEADERS, FRAME = 52, 14
"""Bytes of IP and TCP with time stamps in each frame, and those of Ethernet that the shaper counts."""
SHARE = 50.0
RAIL = "eth0"
"""The one of two that Open MPI still uses."""
RAILED_BYTES = 1 << 20
SENT_BYTES = 120_000_000
WARM_BYTES = 8 << 20
TIMES = 3
RECEIVER = """
import socket, sys
with socket.create_server(("", 5201)) as server:
    print("ready", flush=True)
    connection, _ = server.accept()
    left = int(sys.argv[1])
    while left > 0:
        left -= len(connection.recv(1 << 20))
    connection.sendall(b"x")
"""
SENDER = """
import socket, sys, time
with socket.create_connection((sys.argv[1], 5201)) as connection:
    left, warm = int(sys.argv[2]), int(sys.argv[3])
    connection.sendall(bytes(warm))
    began = time.monotonic()
    connection.sendall(bytes(left - warm))
    connection.recv(1)
    print((left - warm) / (time.monotonic() - began))
"""
BUSY_S = 5.0
BUSY = """
import sys, time
began = time.monotonic()
used = time.process_time()
while time.monotonic() < began + float(sys.argv[1]):
    pass
print((time.process_time() - used) / (time.monotonic() - began))
"""
QUOTA_FILES = ("cpu.max", "cpu.cfs_quota_us")
Setting = Callable[[LabPlan], str]
Witness = Callable[[LabPlan, Path, bool], float]


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of reversible change."""

    name: str
    """Of the fault."""
    nodes: tuple[str, ...]
    parameters: Parameters
    fact: str
    """That the first suspect must have."""
    command: tuple[str, ...]
    metric: str
    """Beginning of the name of the metric in which the change shows; of several the one that lost most."""
    subject: str
    setting: Setting
    """Of n2, as it is now."""
    planted: float | None = None
    """The ratio that the change must have; None: that of the witness."""
    rails: int = 1
    """Of the nodes of its lab."""
    witness: Witness | None = None
    """The rate without the change and, with True, with it, by other means than the runs that are compared."""


def content(path: str) -> Setting:
    """Of a file that n2 sees."""
    return lambda plan: run(as_user(plan, ["cat", path], host="n2"), timeout_s=60).stdout


def overlaid(path: str) -> Setting:
    """Of a simulated file of n2's own."""
    return lambda plan: below(own(state.folder(plan.name), "n2"), path).read_text()


def quota(plan: LabPlan) -> str:
    """What the control group of n2 leaves it."""
    place = below(Path("/sys/fs/cgroup"), name_of(plan.name, "n2"))
    return "".join(path.read_text() for path in place.parent.glob(f"**/{place.name}/cpu.*") if path.name in QUOTA_FILES)


def carried(mtu: int) -> float:
    """The share of a shaped link that TCP carries."""
    return (mtu - HEADERS) / (mtu + FRAME)


def socket_rate(plan: LabPlan, _folder: Path, _changed: bool) -> float:
    """Bytes per second from n2 to n1 over a plain socket, with the MTU that n2 has."""
    return median(_sent(plan) for _ in range(TIMES))


def _sent(plan: LabPlan) -> float:
    receive = as_user(plan, [sys.executable, "-S", "-c", RECEIVER, str(SENT_BYTES)], host="n1")
    send = [sys.executable, "-S", "-c", SENDER, "n1", str(SENT_BYTES), str(WARM_BYTES)]
    with subprocess.Popen(receive, stdout=subprocess.PIPE, text=True) as receiver:
        try:
            assert receiver.stdout is not None
            assert receiver.stdout.readline() == "ready\n"
            return float(run(as_user(plan, send, host="n2"), timeout_s=60).stdout)
        finally:
            receiver.kill()


def processors_got(plan: LabPlan, _folder: Path, _changed: bool) -> float:
    """Processors that two busy tasks of n2 get together: what the kernel gave, whatever they did in that time.

    Loops that they count would not do: what they do in a second of processor time varies by a fifth on one machine.
    """
    task = [sys.executable, "-S", "-c", BUSY, str(BUSY_S)]
    argv = as_user(plan, ["srun", "--nodelist=n2", "--ntasks=2", "--mpi=none", *task])
    return median(sum(float(word) for word in run(argv, timeout_s=60).stdout.split()) for _ in range(TIMES))


def railed_rate(plan: LabPlan, folder: Path, changed: bool) -> float:
    """Bytes per second of large messages, with the rail in the environment of the job and not in a file of a node."""
    words = [f"OMPI_MCA_btl_tcp_if_include={RAIL}"] if changed else []
    argv = ["env", *words, sys.executable, "-m", "seatrial", *CURVE, "--json", "--archive", str(folder / "witness")]
    rates = []
    for _ in range(TIMES):
        points = parsed(run(as_user(plan, argv), timeout_s=200).stdout)["points"]
        (point,) = (point for point in points if point["message_bytes"] == RAILED_BYTES)
        rates.append(float(point["bandwidth_bytes_per_s"]["value"]))
    return median(rates)


KINDS = (
    Kind(
        name="cpu-quota", nodes=("n2",), parameters=Parameters(percent=SHARE), fact="processor.quota_processors",
        command=TRIALS, metric="arithmetic of the slowest core", subject="node:n2", witness=processors_got,
        setting=quota,
    ),
    Kind(
        name="governor", nodes=("n2",), parameters=Parameters(percent=SHARE), fact="processor.governors",
        command=TRIALS, metric="arithmetic of the slowest core", subject="node:n2", witness=processors_got,
        setting=overlaid(f"{PROCESSOR.format(number=0)}/scaling_governor"),
    ),
    Kind(
        name="scheduler-granularity", nodes=("n2",), parameters=Parameters(percent=SHARE),
        fact="settings.scheduler.base_slice_ns", command=TRIALS, metric="arithmetic of the slowest core",
        subject="node:n2", witness=processors_got, setting=overlaid(BASE_SLICE_FILE),
    ),
    Kind(
        name="mtu", nodes=("n2",), parameters=Parameters(mtu=MTU), fact="interfaces.eth0.mtu_bytes", command=CURVE,
        metric="bandwidth 1 MiB", subject="pair:n2>n1", witness=socket_rate, planted=carried(MTU) / carried(USUAL_MTU),
        setting=content("/sys/class/net/eth0/mtu"),
    ),
    Kind(
        name="mpi-rail", nodes=("n2",), parameters=Parameters(rail=RAIL), rails=2, command=CURVE,
        fact="software.mpi_settings.btl_tcp_if_include", metric="bandwidth 1 MiB", subject="pair:n2>n1",
        witness=railed_rate, setting=content(PARAMETERS_FILE),
    ),
)  # fmt: skip
