"""Slurm itself cannot be spoken to, or its daemons and commands do not trust or understand each other."""

from seatrial.launch.causes.cause import Cause

NO_SITE = "Could not establish a configuration source"
LAUNCH = r"[Ll]aunch for (?:StepId=|step )?\S+ failed on node (\S+?):"

SLURM = (
    Cause(
        look=r"Could not establish a configuration source|DNS SRV lookup failed",
        meaning="this machine does not know where Slurm's controller is.",
        remedy="Run this on a login node, or set SLURM_CONF to the site's slurm.conf.",
    ),
    Cause(
        look=r"cannot stat file ([^\n]*?)(?:, retrying[^\n]*)?(?:\n|$)",
        meaning=r"Slurm's commands cannot read the file of their configuration (\1).",
        remedy="Unset SLURM_CONF, or set it to the site's slurm.conf; look whether that file's folder is mounted here.",
    ),
    Cause(
        look=r"Parse error in file (\S+ line \d+)|(Parsing error[^\n]*)",
        meaning=r"Slurm's commands cannot read their configuration (\1).",
        remedy="Mend that line, or set SLURM_CONF to the site's slurm.conf.",
    ),
    Cause(
        look=r"Job credential expired|Expired credential|Rewound credential|Check for out of sync clocks",
        meaning="a credential was too old or from the future on {nodes}: clocks differ.",
        remedy="Compare the nodes' clocks with this machine's (date), and start their time service (chrony, ntpd).",
        where=LAUNCH,
    ),
    Cause(
        look=r"Munge \w+ failed: (Failed to (?:access|connect)[^\n]*|Socket[^\n]*)",
        meaning=r"munged, by which Slurm knows who asks, does not answer (\1).",
        remedy="Start it (systemctl start munge), and look whether the folder of its socket may be read.",
    ),
    Cause(
        look=r"(Unauthorized credential[^\n]*|Invalid authentication credential|Invalid credential"
        r"|Protocol authentication error|Invalid job credential|Authentication credential invalid"
        r"|Munge decode failed[^\n]*)",
        meaning=r"a daemon of Slurm does not accept who is asking (\1).",
        remedy="Give all machines the same munge.key, the same time and the same user numbers, and restart munged.",
    ),
    Cause(
        look=r"(Incompatible versions of client and server code|Incompatible Slurm plugin[^\n]*version[^\n]*"
        r"|Incompatible plugin version)",
        meaning=r"Slurm's commands here and its daemons are of versions too far apart (\1).",
        remedy="Use the site's own Slurm commands (`which -a srun`); daemons of the newer version are upgraded first.",
    ),
    Cause(
        look=r"(Insane message length|Zero Bytes were transmitted or received)",
        meaning=r"the other end of Slurm hung up in mid-sentence (\1).",
        remedy="Compare Slurm's versions, munge.key and the clock at both ends, and look into slurmctld's log.",
    ),
    Cause(
        look=r"(?:Expired or invalid job|Slurm job|Unable to confirm allocation for job) (\d+)",
        meaning=r"job \1 is over, or never was.",
        remedy="In a shell that kept an old job's variables: unset SLURM_JOB_ID SLURM_JOBID. Else start again.",
    ),
    Cause(
        look=r"failed on node \S+: (Communication connection failure|Unable to contact[^\n]*|Connection refused"
        r"|Connection timed out|No route to host)",
        meaning=r"slurmd on {nodes} cannot be reached (\1).",
        remedy="Look whether the node is up and slurmd runs there, and whether a firewall lets SrunPortRange through.",
        where=LAUNCH,
    ),
    Cause(
        look=r"failed on node \S+: (Socket timed out[^\n]*)",
        meaning=r"slurmd on {nodes} takes connections and does not answer (\1): it hangs, or its node is overloaded.",
        remedy="Look at the node's load, memory and disks; then restart slurmd there (systemctl restart slurmd).",
        where=LAUNCH,
    ),
    Cause(
        look=r"failed on node \S+: (User not found on host|Group ID not found on host)",
        meaning=r"{nodes} do not know the user (\1).",
        remedy="Look whether the directory service (LDAP, sssd) answers there: getent passwd USER.",
        where=LAUNCH,
    ),
    Cause(
        look=r"failed on node \S+: (Job prolog failed|Slurmd could not \w+ job[^\n]*|Job epilog failed)",
        meaning=r"slurmd on {nodes} could not begin the job (\1).",
        remedy="Look into slurmd's log there, and into the site's prolog.",
        where=LAUNCH,
    ),
    Cause(
        look=r"Unable to contact slurm controller \((.*?)\)|Unable to contact slurm controller",
        meaning=r"Slurm's controller does not answer (\1).",
        remedy="Look whether slurmctld runs and can be reached from here: scontrol ping.",
    ),
    Cause(
        look=r"(?:slurm_\w+|allocate|error|failed): (Socket timed out on send/recv operation)",
        meaning=r"Slurm's controller takes connections and does not answer (\1): it hangs, or has too much to do.",
        remedy="Look at slurmctld's log and load (sdiag tells what it is busy with), and at the disk of its "
        "StateSaveLocation.",
    ),
    Cause(
        look=r"failed on node \S+: (Unspecified error)",
        meaning=r"slurmd on {nodes} could not begin the task, and only its log tells why.",
        remedy="Look into slurmd's log there; often the plugin of that --mpi or its PMIx library is missing.",
        where=LAUNCH,
    ),
    Cause(
        look=r"(Problem talking to (?:the )?database)",
        meaning=r"SLURM_CLUSTERS names a cluster, and Slurm's database does not tell where it is (\1).",
        remedy="Unset SLURM_CLUSTERS, or look whether slurmdbd answers: sacctmgr show cluster.",
    ),
    Cause(
        look=r"srun: (?:error|fatal): (unrecognized [^\n]*|Failed to parse [^\n]*)",
        meaning=r"srun does not take what a variable of this shell tells it (\1).",
        remedy="Unset that variable: env | grep ^SLURM_ lists them.",
    ),
    Cause(
        look=r"Only allocated \d+ nodes? asked for|Invalid numeric value \"\" for --jobid",
        meaning="SLURM_ variables of another job are left in this shell, and srun follows them.",
        remedy="Start from a new shell, or unset SLURM_JOB_ID, SLURM_JOB_NODELIST and SLURM_JOB_NUM_NODES.",
    ),
    Cause(
        look=r"srun: No such file or directory",
        meaning="srun is not on PATH.",
        remedy="Load the module that has all of Slurm's commands, or run this on a login node.",
    ),
    Cause(
        look=r"System submissions disabled|Requested operation is presently disabled",
        meaning="Slurm takes no jobs at present.",
        remedy="Ask your site until when.",
    ),
)
