"""The configuration of the lab's Slurm, and the programs by which it suspends and resumes nodes.

slurmctld runs its programs on the login node, which sees no other host's namespaces, and a node that is off runs no
process. As on real nodes a chassis controller does the work: it lives beside the switches, sees the whole machine, and
receives its orders through a pipe.
"""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from seatrial.lab.cluster import state
from seatrial.lab.cluster.accounting import GRES, GRES_COUNT, accounting_settings
from seatrial.lab.cluster.host_argv import NAMESPACES, in_space, settings
from seatrial.lab.cluster.plan import FABRIC, LOGIN, SPINE, LabPlan
from seatrial.lab.cluster.processes import attempt, call
from seatrial.lab.cluster.sysroot import plant_facts
from seatrial.slurm.text import JOINS_NONE, MPI_TYPES, parse_mpi_list

SUSPEND_TIMEOUT_S = 1
RESUME_TIMEOUT_S = 30
RESUME_PROGRAM = "power/resume"
SUSPEND_PROGRAM = "power/suspend"
CHASSIS = "power/chassis"
ORDERS = "power/orders"
HELPER, REBOOT_PROGRAM = "power/helper", "power/reboot"
MODES = ("cache", "flat")
"""Memory modes of the nodes; all have the first one when the lab starts."""
MODE_FILE = "/var/run/hwloc/knl_memoryside_cache"
MODE_TEXT = "cluster_mode: quadrant\nmemory_mode: {}\n"
LOG = "log/chassis.log"


def power_settings(plan: LabPlan, folder: str) -> list[str]:
    """Lines of slurm.conf; none for a lab that never suspends a node."""
    if not plan.suspend_after_s:
        return []
    return [
        f"SuspendTime={plan.suspend_after_s}",
        f"SuspendTimeout={SUSPEND_TIMEOUT_S}",
        f"ResumeTimeout={RESUME_TIMEOUT_S}",
        f"SuspendProgram={folder}/{SUSPEND_PROGRAM}",
        f"ResumeProgram={folder}/{RESUME_PROGRAM}",
    ]


def mode_settings(plan: LabPlan, folder: str) -> list[str]:
    """Lines of slurm.conf; none for a lab whose nodes have no modes."""
    if not plan.modes:
        return []
    return ["NodeFeaturesPlugins=node_features/helpers", f"RebootProgram={folder}/{REBOOT_PROGRAM}"]


def helpers_conf(folder: str) -> str:
    """helpers.conf: the program that says and sets the mode of its node."""
    lines = [f"Feature={mode} Helper={folder}/{HELPER}" for mode in MODES]
    return "\n".join([*lines, f"MutuallyExclusive={','.join(MODES)}", "BootTime=60", ""])


def power_programs(folder: str, environment: Sequence[str]) -> dict[str, str]:
    """The programs, path below `folder` -> POSIX sh. Slurm gives its own the nodes as `n[1-3]`.

    `slurmd -b` reports that the node has just booted, which Slurm waits for. A node gets the mode that was set when it
    boots, as real firmware does; with a file `power/stuck-NODE` it keeps the one it had.

    `environment`: KEY=VALUE of a daemon of this lab.
    """
    around = " ".join(shlex.quote(word) for word in environment)
    home = shlex.quote(folder)
    texts = {}
    for program, order in ((RESUME_PROGRAM, "resume"), (SUSPEND_PROGRAM, "suspend")):
        texts[program] = (
            "#!/bin/sh\n"
            f'for node in $(env {around} scontrol show hostnames "$1"); do\n'
            f'    echo "{order} $node" 1<>{home}/{ORDERS}\n'
            "done\n"
        )
    texts[REBOOT_PROGRAM] = f'#!/bin/sh\necho "reboot $(hostname)" 1<>{home}/{ORDERS}\n'
    texts[HELPER] = (
        "#!/bin/sh\n"
        f'[ $# -eq 0 ] || echo "$1" >{home}/power/mode-"$(hostname)"\n'
        f'[ $# -ne 0 ] || cat {home}/power/mode-"$(hostname)"\n'
    )
    texts[CHASSIS] = (
        "#!/bin/sh\n"
        "while read -r order node; do\n"
        '    echo "$order $node"\n'
        '    case "$order" in suspend | reboot)\n'
        f'        pid=$(cat {home}/run/"$node".pid)\n'
        '        kill "$pid"; while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done ;;\n'
        "    esac\n"
        '    case "$order" in resume | reboot)\n'
        f'        if [ -e {home}/power/mode-"$node" ] && ! [ -e {home}/power/stuck-"$node" ]; then\n'
        f'            printf {shlex.quote(MODE_TEXT.format("%s"))} "$(cat {home}/power/mode-"$node")" \\\n'
        f'                >{home}/facts/"$node"{MODE_FILE}\n'
        "        fi\n"
        f'        sh {home}/{NAMESPACES}/"$node" env -C / {around} slurmd -b -N "$node" </dev/null ;;\n'
        "    esac\n"
        f"done <>{home}/{ORDERS}\n"
    )
    return texts


def install_power(plan: LabPlan) -> None:
    """Write the programs and start the chassis controller, in a lab that suspends nodes or switches their modes."""
    if not plan.suspend_after_s and not plan.modes:
        return
    home = state.folder(plan.name)
    (home / "power").mkdir()
    os.mkfifo(home / ORDERS)
    for name, text in power_programs(str(home), settings(plan)).items():
        (home / name).write_text(text, encoding="utf-8")
        (home / name).chmod(0o755)
    for node in plan.node_names if plan.modes else ():
        (home / f"power/mode-{node}").write_text(f"{MODES[0]}\n", encoding="ascii")
        plant_facts(plan, node, {MODE_FILE: MODE_TEXT.format(MODES[0])})
    call(in_space(plan.space(FABRIC), ["sh", "-c", BACKGROUND, str(home / CHASSIS), str(home / LOG)]))


BACKGROUND = 'setsid "$0" >"$1" 2>&1 </dev/null &'


SECONDS_UNTIL_DOWN = 20
MESSAGE_SECONDS = 10
SCHEDULER = "batch_sched_delay=1,sched_interval=5,bf_interval=5"
"""Slurm's default considers a job without events once a minute, which is long for jobs of seconds."""
PREFERRED_MPI = ("pmix", "pmi2")
PARTITION = "State=UP MaxTime=INFINITE OverSubscribe=YES"


def default_mpi(conf: Path) -> str:
    """The type of --mpi that is the lab's own: pmix, where this machine's Slurm has it. `conf`: any slurm.conf."""
    listed = attempt(["env", f"SLURM_CONF={conf}", *MPI_TYPES])
    types = parse_mpi_list(listed.stdout + listed.stderr)
    return next((name for name in PREFERRED_MPI if name in types), JOINS_NONE)


def slurm_conf(plan: LabPlan, folder: str, mpi: str = JOINS_NONE) -> str:
    """slurm.conf for a lab whose state lives in `folder`. auth/none is for this sealed cluster only.

    `mpi`: the site's own type of --mpi.
    """
    return "\n".join(
        [
            f"ClusterName={plan.name}",
            f"SlurmctldHost={LOGIN}({plan.address(LOGIN)})",
            "AuthType=auth/none",
            "CredType=cred/none",
            "SlurmUser=root",
            "SlurmdUser=root",
            "ProctrackType=proctrack/linuxproc",
            "TaskPlugin=task/affinity",
            "TaskPluginParam=None",  # a rank is bound where its srun asks for it, as without the plugin
            "SwitchType=switch/none",
            "SelectType=select/cons_tres",
            "SelectTypeParameters=CR_Core",
            "SchedulerType=sched/backfill",
            f"SchedulerParameters={SCHEDULER}",
            "TopologyPlugin=topology/tree",
            f"TreeWidth={max(plan.nodes, 16)}",
            f"MpiDefault={mpi}",
            "SlurmdParameters=config_overrides",
            "ReturnToService=2",
            f"MessageTimeout={MESSAGE_SECONDS}",
            f"SlurmdTimeout={SECONDS_UNTIL_DOWN}",
            "SlurmctldTimeout=30",
            "InactiveLimit=0",
            "KillWait=2",  # UnkillableStepTimeout stays 60 s: PMIx tries for 31 s to reach peers that are gone
            "BatchStartTimeout=10",
            "MinJobAge=60",
            *accounting_settings(plan),
            "JobAcctGatherType=jobacct_gather/none",
            "JobCompType=jobcomp/none",
            f"StateSaveLocation={folder}/state",
            f"SlurmdSpoolDir={folder}/spool/%n",
            f"SlurmctldPidFile={folder}/run/slurmctld.pid",
            f"SlurmdPidFile={folder}/run/%n.pid",
            f"SlurmctldLogFile={folder}/log/slurmctld.log",
            f"SlurmdLogFile={folder}/log/%n.log",
            *power_settings(plan, folder),
            *mode_settings(plan, folder),
            *(_node_line(plan, node) for node in plan.node_names),
            f"PartitionName=main Nodes={','.join(plan.node_names)} Default=YES {PARTITION}",
            f"PartitionName=debug Nodes=n1 {PARTITION}",
            "",
        ]
    )


def _node_line(plan: LabPlan, node: str) -> str:
    """The line of a node, with features if nodes have two rates or modes, and generic resources if they are counted."""
    words = [f"NodeName={node}", f"NodeAddr={plan.address(node)}", "Sockets=1 CoresPerSocket=2 ThreadsPerCore=1"]
    features = [*([plan.feature_of(node)] if plan.second_rate_bit_per_s else []), *(MODES if plan.modes else ())]
    words += ["RealMemory=1000", *([f"Feature={','.join(features)}"] if features else [])]
    return " ".join([*words, *([f"Gres={GRES}:{GRES_COUNT}"] if plan.accounts else [])])


def topology_conf(plan: LabPlan) -> str:
    """topology.conf: the leaves with their nodes and the spine above them."""
    leaves = [f"SwitchName={leaf} Nodes={','.join(plan.members(leaf))}" for leaf in plan.leaf_names]
    return "\n".join([*leaves, f"SwitchName={SPINE} Switches={','.join(plan.leaf_names)}", ""])


def cgroup_conf(version: int) -> str:
    """cgroup.conf for the cgroup version that this machine mounts. slurmd 22.05 does not start without one."""
    if version == 1:
        return "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n"
    return "CgroupPlugin=cgroup/v2\nIgnoreSystemd=yes\n"
