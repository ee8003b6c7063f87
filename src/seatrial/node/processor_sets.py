"""Sets of processors, as the kernel and hwloc write them: "0-3,8", "00000000,0000010f", "0x0000010f"."""

import functools
import string

HEXADECIMAL = set(string.hexdigits)
MOST = 1 << 16
"""No machine has more processors (the kernel's own ceiling is 8192); a longer set is damaged text."""

Numbers = tuple[int, ...]


@functools.lru_cache(maxsize=1 << 12)
def listed(text: str) -> Numbers | None:
    """The numbers of a kernel list, sorted: "0-2,8" -> 0, 1, 2, 8; the empty text -> none of them. None: no such list.

    Lists: Documentation/admin-guide/kernel-parameters.rst, "cpu lists", without the strides, which files do not have.
    """
    members: set[int] = set()
    for part in text.strip().split(",") if text.strip() else ():
        first, dash, last = part.partition("-")
        low, high = number(first), number(last if dash else first)
        if low is None or high is None or high < low:
            return None
        members.update(range(low, high + 1))
    return tuple(sorted(members))


@functools.lru_cache(maxsize=1 << 12)
def masked(text: str) -> Numbers | None:
    """The numbers of a mask, sorted: words of 32 bits in hexadecimal, the highest first. None: no such mask.

    hwloc puts 0x before each word, leaves words of zero empty, and begins sets without an end with 0xf...f: no such.
    """
    words = text.strip().split(",")
    digits = "".join(word.removeprefix("0x").rjust(8, "0") for word in words)
    if not text.strip() or len(digits) != 8 * len(words) or 4 * len(digits) > MOST or set(digits) - HEXADECIMAL:
        return None
    bits = f"{int(digits, 16):b}"
    return tuple(place for place, bit in enumerate(reversed(bits)) if bit == "1")


def number(text: str) -> int | None:
    """The number of a processor, a NUMA node or the like; None where the text is none or of no possible one."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 6 and int(text) < MOST else None


def package_number(text: str) -> int | None:
    """Firmware numbers packages as it likes (8442 on an Arm server); None for the kernel's -1: it does not."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else None
