"""One trial: a setting changed by `compare --toggle` or `--prove`, one process killed, and everything looked at."""

import enum
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from seatrial.lab.cluster import planting
from seatrial.lab.cluster.daemons import start_slurmd
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LOGIN
from seatrial.lab.cluster.processes import program, send
from seatrial.lab.faults.base import Parameters
from seatrial.process.keeper import NAME as KEEPER
from seatrial.process.process import Completed, run
from tests.campaign.lane import Lane
from tests.lab.waiting import eventually

NODE, PEER = "n2", "n1"
FILE = "/sys/class/net/eth0/mtu"
FULL, SMALL = "1500", "600"
FOREIGN_ID = 65534
RUNS = ("check", "--nodes", f"{PEER},{NODE}", "--no-nodes", "--no-loaded", "--budget", "15s")
"""Before and after the planted change; a check has the same messages however fast the pair is."""
BENCHMARK = ("link", NODE, PEER, "--max-size", "1KiB", "--per-octave", "1", "--budget", "1s")
FOREIGN = f"for _ in 1 2 3 4 5 6 7 8 9 10; do cat {FILE}; sleep 0.1; done\n"
"""Another user's job: it notes the setting that it sees."""
LENGTH_S = 25.0
CLEAN_S = 90.0
COMMAND_S = 180.0
LOOK_S = 0.005


class Command(enum.StrEnum):
    """What changes the setting."""

    TOGGLE = "--toggle"
    PROVE = "--prove"


class Victim(enum.StrEnum):
    """What is killed."""

    DRIVER = "driver"
    SRUN = "srun"
    SLURMD = "slurmd"
    RANK = "rank"
    KEEPER = "keeper and driver"
    SILENT = "driver, no answer"
    """slurmctld is stopped when the driver is killed, and goes on some seconds later."""


@dataclass(kw_only=True)
class Outcome:
    """What one trial showed; `faults` is empty where all is as it must be."""

    command: Command
    victim: Victim
    killed_at_s: float = -1.0
    """Since the start of the command; negative: there was no such process to kill."""
    changed: bool = False
    """Whether the setting was changed when the process was killed."""
    settled_s: float = 0.0
    by_command: bool = False
    """A later command had to restore it."""
    foreign: int = 0
    """How often the foreign job looked."""
    faults: list[str] = field(default_factory=list)

    def line(self) -> str:
        """What is printed of it."""
        when = f"at {self.killed_at_s:5.2f} s" if self.killed_at_s >= 0 else "never there"
        setting = "changed" if self.changed else "usual  "
        how = ", by a later command" if self.by_command else ""
        return (
            f"{self.command:8}  {self.victim:17} {when}  {setting}  clean after {self.settled_s:4.1f} s{how}, "
            f"foreign job looked {self.foreign:2d} times  {'; '.join(self.faults) or 'ok'}"
        )


class Restorations:
    """Trials on two nodes of a lab, each drawn from the seed, the command, the victim and its number."""

    def __init__(self, lane: Lane, folder: Path, seed: int, length_s: float = LENGTH_S) -> None:
        self.lane, self.folder, self.seed, self.length_s = lane, folder, seed, length_s
        self.archive = folder / "archive"
        self.state = folder / "state"
        folder.mkdir(parents=True, exist_ok=True)
        self._compared = False

    def trial(self, command: Command, victim: Victim, number: int) -> Outcome:
        """One command, one kill."""
        draw = random.Random(f"{self.seed} {command} {victim} {number}")
        outcome = Outcome(command=command, victim=victim)
        if command is Command.PROVE:
            self._compare()
        usual = SMALL if command is Command.PROVE else FULL
        seen = self.folder / f"{command.strip('-')}-{victim.name.lower()}-{number}.seen"
        try:
            if command is Command.PROVE:
                planting.plant(self.lane.plan.name, "mtu", NODE, Parameters(mtu=int(SMALL)))
            self._disturb(command, victim, outcome, draw, seen)
            self._examine(outcome, usual, seen)
        finally:
            if command is Command.PROVE:
                planting.clear(self.lane.plan.name)
        return outcome

    def left_changed(self) -> str:
        """Kill keeper and driver of a proof once it has changed the setting; the name of what is left."""
        self._compare()
        planting.plant(self.lane.plan.name, "mtu", NODE, Parameters(mtu=int(SMALL)))
        with subprocess.Popen(
            self._argv(*self._words(Command.PROVE)), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        ) as process:  # fmt: skip
            changed = eventually(lambda: self.setting() == FULL)
            self._kill(Victim.KEEPER, random.Random(1), process.pid)
        (note,) = self.state.rglob("*.json")
        if not changed or self.setting() != FULL:
            raise AssertionError(f"the setting is {self.setting()}")
        return note.stem

    def seatrial(self, *words: str) -> Completed:
        """A command of seatrial's by the same user."""
        return run(self._argv(*words), timeout_s=COMMAND_S)

    def setting(self) -> str:
        """What the node has now."""
        return run(as_user(self.lane.plan, ["cat", FILE], host=NODE), timeout_s=60).stdout.strip()

    def _argv(self, *words: str) -> list[str]:
        return self.lane.argv([f"XDG_STATE_HOME={self.state}", sys.executable, "-m", "seatrial", *words])

    def _compare(self) -> None:
        """Runs before and after a change that is planted, once.

        A slow link makes the loss one that no other work hides; the changed setting is what a proof then takes back.
        """
        if self._compared:
            return
        self._measured("before")
        planting.plant(self.lane.plan.name, "mtu", NODE, Parameters(mtu=int(SMALL)))
        planting.plant(self.lane.plan.name, "link-rate", NODE, Parameters(percent=20.0))
        try:
            self._measured("after")
            compare, *words = self._words(Command.PROVE)
            planned = self.seatrial(compare, "--dry-run", *words)
        finally:
            planting.clear(self.lane.plan.name)
        if f"to {FULL} on {NODE}" not in " ".join(planned.stdout.split()):
            raise AssertionError(f"no proof is planned: {planned.stdout}{planned.stderr}")
        self._compared = True

    def _measured(self, name: str) -> None:
        done = self.seatrial(*RUNS, "--run", name, "--archive", str(self.archive))
        if done.returncode not in (0, 1, 2) or not (self.archive / name).is_dir():
            raise AssertionError(f"{done.stdout}{done.stderr}")

    def _words(self, command: Command) -> list[str]:
        benchmark = ["--", "seatrial", *BENCHMARK]
        common = ["--blocks", "1", "--archive", str(self.archive)]
        if command is Command.PROVE:
            return ["compare", "before", "after", "--prove", *common, *benchmark]
        usual, changed = (f"srun -w {NODE} ip link set eth0 mtu {mtu}" for mtu in (FULL, SMALL))
        return ["compare", "--toggle", usual, changed, *common, *benchmark]

    def _disturb(self, command: Command, victim: Victim, outcome: Outcome, draw: random.Random, seen: Path) -> None:
        """Start the command, submit the foreign job once the nodes are held, and kill at a random moment."""
        said = seen.with_suffix(".said")
        seen.touch()
        usual = self.setting()
        began = time.monotonic()
        with said.open("wb") as output:
            process = subprocess.Popen(
                self._argv(*self._words(command)), stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True,
            )  # fmt: skip
        moment_s = draw.uniform(0.0, self.length_s)
        foreign = None
        while process.poll() is None:
            if foreign is None and b"restores the setting" in said.read_bytes():
                foreign = self._submit(seen)
            elapsed_s = time.monotonic() - began
            if outcome.killed_at_s < 0 and elapsed_s >= moment_s and foreign and self._kill(victim, draw, process.pid):
                outcome.killed_at_s = time.monotonic() - began
                outcome.changed = self.setting() != usual
                if victim is Victim.SLURMD:
                    time.sleep(draw.uniform(0.0, 3.0))
                    self._start_slurmd()
                if victim is Victim.SILENT:
                    time.sleep(draw.uniform(2.0, 6.0))  # after 20 s Slurm drains nodes whose steps it could not end
                    self._signal_controller(signal.SIGCONT)
            if elapsed_s > COMMAND_S:
                outcome.faults.append("the command hangs")
                process.kill()
            time.sleep(LOOK_S)
        if outcome.killed_at_s < 0:
            self.length_s = min(self.length_s, time.monotonic() - began)
        text = said.read_text(errors="replace")
        if foreign is None:
            outcome.faults.append(f"nothing was changed: {text[-300:]}")
        if "Traceback" in text or "this is a bug" in text:
            outcome.faults.append(f"it says {text[-300:]}")

    def _kill(self, victim: Victim, draw: random.Random, pid: int) -> bool:
        """Whether there was one to kill."""
        processes = self.lane.processes()
        drivers = [pid]
        if victim is Victim.SILENT:
            self._signal_controller(signal.SIGSTOP)
        if victim in (Victim.DRIVER, Victim.SILENT):
            chosen = drivers
        elif victim is Victim.KEEPER:
            chosen = [*(one for one, argv in processes.items() if KEEPER in argv), *drivers]
        elif victim is Victim.SLURMD:
            chosen = self.lane.on_nodes("slurmd", (NODE,))
        else:
            name = "srun" if victim is Victim.SRUN else "seatrial-probe"
            chosen = [one for one in processes if program(one) == name]
            chosen = [draw.choice(chosen)] if chosen else []
        for one in chosen:
            try:
                os.kill(one, signal.SIGKILL)
            except ProcessLookupError:
                return False
        return bool(chosen)

    def _submit(self, seen: Path) -> "subprocess.Popen[bytes]":
        """A job of another user that wants the node."""
        user = [f"--uid={FOREIGN_ID}", f"--gid={FOREIGN_ID}"]
        asked = ["srun", *user, f"--nodelist={NODE}", "--exclusive", "--job-name=foreign", "--mpi=none", "--quiet"]
        with seen.open("wb") as output:
            argv = as_user(self.lane.plan, [*asked, "sh", "-c", FOREIGN], cwd="/")
            return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output)

    def _signal_controller(self, number: signal.Signals) -> None:
        send(self.lane.on_nodes("slurmctld", (LOGIN,)), number)

    def _start_slurmd(self) -> None:
        for node in self.lane.nodes:
            if not self.lane.on_nodes("slurmd", (node,)):
                start_slurmd(self.lane.plan, node)

    def _examine(self, outcome: Outcome, usual: str, seen: Path) -> None:
        """Wait until nothing is left, restore by a later command what the keeper could not, and look at everything."""
        began = time.monotonic()
        if outcome.victim is Victim.KEEPER:
            outcome.by_command = self._restore_later(outcome, usual)
        eventually(lambda: not self._left(usual), CLEAN_S)
        outcome.settled_s = time.monotonic() - began
        outcome.faults += self._left(usual)
        looks = seen.read_text().split()
        outcome.foreign = len(looks)
        if set(looks) != {usual}:
            outcome.faults.append(f"the foreign job saw {sorted(set(looks))} and not only {usual}")

    def _restore_later(self, outcome: Outcome, usual: str) -> bool:
        notes = list(self.state.rglob("*.json"))
        if not notes and self.setting() == usual:
            return False
        done = self.seatrial("compare", "--restore")
        if done.returncode != 0 or "Restored: " not in done.stdout or NODE not in done.stdout:
            outcome.faults.append(f"compare --restore exits {done.returncode}: {done.stdout}{done.stderr}")
        return True

    def _left(self, usual: str) -> list[str]:
        """What is not as it was."""
        setting = self.setting()
        running = [f"process {pid} {' '.join(argv)[:80]}" for pid, argv in self.lane.processes().items()]
        return [
            *([f"the setting is {setting} and not {usual}"] if setting != usual else []),
            *(f"the note {path.name} is left" for path in self.state.rglob("*.json")),
            *running,
            *(f"job {job}" for job in self.lane.jobs()),
            *self.lane.busy_nodes(),
        ]
