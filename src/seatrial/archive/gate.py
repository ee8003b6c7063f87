"""The folder of `seatrial-gate`: leaves the verdicts on nodes in it, starts the gate, and reads what it answered.

`policy`, `nodes/NODE` and `answers/NODE`, one line each. The gate alone drains and resumes nodes, whoever wants it.
"""

import sys
import time
from collections.abc import Iterable
from pathlib import Path

from seatrial.archive.reader import AHEAD_S
from seatrial.files.inputs import read_input
from seatrial.files.owners import entries, is_by_another, is_ours
from seatrial.files.writing import OwnFolder, own_folder
from seatrial.model.errors import SeatrialError
from seatrial.model.gate import (
    NODE_NAME,
    GateAnswer,
    GatePolicy,
    GateTally,
    Outcome,
    Step,
    parse_answers,
    tally,
    verdict_line,
)
from seatrial.model.monitoring import NodeStanding
from seatrial.process.process import run

PROGRAM = "seatrial-gate"
POLICY, NODES, ANSWERS = "policy", "nodes", "answers"
LINE_BYTES = 4096
GATE_S = 60.0
"""The time for one call of the gate, whose questions to Slurm have 10 s each."""
NO_ANSWER = GateAnswer(outcome=Outcome.ERROR, text="the gate gave no answer")


def leave_verdicts(policy: GatePolicy, nodes: Iterable[NodeStanding]) -> None:
    """Write the line of each node, in one step each; a later verdict that another process left stays.

    Nothing is written into a folder of another user: ordinary users of the site have the same site file. Raises
    SeatrialError if the folder is missing, or a verdict cannot be written; all others are.
    """
    if is_of_another(policy.folder):
        return
    failures: list[OSError] = []
    try:
        with own_folder(policy.folder) as folder:
            folder.make_folder(NODES, exist_ok=True)
            folder.make_folder(ANSWERS, exist_ok=True)
            folder.replace(POLICY, policy.line.encode())
            for standing in nodes:
                if standing.is_node and NODE_NAME.fullmatch(standing.node):
                    try:
                        _leave(folder, f"{NODES}/{standing.node}", verdict_line(standing))
                    except OSError as error:
                        failures.append(error)
            if failures:
                raise failures[0]
    except OSError as error:
        reason = f"No verdict was left for seatrial-gate in {policy.folder}: {error.strerror or error}."
        raise SeatrialError(reason, "The gate lets nodes pass whose verdict is missing.") from error


def is_of_another(folder: Path) -> bool:
    """Whether there is such a folder, or a link in its place, that belongs to another user."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    return not is_ours(status) or is_by_another(status.st_dev)


def _leave(folder: OwnFolder, name: str, line: str) -> None:
    """A verdict of the future is replaced: a clock was wrong."""
    before = _read(folder.path / name)
    at_s = [*before.split(), "", ""][1]
    if before != line and not (at_s.isdecimal() and int(line.split()[1]) < int(at_s) <= time.time() + AHEAD_S):
        folder.replace(name, line.encode())


def _read(path: Path) -> str:
    try:
        return read_input(path, LINE_BYTES).decode(errors="replace")
    except (OSError, SeatrialError):
        return ""


def ask_gate(policy: GatePolicy, node: str, step: Step) -> GateAnswer:
    """Start the gate for a node, which does what the step and the policy allow; its answer."""
    beside = Path(sys.executable).with_name(PROGRAM)
    program = str(beside) if beside.is_file() else PROGRAM
    done = run([program, f"--{step}", "--from", str(policy.folder), "--node", node], timeout_s=GATE_S)
    outcome, _, rest = done.stdout.strip().partition(" ")
    if not done.ok or outcome not in [*Outcome]:
        return NO_ANSWER
    return GateAnswer(outcome=Outcome(outcome), text=rest.partition(": ")[2])


def gates_tally(policy: GatePolicy, now_s: float) -> GateTally:
    """What the gates of all nodes answered so far."""
    read = {name: parse_answers(_read(policy.folder / ANSWERS / name)) for name in _names(policy.folder / ANSWERS)}
    kept = {name: answers for name, answers in read.items() if answers is not None}
    return tally(_names(policy.folder / NODES), kept, now_s)


def _names(place: Path) -> list[str]:
    try:
        return sorted(path.name for path in entries(place) if NODE_NAME.fullmatch(path.name))
    except OSError:
        return []
