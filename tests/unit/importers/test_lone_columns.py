"""Columns beside the values of nodes: which are compared, with whom, and what a missing number is."""

from collections.abc import Callable, Sequence
from random import Random

import pytest

from seatrial.importers.fleets import read_fleet_table
from seatrial.importers.lone_numbers import FEWEST_SIGNED, far_numbers

NODES = 12
BAD = 4


def named(name: str, cells: Sequence[object], *, beside: str = "", kinds: Sequence[object] = ()) -> list[str]:
    """Who is named for a column of nodes n01, n02, ... `beside`, `kinds`: another column."""
    random = Random(5)
    rows = [
        ",".join((f"n{node:02}", *([str(kinds[node - 1])] if beside else []), str(cell), f"{random.gauss(380, 2):.1f}"))
        for node, cell in enumerate(cells, 1)
    ]
    heading = ",".join(("node", *([beside] if beside else []), name, "triad_GBs"))
    return [one.subject for one in read_fleet_table("\n".join((heading, *rows, "")), "triad_GBs").lone]


def with_bad(cell: Callable[[Random], object], bad: object, seed: int = 1) -> list[object]:
    random = Random(seed)
    return [bad if node == BAD else cell(random) for node in range(1, NODES + 1)]


@pytest.mark.parametrize(
    ("small", "bad"),
    [
        (("0", "1e-15", "3e-15", "2e-15"), "4e-06"),
        (("0", "0.0000001", "0.0000003", "0"), "0.0021"),
        (("0", "1e-254", "0", "3e-254"), "1e-9"),
    ],
)
def test_numbers_of_any_size_beside_zero_are_compared(small: Sequence[str], bad: str) -> None:
    cells = [small[node % len(small)] for node in range(NODES)]
    assert named("raw_ber", cells) == []
    cells[BAD - 1] = bad
    assert named("raw_ber", cells) == ["n04"]


@pytest.mark.parametrize("missing", ["", "N/A", "-", "nan"])
@pytest.mark.parametrize("name", ["temp_C", "psu_W", "rank_load"])
def test_a_number_that_few_nodes_lack_is_named(missing: str, name: str) -> None:
    assert named(name, with_bad(lambda r: round(r.gauss(60, 3)), missing)) == ["n04"]
    cells = [missing if node % 2 else 60 + node % 5 for node in range(NODES)]
    assert named(name, cells) == []
    assert named(name, [missing] * NODES) == []


@pytest.mark.parametrize(
    "written", ["{}C", "+{}.0°C", "{} RPM", "{} degrees C", "-{}.25 dBm", "{} Watts", "{}%", "{} W", "{} Volts"]
)
def test_numbers_with_what_sensors_write_behind_them_are_numbers(written: str) -> None:
    def cell(random: Random) -> str:
        return written.format(round(random.gauss(60, 2)))

    assert named("sensor", with_bad(cell, written.format(94))) == ["n04"]
    assert named("sensor", with_bad(cell, written.format(61))) == []


@pytest.mark.parametrize("written", ["{}x", "{}.el8", "10.1.0.{}", "{}-rc", "{} mm of 20"])
def test_other_words_that_begin_with_a_number_are_words(written: str) -> None:
    table = read_fleet_table("node,what,bw\n" + "".join(f"n{n},{written.format(n)},{380 + n % 3}\n" for n in range(12)))
    assert "what" in (*table.roles.unused, *table.roles.properties)


@pytest.mark.parametrize(
    "name", ["port_width", "slot_speed", "switch_fan_alarm", "row_remaps", "rack_power_W", "bay_state_led"]
)
def test_a_word_of_places_within_a_name_does_not_silence_it(name: str) -> None:
    assert named(name, with_bad(lambda _: 4, 1)) == ["n04"]


@pytest.mark.parametrize(
    "name",
    ["rack", "room", "site", "zone", "pod", "power_feed", "pdu_outlet", "Seriennummer", "Anlagennr", "psu_sn",
     "cable_m", "serial_no", "port", "rack_unit", "vendor_contact", "uptime_days", "power_on_hours",
     "reboot_count", "leaf_port"],
)  # fmt: skip
@pytest.mark.parametrize("cells", [(4, 1), (7730120, 9911204)])
def test_places_numbers_and_ages_are_not_compared(name: str, cells: tuple[int, int]) -> None:
    assert named(name, with_bad(lambda _: cells[0], cells[1])) == []
    for usual, odd in (("03/2027", "09/2028"), ("Q1 2022", "Q3 2023"), ("2024-01-03", "2023-01-02")):
        assert named("warranty", [odd if node == BAD else usual for node in range(1, NODES + 1)]) == []


SETTINGS = ("cpu_governor", "cpu_boost_profile", "processor_throttling_level", "type_of_power")
MODELS = ("cpu_model", "Model name", "type", "partition", "cpu", "CPU type")


@pytest.mark.parametrize("name", [*SETTINGS, *MODELS])
def test_models_are_kinds_of_nodes_and_settings_are_none(name: str) -> None:
    rows = [
        f"n{n},{'low' if n < 4 else 'high'},{run},{266 if n < 4 else 380}.{n % 3}" for n in range(16) for run in "123"
    ]
    assert read_fleet_table("\n".join([f"node,{name},run,bw_GBs", *rows])).roles.conditions == (name,) * (
        name in MODELS
    )


@pytest.mark.parametrize(
    ("name", "condition"),
    [("retry_count", False), ("stall_count", False), ("dimm_count", False), ("num_resets", False), ("count", True),
     ("gpu_count", True), ("num_ranks", True), ("thread_count", True)],
)  # fmt: skip
def test_only_counts_of_what_runs_are_sizes(name: str, condition: bool) -> None:
    rows = [f"n{n},{4 if n == 3 else 8},{380 + n % 3}.5" for n in range(16)]
    roles = read_fleet_table("\n".join([f"node,{name},bw_GBs", *rows]), "bw_GBs").roles
    assert roles.conditions == ((name,) if condition else ())


@pytest.mark.parametrize(("bad", "expected"), [(-480000, ["n04"]), (480000, ["n04"]), (-31, []), (0, [])])
def test_numbers_of_both_signs_are_compared_by_their_distance(bad: int, expected: list[str]) -> None:
    for seed in range(20):
        cells = [7, -7, *with_bad(lambda r: round(r.gauss(0, 12)), bad, seed)[2:]]
        assert named("ntp_offset_us", cells) == expected


@pytest.mark.parametrize(("nodes", "expected"), [(FEWEST_SIGNED, {"n0"}), (FEWEST_SIGNED - 1, set())])
def test_of_few_nodes_distances_are_alike_by_chance(nodes: int, expected: set[str]) -> None:
    rows = [((f"n{node}",), -9.0 if node == 0 else 0.1 * node - 0.25) for node in range(nodes)]
    assert {*far_numbers(rows)} == expected


def test_words_are_compared_with_those_of_the_same_model() -> None:
    kinds = ["X"] * 10 + ["Y"] * 6
    assert named("lanes", ["x8"] * 10 + ["x16"] * 6, beside="model", kinds=kinds) == []
    assert named("lanes", ["x8"] * 10 + ["x16"] * 5 + ["x8"], beside="model", kinds=kinds) == ["n16"]
    assert named("cores", [64] * 10 + [96] * 6, beside="partition", kinds=kinds) == []
    assert named("bios", ["2.4"] * 9 + ["2.3"] + ["1.8"] * 6, beside="model", kinds=kinds) == ["n10"]


def of_parts(number: Callable[[Random, int, int], float], nodes: int = NODES, seed: int = 3) -> list[str]:
    random = Random(seed)
    rows = [
        f"n{node},{gpu},{number(random, node, gpu):.1f},{random.gauss(25, 0.1):.2f}"
        for node in range(1, nodes + 1)
        for gpu in range(4)
    ]
    return [one.subject for one in read_fleet_table("\n".join(["node,gpu,temp_C,h2d_GBs", *rows]), "h2d_GBs").lone]


@pytest.mark.parametrize(
    ("usual", "bad"), [((44, 58, 45, 60), 66), ((44, 46, 48, 75), 75), ((290, 290, 290, 82), 200), ((9, 9, 9, 90), 90)]
)
def test_a_part_is_compared_with_those_at_its_place(usual: Sequence[int], bad: int) -> None:
    for seed in range(10):
        assert of_parts(lambda r, _, gpu: r.gauss(usual[gpu], 1), seed=seed) == []
        assert of_parts(lambda r, _, gpu: r.gauss(usual[gpu], 1), 2, seed=seed) == []
        far = of_parts(lambda r, node, gpu: bad if (node, gpu) == (BAD, 0) else r.gauss(usual[gpu], 1), seed=seed)
        assert far == ["n4 gpu 0"]


@pytest.mark.parametrize(("last", "expected"), [(1400, []), (2600, ["n04"])])
def test_ten_times_as_much_is_farther_than_the_others_are_from_each_other(last: int, expected: list[str]) -> None:
    cells = [last if node == BAD else 130 - node if node > 8 else 8 + node % 2 for node in range(1, NODES + 1)]
    assert named("pages_k", cells) == expected


def test_numbers_of_one_condition_of_many_are_alike_by_chance() -> None:
    for seed in range(10):
        random = Random(seed)
        rows = [
            f"n{node},bus{gpu},{round(random.gauss(44 + 2 * gpu, 1))},{random.gauss(25, 0.1):.2f}"
            for node in range(8)
            for gpu in range(8)
        ]
        assert read_fleet_table("\n".join(["node,pci_bus,temp_C,h2d_GBs", *rows]), "h2d_GBs").lone == ()
