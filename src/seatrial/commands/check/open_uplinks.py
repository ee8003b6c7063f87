"""Uplinks that look slow under load, and are neither confirmed nor cleared."""

from collections.abc import Mapping, Sequence, Set

import msgspec

from seatrial.commands.check.leaf_loads import Key, apart, loads, rounds_of
from seatrial.commands.check.loaded_scene import LoadState, Looks
from seatrial.judgement.wording import WAYS
from seatrial.locate.thresholds import RETEST_RUNS
from seatrial.model.measurement import Measurement
from seatrial.model.units import bandwidth, share
from seatrial.model.words import natural_sorted, some
from seatrial.statistics.estimates import median

NO_TIME = "time did not permit a retest; give more with --budget"
MOST_NOTES = 3
MOST_LEAVES = 8


class OpenUplinks(msgspec.Struct, frozen=True, kw_only=True):
    """`leaves`: in the order of `notes`; these name the first few."""

    leaves: tuple[str, ...]
    notes: tuple[str, ...]


def open_uplinks(
    looks: Sequence[Looks], scene: LoadState, measurements: Sequence[Measurement], leaf_of: Mapping[str, str]
) -> OpenUplinks:
    """All that keep the run from being a PASS. `looks`: at the leaves that were measured again."""
    slow = {leaf.latest.key for leaf in looks if leaf.slow}
    group = _group(slow, scene)
    undecided = [leaf for leaf in _undecided(looks, scene, slow) if leaf.key not in group]
    missing = _missing(measurements, scene, leaf_of)
    notes = [_group_note(group, scene)] if group else []
    notes += [leaf.note for leaf in undecided[:MOST_NOTES]]
    notes += [_missing_note(missing)] if missing else []
    names = [*(leaf for leaf, _ in group), *(leaf.key[0] for leaf in undecided), *missing]
    return OpenUplinks(leaves=tuple(dict.fromkeys(names)), notes=tuple(notes))


class UndecidedLeaf(msgspec.Struct, frozen=True, kw_only=True):
    """A leaf that looked slow under load and was neither confirmed nor cleared."""

    key: Key
    ratio: float
    why: str

    @property
    def note(self) -> str:
        """One sentence."""
        leaf, way = self.key
        return (
            f"Under load the uplink of {leaf} carried {share(self.ratio)} of what its peers did {WAYS[way]}{self.why}."
        )


def _undecided(looks: Sequence[Looks], scene: LoadState, slow: Set[Key]) -> list[UndecidedLeaf]:
    left = [leaf for one in looks if (leaf := _left_open(one))]
    again = {leaf.latest.key for leaf in looks}
    if again and not slow:
        return left  # The worst are as good as others: what the rest lack, they lose inside the fabric.
    why = f": not decided, {NO_TIME}"
    if again:
        why = ": not decided, it was not measured again; repair what is named and run the check again"
    rest = [key for key in scene.low if key not in again]
    return left + [UndecidedLeaf(key=key, ratio=scene.of_peers[key], why=why) for key in rest]


def _left_open(leaf: Looks) -> UndecidedLeaf | None:
    """What two looks at a leaf leave open, if they do."""
    latest, earlier, least = leaf.latest, leaf.earlier, leaf.least
    worse = min((look for look in (earlier, latest) if look), key=lambda look: look.ratio.value)
    runs = f" in {RETEST_RUNS} runs"
    if leaf.slow:
        return None
    if earlier and (earlier.slow(least) or latest.slow(least)):
        better = max(earlier.ratio.value, latest.ratio.value)
        why = f"{runs}, and {share(better)} in another {RETEST_RUNS}: not decided, traffic of other jobs or a fault "
        return UndecidedLeaf(key=latest.key, ratio=worse.ratio.value, why=f"{why}that comes and goes")
    if latest.slow(least):
        return UndecidedLeaf(key=latest.key, ratio=latest.ratio.value, why=f"{runs}: not decided, {NO_TIME}")
    if not leaf.suspect or not latest.perhaps(least) or (earlier and latest.by_partners(earlier, least)):
        return None
    why = f": not decided, {RETEST_RUNS} more runs did not settle it"
    return UndecidedLeaf(key=latest.key, ratio=latest.ratio.value, why=why)


def _group(slow: Set[Key], scene: LoadState) -> list[Key]:
    """The slower one of two groups of uplinks, unless each of it was confirmed as slow for itself."""
    return [] if slow >= {*scene.slower_group} else [*scene.slower_group]


def _group_note(group: Sequence[Key], scene: LoadState) -> str:
    way = group[0][1]
    slower = [key for key in group if key[1] is way]
    rates = {key: median([load.bytes_per_s for load in apart(many)]) for key, many in scene.found.items()}
    faster = [key for key in scene.of_peers if key[1] is way and key not in slower]
    low, high = (median([rates[key] for key in keys]) for keys in (slower, faster))
    names, others = (natural_sorted(leaf for leaf, _ in keys) for keys in (slower, faster))
    return (
        f"Two groups of uplinks: under load those of {len(names)} of {len(names) + len(others)} leaves carry "
        f"{bandwidth(low)} {WAYS[way]}, {share(low / high)} of what the others do ({bandwidth(high)}), and nothing "
        f"says which group is as it should be. The slower ones: {some(names, MOST_LEAVES)}. Compare the cables and "
        f"ports of {names[0]} with those of {others[0]}."
    )


def _missing(measurements: Sequence[Measurement], scene: LoadState, leaf_of: Mapping[str, str]) -> list[str]:
    """Leaves whose nodes were under load, but in no complete round."""
    if len({leaf for leaf, _ in scene.found}) < 2:
        return []
    tried = loads(rounds_of(measurements, whole=False), leaf_of)
    return sorted({leaf for leaf, _ in tried.keys() - scene.found.keys()})


def _missing_note(leaves: Sequence[str]) -> str:
    uplinks = "uplink of" if len(leaves) == 1 else "uplinks of"
    return (
        f"The {uplinks} {some(leaves, MOST_LEAVES)} under load: not decided, pairs of every round failed; "
        "run the check again."
    )
