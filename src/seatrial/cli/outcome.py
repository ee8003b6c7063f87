"""Shows a report: text or JSON on standard output, other forms in files."""

import errno
import functools
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec.structs import replace

from seatrial.archive import listing
from seatrial.archive.reader import is_ahead
from seatrial.cli.json_output import JSON_OUTPUT
from seatrial.cli.parameters import PlotFile, ReportFile, option
from seatrial.files.named import named_file
from seatrial.model.errors import ErrorKind, ExitCode, SeatrialError
from seatrial.render import html as render_html
from seatrial.render import junit as render_junit
from seatrial.render import markdown as render_markdown
from seatrial.render import plot_file, plot_style
from seatrial.render import text as render_text
from seatrial.render.envelope import Failure, failure_of
from seatrial.render.escape import clean
from seatrial.render.finding_text import standings_of
from seatrial.render.report import Report


def keep_report(folder: Path, report: Report) -> None:
    """Keep what a report says of the run in `folder`, for lists and for monitoring."""
    listing.keep_report(folder, report.word, report.headline, int(report.exit_code), standings_of(report))


class Files(msgspec.Struct, frozen=True, kw_only=True):
    """Files to which a report is written beside standard output; None: no such file."""

    html: Path | None = None
    markdown: Path | None = None
    junit: Path | None = None
    plot: Path | None = None


class OutputForms(msgspec.Struct, frozen=True, kw_only=True):
    """The forms in which a command line wants its report."""

    as_json: bool = False
    nagios: bool = False
    """A plugin's line in place of the report, and its exit code."""
    files: Files = Files()

    def show(self, report: Report, folder: Path | None = None) -> int:
        """Write the files, print JSON or text, and return the exit code. `folder`: where the run is kept.

        A file that cannot be written does not hide the result; findings stay the exit code.
        """
        written, failures = write_files(report, self.files)
        if folder is not None and report.word:
            keep_report(folder, report)
        if report.run and is_ahead(report.run.started):
            say(f"{report.run.run} began at {report.run.started}, which is later than now: a clock is or was wrong.")
        failure = _failure(report, failures)
        if self.nagios:
            for error in failures:
                say(str(error))
            return JSON_OUTPUT.print_nagios(report)
        if self.as_json:
            JSON_OUTPUT.print_report(report, failure)
        else:
            width, colour = width_and_colour()
            shown = replace(report, wrapped=True) if sys.stdout.isatty() else report
            print(render_text.as_text(shown, width=width, colour=colour, plain=not colour), end="")
            if folder is not None:
                print(clean(f"Archive: {folder}"))
            print_files(written)
        for error in failures:
            say(str(error))
        return failure.exit_code if failure else int(report.exit_code)

    def tell(self, report: Report, lines: Iterable[str]) -> int:
        """Print the object of a report, or these lines in place of its text; its exit code."""
        if self.as_json:
            JSON_OUTPUT.print_report(report)
        else:
            for line in lines:
                print(clean(line))
        return int(report.exit_code)


FORMS = {
    "json": partial(option, "--json", "as_json", is_flag=True, help="Print one JSON object instead of text."),
    "html": partial(option, "--html FILE", type=ReportFile(), help="Also write the report as an HTML page."),
    "markdown": partial(
        option, "--markdown FILE", type=ReportFile(), help="Also write the report as Markdown, for a ticket or a wiki."
    ),
    "junit": partial(
        option, "--junit FILE", type=ReportFile(), help="Also write the findings as JUnit XML, for a CI system."
    ),
    "plot": partial(
        option, "--plot FILE", type=PlotFile(), help="Also write the pictures as SVG, PNG or PDF, with matplotlib."
    ),
    "nagios": partial(
        option, "--nagios", is_flag=True, help="Print one line as a monitoring plugin, and exit with its code: 0 to 3."
    ),
}


def output_options(
    *forms: str, modes: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Decorator: --json and the options of these `FORMS`; the function gets them as `output`.

    `modes`: of forms that go with some modes of the command only.
    """

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(function)
        def with_output(**values: Any) -> int:
            files = Files(**{name: values.pop(name) for name in Files.__struct_fields__ if name in forms})
            output = OutputForms(as_json=values.pop("as_json"), nagios=values.pop("nagios", False), files=files)
            return function(output=output, **values)

        decorated: Callable[..., int] = with_output
        for form in reversed(("json", *forms)):
            decorated = FORMS[form](modes=modes.get(form, ()))(decorated)
        return decorated

    return decorate


def width_and_colour() -> tuple[int, bool]:
    """Columns of the terminal, and whether it wants colour (NO_COLOR is heeded)."""
    terminal = sys.stdout.isatty()
    return shutil.get_terminal_size((100, 40)).columns, terminal and not os.environ.get("NO_COLOR")


def print_files(written: Sequence[tuple[str, Path]]) -> None:
    """Print a line `Form: path` for each file that was written."""
    for form, path in written:
        print(clean(f"{form}: {path}"))


def say(text: str) -> None:
    """Print a sentence beside the report, on standard error."""
    print(clean(f"seatrial: {text}"), file=sys.stderr)


def _failure(report: Report, failures: Sequence[SeatrialError]) -> Failure | None:
    """The first file that could not be written, with the exit code that the command leaves with."""
    if not failures:
        return None
    code = report.exit_code if report.exit_code is ExitCode.FINDINGS else ExitCode.INCOMPLETE
    return replace(failure_of(failures[0], ErrorKind.UNWRITTEN), exit_code=int(code))


def write_files(report: Report, files: Files) -> tuple[list[tuple[str, Path]], list[SeatrialError]]:
    """What was written, and why the rest could not be. Renderers are loaded only where they are needed."""
    forms: tuple[tuple[str, str, str, Path | None, Callable[[Path], str | bytes]], ...] = (
        ("Page", "The page", "--html", files.html, lambda _: render_html.as_html(report)),
        (
            "Markdown",
            "The Markdown report",
            "--markdown",
            files.markdown,
            lambda _: render_markdown.as_markdown(report),
        ),
        ("JUnit", "The JUnit report", "--junit", files.junit, lambda _: render_junit.as_junit(report)),
        ("Plot", "The plot", "--plot", files.plot, lambda path: plot_file.as_plot(report, plot_style.form_of(path))),
    )
    written, failures = [], []
    for form, what, name, path, render in forms:
        if path is None:
            continue
        try:
            write_file(path, render(path), what, name)
        except SeatrialError as failure:
            failures.append(failure)
        else:
            written.append((form, path))
    return written, failures


def write_file(path: Path, content: str | bytes, what: str = "The page", name: str = "--html") -> None:
    """Write the text or the bytes. Raises SeatrialError with the reason."""
    try:
        with named_file(path) as file:
            file.write(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        unread = error.errno == errno.ENXIO  # of open(2), for a pipe; also for a socket
        why = "no program reads from it" if unread else error.strerror
        reason = f"{what} {path} cannot be written: {why}."
        raise SeatrialError(reason, f"Name another file with {name}.") from error
