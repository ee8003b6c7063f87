"""Tries a launch step by step, cheapest first, and reports what prevents it and what else is worth knowing."""

import os
import re
import socket
import time
from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from seatrial.archive.changed_settings import ChangedSettings, left_settings
from seatrial.commands.doctor import changed_settings, node_identity, node_states, partition, starts, versions
from seatrial.commands.doctor.hosts import examine_hosts
from seatrial.commands.doctor.versions import SlurmAnswers, ask_slurm, config_of, groups, versions_of
from seatrial.driver.clock import monotonic_s
from seatrial.driver.node_selection import allocation_s, enough, fewer_nodes, grouped, longest_budget_s
from seatrial.driver.progress import Progress, Silent
from seatrial.driver.site import choose_launcher, uses_ssh
from seatrial.failures.documents import document_form
from seatrial.failures.job_output import explain_output
from seatrial.launch.contract import MPIEXEC, Launcher
from seatrial.launch.environments.judge import try_out
from seatrial.launch.environments.report import TaskReport, parse_reports, question
from seatrial.launch.hosts.launcher import HostsLauncher
from seatrial.launch.local import mpirun_argv
from seatrial.launch.session import PipeSession
from seatrial.launch.slurm import SlurmLauncher
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.launching import Examination, blocked, fine, noted, untried
from seatrial.model.node_list import node_list
from seatrial.model.settings import SiteSettings, Start
from seatrial.model.verdict import Finding, FindingKind, Verdict
from seatrial.model.words import count
from seatrial.pairs.survey import LATENCY
from seatrial.process.process import NOT_STARTED
from seatrial.slurm import job as job_variables
from seatrial.slurm import presence
from seatrial.slurm.argv import longest_s, minutes
from seatrial.slurm.job import hidden_job, job_now, job_of_session, judge_hidden_job, salloc_session
from seatrial.slurm.text import NodeLine, default_type, parse_mpi_list, parse_sinfo

LASTS_S = 240.0
"""Maximum time for which the nodes are held."""
MYSELF = "`seatrial doctor`"
VAIN = (FindingKind.JOB_VARIABLES, FindingKind.NO_SLURM, FindingKind.CONTROLLER_SILENT)
HERE = "--launcher local tries this machine alone."
OUTPUT = "output"
NOTHING = "Name the file to which its standard error went (scontrol show job, StdErr); `seatrial judge` reads results."
FEW = 2
"""Ways to start are tried on this many nodes; the one that would be used, on all."""


def examine(settings: SiteSettings, progress: Progress | None = None) -> Examination:
    """Try a launch as `settings` would make it. Raises UsageError for names that do not exist, nothing else."""
    doctor = Doctor(settings, progress or Silent())
    doctor.examine()
    remarks = (
        msgspec.structs.replace(remark, remedy=without_itself(remark.remedy)) if MYSELF in remark.remedy else remark
        for remark in doctor.remarks
    )
    return Examination(remarks=tuple(remarks))


def without_itself(remedy: str) -> str:
    """The remedy without what this command would do: it is being done."""
    shorter = re.sub(rf" \([^()]*{MYSELF}[^()]*\)|, as {MYSELF}[^;.]*", "", remedy)
    clauses = [clause for clause in re.split(r"(?<=[;.]) ", shorter) if MYSELF not in clause]
    rest = " ".join(clauses).removeprefix("or ").rstrip(";.")
    return f"{rest[:1].upper()}{rest[1:]}." if rest else ""


def examine_outputs(texts: Mapping[str, str]) -> Examination:
    """Why jobs failed, by their outputs: `seatrial doctor --from slurm-4711.out`. `texts`: by the name of the file."""
    remarks = []
    for name, text in texts.items():
        failure = explain_output(text)
        if failure is not None and failure.overcome:
            says = f"{name}: {failure.meaning} Output without a complaint follows: that may have been overcome."
            remarks.append(noted(OUTPUT, FindingKind.JOB_FAILED, says, failure.remedy, failure.quote))
        if failure is None or failure.overcome:
            before = f"it went on after {failure.quote!r}, and " if failure else ""
            why = f"{before}nothing in it says that the job failed"
            if form := document_form(text):
                why = f"it is {form}, and not the output of a run"
            says = f"{name}: {why}."
            remarks.append(untried(OUTPUT, FindingKind.JOB_FAILED, says, NOTHING))
        else:
            says, printed = f"{name}: {failure.meaning}", failure.quote
            remarks.append(blocked(OUTPUT, FindingKind.JOB_FAILED, says, failure.remedy, printed))
    return Examination(remarks=tuple(remarks))


class Doctor:
    """One examination in progress. Each step returns whether the next ones make sense."""

    def __init__(self, settings: SiteSettings, progress: Progress) -> None:
        self.remarks: list[Finding] = []
        self._settings = settings
        self._progress = progress
        self._left: list[ChangedSettings] = []
        self._default_mpi = ""
        self._offered: tuple[str, ...] = ()
        self._lasts_s = LASTS_S

    def examine(self) -> None:
        """All steps."""
        self._left = left_settings()
        self.remarks += changed_settings.judge_own_notes(self._left)
        if uses_ssh(self._settings):
            self._examine_hosts()
            return
        through_slurm = self._settings.launcher != "local" and self._ask_slurm()
        if self._settings.launcher == "slurm" and not through_slurm:
            return
        self._progress.stage("Preparing the probe")
        alone = {"launcher": "local", "nodes": (), "partition": "", "idle_only": False, "node_hours": 0.0}
        chosen = {"launcher": "slurm"} if through_slurm else alone
        launcher = self._prepared(msgspec.structs.replace(self._settings, **chosen))
        if launcher is None or any(one.kind in VAIN for one in Examination(remarks=tuple(self.remarks)).blocked):
            return
        try:
            self._start(launcher)
        finally:
            launcher.close()

    def _examine_hosts(self) -> None:
        """Hosts without Slurm."""
        self._progress.stage("Preparing the probe")
        launcher = self._prepared(self._settings)
        if isinstance(launcher, HostsLauncher):
            self.remarks += examine_hosts(launcher, self._progress)

    def _ask_slurm(self) -> bool:
        """Whether launches go through Slurm: it is installed, whether it answers or not."""
        self._progress.stage("Asking Slurm")
        answers = ask_slurm()
        if not answers.sinfo.ok:
            return self._silent(answers)
        self.remarks.append(fine("slurm", f"The controller of {config_of(answers, 'ClusterName')} answers."))
        lacks = presence.missing()
        if lacks:
            self.remarks.append(blocked("slurm", FindingKind.NO_SLURM, *presence.lacking(lacks)))
        of_nodes = versions_of(answers.nodes)
        self.remarks += versions.judge_versions(answers.client, config_of(answers, "SLURM_VERSION"), of_nodes)
        self.remarks += versions.judge_evenness(of_nodes)
        job = os.environ.get("SLURM_JOB_ID", "")
        around = job_now(job) if job else None
        stranger = around.stranger(os.environ, os.getuid()) if around else ""
        if hidden := self._hidden():
            self.remarks.append(hidden)
            return True
        self.remarks += job_variables.judge_variables(os.environ, around.state if around else "", stranger)
        self._default_mpi = os.environ.get("SLURM_MPI_TYPE") or default_type(answers.config)
        self._offered = parse_mpi_list(answers.mpi_types)
        if not job:
            self._judge_cluster(answers)
        return True

    def _silent(self, answers: SlurmAnswers) -> bool:
        """The remark about a Slurm that is not installed, or does not answer."""
        also = "Slurm's commands" if answers.sinfo.returncode == NOT_STARTED else "Slurm's configuration"
        hidden = self._hidden(also) if presence.absent(answers.sinfo) else None
        if hidden is not None:
            self.remarks.append(hidden)
        elif answers.sinfo.returncode == NOT_STARTED:
            says = "Slurm's commands (sinfo) are not installed here."
            remedy = f"Run this on a login node, or load the module that has them. {HERE}"
            self.remarks.append(blocked("slurm", FindingKind.NO_SLURM, says, remedy))
        elif not presence.absent(answers.sinfo) or self._settings.launcher == "slurm":
            meaning, remedy = presence.silence(answers.sinfo)
            says = f"Slurm does not answer: {meaning}"
            self.remarks.append(blocked("slurm", FindingKind.CONTROLLER_SILENT, says, remedy))
        else:
            says = "Slurm's commands are installed here, but no controller is configured."
            remedy = f"Run this on a login node, or set SLURM_CONF to the site's slurm.conf. {HERE}"
            self.remarks.append(blocked("slurm", FindingKind.NO_SLURM, says, remedy))
        return False

    def _hidden(self, also: str = "") -> Finding | None:
        """The remark about a job around this shell whose variables are gone, and what of Slurm, if it does not answer.

        A Slurm that answers is asked whose job it is.
        """
        if any(name.startswith("SLURM_JOB") for name in os.environ):
            return None
        job, session = hidden_job(), salloc_session()
        if session and not job and not also:
            job = job_of_session(session)
        around = job_now(job) if job and not also else None
        if not (job or session) or (not also and (around is None or around.stranger(os.environ, os.getuid()))):
            return None
        return judge_hidden_job(job_variables.STEP, job, around.nodes if around else "", also)

    def _judge_cluster(self, answers: SlurmAnswers) -> None:
        settings = self._settings
        ours = presence.reserved_nodes()
        lines = [
            msgspec.structs.replace(line, state="idle", flags="") if line.reserved and line.node in ours else line
            for line in parse_sinfo(answers.sinfo.stdout)
        ]
        partitions = partition.parse_partitions(answers.partitions)
        name = settings.partition or presence.partition_told(partitions) or partition.default_of(partitions)
        if settings.partition and settings.partition not in partitions:
            raise UsageError(
                f"There is no partition {name!r} on this cluster.", f"It has {', '.join(sorted(partitions))}."
            )
        if name in partitions:
            self._lasts_s = min(LASTS_S, longest_s(partition.minutes_of(partitions[name].get("MaxTime", ""))))
            self.remarks += partition.judge_partition(
                partitions[name],
                nodes=max(len(settings.nodes) or _free(lines, name), FEW),
                minutes=minutes(allocation_s(settings.budget_s)),
                user_id=os.getuid(),
                groups=groups(),
                host=socket.gethostname().partition(".")[0],
                budget_s=longest_budget_s,
            )
        self.remarks += node_states.judge_nodes(
            lines, name, settings.nodes, jobs=answers.running_jobs, resume_s=config_of(answers, "ResumeTimeout")
        )

    def _prepared(self, settings: SiteSettings) -> Launcher | None:
        try:
            launcher = choose_launcher(settings)
        except UsageError:
            raise
        except SeatrialError as error:
            self.remarks.append(blocked("probe", FindingKind.NO_MPI, error.what, error.remedy))
            return None
        probe = getattr(launcher, "probe", "")
        self.remarks.append(fine("probe", f"It is built: {probe}."))
        return launcher

    def _start(self, launcher: Launcher) -> None:
        """Allocate the nodes, examine them through Slurm itself, and start the probe in every way there is."""
        nodes = self._allocated(launcher)
        if not nodes:
            return
        if isinstance(launcher, SlurmLauncher):
            granted, nodes = nodes, self._look_at(launcher, nodes)
            if len(nodes) < len(granted) and job_now(launcher.job) is None:
                says = "The probe was not started: Slurm ended the job before that."
                self.remarks.append(untried(starts.STEP, FindingKind.NO_ALLOCATION, says))
                return
            if len(nodes) < FEW:
                says = "The probe was not started: fewer than two nodes could run it."
                self.remarks.append(untried(starts.STEP, FindingKind.NO_ROOM, says))
                return
            way = self._ways(launcher, nodes[:FEW])
        else:
            way = ""
        self._progress.stage(f"Starting the probe on {count(len(nodes), 'node')}")
        if way is not None:
            self.remarks.append(starts.try_traffic(launcher, nodes, way, LATENCY))

    def _allocated(self, launcher: Launcher) -> tuple[str, ...]:
        try:
            hosts = launcher.hosts()
            nodes = enough(hosts, self._settings)
            if not launcher.job:
                nodes, cut = fewer_nodes(self._settings.node_hours, nodes, minutes(self._lasts_s), fewest=FEW)
                self.remarks += [fine("allocation", f"{grouped(cut)}.")] if cut else []
        except UsageError:
            raise
        except SeatrialError as error:
            self.remarks.append(untried("allocation", FindingKind.NO_ROOM, error.what, error.remedy))
            return ()
        waking = f"; Slurm wakes {', '.join(hosts.asleep)}" if hosts.asleep else ""
        self._progress.stage(f"Waiting for {count(len(nodes), 'node')}{waking}")
        began = monotonic_s()
        try:
            launcher.allocate(nodes, self._lasts_s)
        except SeatrialError as error:
            self.remarks.append(blocked("allocation", FindingKind.NO_ALLOCATION, error.what, error.remedy))
            return ()
        if isinstance(launcher, SlurmLauncher) and "SLURM_JOB_ID" not in os.environ:
            took = monotonic_s() - began
            woken = f", {node_list(hosts.asleep)} woken for it" if hosts.asleep else ""
            self.remarks.append(fine("allocation", f"{node_list(nodes)} granted after {took:.0f} s{woken}."))
        return nodes

    def _look_at(self, launcher: SlurmLauncher, nodes: tuple[str, ...]) -> tuple[str, ...]:
        """Names, clocks, the probe and its libraries on every node; those that answered and have them."""
        self._progress.stage(f"Looking at {count(len(nodes), 'node')}")
        asked_s = time.time()
        answer = launcher.report(nodes, node_identity.question(), {}, within=False, mpi="none")
        self.remarks += changed_settings.judge_notes_of_nodes(answer.stdout, self._left)
        found = node_identity.parse_places(answer.stdout)
        self.remarks += node_identity.judge_places(found, asked_s=asked_s, answered_s=time.time())
        there = {one.node.partition(".")[0] for one in found}
        silent = [node for node in nodes if node.partition(".")[0] not in there]
        left = tuple(node for node in nodes if node not in silent)
        in_the_way = bool(self._settings.nodes) or len(left) < FEW
        self.remarks += node_identity.judge_silent(silent, answer.stderr, in_the_way=in_the_way)
        if left and not self._entered(launcher, left):
            return ()
        if left:
            reports = self._programs(launcher, left)
            if reports and not any(one.program for one in reports) and launcher.copy_probe(left):
                self.remarks.append(fine(node_identity.STEP, launcher.remark))
                reports = self._programs(launcher, left)
            self.remarks += node_identity.judge_programs(reports, left, launcher.program)
            left = node_identity.able_nodes(reports, left)
        return left

    def _programs(self, launcher: SlurmLauncher, nodes: Sequence[str]) -> tuple[TaskReport, ...]:
        """The probe and its libraries on each node that answers."""
        return parse_reports(launcher.report(nodes, question(launcher.program), {}, within=True, mpi="none").stdout)

    def _entered(self, launcher: SlurmLauncher, nodes: Sequence[str]) -> bool:
        """Whether the environment, where there is one, lets a launch through."""
        if not launcher.environment:
            return True
        self._progress.stage(f"Trying the environment on {count(len(nodes), 'node')}")
        found = starts.judge_environment_trial(try_out(launcher, nodes))
        self.remarks += found
        return not any(one.verdict is Verdict.BLOCKED for one in found)

    def _ways(self, launcher: SlurmLauncher, nodes: Sequence[str]) -> str | None:
        """Every --mpi that srun offers, and mpiexec; the way to go on with, or None where none works.

        mpiexec counts where it was asked for, and where it was not ruled out and no type works.
        """
        asked = self._settings.start
        chosen = self._settings.mpi or self._default_mpi
        types = [] if asked is Start.MPIEXEC else list(dict.fromkeys((chosen, *self._offered)))
        tried = []
        for mpi in types:
            self._progress.stage(f"Starting the probe on {count(len(nodes), 'node')} by --mpi={mpi}")
            tried.append(starts.try_start(launcher, nodes, mpi))
        seen = self._mpiexec(launcher, nodes)
        if asked is Start.MPIEXEC or (asked is Start.AUTO and seen and not any(one.works for one in tried)):
            tried.append(starts.try_start(launcher, nodes, MPIEXEC))
            types.append(MPIEXEC)
        self.remarks += starts.judge_ways(tried, starts.way_text(MPIEXEC if asked is Start.MPIEXEC else chosen))
        self.remarks += seen
        return next((way for way, one in zip(types, tried, strict=True) if one.works), None)

    def _mpiexec(self, launcher: SlurmLauncher, nodes: Sequence[str]) -> list[Finding]:
        """The MPI's own launcher, within the allocation and without it; of a prebuilt probe it is not known."""
        if self._settings.probe is not None or launcher.environment or not launcher.own or not launcher.own.mpirun:
            return []
        mpi = launcher.own
        self._progress.stage(f"Starting the probe by {mpi.mpirun}")
        inside = starts.trial_of(mpi.mpirun, partial(launcher.start_by_mpiexec, nodes))
        local = mpirun_argv(mpi, FEW, str(launcher.probe), root=os.getuid() == 0)
        alone = partial(PipeSession, local, None, ranks=FEW, timeout_s=starts.START_TIMEOUT_S)
        outside = None if "SLURM_JOB_ID" in os.environ else starts.trial_of(mpi.mpirun, alone)
        return starts.judge_mpiexec(inside, outside)


def _free(lines: Sequence[NodeLine], partition: str) -> int:
    """How many nodes of the partition a check would use now."""
    return sum(line.partition == partition and (line.idle or line.suspended) for line in lines)
