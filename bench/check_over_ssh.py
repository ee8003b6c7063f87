"""Plant a slow link on a lab whose hosts are reached over ssh, and count how often `check --hosts` names it.

python -m bench.check_over_ssh --runs 20 --percent 60          (as root; raises labs of four nodes of its own)
"""

import argparse
import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench.lab_loop import count_wrong, four_nodes, own_folder
from tests.support.lab_hosts import without_slurm

from seatrial.lab.cluster import planting
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.faults.base import Parameters
from seatrial.process.process import run

UNBOUND = {"openmpi": "--bind-to none", "mpich": "-bind-to none"}
"""Virtual nodes share the cores of this machine: ranks that are bound would all be on its first core."""
NO_SHARED_MEMORY = "UCX_TLS=tcp"
"""The nodes are one machine, and UCX would see that."""


def one_check(plan: LabPlan, archive: str, more: Sequence[str], mpi: str, percent: int, number: int) -> dict[str, Any]:
    """The link of a node at that share of its rate: what `check --hosts` says, with `more` options."""
    node = plan.node_names[number % len(plan.node_names)]
    planting.plant(plan.name, "link-rate", node, Parameters(percent=percent))
    options = ["--mpicc", f"mpicc.{mpi}", f"--mpirun-options={UNBOUND[mpi]}", "--archive", archive]
    argv = [sys.executable, "-m", "seatrial", "check", "--hosts", "n[1-4]", "--json", *options, *more]
    try:
        done = run(without_slurm(plan, argv, cwd=str(Path.cwd()), extra=[NO_SHARED_MEMORY]), timeout_s=200)
    finally:
        planting.clear(plan.name)
    judged = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    named = [(one["kind"], one["subject"]) for one in judged.get("findings", []) if one["verdict"] != "INCONCLUSIVE"]
    exact = named == [("slow-link", f"node:{node}")] and done.returncode == 1
    said = f"exit code {done.returncode}, {named} instead of {node}: {done.stderr[-200:]}"
    return {"node": node, "headline": judged.get("headline"), "faults": [] if exact else [said]}


def main() -> int:
    """One series for each MPI; the exit code is the number of checks that were not right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--percent", type=int, default=60, help="share of the rate that the link keeps")
    parser.add_argument("--only", choices=tuple(UNBOUND))
    parser.add_argument("--no-nodes", action="store_true", help="links only: a third of the time")
    given = parser.parse_args()
    more = ["--no-nodes"] if given.no_nodes else []
    wrong = 0
    with own_folder() as archive, four_nodes("ssh", ssh=True, folders=(archive,)) as plan:
        for mpi in (given.only,) if given.only else UNBOUND:
            check = partial(one_check, plan, archive, more, mpi, given.percent)
            wrong += count_wrong(mpi, given.runs, check)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
