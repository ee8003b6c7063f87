"""Runs the launcher contract over ssh; started inside a lab by test_hosts_contract.py, without Slurm's variables."""

import sys
from pathlib import Path

from seatrial.launch.hosts.launcher import HostsLauncher
from seatrial.launch.mpi import find_mpi
from seatrial.launch.probe_build import build, default_folder
from tests.support import launcher_contract

HOSTS = ("n1", "n2", "n3")


def main(folder: Path, mpicc: str) -> None:
    mpi = find_mpi(mpicc)
    launcher = HostsLauncher(HOSTS, mpi, build(mpi, default_folder()))
    nodes = launcher_contract.check_hosts(launcher)
    assert nodes == HOSTS
    launcher.allocate(nodes, 120)
    try:
        launcher_contract.check_facts(launcher, nodes)
        assert set(launcher.read_facts(nodes).texts) == set(HOSTS)
        session = launcher_contract.started(launcher, nodes, folder)
        launcher_contract.check_greeting(session, nodes)
        launcher_contract.check_measuring(session)
        launcher_contract.check_refusal(session)
        session.close()
        launcher_contract.check_ending(launcher, nodes, folder)
    finally:
        launcher.close()
    print("the contract is kept")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
