"""A share of a lab, in which one check at a time is disturbed: its nodes, its user's processes, its jobs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from seatrial.lab.cluster.daemons import node_states
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.processes import all_pids, pids_in, program, state_letter
from seatrial.model.node_list import expand
from seatrial.process.process import Completed, run

COMMAND_S = 120.0
MARK = "SEATRIAL_CAMPAIGN_LANE"


@dataclass(frozen=True, kw_only=True)
class Lane:
    """Several lanes work side by side in one lab; what a lane starts bears its mark in the environment."""

    plan: LabPlan
    nodes: tuple[str, ...]

    @property
    def mark(self) -> str:
        """The setting that tells its processes from those of other lanes."""
        return f"{MARK}={self.plan.name}-{self.nodes[0]}"

    def argv(self, words: Sequence[str], host: str = "login") -> list[str]:
        """`words` as its user runs them on a host."""
        return as_user(self.plan, ["env", self.mark, *words], host=host)

    def run(self, words: Sequence[str], stdin: str = "") -> Completed:
        """Run them on the login node."""
        return run(self.argv(words), timeout_s=COMMAND_S, stdin=stdin)

    def processes(self) -> dict[int, list[str]]:
        """The arguments of each process that its user started, on whatever host."""
        mark = f"{self.mark}\0".encode()
        found = {}
        for pid in all_pids():
            folder = Path(f"/proc/{pid}")
            try:
                if mark in (folder / "environ").read_bytes() and state_letter(pid) not in ("", "Z"):
                    found[pid] = (folder / "cmdline").read_bytes().decode("utf-8", errors="replace").split("\0")
            except OSError:
                continue
        return found

    def on_nodes(self, name: str, nodes: Sequence[str] = ()) -> list[int]:
        """The processes of the program of that name on its nodes, or on some of them."""
        pids = pids_in([self.plan.space(node) for node in nodes or self.nodes])
        return [pid for pid in pids if program(pid) == name and state_letter(pid) not in ("", "Z")]

    def jobs(self) -> list[str]:
        """Number and state of each job that has its nodes, or asks for them."""
        done = self.run(["squeue", "--noheader", "--format=%i|%T|%N|%n"])
        found = []
        for line in done.stdout.splitlines():
            number, job_state, has, asks = line.split("|")
            if set(self.nodes) & {*_names(has), *_names(asks)}:
                found.append(f"{number} {job_state}")
        return found

    def busy_nodes(self) -> list[str]:
        """Those of its nodes that are not idle, with Slurm's word for it, and its reason where it gives one."""
        states = node_states(self.plan)
        busy = [node for node in self.nodes if states.get(node) != "idle"]
        return [f"{node} {states.get(node, '?')}{self._reason(node)}" for node in busy]

    def _reason(self, node: str) -> str:
        reason = self.run(["sinfo", "--noheader", "--nodes", node, "--list-reasons", "--format=%E"]).stdout
        return f" ({', '.join(dict.fromkeys(reason.splitlines()))})" if reason.strip() else ""


def _names(text: str) -> tuple[str, ...]:
    return expand(text) if text.startswith("n") else ()
