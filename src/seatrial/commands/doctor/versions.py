"""Whether Slurm's commands and daemons are of versions that understand each other.

Source of the window: https://slurm.schedmd.com/upgrades.html, "Compatibility Window": the two major releases before one
are understood by it, since 24.11 the three before. Commands and slurmd may be older than slurmctld, never newer.
"""

import re
from collections.abc import Mapping

import msgspec

from seatrial.model.launching import blocked, fine, noted
from seatrial.model.node_list import node_list
from seatrial.model.verdict import Finding, FindingKind
from seatrial.model.words import by_text
from seatrial.process.process import Completed, run
from seatrial.slurm import argv as slurm_argv
from seatrial.slurm import text
from seatrial.slurm.presence import COMMAND_TIMEOUT_S, asked_settled
from seatrial.slurm.text import MPI_TYPES

CLIENT = ("srun", "--version")
NODES = ("scontrol", "--oneliner", "show", "node")
PARTITIONS = ("scontrol", "--all", "--oneliner", "show", "partition")
"""Includes partitions that Slurm hides from users who may not use them."""
RUNNING = ("squeue", "--noheader", "--states=R", "--format=%i")
GROUPS = ("id", "-Gn")


class SlurmAnswers(msgspec.Struct, frozen=True, kw_only=True):
    """The unmodified output of Slurm's commands."""

    sinfo: Completed
    client: str
    config: str
    nodes: str
    partitions: str
    mpi_types: str
    running_jobs: int


def ask_slurm() -> SlurmAnswers:
    """Runs one command after the other; where sinfo gets no answer, the others are not run, and stay empty."""
    sinfo = asked_settled(slurm_argv.SINFO)
    if not sinfo.ok:
        return SlurmAnswers(sinfo=sinfo, client="", config="", nodes="", partitions="", mpi_types="", running_jobs=0)
    listed = run(MPI_TYPES, timeout_s=COMMAND_TIMEOUT_S)
    return SlurmAnswers(
        sinfo=sinfo,
        client=version_line(_said(CLIENT)),
        config=_said(slurm_argv.CONFIG),
        nodes=_said(NODES),
        partitions=_said(PARTITIONS),
        mpi_types=listed.stdout + listed.stderr,  # on standard error before 22.05
        running_jobs=sum(line[:1].isdecimal() for line in _said(RUNNING).splitlines()),
    )


def version_line(said: str) -> str:
    """`slurm-wlm 22.05.8`, whatever a site's wrapper around the command says besides; all of it where it is another."""
    lines = [line.strip() for line in said.splitlines()]
    return next((line for line in lines if line.lower().startswith("slurm")), said.strip())


def versions_of(nodes: str) -> Mapping[str, str]:
    """Node -> version of its slurmd, from `scontrol --oneliner show node`; a node that never answered has none."""
    found = {}
    for line in nodes.splitlines():
        words = dict(word.partition("=")[::2] for word in line.split() if "=" in word)
        if words.get("NodeName"):
            found[words["NodeName"]] = words.get("Version", "")
    return found


def config_of(answers: SlurmAnswers, key: str) -> str:
    """One value of the controller's configuration; empty if it is not set."""
    return text.config_value(answers.config, key)


def groups() -> frozenset[str]:
    """Names of the user's groups."""
    return frozenset(_said(GROUPS).split())


def _said(argv: tuple[str, ...]) -> str:
    return run(argv, timeout_s=COMMAND_TIMEOUT_S).stdout


STEP = "versions"
Release = tuple[int, int]
RELEASES: tuple[Release, ...] = (
    (16, 5), (17, 2), (17, 11), (18, 8), (19, 5), (20, 2), (20, 11), (21, 8), (22, 5), (23, 2), (23, 11),
    *((year, month) for year in range(24, 60) for month in (5, 11)),
)  # fmt: skip
"""Every nine months, and since 24.05 every six."""
WIDER_SINCE: Release = (24, 11)


def release_of(text: str) -> Release | None:
    """`slurm-wlm 22.05.8` -> (22, 5); None where no version is in it."""
    match = re.search(r"\b(\d\d)\.(\d\d)(?:\.\d{1,18}|\b)", text)
    return (int(match.group(1)), int(match.group(2))) if match else None


def behind(older: Release, newer: Release) -> int | None:
    """How many major releases `older` is behind (negative: ahead); None for one that is not in the list."""
    if older not in RELEASES or newer not in RELEASES:
        return None
    return RELEASES.index(newer) - RELEASES.index(older)


def window(release: Release) -> int:
    """How many older major releases a daemon of that release understands."""
    return 3 if release >= WIDER_SINCE else 2


def judge_versions(client: str, controller: str, nodes: Mapping[str, str]) -> list[Finding]:
    """`srun --version`, the controller's SLURM_VERSION, and each node's Version; empty texts are skipped."""
    ours = release_of(controller)
    if ours is None:
        return []
    mine = release_of(client)
    subjects = [("The commands here are", mine)] if mine else []
    of_release = by_text((node, release) for node in nodes if (release := release_of(nodes[node])) is not None)
    subjects += [(f"slurmd on {node_list(some)} is", release) for release, some in sorted(of_release.items())]
    if remarks := [*filter(None, (_judged(subject, release, ours) for subject, release in subjects))]:
        return remarks
    return [fine(STEP, f"{client.strip() or 'Slurm'} here, {controller.strip()} at the controller{_nodes(nodes)}")]


def _judged(subject: str, release: Release, controller: Release) -> Finding | None:
    distance = behind(release, controller)
    name, its = _text(release), _text(controller)
    if distance is None or 0 <= distance <= window(controller):
        return None
    if distance < 0:
        says = f"{subject} of Slurm {name}, newer than the controller's {its}, which does not support them."
        return blocked(STEP, FindingKind.SLURM_VERSIONS, says, "Upgrade slurmctld first, or use the site's own.")
    says = (
        f"{subject} of Slurm {name}, {distance} major releases older than the controller's {its}, "
        f"which understands {window(controller)}."
    )
    return blocked(STEP, FindingKind.SLURM_VERSIONS, says, "Upgrade them, or use the site's own commands.")


def _nodes(nodes: Mapping[str, str]) -> str:
    versions = sorted(set(nodes.values()) - {""})
    return f", {', '.join(versions)} on the nodes" if versions else ""


def _text(release: Release) -> str:
    return f"{release[0]}.{release[1]:02d}"


def judge_evenness(nodes: Mapping[str, str]) -> list[Finding]:
    """Nodes with several versions of slurmd, in the middle of an upgrade or forgotten by it."""
    of_version = by_text((node, version) for node, version in nodes.items() if version)
    if len(of_version) < 2:
        return []
    each = "; ".join(f"{node_list(some)}: {version}" for version, some in sorted(of_version.items()))
    return [noted(STEP, FindingKind.SLURM_VERSIONS, f"The nodes run several versions of slurmd ({each}).")]
