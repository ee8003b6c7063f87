"""Records of accounting: joined, told apart, or counted with their numbers; and what is not lines of text."""

import json
import sqlite3
from pathlib import Path

import pytest

from seatrial.importers.accounting import (
    HETEROGENEOUS,
    STEPS,
    TWICE,
    UNREADABLE,
    AccountedJobs,
    clock_jumps,
    read_accounting,
    together,
)
from seatrial.importers.accounting_fields import span_s
from seatrial.model.errors import UsageError
from tests.support.job_histories import RECORDED
from tests.support.processor_time import within

DATA = Path(__file__).resolve().parents[2] / "data" / "accounting"

HEAD = "JobID|JobName|User|State|ElapsedRaw|NodeList|ExitCode|Start|End|SubmitLine|Suspended"
TIMES = "2026-11-02T10:00:00|2026-11-02T10:01:00"


def line(
    job: str = "7", name: str = "a", state: str = "COMPLETED", submit: str = "sbatch a.sh", code: str = "0:0"
) -> str:
    return f"{job}|{name}|u|{state}|60|n[1-2]|{code}|{TIMES}|{submit}|00:00:00"


def read(*lines: str) -> AccountedJobs:
    return read_accounting([f"{text}\n".encode("utf-8", "surrogateescape") for text in (HEAD, *lines)])


def test_a_job_has_its_fields() -> None:
    (job,) = read(line(state="CANCELLED by 7")).jobs
    assert (job.job, job.name, job.state, job.elapsed_s, job.nodes, job.signal) == (
        "7",
        "a",
        "CANCELLED",
        60,
        "n[1-2]",
        0,
    )


@pytest.mark.parametrize(
    ("text", "name", "submit"),
    [
        (line(submit="sbatch 'a\nb'"), "a", "sbatch 'a\nb'"),
        (line(submit="sbatch --wrap=\n\n  env | sort"), "a", "sbatch --wrap=\n\n  env | sort"),
        (line(name="a|b"), "a|b", "sbatch a.sh"),
        (line(name='"a'), '"a', "sbatch a.sh"),
        (line(name="\x1b[31m\udcff"), "\x1b[31m\ufffd", "sbatch a.sh"),
    ],
)  # fmt: skip
def test_texts_of_users_do_no_harm(text: str, name: str, submit: str) -> None:
    accounted = read(text, line("8"))
    assert [(job.job, job.name, job.submit_line) for job in accounted.jobs] == [
        ("7", name, submit),
        ("8", "a", "sbatch a.sh"),
    ]
    assert accounted.left_out == {}


def test_what_is_no_record_is_counted_with_its_line() -> None:
    accounted = read("x|y", line("8"), line("ten"), line("9").replace("|60|", "|soon|"), line("10"))
    assert [job.job for job in accounted.jobs] == ["8", "10"]
    assert accounted.left_out == {UNREADABLE: 3}
    assert accounted.unreadable == (2, 4, 5)


def test_steps_parts_and_repeated_records_are_counted() -> None:
    accounted = read(line("7"), line("7"), line("7.batch"), line("7.0"), line("9+1"), line("11_3"))
    assert [job.job for job in accounted.jobs] == ["7", "11_3"]
    assert accounted.left_out == {STEPS: 2, TWICE: 1, HETEROGENEOUS: 1}
    assert accounted.records == 6


def test_a_job_that_ran_twice_is_two_jobs_however_often_each_is_recorded() -> None:
    again = line("7").replace(TIMES, "2026-11-02T11:00:00|2026-11-02T11:01:00")
    accounted = read(line("7"), again, line("8"), again, line("7", state="FAILED"))
    assert [(job.job, job.started[11:13], job.state) for job in accounted.jobs] == [
        ("7", "10", "FAILED"),
        ("7", "11", "COMPLETED"),
        ("8", "10", "COMPLETED"),
    ]
    assert accounted.left_out == {TWICE: 2}


@pytest.mark.parametrize("head", [HEAD, "JobID,State,ElapsedRaw"])
def test_files_may_follow_each_other(head: str) -> None:
    """As `cat sacct-*.txt` gives them, each with its header; lines keep their numbers."""
    first, second, wrong = (line(job) if "|" in head else f"{job},COMPLETED,60" for job in ("7", "8", "x"))
    accounted = read_accounting([f"{text}\n".encode() for text in (head, first, head, second, wrong)])
    assert [job.job for job in accounted.jobs] == ["7", "8"]
    assert (accounted.records, accounted.unreadable) == (3, (5,))


def test_a_job_of_two_days_counts_once() -> None:
    both = together([read(line("7")), read(line("7"), line("8"))])
    assert [job.job for job in both.jobs] == ["7", "8"]
    assert (both.records, both.left_out) == (3, {TWICE: 1})


@pytest.mark.parametrize(("code", "signal"), [("0:11", 11), ("139:0", 11), ("1:0", 0), ("", 0)])
def test_a_shell_adds_128_to_a_signal(code: str, signal: int) -> None:
    (job,) = read(line(code=code)).jobs
    assert job.signal == signal


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1-02:03:04", 93784.0), ("03:04", 184.0), ("184", 184.0), ("00:01.277", 1.0), ("soon", None), ("", None)],
)
def test_spans(text: str, seconds: float | None) -> None:
    assert span_s(text) == seconds


@pytest.mark.parametrize(("text", "limit"), [("UNLIMITED", ""), ("365-00:00:00", ""), ("01:00:00", "01:00:00")])
def test_a_job_without_limit_has_none_however_slurm_started_it(text: str, limit: str) -> None:
    (job,) = read_accounting([b"JobID|State|Elapsed|Timelimit\n", f"7|COMPLETED|5|{text}\n".encode()]).jobs
    assert job.limit == limit


def test_csv_with_named_columns() -> None:
    text = 'job_id,user,state,run_time,nodes_req,name\n7,u,COMPLETED,60.5,2,"a,b"\n8,u\n9,u,FAILED,"3\n'
    accounted = read_accounting(text.encode().splitlines(keepends=True))
    (job,) = accounted.jobs
    assert (job.elapsed_s, job.size, job.name, job.nodes) == (60.5, 2, "a,b", "")
    assert accounted.left_out == {UNREADABLE: 2}


def test_a_header_without_the_needed_columns_is_refused() -> None:
    with pytest.raises(UsageError, match="names no column jobid, elapsedraw"):
        read_accounting([b"State|User\n"])


def test_a_change_of_the_clock_is_counted_and_not_believed() -> None:
    jobs = read(line("7"), line("8").replace("10:01:00", "11:01:00")).jobs
    assert clock_jumps(jobs) == 1
    assert [job.elapsed_s for job in jobs] == [60, 60]


def test_a_text_of_a_user_in_the_last_column_goes_on_until_the_next_record() -> None:
    head = "JobID|State|ElapsedRaw|SubmitLine"
    lines = [
        "7|COMPLETED|60|sbatch --wrap=a |",
        "",
        "  b | c",
        "8|COMPLETED|5|d",
        "9|COMPLETED|soon|e",
        "10|FAILED|6|f\n",
    ]
    accounted = read_accounting([f"{text}\n".encode() for text in (head, *lines)])
    found = {job.job: job.submit_line for job in accounted.jobs}
    assert found == {"7": "sbatch --wrap=a |\n\n  b | c", "8": "d", "10": "f"}
    assert (accounted.records, accounted.unreadable) == (4, (6,))


@pytest.mark.parametrize("tail", ["", "|b", "|b|c|d"])
def test_separators_in_two_texts_are_told_apart(tail: str) -> None:
    (job,) = read(line(name=f"a{tail}", submit="env | grep 'x|y' | sort")).jobs
    assert (job.name, job.submit_line, job.user) == (f"a{tail}", "env | grep 'x|y' | sort", "u")


def test_a_name_with_a_separator_and_a_submit_line_of_two_lines() -> None:
    """The first line has as many fields as a record."""
    head = b"JobID|ElapsedRaw|JobName|State|ExitCode|SubmitLine|NodeList\n"
    lines = [head, b"7|60|a|b|COMPLETED|0:0|sbatch c\n", b" d | e|n[1-2]\n", b"8|60|a|FAILED|1:0|f|n3\n"]
    accounted = read_accounting(lines)
    found = [(job.name, job.submit_line, job.nodes) for job in accounted.jobs]
    assert found == [("a|b", "sbatch c\n d | e", "n[1-2]"), ("a", "f", "n3")]
    assert accounted.left_out == {}


def test_recorded_separators_in_several_texts() -> None:
    path = RECORDED.with_name("sacct_submitline_multiline.log")
    if not path.exists():
        pytest.skip("no recorded accounting beside the project")
    with path.open("rb") as stream:
        accounted = read_accounting(stream)
    assert {(job.job, job.user, job.limit) for job in accounted.jobs} == {
        ("7957382", "user001", "1-00:00:00"),
        ("9067954", "tonykew", "05:00:00"),
    }
    assert (accounted.records, accounted.unreadable) == (13, (18,))


def test_recorded_json_of_sacct() -> None:
    """Of Slurm 22.05.8, as its slurmdbd gave it."""
    with (DATA / "sacct-22.05.json").open("rb") as stream:
        accounted = read_accounting(stream)
    found = [(job.job, job.user, job.name, job.nodes, job.elapsed_s, job.state) for job in accounted.jobs]
    assert found[0] == ("1", "daemon", "relax-daemon-1", "n1", 0, "FAILED")
    assert found[-1] == ("44", "mail", "scf-2", "n4", 4, "COMPLETED")
    assert (accounted.jobs[-1].started, accounted.jobs[-1].size) == ("2026-11-26T23:43:00", 1)
    assert (accounted.records, accounted.left_out) == (6, {})


def newer(**given: object) -> bytes:
    """A record as Slurm writes it since 23.02, numbers with `set` and states in a list."""
    number = {"set": True, "infinite": False, "number": 3}
    job = {
        "job_id": 12,
        "user": "u",
        "name": "a|b\n\u001b",
        "submit_line": "sbatch a.sh",
        "nodes": "n[1-2]",
        "allocation_nodes": 2,
        "array": {"job_id": 10, "task_id": number},
        "state": {"current": ["OUT_OF_MEMORY"], "reason": "None"},
        "time": {"elapsed": 60, "start": 1795736546, "end": 1795736606, "limit": number, "suspended": 0},
        "exit_code": {"return_code": {"set": False}, "signal": {"id": {**number, "number": 9}}},
    }
    return json.dumps({"meta": {}, "jobs": [{**job, **given}, {"job_id": "seven"}]}).encode()


def test_json_of_newer_versions() -> None:
    accounted = read_accounting([newer()])
    (job,) = accounted.jobs
    assert (job.job, job.name, job.nodes, job.size, job.limit, job.state, job.signal) == (
        "10_3",
        "a|b\n\x1b",
        "n[1-2]",
        2,
        "180",
        "OUT_OF_MEMORY",
        9,
    )
    assert (accounted.records, accounted.left_out, accounted.unreadable) == (2, {UNREADABLE: 1}, (2,))


def test_json_of_a_heterogeneous_job_is_counted() -> None:
    assert read_accounting([newer(het={"job_id": 11})]).left_out == {HETEROGENEOUS: 1, UNREADABLE: 1}


@pytest.mark.parametrize("content", [b"{", b'{"jobs": 7}', b'{"sinfo": []}', b"SQLite format 3\0 and no more"])
def test_other_documents_are_refused(content: bytes) -> None:
    with pytest.raises(UsageError):
        read_accounting([content])


def test_a_database_of_slurm2sql(tmp_path: Path) -> None:
    """The columns, and the kinds of values, that slurm2sql 0.9.9 made of the same jobs."""
    base = sqlite3.connect(tmp_path / "jobs.db")
    base.execute(
        "CREATE TABLE slurm (JobID text UNIQUE, JobStep text, JobName text, User text, Account text, SubmitLine text, "
        "State text, Timelimit real, Elapsed real, Submit int, Start int, End int, Partition text, ExitCodeRaw text, "
        "ExitCode int, ExitSignal int, NodeList text, NNodes int, NCPUS int, ReqCPUS int)"
    )
    times = (1795736548, 1795736553, 1795736557)
    job = ("a|b", "u", "science", "srun a\nb", "FAILED", 3600.0, 4.0, *times, "main", "0:11", 0, 11, "n[1-2]", 2, 4, 2)
    step = ("batch", None, "science", None, "FAILED", None, 4.0, *times, None, "0:11", 0, 11, "n1", 1, 4, 2)
    insertion = "INSERT INTO slurm VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
    base.execute(insertion, ("31", None, *job))
    base.execute(insertion, ("31.batch", "batch", *step))
    base.commit()
    base.close()
    with (tmp_path / "jobs.db").open("rb") as stream:
        accounted = read_accounting(stream)
    (found,) = accounted.jobs
    assert (found.job, found.user, found.submit_line, found.nodes) == ("31", "u", "srun a\nb", "n[1-2]")
    assert (found.elapsed_s, found.limit, found.size, found.signal) == (4, "3600", 2, 11)
    assert found.started == "2026-11-26T23:42:33"
    assert (accounted.records, accounted.left_out) == (2, {STEPS: 1})


def test_another_database_is_refused(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE jobs (id int)").connection.close()
    with (tmp_path / "other.db").open("rb") as stream, pytest.raises(UsageError, match="no table slurm"):
        read_accounting(stream)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("jobnumber,owner,hostname,ru_wallclock,exit_status\n7,u,n1,60,0\n8,u,n2,60,139\n",
         [("7", "u", "n1", "COMPLETED", 0), ("8", "u", "n2", "FAILED", 11)]),
        ("JobID,User,Exec_Host,Resources_Used.Walltime,Job_State,Exit_Status\n7.pbs01,u,n1/0*16+n2/0*16,00:01:00,F,1\n",
         [("7.pbs01", "u", "n1,n2", "FAILED", 0)]),
        ("jobid,user,stat,exec_host,run_time\n7,u,DONE,n1,60\n8,u,EXIT,n2,60\n",
         [("7", "u", "n1", "COMPLETED", 0), ("8", "u", "n2", "FAILED", 0)]),
    ],
    ids=["Grid Engine", "PBS", "LSF"],
)  # fmt: skip
def test_csv_of_other_schedulers(text: str, expected: list[tuple[object, ...]]) -> None:
    jobs = read_accounting(text.encode().splitlines(keepends=True)).jobs
    assert [(job.job, job.user, job.nodes, job.state, job.signal) for job in jobs] == expected
    assert {job.elapsed_s for job in jobs} == {60}


def database(path: Path, columns: str = "JobID, Elapsed, State", *rows: tuple[object, ...]) -> sqlite3.Connection:
    base = sqlite3.connect(path)
    base.execute(f"CREATE TABLE slurm ({columns})")
    for row in rows:
        base.execute(f"INSERT INTO slurm VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608 - our own
    base.commit()
    return base


def test_a_database_with_a_log_is_read(tmp_path: Path) -> None:
    """As slurm2sql leaves them."""
    base = database(tmp_path / "jobs.db", "JobID, Elapsed, State", ("7", 60, "COMPLETED"))
    base.execute("PRAGMA journal_mode=WAL")
    base.execute("INSERT INTO slurm VALUES ('8', 60, 'COMPLETED')")
    base.commit()
    base.close()
    assert [job.job for job in read_file(tmp_path / "jobs.db").jobs] == ["7", "8"]


def test_what_a_database_would_compute_is_not_read(tmp_path: Path) -> None:
    endless = "(hex(zeroblob(400000000)))"
    database(tmp_path / "g", f"JobID, Elapsed, State, User AS {endless}", ("7", 60, "COMPLETED")).close()
    (job,) = read_file(tmp_path / "g").jobs
    assert job.user == ""
    base = database(tmp_path / "v")
    base.execute("DROP TABLE slurm")
    base.execute(
        "CREATE VIEW slurm AS WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) "
        "SELECT x AS JobID, x AS Elapsed, x AS State FROM r WHERE x < 0"
    )
    base.execute("PRAGMA writable_schema=ON")
    base.execute("UPDATE sqlite_master SET type = 'table'")
    base.commit()
    base.close()
    with pytest.raises(UsageError):
        read_file(tmp_path / "v")


def test_bytes_in_a_database_are_no_times(tmp_path: Path) -> None:
    database(tmp_path / "b", "JobID, Elapsed, State, Start", ("7", 60, "COMPLETED", b"\x00")).close()
    (job,) = read_file(tmp_path / "b").jobs
    assert job.started.startswith("b'")


def test_a_database_cannot_have_more_rows_than_bytes(tmp_path: Path) -> None:
    """A page that leads to the same page many times, on several levels, is a table of any length."""
    base = database(tmp_path / "c", "JobID, Elapsed, State", *[(str(job), 60, "COMPLETED") for job in range(20_000)])
    (size,), (root,) = base.execute("PRAGMA page_size").fetchone(), base.execute(ROOT_PAGE).fetchone()
    base.close()
    content = bytearray((tmp_path / "c").read_bytes())
    page = content[(root - 1) * size : root * size]
    assert page[0] == INTERIOR
    cells = int.from_bytes(page[3:5])
    pointers = [int.from_bytes(page[12 + 2 * cell : 14 + 2 * cell]) for cell in range(cells)]
    leaf = page[pointers[0] : pointers[0] + 4]
    for pointer in pointers:
        page[pointer : pointer + 4] = leaf
    new = len(content) // size + 1
    content += page
    upper = bytearray(page)
    for pointer in pointers:
        upper[pointer : pointer + 4] = new.to_bytes(4)
    upper[8:12] = new.to_bytes(4)
    content[(root - 1) * size : root * size] = upper
    content[28:32] = new.to_bytes(4)
    (tmp_path / "c").write_bytes(content)
    with pytest.raises(UsageError, match="more rows than its bytes"):
        read_file(tmp_path / "c")


ROOT_PAGE, INTERIOR = "SELECT rootpage FROM sqlite_master", 5


def read_file(path: Path) -> AccountedJobs:
    with path.open("rb") as stream:
        return read_accounting(stream)


@pytest.mark.parametrize(
    ("head", "lines"),
    [
        ("JobID|User|ElapsedRaw|State|NodeList", ["1", *[""] * 300_000]),
        ("JobID|User|ElapsedRaw|State|NodeList", ["1", *["x|"] * 150_000]),
        ("JobID|ElapsedRaw|State|User|JobName", ["1|60|COMPLETED|u|n", *["x"] * 600_000]),
        ("JobID|" + "Comment|" * 60 + "ElapsedRaw|State", ["1" + "|a" * 66 + "|60|0"]),
        (
            "JobID|JobName|SubmitLine|Comment|AdminComment|SystemComment|WorkDir|Constraints|ElapsedRaw|State",
            ["1" + "|a" * 205 + "|60|0"] * 300,
        ),
        ("JobID,Elapsed,State", ["1_[" + "a" * 40_000 + ".!]x.!,60,COMPLETED"]),
    ],
    ids=("empty lines", "separators", "last text", "many texts", "many ways", "numbers"),
)  # fmt: skip
def test_texts_that_fit_nowhere_do_not_take_long(head: str, lines: list[str]) -> None:
    with within(6):
        accounted = read_accounting([f"{line}\n".encode() for line in (head, *lines)])
    assert len(accounted.jobs) <= 1


def test_accounting_has_at_most_a_thousand_columns() -> None:
    with pytest.raises(UsageError, match="columns"):
        read_accounting([b"JobID|ElapsedRaw|State" + b"|x" * 1000 + b"\n"])
