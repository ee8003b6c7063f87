"""Slurm's daemons and commands do not trust each other, or do not understand each other's version."""

from seatrial.failures.cause import Cause
from seatrial.failures.slurm_steps import LAUNCH

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
        meaning=r"munged, by which Slurm knows who asks, does not answer (\1).",
        remedy="Start it (systemctl start munge), and look whether the folder of its socket may be read.",
    ),
    Cause(
        look=r"(sack[\w.]*\.socket[^\n]*)",
        meaning=r"Slurm's sackd, by which it knows who asks, does not answer (\1).",
        remedy="Start it (systemctl start sackd; on nodes slurmd does it), and look for /etc/slurm/slurm.key.",
    ),
    Cause(
        look=r"(Unauthorized credential[^\n]*|Replayed credential|Invalid authentication credential|Invalid credential"
        r"|Protocol authentication error|Invalid job credential|Job credential (?:revoked|replayed)"
        r"|Error generating job credential|Authentication credential invalid|Munge decode failed[^\n]*)",
        meaning=r"a daemon of Slurm does not accept who is asking (\1).",
        remedy="Give all machines the same munge.key, the same time and the same user numbers, and restart munged.",
    ),
    Cause(
        look=r"(Incompatible versions of client and server code|Incompatible Slurm plugin[^\n]*version[^\n]*"
        r"|Incompatible plugin version|I/O stream version number error|Header lengths are longer than data received)",
        meaning=r"Slurm's commands here and its daemons are of versions too far apart (\1).",
        remedy="Use the site's own Slurm commands (`which -a srun`); daemons of the newer version are upgraded first.",
    ),
    Cause(
        look=r"(Insane message length|Zero Bytes were transmitted or received)",
        meaning=r"the other end of Slurm hung up in mid-sentence (\1).",
        remedy="Compare Slurm's versions, munge.key and the clock at both ends, and look into slurmctld's log.",
    ),
)
