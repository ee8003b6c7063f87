"""Messages of srun and slurmstepd if Slurm grants a job and does not start its step, or ends it."""

from seatrial.failures.cause import Cause

LAUNCH = r"[Ll]aunch for (?:StepId=|step )?\S+ failed on node (\S+?):"
STEP_ON = r"STEP \S+ ON (\S+) CANCELLED"
TASK = r"srun: error: ([\w.,\[\]-]+): tasks? [\d,-]+:"
NO_STEP = r"Unable to create step for job (?:\d+: )?"
OF_SHELL = "Unset those that you do not mean: env | grep ^SLURM_ lists them; or start from a new shell."
LOOK_THERE = "Read slurmd's log there; often the plugin of that --mpi or its PMIx library is missing."

STEPS = (
    Cause(
        look=r"failed on node \S+: (Communication connection failure|Unable to contact[^\n]*|Connection refused"
        r"|Connection timed out[^\n]*|No route to host)",
        meaning=r"slurmd on {nodes} cannot be reached (\1).",
        remedy="Check whether the node is up and slurmd runs there, and whether a firewall lets SrunPortRange through.",
        where=(LAUNCH,),
    ),
    Cause(
        look=r"failed on node \S+: (Socket timed out[^\n]*)|slurm_receive_msgs: [^\n]*(Socket timed out[^\n]*)",
        meaning=r"slurmd on {nodes} accepts connections but does not answer (\1): it hangs, or its node is overloaded.",
        remedy="Look at the node's load, memory and disks; then restart slurmd there (systemctl restart slurmd).",
        where=(LAUNCH, r"slurm_receive_msgs: \[\[([\w.-]+)\]:\d+\] failed: Socket timed out"),
    ),
    Cause(
        look=r"(?:can't find address for host|Can't find an address)([^\n]*)",
        meaning="the address of {nodes} is not known here.",
        remedy="Correct its name in DNS or /etc/hosts of this machine and of all nodes, or its NodeAddr in slurm.conf.",
        where=(r"can't find address for host ([\w.-]+)", LAUNCH),
    ),
    Cause(
        look=r"failed(?: on node \S+)?: (User not found on host|Group ID not found on host|Invalid user ID)",
        meaning=r"the user is not known on {nodes} (\1).",
        remedy="Check whether the directory service (LDAP, sssd) answers there: getent passwd USER.",
        where=(LAUNCH,),
    ),
    Cause(
        look=r"failed on node \S+: (Job prolog failed|Slurmd could not \w+ job[^\n]*|Job epilog failed)",
        meaning=r"slurmd on {nodes} could not begin the job (\1).",
        remedy="Read slurmd's log there, and check the site's prolog.",
        where=(LAUNCH,),
    ),
    Cause(
        look=r"failed(?: on node \S+)?: (Unable to satisfy cpu bind request|Unable to layout tasks on given cpus)"
        r"|(CPU binding outside of job step allocation)",
        meaning=r"a step was set to bind its tasks to cores that the job does not have on {nodes} (\1).",
        remedy="Unset SLURM_CPU_BIND, SLURM_CPU_BIND_TYPE and SLURM_CPU_BIND_LIST, as they are left in a shell that "
        "srun started (srun --pty); or take whole nodes.",
        where=(LAUNCH,),
    ),
    Cause(
        look=r"failed(?: on node \S+)?: (Plugin initialization failed)",
        meaning=r"slurmd on {nodes} has a plugin that does not load (\1): usually the cgroup plugin.",
        remedy="Read slurmd's log there; CgroupPlugin in cgroup.conf must match what that system mounts (cgroup/v2).",
        where=(LAUNCH,),
    ),
    Cause(
        look=r"failed(?: on node \S+)?: (Error configuring interconnect)",
        meaning=r"slurmd on {nodes} got no address of the fabric for the step (\1).",
        remedy="Read slurmd's and slurmctld's log (SwitchType), and whether the fabric's service answers "
        "(Slingshot: cxi_rh, the fabric manager).",
        where=(LAUNCH,),
    ),
    Cause(
        look=r"(tasks? \d[\d,-]*(?: \(on [^)]*\))?) launch failed: Unspecified error",
        meaning=r"slurmd could not begin \1, and only its log says why.",
        remedy="Read slurmd's log on that node; often Slurm's PMIx cannot write to its folder there (/tmp is full "
        "or read-only).",
    ),
    Cause(
        look=r"failed on node \S+: (Unspecified error)",
        meaning=r"slurmd on {nodes} could not begin the task, and only its log says why.",
        remedy=LOOK_THERE,
        where=(LAUNCH,),
    ),
    Cause(
        look=NO_STEP + r"(Memory required by task is not available)",
        meaning=r"a step wants more memory than is left in the job (\1).",
        remedy="Unset SLURM_MEM_PER_NODE, SLURM_MEM_PER_CPU and SLURM_MEM_PER_GPU, and end other steps of the job.",
    ),
    Cause(
        look=rf"(?:{NO_STEP}|srun: error: )"
        r"(More processors requested than permitted|(?:CPU|Task|Node) count specification invalid"
        r"|Requested node configuration is not available|Task distribution[^\n]*|Requested nodes are busy"
        r"|Invalid (?:generic|Trackable|GRES|feature)[^\n]*|Insufficient GRES[^\n]*|Cannot request more threads[^\n]*)",
        meaning=r"a step asks for what the job does not have (\1): variables of this shell say so.",
        remedy="Look for SLURM_CPUS_PER_TASK, SLURM_NTASKS_PER_NODE, SLURM_GRES, SLURM_GPUS and SLURM_TRES_PER_TASK. "
        f"{OF_SHELL}",
    ),
    Cause(
        look=NO_STEP + r"(Job/step already completing or completed|Invalid job id specified|Job has already finished)",
        meaning=r"the job ended before its step began (\1).",
        remedy="Start again; if it happens every time, check the site's prolog and its time limits.",
    ),
    Cause(
        look=r"step creation (?:temporarily|still) disabled, retrying \(([^)\n]*)\)",
        meaning=r"another step of the same job holds what this one needs, so srun waits for it (\1).",
        remedy="End that step; or let both have the same cores: export SLURM_OVERLAP=1.",
        unless=r"[Ss]tep created for",
    ),
    Cause(
        look=r"(Node failure on [\w.,\[\]-]+|DUE TO NODE FAILURE)",
        meaning="Slurm lost {nodes} while the step ran, and ended it.",
        remedy="`seatrial doctor` says which are down; look at their consoles and read slurmd's log.",
        where=(r"Node failure on ([\w.,\[\]-]+)", STEP_ON),
    ),
    Cause(
        look=r"(DUE TO TIME LIMIT)",
        meaning="the job reached its time limit, and Slurm ended it.",
        remedy="Request more time for the job, or give a shorter --budget.",
    ),
    Cause(
        look=r"(DUE TO PREEMPTION)",
        meaning="Slurm preempted the job for another one.",
        remedy="Try again, or choose a partition or QOS without preemption.",
    ),
    Cause(
        look=r"slurmstepd\S*: error: [^\n]*(cgroup[^\n]*(?:No space left on device|Cannot allocate memory))",
        meaning=r"slurmd cannot make the step's cgroup on {nodes} (\1).",
        remedy="Remove there the cgroups that ended jobs left, or reboot it; kernels before 4.4 run out of them.",
        where=(r"slurmstepd-([\w.-]+): error:[^\n]*cgroup", TASK),
    ),
    Cause(
        look=r"failed on node \S+: ([^\n]+)|(?:tasks?|step) [\d,.-]+ launch failed: ([^\n]+)",
        meaning=r"slurmd on {nodes} could not begin the step (\1).",
        remedy="Read slurmd's log there.",
        where=(LAUNCH, r"tasks? [\d,-]+ \(on ([^)]*)\) launch failed"),
    ),
    Cause(
        look=NO_STEP + r"([^\n]+)",
        meaning=r"Slurm rejects the step (\1).",
        remedy=OF_SHELL,
    ),
)
"""Causes that quote Slurm's own reason come last. `TRUST` comes before them: credentials are another matter."""
