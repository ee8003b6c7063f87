"""The rails of a pair of nodes: which there are, and how the MPI is restricted to each."""

from collections.abc import Sequence

from seatrial.driver.two_nodes import TwoNodes
from seatrial.launch.contract import StartManner
from seatrial.launch.mpi import family_of
from seatrial.launch.rails import rail_manner
from seatrial.limits.rail_paths import RailDevice, no_rail_because, rail_named, shared_rails
from seatrial.model.errors import SeatrialError, UsageError


def choose_rails(trial: TwoNodes, wanted: Sequence[str]) -> tuple[tuple[RailDevice, ...], tuple[str, ...]]:
    """The rails to compare, two at least and of one kind, and what is to be said of others. Raises SeatrialError."""
    unread = [node for node in trial.pair if node not in trial.facts]
    if unread:
        raise SeatrialError(f"The facts of {unread[0]} could not be read, and they show which rails it has.")
    ends = [trial.facts[node] for node in trial.pair]
    if not wanted:
        found = shared_rails(*ends)
        if len(found.rails) < 2:
            have = ", ".join(rail.name for rail in found.rails) or "none"
            why = f"; {'; '.join(found.left_out)}" if found.left_out else ""
            pair = " and ".join(trial.pair)
            raise SeatrialError(f"{pair} share fewer than two rails that are up: {have}{why}.")
        return found.rails, tuple(f"{said}." for said in found.left_out)
    chosen = []
    for name in dict.fromkeys(wanted):
        for facts in ends:
            if rail_named(facts, name) is None:
                raise UsageError(f"--rails {name}: {no_rail_because(facts, name)}.", "Name rails that both nodes have.")
        chosen += [rail for rail in [rail_named(ends[0], name)] if rail is not None]
    kinds = dict.fromkeys(rail.kind for rail in chosen)
    if len(chosen) < 2 or len(kinds) > 1:
        said = f"of {' and '.join(kinds)}" if len(kinds) > 1 else "one alone"
        raise UsageError(f"--rails {','.join(wanted)}: {said}.", "Name two rails or more, of one kind.")
    return tuple(chosen), ()


def manners_of(
    library: str, rails: Sequence[RailDevice], variants: dict[str, tuple[str, ...]]
) -> dict[str, StartManner]:
    """Variant -> how to start a probe that is restricted to it. Raises SeatrialError if no setting is known."""
    found = {}
    for variant, names in variants.items():
        manner = rail_manner(family_of(library), rails[0].kind, names)
        if manner is None:
            raise SeatrialError(
                f"How {library.partition(',')[0] or 'this MPI'} is limited to one {rails[0].kind} rail is not known.",
                "Set it by hand in the environment, and measure once with each setting, without --rails.",
            )
        found[variant] = manner
    return found
