"""python -m tests.accounted: 150 short jobs of three users and six families on six nodes, one of them slow.

Real slurmctld, slurmdbd and MariaDB. Exit code 0: `seatrial jobs` names that node and nobody else, and its figures are
those of sacct.
"""

import sys
from collections import Counter
from datetime import UTC, datetime

from tests.accounted.jobs import FAMILIES, differences, judged, recorded, run_jobs
from tests.support.json_objects import parsed
from tests.support.raised_lab import trial_lab

NODES, JOBS, SLOW = 6, 150, "n4"


def main() -> int:
    """Print how many jobs ran, what was named, and what differs from sacct."""
    since = datetime.now(UTC).date().isoformat()
    with trial_lab("j", "accounted", nodes=NODES, accounts=True) as (plan, _):
        done = run_jobs(plan, JOBS, SLOW)
        assert done.ok, done.stderr
        own = [record for record in recorded(plan, since) if record.user in FAMILIES]
        differ = differences(plan, since, SLOW)
        print(f"{len(own)} jobs: {dict(Counter(record.state for record in own))}")
        print("\n".join(finding["brief"] for finding in parsed(judged(plan, since).stdout)["findings"]))
        print("\n".join(differ) if differ else "All figures equal those of sacct.")
        return bool(differ)


if __name__ == "__main__":
    sys.exit(main())
