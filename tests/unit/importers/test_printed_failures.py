"""Outputs of many nodes in one file, of which some failed, and headings of several nodes that printed the same."""

import json

import pytest

from seatrial.importers.fleets import FleetTable, read_fleet_table
from seatrial.importers.headed_text import MOST_CHARACTERS, is_headed, with_prefixes
from seatrial.importers.printed_text import by_node
from seatrial.model.errors import UsageError

NODES = [f"n{number:02}" for number in range(1, 11)]
RULE = "---------------\n"


def headed(*blocks: tuple[str, str]) -> str:
    return "".join(f"{RULE}{name}\n{RULE}{said}\n" for name, said in blocks)


def failures(table: FleetTable) -> dict[str, int]:
    """Node that failed -> how many values it has left."""
    return {node: len(table.values[node]) for node in table.failed}


@pytest.mark.parametrize(
    ("names", "others"),
    [
        (("n[01-04,06-10] (9)", "n05"), ()),
        (("n[01-04,06-08] (7)", "n05", "n[09-10] (2)"), ()),
        (("n[01-04,06-10]", "n05"), ()),
        (("n01,n02,n[03-04,06-10]", "n05 (1)"), ()),
        (("n[01-04,06-10],m1 (10)", "n05"), ("m1",)),
    ],
)
@pytest.mark.parametrize("said", ["24.5", "Triad 24.5 GB/s", "24.5\n24.6"])
def test_each_node_of_a_set_has_the_lines_below_its_heading(
    names: tuple[str, ...], others: tuple[str, ...], said: str
) -> None:
    table = read_fleet_table(
        headed(*((name, said.replace("24", "12") if name[:3] == "n05" else said) for name in names))
    )
    usual = [24.5, 24.6][: said.count("\n") + 1]
    expected = {node: [round(value - 12 * (node == "n05"), 3) for value in usual] for node in (*NODES, *others)}
    assert table.values == expected


@pytest.mark.parametrize("name", ["n[01-04] (9)", "n[01-04,07] (4)", "n[1-99999999] (99999999)"])
def test_a_set_of_another_number_of_nodes_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="The heading"):
        read_fleet_table(headed((name, "24.5"), ("n05", "24.5")))


def test_lines_are_not_repeated_without_end() -> None:
    with pytest.raises(UsageError, match="64 MiB"):
        with_prefixes(headed(("n[1-60000]", "24.5 " * (MOST_CHARACTERS // 200_000))))


@pytest.mark.parametrize("title", ["[options]", "Results (3)", "[1-3"])
def test_titles_between_rules_are_no_sets_of_nodes(title: str) -> None:
    text = headed((title, "Triad 24.5"))
    assert with_prefixes(text) == text or title in with_prefixes(text)
    assert by_node(text) == {}


@pytest.mark.parametrize("unit", ["", " GB/s", " GB/s in 3 loops"])
@pytest.mark.parametrize("words", ["FAILED", "TIMEOUT", "bash: line 1: 4711 Segmentation fault", "error: no memory"])
def test_a_failure_among_the_runs_of_a_node_is_one_of_its_runs(unit: str, words: str) -> None:
    lines = [f"{node}: 24.{run}{node[1:]}{unit}" for run in range(1, 4) for node in NODES]
    lines[17] = f"n08: {words}"
    table = read_fleet_table("\n".join(lines))
    assert failures(table) == {"n08": 2}
    assert all(len(values) == 3 for node, values in table.values.items() if node != "n08")


@pytest.mark.parametrize(
    "said",
    [
        "clush: n03: exited with exit code 1",
        "clush: n[03,05] (2): exited with exit code 1",
        "pdsh@admin: n03: ssh exited with exit code 1\npdsh@admin: n05: ssh exited with exit code 1",
    ],
)
@pytest.mark.parametrize("above", [True, False])
def test_what_a_launcher_says_about_a_node_is_of_that_node(said: str, above: bool) -> None:
    values = "24.5\n24.6"
    text = headed(*((node, values) for node in NODES))
    table = read_fleet_table(f"{said}\n{text}" if above else f"{text}{said}\n")
    assert failures(table) == dict.fromkeys(("n03", "n05") if "05" in said else ("n03",), 2)


@pytest.mark.parametrize("heading", ["FAILED | rc=139 >>", "FAILED! =>", "UNREACHABLE! =>", "CHANGED | rc=2 >>"])
def test_what_ansible_calls_failed_has_no_value(heading: str) -> None:
    failing = (
        json.dumps({"rc": 1, "stdout": "24.5", "stderr": "residual"}) if "=>" in heading else "24.5non-zero return"
    )
    usual = json.dumps({"changed": True, "rc": 0, "stdout": "24.5"}, indent=4)
    text = "".join(
        (f"{node} | {heading} {failing}\n" if "=>" in heading else f"{node} | {heading}\n{failing}\n")
        if node == "n09"
        else (f"{node} | CHANGED => {usual}\n" if "=>" in heading else f"{node} | CHANGED | rc=0 >>\n24.5\n")
        for node in NODES
    ).replace('=> {"', '=> {\n"')
    table = read_fleet_table(text)
    assert failures(table) == {"n09": 0}
    assert all(values == [24.5] for node, values in table.values.items() if node != "n09")


@pytest.mark.parametrize("failure", ["n04: bash: ./stream: No such file or directory", "n04: FAILED", "n04: killed"])
def test_a_failure_of_a_node_is_one_of_each_of_its_measurements(failure: str) -> None:
    lines = [f"{node}: {kernel} 24.{run}" for run in range(2) for node in NODES for kernel in ("Copy", "Triad")]
    table = read_fleet_table("\n".join([*lines[:30], failure, *lines[30:]]))
    assert failures(table) == {"n04": 4}
    assert len(table.failed) == 2
    assert [len(stratum.values) for stratum in table.strata] == [len(NODES)] * 2


@pytest.mark.parametrize("line", ["n08: 24.5", "n08: 24.5 of 3", "n08: warming up"])
def test_other_lines_of_a_measured_node_are_no_failures(line: str) -> None:
    lines = [f"{node}: 24.{run} GB/s" for run in range(1, 4) for node in NODES]
    lines[17] = line
    with pytest.raises(UsageError, match=r"[Rr]ow 18"):
        read_fleet_table("\n".join(lines))


USUAL = ("SUCCESS", "")


def relayed(form: str, lost: str = "") -> str:
    """What pssh or salt writes of a line of each node. `lost`: the node of which there is none."""
    said = "Minion did not return. [No response]"
    texts = {node: said if node == lost else f"Triad: {240 + place / 10}" for place, node in enumerate(NODES)}
    if form == "pssh":
        ends = {lost: ("FAILURE", " Exited with error code 255")}
        heads = {node: f"[{word}] {node}{said}" for node in NODES for word, said in [ends.get(node, USUAL)]}
        return "".join(f"[{place}] 12:00:01 {heads[node]}\n{texts[node]}\n" for place, node in enumerate(NODES, 1))
    if form == "indented":
        end = "ERROR: Minions returned with non-zero exit code\n" if lost else ""
        return "".join(f"{node}:\n    {line}\n" for node, line in texts.items()) + end
    members = {node: False if node == lost else line for node, line in texts.items()}
    if form == "one object":
        return json.dumps(members, indent=4)
    return "".join(json.dumps({node: line}, indent=4) + "\n" for node, line in members.items())


@pytest.mark.parametrize("form", ["pssh", "indented", "one object", "objects"])
@pytest.mark.parametrize("lost", ["", "n05"])
def test_what_pssh_and_salt_write_is_of_each_node(form: str, lost: str) -> None:
    table = read_fleet_table(relayed(form, lost))
    assert failures(table) == ({lost: 0} if lost else {})
    values = {node: values for node, values in table.values.items() if node != lost}
    assert values == {node: [240 + place / 10] for place, node in enumerate(NODES) if node != lost}


@pytest.mark.parametrize(
    "text",
    [
        "limits:\n    24.5\n    24.6\n",
        "n01:\n    24.5\n",
        "n01:\n    24.5\nand a line\nlimits2:\n    24.6\n",
        '{"n01": "24.5"}\n{"n01": "24.6"}\n',
        '{"bandwidth": "24.5", "latency": "1.2"}',
        '{"n01": [24.5], "n02": [24.6]}',
        "[1, 2, 3]",
    ],
)
def test_what_only_resembles_it_has_no_headings(text: str) -> None:
    assert not is_headed(text)
    assert with_prefixes(text) == text


@pytest.mark.parametrize(
    ("line", "where", "named"),
    [
        ("WARNING: numa balancing is on", {4}, ["n04"]),
        ("[warning] 3 of 4 fans turn", {2, 7}, ["n02", "n07"]),
        ("Last login: Mon from admin", {1}, ["n01"]),
        ("WARNING: transparent hugepages disabled", {*range(1, 11)}, NODES),
        ("results are not valid, clock too coarse", {*range(1, 11)}, NODES),
        ("WARNING: GPU 3 at PCIe x8", {*range(1, 9)}, NODES[:8]),
        ("CPU throttled", {*range(1, 6)}, NODES[:5]),
        ("CPU throttled", {*range(1, 7)}, NODES[:6]),
        ("Welcome to the cluster", {*range(1, 7)}, NODES[:6]),
        ("Welcome to the cluster", {*range(1, 9)}, NODES[8:]),
        ("Welcome to the cluster", {*range(1, 11)}, []),
        ("no error found", {*range(1, 11)}, []),
        ("Test passed, no failure detected", {*range(1, 11)}, []),
        ("Residual check: error none", {*range(1, 11)}, []),
    ],
)
@pytest.mark.parametrize("runs", [1, 3])
def test_a_line_beside_the_values_is_left_out_and_named_where_few_have_it(
    line: str, where: set[int], named: list[str], runs: int
) -> None:
    def printed(place: int, node: str) -> str:
        values = "".join(f"{node}: Triad {380 + (place + run) % 3}.5\n" for run in range(runs))
        return f"{node}: {line}\n{values}" if place in where else values

    table = read_fleet_table("".join(printed(place, node) for place, node in enumerate(NODES, 1)))
    assert ([cell.subject for cell in table.lone], table.failed) == (named, ())
    assert {node: len(values) for node, values in table.values.items()} == dict.fromkeys(NODES, runs)


@pytest.mark.parametrize("line", ["error: no such device", "Retry Triad 120.5", "bus error 7"])
def test_a_line_that_may_be_a_failure_or_a_value_is_not_left_out(line: str) -> None:
    text = "".join(f"{node}: Triad {380 + place % 3}.5\n" for place, node in enumerate(NODES)) + f"n04: {line}\n"
    try:
        table = read_fleet_table(text)
    except UsageError:
        return
    assert "n04" in (*table.failed, *table.without_value)


@pytest.mark.parametrize("line", ["result INVALID", "Verification mismatch in array c", "WRONG RESULT",
                                  "slurmstepd: *** STEP CANCELLED DUE TO TIME LIMIT ***", "data corrupt"])  # fmt: skip
@pytest.mark.parametrize("before", ["", "WARNING: "])
def test_a_line_that_says_that_the_result_is_wrong_is_of_a_run_that_failed(line: str, before: str) -> None:
    text = "".join(f"{node}: Triad {380 + place % 3}.5\n" for place, node in enumerate(NODES))
    assert failures(read_fleet_table(f"{text}n04: {before}{line}\n")) == {"n04": 1}


@pytest.mark.parametrize("line", ["Solution Validates", "Verification: PASSED", "RESULT VALID", "Check successful"])
@pytest.mark.parametrize("instead", ["", "Solution does not validate", "RESULT INVALID", "Check UNSUCCESSFUL", "Hm"])
@pytest.mark.parametrize("runs", [1, 3])
def test_a_node_without_the_line_by_which_others_are_right_has_a_run_that_failed(
    line: str, instead: str, runs: int
) -> None:
    def said(node: str, run: int) -> str:
        return instead if (node, run) == ("n04", 0) else line

    text = "".join(
        f"{node}: Triad {380 + (place + run) % 3}.5\n" + (f"{node}: {said(node, run)}\n" if said(node, run) else "")
        for run in range(runs)
        for place, node in enumerate(NODES)
    )
    assert failures(read_fleet_table(text)) == {"n04": runs}


@pytest.mark.parametrize(
    "line",
    [
        "Last login: {day} from admin",
        "Job {number} of 12 began: {day}",
        "Warning: Permanently added '{node},10.1.0.{number}' (ECDSA) to the list of known hosts.",
        "Running on {node}",
        "Started at 12:0{digit}:1{digit}",
        "Time limit none, warnings: 0",
        "Solution Validates",
    ],
)
def test_what_every_node_says_in_its_own_words_is_not_named(line: str) -> None:
    days = ("Mon", "Tue", "Wed", "Thu")
    text = "".join(
        f"{node}: {line.format(node=node, day=days[place % 4], number=place + 17, digit=place % 10)}\n"
        f"{node}: Triad {380 + place % 3}.5\n"
        for place, node in enumerate(NODES)
    )
    try:
        table = read_fleet_table(text)
    except UsageError:  # numbers among the words may be values
        return
    assert (table.lone, table.failed) == ((), ())


@pytest.mark.parametrize(
    ("usual", "odd", "failed", "named"),
    [
        ("rc=0", "rc=139", ["n04"], []),
        ("exit status 0", "exit status 1", ["n04"], []),
        ("finished, exit code: 0", "finished, exit code: 137", ["n04"], []),
        ("verification PASSED (max diff 1e-15)", "verification PASSED (max diff 2e-15)", [], []),
        ("Verification passed in 12s", "Verification passed in 13s", [], []),
        ("check OK: 100% correct, residual=2.2e-16", "check OK: 100% correct, residual=3.1e-16", [], []),
        ("ECC_errors=0", "ECC_errors=4096", [], ["n04"]),
        ("Width x16", "Width x8", [], ["n04"]),
        ("8/8 GPUs healthy", "7/8 GPUs healthy", [], ["n04"]),
        ("no memory or ECC errors", "no memory or ECC errors", [], []),
    ],
)
def test_numbers_within_words_beside_the_values(usual: str, odd: str, failed: list[str], named: list[str]) -> None:
    lines = (
        f"{node}: Triad {380 + place % 3}.5\n{node}: {odd if node == 'n04' else usual}\n"
        for place, node in enumerate(NODES)
    )
    table = read_fleet_table("".join(lines))
    assert ([*table.failed], [cell.subject for cell in table.lone]) == (failed, named)


@pytest.mark.parametrize(
    "line", ["Verification NOT PASSED", "Prüfung nicht bestanden", "Solution does not validate", "UNVERIFIED result"]
)
@pytest.mark.parametrize("share", [1, 2, 3])
def test_results_that_many_nodes_say_are_not_right_come_first(line: str, share: int) -> None:
    def printed(place: int, node: str) -> str:
        return f"{node}: Triad {380 + place % 3}.5\n{node}: {'Verification PASSED' if place % share else line}\n"

    cells = read_fleet_table("".join(printed(place, node) for place, node in enumerate(NODES))).lone
    assert cells[0].cell == line


@pytest.mark.parametrize("usual", ["Triad {} GB/s", "{}", "bw={} MB/s", "DGEMM N=20000 performance: {} GFLOPS"])
@pytest.mark.parametrize(
    "said",
    [
        "Killed",
        "Segmentation fault (core dumped)",
        "slurmstepd: error: Detected 1 oom_kill event in StepId=12.0. Some of the step tasks have been OOM Killed.",
        "slurmstepd: error: *** STEP 12.0 ON n04 CANCELLED AT 2026-11-29T21:20:01 ***",
        "CUDA error: out of memory at line 42",
        "srun: error: n04: task 0: Exited with exit code 139",
        "380.5 GB/s, and then an error",
    ],
)
def test_a_line_that_says_that_the_program_failed_is_no_value_whatever_numbers_it_has(usual: str, said: str) -> None:
    lines = (said if node == "n04" else usual.format(380.5 + place % 3) for place, node in enumerate(NODES))
    table = read_fleet_table("".join(f"{node}: {line}\n" for node, line in zip(NODES, lines, strict=True)))
    assert failures(table) == {"n04": 0}
    assert [(cell.subject, cell.cell) for cell in table.lone] == [("n04", said)]
    assert [table.values[node] for node in ("n01", "n02", "n03")] == [[380.5], [381.5], [382.5]]
