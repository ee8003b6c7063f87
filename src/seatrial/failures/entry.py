"""Why a host does not let us in, or an environment cannot be entered: modules, Spack, Guix, Nix, containers.

`causes/ssh.toml` has the sentences of OpenSSH 9.2 (ssh.c, sshconnect.c, packet.c) and of PAM modules on compute nodes.
"""

import re

from seatrial.failures.cause import causes, first_cause, statements, strongest
from seatrial.failures.plain_text import plain, without_colours

REMEDY = "`ssh -o BatchMode=yes HOST true` must work for each host without a question."
LONGEST_REPLY = 160
LABEL = re.compile(r"^ *(\d+): ?(.*)$", re.MULTILINE)
"""The prefix that `srun --label` puts before each line of a task."""
LONGEST = 300
LONGEST_LINE = 4096


def why_unreachable(host: str, text: str, *, timed_out: bool, limit_s: float) -> str:
    """A sentence without its capital and full stop: why `host` did not answer over ssh, and what to do."""
    match = first_cause(causes("ssh"), text)
    if match:
        meaning, remedy = match
        return f"{meaning}; {_lower(remedy)}".replace("the nodes", "the host").replace("HOST", host).rstrip(".")
    if timed_out:
        return f"it did not answer over ssh within {limit_s:.0f} s"
    lines = [line.strip() for line in plain(text).splitlines() if line.strip()]
    return f"ssh failed ({lines[-1][:LONGEST_REPLY]})" if lines else "ssh ended without an answer"


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def why_not_entered(text: str) -> tuple[str, str] | None:
    """Meaning, without its full stop, and remedy; None where nothing in `text` is known.

    `text`: standard error, with or without `srun --label`; of several tasks the first counts.
    """
    stated = strongest(statements(causes("environments"), _in_one_line(without_colours(text))))
    if stated is not None:
        return stated.meaning[:LONGEST], stated.cause.remedy
    program = first_cause(causes("programs"), text)
    return (program[0].rstrip("."), program[1]) if program is not None else None


def _in_one_line(text: str) -> str:
    tasks = [task for task, _ in LABEL.findall(text)]
    first = [rest for task, rest in LABEL.findall(text) if task == tasks[0]] if tasks else text.splitlines()
    return " ".join(" ".join(first)[:LONGEST_LINE].split())
