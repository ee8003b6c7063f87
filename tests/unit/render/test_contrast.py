"""Words on coloured ground can be read in light and in dark pages: 4.5:1, as WCAG 2.2 asks of small text (1.4.3)."""

import re

import pytest

from seatrial.model.verdict import Verdict
from tests.support.paths import ROOT

CSS = (ROOT / "src/seatrial/render/templates/page.css").read_text()
LEAST = 4.5
GROUNDED = re.compile(r"^((?:header|\.chip|\.leaf a|\.core|\.ages)[^{}]*)\{([^{}]*)\}", re.MULTILINE)
"""Rules of words on a ground of their own."""


def colours(dark: bool) -> dict[str, str]:
    """The variables of the light page, or of the dark one, which changes some of them."""
    light, _, rest = CSS.partition("@media (prefers-color-scheme: dark)")
    found = dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6})", light))
    return found | (dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6})", rest.partition("}")[0])) if dark else {})


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def declared(dark: bool) -> dict[str, tuple[str, str]]:
    """Selector -> colours of its words and of its ground, those of the element without a class where it has none."""
    named = colours(dark)
    values: dict[str, dict[str, str]] = {}
    for selectors, body in GROUNDED.findall(CSS.partition("@media print")[0]):
        found = {}
        for prop, value in re.findall(r"(?<![-a-z])(color|background): (var\(--[a-z]+\)|#[0-9a-f]{3,6})", body):
            variable = re.fullmatch(r"var\(--([a-z]+)\)", value)
            plain = named[variable[1]] if variable else value
            found[prop] = f"#{plain[1] * 2}{plain[2] * 2}{plain[3] * 2}" if len(plain) == 4 else plain
        for selector in selectors.split(","):
            values.setdefault(selector.strip(), {}).update(found)
    plain_of = {"header": "header", ".chip": ".chip", ".leaf": ".leaf a", ".core": ".core"}
    grounds = {}
    for selector, found in values.items():
        base = values.get(plain_of.get(re.split(r"(?<=\w)[.\[ ]", selector)[0], ""), {})
        whole = base | found
        if "background" in whole and "color" in whole:
            grounds[selector] = whole["color"], whole["background"]
    return grounds


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_words_on_coloured_ground_have_contrast(dark: bool) -> None:
    grounds = declared(dark)
    words = {verdict.value for verdict in Verdict} - {Verdict.INCONCLUSIVE.value, Verdict.NOT_RUN.value}
    assert {f"header.{word}" for word in words} <= grounds.keys()
    assert len(grounds) > 30
    poor = {name: round(contrast(*pair), 2) for name, pair in grounds.items() if contrast(*pair) < LEAST}
    assert poor == {}


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)
