"""Reports consist of blocks only: in every kind of block, and in every form, hostile text is only text."""

import enum
import html
import json
import re
import types
import typing
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from msgspec.structs import fields

from seatrial.model import subject
from seatrial.model.subject import Subject
from seatrial.model.verdict import Finding, Verdict
from seatrial.render.distribution import Distribution
from seatrial.render.forest import Forest
from seatrial.render.html import as_html
from seatrial.render.junit import as_junit
from seatrial.render.markdown import as_markdown
from seatrial.render.matrix import Matrix, Panels
from seatrial.render.node_map import NodeMap
from seatrial.render.plots import Bars, CoreKey, CoreMap, Plot
from seatrial.render.report import (
    Block,
    Cards,
    Case,
    Copy,
    Drawing,
    Findings,
    Items,
    Lines,
    PageLink,
    Paragraph,
    Report,
    Table,
)
from seatrial.render.text import as_text
from tests.support.report_examples import EVIL
from tests.support.reports import as_json_text

HOSTILE = f"{EVIL}\x1b[31m | [x](http://e) {'n' * 60} \" ' "
PRINTED = [Findings, Lines, Paragraph, Items, Copy, Drawing, Table]
"""Blocks that a terminal and Markdown show."""
DRAWN = [Findings, Lines, Paragraph, Items, Copy, Table, Cards, Plot, Bars, CoreMap, CoreKey, Forest, NodeMap, Panels]
"""Blocks of a page."""


class Nothing(msgspec.Struct):
    text: str = HOSTILE


def example(kind: Any) -> Any:
    """A value of the type in which every text is hostile; numbers that have a default keep it."""
    kind, inner = typing.get_origin(kind) or kind, typing.get_args(kind)
    value: Any
    if kind in (str, PageLink):
        value = HOSTILE if kind is str else PageLink(HOSTILE, HOSTILE)
    elif kind is Subject:
        value = subject.node(HOSTILE)
    elif kind is Block:
        value = example(Matrix)
    elif kind is tuple:
        value = tuple(example(part) for part in inner if part is not Ellipsis)
    elif kind in (types.UnionType, typing.Union):
        value = example(inner[0])
    elif kind is Callable:
        value = str
    elif issubclass(kind, msgspec.Struct):
        hints = typing.get_type_hints(kind)
        filled = [field.name for field in fields(kind) if field.required or hints[field.name] is str]
        value = kind(**{name: example(hints[name]) for name in filled})
    else:
        value = next(iter(kind)) if issubclass(kind, enum.Enum) else kind(1)
    return value


def report(*blocks: Block) -> Report:
    return Report(
        word=Verdict.SLOW.value,
        sentence=HOSTILE,
        payload=Nothing,
        terminal=lambda _: blocks,
        page=lambda: blocks,
        about=(HOSTILE,),
        remedy=HOSTILE,
        findings=(example(Finding),),
        cases=(example(Case),),
    )


@pytest.mark.parametrize("kind", PRINTED)
@pytest.mark.parametrize("form", [as_text, as_markdown])
def test_no_text_steers_a_terminal_or_is_markup(kind: type[Block], form: Callable[[Report], str]) -> None:
    text = form(report(example(kind)))
    assert "\x1b" not in text
    assert text.count("alert") >= 3
    if form is as_markdown:
        assert not re.search(r"(?<!\\)<script|(?<!\\)\[x\]", "".join(text.split("```")[::2]))


@pytest.mark.parametrize("kind", [kind for kind in PRINTED if kind not in (Copy, Drawing)])
@pytest.mark.parametrize("width", [40, 72, 200])
def test_no_line_is_wider_than_asked(kind: type[Block], width: int) -> None:
    lines = as_text(report(example(kind)), width=width).splitlines()
    assert max(map(len, lines)) <= width
    assert [line for line in lines if line != line.rstrip()] == []


@pytest.mark.parametrize("kind", [*DRAWN, Distribution])
def test_no_text_is_markup_of_a_page(kind: type[Block]) -> None:
    block = example(kind)
    page = as_html(report(Panels(aside="", panels=(block,)) if kind is Distribution else block))
    assert not re.search("\x1b|<script|\" '", page)
    assert page.count("&lt;script&gt;") > (0 if kind is CoreKey else 4)
    assert "default-src 'none'; script-src 'none'" in html.unescape(page)
    assert not re.search(r"(?:src|href)=\"?(?:https?:|//)|url\(|@import", page)


def test_no_text_is_markup_of_junit_or_json() -> None:
    xml, text = as_junit(report()), as_json_text(report(), "doctor")
    assert "\x1b" not in xml + text
    (suite,) = ElementTree.fromstring(xml)  # noqa: S314 - our own
    assert len(suite) == int(suite.get("tests") or 0) > 1
    assert json.loads(text)["data"]["text"] == HOSTILE
