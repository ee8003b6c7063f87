"""A report as one HTML page that needs nothing else: no server, no network, no other file."""

import base64
import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from seatrial.model import units
from seatrial.model.verdict import Finding, Verdict
from seatrial.render import finding_text
from seatrial.render.escape import clean, script_json
from seatrial.render.plots import HeatMap
from seatrial.render.report import Card, Cards, Findings, Report

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


def as_html(report: Report) -> str:
    """The whole page. Text from outside is cleaned and escaped, and only scripts whose hashes are listed can run."""
    from markupsafe import Markup

    templates = _environment()
    blocks = [_with_cards(block) if isinstance(block, Findings) else block for block in report.page()]
    scripts, data = _scripts(templates, [block for block in blocks if isinstance(block, HeatMap)])
    return templates.get_template("page.html.j2").render(
        word=report.word,
        sentence=report.sentence,
        remedy=report.remedy,
        about=", ".join(report.about),
        title=" - ".join((report.headline, *report.about[:1], "seatrial")),
        blocks=blocks,
        policy=_policy(scripts),
        style=_own_file(templates, "page.css"),
        scripts=scripts,
        data=data,
        newline=Markup("\n"),  # a plain one would be cleaned away
    )


def _environment() -> "Environment":
    """Our own templates; a name that a template does not know is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("seatrial.render", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: clean(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _own_file(templates: "Environment", name: str) -> "Markup":
    """One of our own files beside the templates, as it is. Raises LookupError where there is none."""
    from markupsafe import Markup

    if templates.loader is None:
        raise LookupError(name)
    return Markup(templates.loader.get_source(templates, name)[0])  # noqa: S704 - our own file


def _scripts(templates: "Environment", maps: Sequence[HeatMap]) -> "tuple[list[Markup], Markup]":
    """Plotly, our own script, and the data that it draws, for the one heat map of a page; nothing where it has none."""
    from markupsafe import Markup

    if not maps:
        return [], Markup("")
    from plotly.offline import get_plotlyjs

    scripts = [Markup(get_plotlyjs()), _own_file(templates, "page.js")]  # noqa: S704 - Plotly's own file
    return scripts, Markup(script_json(maps[0].data))  # noqa: S704 - escaped by script_json


def _policy(scripts: "Sequence[Markup]") -> "Markup":
    """Content-Security-Policy: nothing may be fetched, and only these very scripts may run."""
    from markupsafe import Markup

    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in scripts)
    allowed = hashes or "'none'"
    return Markup(  # noqa: S704 - hashes only
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _with_cards(block: Findings) -> Cards:
    return Cards(
        title=block.title or "Findings",
        anchor=block.anchor or "findings",
        cards=tuple(_card(finding) for finding in block.findings),
        left_out=block.left_out,
    )


def _card(finding: Finding) -> Card:
    part = finding_text.of_limit(finding)
    return Card(
        mark=finding.verdict.value,
        style=finding.verdict.value,
        title=finding_text.title(finding),
        statement=finding.statement,
        rows=tuple(finding_text.rows(finding)),
        share="" if part is None else units.share(part),
        printed=tuple(finding.printed.splitlines()),
        unfolded=finding.verdict is Verdict.BLOCKED,
        percent=0.0 if part is None else round(max(0.0, min(1.0, part)) * 100, 1),
    )
