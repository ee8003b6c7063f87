"""The nodes of the PBS, LSF or Flux job that this process is in, as the scheduler lists them."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from seatrial.files.inputs import TABLES_BYTES, BadInput, read_text
from seatrial.model.errors import LaunchError
from seatrial.model.node_list import expand
from seatrial.process.process import run

FLUX_HOSTLIST = ("flux", "hostlist", "local")
"""The hosts of this job, or of this instance outside of one (flux-hostlist(1))."""
FLUX_TIMEOUT_S = 15.0


VARIABLES = ("PBS_NODEFILE", "LSB_DJOB_HOSTFILE", "LSB_MCPU_HOSTS", "FLUX_JOB_ID", "FLUX_URI")
"""Any of them shows a job of another scheduler."""


class JobNodes(msgspec.Struct, frozen=True, kw_only=True):
    """A job of another scheduler than Slurm."""

    scheduler: str
    job: str = ""
    """The scheduler's name for it."""
    nodes: tuple[str, ...]
    """Each once, in the scheduler's order."""


def job_nodes(environment: Mapping[str, str]) -> JobNodes | None:
    """The job around a process with this environment, or None. Raises LaunchError where its nodes cannot be read."""
    if path := environment.get("PBS_NODEFILE", ""):
        nodes = parse_one_per_line(_text(path, "PBS_NODEFILE"))
        return _some(JobNodes(scheduler="PBS", job=environment.get("PBS_JOBID", ""), nodes=nodes), "PBS_NODEFILE")
    job = environment.get("LSB_JOBID", "")
    if path := environment.get("LSB_DJOB_HOSTFILE", ""):
        nodes = parse_one_per_line(_text(path, "LSB_DJOB_HOSTFILE"))
        return _some(JobNodes(scheduler="LSF", job=job, nodes=nodes), "LSB_DJOB_HOSTFILE")
    if text := environment.get("LSB_MCPU_HOSTS", ""):
        return _some(JobNodes(scheduler="LSF", job=job, nodes=parse_pairs(text)), "LSB_MCPU_HOSTS")
    if environment.get("FLUX_JOB_ID") or environment.get("FLUX_URI"):
        nodes = parse_flux(_asked_flux())
        return _some(JobNodes(scheduler="Flux", job=environment.get("FLUX_JOB_ID", ""), nodes=nodes), "flux hostlist")
    return None


def in_other_job(environment: Mapping[str, str]) -> bool:
    """Whether the process is in a job of PBS, LSF or Flux."""
    return any(environment.get(name) for name in VARIABLES)


def parse_one_per_line(text: str) -> tuple[str, ...]:
    """PBS_NODEFILE and LSB_DJOB_HOSTFILE: a host on each line, once for each slot; anything behind it is ignored."""
    return tuple(dict.fromkeys(line.split()[0] for line in text.splitlines() if line.strip()))


def parse_pairs(text: str) -> tuple[str, ...]:
    """LSB_MCPU_HOSTS: `hostA 4 hostB 4`. Raises LaunchError for another form."""
    words = text.split()
    if len(words) % 2 or not all(word.isdecimal() for word in words[1::2]):
        raise LaunchError(f"LSB_MCPU_HOSTS {text[:80]!r} is not a list of hosts and numbers.", INSTEAD)
    return tuple(dict.fromkeys(words[::2]))


def parse_flux(text: str) -> tuple[str, ...]:
    """What `flux hostlist` prints: n[1-4,7] (Flux RFC 29). Raises LaunchError for another form."""
    try:
        return expand(text.strip())
    except ValueError as error:
        raise LaunchError(f"`flux hostlist local` printed {text.strip()[:80]!r}: {error}.", INSTEAD) from error


INSTEAD = "Name the nodes with --hosts."


def _asked_flux() -> str:
    done = run(FLUX_HOSTLIST, timeout_s=FLUX_TIMEOUT_S)
    if not done.ok:
        why = "it did not answer in time" if done.timed_out else done.stderr.strip() or "it printed nothing"
        raise LaunchError(f"The nodes of this Flux job are unknown: `{' '.join(FLUX_HOSTLIST)}`: {why}.", INSTEAD)
    return done.stdout


def _text(path: str, variable: str) -> str:
    try:
        return read_text(Path(path), TABLES_BYTES)
    except BadInput as error:
        raise LaunchError(f"{variable} names the file of this job's nodes. {error.what}", INSTEAD) from error


def _some(job: JobNodes, source: str) -> JobNodes:
    if not job.nodes:
        raise LaunchError(f"{source} lists no node of this {job.scheduler} job.", INSTEAD)
    return job
