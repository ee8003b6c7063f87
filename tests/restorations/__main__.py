"""python -m tests.restorations --kills 20: prints a line for each kill, and a table by command and process."""

import argparse
import itertools
import shutil
import sys

from tests.campaign.lane import Lane
from tests.restorations.trial import NODE, PEER, Command, Outcome, Restorations, Victim
from tests.support.raised_lab import trial_lab


def main() -> int:
    """Exit code 0: every setting was restored, and no foreign job saw a changed one."""
    parser = argparse.ArgumentParser(prog="python -m tests.restorations", description=__doc__)
    parser.add_argument("--kills", type=int, default=20, help="of each process, during each command")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=Victim, default=None, help="only this process")
    given = parser.parse_args()
    outcomes: list[Outcome] = []
    victims = [(command, victim) for command in Command for victim in Victim if given.only in (None, victim)]
    try:
        with trial_lab("r", "restorations", nodes=2, keep=True) as (plan, folder):
            trials = Restorations(Lane(plan=plan, nodes=(PEER, NODE)), folder, given.seed)
            for number, (command, victim) in itertools.product(range(1, given.kills + 1), victims):
                outcome = trials.trial(command, victim, number)
                if outcome.killed_at_s < 0 and not outcome.faults:  # it had ended before that moment
                    outcome = trials.trial(command, victim, number + given.kills)
                outcomes.append(outcome)
                print(outcome.line(), flush=True)
    finally:
        if outcomes:
            print("\n".join(table(outcomes)), flush=True)
    if any(outcome.faults for outcome in outcomes):
        print(f"What the commands left is in {folder}")
        return 1
    shutil.rmtree(folder, ignore_errors=True)
    return 0


def table(outcomes: list[Outcome]) -> list[str]:
    """A row for each command and process."""
    columns = ("trials", "killed", "while changed", "by a later command", "foreign looks", "with faults")
    lines = [f"{'command':8}  {'process':17}  " + "  ".join(columns)]
    for command in Command:
        for victim in Victim:
            rows = [one for one in outcomes if (one.command, one.victim) == (command, victim)]
            values = (
                len(rows),
                sum(one.killed_at_s >= 0 for one in rows),
                sum(one.changed for one in rows),
                sum(one.by_command for one in rows),
                sum(one.foreign for one in rows),
                sum(bool(one.faults) for one in rows),
            )
            cells = "  ".join(f"{value:{len(name)}}" for name, value in zip(columns, values, strict=True))
            lines.append(f"{command:8}  {victim:17}  {cells}")
    return lines


if __name__ == "__main__":
    sys.exit(main())
