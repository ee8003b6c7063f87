"""Outputs of which each node has several lines with numbers: which one is the result, and what the others say."""

import random
from collections.abc import Sequence

import pytest

from seatrial.commands.judge.kinds import Kind
from seatrial.commands.judge.recognition import _kinds_of_text
from seatrial.importers.fleets import read_fleet_table
from seatrial.importers.headed_text import is_headed, prefixed
from seatrial.importers.printed_text import UnclearResultError
from seatrial.model.errors import UsageError
from seatrial.model.imported import Sense

RULE = "-" * 15
FILES = (
    "{node}.log:",
    "{node}_run{run}.out:3:",
    "results/{node}/hpcg.txt:",
    "{node}/run1.out:",
    "./{node}/out:17:",
    "run{run}/{node}/out:",
    "a/{node}.out:",
)


@pytest.mark.parametrize(
    ("line", "column"),
    [("\tRate: {}", "column 3"), ("\t\tWidth:\t{}", "column 3"), ("Rate: {}", "column 3"), ("Rate:\t{}", "column 3")],
)
def test_what_a_program_indents_by_tabs_is_no_cell(line: str, column: str) -> None:
    text = "".join(f"cn{node}: {line.format(10 if node == 7 else 40 + node % 2)}\n" for node in range(1, 10))
    table = read_fleet_table(text)
    assert {node: runs[0] for node, runs in table.values.items()}["cn7"] == 10
    assert len(table.values) == 9


def test_another_number_in_brackets_is_no_failure() -> None:
    lines = "".join(
        f"st{node}: READ: bw={rate}MiB/s ({rate * 1.048576:.0f}MB/s), {rate}MiB/s-{rate}MiB/s, run=30001-30001msec\n"
        for node, rate in enumerate((2310, 2312, 900, 2309, 2311), 1)
    )
    table = read_fleet_table(lines)
    assert (table.values["st3"], table.failed) == ([900], ())


@pytest.mark.parametrize("label", ["Base lid", "Port guid", "QPN"])
def test_what_a_port_is_called_by_is_no_result(label: str) -> None:
    lines = "".join(
        f"n{node}: Rate: {100 if node == 5 else 200}\nn{node}: {label}: {100 + node}\n" for node in range(9)
    )
    assert read_fleet_table(lines).values["n5"] == [100]


@pytest.mark.parametrize(("counter", "sense"), [("rx_crc_errors_phy", Sense.LOWER), ("rx_packets_phy", None)])
def test_counters_of_what_went_wrong_are_better_if_lower(counter: str, sense: Sense | None) -> None:
    lines = "".join(f"n{node}:      {counter}: {4211 if node == 3 else 1}\n" for node in range(1, 9))
    (stratum,) = read_fleet_table(lines).strata
    assert stratum.sense is sense


def printed(form: str, lines: Sequence[tuple[str, str]]) -> str:
    """What a launcher writes of the lines of nodes, as `form` names it."""
    match form:
        case "pdsh":
            return "".join(f"{node}: {line}\n" for node, line in lines)
        case "mixed":
            return printed("pdsh", random.Random(1).sample(lines, len(lines)))
    of_node: dict[str, list[str]] = {}
    for node, line in lines:
        of_node.setdefault(node, []).append(line)
    heading = {
        "clush": f"{RULE}\n{{}}\n{RULE}\n",
        "ansible": "{} | CHANGED | rc=0 >>\n",
        "salt": "{}:\n",
        "loop": "==> {} <==\n",
        "stars": "*** {} ***\n",
    }[form]
    indent = "    " * (form == "salt")
    return "".join(heading.format(node) + "".join(f"{indent}{line}\n" for line in own) for node, own in of_node.items())


def output(form: str, nodes: int, second: str, odd: str = "", *, result: str = "Triad {}") -> str:
    """A result and a second line of each node. `odd`: the second line of the last node."""
    names = [f"n{place:02}" for place in range(1, nodes + 1)]
    lines = [
        (node, line.format(120_000.5 + place % 3, at=place, name=node))
        for place, node in enumerate(names, 1)
        for line in (result, odd if odd and node == names[-1] else second)
    ]
    return printed(form, lines)


SECOND = [
    "Solution Validates: avg error less than 1.000000e-13 on all three arrays",
    "errors: 0",
    "12 passed, 0 failed",
    "real 0m12.{at}45s",
    "Iteration 5: residual {at}e-9",
    "HPL version 2.3",
    "Started Sat Nov 29 18:05:1{at} UTC 2026",
    "address 10.0.0.{at}",
    "output /scratch/run42/{name}/out.0001",
    "pid 41{at}7",
    "GPU temperature {at} C",
    "Number of threads 64",
    "Array size = 80000000 (elements), Offset = 0 (elements)",
    "seed={at}7",
]


@pytest.mark.parametrize("second", SECOND)
@pytest.mark.parametrize(
    ("form", "nodes"),
    [("pdsh", 2), ("mixed", 12), ("clush", 3), ("ansible", 8), ("salt", 4), ("loop", 12), ("stars", 3)],
)
@pytest.mark.parametrize("result", ["Triad {}", "bw={}", "Triad {} GB/s", "{}"])
def test_the_line_that_all_nodes_have_in_one_form_is_the_result(
    second: str, form: str, nodes: int, result: str
) -> None:
    text = output(form, nodes, second, result=result)
    table = read_fleet_table(text)
    values = {f"n{place:02}": [120_000.5 + place % 3] for place in range(1, nodes + 1)}
    assert (table.values, table.failed, table.lone) == (values, (), ())
    assert Kind.FLEET in _kinds_of_text(text)


@pytest.mark.parametrize("nodes", [3, 4, 12])
@pytest.mark.parametrize("form", ["pdsh", "clush", "loop"])
@pytest.mark.parametrize(
    ("usual", "odd", "failed"),
    [
        ("errors: 0", "errors: 3", True),
        ("12 passed, 0 failed", "11 passed, 1 failed", True),
        ("retries: 0", "retries: 3", False),
        ("Number of threads 64", "Number of threads 32", False),
        ("Number of threads 64", "Number of threads 128", False),
    ],
)
def test_another_count_is_named_with_both_lines(nodes: int, form: str, usual: str, odd: str, *, failed: bool) -> None:
    table = read_fleet_table(output(form, nodes, usual, odd))
    last = f"n{nodes:02}"
    assert [(cell.subject, cell.cell, cell.usual) for cell in table.lone] == [(last, odd, usual)]
    assert (table.failed, len(table.values)) == ((last,) * failed, nodes)


@pytest.mark.parametrize("odd", [0, 2])
def test_failures_that_many_nodes_count_are_named_and_fail_no_run(odd: int) -> None:
    lines = [
        (f"n{place:02}", line)
        for place in range(1, 9)
        for line in (f"Triad {380 + place % 3}.5", f"errors: {0 if place % 2 else odd + 1}")
    ]
    table = read_fleet_table(printed("pdsh", lines))
    named = [(cell.subject, cell.cell) for cell in table.lone]
    assert (table.failed, named) == ((), [(f"n{place:02}", f"errors: {odd + 1}") for place in (2, 4, 6, 8)])


OPEN_HEADINGS = ["### {}", "# {}", "[{}]", "== {}", "Host: {}", "node {}:", "{}:", ">>> {}", "{}"]


@pytest.mark.parametrize("heading", OPEN_HEADINGS)
def test_a_name_alone_on_a_line_is_a_heading(heading: str) -> None:
    values = {f"n{place:02}": [380.5 + place] for place in range(1, 7)}
    text = "".join(f"{heading.format(node)}\nTriad: {value}\nerrors: 0\n" for node, (value,) in values.items())
    assert read_fleet_table(text).values == values
    assert _kinds_of_text(text) == (Kind.FLEET,)


def test_an_empty_line_behind_the_name_of_a_node_is_no_heading() -> None:
    table = read_fleet_table("n1: \nn1: bw 380.5\nn2: \nn2: bw 381.5\nn3: \nn3: bw 382.5\nn4: Killed\n")
    assert (table.failed, table.values) == (("n4",), {"n1": [380.5], "n2": [381.5], "n3": [382.5], "n4": []})


def test_a_node_that_printed_nothing_below_its_heading_was_not_measured() -> None:
    """One of three; of one of two nobody knows whether names are headings."""
    table = read_fleet_table("### n1\nTriad 380.5\n### n2\n### n3\nTriad 381.5\n")
    assert table.values == {"n1": [380.5], "n2": [], "n3": [381.5]}


@pytest.mark.parametrize(
    "text",
    [
        "n1\n380.5\nn1\n381.5\n",
        "n1\n380.5\n# n2\n381.5\n",
        "n1\n380.5\nTest2\n381.5\n",
        "n1\nn2\n381.5\n",
        "Begin of all\nn1\n380.5\nn2\n381.5\n",
        "run1\n380.5\nrun2\n381.5\n",
        "mlx5_0\n24.5\nmlx5_1\n24.6\n",
    ],
    ids=["one node", "two forms", "two kinds of names", "nothing below", "text above", "runs", "devices"],
)
def test_other_names_alone_on_a_line_are_no_headings(text: str) -> None:
    assert not is_headed(text)


@pytest.mark.parametrize(("name", "headed"), [("n{}", True), ("run{}", False), ("gpu{}", False)])
def test_headings_of_runs_are_none_of_nodes(name: str, *, headed: bool) -> None:
    text = "".join(f"=== {name.format(place)} ===\nTriad 380.{place}\n" for place in range(1, 5))
    assert is_headed(text) == headed


@pytest.mark.parametrize(
    ("usual", "odd", "named"),
    [
        ("checksum 814300", "checksum 814300", False), ("checksum 814300", "checksum 814301", True),
        ("retries: 4", "retries: 7", False), ("retries: 4", "retries: 8", True),
        ("retries: 4", "retries: 2", True), ("retries: 4", "retries: 3", False),
        ("max_error 1.2e-13", "max_error nan", True), ("max_error 1.2e-13", "max_error inf", True),
    ],
)  # fmt: skip
def test_a_count_is_named_from_half_or_twice_the_usual_one_on_and_a_checksum_by_any_digit(
    usual: str, odd: str, *, named: bool
) -> None:
    assert {cell.subject for cell in read_fleet_table(output("pdsh", 12, usual, odd)).lone} == {*["n12"] * named}


@pytest.mark.parametrize(("words", "named"), [(("Mon", "Tue"), True), (("Mon", "Tue", "Wed"), False)])
def test_three_lines_that_begin_alike_are_words_of_their_own(words: Sequence[str], *, named: bool) -> None:
    lines = [
        (f"n{place:02}", line)
        for place in range(12)
        for line in (f"Triad {380 + place % 3}.5", f"Last login: {words[place % len(words)]}")
    ]
    assert bool(read_fleet_table(printed("pdsh", lines)).lone) == named


@pytest.mark.parametrize("form", ["pdsh", "clush", "loop"])
@pytest.mark.parametrize(
    ("second", "label"),
    [
        ("Elapsed 12.{at} s", "Elapsed"),
        ("took 12.{at} s in 3 loops", "took"),
        ("Score of {name} is {at}.5", "Score of n0 is"),
        ("{at}.5 s needed", "s needed"),
    ],
)
def test_what_cannot_be_told_is_asked(form: str, second: str, label: str) -> None:
    text = output(form, 6, second)
    assert _kinds_of_text(text) == (Kind.FLEET,)
    with pytest.raises(UnclearResultError) as refused:
        read_fleet_table(text)
    assert repr("Triad") in refused.value.what
    assert repr(label) in refused.value.what
    assert read_fleet_table(text, "Triad").values["n02"] == [120_002.5]


@pytest.mark.parametrize("lines", [("real {}",), ("real\t{}", "user\t0m1.2s", "sys\t0m0.1s")])
@pytest.mark.parametrize("form", ["pdsh", "clush", "loop"])
def test_what_a_shell_measured_is_the_result_where_no_other_is(form: str, lines: Sequence[str]) -> None:
    took = {"n1": "0m12.5s", "n2": "1m0.25s", "n3": "1h1m1,5s", "n4": "60m1s"}
    text = printed(form, [(node, line.format(time)) for node, time in took.items() for line in lines])
    table = read_fleet_table(text)
    assert table.values == {"n1": [12.5], "n2": [60.25], "n3": [3661.5], "n4": [3601.0]}
    assert _kinds_of_text(text) == (Kind.FLEET,)


def test_a_column_of_times_of_a_shell_is_in_seconds() -> None:
    table = read_fleet_table("node\ttook\nn1\t1m2.5s\nn2\t1m3.0s\nn3\t0m59.5s\n")
    assert table.values == {"n1": [62.5], "n2": [63.0], "n3": [59.5]}


@pytest.mark.parametrize(
    "line",
    [
        "bandwidth = {} MB/s, latency = {} us",
        "bandwidth={} MB/s; latency={} us",
        "bandwidth = {} latency = {}",
    ],
)
def test_values_of_one_line_are_values_of_their_names(line: str) -> None:
    text = printed("pdsh", [(f"n{place}", line.format(24_000.5 + place, 1.25 + place)) for place in range(1, 5)])
    metrics = {stratum.conditions: stratum.values for stratum in read_fleet_table(text).strata}
    bandwidth = {f"n{place}": [24_000.5 + place] for place in range(1, 5)}
    latency = {f"n{place}": [1.25 + place] for place in range(1, 5)}
    assert metrics == {(("metric", "bandwidth"),): bandwidth, (("metric", "latency"),): latency}


@pytest.mark.parametrize(("words", "asked"), [("Number of Threads requested", False), ("Score of n0 is", True)])
def test_a_line_of_a_condition_is_no_result(words: str, *, asked: bool) -> None:
    lines = [
        (f"n{place}", line)
        for place in range(1, 7)
        for line in (f"Triad {380 + place}.5", f"{words} = {32 if place == 4 else 64}")
    ]
    text = printed("pdsh", lines)
    if asked:
        with pytest.raises(UnclearResultError):
            read_fleet_table(text)
    else:
        (cell,) = read_fleet_table(text).lone
        assert (cell.subject, cell.cell[-2:], cell.usual[-2:]) == ("n4", "32", "64")
        assert cell.text(["n4"], "n4") == "n4 has a line … requested = 32, others … requested = 64"


@pytest.mark.parametrize(("same", "asked"), [(9, True), (10, False)])
def test_a_number_that_all_nodes_print_is_a_setting(same: int, *, asked: bool) -> None:
    lines = [
        (f"n{place:02}", line)
        for place in range(10)
        for line in (f"Triad {380 + place}.5", f"tiles {64 if place < same else place} of each")
    ]
    if asked:
        with pytest.raises(UnclearResultError):
            read_fleet_table(printed("pdsh", lines))
    else:
        assert read_fleet_table(printed("pdsh", lines)).values["n01"] == [381.5]


@pytest.mark.parametrize(("unit", "sense"), [("microseconds", Sense.LOWER), ("GB/s", Sense.HIGHER)])
def test_the_unit_of_a_line_says_which_values_are_good(unit: str, sense: Sense) -> None:
    (stratum,) = read_fleet_table("".join(f"n{number}: call 1{number}.1 {unit}\n" for number in range(1, 9))).strata
    assert stratum.sense is sense


@pytest.mark.parametrize(("odd", "named"), [("1.21e-12", ["n12"]), ("1.19e-12", []), ("0.5", ["n12"]), ("1.2e-13", [])])
def test_an_error_is_named_from_ten_times_the_largest_of_all_others_on(odd: str, named: list[str]) -> None:
    text = output("pdsh", 12, "max_error 1.2e-13", f"max_error {odd}")
    table = read_fleet_table(text)
    assert [(cell.subject, cell.cell) for cell in table.lone] == [(node, f"max_error {odd}") for node in named]
    assert (table.values["n12"], table.failed) == ([120_000.5], ())


def test_numbers_beside_assignments_are_columns_too() -> None:
    text = "".join(f"n{node}: DGEMM N=20000 performance: {3200 + node}.5 GFLOPS\n" for node in range(1, 7))
    assert read_fleet_table(text).values == {f"n{node}": [3200.5 + node] for node in range(1, 7)}


@pytest.mark.parametrize("form", ["pdsh", "clush", "loop"])
@pytest.mark.parametrize("second", ["took {at}.5 s", "errors: 0", ""])
def test_a_line_that_no_node_has_is_refused_with_those_that_they_have(form: str, second: str) -> None:
    text = output(form, 6, second) if second else output(form, 6, "Triad 380.5")
    with pytest.raises(UsageError) as refused:
        read_fleet_table(text, "nonsense")
    assert refused.value.what == "No line of the nodes is called 'nonsense'."
    assert "Triad" in refused.value.remedy
    assert ("took" in refused.value.remedy) == second.startswith("took")
    assert read_fleet_table(output(form, 6, "took {at}.5 s"), "Triad").values["n02"] == [120_002.5]


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("{at}.5,GB/s", 4.5),
        ("Triad 312,5{at}7.5 MB/s", 312_547.5),
        ("Triad 38{at},25 MB/s", 384.25),
        ("Triad:\t38{at}.5\tGB/s", 384.5),
    ],
)
def test_a_comma_within_a_number_divides_nothing(line: str, value: float) -> None:
    text = "".join(f"n{at}: {line.format(at=at)}\n" for at in range(1, 9))
    table = read_fleet_table(text)
    assert (table.values["n4"], len(table.values), _kinds_of_text(text)) == ([value], 8, (Kind.FLEET,))


@pytest.mark.parametrize(("words", "sure"), [(("Simple",), False), (("Simple", "Other"), True)])
def test_a_word_that_all_lines_have_is_no_name_of_a_node_with_several_runs(words: Sequence[str], *, sure: bool) -> None:
    rows = ((word, name) for word in words for name in ("syscall:", "read:", "write:"))
    text = "".join(f"{word} {name} 0.{place}1 microseconds\n" for place, (word, name) in enumerate(rows, 1))
    assert (_kinds_of_text(text) == (Kind.FLEET,)) == sure


@pytest.mark.parametrize("file", FILES)
def test_the_file_in_which_grep_found_a_line_names_its_node(file: str) -> None:
    nodes = [f"n{place:02}" for place in range(1, 9)]
    found = [
        f"{file.format(node=node, run=run)}Triad: {1000 + run + place}.5 GB/s\n"
        for run in (1, 2)
        for place, node in enumerate(nodes)
    ]
    table = read_fleet_table("".join(found))
    assert {node: sorted(values) for node, values in table.strata[0].values.items()} == {
        node: [1001.5 + place, 1002.5 + place] for place, node in enumerate(nodes)
    }


@pytest.mark.parametrize(
    "file", ["size{at}/out:", "logs/HPCG-Benchmark_3.1_2026-12-16_11-0{at}.txt:", "np{at}/hpl.out:", "{at}/n/out:"]
)
def test_files_of_runs_and_sizes_are_no_nodes(file: str) -> None:
    text = "".join(f"{file.format(at=at)}rating {at} of=2{at}.5\n" for at in range(1, 9))
    assert prefixed(text) == text
    assert prefixed(f"n1/out:x 5\n{text}n2/out:x 5\n").count("n1: ") == 0
