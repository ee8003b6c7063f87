"""Nodes of a Slurm cluster: inside a job, or in an allocation of our own."""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from seatrial.fabric.slurm_topology import parse_topology
from seatrial.launch.collector import EXTRA_S_PER_NODE, QUICK_FACTS
from seatrial.launch.contract import MPIEXEC, PLAIN, FactsReading, Hosts, ProgramCommand, StartManner, StartWays
from seatrial.launch.environments.environment import NO_ENVIRONMENT, Environment
from seatrial.launch.environments.report import ask
from seatrial.launch.mpi import (
    STEP_VARIABLES,
    Mpi,
    default_argv,
    default_line,
    ending_with_parent,
    job_variables,
    placed_argv,
)
from seatrial.launch.session import PipeSession, look
from seatrial.launch.step_facts import StepReader
from seatrial.model.errors import LaunchError, UsageError
from seatrial.model.fabric import Fabric
from seatrial.model.measurement import DefaultStart
from seatrial.model.node_list import expand, node_list
from seatrial.model.past import OwnJob
from seatrial.model.run import NodeState
from seatrial.model.settings import SiteSettings
from seatrial.process.keeper import Keeper
from seatrial.process.process import Completed, run
from seatrial.slurm import argv as slurm_argv
from seatrial.slurm import text as slurm_text
from seatrial.slurm.allocation import Allocation, NodesLost, obtain, with_request
from seatrial.slurm.broadcast import ProgramCopy, copied
from seatrial.slurm.census import WantedNodes, select
from seatrial.slurm.held_nodes import HELD_JOB, see_own_job
from seatrial.slurm.job import job_around, refuse_clusters
from seatrial.slurm.presence import (
    COMMAND_TIMEOUT_S,
    answer,
    asked,
    asked_settled,
    lacking,
    missing,
    most_nodes,
    node_descriptions,
    node_features,
    own_cluster,
    partition_told,
    reserved_nodes,
)
from seatrial.slurm.queue import job_ending, new_job_name

START_TIMEOUT_S = 60.0
HURRIED_START_S = 7.0
"""A start takes 1 to 3 s; where one node has fallen silent it hangs. Another one follows, with the usual time."""


class SlurmLauncher:
    """The contract through sinfo, salloc and srun."""

    name = "slurm"

    def __init__(
        self, site: SiteSettings, *, probe: Path, environment: Environment = NO_ENVIRONMENT, own: Mpi | None = None
    ) -> None:
        """`environment`: what the probe is started in; facts are read outside of it.

        `own`: the MPI with its own launcher.
        """
        self._facts_environment = QUICK_FACTS if site.quick_facts else {}
        self.own = own
        self._options = site.mpirun_options
        self._partition = site.partition
        self._request = site.slurm
        self._wanted = site.nodes
        self._ways = StartWays(site.mpi, site.start, mpiexec=own is not None and bool(own.mpirun))
        self.probe = probe
        self.environment = environment.seeing(str(probe.absolute().parent))
        self._wait_s = site.wait_s
        self._idle_only = site.idle_only
        self._held = os.environ.get(HELD_JOB, "")
        """A job that was made for this run by the command that started us, and that is none of the user's own."""
        self._inside = self._held or os.environ.get("SLURM_JOB_ID", "")
        self.job = "" if self._held else self._inside
        self._of_job: tuple[str, ...] = ()
        self._allocation: Allocation | None = None
        self._keeper: Keeper | None = None
        self._copy: ProgramCopy | None = None
        self._copied = ""
        """A note that the probe was copied to the nodes, and why."""
        self.hurried = False
        """See launch.contract.Hurries."""
        self._starts = 0

    def hosts(self) -> Hosts:
        """The job's nodes inside a job; else the partition's idle ones, or those asked for by name."""
        refuse_clusters(os.environ.get("SLURM_CLUSTERS", ""))
        lacks = missing()
        if lacks:
            raise LaunchError(*lacking(lacks))
        sinfo = asked(slurm_argv.SINFO) if self._inside else asked_settled(slurm_argv.SINFO)
        lines = slurm_text.parse_sinfo(answer(sinfo))
        nodes, left_out = self._inside_hosts(lines) if self._inside else self._outside_hosts(lines)
        topology = run(slurm_argv.TOPOLOGY, timeout_s=COMMAND_TIMEOUT_S)
        cluster, controllers = own_cluster()
        return Hosts(
            nodes=nodes,
            left_out=left_out,
            fabric=_part_of(parse_topology(topology.stdout), {*nodes, *(state.node for state in left_out)}),
            cluster=cluster,
            controllers=controllers,
            asleep=tuple(sorted({line.node for line in lines if line.suspended}.intersection(nodes))),
            features=node_descriptions(lines),
            most_nodes=0 if self._inside or self._wanted else most_nodes(self._partition, lines),
        )

    def _inside_hosts(self, lines: Sequence[slurm_text.NodeLine]) -> tuple[tuple[str, ...], tuple[NodeState, ...]]:
        of_job = self._of_job = self._nodes_of_job()
        strange = slurm_text.unknown_names(self._wanted, of_job)
        if strange:
            raise UsageError(f"Node {strange[0]} is not part of job {self._inside}.", f"It has {node_list(of_job)}.")
        excluded = self._request.exclude
        chosen = {name: None for name in self._wanted or of_job if name not in excluded}
        dead = {line.node: slurm_text.why_not(line) for line in lines if line.node in chosen}
        dead = {name: state for name, state in dead.items() if state.fault}
        return tuple(name for name in chosen if name not in dead), tuple(dead.values())

    def _nodes_of_job(self) -> tuple[str, ...]:
        """The nodes of the job from Slurm, since a variable may be another job's. Raises LaunchError for a job that is
        over or not ours.
        """
        task = os.environ.get("SLURM_PROCID", "0")
        if os.environ.get("SLURM_STEP_ID") and task.isdecimal() and int(task) > 0:
            raise UsageError(
                f"This is task {task} of a step, and seatrial starts the ranks that it needs itself.",
                "Start it once: without srun, or by srun -N1 -n1.",
            )
        return expand(job_around(self._inside).nodes)

    def _outside_hosts(self, lines: Sequence[slurm_text.NodeLine]) -> tuple[tuple[str, ...], tuple[NodeState, ...]]:
        partition = self._partition or partition_told({line.partition for line in lines})
        reserved = reserved_nodes(self._request.reservation)
        wanted = WantedNodes(nodes=self._wanted, partition=partition, reserved=reserved, request=self._request)
        mine = select(lines, node_features() if self._request.constraint else {}, wanted)
        waited_for = bool(self._wanted) and not self._idle_only
        usable = {
            line.node
            for line in mine
            if line.idle
            or line.suspended
            or (line.reserved and line.node in reserved)
            or (waited_for and (line.busy or line.falling_asleep))
        }
        left_out = tuple(slurm_text.why_not(line) for line in mine if line.node not in usable)
        return tuple(line.node for line in mine if line.node in usable), left_out

    def allocate(self, nodes: Sequence[str], seconds: float) -> None:
        """An allocation of our own, unless we are inside one."""
        self.job = self.job or self._held
        if self.job:
            return
        name, at_once = new_job_name(), self._idle_only
        self._keeper = Keeper(job_ending(name))
        argv = slurm_argv.salloc(nodes, seconds, self._partition, name, at_once=at_once, request=self._request)
        try:
            self._allocation = obtain(argv, nodes, self._wait_s, unheard=self._keeper.release)
        except NodesLost:
            self.close()
            raise
        except LaunchError as error:
            self.close()
            raise with_request(error, self._request) from error
        except BaseException:  # the nodes may just be granted, and Ctrl-C may come twice
            self._keeper.release()
            raise
        self.job, self._of_job = self._allocation.job, tuple(nodes)

    def read_facts(self, nodes: Sequence[str]) -> FactsReading:
        """All nodes by one step; a silent one that Slurm has down is reported as Slurm has it."""
        reader = StepReader(self.job, self._request.arguments, self._facts_environment, hurried=self.hurried)
        reading = reader.read(nodes)
        lines = slurm_text.parse_sinfo(asked(slurm_argv.state_of([*reading.silent])).stdout) if reading.silent else ()
        down = {state.node: state.reason for state in map(slurm_text.why_not, lines) if state.fault}
        return FactsReading(texts=reading.texts, silent=reading.silent | down)

    @property
    def remark(self) -> str:
        """See launch.contract.StartsOtherwise."""
        return " ".join(filter(None, (self._ways.remark, self._copied)))

    @property
    def started_by(self) -> str:
        """See launch.contract.StartsOtherwise."""
        return self._ways.started_by

    @property
    def _srun_type(self) -> str:
        return "" if self._ways.way == MPIEXEC else self._ways.way

    def start(self, nodes: Sequence[str], log: Path, manner: StartManner = PLAIN) -> PipeSession:
        """The probe on every node, in the way that was asked for.

        Where none was and the site's own type of --mpi does not work, others are tried, and mpiexec as the last. Where
        no node sees the folder of the probe, it is copied to them.
        """
        try:
            return self._start_here(nodes, log, manner)
        except LaunchError as error:
            if not error.absent_probe or not self.copy_probe(nodes):
                raise
            log.unlink(missing_ok=True)  # a failure of the next start has another reason
        return self._start_here(nodes, log, manner)

    @property
    def program(self) -> str:
        """The path of the probe on the nodes."""
        return self._copy.path if self._copy else str(self.probe)

    def copy_probe(self, nodes: Sequence[str]) -> bool:
        """Whether the nodes have the probe now, and had not before: copied once to all nodes of the job."""
        if self._copy is None:
            self._copy = copied(self.job, nodes, self._of_job or nodes, self.probe, self._request.arguments)
            if self._copy is not None:
                self._copied = (
                    f"The nodes do not see {self.probe.parent}: the probe was copied to them with sbcast. --probe-dir "
                    "names a folder that they share with this machine."
                )
                return True
        return False

    def _start_here(self, nodes: Sequence[str], log: Path, manner: StartManner) -> PipeSession:
        if any(option.startswith("--mpi") for option in manner.options):
            return self._start(nodes, log, manner, "")
        return self._ways.start(lambda way: self._start(nodes, log, manner, way))

    def _start(self, nodes: Sequence[str], log: Path, manner: StartManner, way: str) -> PipeSession:
        ranks = manner.ranks_per_node
        program = self.environment.around_program([self.program])
        if way == MPIEXEC:
            command = self._by_mpiexec(nodes, program, manner)
        else:
            site = self._request.arguments
            step = slurm_argv.probe_step(
                self.job, nodes, way, *program, ranks_per_node=ranks, options=manner.options, arguments=site
            )
            command = ProgramCommand(argv=tuple(self.environment.around_launcher(step)))
        return PipeSession(
            command.argv,
            nodes,
            log,
            one_host=False,
            timeout_s=self._patience_s() + EXTRA_S_PER_NODE * len(nodes) * ranks,
            extra_environment={**command.environment, **manner.environment},
            ranks_per_node=ranks,
            by_daemons=way == MPIEXEC,
        )

    def start_by_mpiexec(self, nodes: Sequence[str], log: Path) -> PipeSession:
        """The probe on every node by the MPI's own launcher, whatever was asked for. Raises LaunchError."""
        return self._start(nodes, log, PLAIN, MPIEXEC)

    def _patience_s(self) -> float:
        """The time limit of this start, in seconds."""
        self._starts += 1
        return HURRIED_START_S if self.hurried and self._starts == 1 else START_TIMEOUT_S

    def _by_mpiexec(
        self,
        nodes: Sequence[str],
        program: Sequence[str],
        manner: StartManner,
        *,
        bound: bool = True,
        in_order: bool = False,
    ) -> ProgramCommand:
        """The MPI's own launcher inside the allocation, where it finds its nodes in Slurm's variables.

        It ends when this process does, and its ranks with it. Raises LaunchError where there is none.
        """
        if self.own is None or not self.own.mpirun:
            raise LaunchError(
                f"No mpiexec is beside {self.own.mpicc if self.own else 'the probe'}.",
                "Install the MPI's launcher, or start by srun: --start srun.",
            )
        argv = placed_argv(
            self.own,
            nodes,
            manner.ranks_per_node,
            program,
            root=os.geteuid() == 0,
            bound=bound,
            options=(*self._options, *manner.options),
            exported=manner.environment,
            in_order=in_order,
        )
        whole = ending_with_parent(
            self.environment.around_launcher(argv), self.own.family, shutil.which("setpriv") or ""
        )
        variables = {**job_variables(self.job, self._of_job or nodes, manner.ranks_per_node), **STEP_VARIABLES}
        return ProgramCommand(argv=tuple(whole), environment=variables)

    def default_start(self, nodes: Sequence[str], log: Path) -> DefaultStart | None:
        """See launch.contract.StartsByDefault: mpirun, as a user would start it in this job."""
        if self.own is None or not self.own.mpirun or not self.job:
            return None
        program = self.environment.around_program([self.program])
        argv = default_argv(self.own, len(nodes), program, root=os.geteuid() == 0)
        inside = job_variables(self.job, nodes)
        return look(
            default_line(self.own, len(nodes)),
            self.environment.around_launcher(argv),
            nodes,
            log,
            inside,
            one_host=False,
        )

    def program_command(
        self, nodes: Sequence[str], argv: Sequence[str], ranks_per_node: int, folder: Path, *, in_order: bool = False
    ) -> ProgramCommand:
        """See launch.contract.StartsPrograms: in the way by which the probe was started."""
        environment = self.environment.seeing(str(folder))
        words = environment.around_program(argv)
        if ranks_per_node and self._ways.way == MPIEXEC:
            manner = StartManner(ranks_per_node=ranks_per_node)
            return self._by_mpiexec(nodes, words, manner, bound=False, in_order=in_order)
        step = slurm_argv.program_step(
            self.job,
            nodes,
            self._srun_type,
            words,
            ranks_per_node=ranks_per_node,
            folder=str(folder),
            in_order=in_order,
            arguments=self._request.arguments,
        )
        return ProgramCommand(argv=tuple(environment.around_launcher(step)))

    def report(
        self,
        nodes: Sequence[str],
        argv: Sequence[str],
        variables: Mapping[str, str],
        *,
        within: bool,
        mpi: str | None = None,
    ) -> Completed:
        """See launch.environment_check.Reporting; each line bears its task's number. `mpi`: None for the probe's."""
        environment = self.environment if within else NO_ENVIRONMENT
        mpi = self._srun_type if mpi is None else mpi
        words = environment.around_program(argv)
        step = slurm_argv.report_step(self.job, nodes, mpi, words, self._request.arguments)
        patience = START_TIMEOUT_S + EXTRA_S_PER_NODE * len(nodes)
        return ask(environment.around_launcher(step), len(nodes), timeout_s=patience, variables=variables)

    def own_job(self, nodes: Sequence[str]) -> OwnJob:
        """See launch.contract.SeesOwnJob: the ranks of the step on the most nodes, else of a step started to see."""
        return see_own_job(self.job, nodes, self._request.arguments)

    def close(self) -> None:
        """Give the allocation back, if it is our own."""
        given_back = True
        if self._copy is not None:
            self._copy.remove()
            self._copy = None
        if self._allocation is not None:
            given_back = self._allocation.give_back()
            self._allocation = None
            self.job, self._of_job = "", ()
        if self._keeper is not None:
            (self._keeper.dismiss if given_back else self._keeper.release)()
            self._keeper = None


def _part_of(fabric: Fabric, nodes: set[str]) -> Fabric:
    """What concerns these nodes of a site's whole topology."""
    return Fabric(leaf_of={node: leaf for node, leaf in fabric.leaf_of.items() if node in nodes}, source=fabric.source)
