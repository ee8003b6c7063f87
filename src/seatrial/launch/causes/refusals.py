"""Slurm takes no such job: what salloc and sbatch print when they refuse."""

from seatrial.launch.causes.cause import Cause

ACCOUNT = "Name another by SALLOC_ACCOUNT (SBATCH_ACCOUNT for --detach); `sacctmgr show assoc user=$USER` lists yours."
QOS = "Name another by SALLOC_QOS (SBATCH_QOS for --detach); `sacctmgr show assoc user=$USER format=qos` lists yours."
OTHER = "Choose another by --partition; `scontrol show partition` says who may use which, and how."

REFUSALS = (
    Cause(
        look=r"Required partition not available \(inactive or drain\)",
        meaning="the partition takes no new jobs: it is inactive or drained.",
        remedy="Choose another by --partition, or have it opened: scontrol update PartitionName=NAME State=UP.",
    ),
    Cause(look=r"User's group not permitted", meaning="your group may not use the partition.", remedy=OTHER),
    Cause(
        look=r"Invalid account or account/partition combination",
        meaning="the account is unknown, is not yours, or may not use the partition.",
        remedy=ACCOUNT,
    ),
    Cause(
        look=r"Job's account not permitted|account not known, so it can't use this partition",
        meaning="the account may not use the partition.",
        remedy=ACCOUNT,
    ),
    Cause(
        look=r"Invalid qos specification|Job's QOS not permitted|QOS not permitted to use this partition",
        meaning="the quality of service (QOS) is unknown, or may not be used with the partition.",
        remedy=QOS,
    ),
    Cause(
        look=r"((?:Assoc|QOS)Max\w*Submit\w*)",
        meaning=r"you have as many jobs in the queue as your account or QOS allows (\1).",
        remedy="Wait until some of them are over; `sacctmgr show assoc user=$USER`, `sacctmgr show qos` tell how many.",
    ),
    Cause(
        look=r"error: ((?:Assoc|QOS)\w+)\s[\s\S]*Job violates accounting/QOS policy"
        r"|(Job violates accounting/QOS policy[^\n]*)",
        meaning=r"a limit of your account or QOS forbids such a job (\1).",
        remedy="Ask for less: fewer nodes by --nodes, a shorter --budget, or --node-hours; `sacctmgr show assoc "
        "user=$USER` and `sacctmgr show qos` tell the limit.",
    ),
    Cause(
        look=r"[Ii]nvalid partition(?: name)? specified(?:: (\S+))?",
        meaning=r"there is no such partition \1.",
        remedy="sinfo lists those there are.",
    ),
    Cause(
        look=r"Requested time limit is invalid",
        meaning="the job would be longer than the partition allows.",
        remedy="Give a shorter --budget, or choose another by --partition.",
    ),
    Cause(
        look=r"Node count specification invalid|More processors requested than permitted",
        meaning="the job would have more nodes or processors than are allowed.",
        remedy="Name fewer by --nodes, or give --node-hours.",
    ),
    Cause(
        look=r"Requested nodes not in this partition|Invalid node name specified",
        meaning="a node asked for is not in the partition.",
        remedy="Name the partition it is in by --partition; sinfo --Node lists them.",
    ),
    Cause(
        look=r"Memory specification can not be satisfied",
        meaning="the job is asked to have more memory than a node has.",
        remedy="Unset SLURM_MEM_PER_NODE, SLURM_MEM_PER_CPU and SALLOC_MEM, or choose another by --partition.",
    ),
    Cause(
        look=r"Requested node configuration is not available",
        meaning="no set of nodes of the partition can fulfil what is asked: by their number, or since some are out of "
        "service.",
        remedy="`seatrial doctor` lists the state of each; name others by --nodes.",
    ),
    Cause(
        look=r"Requested reservation (?:is invalid|not usable now)|Access denied to requested reservation",
        meaning="the reservation is unknown, over, or not yours.",
        remedy="scontrol show reservation lists those there are; unset SALLOC_RESERVATION and SBATCH_RESERVATION.",
    ),
    Cause(
        look=r"Invalid (feature|generic resource \(gres\)|license) specification",
        meaning=r"a variable of this shell asks for a \1 that the cluster does not have.",
        remedy="Unset it: env | grep ^SALLOC_ lists them (SALLOC_CONSTRAINT, SALLOC_GRES); SBATCH_ for --detach.",
    ),
    Cause(
        look=r"Immediate execution impossible|Unable to allocate resources: (?:Connection timed out|Requested nodes)",
        meaning="the nodes were free a moment ago, and are not any more.",
        remedy="Try again, or wait for them: without --idle-only.",
    ),
    Cause(
        look=r"Waiting for resource configuration[^$]*Job allocation \d+ has been revoked",
        meaning="a suspended node did not come up within Slurm's ResumeTimeout, and Slurm took the allocation back.",
        remedy="`seatrial doctor` says which is down now; look into the log of the site's ResumeProgram.",
    ),
    Cause(
        look=r"Access/permission denied",
        meaning="the partition may not be used from here, or by you: it is for root alone, for other login nodes "
        "(AllocNodes), or for a reservation (ReqResv).",
        remedy=OTHER,
    ),
    Cause(
        look=r"Invalid user id|Invalid user",
        meaning="the user may not start jobs: unknown to Slurm, or root where DisableRootJobs is set.",
        remedy="Do it as a user who has an account: sacctmgr show user.",
    ),
)
