"""Output of a site's own commands: Slurm's topology and nodes, and the map, tables and counters of InfiniBand."""

import os
import shutil
from collections.abc import Iterable, Sequence

from seatrial.model.errors import LaunchError
from seatrial.process.process import run
from seatrial.slurm import argv as slurm_argv

COMMAND_TIMEOUT_S = 30.0
FABRIC_TIMEOUT_S = 120.0
IBNETDISCOVER = ("ibnetdiscover",)


def slurm_outputs() -> dict[str, str]:
    """File name -> output, of the commands that succeed."""
    asked = {
        "scontrol-show-topology.txt": slurm_argv.TOPOLOGY,
        "sinfo.txt": slurm_argv.SINFO,
        "sinfo-features.txt": slurm_argv.FEATURES,
    }
    done = {name: run(argv, timeout_s=COMMAND_TIMEOUT_S) for name, argv in asked.items()}
    return {name: each.stdout for name, each in done.items() if each.ok and each.stdout.strip()}


def fabric_outputs() -> dict[str, str]:
    """ibnetdiscover, which needs root and an InfiniBand port here; nothing without."""
    if os.geteuid() != 0:
        return {}
    done = run(IBNETDISCOVER, timeout_s=FABRIC_TIMEOUT_S)
    return {"ibnetdiscover.txt": done.stdout} if done.ok and done.stdout.strip() else {}


DISCOVER_TIMEOUT_S = 300.0
COUNTERS_TIMEOUT_S = 30.0
TABLES_TIMEOUT_S = 600.0
TABLE_TOOLS = ("dump_fts", "dump_lfts")
"""The former is one program and takes seconds, the latter asks switch by switch."""


def discover() -> str:
    """The output of `ibnetdiscover`. Raises LaunchError where the tool is not there, or may not ask the fabric."""
    return _asked_fabric(IBNETDISCOVER, DISCOVER_TIMEOUT_S, "no fabric", ("Switch", "Ca"))


def _asked_fabric(
    tools: Sequence[str], timeout_s: float, nothing: str, marks: Sequence[str], *, partly: bool = False
) -> str:
    """The output of the first of the tools that is there. Raises LaunchError where none is, or it has no mark.

    `partly`: also that of a tool that failed in the end.
    """
    tool = next((name for name in tools if shutil.which(name)), "")
    if not tool:
        what = f"There is no {tools[0]} on this machine."
        raise LaunchError(what, "Install infiniband-diags, or give a file with its output from another machine.")
    done = run([tool], timeout_s=timeout_s)
    if done.timed_out:
        raise LaunchError(f"{tool} did not end within {timeout_s:.0f} s.")
    if not (done.ok or partly) or not any(mark in done.stdout for mark in marks):
        last_line = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        remedy = "It needs an active port, and usually root (/dev/infiniband)."
        raise LaunchError(f"{tool} found {nothing}: {last_line}.", remedy)
    return done.stdout


def read_counters(lids: Iterable[int]) -> str:
    """`perfquery` of every port of the devices with these LIDs, one after the other; silent ones are left out."""
    texts = [run(["perfquery", "--loop_ports", str(lid)], timeout_s=COUNTERS_TIMEOUT_S) for lid in lids]
    return "".join(done.stdout for done in texts if done.ok)


def read_tables() -> str:
    """`dump_fts`: the forwarding tables of all switches. Raises LaunchError as `discover` does."""
    return _asked_fabric(TABLE_TOOLS, TABLES_TIMEOUT_S, "no tables", ("Unicast lids",), partly=True)
