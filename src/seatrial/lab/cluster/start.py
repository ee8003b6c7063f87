"""Starts a lab: wiring, hosts, daemons, in that order; removes what it has built if that fails."""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

import seatrial
from seatrial.lab.cluster import state
from seatrial.lab.cluster.accounting import gres_conf, require_accounting, start_accounting
from seatrial.lab.cluster.daemons import start_controller, start_slurmd, wait_for_controller, wait_until_settled
from seatrial.lab.cluster.host_argv import NAMESPACES, hold
from seatrial.lab.cluster.network import host_side, hosts_file, port_rates, shape_line, speed_file, switches, wiring
from seatrial.lab.cluster.plan import FABRIC, LOGIN, PARAMETERS_FILE, LabPlan, parameters
from seatrial.lab.cluster.processes import batch, require_lab, start_ticks
from seatrial.lab.cluster.shared_storage import mount_shared
from seatrial.lab.cluster.slurm_conf import (
    cgroup_conf,
    default_mpi,
    helpers_conf,
    install_power,
    slurm_conf,
    topology_conf,
)
from seatrial.lab.cluster.ssh import FOLDER, SYSTEM_FOLDER, require_sshd, start_sshd, write_ssh
from seatrial.lab.cluster.stop import raze
from seatrial.lab.cluster.sysroot import dress_script, here, own, write_base
from seatrial.model.errors import SeatrialError

SPEED_FILE = "/sys/class/net/{rail}/speed"
FOLDERS = (NAMESPACES, "stage", "state", "spool", "run", "log", "overlay", "facts", "work", "db")


def needed_folders() -> tuple[str, ...]:
    """What a command run inside must find even if it lies under /tmp: this folder, this Python, this package."""
    package = Path(seatrial.__file__).absolute().parent
    project = package.parents[1] if package.parent.name == "src" else package
    places = {str(Path.cwd()), sys.prefix, sys.base_prefix, str(project)}
    return tuple(sorted(places | {str(Path(place).resolve()) for place in places}))


def raise_lab(plan: LabPlan) -> None:
    """Start the lab, and return when every node is idle. After any failure, nothing half-built remains."""
    require_lab()
    if plan.ssh:
        require_sshd()
    if plan.accounts:
        require_accounting()
    home = state.folder(plan.name)
    while not _has_new_folder(plan, home):
        pass
    with _terminations_raised(), _children_marked(plan.name):
        try:
            _build(plan, home)
        except BaseException:
            raze(plan.name)
            raise


def _has_new_folder(plan: LabPlan, home: Path) -> bool:
    """Whether the lab has its folder; False where the end of another lab, the last one, removed the one above it."""
    with suppress(FileExistsError):
        state.ROOT.mkdir(mode=0o700, parents=True)
    try:
        home.mkdir(mode=0o700)
    except FileNotFoundError:
        return False
    except FileExistsError:
        raise SeatrialError(
            f"A lab named {plan.name!r} is running already.",
            f"Use it, choose another --name, or remove it with: seatrial lab down --name {plan.name}",
        ) from None
    return True


def _build(plan: LabPlan, home: Path) -> None:
    raiser = state.Raiser(pid=os.getpid(), start_ticks=start_ticks(os.getpid()) or 0)
    state.save(state.LabState(plan=plan, raiser=raiser))
    _write_files(plan, home)
    batch("ip", None, wiring(plan))
    batch("ip", plan.space(FABRIC), switches(plan))
    batch("tc", plan.space(FABRIC), port_rates(plan))
    install_power(plan)
    with ThreadPoolExecutor(max_workers=8) as pool:
        list(pool.map(lambda host: _dress(plan, home, host), plan.hosts))
        if plan.accounts:
            start_accounting(plan)
        start_controller(plan)
        wait_for_controller(plan)
        list(pool.map(lambda node: start_slurmd(plan, node), plan.node_names))
        list(pool.map(lambda node: start_sshd(plan, node), plan.node_names if plan.ssh else ()))
    wait_until_settled(plan, plan.node_names)
    state.save(state.LabState(plan=plan))


def _write_files(plan: LabPlan, home: Path) -> None:
    for name in FOLDERS:
        (home / name).mkdir()
    for node in plan.node_names:
        (home / "spool" / node).mkdir()
    mount_shared(plan.name)
    texts = {
        "slurm.conf": slurm_conf(plan, str(home)),
        "topology.conf": topology_conf(plan),
        "cgroup.conf": cgroup_conf(1 if Path("/sys/fs/cgroup/memory").is_dir() else 2),
        "overlay/hosts": hosts_file(plan),
        "overlay/openmpi": parameters(plan.mpi_settings, plan.rail_names),
        **{f"overlay/speed-{node}": speed_file(plan, node) for node in plan.node_names},
        "gres.conf": gres_conf(plan),
        **({"helpers.conf": helpers_conf(str(home))} if plan.modes else {}),
    }
    for name, text in texts.items():
        (home / name).write_text(text, encoding="utf-8")
    conf = home / "slurm.conf"
    conf.write_text(slurm_conf(plan, str(home), default_mpi(conf)), encoding="utf-8")
    write_base(plan)
    if plan.ssh:
        write_ssh(plan)


def overlay(home: Path, host: str, rails: Sequence[str] = ("eth0",), *, ssh: bool = False) -> dict[str, str]:
    """What replaces the machine's own files and folders on a host: path -> file or folder of the lab."""
    files = {
        "/etc/hosts": str(home / "overlay/hosts"),
        PARAMETERS_FILE: str(home / "overlay/openmpi"),
        str(here(home)): str(own(home, host)),
        **({SYSTEM_FOLDER: str(home / FOLDER)} if ssh else {}),
    }
    speeds = {SPEED_FILE.format(rail=rail): str(home / f"overlay/speed-{host}") for rail in rails}
    return files if host == LOGIN else {**files, **speeds}


def _dress(plan: LabPlan, home: Path, host: str) -> None:
    space = plan.space(host)
    batch("ip", space, host_side(plan, host))
    if host != LOGIN:
        batch("tc", space, [shape_line(rail, plan.rate_of(host), plan.mtu) for rail in plan.rail_names])
    stage = home / "stage" / host
    stage.mkdir()
    laid = overlay(home, host, plan.rail_names, ssh=plan.ssh)
    hold(plan, host, dress_script(host, stage=str(stage), folders=plan.folders, overlay=laid))


@contextmanager
def _terminations_raised() -> Iterator[None]:
    """Let SIGTERM and SIGHUP unwind like Ctrl-C does, so that what was built is torn down."""

    def stop(_number: int, _frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    before = {}
    for number in (signal.SIGTERM, signal.SIGHUP):
        with suppress(ValueError):
            before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _children_marked(name: str) -> Iterator[None]:
    """Mark everything started meanwhile, daemons too, so that it is found even if this process is killed."""
    variable, _, value = state.raised(name).partition("=")
    os.environ[variable] = value
    try:
        yield
    finally:
        del os.environ[variable]
