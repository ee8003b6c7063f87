"""How much a trial of storage writes, and on which ranks."""

import pytest

from seatrial.model.measurement import GroupRound, Kernel
from seatrial.pairs.node_places import NodePlaces
from seatrial.pairs.node_rounds import (
    FREE_PART,
    FULL_STORAGE,
    MOST_BYTES,
    MOST_STREAMS,
    MOST_TURNS,
    QUICK_STORAGE,
    STREAM,
    STREAMS,
    TOTAL,
    StorageExtent,
    bytes_at_once,
    fitting,
    least_bytes,
    storage_rounds,
)

MIB = 1 << 20


def nodes(number: int, cores: int) -> list[NodePlaces]:
    return [
        NodePlaces(
            node=f"n{node}", cores=tuple(f"n{node}:{core}" for core in range(cores)), node_array_bytes=64,
            core_array_bytes=64,
        )
        for node in range(1, number + 1)
    ]  # fmt: skip


def rounds(places: list[NodePlaces], extent: StorageExtent = FULL_STORAGE, *, total: bool = True) -> list[GroupRound]:
    return [*storage_rounds(places, [0], extent, "/f", total=total)]


def test_one_stream_then_those_of_a_node_then_all_nodes() -> None:
    written = [one for one in rounds(nodes(3, 16)) if one.shape.kernel is Kernel.STORAGE_WRITE]
    assert [(one.variant, [len(group) for group in one.groups]) for one in written] == [
        *[(STREAM, [1])] * 3,
        *[(STREAMS, [MOST_STREAMS])] * 3,
        (TOTAL, [3 * MOST_STREAMS]),
    ]
    assert {one.folder for one in written} == {"/f"}


def test_what_a_node_or_a_retest_cannot_show_is_left_out() -> None:
    assert {one.variant for one in rounds(nodes(1, 1))} == {STREAM}
    assert {one.variant for one in rounds(nodes(3, 4), total=False)} == {STREAM, STREAMS}
    assert {one.variant for one in rounds(nodes(3, 4), QUICK_STORAGE)} == {STREAM}
    assert not [one for one in rounds(nodes(3, 4)) if one.variant == STREAMS and one.shape.message_bytes == 0]


@pytest.mark.parametrize("number", [1, 4, 16, 17, 100, 1000])
def test_every_node_has_its_turn_and_large_clusters_few_turns(number: int) -> None:
    turns = [one for one in rounds(nodes(number, 1), QUICK_STORAGE) if one.shape.kernel is Kernel.STORAGE_READ]
    assert len(turns) <= MOST_TURNS
    assert sorted(group[0] for one in turns for group in one.groups) == sorted(f"n{n}:0" for n in range(1, number + 1))


@pytest.mark.parametrize("number", [4, 64])
def test_a_check_has_little_in_files(number: int) -> None:
    assert bytes_at_once(nodes(number, 128), QUICK_STORAGE) <= 16 * MIB


@pytest.mark.parametrize("free", [50 * MIB, 1 << 30, 1 << 50])
@pytest.mark.parametrize(("number", "cores"), [(1, 1), (4, 2), (300, 64)])
def test_neither_the_cap_nor_the_share_of_free_space_is_passed(number: int, cores: int, free: int) -> None:
    places = nodes(number, cores)
    extent = fitting(places, FULL_STORAGE, free)
    if extent is None:
        assert least_bytes(places) > free // FREE_PART
    else:
        assert bytes_at_once(places, extent) <= min(max(MOST_BYTES, 16 * MIB * number), free // FREE_PART)


def test_nothing_fits_into_a_full_file_system() -> None:
    assert fitting(nodes(4, 2), FULL_STORAGE, 30 * MIB) is None
    assert fitting(nodes(4, 2), QUICK_STORAGE, 0) is None
    assert fitting(nodes(4, 2), FULL_STORAGE, 1 << 40) == FULL_STORAGE
