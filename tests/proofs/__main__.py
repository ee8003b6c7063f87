"""python -m tests.proofs [KIND...]: each reversible kind of change planted in a lab, compared, and proved; and none.

Runs of a command are measured, the change is planted, runs are measured again, and `seatrial compare --prove` must say
slower with an interval that contains the planted ratio, name the setting first, confirm it, and restore it. Then runs
without any change are compared with each other, and none may be slower or faster.
"""

import argparse
import json
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from seatrial.lab.cluster import planting
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.process.process import Completed, run
from tests.proofs.kinds import KINDS, Kind
from tests.proofs.verdict import Verdict, judge
from tests.support.json_objects import parsed
from tests.support.paths import ROOT
from tests.support.raised_lab import raised_lab

FOLDER = ROOT / "build" / "proofs"
NOTHING = ("check", "--no-nodes", "--budget", "5s")
COMMAND_S = 900.0


class Lab:
    """A lab of four nodes, and an archive of what was measured in it."""

    def __init__(self, plan: LabPlan, archive: Path, runs: int) -> None:
        self.plan, self.archive, self.runs = plan, archive, runs
        self._measured: dict[tuple[str, ...], str] = {}

    def seatrial(self, *words: str) -> Completed:
        """A command of seatrial's on the login node."""
        argv = [sys.executable, "-m", "seatrial", *words, "--archive", str(self.archive)]
        return run(as_user(self.plan, argv), timeout_s=COMMAND_S)

    def measured(self, command: Sequence[str], name: str, runs: int) -> str:
        """Several runs of a command; their names, joined."""
        names = [f"{name}{number}" for number in range(1, runs + 1)]
        for each in names:
            done = self.seatrial(*command, "--run", each)
            if done.returncode not in (0, 1, 2) or not (self.archive / each).is_dir():
                raise SystemExit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
        return ",".join(names)

    def before(self, kind: Kind) -> str:
        """Runs without a change, which kinds with the same command share."""
        if kind.command not in self._measured:
            name = f"before-{self.plan.rails}-{kind.command[0]}-"
            self._measured[kind.command] = self.measured(kind.command, name, self.runs)
        return self._measured[kind.command]

    def proved(self, kind: Kind, blocks: int) -> Verdict:
        """One kind: planted, compared, taken back, cleared."""
        began = time.monotonic()
        before = self.before(kind)
        rates = [kind.witness(self.plan, self.archive, False)] if kind.witness else []
        for node in kind.nodes:
            planting.plant(self.plan.name, kind.name, node, kind.parameters)
        try:
            after = self.measured(kind.command, f"{kind.name}-", self.runs)
            rates += [kind.witness(self.plan, self.archive, True)] if kind.witness else []
            setting = kind.setting(self.plan)
            done = self.seatrial("compare", before, after, "--prove", "--blocks", str(blocks), "--json")
            restored = kind.setting(self.plan) == setting
        finally:
            planting.clear(self.plan.name)
        if done.returncode != 1:
            print(done.stderr, file=sys.stderr)
        return judge(
            kind,
            rates[1] / rates[0] if rates else None,
            parsed(done.stdout),
            time.monotonic() - began,
            restored=restored,
        )

    def unchanged(self, number: int) -> str:
        """The outcome of two sets of runs without a change."""
        sets = [self.measured(NOTHING, f"same-{number}{side}-", 2) for side in "ab"]
        return str(parsed(self.seatrial("compare", *sets, "--json").stdout)["outcome"])


@contextmanager
def lab_of(rails: int, archive: Path, runs: int) -> Iterator[Lab]:
    """A lab that is gone afterwards."""
    with raised_lab("p", FOLDER, nodes=4, rails=rails) as plan:
        yield Lab(plan, archive, runs)


def main() -> int:
    """Exit code 0: everything as it must be."""
    parser = argparse.ArgumentParser(prog="python -m tests.proofs", description=__doc__)
    parser.add_argument("kinds", nargs="*", default=[kind.name for kind in KINDS], help="none given: all")
    parser.add_argument("--runs", type=int, default=3, help="in each set")
    parser.add_argument("--blocks", type=int, default=2, help="of four runs, in each proof")
    parser.add_argument("--unchanged", type=int, default=20, help="comparisons without a change")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    archive = FOLDER / "archive"
    shutil.rmtree(FOLDER, ignore_errors=True)
    archive.mkdir(parents=True)
    verdicts: list[Verdict] = []
    outcomes: list[str] = []
    chosen = [kind for kind in KINDS if kind.name in given.kinds]
    for rails in sorted({1, *(kind.rails for kind in chosen)}):
        kinds = [kind for kind in chosen if kind.rails == rails]
        unchanged = given.unchanged if rails == 1 else 0
        if not kinds and not unchanged:
            continue
        with lab_of(rails, archive, given.runs) as lab:
            for kind in kinds:
                verdicts.append(lab.proved(kind, given.blocks))
                print(verdicts[-1].text, flush=True)
            for number in range(1, unchanged + 1):
                outcomes.append(lab.unchanged(number))
                print(f"unchanged {number}: {outcomes[-1]}", flush=True)
    good = [outcome in ("same", "inconclusive") for outcome in outcomes]
    if outcomes:
        print(f"without a change: {sum(good)} of {len(good)} same or inconclusive", flush=True)
    found = {"kinds": [verdict.as_row() for verdict in verdicts], "unchanged": outcomes}
    (FOLDER / "proofs.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0 if all(good) and all(verdict.good for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
