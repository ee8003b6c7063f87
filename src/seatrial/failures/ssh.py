"""Why ssh does not log in to a host, from what OpenSSH's client wrote to standard error; and mpirun over ssh.

The sentences are those of OpenSSH 9.2 (ssh.c, sshconnect.c, packet.c) and of PAM modules on compute nodes.
"""

from seatrial.failures.cause import Cause, first_match
from seatrial.failures.plain_text import plain

LOG_IN = "log in once by hand (ssh HOST) and compare its fingerprint, or add its key to known_hosts"
SSH = (
    Cause(
        look=r"REMOTE HOST IDENTIFICATION HAS CHANGED[\s\S]{0,1200}?(?:Offending \S+ key in (\S+)|verification failed)",
        meaning=r"the host key of {nodes} is not the one in known_hosts (\1)",
        remedy="If that host was installed again, remove its old key (ssh-keygen -R HOST); else find out who answers "
        "under its name.",
        where=(r"Host key for (\S+) has changed",),
    ),
    Cause(
        look=r"(No \S+ host key is known for \S+|Host key verification failed)",
        meaning=r"the host key of {nodes} is unknown (\1)",
        remedy="Log in once by hand (ssh HOST) and compare the fingerprint, or add the key to known_hosts.",
        where=(r"No \S+ host key is known for (\S+) and",),
    ),
    Cause(
        look=r"(Access denied by pam_slurm_adopt[^\n]*|Access denied: user \S+ [^\n]*no active jobs[^\n]*"
        r"|pam_slurm[^\n]*no active jobs[^\n]*)",
        meaning=r"{nodes} admits only users with a job there (\1)",
        remedy="Start seatrial within a job on these hosts, or leave out --hosts and use Slurm.",
    ),
    Cause(
        look=r"((?:System is going down|System is booting up|The system is going down)[^\n]*|pam_nologin[^\n]*)",
        meaning=r"{nodes} admits no users now (\1)",
        remedy="Wait until it has started, or remove /etc/nologin there.",
    ),
    Cause(
        look=r"(Too many authentication failures)",
        meaning=r"ssh offered too many keys to {nodes} (\1)",
        remedy="Set IdentityFile and IdentitiesOnly for these hosts in ~/.ssh/config.",
    ),
    Cause(
        look=r"(Permission denied \([\w,.@-]+\)|Permission denied, please try again)",
        meaning=r"ssh cannot log in to {nodes} without a password (\1)",
        remedy="Let ssh log in without a question: ssh-copy-id HOST, or a key in ssh-agent, or host-based "
        "authentication.",
        where=(r"(?m)^(?:\S+@)?(\S+): Permission denied",),
    ),
    Cause(
        look=r"Could not resolve hostname (\S+?):",
        meaning=r"the name \1 cannot be resolved",
        remedy="Correct the name, or add it to DNS or /etc/hosts.",
    ),
    Cause(
        look=r"connect to host (\S+ port \d+): Connection refused",
        meaning=r"no sshd listens on \1",
        remedy="Start sshd there, or set the right Port in ~/.ssh/config.",
    ),
    Cause(
        look=r"connect to host \S+ port \d+: (No route to host|Network is unreachable|Host is down)",
        meaning=r"{nodes} cannot be reached (\1)",
        remedy="Check whether the host is up, and whether a firewall or a route is in the way.",
        where=(r"connect to host (\S+) port \d+:",),
    ),
    Cause(
        look=r"(Connection timed out during banner exchange|connect to host \S+ port \d+: (?:Connection|Operation) "
        r"timed out|Timeout, server \S+ not responding)",
        meaning=r"{nodes} does not answer (\1)",
        remedy="Check whether the host is up and its sshd works, and whether a firewall is in the way.",
        where=(r"connect to host (\S+) port \d+:", r"Timeout, server (\S+) not", r"Connection to (\S+) port \d+ timed"),
    ),
    Cause(
        look=r"(kex_exchange_identification: [^\n]*|(?:ssh_exchange_identification|banner exchange): [^\n]*"
        r"|Connection (?:closed|reset) by \S+ port \d+)",
        meaning=r"sshd of {nodes} closed the connection (\1)",
        remedy="Look into the log of sshd there: too many logins at once (MaxStartups), or this address is refused.",
        where=(r"Connection (?:closed|reset) by (\S+) port",),
    ),
    Cause(
        look=r"(Bad configuration option: \S+|Bad owner or permissions on \S+|Unsupported option \S+)",
        meaning=r"ssh cannot read its configuration (\1)",
        remedy="Repair that line or file: ~/.ssh/config, /etc/ssh/ssh_config.",
    ),
    Cause(
        look=r"(This account is currently not available|Your account has expired[^\n]*|account is locked)",
        meaning=r"the user may not log in to {nodes} (\1)",
        remedy="Ask for the account to be enabled on the compute nodes.",
    ),
)
"""The remedy of a cause speaks of HOST, since the same sentence may be about many."""
REMEDY = "`ssh -o BatchMode=yes HOST true` must work for each host without a question."
LONGEST_QUOTE = 160


def why_unreachable(host: str, text: str, *, timed_out: bool, limit_s: float) -> str:
    """A sentence without its capital and full stop: why `host` did not answer over ssh, and what to do."""
    match = first_match(SSH, plain(text))
    if match:
        meaning, cause = match
        return f"{meaning}; {_lower(cause.remedy)}".replace("the nodes", "the host").replace("HOST", host).rstrip(".")
    if timed_out:
        return f"it did not answer over ssh within {limit_s:.0f} s"
    lines = [line.strip() for line in plain(text).splitlines() if line.strip()]
    return f"ssh failed ({lines[-1][:LONGEST_QUOTE]})" if lines else "ssh ended without an answer"


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
