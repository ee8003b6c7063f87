"""The configuration of the lab's Slurm: pure, one text per file."""

from seatrial.lab.cluster.plan import LOGIN, SPINE, LabPlan
from seatrial.lab.cluster.power import power_settings

SECONDS_UNTIL_DOWN = 20
MESSAGE_SECONDS = 10
SCHEDULER = "batch_sched_delay=1,sched_interval=5,bf_interval=5"
"""By default a job for which no event happens is looked at once a minute, which is long where jobs take seconds."""
PARTITION = "State=UP MaxTime=INFINITE OverSubscribe=YES"


def slurm_conf(plan: LabPlan, folder: str) -> str:
    """slurm.conf for a lab whose state lives in `folder`. auth/none is for this sealed cluster only."""
    nodes = [
        f"NodeName={node} NodeAddr={plan.address(node)} Sockets=1 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=1000"
        for node in plan.node_names
    ]
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
            "MpiDefault=pmix",
            "SlurmdParameters=config_overrides",
            "ReturnToService=2",
            f"MessageTimeout={MESSAGE_SECONDS}",
            f"SlurmdTimeout={SECONDS_UNTIL_DOWN}",
            "SlurmctldTimeout=30",
            "InactiveLimit=0",
            "KillWait=2",
            "UnkillableStepTimeout=20",
            "BatchStartTimeout=10",
            "MinJobAge=60",
            "AccountingStorageType=accounting_storage/none",
            "JobAcctGatherType=jobacct_gather/none",
            "JobCompType=jobcomp/none",
            f"StateSaveLocation={folder}/state",
            f"SlurmdSpoolDir={folder}/spool/%n",
            f"SlurmctldPidFile={folder}/run/slurmctld.pid",
            f"SlurmdPidFile={folder}/run/%n.pid",
            f"SlurmctldLogFile={folder}/log/slurmctld.log",
            f"SlurmdLogFile={folder}/log/%n.log",
            *power_settings(plan, folder),
            *nodes,
            f"PartitionName=main Nodes={','.join(plan.node_names)} Default=YES {PARTITION}",
            f"PartitionName=debug Nodes=n1 {PARTITION}",
            "",
        ]
    )


def topology_conf(plan: LabPlan) -> str:
    """topology.conf: the leaves with their nodes and the spine above them."""
    leaves = [f"SwitchName={leaf} Nodes={','.join(plan.members(leaf))}" for leaf in plan.leaf_names]
    return "\n".join([*leaves, f"SwitchName={SPINE} Switches={','.join(plan.leaf_names)}", ""])


def cgroup_conf(version: int) -> str:
    """cgroup.conf for the cgroup version that this machine mounts. slurmd 22.05 does not start without one."""
    if version == 1:
        return "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n"
    return "CgroupPlugin=cgroup/v2\nIgnoreSystemd=yes\n"
