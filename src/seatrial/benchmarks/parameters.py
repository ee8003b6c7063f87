"""Values of a benchmark's parameters, checked: whole numbers, sizes, shares."""

import re
from collections.abc import Mapping

from seatrial.benchmarks.declaration import Parameter
from seatrial.model.errors import UsageError

SIZE = re.compile(r"(?P<number>[0-9]{1,12})(?P<unit>[KMGT]iB|B|)")
UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
AUTO = "auto"


def completed(given: Mapping[str, str], declared: tuple[Parameter, ...]) -> dict[str, str]:
    """All declared parameters with what was given, or their defaults. Raises UsageError for an unknown one."""
    names = [parameter.name for parameter in declared]
    unknown = [name for name in given if name not in names]
    if unknown:
        has = f"It has {', '.join(names)}." if names else "It has none."
        raise UsageError(f"--set {unknown[0]}={given[unknown[0]]}: there is no parameter {unknown[0]!r}.", has)
    return {parameter.name: given.get(parameter.name, parameter.default) for parameter in declared}


def whole(parameters: Mapping[str, str], name: str, least: int, most: int) -> int:
    """A whole number. Raises UsageError that shows the value."""
    text = parameters[name]
    if not re.fullmatch("[0-9]{1,12}", text) or not least <= int(text) <= most:
        raise UsageError(f"--set {name}={text}: it must be a whole number from {least} to {most}.", "Correct it.")
    return int(text)


def size_bytes(parameters: Mapping[str, str], name: str) -> int:
    """A size in bytes. Raises UsageError that shows the value."""
    match = SIZE.fullmatch(parameters[name])
    if not match or not int(match["number"]):
        raise UsageError(f"--set {name}={parameters[name]} is not a size.", "Write 512MiB or 4GiB.")
    return int(match["number"]) * UNITS[match["unit"]]


def share(parameters: Mapping[str, str], name: str) -> float:
    """A percentage as a share. Raises UsageError that shows the value."""
    match = re.fullmatch(r"([0-9]{1,2}(?:\.[0-9]{1,3})?) ?%", parameters[name])
    if not match or not float(match[1]):
        raise UsageError(f"--set {name}={parameters[name]} is not a share below 100 %.", "Write 80%.")
    return float(match[1]) / 100
