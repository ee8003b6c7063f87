"""Nix: installables of `nix shell`."""

from collections.abc import Sequence

from seatrial.launch.environments.kind import Kind, Where, Words

FEATURES = ("--extra-experimental-features", "nix-command flakes")


def wrap(words: Words, _folders: Words, argv: Sequence[str]) -> list[str]:
    """`nix shell`, not nix-shell: that one takes its command as text for a shell."""
    return ["nix", *FEATURES, "shell", *words, "--command", *argv]


NIX = Kind(
    name="nix",
    form="INSTALLABLE...",
    where=Where.INSIDE,
    wrap=wrap,
    takes_options=True,
    keeping="Take --ignore-environment out of the SPEC, or add --keep NAME for each of them.",
)
