"""Settings that a killed `compare` left changed: by this user's notes, and by those that root finds on the nodes."""

import re

from seatrial.archive.changed_settings import ENTER, RESTORE, ChangedFile, ChangedSettings, foreign
from seatrial.model.launching import noted
from seatrial.model.subject import CLUSTER
from seatrial.model.subject import node as node_subject
from seatrial.model.verdict import Finding, FindingKind

STEP = "settings"
MARK = "seatrial-left"
TEXT = f"""{ENTER}
for folder in /run/seatrial /var/tmp/seatrial; do
    (enter "$folder" && for note in ./*.note; do
        [ -f "$note" ] && read -r line <"$note" && printf '{MARK} %s %s\\n' "${{note##*/}}" "$line"
    done)
done
:
"""
"""Part of what a node is asked. Notes are in folders of this user's: anybody may make the one in /var/tmp first, with
pipes and links in it.
"""
NOTE = re.compile(rf"^{MARK} ([\w.-]{{1,400}})\.note (.{{1,2000}})$", re.MULTILINE)


def judge_own_notes(changed: list[ChangedSettings]) -> list[Finding]:
    """One for each change: node, setting, both values, and what to type."""
    return [
        noted(
            STEP,
            FindingKind.SETTING_LEFT,
            f"{change.text}, since {settings.driver.since}{where}: {_driver(settings)}.",
            f"{before}{RESTORE} {settings.name}",
            subject=node_subject(change.node) if isinstance(change, ChangedFile) else CLUSTER,
        )
        for settings in changed
        for where, before in [_place(settings)]
        for change in settings.changes
    ]


def _place(settings: ChangedSettings) -> tuple[str, str]:
    """The cluster, where it is not this one, for the statement and for the remedy."""
    other = foreign(settings)
    return (f", on the cluster {settings.cluster}", f"On the cluster {settings.cluster}: ") if other else ("", "")


def _driver(settings: ChangedSettings) -> str:
    if settings.running is None:
        return f"process {settings.driver.pid} on {settings.driver.host} restores it at its end, if it still runs"
    return "the command that would have restored it was killed"


def judge_notes_of_nodes(output: str, own: list[ChangedSettings]) -> list[Finding]:
    """`output`: of a step on all nodes. Notes of changes that this user's own notes name are left out."""
    names = {settings.name for settings in own}
    notes = {name: text for name, text in NOTE.findall(output) if name.partition(".")[2] not in names}
    return [
        noted(
            STEP,
            FindingKind.SETTING_LEFT,
            f"A note on the node says: {text}.",
            f"Unless that command still runs: {RESTORE}, as that user; else write the value back by hand and remove "
            f"the note {name}.note in /run/seatrial (or /var/tmp/seatrial).",
            subject=node_subject(name.partition(".")[0]),
        )
        for name, text in sorted(notes.items())
    ]
