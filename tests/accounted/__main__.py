"""python -m tests.accounted: 150 short jobs of three users and six families on six nodes, one of them slow.

Real slurmctld, slurmdbd and MariaDB. Exit code 0: `seatrial jobs` names that node and nobody else, and its figures are
those of sacct.
"""

import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime

from seatrial.lab.cluster import stop
from seatrial.lab.cluster.plan import make_plan
from seatrial.lab.cluster.start import needed_folders, raise_lab
from tests.accounted.jobs import FAMILIES, differences, judged, recorded, run_jobs
from tests.support.json_objects import parsed

NODES, JOBS, SLOW = 6, 150, "n4"


def main() -> int:
    """Print how many jobs ran, what was named, and what differs from sacct."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = tempfile.mkdtemp(prefix="seatrial-accounted-")
    plan = make_plan(name=f"j{os.getpid()}", nodes=NODES, accounts=True, folders=(*needed_folders(), folder))
    since = datetime.now(UTC).date().isoformat()
    try:
        raise_lab(plan)
        done = run_jobs(plan, JOBS, SLOW)
        assert done.ok, done.stderr
        own = [record for record in recorded(plan, since) if record.user in FAMILIES]
        differ = differences(plan, since, SLOW)
        print(f"{len(own)} jobs: {dict(Counter(record.state for record in own))}")
        print("\n".join(finding["brief"] for finding in parsed(judged(plan, since).stdout)["findings"]))
        print("\n".join(differ) if differ else "All figures equal those of sacct.")
        return bool(differ)
    finally:
        stop.raze(plan.name)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
