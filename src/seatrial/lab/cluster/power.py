"""Power saving in the lab: what Slurm is told of it, and the programs by which it suspends and resumes a node.

slurmctld runs its programs on the login node, which sees no other host's namespaces, and a node that is off has no
process that could be spoken to. So there is a chassis controller, as real nodes have one: it lives beside the switches,
sees the machine as it is, and does as it is ordered through a pipe.
"""

import os
import shlex
from collections.abc import Sequence

from seatrial.lab.cluster import state
from seatrial.lab.cluster.commands import call
from seatrial.lab.cluster.host_argv import in_space, settings
from seatrial.lab.cluster.plan import FABRIC, LabPlan

SUSPEND_TIMEOUT_S = 1
RESUME_TIMEOUT_S = 30
RESUME_PROGRAM = "power/resume"
SUSPEND_PROGRAM = "power/suspend"
CHASSIS = "power/chassis"
ORDERS = "power/orders"
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


def power_programs(plan: LabPlan, folder: str, environment: Sequence[str]) -> dict[str, str]:
    """The programs, path below `folder` -> POSIX sh. Slurm gives its own the nodes as `n[1-3]`.

    `slurmd -b` says that the node has just booted, which Slurm waits for.

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
    handles = f'--net=/run/netns/{plan.space("")}"$node" --uts={home}/ns/"$node".uts --mount={home}/ns/"$node".mnt'
    texts[CHASSIS] = (
        "#!/bin/sh\n"
        "while read -r order node; do\n"
        '    echo "$order $node"\n'
        '    case "$order" in\n'
        f'        resume) nsenter {handles} -- env -C / {around} slurmd -b -N "$node" </dev/null ;;\n'
        f'        suspend) kill "$(cat {home}/run/"$node".pid)" ;;\n'
        "    esac\n"
        f"done <>{home}/{ORDERS}\n"
    )
    return texts


def install_power(plan: LabPlan) -> None:
    """Write the programs and start the chassis controller; nothing for a lab that never suspends a node."""
    if not plan.suspend_after_s:
        return
    home = state.folder(plan.name)
    (home / "power").mkdir()
    os.mkfifo(home / ORDERS)
    for name, text in power_programs(plan, str(home), settings(plan)).items():
        (home / name).write_text(text, encoding="utf-8")
        (home / name).chmod(0o755)
    call(in_space(plan.space(FABRIC), ["sh", "-c", BACKGROUND, str(home / CHASSIS), str(home / LOG)]))


BACKGROUND = 'setsid "$0" >"$1" 2>&1 </dev/null &'
