"""Nodes that a JSON object names beside its list of results: they failed, are missing, or have no result."""

import math
import re
from collections.abc import Iterator, Mapping

import msgspec

from seatrial.importers.columns import json_object
from seatrial.importers.fleets import FleetTable
from seatrial.importers.outcome_words import FAILURES
from seatrial.importers.row_outcomes import COUNTED, NO_NUMBERS
from seatrial.model.errors import UsageError
from seatrial.model.words import count, name_form

LOST = FAILURES | NO_NUMBERS | COUNTED
"""A member with such a word in its name lists, or counts, what has no result."""
Member = tuple[str, object]


def with_listed_nodes(table: FleetTable, text: str) -> FleetTable:
    """The table with the nodes that a member beside the list of results names: as failed, or without a value.

    A list of any name counts if it has names of the form of the measured nodes: cn15 and cn16 beside results of cn01 to
    cn14. Raises UsageError where a member counts more failures than the results show.
    """
    value = json_object(text)
    if not isinstance(value, dict) or not any(_is_rows(member) for member in value.values()):
        return table
    measured = {table.parts.get(name, (name, ""))[0] for stratum in table.strata for name in stratum.with_gaps}
    forms = {name_form(name) for name in measured}
    lost: dict[str, None] = {}
    failed: dict[str, None] = {}
    counted: list[tuple[str, int]] = []
    for path, member in _members(value):
        words = re.findall(r"[a-z]+", path.lower())
        says_lost = not LOST.isdisjoint(words)
        names = [name for name in member if isinstance(name, str)] if isinstance(member, list) else []
        listed = [name for name in names if says_lost or name_form(name) in forms]
        lost.update(dict.fromkeys(name for name in listed if name not in measured))
        failed.update(dict.fromkeys(name for name in listed if name in measured and says_lost))
        if says_lost and isinstance(member, int) and not isinstance(member, bool):
            counted.append((path, member))
    shown = len({*table.failed, *table.without_value, *lost, *failed})
    if more := next((f"{path!r} is {number}" for path, number in counted if number > shown), ""):
        raise UsageError(
            f"{more} beside the list of results, in which {count(shown, 'node')} failed.",
            "Add what failed to the list, with a member `status`; or leave that number out.",
        )
    without = {name: [math.nan] for name in lost}
    strata = tuple(
        msgspec.structs.replace(stratum, with_gaps={**stratum.with_gaps, **without}) for stratum in table.strata
    )
    return msgspec.structs.replace(
        table,
        strata=strata,
        without_value=(*table.without_value, *lost),
        failed=(*table.failed, *lost, *failed),
    )


def _is_rows(member: object) -> bool:
    return isinstance(member, list) and bool(member) and isinstance(member[0], dict)


def _members(value: Mapping[str, object], before: str = "") -> Iterator[Member]:
    """The members beside the rows, and those of objects, with the path to each."""
    for name, member in value.items():
        path = f"{before}{name}"
        if isinstance(member, dict) and not before:
            yield from _members(member, f"{path}.")
        elif not _is_rows(member):
            yield path, member
