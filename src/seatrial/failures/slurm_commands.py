"""Slurm's commands fail: no trust between daemons, no configuration, no controller."""

from seatrial.failures.cause import Cause
from seatrial.failures.slurm_steps import LAUNCH, STEPS

TRUST = (
    Cause(
        look=r"[Cc]ouldn't find the specified plugin name for ((?:auth|cred|crypto|hash|select|topology)/\w+)"
        r"|(plugin_load_from_file: dlopen\([^\n]*)",
        meaning=r"Slurm's own plugin \1 is not here, or cannot be loaded.",
        remedy="Install the package that has it (slurm, munge's library), or give the container Slurm's plugin folder; "
        "PluginDir in slurm.conf says where it is looked for.",
    ),
    Cause(
        look=r"Job credential expired|Expired credential|Rewound credential|Check for out of sync clocks"
        r"|Authentication credential expired",
        meaning="a credential was too old or from the future on {nodes}: clocks differ.",
        remedy="Compare the nodes' clocks with this machine's (date), and start their time service (chrony, ntpd).",
        where=(LAUNCH,),
    ),
    Cause(
        look=r"Munge \w+ failed: (Failed to (?:access|connect|receive)[^\n]*|Socket[^\n]*|Munged communication[^\n]*"
        r"|Unable to connect[^\n]*)",
        meaning=r"munged, which authenticates users to Slurm, does not answer (\1).",
        remedy="Start it (systemctl start munge), and check whether the folder of its socket may be read.",
    ),
    Cause(
        look=r"(sack[\w.]*\.socket[^\n]*)",
        meaning=r"Slurm's sackd, which authenticates users, does not answer (\1).",
        remedy="Start it (systemctl start sackd; on nodes slurmd does it), and look for /etc/slurm/slurm.key.",
    ),
    Cause(
        look=r"(Unauthorized credential[^\n]*|Replayed credential|Invalid authentication credential|Invalid credential"
        r"|Protocol authentication error|Invalid job credential|Job credential (?:revoked|replayed)"
        r"|Error generating job credential|Authentication credential invalid|Munge decode failed[^\n]*)",
        meaning=r"a daemon of Slurm rejects the user's credential (\1).",
        remedy="Give all machines the same munge.key, the same time and the same user numbers, and restart munged.",
    ),
    Cause(
        look=r"(Incompatible versions of client and server code|Incompatible Slurm plugin[^\n]*version[^\n]*"
        r"|Incompatible plugin version|I/O stream version number error|Header lengths are longer than data received)",
        meaning=r"Slurm's commands here and its daemons have incompatible versions (\1).",
        remedy="Use the site's own Slurm commands (`which -a srun`); daemons of the newer version are upgraded first.",
    ),
    Cause(
        look=r"(Insane message length|Zero Bytes were transmitted or received)",
        meaning=r"the other end of Slurm closed the connection in the middle of a message (\1).",
        remedy="Compare Slurm's versions, munge.key and the clock at both ends, and look into slurmctld's log.",
    ),
)

NO_SITE = "Could not establish a configuration source"
COMMAND = r"(?:srun|salloc|sbatch|squeue|sinfo|scontrol)"

CONTROLLER = (
    Cause(
        look=r"Could not establish a configuration source|DNS SRV lookup failed",
        meaning="this machine does not know where Slurm's controller is.",
        remedy="Run this on a login node, or set SLURM_CONF to the site's slurm.conf.",
    ),
    Cause(
        look=r"cannot stat file ([^\n]*?)(?:, retrying[^\n]*)?(?:\n|$)",
        meaning=r"Slurm's commands cannot read the file of their configuration (\1).",
        remedy="Unset SLURM_CONF, or set it to the site's slurm.conf; check whether that file's folder is mounted "
        "here.",
    ),
    Cause(
        look=r"Parse error in file (\S+ line \d+)|(Parsing error[^\n]*)"
        r"|fatal: (Unable to process configuration file[^\n]*)",
        meaning=r"Slurm's commands cannot read their configuration (\1).",
        remedy="Correct that line, or set SLURM_CONF to the site's slurm.conf.",
    ),
    Cause(
        look=r"Unable to resolve \"([\w.-]+)\"[\s\S]{0,400}?Unable to establish control(?:ler)? machine"
        r"|Unable to establish control(?:ler)? machine()",
        meaning=r"the name of Slurm's controller is not known here (\1).",
        remedy="Correct DNS or /etc/hosts of this machine, or SlurmctldHost in slurm.conf.",
    ),
)
ASKED = (
    Cause(
        look=r"(?:Expired or invalid job|Slurm job|Unable to confirm allocation for job) (\d+)",
        meaning=r"job \1 has ended or never existed.",
        remedy="In a shell that kept an old job's variables: unset SLURM_JOB_ID SLURM_JOBID. Else start again.",
    ),
    Cause(
        look=r"([Cc]ontroller is in standby mode|backup controller in standby mode)",
        meaning=r"Slurm's commands reached its backup controller, which is on standby while the first one works (\1).",
        remedy="Check whether slurmctld on the first host of SlurmctldHost can be reached from here: scontrol ping.",
    ),
    Cause(
        look=r"Unable to contact slurm controller \((.*?)\)|Unable to contact slurm controller"
        r"|([Ss]lurm controller not responding)",
        meaning=r"Slurm's controller does not answer (\1).",
        remedy="Check whether slurmctld runs and can be reached from here: scontrol ping.",
    ),
    Cause(
        look=r"(?:slurm_\w+|allocate|resources|error|failed): (Socket timed out on send/recv operation)",
        meaning=r"Slurm's controller accepts connections but does not answer (\1): it hangs or is overloaded.",
        remedy="Check slurmctld's log and load (sdiag shows what it is busy with), and at the disk of its "
        "StateSaveLocation.",
    ),
    Cause(
        look=r"(Rate limit exceeded, please retry \w+)",
        meaning=r"Slurm's controller received more requests than it allows (\1).",
        remedy="Try again in a minute; check which programs of yours query it constantly (watch squeue): sdiag.",
    ),
    Cause(
        look=r"(I/O error writing script/environment to file)",
        meaning=r"Slurm's controller cannot write down a job (\1).",
        remedy="The disk of its StateSaveLocation is full, or read-only: df on the controller's machine.",
    ),
    Cause(
        look=r"(Problem talking to (?:the )?database|Unable to connect to database)",
        meaning=r"SLURM_CLUSTERS names a cluster, and Slurm's database cannot look it up (\1).",
        remedy="Unset SLURM_CLUSTERS, or check whether slurmdbd answers: sacctmgr show cluster.",
    ),
    Cause(
        look=r"Only allocated \d+ nodes? asked for|Invalid numeric value \"\" for --jobid",
        meaning="SLURM_ variables of another job are left in this shell, and srun follows them.",
        remedy="Start from a new shell, or unset SLURM_JOB_ID, SLURM_JOB_NODELIST and SLURM_JOB_NUM_NODES.",
    ),
    Cause(
        look=rf"{COMMAND}: (?:error|fatal): ([^\n]*\bS(?:LURM|ALLOC|BATCH)_[A-Z]\w+[^\n]*)",
        meaning=r"variables of this shell contradict each other or what is asked (\1).",
        remedy="Unset those that it names, as they are left in a shell that a job started: "
        "env | grep -E '^S(LURM|ALLOC)_'.",
    ),
    Cause(
        look=rf"{COMMAND}: (?:error|fatal): ((?:unrecognized |Failed to parse |Invalid --|Invalid (?:argument|numeric "
        r"value|value) |Bad value |[\w-]+ is (?:invalid|not valid))[^\n]*)",
        meaning=r"srun or salloc rejects the value of a variable of this shell (\1).",
        remedy="Unset that variable: env | grep -E '^S(LURM|ALLOC|BATCH)_' lists them.",
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
SLURM = (*CONTROLLER, *TRUST, *STEPS, *ASKED)
