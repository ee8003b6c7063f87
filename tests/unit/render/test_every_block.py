"""Every command's report can be rendered in every form, and hostile text is only text in each of them."""

import html
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from seatrial.commands.doctor.view import doctor_report
from seatrial.commands.link.transports.view import transports_report
from seatrial.commands.placement.judge import judge_placement
from seatrial.commands.placement.view import placement_report
from seatrial.drift.comparison import drift
from seatrial.model.launching import Examination, blocked, fine, untried
from seatrial.model.verdict import FindingKind
from seatrial.render.html import as_html
from seatrial.render.junit import as_junit
from seatrial.render.markdown import as_markdown
from seatrial.render.report import Report
from seatrial.render.text import as_text
from tests.support.json_objects import parsed
from tests.support.report_examples import EVIL, facts
from tests.support.reports import as_json_text, drift_of
from tests.support.transport_launcher import Launcher, by_rail, carry_out, plain, two_rails
from tests.unit.commands.placement.test_judge import run_of

Made = Callable[[pytest.MonkeyPatch, Path], Report]
HOSTILE = f"{EVIL}\x1b[31m | [x](http://e)"


def placement(*_: object) -> Report:
    line = ("srun", "-N2", "-n4", "--cpu-bind=none", HOSTILE)
    recorded = run_of(((0,), (0,)), line=line)
    return placement_report(replace(recorded.info, mpi_library=HOSTILE), judge_placement(recorded))


def transports(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Report:
    outcome = carry_out(Launcher(), tmp_path)
    return transports_report(replace(outcome.run, mpi_library=HOSTILE), replace(plain(outcome), reason=HOSTILE))


def rails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Report:
    outcome = carry_out(two_rails(), tmp_path, rails=())
    return transports_report(outcome.run, replace(by_rail(outcome), reason=HOSTILE))


def doctor(*_: object) -> Report:
    remarks = (
        fine(HOSTILE, HOSTILE),
        untried("start", FindingKind.NO_ROOM, HOSTILE),
        blocked("start", FindingKind.NO_START, HOSTILE, HOSTILE, f"{HOSTILE}\n{HOSTILE}"),
    )
    return doctor_report(Examination(remarks=remarks))


def differences(*_: object) -> Report:
    nodes = facts() | {"n5": replace(facts()["n1"], hostname="n5", kernel=HOSTILE)}
    return drift_of(nodes, drift(nodes))


@pytest.mark.parametrize("made", [placement, transports, rails, doctor, differences])
def test_hostile_text_is_only_text_in_every_form(made: Made, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    report = made(monkeypatch, tmp_path)
    text, page, markdown, xml = as_text(report), as_html(report), as_markdown(report), as_junit(report)
    assert not [form for form in (text, page, markdown, xml) if "\x1b" in form]
    assert "alert(1)" in text
    assert "<script" not in page
    assert "default-src 'none'; script-src 'none'" in html.unescape(page)
    assert not re.search(r"(?<!\\)<script|(?<!\\)\[x\]", "".join(markdown.split("```")[::2]))
    (suite,) = ElementTree.fromstring(xml)  # noqa: S314 - our own
    assert len(suite) == int(suite.get("tests") or 0) >= 1
    assert parsed(as_json_text(report, "doctor"))
