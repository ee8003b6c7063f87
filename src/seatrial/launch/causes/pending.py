"""Why a job stands in the queue: the word that squeue gives for it (REASON), and whether waiting helps."""

import re

import msgspec

from seatrial.launch.causes.refusals import ACCOUNT, OTHER, QOS

SHORTER = "Give a shorter --budget, or choose another by --partition."


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """One reason. `hopeless`: no waiting helps until somebody changes something."""

    look: str
    meaning: str
    remedy: str = ""
    hopeless: bool = False


REASONS = (
    Pending(look="PartitionDown", meaning="the partition is down", remedy=OTHER, hopeless=True),
    Pending(look="PartitionInactive", meaning="the partition is inactive", remedy=OTHER, hopeless=True),
    Pending(
        look="PartitionNodeLimit",
        meaning="the partition allows no job of so many nodes, or of so few",
        remedy="Name fewer or more by --nodes; `scontrol show partition` tells how many (MinNodes, MaxNodes).",
        hopeless=True,
    ),
    Pending(look="PartitionTimeLimit", meaning="the partition allows no job so long", remedy=SHORTER, hopeless=True),
    Pending(
        look="AccountNotAllowed|account not (?:known|permitted)|InvalidAccount",
        meaning="the account may not use the partition",
        remedy=ACCOUNT,
        hopeless=True,
    ),
    Pending(
        look="QOSNotAllowed|QOS not permitted|InvalidQOS",
        meaning="the QOS may not be used with the partition",
        remedy=QOS,
        hopeless=True,
    ),
    Pending(
        look="(?:QOS|Assoc)Max(?:Node|Cpu|CPU)\\w*Per(?:Job|Node)|(?:QOS|Assoc)MaxWall\\w*",
        meaning="the job is larger or longer than your account or QOS may have",
        remedy="Ask for less: fewer nodes by --nodes, a shorter --budget, or --node-hours.",
        hopeless=True,
    ),
    Pending(
        look="QOSMin\\w+",
        meaning="the job is smaller than the QOS wants",
        remedy=QOS,
        hopeless=True,
    ),
    Pending(
        look="(?:QOS|Assoc)(?:Max|Grp)\\w+",
        meaning="your account or QOS has as much in use as it may have at once, or may not have so much at all",
        remedy="Wait until a job of yours is over, or ask for less by --nodes.",
    ),
    Pending(look="BadConstraints", meaning="no node has what is asked for", remedy=OTHER, hopeless=True),
    Pending(
        look="JobHeld(?:Admin|User)", meaning="the job is held", remedy="scontrol release JOB, or ask your site.",
        hopeless=True,
    ),
    Pending(
        look="ReqNodeNotAvail, *UnavailableNodes:(\\S+)",
        meaning=r"\1 is out of service: down, drained or powering down",
        remedy="`seatrial doctor` says why; name others by --nodes.",
    ),
    Pending(
        look="ReqNodeNotAvail.*[Rr]eserved|Reservation",
        meaning="a node is reserved for others",
        remedy="scontrol show reservation says until when; name others by --nodes.",
    ),
    Pending(
        look="ReqNodeNotAvail|NodeDown",
        meaning="a node asked for is out of service",
        remedy="`seatrial doctor` says which and why; name others by --nodes.",
    ),
    Pending(look="Licenses", meaning="the licences it asks for are in use"),
    Pending(look="Resources", meaning="others have the nodes"),
    Pending(look="Priority", meaning="other jobs come first"),
)  # fmt: skip


def why_pending(reason: str) -> Pending | None:
    """What squeue's word for it means; None for one that we do not know."""
    for one in REASONS:
        match = re.search(one.look, reason)
        if match:
            shown = match.group(1) if match.groups() else ""
            return msgspec.structs.replace(one, meaning=one.meaning.replace(r"\1", shown))
    return None
