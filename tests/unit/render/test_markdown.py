"""Markdown: what a terminal shows, and hostile text is neither markup nor a link."""

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.commands.check.view import check_report
from seatrial.render.markdown import as_markdown
from seatrial.render.report import Block, Copy, Items, Paragraph, Report
from tests.support.report_examples import EVIL, facts, judgement, run_info, slow_node


def markdown_of(*blocks: Block) -> str:
    return as_markdown(Report(word="PASS", sentence="fine", payload=msgspec.Struct, terminal=lambda _: blocks))


def test_a_check_has_its_verdict_findings_tables_and_heat_map() -> None:
    text = as_markdown(check_report(run_info(), slow_node(), facts()))
    assert text.startswith("# SLOW  n3: link at 60 % of its limit\n\n")
    for said in (
        "## 1. SLOW: node:n3  slow-link",
        "**The link of n3 carries 60 % of what it should, in both directions.**",
        "\n- to do: Look at cable, port and negotiated speed of n3: ethtool eth0; then run this check again.\n",
        "| node | leaf | verdict | best out | best in | latency | reason |\n|---|---|---|---:|---:|---:|---|\n| n3 |",
    ):
        assert said in text
    fences = re.findall(r"^```$", text, re.MULTILINE)
    assert len(fences) == 4
    drain = 'scontrol update NodeName=n3 State=DRAIN Reason="seatrial: link at 60 % of its limit"'
    assert text.split("```")[1] == f"\n{drain}\n"
    assert " 60S " in text.split("```")[3]


def test_many_findings_are_counted() -> None:
    text = as_markdown(check_report(run_info(), judgement(findings=slow_node().findings * 25), {}))
    assert "and 5 more findings on the page" in text


@pytest.mark.parametrize(
    "hostile", [EVIL, "[x](http://e)", "![x](http://e)", "a | b", "`a`", "# a", "*a*", "http://e/", "www.e", "a\n\n# b"]
)
def test_hostile_text_is_only_text(hostile: str) -> None:
    text = as_markdown(check_report(run_info(cluster=hostile), slow_node(hostile), {}))
    outside = "".join(text.split("```")[::2])
    assert not re.search(r"(?<!\\)[<`\[]|http://|www\.", outside)
    heads = [line for line in outside.splitlines() if line.startswith("#")]
    usual = as_markdown(check_report(run_info(cluster=""), slow_node(), {}))
    valid = hostile == "www.e"
    assert len(heads) - valid == len(re.findall(r"^#", usual, re.MULTILINE))
    assert ("scontrol" in text) == valid


def test_a_fence_is_longer_than_any_in_it_and_leading_blanks_stay() -> None:
    assert markdown_of(Copy(lines=("````", "  two blanks"))).endswith("\n`````\n````\n  two blanks\n`````\n")


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("# a", "\\# a"),
        ("- a", "\\- a"),
        ("1. a", "1\\. a"),
        ("2026-11-20", "2026-11-20"),
        ("1.5 #", "1.5 #"),
        ("7.", "7\\."),
    ],
)
def test_only_the_beginning_of_a_line_is_a_heading_or_a_list(text: str, escaped: str) -> None:
    assert markdown_of(Paragraph(text=text)).splitlines()[2] == escaped


def test_paragraphs_and_items() -> None:
    text = markdown_of(Paragraph(title="Notes", text="one", strong=True), Items(items=("a", "b*")))
    assert text == "# PASS  fine\n\n## Notes\n\n**one**\n\n- a\n- b\\*\n"


@given(st.text(alphabet=st.characters(codec=None)))
def test_any_text_stays_one_paragraph(text: str) -> None:
    assert markdown_of(Paragraph(text=text)).count("\n\n") <= 1
