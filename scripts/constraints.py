"""Prints the pinned versions of requirements.txt that hold for a Python version and architecture, without their hashes.

usage: constraints.py 3.12 x86_64

pip evaluates conditions such as `python_full_version < '3.12'` for the Python that it runs in, even when it collects
wheels for another one. Only the standard library and pip are needed.
"""

import re
import sys
from pathlib import Path

from pip._vendor.packaging.requirements import Requirement

PINNED = re.compile(r"^([a-z0-9_.-]+==.*?) *\\?$")
REQUIREMENTS = Path(__file__).parent.parent / "requirements.txt"


def constraints(text: str, version: str, machine: str) -> list[str]:
    """`name==version` of each requirement whose condition holds there."""
    place = {
        "python_version": version,
        "python_full_version": f"{version}.99",
        "platform_machine": machine,
        "sys_platform": "linux",
        "platform_python_implementation": "CPython",
    }
    matches = (PINNED.match(line) for line in text.splitlines())
    pinned = [Requirement(match[1]) for match in matches if match]
    return [f"{one.name}{one.specifier}" for one in pinned if one.marker is None or one.marker.evaluate(place)]


if __name__ == "__main__":
    sys.stdout.write("\n".join(constraints(REQUIREMENTS.read_text(), sys.argv[1], sys.argv[2])) + "\n")
