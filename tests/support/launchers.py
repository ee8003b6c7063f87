"""Gives the runs of a test a launcher of its own, through the factory that the driver asks."""

from collections.abc import Iterator
from contextlib import contextmanager

from seatrial.driver.site import launcher_factory
from seatrial.launch.contract import Launcher


def use_launcher(launcher: Launcher) -> None:
    """Every run from here to the end of the test starts on this launcher; a replay still replays."""
    launcher_factory.set(lambda _: launcher)


@contextmanager
def launching_with(launcher: Launcher | None) -> Iterator[None]:
    """The same for a block; None: as users have it."""
    token = launcher_factory.set(None if launcher is None else lambda _: launcher)
    try:
        yield
    finally:
        launcher_factory.reset(token)
