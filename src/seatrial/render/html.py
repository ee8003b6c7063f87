"""A report as one HTML page that needs nothing else: no server, no network, no other file."""

from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING

from seatrial.model import units
from seatrial.model.verdict import Finding, Verdict
from seatrial.render import finding_text
from seatrial.render.escape import cleaned
from seatrial.render.matrix import PATTERNS, Panels
from seatrial.render.report import Card, Cards, Findings, PageLink, Report

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

SCRIPT, MAP_SCRIPT = "page.js", "pair_map.js"
"""The script of a site's pages, which sorts and filters tables; and what follows it on a page with a large map."""
SITE_STYLE = "site.css"
"""Style of what only pages of a site have: links to other pages, and what the script adds."""


def as_html(report: Report, ways: Sequence[PageLink] = ()) -> str:
    """The whole page. Text from outside is cleaned and escaped, and no script of others can run.

    `ways`: links to other pages of a site, below the headline. Such a page has our own script.
    """
    from markupsafe import Markup

    templates = _environment()
    script = ""
    blocks = [_with_cards(block) if isinstance(block, Findings) else block for block in report.shown()]
    parts = [part for block in blocks if isinstance(block, Panels) for part in block.panels]
    large = any(part.kind == "canvas" for part in parts)
    if ways:
        script = _own_file(templates, SCRIPT) + (_own_file(templates, MAP_SCRIPT) if large else "")
    return templates.get_template("page.html.j2").render(
        word=report.word,
        sentence=report.title,
        remedy=report.remedy,
        about=", ".join(report.about),
        ways=ways,
        title=" - ".join((report.headline or report.title, *report.about[:1], "seatrial")),
        blocks=blocks,
        style=_own_file(templates, "page.css") + (_own_file(templates, SITE_STYLE) if ways else ""),
        script=script,
        scripts=f"'sha256-{_digest(script)}'" if script else "'none'",
        newline=Markup("\n"),  # a plain one would be cleaned away
    )


@cache
def _environment() -> "Environment":
    """Our own templates; a name that a template does not know is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader("seatrial.render", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=cleaned,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals["pattern_of"] = PATTERNS
    return templates


def page_style() -> str:
    """The style sheet of every page, which has the colours of pictures."""
    return str(_own_file(_environment(), "page.css"))


@cache
def _own_file(templates: "Environment", name: str) -> "Markup":
    """One of our own files beside the templates, as it is. Raises LookupError where there is none."""
    from markupsafe import Markup

    if templates.loader is None:
        raise LookupError(name)
    return Markup(templates.loader.get_source(templates, name)[0])  # noqa: S704 - our own file


@cache
def _digest(script: str) -> str:
    """The hash by which a content policy permits one script and no other (CSP Level 2, 4.2.2)."""
    return b64encode(sha256(script.encode()).digest()).decode()


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
