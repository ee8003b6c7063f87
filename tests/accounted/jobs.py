"""Short jobs of three users and six families on a lab with accounts, and what sacct itself says of them."""

import statistics
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from seatrial.lab.cluster import planting
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.faults.base import Parameters
from seatrial.model.node_list import expand
from seatrial.process.process import Completed, run
from tests.lab.waiting import eventually
from tests.support.json_objects import parsed

FAMILIES = {"daemon": {"relax": 10, "bands": 14}, "games": {"md": 12, "anneal": 18}, "mail": {"scf": 16, "phonons": 20}}
"""For each user (one of every Debian) the names of jobs, and how many tenths of a second they take."""
BUSY_S, PERIOD_S = 0.02, 0.1
"""Processor time in each period: nodes share the cores of one machine, and must not wait for each other."""
QUOTA_PERCENT = 5.0
"""Half of what a job needs, of two processors: 0.1 of one."""
PROGRAM = f"""import sys, time
for _ in range(int(sys.argv[1])):
    end = time.process_time() + {BUSY_S}
    while time.process_time() < end: pass
    time.sleep({PERIOD_S - BUSY_S:.2f})
"""
SUBMISSION = """cd /
program=$1; shift
while [ $# -gt 0 ]; do
    srun --uid="$1" --nodes=1 --exclusive --nodelist="$2" --job-name="$3" --account=science \\
        python3 -I -S -c "$program" "$4" &
    shift 4
done
wait
"""
ENDED = ("COMPLETED", "FAILED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "BOOT_FAIL")


class SacctRecord(msgspec.Struct, frozen=True):
    """One line of sacct."""

    job: str
    user: str
    state: str
    elapsed_s: int
    nodes: str
    name: str

    @property
    def used(self) -> bool:
        """Whether it has ended by itself or failed, and took a second at least."""
        return self.state.split()[0] in ENDED and self.elapsed_s > 0


def run_jobs(plan: LabPlan, jobs: int, slow: str) -> Completed:
    """Run as many jobs of each family on each node; those on `slow` get half of the processor time they need."""
    users = ["sacctmgr", "--immediate", "add", "user", ",".join(FAMILIES), "account=science"]
    run(as_user(plan, users), timeout_s=60)  # refused for those who are there already
    kinds = [(user, name, tenths) for user, names in FAMILIES.items() for name, tenths in names.items()]
    words = []
    for number in range(jobs):
        turn, place = divmod(number, len(plan.node_names))
        user, name, tenths = kinds[turn % len(kinds)]
        words += [user, plan.node_names[place], f"{name}-{turn}", str(tenths)]
    since = datetime.now(UTC).date().isoformat()
    planting.plant(plan.name, "cpu-quota", slow, Parameters(percent=QUOTA_PERCENT))
    try:
        done = run(as_user(plan, ["sh", "-c", SUBMISSION, "sh", PROGRAM, *words]), timeout_s=900)
    finally:
        planting.clear(plan.name)
    assert eventually(lambda: all(record.state != "RUNNING" for record in recorded(plan, since)))
    return done


def recorded(plan: LabPlan, since: str) -> list[SacctRecord]:
    """All records of the lab since that day in UTC, which `seatrial jobs` asks for, as sacct prints them."""
    columns = "--format=JobID,User,State,ElapsedRaw,NodeList,JobName"
    asked = [
        "env",
        "TZ=UTC",
        "sacct",
        "--allusers",
        "--allocations",
        "--duplicates",
        "--noheader",
        "--parsable2",
        f"--starttime={since}",
    ]
    done = run(as_user(plan, [*asked, columns]), timeout_s=60)
    assert done.ok, done.stderr
    fields = [line.split("|", 5) for line in done.stdout.splitlines()]
    return [SacctRecord(job, user, state, int(elapsed), node, name) for job, user, state, elapsed, node, name in fields]


def judged(plan: LabPlan, since: str, *options: str) -> Completed:
    """The answer of `seatrial jobs` on the login node."""
    argv = [sys.executable, "-m", "seatrial", "jobs", "--since", since, "--json", *options]
    return run(as_user(plan, argv), timeout_s=120)


def differences(plan: LabPlan, since: str, slow: str) -> list[str]:
    """What `seatrial jobs` says otherwise than sacct, or of another node than `slow`; empty: nothing."""
    records = recorded(plan, since)
    own = [record for record in records if record.user in FAMILIES]
    done = judged(plan, since)
    data = parsed(done.stdout)
    assert {"slow", "failing", "records"} <= data.keys(), done.stderr
    pairs: list[tuple[str, object, object]] = [
        ("exit code", done.returncode, 1),
        ("slow nodes", [node["node"] for node in data["slow"]], [slow]),
        ("failing nodes", data["failing"], []),
        ("records", data["records"], len(records)),
        ("used", data["used"], sum(record.used for record in records)),
        ("left out", sum(data["left_out"].values()), sum(not record.used for record in records)),
        ("of six families", sum(one["jobs"] for one in data["families"] if one["user"] in FAMILIES), len(own)),
    ]
    there = [record for record in records if record.used and slow in expand(record.nodes)]
    least = sum(record.user in FAMILIES for record in there)  # of others a family may have run on this node alone
    jobs = data["slow"][0]["jobs"] if data["slow"] else 0
    pairs.append(("jobs there", jobs, min(max(jobs, least), len(there))))
    for user, names in FAMILIES.items():
        name = next(iter(names))
        pairs += _family(plan, since, f"{user}/{name}", [one for one in own if one.name.startswith(f"{name}-")])
    return [f"{what}: {found}, sacct: {wanted}" for what, found, wanted in pairs if found != wanted]


def _family(plan: LabPlan, since: str, label: str, own: Sequence[SacctRecord]) -> list[tuple[str, object, object]]:
    times = sorted(record.elapsed_s for record in own)
    family = parsed(judged(plan, since, "--family", label).stdout)["family"]
    geometric = statistics.geometric_mean([times[(len(times) - 1) // 2], times[len(times) // 2]])
    return [
        (f"{label} completed", family["endings"], {"completed": len(own)}),
        (f"{label} median", round(family["median_s"], 6), round(geometric, 6)),
        (f"{label} in the histogram", sum(one["jobs"] for one in family["bins"]), len(own)),
        (f"{label} shortest", family["bins"][0]["low_s"], times[0]),
        (f"{label} longest", family["bins"][-1]["high_s"], times[-1]),
    ]
