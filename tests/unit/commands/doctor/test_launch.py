"""What the doctor says of nodes it has started something on, of ways to start, and how it is shown."""

from typing import NoReturn

import pytest

from seatrial.commands.doctor import node_identity, starts
from seatrial.commands.doctor.view import doctor_report
from seatrial.frame import command_line
from seatrial.launch.environments.judge import Tried
from seatrial.launch.environments.kinds import parse_environment
from seatrial.launch.environments.report import TaskReport
from seatrial.model.errors import ExitCode, LaunchError
from seatrial.model.launching import Examination, blocked, fine, noted, untried
from seatrial.model.verdict import FindingKind, Verdict
from seatrial.node.mpi import parse_file
from seatrial.render.text import as_text
from tests.support.builders import Cluster
from tests.support.json_objects import parsed
from tests.support.reports import as_json_text
from tests.support.scripted import ScriptedLauncher

OUTPUT = "0: seatrial-place n1 n1 1000\n1: seatrial-place n2.site.org n2 1001\nsrun: noise\n"


def test_places_are_parsed_and_domains_do_not_matter() -> None:
    found = node_identity.parse_places(OUTPUT)
    assert [(one.host, one.node, one.time_s) for one in found] == [("n1", "n1", 1000), ("n2.site.org", "n2", 1001)]
    assert node_identity.judge_places(found, asked_s=1000.4, answered_s=1001.7) == []


def test_a_foreign_hostname_and_a_wrong_clock_are_named() -> None:
    found = node_identity.parse_places(
        "seatrial-place login7 n1 1000\nseatrial-place n2 n2 1100\nseatrial-place n3 n3 400\n"
    )
    name, clock = node_identity.judge_places(found, asked_s=1000, answered_s=1001)
    assert (name.kind, name.verdict) == (FindingKind.HOSTNAME_DIFFERS, Verdict.BLOCKED)
    assert "n1 calls itself login7" in name.statement
    assert (clock.kind, clock.verdict) == (FindingKind.CLOCK_DIFFERS, Verdict.BLOCKED)
    assert "n2 by 98 s, n3 by 599 s" in clock.statement
    (small,) = node_identity.judge_places(found[1:2], asked_s=1000, answered_s=1001)
    assert small.verdict is Verdict.NOTE


@pytest.mark.parametrize(("remedies", "why"), [(("", "Use pmix."), "second"), (("Use pmix.", ""), "first")])
def test_a_start_whose_failure_is_not_recognised_is_tried_again(
    remedies: tuple[str, str], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = [LaunchError(text, remedy) for text, remedy in zip(("first", "second"), remedies, strict=True)]

    def start(*_: object) -> NoReturn:
        raise errors.pop(0)

    monkeypatch.setattr(starts, "_start", start)
    assert starts.try_start(ScriptedLauncher(Cluster(nodes=("n1", "n2"))), ("n1", "n2"), "pmi2").why == why


def test_what_an_environment_does_is_in_the_way_or_worth_knowing() -> None:
    def task(*names: str) -> TaskReport:
        return TaskReport(host="n1", variables=frozenset(names), program=True)

    def judged(
        *within: TaskReport, plain: tuple[TaskReport, ...] = (task("PMIX_RANK", "SLURM_PROCID"),)
    ) -> list[Verdict]:
        environment = parse_environment("script:/w")
        found = starts.judge_environment_trial(
            Tried(environment=environment, nodes=("n1",), plain=plain, within=within)
        )
        assert {one.step for one in found} == {"environment"}
        return [one.verdict for one in found]

    assert judged(task("PMIX_RANK", "SLURM_PROCID")) == [Verdict.PASS]
    assert judged(task("PMIX_RANK")) == [Verdict.NOTE]
    assert judged(task()) == [Verdict.BLOCKED, Verdict.NOTE]
    assert judged(plain=()) == [Verdict.NOT_RUN]


def report(
    host: str, *, program: bool = True, library: str = "1 2 /lib/m", missing: tuple[str, ...] = ()
) -> TaskReport:
    return TaskReport(host=host, variables=frozenset(), program=program, library=parse_file(library), missing=missing)


def test_a_node_without_date_answers_nevertheless() -> None:
    (one,) = node_identity.parse_places("0: seatrial-place n1 n1 \n")
    assert one.time_s is None
    assert node_identity.judge_places((one,), asked_s=1000, answered_s=1001) == []


LAUNCH_FAILED = """srun: error: Task launch for StepId=169.1 failed on node n3: Socket timed out on send/recv operation
srun: error: Task launch for StepId=169.1 failed on node n2: Communication connection failure
srun: error: Application launch failed: Communication connection failure
srun: Job step aborted: Waiting up to 4 seconds for job step to finish.
"""


def test_each_silent_node_is_named_with_its_own_reason_and_none_for_anothers() -> None:
    hangs, gone = node_identity.judge_silent(("n2", "n3", "n4"), LAUNCH_FAILED)[::-1]
    assert hangs.statement.startswith(
        "No process can be started on n3: slurmd on n3 accepts connections but does not answer"
    )
    assert gone.statement.startswith("No process can be started on n2: slurmd on n2 cannot be reached")
    (quiet,) = node_identity.judge_silent(("n1", "n2"), "srun: error: The moon is full\n")
    assert quiet.statement == "No process can be started on n[1-2]: The moon is full."
    assert node_identity.judge_silent((), LAUNCH_FAILED) == []
    (beside,) = node_identity.judge_silent(("n3",), LAUNCH_FAILED, in_the_way=False)
    assert beside.verdict is Verdict.NOTE


def test_an_mpi_that_no_type_works_with_is_not_sent_in_circles() -> None:
    singletons = starts.StartTrial(how="--mpi=pmix", why="2 worlds of one rank", remedy="x", other_mpi_type=True)
    (one, _) = starts.judge_ways([singletons, starts.StartTrial(how="--mpi=none", why="so, too")], "--mpi=pmix")
    assert (one.kind, one.remedy) == (FindingKind.NO_START, starts.NONE_WORKS)
    broken = starts.StartTrial(how="--mpi=pmix", why="slurmd", remedy="Often the plugin of that --mpi is missing.")
    assert starts.judge_ways([broken], "--mpi=pmix")[0].remedy == broken.remedy


def test_nodes_without_the_probe_or_its_library_are_named_and_dropped() -> None:
    reports = [report("n1"), report("n2", program=False), report("n3", missing=("libmpi.so.40",)), report("n4")]
    nodes = ("n1", "n2", "n3", "n4")
    probe, library = node_identity.judge_programs(reports, nodes, "/p")
    assert (probe.kind, "on n2." in probe.statement) == (FindingKind.PROGRAM_MISSING, True)
    assert (library.kind, library.statement) == (FindingKind.LIBRARY_MISSING, "libmpi.so.40 is missing on n3.")
    assert node_identity.able_nodes(reports, nodes) == ("n1", "n4")


def test_several_versions_of_mpi_are_noted() -> None:
    (one,) = node_identity.judge_programs([report("n1"), report("n2", library="9 2 /lib/m")], ("n1", "n2"), "/p")
    assert (one.kind, one.verdict) == (FindingKind.MPI_DIFFERS, Verdict.NOTE)
    assert "n1: /lib/m (2 bytes, checksum 1); n2: /lib/m (2 bytes, checksum 9)" in one.statement
    (same,) = node_identity.judge_programs([report("n1"), report("n2", library="1 2 /other/m")], ("n1", "n2"), "/p")
    assert same.verdict is Verdict.PASS


def test_a_wrong_mpi_type_is_blocked_with_the_one_that_works() -> None:
    tried = [
        starts.StartTrial(how="--mpi=pmi2", why="no PMI"),
        starts.StartTrial(how="--mpi=pmix"),
        starts.StartTrial(how="--mpi=none", why="no PMI"),
        starts.StartTrial(how="--mpi=x", why="odd"),
    ]
    first, works, odd = starts.judge_ways(tried, "--mpi=pmi2")
    assert (first.kind, first.verdict) == (FindingKind.MPI_TYPE, Verdict.BLOCKED)
    assert first.remedy == "Use --mpi=pmix, which works here."
    assert works.statement == "--mpi=pmix works with this MPI."
    assert (odd.verdict, odd.statement) == (Verdict.NOTE, "--mpi=x does not: odd")


def test_where_no_type_works_it_is_not_the_type() -> None:
    first, second = (
        starts.StartTrial(how="--mpi=pmix", why="no library", remedy="Install."),
        starts.StartTrial(how="x", why="no"),
    )
    one, _ = starts.judge_ways([first, second], "--mpi=pmix")
    assert (one.kind, one.remedy) == (FindingKind.NO_START, "Install.")


def test_mpirun_within_and_without() -> None:
    login = starts.StartTrial(how="mpirun", hosts=("login",))
    (good,) = starts.judge_mpiexec(starts.StartTrial(how="mpirun", hosts=("n1", "n2")), login)
    assert "on n1, n2 within an allocation, and without an allocation on login alone" in good.statement
    (bad,) = starts.judge_mpiexec(starts.StartTrial(how="mpirun", why="no slots"), None)
    assert (bad.kind, bad.verdict) == (FindingKind.MPIRUN, Verdict.NOTE)
    assert "Use srun" in bad.remedy
    (known,) = starts.judge_mpiexec(starts.StartTrial(how="mpirun", why="/tmp is full", remedy="Empty it."), login)
    assert known.remedy == "Empty it."


BAD = Examination(
    remarks=(
        fine("slurm", "answers"),
        noted("nodes", FindingKind.NODE_DRAINED, "n2 is out", "mend it"),
        blocked("start", FindingKind.MPI_TYPE, "--mpi=pmi2: no \x1b[31mPMI", "Use --mpi=pmix."),
        blocked("start", FindingKind.NO_START, "no"),
    )
)


def test_the_verdict_comes_first_with_what_to_do() -> None:
    lines = as_text(doctor_report(BAD), width=80).splitlines()
    assert lines[0] == "BLOCKED  --mpi=pmi2: no PMI (1 more below)"
    assert lines[1].split() == ["to", "do", "Use", "--mpi=pmix."]
    at = lines.index("1  NOTE  nodes  node-drained")
    around = [line.strip() for line in lines[at - 1 : at + 3]]
    assert around == ["Worth knowing", lines[at], "n2 is out", "to do  mend it"]
    found = parsed(as_json_text(doctor_report(BAD), "doctor"))
    assert (found["verdict"], found["exit_code"], len(found["remarks"])) == ("BLOCKED", 1, 4)
    assert found["first"] == BAD.blocked[0].statement


def test_exit_codes() -> None:
    assert BAD.exit_code is ExitCode.FINDINGS
    assert Examination(remarks=BAD.remarks[:2]).exit_code is ExitCode.PASS
    left = Examination(remarks=(*BAD.remarks[:2], untried("nodes", FindingKind.NO_ROOM, "no room")))
    assert left.exit_code is ExitCode.INCOMPLETE
    assert as_text(doctor_report(left)).startswith("INCOMPLETE  no room")


def test_the_command_where_there_is_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert command_line.run(["doctor", "--json"]) == 1
    obstacles = [one["kind"] for one in parsed(capsys.readouterr().out)["remarks"]]
    assert obstacles == ["no-slurm", "no-mpi"]
    assert command_line.run(["doctor", "--launcher", "slurm"]) == 1
    assert "Slurm's commands (sinfo) are not installed here" in capsys.readouterr().out
