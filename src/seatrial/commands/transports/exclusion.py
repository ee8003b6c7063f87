"""Taking a name away from a list that a site may have set itself, without giving back what its own setting withheld."""

from collections.abc import Callable, Sequence

NOT = "^"
EVERYTHING = "all"
ITSELF = "self"
"""A rank's messages to itself: alone it carries nothing to another one."""


def leave_out(names: Sequence[str], own: str, belongs: Callable[[str], bool] | None = None) -> str | None:
    """The value of a variable such as `OMPI_MCA_btl`, `UCX_TLS`, `FI_PROVIDER` that leaves `names` out.

    `own`: what the site has set it to, a list of what is allowed or, behind `^`, of what is not; empty: all is allowed.
    `belongs` says which words of a list are meant, where these are more than `names`. None: its own leaves them out
    already. Where nothing would be left all others are allowed, as if it had set nothing.
    """
    meant = belongs or names.__contains__
    words = [word for word in (part.strip() for part in own.split(",")) if word]
    anew = NOT + ",".join(names)
    if not words or EVERYTHING in words:
        return anew
    if words[0].startswith(NOT):
        out = [words[0].removeprefix(NOT), *words[1:]]
        more = [name for name in names if name not in out]
        return NOT + ",".join((*out, *more)) if more else None
    kept = [word for word in words if not meant(word)]
    if len(kept) == len(words):
        return None
    return ",".join(kept) if set(kept) - {ITSELF} else anew
