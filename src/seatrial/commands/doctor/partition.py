"""What a partition allows and to whom, from `scontrol --oneliner show partition`."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping

from seatrial.model.launching import blocked, fine, noted
from seatrial.model.node_list import expand
from seatrial.model.verdict import Finding, FindingKind
from seatrial.model.words import count

STEP = "partition"
OTHER = "Choose another --partition, or ask your site."
SHORTEST_BUDGET_S = 10.0
"""A shorter check is not worth proposing."""
UNLIMITED = {"UNLIMITED", "INFINITE", "NONE", "N/A", ""}


def parse_partitions(text: str) -> dict[str, dict[str, str]]:
    """Name -> key -> value. Values of several words are cut at the first blank; none of ours has any."""
    found = {}
    for line in text.splitlines():
        values = dict(word.partition("=")[::2] for word in line.split() if word.find("=") > 0)
        if "PartitionName" in values:
            found[values["PartitionName"]] = values
    return found


def default_of(partitions: Mapping[str, Mapping[str, str]]) -> str:
    """The cluster's default partition; without one the first; empty where there is none."""
    return next((name for name, values in partitions.items() if values.get("Default") == "YES"), "") or next(
        iter(partitions), ""
    )


def minutes_of(text: str) -> int | None:
    """`1-02:30:00`, `30:00`, `UNLIMITED` as minutes; None for no limit and for invalid times."""
    match = re.fullmatch(r"(?:(\d{1,18})-)?(?:(\d{1,18}):)?(\d{1,18}):(\d{1,18})", text)
    if text.upper() in UNLIMITED or not match:
        return None
    days, hours, minutes, _ = (int(part or 0) for part in match.groups())
    return days * 24 * 60 + hours * 60 + minutes


def judge_partition(
    values: Mapping[str, str],
    *,
    nodes: int,
    minutes: int,
    user_id: int,
    groups: Collection[str],
    host: str = "",
    budget_s: Callable[[int], float] = lambda _: 0.0,
) -> list[Finding]:
    """Whether it accepts a job of this user with this number of nodes and minutes.

    `groups`: names of the user's groups; `host`: this machine's name; `budget_s`: the --budget of a check that asks for
    these minutes.
    """
    name = values.get("PartitionName", "")
    refusals = [
        *_state(name, values.get("State", "UP")),
        *_nodes(name, values, nodes),
        *_time(name, values, minutes, budget_s),
        *_people(name, values, user_id, groups),
        *_place(name, values.get("AllocNodes", "ALL"), host),
    ]
    most, time = values.get("MaxNodes", ""), values.get("MaxTime", "")
    sizes = "any number of nodes" if most in UNLIMITED else f"{most} nodes"
    allowed = f"{sizes} for {'any time' if time in UNLIMITED else time}"
    return [
        *(refusals or [fine(STEP, f"{name} is up, and allows {allowed}.")]),
        *_shared(name, values.get("OverSubscribe", "")),
    ]


def _refuses(says: str, remedy: str = OTHER) -> Finding:
    return blocked(STEP, FindingKind.PARTITION_REFUSES, says, remedy)


def _state(name: str, state: str) -> Iterator[Finding]:
    meaning = {
        "DRAIN": "takes no new jobs (it is drained; those in the queue still start)",
        "DOWN": "starts no jobs (it is down; they are queued until it is up)",
        "INACTIVE": "takes no jobs and starts none (it is inactive)",
    }.get(state.upper())
    if meaning is not None:
        repair = f"Choose another --partition, or have it opened: scontrol update PartitionName={name} State=UP."
        yield _refuses(f"The partition {name} {meaning}.", repair)


def _nodes(name: str, values: Mapping[str, str], nodes: int) -> Iterator[Finding]:
    most, least = values.get("MaxNodes", ""), values.get("MinNodes", "")
    if most.isdecimal() and nodes > int(most):
        limit = count(int(most), "node")
        says = f"The partition {name} allows jobs of at most {limit} (MaxNodes), and {nodes} are wanted."
        pair = f"Name at most {most} with --nodes, or choose another --partition."
        yield _refuses(says, pair if int(most) > 1 else f"No pair fits into it. {OTHER}")
    if least.isdecimal() and nodes < int(least):
        yield _refuses(
            f"The partition {name} takes no job with fewer than {least} nodes (MinNodes), and {nodes} are wanted."
        )


def _time(name: str, values: Mapping[str, str], minutes: int, budget_s: Callable[[int], float]) -> Iterator[Finding]:
    limit = minutes_of(values.get("MaxTime", ""))
    if limit is not None and minutes > limit:
        says = f"The partition {name} allows jobs of {limit} min at most (MaxTime), and a check asks for {minutes} min."
        fitting = budget_s(limit)
        shorter = f"Give check --budget {fitting:.0f}s or less, or choose another --partition."
        yield _refuses(says, shorter if fitting >= SHORTEST_BUDGET_S else OTHER)


def _place(name: str, allowed: str, host: str) -> Iterator[Finding]:
    try:
        hosts = {one.partition(".")[0] for one in expand(allowed)} if allowed not in ("ALL", "") else {host}
    except ValueError:
        return
    if host and host not in hosts:
        says = f"The partition {name} takes jobs only from {allowed} (AllocNodes), and this is {host}."
        yield _refuses(says, f"Start it on {allowed}, or choose another --partition.")


def _shared(name: str, shares: str) -> Iterator[Finding]:
    """`FORCE:4`: --exclusive has no effect there. With FORCE:1 jobs only alternate, by priority."""
    word, _, jobs = shares.partition(":")
    if word.upper() == "FORCE" and jobs != "1":
        yield noted(
            STEP,
            FindingKind.PARTITION_REFUSES,
            f"The partition {name} shares nodes between jobs (OverSubscribe={shares}): other jobs may run beside this "
            "one.",
            "Choose another --partition, or wait for a quiet time.",
        )


def _people(name: str, values: Mapping[str, str], user_id: int, groups: Collection[str]) -> Iterator[Finding]:
    allowed = values.get("AllowGroups", "ALL")
    if user_id and allowed not in ("ALL", "") and not set(allowed.split(",")) & set(groups):
        yield _refuses(f"The partition {name} is for the groups {allowed} (AllowGroups), and you are in none of them.")
    if user_id and values.get("RootOnly") == "YES":
        yield _refuses(f"The partition {name} is for root only (RootOnly).")
    if not user_id and values.get("DisableRootJobs") == "YES":
        yield _refuses(f"The partition {name} takes no jobs of root (DisableRootJobs).", "Run it as another user.")
    if values.get("ReqResv") == "YES":
        says = f"The partition {name} takes only jobs within a reservation (ReqResv)."
        yield _refuses(says, "Name one by SALLOC_RESERVATION, or choose another --partition.")
    for of, what, variable in (("Accounts", "accounts", "SALLOC_ACCOUNT"), ("Qos", "QOS", "SALLOC_QOS")):
        only, denied = values.get(f"Allow{of}", "ALL"), values.get(f"Deny{of}", "")
        if only not in ("ALL", ""):
            says = f"The partition {name} is only for the {what} {only} (Allow{of})."
            remedy = f"If yours is none of them, name one by {variable}."
            yield noted(STEP, FindingKind.PARTITION_REFUSES, says, remedy)
        if denied:
            says = f"The partition {name} is closed to the {what} {denied} (Deny{of})."
            remedy = f"If yours is one of them, name another by {variable}."
            yield noted(STEP, FindingKind.PARTITION_REFUSES, says, remedy)
