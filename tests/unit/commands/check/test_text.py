"""The terminal report says who, how much, against what, how proved and what to do, and says it first."""

import re
import subprocess
import sys

import msgspec
import pytest
from rich.cells import cell_len

from seatrial.model.run import Ending
from tests.support.golden import check_page
from tests.support.report_examples import big, facts, judgement, run_info, slow_node, troubled
from tests.support.reports import check_text


def lines_of(text: str) -> list[str]:
    return text.splitlines()


def test_pages() -> None:
    """A slow node, a healthy cluster, and trouble of every kind."""
    check_page("check-slow-node", check_text(run_info(), slow_node(), facts(), width=80))
    check_page("check-pass", check_text(run_info(), judgement(), facts(), width=80))
    check_page("check-trouble", check_text(*troubled(), facts(), width=120))


def test_incomplete_is_never_pass() -> None:
    cut = run_info(ending=Ending.INTERRUPTED, reason="time limit")
    first, second = check_text(cut, judgement(complete=False), {}, width=200).splitlines()[:2]
    assert first.startswith("INCOMPLETE  ")
    assert second.endswith("incomplete: interrupted: time limit")
    assert lines_of(check_text(run_info(), judgement(pairs=(), nodes=()), {}))[0].startswith("NOT_RUN")


@pytest.mark.parametrize("width", [40, 80, 120, 200])
@pytest.mark.parametrize("colour", [False, True])
def test_no_line_is_wider_than_asked(width: int, colour: bool) -> None:
    for run, judged in ((run_info(), slow_node("n" * 60)), troubled(), (run_info(), big(32, 8, 31))):
        text = re.sub(r"\x1b\[[0-9;]*m", "", check_text(run, judged, facts(), width=width, colour=colour))
        wrapped = [line for line in lines_of(text) if not line.startswith("scontrol update ")]
        assert max(map(cell_len, wrapped)) <= width


def test_many_nodes_are_told_by_the_worst() -> None:
    lines = lines_of(check_text(run_info(), big(400, 20, 8), {}, width=80))
    assert "Pairs that did not pass: the worst 10 of 16" in lines
    assert any(line.startswith("node7 ") for line in lines)
    assert len(lines) < 60


def test_32_nodes_have_a_sign_each_without_colour() -> None:
    text = check_text(run_info(), big(32, 8, 31), {}, width=80)
    row = next(line for line in lines_of(text) if line.strip().startswith("node7  8"))
    assert row.count("5") == 31


def test_outside_text_neither_styles_nor_steers() -> None:
    name = "[red]n3[/red]\x1b[2J\x1b]0;own\x07"
    plain = check_text(run_info(), slow_node(name), {}, width=120)
    assert "\x1b" not in plain
    assert "\x07" not in plain
    assert "node:[red]n3[/red]" in plain
    coloured = check_text(run_info(), slow_node(name), {}, width=120, colour=True)
    assert set(re.findall(r"\x1b[^m]*m?", coloured)) == set(re.findall(r"\x1b\[[0-9;]*m", coloured))


def test_run_id_cannot_be_a_command() -> None:
    assert "report 'x; rm -rf ~' --html" in check_text(run_info(run="x; rm -rf ~"), judgement(), {})


def test_the_environment_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = check_text(run_info(), slow_node(), facts(), width=80, colour=True)
    for name, value in (("NO_COLOR", "1"), ("COLUMNS", "20"), ("TERM", "dumb"), ("FORCE_COLOR", "1")):
        monkeypatch.setenv(name, value)
    assert check_text(run_info(), slow_node(), facts(), width=80, colour=True) == usual


def test_too_many_findings_are_counted() -> None:
    finding = slow_node().findings[0]
    many = tuple(msgspec.structs.replace(finding, statement=f"No. {i}") for i in range(25))
    text = check_text(run_info(), judgement(findings=many), {})
    assert "and 5 more findings on the page" in text
    assert "No. 20" not in text


def test_heavy_libraries_wait_until_something_is_rendered() -> None:
    code = (
        "import sys, seatrial.commands.check.view, seatrial.render.text, seatrial.render.html, seatrial.render.json;"
        "print(sorted({'rich', 'jinja2'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_64_nodes_have_a_row_each_and_more_are_leaves() -> None:
    row = next(line for line in lines_of(check_text(run_info(), big(64, 8, 31), {}, width=100)) if "node7  8 " in line)
    assert row.count("5") == 31
    assert "leaf by leaf, worst first; rows send" in check_text(run_info(), big(65, 8, 31), {}, width=100)


def test_where_nodes_do_not_fit_leaves_do() -> None:
    assert "leaf1  1 " in check_text(run_info(), big(60, 6, 7), {}, width=80)


@pytest.mark.parametrize(("nodes", "per_leaf", "leaves"), [(1000, 18, 56), (10_000, 20, 500)])
def test_of_very_many_leaves_the_worst_are_drawn(nodes: int, per_leaf: int, leaves: int) -> None:
    lines = lines_of(check_text(run_info(), big(nodes, per_leaf, 3), {}, width=110))
    assert any(f"worst first, 20 of {leaves} leaves;" in line for line in lines)
    assert any(line.lstrip().startswith("leaf0  1 100S") for line in lines)
    assert any(line.startswith("node7 ") for line in lines)
    assert len(lines) < 80


def test_blank_cells_are_said_not_to_be_measured() -> None:
    assert "blank not measured" in check_text(run_info(), big(16, 4, 8), {}, width=120)
    assert "blank not measured" not in check_text(run_info(), slow_node(), {}, width=120)
