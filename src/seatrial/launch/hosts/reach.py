"""What a host answers over ssh: its name, its facts, whether the probe and MPI's daemon are there; copies the probe.

The remote commands are constants. Paths go to the host on standard input, as data.
"""

import base64
import re
import shutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import TypeVar

import msgspec

from seatrial.failures.start_failure import why_unreachable
from seatrial.launch.collector import Patience, collector
from seatrial.launch.contract import FactsReading
from seatrial.launch.hosts.ssh_argv import ssh_argv
from seatrial.model.errors import LaunchError
from seatrial.node.frame import CLOSING, OPENING
from seatrial.process.process import Completed, run

ANSWER_S = 20.0
"""Seconds for a login and a few lines; ssh itself gives up a host that does not accept a connection."""
COPY_S = 60.0
AT_ONCE = 32
"""Logins at the same time."""
ANSWER_BYTES = 1 << 20
"""Kept of each output of a login; what a host babbles before is lost."""
MARK = "seatrial-host"
SAFE = (
    'safe() { u=$(id -u); g=-; [ "$(id -gn)" = "$(id -un)" ] && g=$(id -g); '
    'q=$(cd -P "${1%/*}" && pwd -P) || return 1; q=${q%/}/${1##*/}; '
    'while :; do set -- $(ls -ldn "${q:-/}"); '
    'case $1 in d????????[tT]*) ;; ????????w*) return 1;; ?????w*) [ "$4" = "$g" ] || return 1;; esac; '
    '[ "$3" = 0 ] || [ "$3" = "$u" ] || return 1; '
    '[ "$q" ] || return 0; q=${q%/*}; done; }; '
)
"""Whether only this user and root can have written a file, as `files.owners` decides it, by POSIX's tools alone."""
ASK = (
    f"exec /bin/sh -c '{SAFE}"
    "h=unknown; read -r h </proc/sys/kernel/hostname; "
    f'echo "{MARK} name $h"; '
    "while IFS= read -r p; do "
    f'if [ -x "$p" ]; then echo "{MARK} found $p"; safe "$p" || echo "{MARK} foreign $p"; '
    f'else echo "{MARK} missing $p"; fi; '
    f"done; echo {MARK} end'"
)
COPY = (
    f"exec /bin/sh -c '{SAFE}"
    'umask 077; IFS= read -r p; d=${p%/*}; mkdir -p "$d" || exit 1; '
    'safe "$d/." || { echo "others can write to its folders" >&2; exit 1; }; '
    't=$(mktemp "$d/.new.XXXXXX") && base64 -d >"$t" && chmod 700 "$t" && mv -f "$t" "$p" && safe "$p"'
    "'"
)
"""The folder is examined before anything is written: others could put a link in the place of the new file."""
_Answer = TypeVar("_Answer")
QUICK = "SEATRIAL_FACTS=quick"
NO_VARIABLE = "SEATRIAL_FACTS="
KEPT_BYTES = 4 << 20
"""Bytes kept of each output of one login. Facts of a node of a thousand processors are less, and many hosts that babble
at the same time do not fill the memory."""


def require_ssh() -> None:
    """Raise LaunchError where there is no ssh."""
    if shutil.which("ssh") is None:
        raise LaunchError("There is no ssh on PATH.", "Install OpenSSH's client (openssh-client).")


class HostAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One host. `failure` is empty where it answered."""

    name: str = ""
    """The host name that the host has for itself."""
    missing: tuple[str, ...] = ()
    """Paths that do not exist there, or may not be run."""
    foreign: tuple[str, ...] = ()
    """Paths that exist there, and that others than this user and root can have written."""
    failure: str = ""
    """Why it cannot be reached, and what to do; a sentence without its capital and full stop."""


def each_host(hosts: Sequence[str], work: Callable[[str, Callable[[bool], bool]], _Answer]) -> dict[str, _Answer]:
    """`work` for each host, many at once. It gets a function that ends its programs when we are interrupted."""
    stopped = Event()
    with ThreadPoolExecutor(max_workers=max(min(AT_ONCE, len(hosts)), 1)) as pool:
        try:
            return dict(zip(hosts, pool.map(lambda host: work(host, lambda _: stopped.is_set()), hosts), strict=True))
        except BaseException:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def ask(host: str, paths: Sequence[str], give_up: Callable[[bool], bool]) -> HostAnswer:
    """Log in once, and ask for the host's name and whether these programs are there."""
    text = "".join(f"{path}\n" for path in paths)
    done = run(ssh_argv(host, [ASK]), stdin=text, timeout_s=ANSWER_S, kept_bytes=ANSWER_BYTES, give_up=give_up)
    return answer_of(host, done)


def answer_of(host: str, done: Completed) -> HostAnswer:
    """What the program printed. Lines of login scripts do not matter."""
    marks = re.findall(rf"(?m)^{MARK} (\w+) ?(.*)$", done.stdout)
    if not marks or marks[-1][0] != "end":
        return HostAnswer(failure=why_unreachable(host, done.stderr, timed_out=done.timed_out, limit_s=ANSWER_S))
    name = next((value for key, value in marks if key == "name"), "")
    missing, foreign = (tuple(value for key, value in marks if key == word) for word in ("missing", "foreign"))
    return HostAnswer(name=name, missing=missing, foreign=foreign)


def copy_program(host: str, path: Path, content: bytes, give_up: Callable[[bool], bool]) -> str:
    """Put a program on a host. Empty, or why that failed."""
    text = base64.encodebytes(content).decode("ascii")
    done = run(
        ssh_argv(host, [COPY]), stdin=f"{path}\n{text}", timeout_s=COPY_S, kept_bytes=ANSWER_BYTES, give_up=give_up
    )
    if done.ok:
        return ""
    last = [line.strip() for line in done.stderr.splitlines() if line.strip()][-1:]
    return f"it did not end within {COPY_S:.0f} s" if done.timed_out else (last[0] if last else "no reason was given")


def read_remote_facts(hosts: Sequence[str], *, quick: bool = False) -> FactsReading:
    """The raw facts of each host; a host that does not answer is silent, with the reason and the remedy.

    `quick`: without what takes long (launch.collector.QUICK_FACTS). What a login script prints before is left out.
    """
    text, patience = collector(), Patience()
    command = ["env", QUICK if quick else NO_VARIABLE, "sh", "-s"]

    def read(host: str, give_up: Callable[[bool], bool]) -> tuple[str, str]:
        began = time.monotonic()
        longest_s = patience.longest_s(len(hosts))
        done = run(ssh_argv(host, command), stdin=text, timeout_s=longest_s, kept_bytes=KEPT_BYTES, give_up=give_up)
        start = done.stdout.find(OPENING)
        seen = done.stdout[start:] if start >= 0 else ""
        if f"\n{CLOSING}" in seen:
            patience.took(time.monotonic() - began)
            return seen, ""
        return "", why_unreachable(host, done.stderr, timed_out=done.timed_out, limit_s=longest_s)

    answers = each_host(hosts, read)
    return FactsReading(
        texts={host: seen for host, (seen, _) in answers.items() if seen},
        silent={host: why for host, (seen, why) in answers.items() if not seen},
    )
