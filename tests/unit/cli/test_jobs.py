"""seatrial jobs: first lines, privacy, one call of sacct for each day, and what goes wrong with it."""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from seatrial.commands.jobs import families
from tests.support.command_line import Seatrial, Text
from tests.support.documents import own_lines
from tests.support.job_histories import History, sacct_text
from tests.support.paths import ROOT
from tests.support.slurm_scripts import SlurmScripts

SMALL = History(nodes=24, families=8, jobs=1500)


@pytest.fixture
def slow(tmp_path: Path) -> str:
    path = tmp_path / "sacct.txt"
    path.write_text(sacct_text(replace(SMALL, slow_nodes={"n7": 1.9})))
    return str(path)


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SlurmScripts:
    scripts = SlurmScripts(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{scripts.folder}:/usr/bin:/bin")
    return scripts


def test_the_first_line_answers(slow: str, seatrial: Seatrial) -> None:
    out = seatrial("jobs", "--from", slow, code=1).out
    first = out.splitlines()[0]
    assert first.startswith("SLOW  n7: jobs take 1.9 times as long there; ")
    assert first.endswith(" families")
    assert len(first) <= 80
    assert "\n--exclude=n7\n" in out
    assert "1 of 24 nodes, which ran " in out.partition("--exclude=")[2]
    assert "1500 read" in out


def test_a_pass_says_what_would_have_been_named(seatrial: Seatrial) -> None:
    first = seatrial("jobs", "--from", Text(sacct_text(SMALL), "sacct.txt")).out.splitlines()[0]
    assert first.startswith("PASS  24 nodes alike")
    assert " % longer would be named" in first
    assert len(first) <= 80


def test_two_days_are_two_calls_in_utc(slurm: SlurmScripts, seatrial: Seatrial) -> None:
    slurm.says("sacct", sacct_text(replace(SMALL, jobs=20)))
    out = seatrial("jobs", "--since", "2026-03-02", "--until", "2026-03-03", "-p", "main", code=2).out
    asked = slurm.all_asked("sacct")
    days = [[word for word in call if "time=" in word] for call in asked]
    assert days == [
        ["--starttime=2026-03-02", "--endtime=2026-03-03"],
        ["--starttime=2026-03-03", "--endtime=2026-03-04"],
    ]
    assert all("--partition=main" in call and "--parsable2" in call for call in asked)
    assert "2 calls, " in out
    assert "record that appears twice" in out


def test_an_old_sacct_is_asked_without_the_submit_line(slurm: SlurmScripts, seatrial: Seatrial) -> None:
    slurm.says("sacct", "")
    header = "JobID|State|ElapsedRaw"
    slurm.runs(
        "sacct",
        f'case "$*" in *SubmitLine*) echo \'sacct: fatal: Invalid field requested: "SubmitLine"\' >&2; exit 1;; esac\n'
        f"echo '{header}'",
    )
    out = seatrial("jobs", "--since", "2026-03-02", "--until", "2026-03-02", code=2).out
    assert out.startswith("INCONCLUSIVE  accounting has no record of this period\n")


@pytest.mark.parametrize(
    "answer",
    [
        "sacct: error: slurm_persist_conn_open_without_init: failed to open persistent connection to host:login:6819: "
        "Connection refused\nsacct: error: Problem talking to the database: Connection refused\n",
        "sacct: error: Problem talking to the database\n",
    ],
)
def test_a_database_that_does_not_answer_is_one_sentence(slurm: SlurmScripts, seatrial: Seatrial, answer: str) -> None:
    """As Slurm 22.05 prints it where slurmdbd is stopped, or gone."""
    slurm.says("sacct", answer, 1)
    error = seatrial("jobs", "--since", "2026-03-02", "--until", "2026-03-02", code=2).err
    last = error.splitlines()[-1]
    assert last.startswith("seatrial: The accounting database does not answer for 2026-03-02: ")
    assert "SLURM_CLUSTERS" not in last
    assert "sacctmgr ping" in last


def test_who_may_see_no_jobs_is_told_so(
    slurm: SlurmScripts, seatrial: Seatrial, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With PrivateData=jobs slurmdbd answers other users with the header alone, and success."""
    slurm.says("sacct", "JobID|State|ElapsedRaw\n")
    asked = ("jobs", "--since", "2026-03-02", "--until", "2026-03-02")
    monkeypatch.setattr(os, "geteuid", lambda: 2)
    out = seatrial(*asked, code=2).out
    assert out.startswith("INCONCLUSIVE  accounting has no record of this period that you may see\n")
    assert "may hide the jobs of other users" in out
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert seatrial(*asked, code=2).out.startswith("INCONCLUSIVE  accounting has no record of this period\n")


def test_without_sacct_a_file_is_asked_for(monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial) -> None:
    monkeypatch.setenv("PATH", "")
    assert "--from FILE" in seatrial("jobs", code=2).err


def test_scrubbed_reports_have_no_names(slow: str, seatrial: Seatrial) -> None:
    out = seatrial("jobs", "--from", slow, "--scrub", "--families", "--changed", "2026-04-01", code=1).out
    assert "code" not in out
    assert "main" not in out.replace("remain", "")
    assert "n7" not in out


def test_one_family_and_one_job(slow: str, seatrial: Seatrial, tmp_path: Path) -> None:
    families = seatrial("jobs", "--from", slow, "--json", code=1).data["families"]
    label = max(families, key=lambda family: family["jobs"])["label"]
    out = seatrial("jobs", "--from", slow, "--family", label, code=1).out
    assert " of its jobs completed (" in out
    assert "#" in out.partition("jobs by run time\n")[2].partition("nodes by their median")[0]
    assert "#" in out.partition("nodes by their median")[2]
    page = tmp_path / "page.html"
    family = seatrial("jobs", "--from", slow, "--family", label, "--html", str(page), "--json", code=1).data["family"]
    assert page.read_text().count("<figure") == 2
    assert 'class="v SLOW"' in page.read_text()
    assert sum(one["nodes"] for one in family["node_bins"]) == len(family["nodes"])
    assert family["nodes"][0]["node"] == "n7"
    assert "--family and --job" in seatrial("jobs", "--family", "a", "--job", "7", code=64).err


def test_every_field_of_the_json_is_described(slow: str, seatrial: Seatrial) -> None:
    described = own_lines((ROOT / "docs" / "jobs.md").read_text())
    fields = seatrial("jobs", "--from", slow, "--json", code=1).object["data"]
    assert {name for name in fields if name not in described and f"{name}[]" not in described} == set()


@pytest.mark.parametrize("words", [("--since", "yesterday"), ("--changed", "9999-12-31"), ("--since", "2026-03-04")])
def test_dates_are_checked(words: tuple[str, str], seatrial: Seatrial) -> None:
    assert words[1] in seatrial("jobs", *words, "--until", "2026-03-03", code=64).err


def test_patterns_of_a_site_make_families(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial) -> None:
    """The partition of the same file is where a site measures, and leaves out no jobs."""
    names = ("run_alpha", "run_beta", "run_gamma", "other")
    rows = (f"{job}|u|{name}|main|60|COMPLETED|n{job}" for job, name in enumerate(names))
    (tmp_path / "sacct.txt").write_text("\n".join(("JobID|User|JobName|Partition|ElapsedRaw|State|NodeList", *rows)))
    (tmp_path / "site.toml").write_text('family-pattern = ["_[a-z]+"]\npartition = "debug"\n')
    asked = ("jobs", "--from", str(tmp_path / "sacct.txt"), "--families")
    data = seatrial(*asked, "--json", code=2).data
    assert [family["jobs"] for family in data["families"]] == [1, 1, 1, 1]
    monkeypatch.setenv("SEATRIAL_SITE", str(tmp_path / "site.toml"))
    data = seatrial(*asked, "--json", code=2).data
    assert [(family["name"], family["jobs"]) for family in data["families"]] == [("run#", 3), ("other", 1)]
    assert data["patterns"] == ["_[a-z]+"]
    out = seatrial(*asked, code=2).out
    assert "# for numbers" in out and "_[a-z]+" in out
    assert seatrial(*asked, "--family-pattern", "x", "--json", code=2).data["patterns"] == ["x"]


@pytest.mark.parametrize("pattern", ["(", "a*", "x{99999999999}"])
def test_patterns_are_checked(pattern: str, seatrial: Seatrial) -> None:
    assert "--family-pattern" in seatrial("jobs", "--family-pattern", pattern, code=64).err


@pytest.mark.parametrize(("letters", "code"), [(4, 2), (60, 64)])
def test_patterns_have_limited_time(
    letters: int, code: int, monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial
) -> None:
    """Nested repetitions double the time with each letter of a name that does not match."""
    monkeypatch.setattr(families, "PARSE_S", 0.5)
    text = f"JobID|User|JobName|Partition|ElapsedRaw|State|NodeList\n1|u|{'a' * letters}|main|60|COMPLETED|n1\n"
    made = seatrial("jobs", "--from", Text(text, "sacct.txt"), "--family-pattern", "(a+)+b", code=code)
    assert ("--family-pattern took more than 0.5 s" in made.err) is (code == 64)


def few(tmp_path: Path, *jobs: tuple[str, int]) -> str:
    """A file of like jobs of one day: node and run time of each."""
    rows = (f"{number}|u|2026-03-02T10:00:00|{took}|COMPLETED|{node}" for number, (node, took) in enumerate(jobs))
    (tmp_path / "few.txt").write_text("\n".join(("JobID|User|Start|ElapsedRaw|State|NodeList", *rows)))
    return str(tmp_path / "few.txt")


@pytest.mark.parametrize("factor", [1, 20])
def test_too_few_jobs_are_no_pass_since_no_node_could_be_named(tmp_path: Path, seatrial: Seatrial, factor: int) -> None:
    jobs = [(f"n{number % 4}", (600 + number) * (factor if number % 4 == 1 else 1)) for number in range(12)]
    out = seatrial("jobs", "--from", few(tmp_path, *jobs), code=2).out
    assert out.startswith("INCONCLUSIVE  12 jobs on 4 nodes are too few to name any, however slow\n")
    assert "would see" not in out


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (("--until", "2020-01-01"), "INCONCLUSIVE  no job can be used of 60 records; most: outside of the period"),
        (("--changed", "2026-03-02"), "INCONCLUSIVE  no family ran on enough days on both sides of 2026-03-02"),
    ],
)
def test_what_cannot_be_answered_is_one_sentence(
    tmp_path: Path, seatrial: Seatrial, words: tuple[str, ...], first: str
) -> None:
    jobs = [(f"n{number % 4}", 600 + number) for number in range(60)]
    out = seatrial("jobs", "--from", few(tmp_path, *jobs), *words, code=2).out
    assert out.splitlines()[0] == first


def test_jobs_without_nodes_are_said_to_be(tmp_path: Path, seatrial: Seatrial) -> None:
    out = seatrial("jobs", "--from", few(tmp_path, ("", 60), ("None assigned", 61)), code=2).out
    assert out.startswith("INCONCLUSIVE  2 jobs, and their nodes are not known\n")


def test_few_days_before_or_after_a_date_name_no_family(tmp_path: Path, seatrial: Seatrial) -> None:
    """Three days on each side are compared, and even the greatest change would not be named."""
    rows = [
        f"{day * 10 + number}|u|2026-03-0{day}T10:00:00|{600 + 7 * number}|COMPLETED|n{number % 2}"
        for day in range(1, 7)
        for number in range(10)
    ]
    (tmp_path / "days.txt").write_text("\n".join(("JobID|User|Start|ElapsedRaw|State|NodeList", *rows)))
    out = seatrial("jobs", "--from", tmp_path / "days.txt", "--changed", "2026-03-04", code=2).out
    assert out.startswith("INCONCLUSIVE  too few days before or after 2026-03-04 to name a family\n")


def test_a_job_on_a_slow_node_is_said_to_be(slow: str, seatrial: Seatrial) -> None:
    job = next(line for line in Path(slow).read_text().splitlines() if "|COMPLETED|" in line and "|n7|" in line)
    out = " ".join(seatrial("jobs", "--from", slow, "--job", job.partition("|")[0], code=1).out.split())
    assert "of its peers; named above: n7" in out


def test_an_array_is_asked_for_by_task_and_a_job_that_ran_twice_is_its_last_run(
    tmp_path: Path, seatrial: Seatrial
) -> None:
    rows = [
        f"{job}|u|2026-03-02T1{hour}:00:00|{60 + hour}|COMPLETED|n1" for job, hour in (("7", 0), ("7", 3), ("8_1", 1))
    ]
    (tmp_path / "runs.txt").write_text("\n".join(("JobID|User|Start|ElapsedRaw|State|NodeList", *rows)))
    asked = ("jobs", "--from", str(tmp_path / "runs.txt"), "--job")
    assert seatrial(*asked, "7", "--json", code=2).data["family"]["job"]["elapsed_s"] == 63
    assert "It is an array; name one of its tasks: 8_1." in seatrial(*asked, "8", code=64).err
