"""Shows a report: text or JSON on standard output, other forms in files."""

import errno
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from seatrial.archive import headlines
from seatrial.archive.reader import is_ahead
from seatrial.cli.json_output import JSON_OUTPUT
from seatrial.cli.options import width_and_colour
from seatrial.files.writing import open_named
from seatrial.model.errors import ErrorKind, ExitCode, SeatrialError
from seatrial.render import html as render_html
from seatrial.render import junit as render_junit
from seatrial.render import markdown as render_markdown
from seatrial.render import text as render_text
from seatrial.render.envelope import Failure, failure_of
from seatrial.render.escape import clean
from seatrial.render.report import Report


class Files(msgspec.Struct, frozen=True, kw_only=True):
    """Where a report is to be written beside standard output; None: nowhere."""

    html: Path | None = None
    markdown: Path | None = None
    junit: Path | None = None


def show(
    report: Report, folder: Path | None = None, *, as_json: bool, nagios: bool = False, files: Files = Files()
) -> int:
    """Write the files, print JSON or text, and return the exit code. `folder`: where the run is kept.

    A file that cannot be written does not hide the result; findings stay the exit code. `nagios`: print a plugin's line
    instead, and return its exit code.
    """
    written, failures = _write_files(report, files)
    if folder is not None and report.word:
        headlines.keep_headline(folder, report.word, report.headline, int(report.exit_code))
    if report.run and is_ahead(report.run.started):
        say(f"{report.run.run} began at {report.run.started}, which is later than now: a clock is or was wrong.")
    failure = _failure(report, failures)
    if nagios:
        for error in failures:
            say(str(error))
        return JSON_OUTPUT.print_nagios(report)
    if as_json:
        JSON_OUTPUT.print_report(report, failure)
    else:
        width, colour = width_and_colour()
        shown = replace(report, wrapped=True) if sys.stdout.isatty() else report
        print(render_text.as_text(shown, width=width, colour=colour), end="")
        if folder is not None:
            print(clean(f"Archive: {folder}"))
        for form, path in written:
            print(clean(f"{form}: {path}"))
    for error in failures:
        say(str(error))
    return failure.exit_code if failure else int(report.exit_code)


def say(text: str) -> None:
    """Print a sentence beside the report, on standard error."""
    print(clean(f"seatrial: {text}"), file=sys.stderr)


def _failure(report: Report, failures: Sequence[SeatrialError]) -> Failure | None:
    """The first file that could not be written, with the exit code that the command leaves with."""
    if not failures:
        return None
    code = report.exit_code if report.exit_code is ExitCode.FINDINGS else ExitCode.INCOMPLETE
    return replace(failure_of(failures[0], ErrorKind.UNWRITTEN), exit_code=int(code))


def _write_files(report: Report, files: Files) -> tuple[list[tuple[str, Path]], list[SeatrialError]]:
    """What was written, and why the rest could not be."""
    written, failures = [], []
    for form, option, path, render in _wanted(files):
        try:
            write_file(path, render(report), f"The {form.lower() if form == 'Page' else f'{form} report'}", option)
        except SeatrialError as failure:
            failures.append(failure)
        else:
            written.append((form, path))
    return written, failures


def _wanted(files: Files) -> list[tuple[str, str, Path, Callable[[Report], str]]]:
    """Name of the form, option, path and renderer. Renderers are loaded only where they are needed."""
    wanted: list[tuple[str, str, Path, Callable[[Report], str]]] = []
    if files.html is not None:
        wanted.append(("Page", "--html", files.html, render_html.as_html))
    if files.markdown is not None:
        wanted.append(("Markdown", "--markdown", files.markdown, render_markdown.as_markdown))
    if files.junit is not None:
        wanted.append(("JUnit", "--junit", files.junit, render_junit.as_junit))
    return wanted


def write_file(path: Path, text: str, what: str = "The page", option: str = "--html") -> None:
    """Write the text. Raises SeatrialError with the reason."""
    try:
        with os.fdopen(open_named(path), "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        unread = error.errno == errno.ENXIO  # of open(2), for a pipe; also for a socket
        why = "no program reads from it" if unread else error.strerror
        reason = f"{what} {path} cannot be written: {why}."
        raise SeatrialError(reason, f"Name another file with {option}.") from error
