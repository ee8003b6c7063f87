"""seatrial report writes the report in every form, and says where."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support.builders import Cluster, names, record, slow_part
from tests.support.command_line import Seatrial


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    record(Cluster(nodes=names(4), parts=slow_part("node", "n2", 0.6)), tmp_path / "archive", "run")
    return tmp_path / "archive"


def test_files_are_written_beside_the_text(archive: Path, tmp_path: Path, seatrial: Seatrial) -> None:
    markdown, junit, page = (tmp_path / name for name in ("r.md", "r.xml", "r.html"))
    words = ["report", "run", "--archive", str(archive)]
    files = ["--html", str(page), "--markdown", str(markdown), "--junit", str(junit)]
    out = seatrial(*words, *files, code=1).out
    assert out.endswith(f"Page: {page}\nMarkdown: {markdown}\nJUnit: {junit}\n")
    assert markdown.read_text().startswith("# SLOW  n2: link at 60 % of its limit")
    assert page.read_text().startswith("<!doctype html>")
    headline = out.splitlines()[0]
    assert f"<title>{headline} - run - seatrial</title>" in page.read_text().replace("&gt;", ">")
    assert ElementTree.fromstring(junit.read_text()).get("name") == headline  # noqa: S314 - our own
    assert seatrial(*words, "--json", code=1).data["headline"] == headline
    suite = ElementTree.fromstring(junit.read_text())[0]  # noqa: S314 - our own
    assert [case.get("name") for case in suite.findall("testcase[failure]")] == ["slow-link node:n2"]


def test_check_writes_them_too(archive: Path, tmp_path: Path, seatrial: Seatrial) -> None:
    files = ["--markdown", str(tmp_path / "c.md"), "--junit", str(tmp_path / "c.xml")]
    ran = seatrial("check", "--replay", "run", "--run", "again", "--archive", archive, "--json", *files, code=1)
    assert ran.out.startswith("{")
    assert (tmp_path / "c.md").read_text().startswith("# SLOW")
    assert "<failure " in (tmp_path / "c.xml").read_text()


@pytest.mark.parametrize("option", ["--html", "--markdown", "--junit"])
@pytest.mark.parametrize("command", [["report", "run"], ["check", "--replay", "run", "--run", "again"], ["check"]])
def test_a_missing_folder_is_refused_before_anything_is_measured(
    command: list[str], option: str, archive: Path, tmp_path: Path, seatrial: Seatrial
) -> None:
    path = tmp_path / "new" / "report"
    _, out, err = seatrial(*command, "--archive", archive, option, str(path), code=64)
    assert out == ""
    assert f"{option} {str(path)!r}: there is no folder {str(path.parent)!r}. Make it, or name another file." in err
    assert not path.parent.exists()
    assert [folder.name for folder in archive.iterdir()] == ["run"]


@pytest.mark.parametrize("option", ["--html", "--markdown", "--junit"])
def test_a_file_that_cannot_be_written_does_not_hide_findings(
    option: str, archive: Path, tmp_path: Path, seatrial: Seatrial
) -> None:
    _, out, err = seatrial("report", "run", "--archive", archive, option, "/proc/r", code=1)
    assert out.startswith("SLOW  n2: link at 60 % of its limit")
    assert f"Name another file with {option}." in err
    record(Cluster(nodes=names(4)), archive, "healthy")
    seatrial("report", "healthy", "--archive", archive, option, "/proc/r", code=2)


@pytest.mark.parametrize("option", ["--html", "--markdown", "--junit"])
def test_a_folder_is_refused(option: str, archive: Path, seatrial: Seatrial) -> None:
    ran = seatrial("report", "run", "--archive", archive, option, archive, code=64)
    assert f"{option} {str(archive)!r} is a folder. Name a file in it." in ran.err
