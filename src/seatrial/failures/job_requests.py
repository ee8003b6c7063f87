"""Slurm takes no such job for what is asked: time, nodes, memory and devices."""

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
        meaning="the job is asked to have more memory than a node has.",
        remedy="Unset SALLOC_MEM_PER_NODE, SALLOC_MEM_PER_CPU and SALLOC_MEM_PER_GPU (SBATCH_ for --detach), or choose "
        "another by --partition.",
    ),
    Cause(
        look=r"CPU count per node can not be satisfied",
        meaning="the job is asked to have more processors on a node than a node has.",
        remedy="Unset SLURM_CPUS_PER_TASK and SLURM_NTASKS_PER_NODE, or choose another by --partition.",
    ),
    Cause(
        look=r"Invalid (feature|generic resource \(gres\)|license|wckey|Trackable RESource \(TRES\)"
        r"|preferred feature|GRES) specification",
        meaning=r"a variable of this shell asks for a \1 that the cluster does not have.",
        remedy="Unset it: env | grep ^SALLOC_ lists them (SALLOC_CONSTRAINT, SALLOC_GRES, SALLOC_GPUS, SALLOC_WCKEY); "
        "SBATCH_ for --detach.",
    ),
    Cause(
        look=r"(Requested GRES option unsupported|Duplicate generic resource|Insufficient GRES"
        r"|RestrictedCoresPerGPU: [^\n]*)",
        meaning=r"a variable of this shell asks for devices as the cluster does not give them (\1).",
        remedy="Unset it: env | grep -E '^S(ALLOC|BATCH)_' lists them (SALLOC_GRES, SALLOC_GPUS).",
    ),
    Cause(
        look=r"(Requested topology configuration is not available|do not fit topology|No suitable topology unit found)",
        meaning=r"no such set of nodes lies together in the fabric as is asked (\1).",
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
        meaning=r"the job is told to wait for something (\1).",
        remedy="Take --dependency and --hold out of the launch line, and unset SLURM_DEPENDENCY.",
    ),
)
