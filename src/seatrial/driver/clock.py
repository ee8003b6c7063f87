"""The time of day and names made from it."""

import secrets
from datetime import UTC, datetime


def now_text() -> str:
    """Now in UTC, to the second, ISO 8601."""
    return datetime.now(UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z")


def new_run_name(what: str) -> str:
    """A name that sorts by time and that no other run has: 20261121T193000Z-check-1f3a."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{what}-{secrets.token_hex(2)}"
