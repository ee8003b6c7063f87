"""How a setting of a node is read and written: `cat` and `tee` there, through Slurm, ssh, or on this machine."""

import os
import re
import shlex
from collections.abc import Callable

import msgspec

from seatrial.commands.compare.toggle import Step
from seatrial.judgement.comparison.records import FileSetting
from seatrial.launch.hosts.ssh_argv import ssh_argv
from seatrial.model.run import RunInfo
from seatrial.model.settings import SiteSettings, SlurmRequest
from seatrial.process.process import run
from seatrial.slurm.argv import on_one_node

Reach = Callable[[str, tuple[str, ...]], tuple[str, ...]]
"""Node and words -> the words that run them there."""
READ_S = 90.0
SYSROOT = "SEATRIAL_SYSROOT"
"""Where a virtual cluster simulates files: roots, separated by colons, the first that has a file wins."""
CHOSEN = re.compile(r"\[([\w-]+)\]")
"""Of several choices, as in `always [madvise] never`."""


class Located(msgspec.Struct, frozen=True, kw_only=True):
    """A setting of one node: its files there, and what they contain."""

    node: str
    setting: FileSetting
    paths: tuple[str, ...]
    content: str


def reach_of(info: RunInfo) -> Reach | str:
    """How the nodes of a run are reached, as when it was measured; or why they are not."""
    site = info.settings if isinstance(info.settings, SiteSettings) else getattr(info.settings, "site", None)
    if info.launcher == "slurm":
        partition, request = (site.partition, site.slurm) if site else ("", SlurmRequest())
        return lambda node, words: tuple(on_one_node(node, words, partition, request))
    if info.launcher == "ssh":
        return lambda node, words: tuple(ssh_argv(node, [shlex.quote(word) for word in words]))
    if info.launcher == "local":
        return lambda _node, words: words
    return f"runs of the launcher {info.launcher or 'unknown'} do not say how their nodes are reached"


def locate(reach: Reach, node: str, setting: FileSetting) -> Located | str:
    """Where the setting is on the node, and its content; or why it cannot be changed there."""
    roots = [root for root in os.environ.get(SYSROOT, "").split(":") if root] or ["/"]
    why = ""
    for root in roots:
        for place in setting.places:
            paths = tuple(f"{root.rstrip('/')}{path}" for path in place)
            done = run(reach(node, ("cat", *paths)), timeout_s=READ_S)
            if not done.ok:
                why = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0]
                continue
            if root not in (roots[0], "/"):
                return f"{setting.fact} of {node} is simulated for all nodes"
            contents = {_chosen(line) for line in done.stdout.splitlines() if line.strip()}
            if len(contents) != 1:
                return f"{setting.fact} of {node} differs between its processors now"
            return Located(node=node, setting=setting, paths=paths, content=contents.pop())
    return f"{setting.fact} of {node} cannot be read ({why})"


def _chosen(line: str) -> str:
    """The value that a line contains, single blanks between its words."""
    match = CHOSEN.search(line)
    return match[1] if match else " ".join(line.split())


def step_to(reach: Reach, located: Located, content: str) -> Step:
    """Write the content into the files of the setting."""
    return Step(argv=reach(located.node, ("tee", *located.paths)), stdin=f"{content}\n")
