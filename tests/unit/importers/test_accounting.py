"""Lines of accounting: joined, told apart, or counted with their numbers."""

import pytest

from seatrial.importers.accounting import (
    HETEROGENEOUS,
    STEPS,
    TWICE,
    UNREADABLE,
    AccountedJobs,
    clock_jumps,
    read_accounting,
    span_s,
    together,
)
from seatrial.model.errors import UsageError

HEAD = "JobID|JobName|User|State|ElapsedRaw|NodeList|ExitCode|Start|End|SubmitLine|Suspended"
TIMES = "2026-11-02T10:00:00|2026-11-02T10:01:00"


def line(
    job: str = "7", name: str = "a", state: str = "COMPLETED", submit: str = "sbatch a.sh", code: str = "0:0"
) -> str:
    return f"{job}|{name}|u|{state}|60|n[1-2]|{code}|{TIMES}|{submit}|00:00:00"


def read(*lines: str) -> AccountedJobs:
    return read_accounting(f"{text}\n".encode("utf-8", "surrogateescape") for text in (HEAD, *lines))


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
