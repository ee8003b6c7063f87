"""The site over archives: every link leads to a page, only what changed is rendered, hostile runs are text."""

import html
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from seatrial.archive import layout
from seatrial.archive.writer import RunWriter
from seatrial.commands.site.addresses import file_stem
from seatrial.commands.site.lists import Listed, index_blocks
from seatrial.model.monitoring import NodeStanding
from seatrial.model.run import Ending, RunKind
from seatrial.model.verdict import Verdict
from seatrial.render.html import as_html
from seatrial.render.report import Report
from tests.support.builders import (
    Cluster,
    abandoned,
    described_again,
    fill,
    info_of,
    leaves,
    names,
    record,
    sail,
    slow_part,
)
from tests.support.command_line import Seatrial
from tests.support.json_objects import frame
from tests.support.run_archives import healthy_run, slow_run

HEALTHY = Cluster(nodes=names(4), leaf_of=leaves(4, 2))
SICK = Cluster(nodes=names(4), leaf_of=leaves(4, 2), parts=slow_part("node", "n3", 0.6))
EVIL = ("n[bold red]1[/]", "\x1b[31mn2\x1b[0m\x07", "<script>alert(1)</script>", "n4\r\nPASS")
LINK = re.compile(r'href="([^"]*)"')


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("SEATRIAL_ARCHIVE", str(tmp_path / "archive"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A healthy run, and a later one in which n3 is slow."""
    folder = tmp_path / "archive"
    record(HEALTHY, folder, "good", started="2026-11-20T10:00:00Z", ended="2026-11-20T10:01:00Z")
    record(SICK, folder, "bad")
    return folder


def check_links(site: Path) -> int:
    """Fail at a link that leads out of the site or to nothing; how many there are."""
    count = 0
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert "default-src 'none'; script-src 'sha256-" in html.unescape(text)
        for href in LINK.findall(text):
            address, _, anchor = href.partition("#")
            target = (page.parent / address).resolve()
            assert target.is_relative_to(site.resolve()), (page, href)
            assert target.is_file(), (page, href)
            assert target.with_suffix(".json").is_file()
            assert not anchor or f'id="{anchor}"' in target.read_text(encoding="utf-8"), (page, href)
            count += 1
    return count


def test_index_nodes_and_runs_are_linked_and_have_their_fields_beside_them(
    archive: Path, tmp_path: Path, seatrial: Seatrial
) -> None:
    made = seatrial("site", "pages")
    assert made.out.startswith("site of 2 runs and 4 nodes: ")
    assert check_links(tmp_path / "pages") > 40
    index = (tmp_path / "pages" / "index.html").read_text()
    assert "leaf1" in index and 'class="SLOW a' in index and 'data-mark="S"' in index
    assert "link at 60 % of its limit" in index
    assert frame((tmp_path / "pages" / "index.json").read_text())["data"]["nodes"][0]["node"] == "n3"
    node = frame((tmp_path / "pages" / "nodes" / "n3.json").read_text())
    assert (node["kind"], node["verdict"]) == ("site node", "SLOW")
    assert [look["run"] for look in node["data"]["looks"]] == ["bad", "good"]
    assert {pair["verdict"] for pair in node["data"]["pairs"]} == {"SLOW"}
    assert node["data"]["samples"][0]["bytes_per_s"]
    assert node["data"]["facts"]["interfaces"]
    page = (tmp_path / "pages" / "nodes" / "n3.html").read_text()
    assert "<svg" in page and "../runs/bad.html" in page
    run = (tmp_path / "pages" / "runs" / "bad.html").read_text()
    assert '<nav aria-label="Pages">' in run and run.count('"../nodes/n3.html"') >= 1
    assert '<td data-label="node"><a href="../nodes/n4.html">n4</a>' in run
    shown = seatrial("report", "bad", "--json", code=1).object
    assert run.count('<a href="../pairs/bad.html#pair-n3~3En4"><rect class="point"') == 2  # in both maps
    pairs = frame((tmp_path / "pages" / "pairs" / "bad.json").read_text())
    assert pairs["kind"] == "site pairs"
    assert [pair["verdict"] for pair in pairs["data"]["pairs"]] == ["SLOW"] * 6 + ["PASS"] * 6
    assert all(len(one["bytes_per_s"]) > 1 for one in pairs["data"]["samples"])
    drawn = (tmp_path / "pages" / "pairs" / "bad.html").read_text()
    assert drawn.count('id="pair-') == drawn.count('<polyline class="curve"') == 12
    assert len(re.findall(r"Bandwidth of \d+ samples of n3&gt;n4</figcaption>", drawn)) == 1
    assert "limit 117.7 MB/s" in drawn
    assert frame((tmp_path / "pages" / "runs" / "bad.json").read_text()) == shown


def test_facts_that_changed_histories_and_a_comparison_are_there(tmp_path: Path, seatrial: Seatrial) -> None:
    for number in (1, 2, 3):
        healthy_run(tmp_path / "archive", number, nodes=3)
    slow_run(tmp_path / "archive", 1, nodes=3)
    healthy_run(tmp_path / "archive", 20, nodes=3, kind=RunKind.PLACEMENT, launcher="hosts")  # hides no history
    seatrial("baseline", "set", "kept", "h1,h2,h3")
    seatrial("site", "pages")
    check_links(tmp_path / "pages")
    node = frame((tmp_path / "pages" / "nodes" / "n3.json").read_text())["data"]
    assert node["facts_since"] == "h3"
    assert [change["fact"] for change in node["changed_facts"]] == ["interfaces.eth0.mtu_bytes"]
    assert "MTU of eth0" in (tmp_path / "pages" / "nodes" / "n3.html").read_text()
    metrics = frame((tmp_path / "pages" / "over-time.json").read_text())["data"]["metrics"]
    assert {metric["metric"].split()[0] for metric in metrics} == {"bandwidth", "latency"}
    for metric in metrics:
        page = (tmp_path / "pages" / metric["page"]).read_text()
        assert "<polyline" in page and 'href="../runs/h2.html"' in page
    compared = frame((tmp_path / "pages" / "compare.json").read_text())
    assert (compared["kind"], compared["verdict"]) == ("compare", "SLOWER")
    page = (tmp_path / "pages" / "compare.html").read_text()
    assert "s1 compared with kept" in page and 'class="range slower"' in page


def test_only_what_changed_is_rendered(archive: Path, tmp_path: Path, seatrial: Seatrial) -> None:
    seatrial("site", "pages")
    again = seatrial("site", "pages", "--json").data
    assert (again["rendered"], again["removed"]) == (2, 0)  # the two lists, which have the time
    inode = (tmp_path / "pages" / "runs" / "good.html").stat().st_ino
    record(HEALTHY, archive, "later", started="2026-11-22T10:00:00Z", ended="2026-11-22T10:01:00Z")
    third = seatrial("site", "pages", "--json").data
    assert third["runs"] == 3
    assert (tmp_path / "pages" / "runs" / "good.html").stat().st_ino == inode
    assert "nothing open" in (tmp_path / "pages" / "nodes" / "n3.html").read_text()
    assert "nothing open" not in (tmp_path / "pages" / "runs" / "bad.html").read_text()


def test_the_pages_of_a_run_that_was_removed_go(archive: Path, tmp_path: Path, seatrial: Seatrial) -> None:
    seatrial("site", "pages")
    (archive / "bad").rename(tmp_path / "elsewhere")
    assert seatrial("site", "pages", "--json").data["removed"] == 2  # that of the run and that of its pairs
    assert not (tmp_path / "pages" / "runs" / "bad.html").exists()
    check_links(tmp_path / "pages")


def test_an_empty_archive_has_a_site(tmp_path: Path, seatrial: Seatrial) -> None:
    assert seatrial("site", "pages").out.startswith("site of 0 runs and 0 nodes: ")
    assert check_links(tmp_path / "pages") > 0


def test_a_folder_of_somebody_is_refused(archive: Path, tmp_path: Path, seatrial: Seatrial) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter").write_text("dear")
    assert "neither empty nor a site" in seatrial("site", "home", code=64).err
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["letter"]


def test_hostile_names_are_text_and_their_links_lead_somewhere(
    tmp_path: Path, archive: Path, seatrial: Seatrial
) -> None:
    cluster = Cluster(nodes=EVIL, leaf_of=dict.fromkeys(EVIL, "<b>leaf</b>"), parts=slow_part("node", EVIL[1], 0.6))
    folder = record(cluster, archive, "evil", cluster='"><script>', reason="\x1b[2Jgone")
    described_again(folder, run="<script>alert(3)</script>")
    folder.rename(archive / "e'v\"il\x1b[2J<script>alert(2)<script>")
    seatrial("site", "pages")
    assert check_links(tmp_path / "pages") > 40
    for page in (tmp_path / "pages").rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert text.count("<script") == 1 and "\x1b" not in text and "<b>leaf" not in text, page
    assert (tmp_path / "pages" / "nodes" / f"{file_stem(EVIL[2])}.html").exists()


def test_damaged_half_written_and_linked_runs_have_a_message(tmp_path: Path, archive: Path, seatrial: Seatrial) -> None:
    (record(HEALTHY, archive, "torn") / layout.RUN_FILE).write_text("{")
    journal = record(HEALTHY, archive, "short") / layout.JOURNAL_FILE
    journal.write_bytes(journal.read_bytes()[:-40])
    fill(abandoned(RunWriter(archive, info_of(HEALTHY, run="open", ending=Ending.RUNNING))), HEALTHY, sail(HEALTHY))
    shutil.copytree(archive / "open.partial", archive / "good.partial")
    (archive / "linked").symlink_to(archive / "good")
    shown = seatrial("site", "pages", "--json").data
    assert shown["left_out"] == ["linked is a link, which is not followed."]
    assert shown["unread"] == 4  # torn, short, and both that were cut off
    check_links(tmp_path / "pages")
    pages = {name: (tmp_path / "pages" / "runs" / f"{name}.html").read_text() for name in ("torn", "short")}
    assert "run.json cannot be read" in pages["torn"]
    assert "INVALID" in pages["short"]
    assert frame((tmp_path / "pages" / "runs" / "torn.json").read_text())["error"]["what"]
    assert (tmp_path / "pages" / "runs" / "open.html").exists()
    assert (tmp_path / "pages" / "runs" / "good.partial.html").exists()  # the name of a closed run is that run's alone
    assert "linked is a link" in (tmp_path / "pages" / "index.html").read_text()


def test_a_run_that_breaks_its_report_has_a_page_that_says_so(
    archive: Path, tmp_path: Path, seatrial: Seatrial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seatrial.cli.operation.report.report_of", lambda _: msgspec.json.decode(b"{"))
    seatrial("site", "pages")
    assert "It cannot be judged (DecodeError" in (tmp_path / "pages" / "runs" / "bad.html").read_text()


def test_many_nodes_are_squares_and_the_index_stays_small() -> None:
    nodes = {
        f"node{number:05d}": NodeStanding(
            node=f"node{number:05d}", verdict=Verdict.PASS, run="r", judged="2026-11-20T10:00:00Z"
        )
        for number in range(10_000)
    }
    listed = Listed(
        nodes=nodes,
        leaf_of={name: f"leaf{name[4:7]}" for name in nodes},
        changes=(),
        runs={},
        left_out=(),
        at=datetime(2026, 11, 27, tzinfo=UTC),
    )
    page = as_html(Report(payload=lambda: nodes["node00000"], page=lambda: index_blocks(listed)))
    assert 'class="nodemap small"' in page
    assert len(page) < 2_000_000
