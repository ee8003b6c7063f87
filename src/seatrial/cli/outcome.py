"""Shows a judged run: text or JSON on standard output, the page into a file."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from seatrial.cli.options import width_and_colour
from seatrial.commands.check import html as check_html
from seatrial.commands.check import json as check_json
from seatrial.commands.check import text as check_text
from seatrial.model.errors import ExitCode, SeatrialError
from seatrial.render.escape import clean

if TYPE_CHECKING:
    from seatrial.model.judgement import Judgement
    from seatrial.model.run import RecordedRun


def show(
    folder: Path,
    recorded: "RecordedRun",
    judgement: "Judgement",
    *,
    as_json: bool,
    html: Path | None,
) -> int:
    """Print, write, and return the exit code."""

    return tell(
        folder,
        judgement.exit_code,
        json=partial(check_json.as_json_text, recorded.info, judgement, judgement.exit_code),
        text=partial(check_text.as_text, recorded.info, judgement, recorded.facts),
        as_json=as_json,
        page=partial(check_html.as_html, recorded.info, judgement, recorded.facts),
        html=html,
    )


def tell(
    folder: Path,
    exit_code: int,
    *,
    json: Callable[[], str],
    text: Callable[..., str],
    as_json: bool,
    page: Callable[[], str] | None = None,
    html: Path | None = None,
) -> int:
    """Write the page where one is asked for, print one of the two others, and return the exit code.

    `text` is called with `width` and `colour`; behind it stands where the run is kept. A page that cannot be written
    does not hide the result: that is printed first, and findings stay the exit code. Raises SeatrialError otherwise.
    """
    failed = _page_failure(html, page) if html is not None and page is not None else None
    if as_json:
        print(json(), end="")
    else:
        width, colour = width_and_colour()
        print(text(width=width, colour=colour), end="")
        print(f"Archive: {folder}")
        if html is not None and failed is None:
            print(f"Page: {html}")
    if failed is not None:
        if exit_code != ExitCode.FINDINGS:
            raise failed
        print(clean(f"seatrial: {failed}"), file=sys.stderr)
    return int(exit_code)


def _page_failure(path: Path, page: Callable[[], str]) -> SeatrialError | None:
    try:
        write_page(path, page())
    except SeatrialError as error:
        return error
    return None


def write_page(path: Path, page: str) -> None:
    """Write the page. Raises SeatrialError with the reason."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise SeatrialError(f"The page {path} cannot be written: {error.strerror}.", "Name another --html.") from error
