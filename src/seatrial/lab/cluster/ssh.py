"""Remote login in a lab: an sshd on every node, with keys of the lab's own, so that mpirun needs no Slurm.

The folder with keys and configuration replaces /etc/ssh on every host of the lab. Each sshd runs in the network
namespace of its node, so nothing outside of the lab reaches it.
"""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from seatrial.lab.cluster import state
from seatrial.lab.cluster.host_argv import inside, settings
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.processes import call, lacking, named, pids_in

FOLDER = "ssh"
SYSTEM_FOLDER = "/etc/ssh"
PRIVILEGE_SEPARATION = Path("/run/sshd")
"""sshd does not start without this empty folder (sshd(8)); a machine without systemd lacks it."""
USER_KEY = "user"
USER_SETTINGS = "SEATRIAL_"
"""The beginning of what a login finds in its environment; everything about Slurm is left out."""


def require_sshd() -> None:
    """Raise SeatrialError where OpenSSH's server is not installed."""
    if problem := lacking(dict.fromkeys(("sshd", "ssh-keygen"), "openssh-server"), "A lab with --ssh"):
        raise problem


def server_config(environment: Sequence[str]) -> str:
    """sshd_config for every node; its host key is named on the command line. `environment`: NAME=value of a login."""
    lines = [
        "PidFile none",
        "UsePAM no",
        "UseDNS no",
        "StrictModes no",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "PermitRootLogin prohibit-password",
        f"AuthorizedKeysFile {SYSTEM_FOLDER}/{USER_KEY}.pub",
        "MaxStartups 200",
        "PrintMotd no",
    ]
    quoted = " ".join(f'"{setting}"' for setting in environment)
    return "\n".join([*lines, *([f"SetEnv {quoted}"] if quoted else []), ""])


def client_config() -> str:
    """ssh_config of every host: the lab's key, and its list of host keys alone."""
    return "\n".join(
        [
            "Host *",
            f"    IdentityFile {SYSTEM_FOLDER}/{USER_KEY}",
            "    IdentitiesOnly yes",
            f"    GlobalKnownHostsFile {SYSTEM_FOLDER}/known_hosts",
            "    UserKnownHostsFile /dev/null",
            "",
        ]
    )


def known_hosts(plan: LabPlan, public_keys: Mapping[str, str]) -> str:
    """One line for each node, by name and by address."""
    return "".join(f"{node},{plan.address(node)} {public_keys[node].strip()}\n" for node in plan.node_names)


def write_ssh(plan: LabPlan) -> None:
    """Make the keys and the configuration in the lab's folder."""
    require_sshd()
    home = state.folder(plan.name) / FOLDER
    home.mkdir(mode=0o700)
    for name in (USER_KEY, *plan.node_names):
        call(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"lab-{plan.name}-{name}", "-f", str(home / name)])
    keys = {node: (home / f"{node}.pub").read_text(encoding="utf-8") for node in plan.node_names}
    shown = [setting for setting in settings(plan) if setting.startswith(USER_SETTINGS)]
    (home / "sshd_config").write_text(server_config(shown), encoding="utf-8")
    (home / "ssh_config").write_text(client_config(), encoding="utf-8")
    (home / "known_hosts").write_text(known_hosts(plan, keys), encoding="utf-8")


def start_sshd(plan: LabPlan, node: str) -> None:
    """Start the server of one node; it puts itself into the background."""
    PRIVILEGE_SEPARATION.mkdir(mode=0o755, exist_ok=True)
    program = shutil.which("sshd") or "/usr/sbin/sshd"  # it has to be started by its full path
    key, log = f"{SYSTEM_FOLDER}/{node}", str(state.folder(plan.name) / "log" / f"sshd-{node}.log")
    call(inside(plan, node, [program, "-f", f"{SYSTEM_FOLDER}/sshd_config", "-h", key, "-E", log]))


def restart_sshd(plan: LabPlan, node: str) -> None:
    """Start the server of a node again, if the lab has one on every node and this one is gone."""
    if plan.ssh and not named(pids_in([plan.space(node)]), "sshd"):
        start_sshd(plan, node)
