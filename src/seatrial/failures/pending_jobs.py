"""Why a job waits in the queue: the reason that squeue prints, and whether the job can start without a change.

Source of the reasons: Slurm's job_state_reason.c and slurm.schedmd.com/job_reason_codes.html, Slurm 18 to 25.
"""

import re
from functools import cache

import msgspec

from seatrial.failures.cause import one_of, read_table


class Pending(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One reason. `hopeless`: the job cannot start until somebody changes something."""

    look: str | tuple[str, ...]
    meaning: str
    remedy: str = ""
    hopeless: bool = False
    nodes_out: bool = False
    """Nodes that it asks for are out of service."""


class Reasons(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table `causes/pending.toml`."""

    cause: tuple[Pending, ...]


@cache
def reasons() -> tuple[Pending, ...]:
    """The reasons that are known, in order: the first that matches counts."""
    return read_table("pending", Reasons).cause


def why_pending(reason: str) -> Pending | None:
    """What squeue's word for it means; None for one that we do not know."""
    for one in reasons():
        match = re.search(one_of(one.look), reason)
        if match:
            shown = match.group(1) if match.groups() else ""
            return msgspec.structs.replace(one, meaning=one.meaning.replace("{1}", shown))
    return None
