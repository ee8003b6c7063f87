"""Hosts by name: facts over ssh, the probe by mpirun over ssh."""

import os
import shlex
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from seatrial.failures.start_failure import SSH_REMEDY
from seatrial.files.owners import distrust
from seatrial.launch.collector import EXTRA_S_PER_NODE
from seatrial.launch.contract import PLAIN, FactsReading, HoldsNothing, Hosts, ProgramCommand, StartManner
from seatrial.launch.environments.environment import NO_ENVIRONMENT, Environment
from seatrial.launch.environments.report import ask as ask_environment
from seatrial.launch.hosts.host_file import refuse_names
from seatrial.launch.hosts.reach import HostAnswer, ask, copy_program, each_host, read_remote_facts, require_ssh
from seatrial.launch.hosts.ssh_argv import DAEMONS, LIBRARY_PATH, default_argv, mpirun_argv, mpirun_variables, ssh_argv
from seatrial.launch.mpi import Family, Mpi, default_line, ending_with_parent, without_schedulers
from seatrial.launch.session import PipeSession, look
from seatrial.model.errors import LaunchError, UsageError
from seatrial.model.fabric import NO_FABRIC
from seatrial.model.measurement import DefaultStart
from seatrial.model.run import NodeCause, NodeState
from seatrial.model.words import count
from seatrial.process.process import Completed

START_TIMEOUT_S = 60.0


class HostsLauncher(HoldsNothing):
    """The contract through ssh and mpirun, for hosts that a user, a host file or another scheduler names."""

    name = "ssh"

    def __init__(
        self,
        hosts: Sequence[str],
        mpi: Mpi,
        probe: Path,
        *,
        nodes: Sequence[str] = (),
        job: str = "",
        options: Sequence[str] = (),
        quick_facts: bool = False,
        environment: Environment = NO_ENVIRONMENT,
    ) -> None:
        """`nodes`: only these of the hosts; `job`: the name of the job around us; `options`: more words for mpirun.

        `environment`: what mpirun is started in; facts are read outside of it.
        """
        self.cluster = ""
        """The name of the cluster that the hosts are of, where it is known from elsewhere."""
        self._given = tuple(dict.fromkeys(hosts))
        self._wanted = tuple(dict.fromkeys(nodes)) or self._given
        self._mpi = mpi
        self.probe = probe
        self.environment = environment.seeing(str(probe.absolute().parent))
        self.job = job
        self._options = tuple(options)
        self._quick = quick_facts
        self._names: dict[str, str] = {}
        """The host name that a host has for itself -> the name under which it was given."""

    def hosts(self) -> Hosts:
        """The hosts that ssh reaches, with the probe on each of them; the others are left out, with the reason.

        Raises UsageError for names that are invalid or mean the same host, LaunchError where none can be reached or
        mpirun is missing.
        """
        refuse_names(self._given, self._wanted)
        self._refuse_mpirun()
        answers = each_host(self._wanted, self._prepare)
        left_out = tuple(
            NodeState(node=host, reason=answer.failure, fault=True, cause=NodeCause.UNAVAILABLE)
            for host, answer in answers.items()
            if answer.failure
        )
        if len(left_out) == len(answers):
            first = left_out[0]
            every = f"None of the {count(len(answers), 'host')} can" if len(answers) > 1 else "The host cannot"
            raise LaunchError(f"{every} be measured; {first.node}: {first.reason}.", SSH_REMEDY, transient=False)
        nodes = tuple(host for host, answer in answers.items() if not answer.failure)
        self._names = {}
        for host in nodes:
            own = answers[host].name
            first_name = self._names.setdefault(own, host)
            if first_name != host:
                raise UsageError(f"{first_name} and {host} are the same host, {own}.", "Name each host only once.")
        return Hosts(nodes=nodes, left_out=left_out, fabric=NO_FABRIC, cluster=self.cluster)

    @property
    def names(self) -> dict[str, str]:
        """The host name that a host has for itself -> the name under which it was given; known after `hosts`."""
        return dict(self._names)

    def _refuse_mpirun(self) -> None:
        if not self._mpi.mpirun:
            raise LaunchError(
                f"There is no mpirun beside {self._mpi.mpicc}, and hosts without Slurm are measured through it.",
                "Install the MPI's launcher, or name another MPI with --mpicc.",
            )
        if self._mpi.family is Family.UNKNOWN:
            raise LaunchError(
                f"{self._mpi.mpirun} is neither of Open MPI nor of the MPICH family.",
                "Name the compiler of one of these with --mpicc.",
            )
        require_ssh()

    def _prepare(self, host: str, give_up: Callable[[bool], bool]) -> HostAnswer:
        """Ask a host, copy the probe to it if it has none, and put into `failure` what is still missing."""
        daemon = "" if self.environment else self._daemon()
        answer = ask(host, [str(self.probe), *([daemon] if daemon else [])], give_up)
        if answer.failure:
            return answer
        if daemon in answer.missing:
            return HostAnswer(
                failure=f"MPI's own daemon {daemon} does not exist there; install the same MPI on all hosts"
            )
        if str(self.probe) in answer.foreign and not distrust(self.probe):
            return HostAnswer(
                failure=f"others can have written the probe {self.probe} there; name another folder with --probe-dir"
            )
        if str(self.probe) in answer.missing:
            why = copy_program(host, self.probe, self.probe.read_bytes(), give_up)
            if why:
                return HostAnswer(
                    failure=f"the probe {self.probe} does not exist there and cannot be copied ({why}); name a folder "
                    "that all hosts share with --probe-dir"
                )
        return answer

    def _daemon(self) -> str:
        """The program that mpirun starts on each host; empty where it is not beside mpirun."""
        folder = Path(self._mpi.mpirun).parent
        names = DAEMONS.get(self._mpi.family, ())
        return next((str(folder / name) for name in names if os.access(folder / name, os.X_OK)), "")

    def read_facts(self, nodes: Sequence[str]) -> FactsReading:
        """Each host by a login of its own."""
        return read_remote_facts(nodes, quick=self._quick)

    def start(self, nodes: Sequence[str], log: Path, manner: StartManner = PLAIN) -> PipeSession:
        """The probe on every host, by mpirun over ssh."""
        ranks = manner.ranks_per_node
        program = self.environment.around_program([str(self.probe)])
        argv = mpirun_argv(
            self._mpi,
            nodes,
            program,
            root=os.geteuid() == 0,
            ranks_per_host=ranks,
            options=(*self._options, *manner.options),
            exported=exported(manner.environment),
        )
        return PipeSession(
            self._around(argv),
            nodes,
            log,
            one_host=False,
            timeout_s=START_TIMEOUT_S + EXTRA_S_PER_NODE * len(nodes) * ranks,
            extra_environment={**mpirun_variables(), **manner.environment},
            ranks_per_node=ranks,
            names=self._names,
        )

    def default_start(self, nodes: Sequence[str], log: Path) -> DefaultStart | None:
        """See launch.contract.StartsByDefault."""
        if not self._mpi.mpirun:
            return None
        program = self.environment.around_program([str(self.probe)])
        argv = self._around(default_argv(self._mpi, nodes, program, root=os.geteuid() == 0))
        line = default_line(self._mpi, len(nodes))
        return look(line, argv, nodes, log, mpirun_variables(), one_host=False, names=self._names)

    @property
    def program(self) -> str:
        """See launch.contract.StartsPrograms."""
        return str(self.probe)

    def program_command(
        self, nodes: Sequence[str], argv: Sequence[str], ranks_per_node: int, folder: Path, *, in_order: bool = False
    ) -> ProgramCommand:
        """See launch.contract.StartsPrograms; mpirun keeps the order of hosts. Without MPI by a login on the first."""
        environment = self.environment.seeing(str(folder))
        words = environment.around_program(argv)
        if not ranks_per_node:
            command = ["env", "-C", str(folder), *environment.around_launcher(words)]
            return ProgramCommand(argv=tuple(ssh_argv(nodes[0], [shlex.quote(word) for word in command])))
        whole = mpirun_argv(
            self._mpi,
            nodes,
            words,
            root=os.geteuid() == 0,
            ranks_per_host=ranks_per_node,
            options=self._options,
            exported=exported({}),
            folder=str(folder),
        )
        return ProgramCommand(argv=tuple(self._around(whole)), environment=mpirun_variables())

    def report(
        self, nodes: Sequence[str], argv: Sequence[str], variables: Mapping[str, str], *, within: bool
    ) -> Completed:
        """See launch.environments.judge.Reporting. mpirun may be of the environment, which is then entered always."""
        program = self.environment.around_program(argv) if within else argv
        names = exported(variables)
        whole = mpirun_argv(self._mpi, nodes, program, root=os.geteuid() == 0, options=self._options, exported=names)
        patience_s = START_TIMEOUT_S + EXTRA_S_PER_NODE * len(nodes)
        around = {**mpirun_variables(), **variables}
        return ask_environment(self._around(whole), len(nodes), timeout_s=patience_s, variables=around)

    def _around(self, argv: Sequence[str]) -> list[str]:
        """An mpirun as it is started: in the environment, without a job's variables, ended if we are killed."""
        whole = without_schedulers(self.environment.around_launcher(argv), os.environ)
        return ending_with_parent(whole, self._mpi.family, shutil.which("setpriv") or "")


def exported(variables: Iterable[str]) -> list[str]:
    """Names of variables that the ranks get: those given, and the path of libraries where this process has one."""
    return [*variables, *([LIBRARY_PATH] if os.environ.get(LIBRARY_PATH) else [])]
