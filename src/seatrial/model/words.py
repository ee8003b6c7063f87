"""Numbers and names in sentences: counted in the right form, cut where they are many."""

from collections.abc import Iterable, Sequence


def count(number: int, noun: str, several: str = "") -> str:
    """1 node, 2 nodes; `several`: the plural where it is not made by an s."""
    return f"{number} {noun}" if number == 1 else f"{number} {several or noun + 's'}"


def some(names: Sequence[str], most: int) -> str:
    """n1, n2, n3 and 61 more: the first `most` of them, and the number of the rest."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def by_text(said: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Of names and what is said of each: every text once, with the names that have it, in their order."""
    found: dict[str, list[str]] = {}
    for name, text in said:
        found.setdefault(text, []).append(name)
    return found
