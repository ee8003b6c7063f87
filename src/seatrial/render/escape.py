"""Text from outside (hostnames, reasons, sources) is data: what a terminal or browser would execute is removed."""

import re
import unicodedata

_ESCAPE_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c\x9d]*(?:\x07|\x1b\\|\x9c)"  # OSC: title, hyperlink, clipboard
    r"|\x1b[PX^_][^\x1b]*\x1b\\"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]"  # all other two-character escapes
)
_BREAKS = {"\n", "\r", "\t", "\v", "\f", "\u0085", "\u2028", "\u2029"}


def clean(text: str) -> str:
    """One line without escape sequences, control, invisible or direction-changing characters."""
    if text.isprintable():  # none of them is: most texts, and lists have thousands
        return text.strip()
    return "".join(_harmless(character) for character in _ESCAPE_SEQUENCES.sub("", text)).strip()


def _harmless(character: str) -> str:
    if character.isascii() and character.isprintable():
        return character
    if character in _BREAKS:
        return " "
    category = unicodedata.category(character)
    if category == "Cs":
        return "\ufffd"
    return "" if category in {"Cc", "Cf"} else character


PLAIN = {
    "–": "-", "—": "-", "−": "-", "─": "-", "…": "...", "│": "|", "┊": "|", "├": "|", "└": "`", "·": ".", "•": "*",
    "×": "x", "÷": "/", "≥": ">=", "≤": "<=", "±": "+-", "→": "->", "µ": "u", "μ": "u", "°": " deg", "½": "1/2",
    "²": "^2", "⁴": "^4", "⁶": "^6", "⁹": "^9", "⁰": "^0", "α": "alpha", "↔": "<->",
    "“": '"', "”": '"', "‘": "'", "’": "'", "█": "#", "▏": "|", "▁": ".", "▂": ":",
    "▃": "-", "▄": "=", "▅": "+", "▆": "*", "▇": "%",
}  # fmt: skip
"""Characters of reports in ASCII."""


def in_ascii(text: str) -> str:
    """The text with bars, lines and signs of reports in ASCII, as long as before; letters of names stay."""
    return "".join(other if len(other := PLAIN.get(letter, letter)) == 1 else letter for letter in text)


def shorten(text: str, most: int) -> str:
    """At most `most` characters; where it is cut, an ellipsis says so."""
    return text if len(text) <= most else text[: most - 1] + "…"


def cleaned(value: object) -> object:
    """What a template prints: a text is cleaned, and numbers and markup of our own are left as they are.

    The template engine escapes it afterwards, unless it is markup.
    """
    return clean(value) if type(value) is str else value
