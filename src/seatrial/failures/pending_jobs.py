"""Why a job waits in the queue: the reason that squeue prints, and whether the job can start without a change.

Source of the reasons: Slurm's job_state_reason.c and slurm.schedmd.com/job_reason_codes.html, Slurm 18 to 25.
"""

import re

import msgspec

from seatrial.failures.job_refusals import ACCOUNT, OTHER, QOS, RESERVATIONS


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """One reason. `hopeless`: the job cannot start until somebody changes something."""

    look: str
    meaning: str
    remedy: str = ""
    hopeless: bool = False
    nodes_out: bool = False
    """Nodes that it asks for are out of service."""


TELL = "`sacctmgr show assoc user=$USER` and `sacctmgr show qos` show the limit."
LESS = "Ask for less: fewer nodes by --nodes, a shorter --budget, or --node-hours."
RESOURCE = r"(?:Cpu|CPU|Node|Mem|Memory|Energy|GRES|License|BB|Billing|Unknown)"

LIMITS = (
    Pending(
        look="AccountNotAllowed|account not (?:known|permitted)|InvalidAccount",
        meaning="the account may not use the partition",
        remedy=ACCOUNT,
        hopeless=True,
    ),
    Pending(
        look="QOSNotAllowed|QOS not permitted|InvalidQOS",
        meaning="the QOS may not be used with the partition",
        remedy=QOS,
        hopeless=True,
    ),
    Pending(
        look=rf"(?:QOS|Assoc)Max{RESOURCE}(?:Minutes)?Per(?:Job|Node)|(?:QOS|Assoc)MaxWall\w*|MaxMemPerLimit",
        meaning="the job is larger or longer than your account or QOS may have",
        remedy=f"{LESS} {TELL}",
        hopeless=True,
    ),
    Pending(look=r"QOSMin\w+", meaning="the job is smaller than the QOS requires", remedy=QOS, hopeless=True),
    Pending(
        look=rf"(?:QOS|Assoc)Grp{RESOURCE}RunMin\w*",
        meaning="running jobs of your account or QOS leave too few hours for this one",
        remedy=f"Wait until some have ended, or give a shorter --budget. {TELL}",
    ),
    Pending(
        look=rf"(?:QOS|Assoc)Grp(?:{RESOURCE}Min\w*|Wall\w*)|QOSUsageThreshold|(?:Association|QOS)TimeLimit",
        meaning="your account or QOS has used up the hours that it was granted",
        remedy=f"Give a shorter --budget, name another account, or ask your site for more hours. {TELL}",
    ),
    Pending(
        look=r"(?:QOS|Assoc)(?:Max|Grp)\w+|Max\w+PerAccount|(?:Association|QOS)(?:Job|Resource)Limit|AccountingPolicy",
        meaning="your account or QOS has as much in use as it may have at once, or may not have this much at all",
        remedy=f"Wait until a job of yours has ended, or ask for less by --nodes. {TELL}",
    ),
)

SHORTER = "Give a shorter --budget, or choose another by --partition."
RELEASE = "scontrol release JOB, or ask your site."

REASONS = (
    Pending(look="PartitionDown", meaning="the partition is down", remedy=OTHER, hopeless=True),
    Pending(look="PartitionInactive", meaning="the partition is inactive", remedy=OTHER, hopeless=True),
    Pending(
        look="PartitionNodeLimit",
        meaning="the number of nodes is outside the partition's limits",
        remedy="Name fewer or more by --nodes; `scontrol show partition` shows how many (MinNodes, MaxNodes).",
        hopeless=True,
    ),
    Pending(
        look="PartitionTimeLimit", meaning="the job is longer than the partition allows", remedy=SHORTER, hopeless=True
    ),
    Pending(look="PartitionConfig", meaning="the partition does not allow what is asked", remedy=OTHER, hopeless=True),
    *LIMITS,
    Pending(
        look="JobHoldMaxRequeue|[Rr]equeued?[ _](?:in[ _])?held|requeue in held state|SystemFailure|JobLaunchFailure",
        meaning="Slurm tried to start the job, could not, and holds it",
        remedy="`seatrial doctor` shows which nodes are now out of service; slurmctld's log shows why it failed.",
        hopeless=True,
    ),
    Pending(look="JobHeld(?:Admin|User)", meaning="the job is held", remedy=RELEASE, hopeless=True),
    Pending(
        look="DependencyNeverSatisfied",
        meaning="the job waits for another that failed or is gone",
        remedy="Start it again without that dependency.",
        hopeless=True,
    ),
    Pending(look="Dependency", meaning="the job waits for another to end"),
    Pending(
        look="Reservation(?:Deleted|Invalid)", meaning="the reservation is gone", remedy=RESERVATIONS, hopeless=True
    ),
    Pending(
        look="DeadLine",
        meaning="the job cannot end before its deadline",
        remedy="Give a shorter --budget.",
        hopeless=True,
    ),
    Pending(look="BadConstraints|^Constraints", meaning="no node has what is asked for", remedy=OTHER, hopeless=True),
    Pending(
        look=r"ReqNodeNotAvail(?:, *|\()Unavailable(?:Nodes)?:([^\s)]+)",
        meaning=r"\1 is out of service: down, drained or powering down",
        nodes_out=True,
        remedy="`seatrial doctor` says why; name others by --nodes.",
    ),
    Pending(
        look="[Rr]eserved[ _]for[ _]maintenance",
        meaning="a node is reserved for maintenance before the job would be over",
        remedy="Give a shorter --budget, or name others by --nodes; scontrol show reservation says until when.",
    ),
    Pending(
        look=r"[Nn]odes[ _]required[ _]for[ _]job[ _]are[ _]DOWN",
        meaning="nodes that it needs are down, drained, or kept for jobs of a higher partition",
        nodes_out=True,
        remedy="`seatrial doctor` says which and why; name others by --nodes.",
    ),
    Pending(
        look="ReqNodeNotAvail.*[Rr]eserved|^Reservation",
        meaning="a node is reserved for others",
        remedy="scontrol show reservation says until when; name others by --nodes.",
    ),
    Pending(
        look="ReqNodeNotAvail|NodeDown|FrontEndDown",
        meaning="a node asked for is out of service",
        nodes_out=True,
        remedy="`seatrial doctor` says which and why; name others by --nodes.",
    ),
    Pending(look="BeginTime", meaning="its start time is in the future: Slurm delays a job that it requeued"),
    Pending(look="^Prolog", meaning="the site's prolog is running"),
    Pending(look="Cleaning", meaning="an earlier start of it is being cleaned up"),
    Pending(look="SchedDefer", meaning="Slurm's scheduler considers the job later", remedy="Leave --idle-only out."),
    Pending(look="MaxPoweredUpNodes", meaning="no more nodes may be powered up at once"),
    Pending(look="Power(?:NotAvail|Reserved)", meaning="there is no power left under the cluster's cap"),
    Pending(look="(?:MpiPorts|Ports)Busy", meaning="all ports that Slurm reserves for MPI are in use"),
    Pending(look="BurstBuffer", meaning="it waits for the burst buffer"),
    Pending(look="JobArrayTaskLimit", meaning="as many tasks of the array run as may at once"),
    Pending(look="FedJobLock", meaning="another cluster of the federation considers the job"),
    Pending(look="Licenses", meaning="the licences it asks for are in use"),
    Pending(look="Resources", meaning="other jobs use the nodes"),
    Pending(look="Priority", meaning="jobs with a higher priority come first"),
)


def why_pending(reason: str) -> Pending | None:
    """What squeue's word for it means; None for one that we do not know."""
    for one in REASONS:
        match = re.search(one.look, reason)
        if match:
            shown = match.group(1) if match.groups() else ""
            return msgspec.structs.replace(one, meaning=one.meaning.replace(r"\1", shown))
    return None
