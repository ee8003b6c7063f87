"""Runs the launcher contract over Slurm; started inside a lab by test_slurm_contract.py."""

import sys
from pathlib import Path

from seatrial.launch.contract import StartManner
from seatrial.launch.mpi import find_mpi
from seatrial.launch.probe_build import build, default_folder
from seatrial.launch.slurm import SlurmLauncher
from seatrial.model.errors import LaunchError
from seatrial.model.settings import SiteSettings, Start
from tests.support import launcher_contract


def main(folder: Path, mpicc: str, way: str) -> None:
    """`way`: a type of srun's --mpi, or mpiexec."""
    own = find_mpi(mpicc)
    start, mpi = (Start.MPIEXEC, "") if way == Start.MPIEXEC else (Start.SRUN, way)
    options = ("--bind-to", "none")
    launcher = SlurmLauncher(
        SiteSettings(archive=folder, nodes=("n1", "n2", "n3"), mpi=mpi, start=start, mpirun_options=options),
        probe=build(own, default_folder()),
        own=own,
    )
    nodes = launcher_contract.check_hosts(launcher)
    assert nodes == ("n1", "n2", "n3")
    launcher.allocate(nodes, 120)
    try:
        launcher_contract.check_facts(launcher, nodes)
        session = launcher_contract.started(launcher, nodes, folder)
        launcher_contract.check_greeting(session, nodes)
        launcher_contract.check_measuring(session)
        launcher_contract.check_refusal(session)
        session.close()
        pair = launcher_contract.started(launcher, nodes[1:], folder, StartManner(ranks_per_node=2))
        assert sorted(pair.nodes) == ["n2:0", "n2:1", "n3:0", "n3:1"]
        launcher_contract.check_measuring(pair)
        pair.close()
        launcher_contract.check_ending(launcher, nodes, folder)
    finally:
        launcher.close()
    print(launcher_contract.KEPT)


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), *sys.argv[2:])
    except LaunchError as error:
        if not launcher_contract.crashed_on_its_own(error):
            raise
        print(launcher_contract.MPI_CRASHED)
