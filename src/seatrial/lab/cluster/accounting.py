"""Accounts in a lab: a slurmdbd on a MariaDB of its own, with associations, limits and QOS enforced, and a GRES."""

import socket
from contextlib import suppress
from pathlib import Path

from seatrial.lab.cluster import state
from seatrial.lab.cluster.daemons import PATIENCE_S, slurm, wait
from seatrial.lab.cluster.host_argv import configured, inside, settings
from seatrial.lab.cluster.plan import LOGIN, LabPlan
from seatrial.lab.cluster.processes import attempt, call, lacking

ACCOUNTS = ("science", "ops")
"""Accounts of root, who uses the first by default."""
QOS = "short"
"""A quality of service besides Slurm's `normal`, for jobs up to `QOS_MINUTES`."""
QOS_MINUTES = 20
GRES, GRES_COUNT = "instrument", 2
"""A generic resource that Slurm only counts, and how many every node has."""
PROGRAMS = {"slurmdbd": "slurmdbd", "mariadbd": "mariadb-server", "mariadb-install-db": "mariadb-server"}
DATABASE = "db"
STORED_IN = "accounting"
CREATION = "db.sql"
"""Executed as MariaDB starts. slurmdbd would make its database itself, and connect again with a handle whose first
connection failed: with the client library of MariaDB 11.8 no query works on it then."""
SOCKET, DATABASE_LOG, DAEMON_LOG = "run/db.sock", "mariadb.log", "slurmdbd.log"
PORT = 3306
SMALL = ("--innodb-buffer-pool-size=32M", "--innodb-log-file-size=8M", "--innodb-flush-log-at-trx-commit=0")
"""Options of MariaDB: the lab is small, and nothing of it outlives the machine."""
BACKGROUND = 'log=$1; shift; setsid "$@" >"$log" 2>&1 </dev/null &'


def require_accounting() -> None:
    """Raise SeatrialError that names the packages where programs are missing."""
    if problem := lacking(PROGRAMS, "A lab with accounts"):
        raise problem


def accounting_settings(plan: LabPlan) -> list[str]:
    """Lines of slurm.conf."""
    if not plan.accounts:
        return ["AccountingStorageType=accounting_storage/none"]
    return [
        "AccountingStorageType=accounting_storage/slurmdbd",
        f"AccountingStorageHost={LOGIN}",
        "AccountingStorageEnforce=associations,limits,qos",
        f"GresTypes={GRES}",
    ]


def gres_conf(plan: LabPlan) -> str:
    """gres.conf: a count of things without device files."""
    return f"Name={GRES} Count={GRES_COUNT}\n" if plan.accounts else ""


def slurmdbd_conf(plan: LabPlan, folder: str) -> str:
    """slurmdbd.conf. auth/none, and a database without passwords, are for this sealed cluster only."""
    lines = [
        "AuthType=auth/none",
        f"DbdHost={LOGIN}",
        f"DbdAddr={plan.address(LOGIN)}",
        "SlurmUser=root",
        "StorageType=accounting_storage/mysql",
        "StorageHost=127.0.0.1",
        f"StoragePort={PORT}",
        "StorageUser=root",
        f"StorageLoc={STORED_IN}",
        f"LogFile={folder}/log/{DAEMON_LOG}",
        f"PidFile={folder}/run/slurmdbd.pid",
    ]
    return "\n".join([*lines, ""])


def start_accounting(plan: LabPlan) -> None:
    """Start MariaDB and slurmdbd on the login node, and add cluster, accounts, users and QOS."""
    home = state.folder(plan.name)
    conf = home / "slurmdbd.conf"
    conf.write_text(slurmdbd_conf(plan, str(home)), encoding="utf-8")
    conf.chmod(0o600)
    _start_database(plan, home)
    call(configured(plan, LOGIN, ["slurmdbd"]))
    manager = inside(plan, LOGIN, ["env", *settings(plan), "sacctmgr", "--noheader", "show", "cluster"])
    wait(plan, lambda: attempt(manager).ok, "slurmdbd does not answer", log=DAEMON_LOG)
    for words in entries(plan):
        slurm(plan, ["sacctmgr", "--immediate", "--quiet", *words])


def entries(plan: LabPlan) -> list[list[str]]:
    """What sacctmgr adds, in order: an account needs its cluster, and a user its account."""
    accounts = [["add", "account", name, "Description=lab", "Organization=lab"] for name in ACCOUNTS]
    return [
        ["add", "cluster", plan.name],
        ["add", "qos", QOS, f"MaxWall={QOS_MINUTES}"],
        *accounts,
        ["add", "user", "root", f"Account={','.join(ACCOUNTS)}"],
        ["modify", "user", "root", "set", f"DefaultAccount={ACCOUNTS[0]}"],
        ["modify", "user", "root", "set", f"QosLevel=normal,{QOS}"],
    ]


def _start_database(plan: LabPlan, home: Path) -> None:
    """MariaDB listens on the loopback of the login node, which nobody else sees, and on a socket for us."""
    where = f"--datadir={home / DATABASE}"
    made = ["mariadb-install-db", "--no-defaults", where, "--user=root", "--skip-test-db", *SMALL]
    call([*made, "--auth-root-authentication-method=normal"], timeout_s=PATIENCE_S)
    words = [
        *("mariadbd", "--no-defaults", where, "--user=root", *SMALL, "--skip-log-bin"),
        *(f"--socket={home / SOCKET}", "--bind-address=127.0.0.1", f"--port={PORT}", "--skip-grant-tables"),
        f"--pid-file={home / 'run/db.pid'}",
        f"--init-file={home / CREATION}",
    ]
    (home / CREATION).write_text(f"CREATE DATABASE {STORED_IN};\n", encoding="utf-8")
    log = str(home / "log" / DATABASE_LOG)
    call(configured(plan, LOGIN, ["sh", "-c", BACKGROUND, "sh", log, *words]))
    wait(plan, lambda: _listens(home / SOCKET), "MariaDB does not answer", log=DATABASE_LOG)


def _listens(path: Path) -> bool:
    with suppress(OSError), socket.socket(socket.AF_UNIX) as end:
        end.connect(str(path))
        return True
    return False
