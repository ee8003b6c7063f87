"""Messages of salloc and sbatch if Slurm refuses a job: because of the user, the request, or the time."""

from seatrial.failures.cause import Cause

REQUESTS = (
    Cause(
        look=r"Requested time limit is invalid|Invalid time-min specification",
        meaning="the job would be longer than the partition allows.",
        remedy="Give a shorter --budget, or choose another by --partition.",
    ),
    Cause(
        look=r"Node count specification invalid|More processors requested than permitted"
        r"|Requested more tasks than available processors|CPU count specification invalid",
        meaning="the job would have more nodes or processors than are allowed.",
        remedy="Name fewer by --nodes, or give --node-hours.",
    ),
    Cause(
        look=r"Requested nodes not in this partition|Invalid node name specified",
        meaning="a node asked for is not in the partition.",
        remedy="Name the partition it is in by --partition; sinfo --Node lists them.",
    ),
    Cause(
        look=r"Memory specification can not be satisfied|Memory required by task is not available",
        meaning="the job requests more memory than a node has.",
        remedy="Unset SALLOC_MEM_PER_NODE, SALLOC_MEM_PER_CPU and SALLOC_MEM_PER_GPU (SBATCH_ for --detach), or choose "
        "another by --partition.",
    ),
    Cause(
        look=r"CPU count per node can not be satisfied",
        meaning="the job requests more processors per node than a node has.",
        remedy="Unset SLURM_CPUS_PER_TASK and SLURM_NTASKS_PER_NODE, or choose another by --partition.",
    ),
    Cause(
        look=r"Invalid (feature|generic resource \(gres\)|license|wckey|Trackable RESource \(TRES\)"
        r"|preferred feature|GRES) specification",
        meaning=r"an option or a variable of this shell asks for a \1 that the cluster does not have.",
        remedy="Correct --gres, --constraint or --slurm-arg. A variable: unset it; env | grep ^SALLOC_ lists them "
        "(SALLOC_CONSTRAINT, SALLOC_GRES, SALLOC_GPUS, SALLOC_WCKEY); SBATCH_ for --detach.",
    ),
    Cause(
        look=r"(Requested GRES option unsupported|Duplicate generic resource|Insufficient GRES"
        r"|RestrictedCoresPerGPU: [^\n]*)",
        meaning=r"a variable of this shell requests devices in a way that the cluster does not offer (\1).",
        remedy="Unset it: env | grep -E '^S(ALLOC|BATCH)_' lists them (SALLOC_GRES, SALLOC_GPUS).",
    ),
    Cause(
        look=r"(Requested topology configuration is not available|do not fit topology|No suitable topology unit found)",
        meaning=r"no set of nodes lies as close together in the fabric as requested (\1).",
        remedy="Unset SALLOC_REQ_SWITCH and SALLOC_SEGMENT_SIZE (SBATCH_ for --detach), or name fewer by --nodes.",
    ),
    Cause(
        look=r"Required node not available \(down, drained or reserved\)|Requested nodes? (?:is|are) not available",
        meaning="a node asked for is down, drained or reserved.",
        remedy="`seatrial doctor` says which and why; name others by --nodes.",
    ),
    Cause(
        look=r"Requested (?:node|partition) configuration (?:is )?not available",
        meaning="no set of nodes of the partition can fulfil what is asked: by their number, or since some are out of "
        "service.",
        remedy="`seatrial doctor` lists the state of each; name others by --nodes.",
    ),
    Cause(
        look=r"(Job dependency problem|Circular job dependency|Job is in held state)",
        meaning=r"the job is set to wait for something (\1).",
        remedy="Take --dependency and --hold out of the launch line, and unset SLURM_DEPENDENCY.",
    ),
)

ACCOUNT = "Name another by --account or SALLOC_ACCOUNT; `sacctmgr show assoc user=$USER` lists yours."
QOS = "Name another by --qos or SALLOC_QOS; `sacctmgr show assoc user=$USER format=qos` lists yours."
OTHER = "Choose another by --partition; `scontrol show partition` shows who may use which, and how."
RESERVATIONS = (
    "Name another by --reservation, or unset SALLOC_RESERVATION and SBATCH_RESERVATION; scontrol show reservation "
    "lists the existing ones."
)

WHO = (
    Cause(
        look=r"Required partition not available \(inactive or drain\)|Partition in DOWN state",
        meaning="the partition takes no new jobs: it is inactive or drained.",
        remedy="Choose another by --partition, or have it opened: scontrol update PartitionName=NAME State=UP.",
    ),
    Cause(look=r"User's group not permitted", meaning="your group may not use the partition.", remedy=OTHER),
    Cause(
        look=r"Invalid account or account/partition combination|Invalid or unknown association"
        r"|Multiple partition job request not supported",
        meaning="the account is unknown, is not yours, or may not use the partition.",
        remedy=ACCOUNT,
    ),
    Cause(
        look=r"Job's account not permitted|account not known, so it can't use this partition",
        meaning="the account may not use the partition.",
        remedy=ACCOUNT,
    ),
    Cause(
        look=r"Invalid qos specification|Job's QOS not permitted|QOS not permitted to use this partition"
        r"|Invalid QOS specification",
        meaning="the quality of service (QOS) is unknown, or may not be used with the partition.",
        remedy=QOS,
    ),
    Cause(
        look=r"((?:Assoc|QOS)Max\w*Submit\w*|MaxSubmitJobs\w+)",
        meaning=r"you have as many jobs in the queue as your account or QOS allows (\1).",
        remedy="Wait until some of them have ended; `sacctmgr show assoc user=$USER`, `sacctmgr show qos` tell how "
        "many.",
    ),
    Cause(
        look=r"error: ((?:Assoc|QOS)\w+|Max\w+PerAccount)\s[\s\S]{0,2000}?Job violates accounting/QOS policy"
        r"|(Job violates accounting/QOS policy[^\n]*)",
        meaning=r"a limit of your account or QOS forbids such a job (\1).",
        remedy="Ask for less: fewer nodes by --nodes, a shorter --budget, or --node-hours; `sacctmgr show assoc "
        "user=$USER` and `sacctmgr show qos` show the limit.",
    ),
    Cause(
        look=r"(breached requested QOS usage threshold)",
        meaning=r"your account has used up what the QOS grants (\1).",
        remedy=QOS,
    ),
    Cause(
        look=r"No partition specified or system default partition",
        meaning="no partition was named, and the cluster has no default one.",
        remedy="Name one by --partition; sinfo lists them.",
    ),
    Cause(
        look=r"[Ii]nvalid partition(?: name)? specified(?:: (\S+))?",
        meaning=r"there is no such partition \1.",
        remedy="sinfo lists the existing ones.",
    ),
    Cause(
        look=r"Only batch jobs are accepted",
        meaning="the partition takes no interactive jobs.",
        remedy="Leave it to the queue with --detach where the command has it, or run seatrial in a script by sbatch.",
    ),
    Cause(
        look=r"(?:MaxJobCount limit reached|unable to accept job, sleeping and retrying"
        r"|Unable to create job record, try again)",
        meaning="Slurm's queue is full (MaxJobCount), for everybody.",
        remedy="Wait until jobs have ended; the site may raise MaxJobCount.",
    ),
)
NOT_NOW = (
    Cause(
        look=r"Requested reservation (?:is invalid|not usable now|is in use)|Access denied to requested reservation",
        meaning="the reservation is unknown, over, or not yours.",
        remedy=RESERVATIONS,
    ),
    Cause(
        look=r"can not start due to maintenance reservation",
        meaning="the nodes are reserved for maintenance before the job would be over.",
        remedy="Give a shorter --budget, or wait until the maintenance is over: scontrol show reservation.",
    ),
    Cause(
        look=r"Immediate execution impossible|Job can not start immediately"
        r"|Unable to allocate resources: (?:Connection timed out|Requested nodes)",
        meaning="the nodes were free a moment ago, but are busy now.",
        remedy="Try again, or wait for them: without --idle-only.",
    ),
    Cause(
        look=r"Waiting for resource configuration[\s\S]{0,4000}?Job allocation \d+ has been revoked",
        meaning="a suspended node did not come up within Slurm's ResumeTimeout, and Slurm took the allocation back.",
        remedy="`seatrial doctor` says which is down now; read the log of the site's ResumeProgram.",
        unless=r"Prolog failure|PrologSlurmctld failed",
    ),
    Cause(
        look=r"(Prolog failure on node [\w.-]+|PrologSlurmctld failed)",
        meaning=r"the site's prolog failed on {nodes} (\1), and Slurm took the allocation back.",
        remedy="`seatrial doctor` says which nodes are drained now; read slurmd's and slurmctld's log there.",
        where=(r"Prolog failure on node ([\w.-]+)",),
    ),
    Cause(
        look=r"Job allocation \d+ has been revoked",
        meaning="Slurm took the job back: somebody cancelled it, or a node failed as it began.",
        remedy="`seatrial doctor` lists the state of each node; slurmctld's log shows who cancelled it.",
    ),
    Cause(
        look=r"Access/permission denied",
        meaning="the partition may not be used from here, or by you: it is for root only, for other login nodes "
        "(AllocNodes), or for a reservation (ReqResv).",
        remedy=OTHER,
    ),
    Cause(
        look=r"Invalid user id|Invalid user",
        meaning="the user may not start jobs: unknown to Slurm, or root where DisableRootJobs is set.",
        remedy="Do it as a user who has an account: sacctmgr show user.",
    ),
)
REFUSALS = (*WHO, *REQUESTS, *NOT_NOW)
