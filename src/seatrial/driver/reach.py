"""How a setting of a node is read and written there: in a job of Slurm's, through ssh, or on this machine."""

import os
import re
import shlex
from collections.abc import Sequence

import msgspec

from seatrial.archive.changed_settings import ENTER, ChangedFile
from seatrial.archive.layout import file_name
from seatrial.judgement.comparison.records import FileSetting
from seatrial.judgement.comparison.reversible import is_reversible
from seatrial.launch.hosts.ssh_argv import ssh_argv
from seatrial.model.run import RunInfo
from seatrial.model.settings import SlurmRequest
from seatrial.process.process import run
from seatrial.slurm.argv import on_one_node, setting_step

READ_S = 90.0
SYSROOT = "SEATRIAL_SYSROOT"
"""The roots of the files that a virtual cluster simulates, separated by colons; the first that has a file wins."""
CHOSEN = re.compile(r"\[([\w-]+)\]")
"""The chosen word of several, as in `always [madvise] never`."""
WRITE = rf"""{ENTER}
root=$1 name=$2 value=$3
shift 3
umask 077
note=$(cat)
for folder in "$root/run/seatrial" "$root/var/tmp/seatrial"; do
    [ -n "$note" ] || break
    mkdir -p -m 700 "$folder" 2>/dev/null
    (enter "$folder" && rm -f "./$name" && set -C && printf '%s\n' "$note" >"./$name") && break
done
printf '%s\n' "$value" | tee "$@" >/dev/null || exit 1
for file; do
    has=$(cat "$file") || exit 1
    case " $has " in
        *"[$value]"* | " $value "*) ;;
        *) echo "$file contains $has" >&2; exit 1 ;;
    esac
done
for folder in "$root/run/seatrial" "$root/var/tmp/seatrial"; do
    [ -z "$note" ] && (enter "$folder" && rm -f "./$name")
done
exit 0
"""
"""Writes a value into files and reads it back. Standard input is a note that is left on the node before that; where it
is empty, the note is removed after it."""


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """The programs by which commands are run on a node."""

    launcher: str
    """slurm, ssh or local."""
    partition: str = ""
    slurm: SlurmRequest = SlurmRequest()
    job: str = ""
    """A job that has the node; empty: each program gets a small job of its own."""

    def argv(self, node: str, words: Sequence[str]) -> tuple[str, ...]:
        """What runs the words on the node."""
        if self.launcher == "ssh":
            return tuple(ssh_argv(node, [shlex.quote(word) for word in words]))
        if self.launcher == "local":
            return tuple(words)
        if self.job:
            return tuple(setting_step(self.job, node, words, self.slurm.arguments))
        return tuple(on_one_node(node, words, self.partition, self.slurm))


def reach_of(info: RunInfo) -> Reach | str:
    """How the nodes of a run are reached, as when it was measured; or why they are not."""
    site = info.settings.site if info.settings else None
    if info.launcher not in ("slurm", "ssh", "local"):
        return f"runs of the launcher {info.launcher or 'unknown'} do not say how their nodes are reached"
    if site is None:
        return Reach(launcher=info.launcher)
    return Reach(launcher=info.launcher, partition=site.partition, slurm=site.slurm)


def roots() -> list[str]:
    """The roots below which files of nodes may be; empty: the kernel's own."""
    return [root.rstrip("/") for root in os.environ.get(SYSROOT, "").split(":") if root] or [""]


def locate(reach: Reach, node: str, setting: FileSetting) -> ChangedFile | str:
    """The file of the setting on the node, and its content; or why it cannot be changed there."""
    why = ""
    for number, root in enumerate(roots()):
        for place in setting.places:
            done = run(reach.argv(node, ("cat", *(f"{root}{path}" for path in place))), timeout_s=READ_S)
            if not done.ok:
                why = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0]
                continue
            if root and number:
                return f"{setting.fact} of {node} is simulated for all nodes"
            contents = {_chosen(line) for line in done.stdout.splitlines() if line.strip()}
            if len(contents) != 1:
                return f"{setting.fact} of {node} differs between its processors now"
            return ChangedFile(
                node=node, fact=setting.fact, root=root, paths=place, usual=contents.pop(), changed=setting.earlier
            )
    return f"{setting.fact} of {node} cannot be read ({why})"


def _chosen(line: str) -> str:
    """The value that a line contains, single blanks between its words."""
    match = CHOSEN.search(line)
    return match[1] if match else " ".join(line.split())


def writing(change: ChangedFile, name: str, value: str) -> tuple[str, ...]:
    """The words that write a value into the files of the setting, on its node."""
    return (
        "sh",
        "-c",
        WRITE,
        "seatrial-setting",
        change.root,
        f"{file_name(change.node)}.{name}.note",
        value,
        *change.files,
    )


def why_not_ours(change: ChangedFile) -> str:
    """Why the files are not those of a setting that may be changed; empty: they are."""
    if change.root in roots() and is_reversible(change.fact, change.paths):
        return ""
    return f"{', '.join(change.files)} of {change.node} is not a setting that seatrial changes"
