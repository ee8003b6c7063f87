"""The command line over recorded runs, with no Slurm and no MPI in reach."""

import subprocess
import sys
from pathlib import Path

import pytest

from seatrial.archive import layout
from seatrial.archive.reader import read_info, run_folders
from seatrial.archive.writer import RunWriter
from seatrial.cli.main import HEADINGS, SUMMARIES
from seatrial.cli.options import NODES
from seatrial.model.run import Ending
from tests.support.builders import Cluster, abandoned, fill, info_of, names, record, sail, slow_part
from tests.support.collecting import program
from tests.support.command_line import Seatrial, commands
from tests.support.json_objects import parsed
from tests.support.paths import ROOT
from tests.support.processor_time import within

HEALTHY = Cluster(nodes=names(3))
SICK = Cluster(nodes=names(4), parts=slow_part("node", "n2", 0.6))
EVIL = ("n[bold red]1[/]", "\x1b[31mn2\x1b[0m\x07", "<script>alert(1)</script>", "n4\r\nPASS")


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder to work in, nothing on PATH, no scheduler, and an archive of our own."""
    for name in ("SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SEATRIAL_DEBUG", "SEATRIAL_PROBE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("SEATRIAL_ARCHIVE", str(tmp_path / "archive"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return tmp_path / "archive"


def test_check_without_slurm_and_mpi_says_what_is_missing(seatrial: Seatrial) -> None:
    ran = seatrial("check", "--launcher", "local", code=2)
    assert ran.out == ""
    assert "There is no MPI compiler (mpicc) on PATH" in ran.err
    assert "--probe" in ran.err


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["check", "--budget", "3x"], "--budget '3x'"),
        (["check", "--budget", "0"], "--budget '0'"),
        (["check", "--budget", "-5s"], "--budget '-5s'"),
        (["check", "--budget", ""], "--budget ''"),
        (["check", "--wait", "soon"], "--wait 'soon'"),
        (["check", "--round-timeout", "1d"], "--round-timeout '1d'"),
        (["check", "--nodes", "n[1-"], "--nodes 'n[1-'"),
        (["check", "--nodes", "n[1-2]"], "Naming nodes needs Slurm"),
        (["check", "--partition", "p"], "--partition needs Slurm"),
        (["check", "--launcher", "moon"], "--launcher moon"),
        (["check", "--ranks", "x"], "--ranks 'x'"),
        (["check", "--ranks=1"], "--ranks '1'"),
        (["check", "--seed", "-1"], "--seed '-1'"),
        (["check", "--pairs-at-once", "many"], "--pairs-at-once 'many'"),
        (["check", "--run", "../up"], "--run '../up'"),
        (["check", "--replay", "nosuch"], "'nosuch'"),
        (["check", "--launcher", "local", "--mpicc", "nosuch-cc"], "'nosuch-cc'"),
        (["check", "--launcher", "local", "--probe", "nosuch"], "nosuch is not an executable program"),
        (["check", "--nosuch"], "--nosuch"),
        (["doctor", "stray"], "stray"),
        (["nosuch"], "'nosuch'"),
        (["report", "nosuch"], "'nosuch'"),
        (["runs", "nosuch"], "'nosuch'"),
        (["runs", "show", "nosuch"], "'nosuch'"),
        (["runs", "export", "nosuch"], "'nosuch'"),
        (["runs", "export", "--format", "xml"], "--format 'xml'"),
        (["runs", "collect", "nosuch"], "'nosuch'"),
    ],
)
def test_usage_errors_exit_64_and_show_the_value(seatrial: Seatrial, arguments: list[str], shown: str) -> None:
    ran = seatrial(*arguments, code=64)
    assert ran.out == ""
    assert shown in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    "command",
    [
        ["check", "--nodes"],
        ["doctor", "--nodes"],
        ["facts"],
        ["limits"],
        ["facts", "--output", "x"],
        ["facts", "--detach"],
        ["facts", "--from", "/dev/null"],
    ],
)
def test_more_nodes_than_a_cluster_can_have_are_refused_without_expanding_them(
    seatrial: Seatrial, command: list[str]
) -> None:
    with within(1):
        ran = seatrial(*command, "n[1-1000000]", code=64)
    assert "'n[1-1000000]' is not a valid list of nodes: it has more than 65,536 nodes" in ran.err


@pytest.mark.parametrize(("arguments", "shown"), [([], "\n  check "), (["runs"], "\n  list ")])
def test_without_a_command_the_commands_are_shown(seatrial: Seatrial, arguments: list[str], shown: str) -> None:
    ran = seatrial(*arguments, code=64)
    assert shown in ran.out + ran.err


def test_help_puts_each_command_below_one_question() -> None:
    below = [name for names in HEADINGS.values() for name in names]
    assert sorted(below) == sorted(SUMMARIES)


def test_help_has_at_most_16_commands_that_are_needed_often() -> None:
    seldom = ("In operation", "Rarely")
    often = {name for heading, names in HEADINGS.items() for name in names if heading not in seldom}
    assert len(often) <= 16


@pytest.mark.parametrize(("long", "short", "names_nodes"), [("--nodes", "-w", True), ("--node-count", "-N", False)])
def test_lists_and_numbers_of_nodes_are_called_alike_everywhere(long: str, short: str, *, names_nodes: bool) -> None:
    options = [one for _, command in commands() for one in command.params if long in one.opts]
    assert len(options) >= 3
    assert [one.opts for one in options if short not in one.opts or (one.type is NODES) is not names_nodes] == []


def test_a_replayed_check_reports_and_exits_by_its_findings(seatrial: Seatrial, archive: Path) -> None:
    record(SICK, archive, "before")
    ran = seatrial("check", "--replay", "before", "--run", "again", code=1)
    assert "n2" in ran.out
    assert "60 %" in ran.out
    assert f"Archive: {archive / 'again'}" in ran.out
    assert [folder.name for folder in run_folders(archive)] == ["before", "again"]


def test_every_key_of_the_json_report_is_documented(seatrial: Seatrial, archive: Path) -> None:
    record(SICK, archive)
    documented = (ROOT / "docs" / "report.md").read_text()
    report = seatrial("report", "--json", code=1).data
    keys = set(report) | set(report["pairs"][0]) | set(report["nodes"][0]) | set(report["findings"][0])
    assert {"format", "verdict", "exit_code", "complete", "findings", "pairs", "nodes", "notes", "lost"} <= keys
    assert sorted(key for key in keys if f"`{key}`" not in documented) == []


def test_report_exits_as_the_check_did_and_writes_the_page(seatrial: Seatrial, archive: Path) -> None:
    folder = record(SICK, archive)
    page = archive.parent / "page.html"
    ran = seatrial("report", str(folder), "--html", str(page), code=1)
    assert f"Page: {page}" in ran.out
    assert page.read_text(encoding="utf-8").startswith("<!")


def test_a_name_that_is_taken_is_refused_before_anything_is_measured(seatrial: Seatrial, archive: Path) -> None:
    record(HEALTHY, archive, "before")
    ran = seatrial("check", "--replay", "before", "--run", "before", code=64)
    assert "There is a run 'before' already" in ran.err


def test_an_archive_that_cannot_be_written_is_a_sentence(seatrial: Seatrial, archive: Path) -> None:
    folder = record(HEALTHY, archive)
    (archive / "file").write_text("")
    ran = seatrial("check", "--replay", str(folder), "--archive", archive / "file", code=2)
    assert "cannot be written" in ran.err


class TestRuns:
    def test_list_and_its_json(self, seatrial: Seatrial, archive: Path) -> None:
        recorded = sail(HEALTHY)
        record(HEALTHY, archive, "zulu", recorded, started="2026-11-21T09:00:00Z")
        record(HEALTHY, archive, "alpha", recorded)
        ran = seatrial("runs", "list")
        assert [line.split()[0] for line in ran.out.splitlines() if line[:1] != " "] == ["alpha", "zulu"]
        listed = seatrial("runs", "list", "--json").data
        assert (listed["format"], listed["kind"]) == (2, "runs list")
        samples = sum(len(one.times_s) for one in recorded.measurements)
        assert [(one["run"], one["nodes"], one["samples"]) for one in listed["runs"]] == [
            ("alpha", 3, samples),
            ("zulu", 3, samples),
        ]

    def test_an_empty_archive_is_said(self, seatrial: Seatrial, archive: Path) -> None:
        assert seatrial("runs", "list").out == f"No runs in {archive}.\n"
        assert seatrial("runs", "list", "--json").object["data"] == {"runs": []}

    def test_one_damaged_run_hides_no_other(self, seatrial: Seatrial, archive: Path) -> None:
        record(HEALTHY, archive, "good")
        (record(HEALTHY, archive, "bad") / layout.RUN_FILE).write_text("{")
        ran = seatrial("runs", "list")
        lines = [line for line in ran.out.partition("\n\n")[0].splitlines() if line[:1] != " "]
        endings = {line.split()[0]: "damaged" in line for line in lines}
        assert endings == {"good": False, "bad": True}

    def test_show_and_its_json(self, seatrial: Seatrial, archive: Path) -> None:
        record(HEALTHY, archive, mpi_library="Open MPI v4.1.4")
        ran = seatrial("runs", "show")
        assert "n1 n2 n3" in ran.out
        assert "oneway" in ran.out
        assert "1 MiB" in ran.out
        shown = seatrial("runs", "show", "run", "--json").data
        assert shown["info"]["mpi_library"] == "Open MPI v4.1.4"
        assert {one["kernel"] for one in shown["kernels"]} == {"oneway", "pingpong"}
        assert all(one["median_time_s"] > 0 for one in shown["kernels"])

    @pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
    def test_export(self, seatrial: Seatrial, archive: Path, form: str) -> None:
        record(HEALTHY, archive)
        target = archive.parent / f"it's all.{form}"
        ran = seatrial("runs", "export", "last", "--output", str(target), "--format", form)
        count = int(ran.out.split()[0])
        assert ran.out == f"{count} samples in {target}\n"
        if form != "parquet":
            assert len(target.read_text().splitlines()) == count + (form == "csv")

    def test_recover(self, seatrial: Seatrial, archive: Path) -> None:
        writer = RunWriter(archive, info_of(HEALTHY, ending=Ending.RUNNING))
        fill(abandoned(writer), HEALTHY, sail(HEALTHY))
        with (writer.folder / layout.JOURNAL_FILE).open("ab") as journal:
            journal.write(b'{"entry":"meas')
        ran = seatrial("runs", "recover")
        assert ran.out.startswith(f"run: {len(sail(HEALTHY).measurements)} measurements, ")
        assert "1 torn line kept" in ran.out
        assert read_info(archive / "run").ending is Ending.RECOVERED
        assert seatrial("runs", "recover").out == "Nothing to recover.\n"
        lists: dict[str, list[str]] = {name: [] for name in ("recovered", "running", "busy", "others", "damaged")}
        assert seatrial("runs", "recover", "--json").object["data"] == {**lists, "removed_folders": 0}
        seatrial("report", code=2)

    def test_one_damaged_run_keeps_no_other_from_recovery(self, seatrial: Seatrial, archive: Path) -> None:
        for name in ("bad", "good"):
            fill(abandoned(RunWriter(archive, info_of(HEALTHY, run=name))), HEALTHY, sail(HEALTHY))
        (archive / "bad.partial" / layout.RUN_FILE).write_text("{")
        ran = seatrial("runs", "recover", code=2)
        assert "bad is not closed: " in ran.err
        assert "run.json cannot be read" in ran.err
        assert ran.out.startswith("good: ")

    def test_report_of_a_run_that_still_grows(self, seatrial: Seatrial, archive: Path) -> None:
        fill(RunWriter(archive, info_of(HEALTHY, ending=Ending.RUNNING)), HEALTHY, sail(HEALTHY))
        seatrial("report", code=2)
        shown = seatrial("runs", "show", code=2)
        assert "seatrial runs recover" in shown.err

    def test_a_later_format_is_refused(self, seatrial: Seatrial, archive: Path) -> None:
        path = record(HEALTHY, archive) / layout.RUN_FILE
        path.write_text(path.read_text().replace('"format": 1', '"format": 9'))
        ran = seatrial("report", code=2)
        assert "has format 9" in ran.err


class TestHostileNames:
    @pytest.fixture(autouse=True)
    def recorded(self, archive: Path) -> None:
        cluster = Cluster(nodes=EVIL, parts=slow_part("node", EVIL[1], 0.6))
        record(cluster, archive, cluster="\x1b]0;title\x07c", reason="\x1b[2Jgone")

    @pytest.mark.parametrize("arguments", [["report"], ["runs", "show"], ["runs", "list"]])
    def test_no_control_character_reaches_the_terminal(
        self, seatrial: Seatrial, archive: Path, arguments: list[str]
    ) -> None:
        (archive / "run").rename(archive / "run\x1b[2J")
        ran = seatrial(*arguments, code=int(arguments == ["report"]))
        assert not [character for character in ran.out + ran.err if character < " " and character != "\n"]

    def test_markup_is_shown_as_it_is(self, seatrial: Seatrial) -> None:
        assert EVIL[0] in seatrial("runs", "show").out

    @pytest.mark.parametrize("arguments", [["report", "--json"], ["runs", "show", "--json"]])
    def test_json_is_ascii_and_gives_the_names_back(self, seatrial: Seatrial, arguments: list[str]) -> None:
        out = seatrial(*arguments, code=int(arguments[0] == "report")).out
        assert out.isascii()
        assert "\x1b" not in out
        found = parsed(out)
        nodes = found["info"]["nodes"] if arguments[0] == "runs" else [one["node"] for one in found["nodes"]]
        assert tuple(nodes) == EVIL

    def test_the_page_runs_no_script_of_theirs(self, seatrial: Seatrial, archive: Path) -> None:
        page = archive.parent / "page.html"
        seatrial("report", "--html", str(page), code=1)
        assert EVIL[2] not in page.read_text(encoding="utf-8")

    def test_a_replay_of_them_names_the_same(self, seatrial: Seatrial) -> None:
        ran = seatrial("check", "--replay", "run", "--run", "again", "--json", code=1)
        assert [one["subject"] for one in ran.data["findings"]] == [f"node:{EVIL[1]}"]


def test_what_slurm_says_cannot_harm_the_terminal(
    seatrial: Seatrial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bin"
    program(
        folder, "sinfo", r"""case "$*" in *%D*) echo 1;; *) printf 'sinfo: error: \033[2Jboo\n' >&2; exit 1;; esac"""
    )
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    ran = seatrial("check", "--probe", "/bin/true", code=2)
    assert "Slurm does not answer: boo." in ran.err
    assert "\x1b" not in ran.err


def test_an_error_of_our_own_is_70_and_asks_for_a_report(seatrial: Seatrial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seatrial.archive.reader.run_folders", lambda _: 1 / 0)
    ran = seatrial("runs", "list", code=70)
    assert "ZeroDivisionError" in ran.err
    assert "SEATRIAL_DEBUG" in ran.err
    monkeypatch.setenv("SEATRIAL_DEBUG", "1")
    ran = seatrial("runs", "list", code=70)
    assert "Traceback" in ran.err


def test_ctrl_c_before_anything_was_measured_is_2(seatrial: Seatrial, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(settings: object, progress: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("seatrial.commands.check.run.run_check", interrupt)
    ran = seatrial("check", code=2)
    assert ran.err.splitlines()[-1] == "seatrial: Interrupted."


def test_python_m_seatrial() -> None:
    python = Path(sys.prefix) / "bin" / "python"
    done = subprocess.run([python, "-m", "seatrial", "--help"], check=True, capture_output=True, text=True, timeout=60)
    assert "check" in done.stdout
    assert done.stderr == ""


def test_a_current_folder_that_was_removed_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert "The current folder does not exist any more" in seatrial("runs", "list", "--archive", "here", code=2).err
