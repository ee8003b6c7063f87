"""The table of all kinds of environments, and the parser of KIND:WORDS."""

import shlex

from seatrial.launch.environments.environment import NO_ENVIRONMENT, Environment, Kind, Where
from seatrial.launch.environments.kinds import (
    APPTAINER,
    GUIX,
    GUIX_CONTAINER,
    GUIX_ENVIRONMENT,
    GUIX_MANIFEST,
    NIX,
    SCRIPT,
    SINGULARITY,
)
from seatrial.launch.environments.module_systems import MODULE, SPACK, SPACK_ENV
from seatrial.model.errors import UsageError
from seatrial.model.words import count

KINDS = (
    MODULE,
    SPACK,
    SPACK_ENV,
    GUIX,
    GUIX_MANIFEST,
    GUIX_CONTAINER,
    GUIX_ENVIRONMENT,
    NIX,
    APPTAINER,
    SINGULARITY,
    SCRIPT,
)


AUTO = "auto"
LONGEST = 4096
SHOWN = 40
WRAPS = (AUTO, *Where)


def parse_environment(text: str, wrap: str = AUTO) -> Environment:
    """The environment that `text` names; an empty one names none. Words are split as in a shell, and not expanded.

    `wrap`: inside, outside, or auto, which is the kind's own choice. Raises UsageError that shows the value.
    """
    if wrap not in WRAPS:
        raise UsageError(f"--wrap {wrap!r} is not one of {', '.join(WRAPS)}.")
    if len(text) > LONGEST:
        raise UsageError(
            f"--environment {text[:SHOWN]!r}... has {count(len(text), 'character')}, and at most {LONGEST} are taken.",
            "Put what it loads into a script, and name that: script:/PATH/PROGRAM.",
        )
    if not text.strip():
        return NO_ENVIRONMENT
    name, colon, rest = text.strip().partition(":")
    kind = next((kind for kind in KINDS if kind.name == name), None)
    if kind is None or not colon:
        raise UsageError(
            f"--environment {text!r} does not begin with a kind of environment.",
            f"Write KIND:..., and KIND is one of {', '.join(kind.name for kind in KINDS)}.",
        )
    words = _words(text, kind, rest)
    return Environment(spec=text.strip(), kind=kind, words=words, where=kind.where if wrap == AUTO else Where(wrap))


def _words(text: str, kind: Kind, rest: str) -> tuple[str, ...]:
    options = "[OPTION...] " if kind.name_last else ""
    form = f"Write {kind.name}:{options}{kind.form}".removesuffix(".") + "."
    try:
        words = tuple(shlex.split(rest))
    except ValueError as error:
        raise UsageError(f"--environment {text!r} cannot be split into words: {error}.", form) from error
    if not words or not all(words):
        raise UsageError(f"--environment {text!r} names nothing to enter.", form)
    if any(character == "\0" or "\ud800" <= character <= "\udfff" for character in rest):
        raise UsageError(f"--environment {text!r} holds a NUL, or bytes that are not UTF-8.", form)
    if "--" in words or (not kind.takes_options and any(word.startswith("-") for word in words)):
        strange = next(word for word in words if word.startswith("-"))
        raise UsageError(f"--environment {text!r}: {strange!r} is not a name for {kind.name}.", form)
    if kind.name_last and words[-1].startswith("-"):
        raise UsageError(f"--environment {text!r}: the name must come last, not {words[-1]!r}.", form)
    if kind is SCRIPT and not words[0].startswith("/"):
        raise UsageError(f"--environment {text!r} is not a full path, and nodes may start elsewhere.", form)
    return words
