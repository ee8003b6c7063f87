"""Tables of nodes as sites make them, and the outputs of many nodes in one file."""

from pathlib import Path

import pytest

from seatrial.commands.judge.kinds import Kind
from seatrial.commands.judge.recognition import kind_of
from seatrial.commands.judge.sources import Sources
from seatrial.importers.fleets import read_fleet_table
from seatrial.model.errors import UsageError
from tests.support.benchmark_outputs import stream
from tests.support.command_line import Seatrial, Text

NODES = ("c1", "c2", "c3", "c4", "c5", "c6")
RATES = {node: 300.5 + number for number, node in enumerate(NODES)}


def rows(form: str) -> str:
    """A row for each of three runs of each node."""
    return "".join(form.format(n=node, r=run, v=rate) + "\n" for node, rate in RATES.items() for run in (1, 2, 3))


TABLES = {
    "units below the names": "node;run;triad\n;;GB/s\n" + rows("{n};{r};{v}"),
    "names over groups of columns": "Knoten;STREAM;;\n;Lauf 1;Lauf 2;Lauf 3\n"
    + "".join(f"{node};{rate};{rate};{rate}\n" for node, rate in RATES.items()),
    "summaries": "node,run,triad\n" + rows("{n},{r},{v}") + "Gesamt,,5400.5\nMittel,,302.5\nOverall,,300.5\n",
    "a table of a terminal": "┌──────┬─────┬────────┐\n│ node │ run │ triad  │\n├──────┼─────┼────────┤\n"
    + rows("│ {n}   │ {r}   │ {v}  │")
    + "└──────┴─────┴────────┘\n",
    "names in bold": "| node | run | triad |\n|:--|--:|--:|\n" + rows("| **{n}** | {r} | {v} |"),
    "names with blanks": "Node      Triad rate   Run no.\n" + rows("{n}        {v}        {r}"),
    "names and values": rows("node={n} run={r} triad={v}"),
    "exponents with a comma": "node;run;triad\n" + rows("{n};{r};{v:.6E}").replace(".", ","),
    "shares behind values": "node,run,triad\n" + rows("{n},{r},{v} (81.5 %)"),
    "a column for each node": f"run,{','.join(NODES)}\n"
    + 3 * f"1,{','.join(map(str, RATES.values()))}\n".replace("1,", "{},", 1),
}
TABLES["a column for each node"] = TABLES["a column for each node"].format(1, 2, 3)


@pytest.mark.parametrize("head", ["{node}: {rate}\n", "---------------\n{node}\n---------------\n{rate}\n"])
def test_lines_with_the_name_of_their_node_are_runs(head: str) -> None:
    again = "{rate}\n" if head.startswith("-") else head
    text = "".join(
        "".join((head if not run else again).format(node=node, rate=rate + run / 2) for run in range(3))
        for node, rate in RATES.items()
    )
    assert read_fleet_table(text).values == {node: [rate, rate + 0.5, rate + 1] for node, rate in RATES.items()}


@pytest.mark.parametrize("form", TABLES)
def test_each_node_has_its_values(form: str, tmp_path: Path) -> None:
    (tmp_path / "table").write_text(TABLES[form])
    assert kind_of(Sources([tmp_path / "table"], print), tuple(Kind)) is Kind.FLEET
    assert read_fleet_table(TABLES[form]).values == {node: [rate] * 3 for node, rate in RATES.items()}


def test_nodes_of_one_model_are_compared_with_each_other() -> None:
    text = "node,model,run,triad\n" + "".join(
        f"{node},{'old' if number < 3 else 'new'},{run},{rate * (1 if number < 3 else 2)}\n"
        for number, (node, rate) in enumerate(RATES.items())
        for run in (1, 2, 3)
    )
    table = read_fleet_table(text)
    assert table.roles.conditions == ("model",)
    assert [set(stratum.values) for stratum in table.strata] == [set(NODES[:3]), set(NODES[3:])]
    assert read_fleet_table(text.replace("model", "rack")).roles.properties == ("rack",)


def test_a_column_of_words_that_are_no_failures_is_not_taken_apart() -> None:
    with pytest.raises(UsageError, match="'perhaps' in row 6"):
        read_fleet_table("node,run,triad\n" + rows("{n},{r},{v}").replace("c2,3,301.5", "c2,3,perhaps"))


@pytest.mark.parametrize(
    "words",
    [
        "c2: bash: ./triad: No such file or directory\npdsh@admin: c2: ssh exited with exit code 127",
        "c2: Connection refused",
        "clush: c2: exited with exit code 255",
    ],
)
@pytest.mark.parametrize("form", ["{n}: {v}", "{n}: Triad: {v} GB/s"])
def test_a_node_that_printed_only_an_error_is_a_failed_run(form: str, words: str, tmp_path: Path) -> None:
    lines = [line for line in rows(form).splitlines() if not line.startswith("c2")]
    (tmp_path / "table").write_text("\n".join([*lines, words, ""]))
    assert kind_of(Sources([tmp_path / "table"], print), tuple(Kind)) is Kind.FLEET
    table = read_fleet_table((tmp_path / "table").read_text())
    assert table.failed == ("c2",)
    assert {node: values for node, values in table.values.items() if values} == {
        node: [rate] * 3 for node, rate in RATES.items() if node != "c2"
    }


@pytest.mark.parametrize(
    "words", ["ssh exited with exit code 127", "bash: line 1: stream: command not found", "Killed"]
)
def test_nodes_that_all_printed_a_failure_have_no_values(words: str, seatrial: Seatrial) -> None:
    """An exit code that all nodes share was PASS: all alike."""
    ran = seatrial("judge", Text("".join(f"pdsh@a: n{number}: {words}\n" for number in range(1, 9)), "out"), code=64)
    assert ran.err.startswith(f"seatrial: Most nodes printed no value but '{words}'.")


def test_a_node_that_printed_another_number_is_no_failure() -> None:
    with pytest.raises(UsageError, match="has 3 cells"):
        read_fleet_table("".join(f"c{number}: {number}.5\n" for number in range(9)) + "c9: 12 GB/s\n")


@pytest.mark.parametrize("name", ["n[01-04]", "n[1,3]", "rack2-n[07-09,12]"])
def test_a_value_of_several_nodes_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="is several nodes"):
        read_fleet_table("node,run,triad\n" + rows("{n},{r},{v}") + f'"{name}",1,300.5\n')


@pytest.mark.parametrize(
    "text",
    [
        "  Total CPU time used (sec):      812.231\n  User time (sec):      800.1\n  Elapsed time (sec):   820.412\n",
        "Time (solver): 12.5\nTime (mesher): 3.5\nTime (output): 1.5\n",
    ],
)
def test_what_stands_before_numbers_in_a_report_is_no_name_of_a_node(text: str) -> None:
    """The end of VASP's OUTCAR: three 'nodes' whose scatter hid a loss of 76 %."""
    with pytest.raises(UsageError, match="is not the name of a node"):
        read_fleet_table(text)


@pytest.mark.parametrize("said", ["Killed", "slurmstepd: error: Detected 1 oom_kill event", "Bus error, aborted"])
def test_a_node_with_a_failure_in_place_of_an_output_has_a_run_that_failed(
    said: str, tmp_path: Path, seatrial: Seatrial
) -> None:
    outputs = "".join(f"{node}: {line}\n" for node in NODES for line in stream().splitlines())
    file = tmp_path / "all.txt"
    file.write_text(f"{outputs}n9: {said}\n")
    printed = seatrial("judge", str(file), "--json", code=2)
    assert (printed.object["verdict"], printed.data["failed"]) == ("INCONCLUSIVE", ["n9"])
    assert printed.object["headline"].startswith("INCONCLUSIVE  1 run of n9 failed; ")


def test_a_node_without_an_output_is_not_measured(tmp_path: Path, seatrial: Seatrial) -> None:
    outputs = "".join(f"{node}: {line}\n" for node in NODES for line in stream().splitlines())
    file = tmp_path / "all.txt"
    file.write_text(f"{outputs}n9: bash: ./stream: No such file or directory\n")
    printed = seatrial("judge", str(file), code=None)
    assert "not measured: n9" in printed.out
    file.write_text(f"{outputs}n9: all is well\n")  # nothing says that it failed
    assert kind_of(Sources([file], print), tuple(Kind)) is Kind.OUTPUT
