"""python -m tests.monitored: 100 jobs of three users while `seatrial metrics` is called every 5 s.

Real slurmctld, slurmdbd and MariaDB on four nodes, Prometheus with node_exporter, and Graphite. After each call both
stores are compared with the outputs of Slurm's commands in that call; then with fresh ones while the queue is held;
then slurmctld is stopped for 20 s. Exit code 0: all numbers are the same, and every query of the dashboards answers.
"""

import json
import math
import os
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from seatrial.lab.cluster.host_argv import as_user, in_space
from seatrial.lab.cluster.plan import LOGIN, LabPlan
from seatrial.lab.cluster.processes import pids_in, program
from seatrial.process.process import run
from seatrial.slurm import census
from tests.lab.waiting import eventually
from tests.monitored.calls import Calls, as_paths, differences, recount, scraped
from tests.support.json_objects import parsed
from tests.support.paths import ROOT
from tests.support.raised_lab import trial_lab
from tests.support.stores import MISSING, graphite, prometheus

NODES, JOBS, RUNNING, HELD, EVERY_S, STOPPED_S = 4, 100, 5, 9, 5.0, 20.0
USERS = ("daemon", "games", "mail")
MOST_S = 16.0
"""The longest call while slurmctld is stopped: the time limit of one command, and the start and end of the program."""
SUBMIT = """cd /
i=0
while [ $i -lt {jobs} ]; do
    for user in {users}; do
        [ $i -lt {jobs} ] && {command}
        i=$((i + 1))
    done
done
wait
"""
WHOSE = """--uid=$user --account=science --ntasks=1 --job-name='n"a\\me {x}'"""
SHORT = f"srun {WHOSE} sleep $((i % 4 * 2 + 5)) &"
LONG = f"srun {WHOSE} sleep 600 &"
PENDING = f"sbatch {WHOSE} --hold --output=/dev/null --wrap true >/dev/null"


def submit(plan: LabPlan, jobs: int, command: str) -> None:
    """Give this command so many times for three users; it may use `$user` and `$i`. Wait for what it began."""
    script = SUBMIT.format(jobs=jobs, users=" ".join(USERS), command=command)
    done = run(as_user(plan, ["sh", "-c", script]), timeout_s=500)
    assert done.ok, done.stderr


def compared(calls: Calls, number: int) -> list[str]:
    """One call for each store, and what differs."""
    done, written = calls.textfile()
    assert done.ok, done.stderr
    calls.prometheus.wait()
    text = calls.prometheus.textfile.read_text()
    found = differences("Prometheus", scraped(calls.prometheus), written)
    found += differences("written", written, recount(calls.recorded()))
    done = calls.pushed(f"graphite{number}")
    assert done.ok, done.stderr
    wanted = as_paths(text)
    eventually(lambda: not differences("", calls.graphite.numbers(), wanted), 10)
    return found + differences("Graphite", calls.graphite.numbers(), wanted)


def unanswered(calls: Calls) -> list[str]:
    """Panels of the dashboards with a query that gives no number."""
    titles = []
    for name, field, query in (
        ("qualification.json", "expr", calls.prometheus.query),
        ("slurm.json", "target", calls.graphite.query),
    ):
        for panel in json.loads((ROOT / "contrib" / "grafana" / name).read_text())["panels"]:
            answers = [query(target[field]) for target in panel["targets"]]
            if not all(answer and all(map(math.isfinite, answer.values())) for answer in answers):
                titles.append(f"no number: {panel['title']}")
    return titles


def held(calls: Calls) -> list[str]:
    """While nothing changes: both stores beside fresh outputs."""
    submit(calls.plan, HELD, PENDING)
    assert eventually(lambda: calls.textfile()[1]["slurm_jobs_running",] == RUNNING)
    commands = {"sinfo": census.NODES, "squeue": census.JOBS, "sdiag": census.SCHEDULER, "sshare": census.SHARES}
    found = compared(calls, 1000)
    calls.textfile("fresh")
    calls.prometheus.wait()
    fresh = {name: run(as_user(calls.plan, [*words]), timeout_s=60).stdout for name, words in commands.items()}
    wanted = recount(fresh)
    found += differences("fresh, Prometheus", scraped(calls.prometheus), wanted)
    assert (wanted["slurm_jobs_running",], wanted["slurm_jobs_pending",]) == (RUNNING, HELD), fresh["squeue"]
    statuses = parsed(calls.seatrial("status", "--json").stdout)["nodes"]
    nodes = sum(":" not in status["node"] for status in statuses)
    verdicts = calls.prometheus.query("sum(seatrial_nodes)")
    return found + unanswered(calls) + ([] if [*verdicts.values()] == [nodes] and nodes else ["verdicts differ"])


@contextmanager
def stopped(plan: LabPlan) -> Iterator[None]:
    """No answer of slurmctld for a while."""
    until_s = time.monotonic() + STOPPED_S
    pids = [pid for pid in pids_in([plan.space(LOGIN)]) if program(pid) == "slurmctld"]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
        time.sleep(max(until_s - time.monotonic(), 0.0))
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def silent(calls: Calls) -> list[str]:
    """While slurmctld is stopped its numbers are unknown, in time; afterwards they are back."""
    with stopped(calls.plan):
        began = time.monotonic()
        done, _ = calls.textfile()
        took_s = time.monotonic() - began
        calls.prometheus.wait()
        left = [name for name, *_ in scraped(calls.prometheus) if name.startswith("slurm_")]
        unknown = [*calls.prometheus.query("count(seatrial_slurm_command_answered == 0)").values()]
    print(f"slurmctld stopped: a call took {took_s:.1f} s; {unknown} commands without an answer")
    found = [f"still there: {name}" for name in left] + ([] if unknown == [3.0] else [f"unanswered: {unknown}"])
    found += [f"a call took {took_s:.1f} s"] if took_s > MOST_S or not done.ok else []
    assert eventually(lambda: ("slurm_jobs",) in calls.textfile()[1])
    return found


def measured(calls: Calls) -> list[str]:
    """All three parts."""
    done = calls.seatrial("check", "--no-nodes", "--budget", "60s")
    print(done.stdout.partition("\n")[0])
    run(
        as_user(calls.plan, ["sacctmgr", "--immediate", "add", "user", ",".join(USERS), "account=science"]),
        timeout_s=60,
    )
    found: list[str] = []
    seen: list[str] = []
    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(submit, calls.plan, JOBS, SHORT)
        while not ended.done():
            began = time.monotonic()
            found += compared(calls, len(seen))
            count = recount(calls.recorded())
            seen.append(f"{count['slurm_jobs_running',]:.0f}+{count['slurm_jobs_pending',]:.0f}")
            time.sleep(max(EVERY_S - (time.monotonic() - began), 0.0))
        ended.result()
        print(f"{JOBS} jobs, running and pending at each call: {' '.join(seen)}: {len(found)} differences")
        ended = pool.submit(submit, calls.plan, RUNNING, LONG)
        try:
            return found + held(calls) + silent(calls)
        finally:
            run(as_user(calls.plan, ["scancel", "--account=science"]), timeout_s=60)


def main() -> int:
    """Print what differs."""
    assert not MISSING, MISSING
    with trial_lab("m", "monitored", nodes=NODES, accounts=True) as (plan, folder):
        within = in_space(plan.space(LOGIN), [])
        with prometheus(folder / "prometheus") as scraping, graphite(folder / "graphite", within) as carbon:
            found = measured(Calls(plan, folder, scraping, carbon))
        print("\n".join(found) if found else "All numbers are those of Slurm's commands, in both stores.")
        return bool(found)


if __name__ == "__main__":
    sys.exit(main())
