"""Scripts that are none, and scripts that do other things than to run their command."""

import sys
import time
from pathlib import Path

import pytest

from seatrial.failures.start_failure import StartFailure, explain
from seatrial.launch.environments.discovery import look_inside
from seatrial.launch.environments.kinds import parse_environment
from seatrial.launch.environments.report import ask, parse_reports, question
from seatrial.model.errors import LaunchError, ProbeLost
from seatrial.process.pipe import LONGEST_LINE_BYTES, LinePipe
from seatrial.process.process import run
from tests.support import wrapper_programs


@pytest.mark.parametrize(
    ("text", "told", "remedy"),
    [
        ('#!/bin/sh\r\nexec "$@"\r\n', "end as on Windows", "sed -i"),
        ('#!/nowhere/sh\nexec "$@"\n', "'/nowhere/sh' in the first line of", "full path"),
        ('exec "$@"\n', "does not begin with #!", "#!/bin/sh"),
        ("#!/bin/sh\nexit 0\n", "it ended with 0 and did not run the command it was given", ""),
        ("#!/bin/sh\nexit 5\n", "it ended with 5 and said nothing", ""),
        ("#!/bin/sh\necho 'no licence' >&2\nexit 5\n", "no licence", ""),
    ],
)
def test_why_a_script_cannot_be_entered(text: str, told: str, remedy: str, tmp_path: Path) -> None:
    script = wrapper_programs.put(tmp_path, "a script", text)
    with pytest.raises(LaunchError) as caught:
        look_inside(parse_environment(f"script:'{script}'"), "")
    assert told in caught.value.what
    assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("script:/" + "a" * 3000, "File name too long"),
        ("script:/", "Permission denied"),
        ("guix:openmpi", "there is no guix here"),
        ("apptainer:/i.sif", "apptainer is not installed here"),
    ],
)
def test_what_is_not_there_to_be_started(spec: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(LaunchError, match=told):
        look_inside(parse_environment(spec), "")


def test_a_script_that_may_not_be_run(tmp_path: Path) -> None:
    script = wrapper_programs.put(tmp_path, "wrap", "#!/bin/sh\n")
    script.chmod(0o644)
    with pytest.raises(LaunchError, match=f"{script} may not be run") as caught:
        look_inside(parse_environment(f"script:{script}"), "")
    assert "chmod" in caught.value.remedy


def test_a_daemon_that_is_left_behind_is_not_waited_for(tmp_path: Path) -> None:
    left = f"setsid sleep 300 & echo $! >{tmp_path}/pid"
    began = time.monotonic()
    done = run(["sh", "-c", f"{left}; echo said; exit 3"], timeout_s=200)
    assert time.monotonic() - began < 60
    assert (done.stdout, done.returncode, done.timed_out) == ("said\n", 3, False)
    run(["kill", (tmp_path / "pid").read_text().strip()], timeout_s=60)


def test_of_a_flood_the_end_is_kept_and_no_more() -> None:
    flood = ["sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end"]
    done = run(flood, timeout_s=60, kept_bytes=1000)
    assert len(done.stdout) == 1000
    assert done.stdout.endswith("x\nend\n")


def test_who_never_stops_talking_is_late(tmp_path: Path) -> None:
    pipe = LinePipe(["yes"], tmp_path / "log")
    try:
        deadline = time.monotonic() + 0.2
        with pytest.raises(ProbeLost) as caught:
            for _ in range(LONGEST_LINE_BYTES):
                pipe.receive(deadline)
        assert caught.value.outcome == "timeout"
        assert time.monotonic() < deadline + 15
    finally:
        pipe.close(kill=True)


def test_a_line_without_an_end_is_not_kept(tmp_path: Path) -> None:
    code = f"import sys; sys.stdout.write('x' * {3 * LONGEST_LINE_BYTES} + '\\n' + 'short\\n')"
    pipe = LinePipe([sys.executable, "-c", code], tmp_path / "log")
    try:
        assert len(pipe.receive(time.monotonic() + 20)) < LONGEST_LINE_BYTES
        assert pipe.receive(time.monotonic() + 20) == b"short"
    finally:
        pipe.close(kill=True)


def test_the_first_task_alone_tells_whether_it_hears() -> None:
    asked = question("/bin/true")
    first, other = (
        parse_reports(ask(["env", f"PMI_RANK={rank}", *asked], 1, timeout_s=60).stdout)[0].heard for rank in (0, 1)
    )
    assert (first, other) == ("seatrial-heard", None)
    deaf = ask(["env", "PMI_RANK=0", "sh", "-c", 'cat >/dev/null; exec "$@"', "sh", *asked], 1, timeout_s=60)
    assert parse_reports(deaf.stdout)[0].heard == ""


def test_the_greeting_of_a_module_is_no_reason_for_a_failure() -> None:
    greeting = "Read the news\nseatrial: entered\n"
    assert explain(f"{greeting}orterun: no slots\nseatrial: entered\n") == StartFailure(meaning="orterun: no slots")
    assert explain("Read the news\n") == StartFailure(meaning="Read the news")
