"""Pages that commands print, as they are kept in tests/data/pages.

`SEATRIAL_WRITE_PAGES=1 .venv/bin/python -m pytest ...` writes them again; the difference is then to be read.
"""

import os

from tests.support.paths import DATA


def check_page(name: str, text: str) -> None:
    """Compare a text with the page of that name, letter by letter."""
    page = DATA / "pages" / f"{name}.txt"
    if os.environ.get("SEATRIAL_WRITE_PAGES"):
        page.parent.mkdir(exist_ok=True)
        page.write_text(text, encoding="utf-8")
    assert text == page.read_text(encoding="utf-8")
