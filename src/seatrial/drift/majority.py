"""What is usual among nodes that should be alike."""

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import TypeVar

Value = TypeVar("Value", bound=Hashable)


def usual(values: Mapping[str, Value]) -> Value | None:
    """The value that more than half of the nodes have; None where none has such a majority."""
    counts = Counter(values.values())
    return next((value for value, count in counts.items() if 2 * count > len(values)), None)
