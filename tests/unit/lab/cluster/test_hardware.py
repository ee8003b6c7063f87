"""What the made-up hardware of the lab's nodes says, and that nothing in it contradicts anything else."""

import posixpath

from hypothesis import given
from hypothesis import strategies as st

from seatrial.lab.cluster.sysroot import (
    BASE_FOLDERS,
    BASE_SLICE_FILE,
    ROOT_PORT_FOLDER,
    base_files,
    base_links,
    bus_links,
    governor_files,
    width_files,
)
from tests.support.lab_hosts import CARD_FOLDER

FILES = base_files(range(2))
LINKS = base_links()


def target(path: str) -> str:
    """Where a link leads, with the links on the way there unresolved, of which there are none here."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), LINKS[path]))


def test_every_file_is_one_line_at_an_absolute_path() -> None:
    for path, content in FILES.items():
        assert path.startswith("/sys/")
        assert content.endswith("\n")
        assert content.count("\n") == 1
        assert content.strip()


def test_every_link_leads_to_a_folder_that_is_there() -> None:
    folders = {posixpath.dirname(path) for path in (*FILES, *LINKS)} | set(BASE_FOLDERS)
    for path in LINKS:
        assert target(path) in folders, path


def test_nothing_is_written_through_a_link() -> None:
    for path in FILES:
        assert not any(path.startswith(f"{link}/") for link in LINKS)


def test_eth0_belongs_to_the_card_behind_the_root_port() -> None:
    assert target("/sys/class/net/eth0") == f"{CARD_FOLDER}/net/eth0"
    assert target(f"{CARD_FOLDER}/net/eth0/device") == CARD_FOLDER
    assert posixpath.dirname(CARD_FOLDER) == ROOT_PORT_FOLDER
    assert FILES[f"{ROOT_PORT_FOLDER}/class"] == "0x060400\n"
    assert FILES[f"{CARD_FOLDER}/class"] == "0x020000\n"


def test_a_healthy_node_has_nothing_to_find() -> None:
    for folder in (ROOT_PORT_FOLDER, CARD_FOLDER):
        for what in ("speed", "width"):
            assert FILES[f"{folder}/current_link_{what}"] == FILES[f"{folder}/max_link_{what}"]
    assert FILES[f"{CARD_FOLDER}/current_link_speed"] == "8.0 GT/s PCIe\n"
    assert FILES[f"{CARD_FOLDER}/current_link_width"] == "8\n"
    for number in range(2):
        here = f"/sys/devices/system/cpu/cpu{number}/cpufreq"
        assert FILES[f"{here}/scaling_governor"] == "performance\n"
        assert FILES[f"{here}/scaling_max_freq"] == FILES[f"{here}/cpuinfo_max_freq"]
        assert FILES[f"{here}/scaling_min_freq"] == FILES[f"{here}/cpuinfo_min_freq"]
    assert FILES[BASE_SLICE_FILE] == "2800000\n"


@given(st.sets(st.integers(0, 1023), min_size=1, max_size=20))
def test_every_processor_has_its_frequencies_and_can_be_slowed_down(numbers: set[int]) -> None:
    files = base_files(numbers)
    slowed = governor_files(numbers, "powersave")
    assert len(slowed) == len(numbers)
    assert all(files[path] == "performance\n" and content == "powersave\n" for path, content in slowed.items())


def test_what_a_fault_replaces_is_there_and_reached_by_the_bus() -> None:
    narrow = width_files(4)
    assert set(narrow) == {f"{folder}/current_link_width" for folder in (ROOT_PORT_FOLDER, CARD_FOLDER)}
    assert set(narrow) <= set(FILES)
    assert {target(path) for path in bus_links()} == {posixpath.dirname(path) for path in narrow}
    assert bus_links().items() <= LINKS.items()
