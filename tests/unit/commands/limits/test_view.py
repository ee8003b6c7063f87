"""Limits for people and for machines."""

import json
import math
import re

import msgspec
import pytest

from seatrial.commands.limits.view import limits_report
from seatrial.limits.node import node_limits
from seatrial.limits.path import path_limit
from seatrial.model import units
from seatrial.model.facts import NodeFacts
from seatrial.model.limit import ComputePeak, Limit, LimitTerm, NoLimit
from seatrial.render.html import as_html
from tests.support.golden import check_page
from tests.support.limits_examples import device, hca, intel, port
from tests.support.reports import limits_json_text, limits_text

EVIL = "\x1b[31mred\x1b]0;title\x07\n<script>"


def fdr_node(name: str) -> NodeFacts:
    return intel(name, "Intel(R) Xeon(R) CPU E5-2683 v4 @ 2.10GHz", 79, cores=32, sockets=2,
                 hcas=(hca(port("FDR"), port("FDR", number=2)),), pci=(device(payload=256),))  # fmt: skip


def examples() -> list[Limit | NoLimit | ComputePeak]:
    one, two = fdr_node("n1"), fdr_node("n2")
    return [path_limit(one, two), path_limit(one, one), *node_limits(one)]


def term(name: str, rate: float, nominal: bool = False) -> LimitTerm:
    return LimitTerm(name=name, bytes_per_s=rate, inputs={"rate": rate}, source="here", formula="rate", nominal=nominal)


def made_up(*terms: LimitTerm, gate: float, **more: object) -> Limit:
    least = min(terms, key=lambda each: each.bytes_per_s)
    plain = Limit(
        path="n1>n2", limit_bytes_per_s=least.bytes_per_s, binding=least.name, terms=terms, gate_bytes_per_s=gate
    )
    return msgspec.structs.replace(plain, **more)


def test_the_binding_term_is_first_and_the_rest_has_head_room() -> None:
    limit = made_up(term("port", 11.5e9), term("bus", 10e9), term("other bus", 10e9), gate=20e9)
    assert limits_text([limit], width=80) == (
        "n1>n2  10.0 GB/s\n"
        "   binds    10.0 GB/s  bus\n"
        "   as much  10.0 GB/s  other bus\n"
        "   +15 %    11.5 GB/s  port\n"
        "   gate     20.0 GB/s  all ports and interfaces together; a faster measurement\n"
        "                       is INVALID\n"
    )


def test_the_page_has_all_limits_and_unfolds_their_terms() -> None:
    bus, evil = term("bus", 10e9), term(EVIL, 11e9)
    second = msgspec.structs.replace(made_up(bus, gate=10e9), path="n2>n1")
    page = as_html(limits_report([made_up(bus, evil, gate=20e9), second]))
    assert "<title>Limits of 2 paths - seatrial</title>" in page
    assert page.count("10.0 GB/s") >= 4
    assert page.count("<details") == 2
    assert "all ports and interfaces together" in page
    assert "<script" not in page
    alone = as_html(limits_report([second]))
    assert "<h1>Limit of n2&gt;n1: 10.0 GB/s</h1>" in alone
    assert "<details" not in alone


def test_nominal_is_marked_and_what_is_not_known_is_said() -> None:
    text = limits_text([made_up(term("table", 1e9, True), gate=1e9, unknown=("how many there are",))])
    assert "n1>n2  1.00 GB/s (nominal)" in text
    assert "table (nominal)" in text
    assert re.search(r"not known +how many there are", text)
    assert "gate" not in text


def test_a_gate_that_is_not_known_is_not_infinite() -> None:
    text = limits_text([made_up(term("port", 1e9), gate=math.inf)])
    assert re.search(r"gate +unknown", text)
    assert "inf" not in text.replace("interfaces", "")


def test_no_limit_has_its_reason() -> None:
    assert limits_text([NoLimit(path="n1>n2", reason="it is down")]) == "n1>n2  not known\n   because  it is down\n"
    assert limits_text([]).startswith("No limits")


def test_pages() -> None:
    check_page("limits", limits_text(examples(), width=100))
    check_page("limits-sources", limits_text(examples(), width=100, sources=True))


def test_colour_only_when_asked_for_and_escapes_from_outside_never() -> None:
    limit = made_up(term(EVIL, 1e9), gate=1e9, unknown=(EVIL,), path=EVIL)
    assert "\x1b" not in limits_text([limit, NoLimit(path=EVIL, reason=EVIL)])
    assert "\x1b[1m" in limits_text([limit], colour=True)
    assert "title" not in limits_text([limit], colour=True)
    assert "\x1b" not in limits_json_text([limit])


def test_json_has_what_was_promised() -> None:
    first, same, *_ = json.loads(limits_json_text(examples()))["data"]["limits"]
    assert set(first) == {"type", "path", "limit_bytes_per_s", "binding", "terms", "gate_bytes_per_s", "unknown"}
    assert first["path"] == "n1>n2"
    assert first["binding"] == "n1 mlx5_0 port 1: InfiniBand FDR 4X, MTU 4096"
    assert first["limit_bytes_per_s"] == pytest.approx(6.775e9, rel=1e-4)
    assert set(first["terms"][0]) == {"name", "bytes_per_s", "inputs", "source", "formula", "nominal"}
    assert set(same) == {"type", "path", "reason"}


def test_json_text_is_strict() -> None:
    text = limits_json_text([*examples(), made_up(term("é", 1e9), gate=math.inf)])
    parsed = json.loads(text, parse_constant=pytest.fail)
    assert parsed["data"]["limits"][-1]["gate_bytes_per_s"] is None
    assert text.isascii()
    assert text.endswith("}\n")


def test_flops() -> None:
    assert units.flops(2.867e12) == "2.87 Tflop/s"
    assert units.flops(33.6e9) == "33.6 Gflop/s"
    assert units.flops(1.2e15) == "1.20 Pflop/s"
    assert units.flops(None) == "unknown"
