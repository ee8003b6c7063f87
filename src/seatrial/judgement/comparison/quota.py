"""A quota of processor time that is lifted for some runs: which control groups may be changed, and what is written.

Only groups of Slurm and of its jobs, and those of a virtual cluster's nodes. A quota of anything else (a user's
session, a slice of the system, a container) also limits programs that have nothing to do with the measurement.
"""

import re

from seatrial.judgement.comparison.records import ChangedFact, FileSetting
from seatrial.model.facts import NodeFacts

FACT = r"processor\.quota_processors"
QUOTA_FILE = re.compile(r"/sys/fs/cgroup(?:/[\w@:,\\-][\w@:,.\\-]*)+/(?:cpu\.max|cpu\.cfs_quota_us)")
"""No component begins with a dot, so none leads upwards."""
CHANGEABLE = re.compile(r"slurm[\w.@-]*|uid_\d+|job_\d+|step_\w+|seatrial-lab-[\w-]+")
"""Names of the last component: of slurmd and its jobs, of a node of the lab."""
QUOTA_TEXT = re.compile(r"[0-9]{1,18}( [0-9]{1,18})?")
UNLIMITED = {"cpu.max": "max", "cpu.cfs_quota_us": "-1"}


def quota_setting(changed: ChangedFact, before: NodeFacts | None, after: NodeFacts | None) -> FileSetting | str:
    """The file of the group that has the quota now, and what it is to contain meanwhile; or why it is not touched."""
    present = after.processor if after else None
    if present is None or present.quota_processors is None or not QUOTA_TEXT.fullmatch(present.quota_text):
        return "the control group that has the quota is not known"
    if not QUOTA_FILE.fullmatch(present.quota_file):
        return f"{present.quota_file or 'nothing'} is not a file of a control group"
    folder, _, file = present.quota_file.rpartition("/")
    name = folder.rpartition("/")[2]
    if not CHANGEABLE.fullmatch(name):
        return f"the quota is that of the control group {name}, which is not one of Slurm or its jobs"
    former = before.processor if before else None
    if former is None or former.quota_processors is None:
        return "the quota before the change is not known"
    earlier = UNLIMITED[file]
    if former.quota_processors >= 0:
        if former.quota_file != present.quota_file or not QUOTA_TEXT.fullmatch(former.quota_text):
            return "another control group had a quota before the change"
        earlier = former.quota_text
    return FileSetting(fact=changed.fact, places=((present.quota_file,),), present=present.quota_text, earlier=earlier)


def is_changeable(file: str) -> bool:
    """Whether a file is the quota of a control group that may be changed."""
    group = file.rpartition("/")[0].rpartition("/")[2]
    return QUOTA_FILE.fullmatch(file) is not None and CHANGEABLE.fullmatch(group) is not None
