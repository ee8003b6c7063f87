"""Jobs that stand in the queue because of accounts, QOS and their limits."""

from seatrial.failures.job_refusals import ACCOUNT, QOS
from seatrial.failures.reason import Pending

TELL = "`sacctmgr show assoc user=$USER` and `sacctmgr show qos` tell the limit."
LESS = "Ask for less: fewer nodes by --nodes, a shorter --budget, or --node-hours."
RESOURCE = r"(?:Cpu|CPU|Node|Mem|Memory|Energy|GRES|License|BB|Billing|Unknown)"

LIMITS = (
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
        look=rf"(?:QOS|Assoc)Max{RESOURCE}(?:Minutes)?Per(?:Job|Node)|(?:QOS|Assoc)MaxWall\w*|MaxMemPerLimit",
        meaning="the job is larger or longer than your account or QOS may have",
        remedy=f"{LESS} {TELL}",
        hopeless=True,
    ),
    Pending(look=r"QOSMin\w+", meaning="the job is smaller than the QOS wants", remedy=QOS, hopeless=True),
    Pending(
        look=rf"(?:QOS|Assoc)Grp{RESOURCE}RunMin\w*",
        meaning="running jobs of your account or QOS have so many hours left together that this one does not fit",
        remedy=f"Wait until some are over, or give a shorter --budget. {TELL}",
    ),
    Pending(
        look=rf"(?:QOS|Assoc)Grp(?:{RESOURCE}Min\w*|Wall\w*)|QOSUsageThreshold|(?:Association|QOS)TimeLimit",
        meaning="your account or QOS has used up the hours that it was granted",
        remedy=f"Give a shorter --budget, name another account, or ask your site for more hours. {TELL}",
    ),
    Pending(
        look=r"(?:QOS|Assoc)(?:Max|Grp)\w+|Max\w+PerAccount|(?:Association|QOS)(?:Job|Resource)Limit|AccountingPolicy",
        meaning="your account or QOS has as much in use as it may have at once, or may not have so much at all",
        remedy=f"Wait until a job of yours is over, or ask for less by --nodes. {TELL}",
    ),
)
