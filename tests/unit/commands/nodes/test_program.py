"""A program of the site on each node: nodes and GPUs are judged beside each other, a start that fails is not run."""

import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from seatrial.archive.reader import read_run
from seatrial.commands.nodes import program_run
from seatrial.commands.nodes.program_judge import ProgramResult, judge_program
from seatrial.commands.nodes.program_run import node_program, run_program
from seatrial.commands.nodes.program_view import program_report
from seatrial.driver.run import MeasuredRun
from seatrial.driver.site_program import SAMPLED, WATCHED
from seatrial.experiment.controls import RETEST_RUNS
from seatrial.judgement.standings import looks_of
from seatrial.model.errors import ExitCode, UsageError
from seatrial.model.facts import Gpu
from seatrial.model.run import Ending
from seatrial.model.settings import NODES_REPETITIONS, NodesSettings, SiteSettings
from seatrial.model.subject import node
from seatrial.model.verdict import FindingKind, Verdict
from seatrial.node.gpus import gpu_samples, loaded_gpus
from seatrial.render.finding_text import LINE
from seatrial.render.report import Lines, Table
from tests.support.builders import Cluster, names
from tests.support.clocks import Clock, use_clock
from tests.support.gpu_outputs import cuda_bandwidth, diagnostic, gpu_burn, nccl, nvbandwidth
from tests.support.launchers import use_launcher
from tests.support.node_programs import NO_DEVICE, NodeProgramLauncher, prints
from tests.support.pair_programs import ran
from tests.support.scripted import ScriptedLauncher

pytestmark = pytest.mark.usefixtures("without_keeper")
SIX, TWELVE = names(6), names(12)
Does = Callable[[str, int], str]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell takes milliseconds, five times of which are soon over where the machine halts for a moment."""
    monkeypatch.setattr(program_run, "LEAST_START_S", 30.0)


def tried(
    archive: Path, does: Does, nodes: tuple[str, ...] = SIX, budget_s: float = 300.0, **options: object
) -> tuple[MeasuredRun[ProgramResult], NodeProgramLauncher]:
    launcher = NodeProgramLauncher(Cluster(nodes=nodes), does)
    use_launcher(launcher)
    site = SiteSettings(archive=archive, run="trial", budget_s=budget_s)
    settings = NodesSettings(site=site, program=node_program("gpu_burn 60"))
    return run_program(msgspec.structs.replace(settings, **options)), launcher


def burning(slow: float, on: str = "n4") -> Does:
    """Eight GPUs on each node; GPU 1 of one node reaches a share of its rate. Rates differ from start to start."""

    def does(name: str, number: int) -> str:
        made = gpu_burn(slow if name == on else 1.0, gpus=8)
        return prints(made.replace("17000", str(17000 + 7 * number + int(name[1:]))))

    return does


def test_one_gpu_of_96_that_is_low_in_every_start_is_named(tmp_path: Path) -> None:
    outcome, launcher = tried(tmp_path, burning(0.7), TWELVE)
    (finding,) = outcome.result.findings
    assert (finding.kind, finding.subject, finding.verdict) == (FindingKind.PROGRAM_SLOW, node("n4"), Verdict.SLOW)
    assert finding.statement.startswith(f"n4 GPU 1 is 30 % below its peers in gpu-burn, by {3 + RETEST_RUNS} starts.")
    assert set(launcher.begun.values()) == {NODES_REPETITIONS + RETEST_RUNS}
    report = program_report(outcome.recorded.info, outcome.result, outcome.recorded.facts)
    assert report.headline == "SLOW  n4: GPU 1 30 % below its peers in gpu-burn"
    assert report.exit_code is ExitCode.FINDINGS
    cases = {case.name: (case.verdict, case.reason) for case in report.cases}
    assert len(cases) == len(TWELVE)
    assert cases["node:n4"] == (Verdict.SLOW, "GPU 1: 30 % worse than its peers in 9 runs")
    assert {verdict for name, (verdict, _) in cases.items() if name != "node:n4"} == {Verdict.PASS}


def test_healthy_gpus_pass_and_the_report_says_what_would_have_been_named(tmp_path: Path) -> None:
    outcome, launcher = tried(tmp_path, burning(1.0))
    report = program_report(outcome.recorded.info, outcome.result, outcome.recorded.facts)
    assert (report.word, report.exit_code, outcome.result.findings) == ("PASS", ExitCode.PASS, ())
    assert report.sentence.startswith("48 parts of 6 nodes alike; a loss of ")
    assert report.sentence.endswith(" would have been named")
    assert set(launcher.begun.values()) == {NODES_REPETITIONS}


def test_a_gpu_that_was_low_once_is_unstable_and_not_slow(tmp_path: Path) -> None:
    def does(name: str, number: int) -> str:
        return burning(0.7 if number == 2 else 1.0)(name, number)

    (finding,) = tried(tmp_path, does)[0].result.findings
    assert (finding.subject, finding.verdict) == (node("n4"), Verdict.UNSTABLE)


@pytest.mark.parametrize(
    ("slow", "waits", "kind", "verdict"),
    [
        (0.7, None, FindingKind.PROGRAM_SLOW, Verdict.SLOW),
        (0.7, lambda _name, _number: 0.0, FindingKind.PROGRAM_SLOW, Verdict.SLOW),
        (0.7, lambda _name, _number: 0.35, FindingKind.PROGRAM_SLOW, Verdict.SLOW),
        (0.7, lambda name, _number: 0.1 * (name == "n4"), FindingKind.PROGRAM_SLOW, Verdict.SLOW),
        (0.7, lambda name, _number: 0.35 * (name == "n4"), FindingKind.WAITS_FOR_PROCESSOR, Verdict.SLOW),
        (0.0, lambda name, number: 0.35 * ((name, number) == ("n4", 2)), FindingKind.WAITS_FOR_PROCESSOR,
         Verdict.UNSTABLE),
    ],
    ids=["unknown", "quiet", "all wait", "waits little", "waits", "waited once"],
)  # fmt: skip
def test_waits_for_a_processor_excuse_as_much_as_in_a_check(
    tmp_path: Path, slow: float, waits: Callable[[str, int], float] | None, kind: FindingKind, verdict: Verdict
) -> None:
    """`slow`: share of its rate that GPU 1 of n4 reaches; 0: it lacks 30 % in one start only."""

    def does(name: str, number: int) -> str:
        made = burning(slow or (0.7 if number == 2 else 1.0))(name, number)
        return made if waits is None else f"printf '%s' {shlex.quote(ran(0, waits(name, number)))} >&2; {made}"

    outcome, _ = tried(tmp_path, does)
    (finding,) = outcome.result.findings
    assert (finding.kind, finding.subject, finding.verdict) == (kind, node("n4"), verdict)
    assert "n4 GPU 1 is 30 % below" in finding.statement
    for start in outcome.result.starts:
        assert start.waited == (None if waits is None else pytest.approx(waits(start.node, start.run)))
    longest = max((waits(start.node, start.run) for start in outcome.result.starts), default=0.0) if waits else 0.0
    rows = [row for block in program_report(outcome.recorded.info, outcome.result, {}).terminal(100)
            if isinstance(block, Lines) for row in block.rows]  # fmt: skip
    assert [f"at most {longest:.0%}".replace("%", " %") in text for name, text in rows if name == "waits"] == [True] * (
        longest > 0
    )


@pytest.mark.parametrize(
    ("probe", "printed"),
    [('shift; echo reported >&2; exec "$@"', "reported\n"), ("echo 'unknown argument' >&2; exit 64", ""), (None, "")],
    ids=["knows it", "is older", "is not there"],
)
def test_the_probe_starts_a_program_where_it_is_there_and_can(tmp_path: Path, probe: str | None, printed: str) -> None:
    if probe is not None:
        (tmp_path / "probe").write_text(f"#!/bin/sh\n{probe}\n")
        (tmp_path / "probe").chmod(0o755)
    words = ["sh", "-c", WATCHED, str(tmp_path / "probe"), "sh", "-c", "echo out $0 $1; exit 3", "a b", "c"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "out a b c\n", printed)


def test_a_node_is_named_by_the_one_figure_of_its_start(tmp_path: Path) -> None:
    def does(name: str, number: int) -> str:
        rate = (300.0 if name == "n5" else 400.0) + 0.2 * number + 0.1 * int(name[1:])
        return prints(nccl(hosts=(name,), gpus=8, most=rate))

    (finding,) = tried(tmp_path, does, program=node_program("all_reduce_perf -g 8"))[0].result.findings
    assert (finding.kind, finding.subject) == (FindingKind.PROGRAM_SLOW, node("n5"))
    assert finding.brief == "24 % below its peers in nccl-tests"


def test_a_start_that_fails_is_not_run_with_its_cause(tmp_path: Path) -> None:
    healthy = burning(1.0)
    outcome, _ = tried(tmp_path, lambda name, number: NO_DEVICE if name == "n3" else healthy(name, number))
    result = outcome.result
    report = program_report(outcome.recorded.info, result, {})
    assert (result.findings, report.word, report.exit_code) == ((), "INCOMPLETE", ExitCode.INCOMPLETE)
    assert result.reason.startswith("n3 not measured: ")
    assert "no CUDA-capable device is detected" in result.reason
    assert {each.node for each in result.starts if each.failure} == {"n3"}
    (case,) = [case for case in report.cases if case.name == "node:n3"]
    assert case.verdict is Verdict.NOT_RUN
    assert "no CUDA-capable device is detected" in case.reason


@pytest.mark.parametrize(
    ("odd", "why"),
    [(nccl(gpus=4, hosts=("n1",)), "it ran on 4 ranks, and on most nodes on 8"), (gpu_burn(1.0, gpus=8), "gpu-burn")],
)
def test_a_node_whose_figure_is_another_figure_is_not_run(tmp_path: Path, odd: str, why: str) -> None:
    """A bus bandwidth of 4 ranks beside others of 8 was called slow, and the benchmark of the first output counted."""
    usual = nccl(gpus=8, hosts=("n1",))
    outcome, _ = tried(tmp_path, lambda name, _number: prints(odd if name == "n1" else usual))
    result = outcome.result
    report = program_report(outcome.recorded.info, result, {})
    assert (result.findings, report.exit_code, result.benchmark) == ((), ExitCode.INCOMPLETE, "nccl-tests")
    assert {each.node for each in result.starts if each.failure} == {"n1"}
    assert all(why in each.failure for each in result.starts if each.failure)
    assert len(report.headline) <= LINE
    assert report.headline.startswith("INCOMPLETE  n1 not measured")


def test_a_program_that_fails_everywhere_is_started_once_and_not_run(tmp_path: Path) -> None:
    outcome, launcher = tried(tmp_path, lambda *_: NO_DEVICE)
    assert set(launcher.begun.values()) == {1}
    assert (outcome.result.word, outcome.result.exit_code) == ("NOT_RUN", ExitCode.INCOMPLETE)
    assert outcome.result.reason.startswith("n1, n2, n3, n4 and 2 more not measured: ")
    assert "no CUDA-capable device" in outcome.result.reason


def test_a_diagnostic_that_fails_takes_its_node_out_although_it_ends_with_an_error(tmp_path: Path) -> None:
    def does(name: str, _: int) -> str:
        return prints(diagnostic(status="Fail"), 226) if name == "n2" else prints(diagnostic())

    outcome, _ = tried(tmp_path, does, names(4), program=node_program("dcgmi diag -r 2 -j"))
    assert {(finding.kind, finding.subject, finding.verdict) for finding in outcome.result.findings} == {
        (FindingKind.DIAGNOSTIC_FAILED, node("n2"), Verdict.DOWN)
    }
    assert outcome.result.complete


def test_rates_above_the_link_of_a_gpu_and_far_below_it_are_found_though_all_nodes_are_alike(tmp_path: Path) -> None:
    def kinds(generation: int, text: str) -> set[FindingKind]:
        outcome, _ = tried(
            tmp_path / f"{text[:2]}{generation}", lambda *_: prints(text), names(4), program=node_program("nvbandwidth")
        )
        gpus = tuple(
            Gpu(address=f"0000:{place:02x}:00.0", link_generation_max=generation, link_width_max=16)
            for place in range(4)
        )
        recorded = outcome.recorded
        facts = {name: msgspec.structs.replace(known, gpus=gpus) for name, known in recorded.facts.items()}
        judged = judge_program(msgspec.structs.replace(recorded, facts=facts, facts_after=facts))
        return {finding.kind for finding in judged.findings}

    assert kinds(4, nvbandwidth()) == {FindingKind.ABOVE_LIMIT}
    assert kinds(5, nvbandwidth()) == set()
    assert kinds(4, cuda_bandwidth()) == set()
    assert kinds(5, cuda_bandwidth()) == {FindingKind.FAR_BELOW_LIMIT}


def test_a_start_that_hangs_is_ended_and_the_others_are_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_run, "LEAST_START_S", 3.0)
    healthy = burning(1.0)
    outcome, _ = tried(
        tmp_path, lambda name, number: "exec sleep 60" if name == "n3" else healthy(name, number), SIX, 9.0
    )
    assert {each.node for each in outcome.result.starts if "did not end within" in each.failure} == {"n3"}
    assert {each.node for each in outcome.result.starts if not each.failure} == set(SIX) - {"n3"}


def test_nodes_of_one_kernel_start_it_one_after_the_other(tmp_path: Path) -> None:
    launcher = NodeProgramLauncher(Cluster(nodes=names(3), boot_id="one"), burning(1.0))
    use_launcher(launcher)
    settings = NodesSettings(site=SiteSettings(archive=tmp_path, run="trial"), program=node_program("gpu_burn 60"))
    outcome = run_program(settings)
    assert outcome.recorded.info.design is not None
    assert "share a kernel" in outcome.recorded.info.design.statement
    assert set(launcher.begun.values()) == {NODES_REPETITIONS}


def test_a_time_repeats_it_until_the_time_is_over(tmp_path: Path) -> None:
    clock = Clock()
    use_clock(clock)

    def does(name: str, number: int) -> str:
        clock.advance(0.02)
        return burning(1.0)(name, number)

    outcome, launcher = tried(tmp_path, does, names(3), 2.0, length_s=2.0)
    assert min(launcher.begun.values()) > NODES_REPETITIONS
    assert (outcome.result.word, outcome.recorded.info.ending) == ("PASS", Ending.COMPLETE)


def test_the_archive_is_judged_alike_and_clears_only_its_own_program(tmp_path: Path) -> None:
    outcome, _ = tried(tmp_path, burning(0.7))
    assert judge_program(read_run(outcome.folder)) == outcome.result
    assert looks_of(outcome.recorded.info) == {"gpu_burn 60"}
    assert not list(tmp_path.glob(".scratch-*/.seatrial-*"))


def test_ctrl_c_keeps_what_was_printed(tmp_path: Path) -> None:
    healthy = burning(1.0)

    def does(name: str, number: int) -> str:
        if number == 3:
            raise KeyboardInterrupt
        return healthy(name, number)

    outcome, _ = tried(tmp_path, does)
    assert outcome.recorded.info.ending is Ending.INTERRUPTED
    assert len(outcome.result.starts) == 2 * len(SIX)
    assert (outcome.result.word, outcome.result.exit_code) == ("INCOMPLETE", ExitCode.INCOMPLETE)


def test_a_launcher_that_starts_no_programs_is_refused(tmp_path: Path) -> None:
    use_launcher(ScriptedLauncher(Cluster(nodes=names(4))))
    settings = NodesSettings(site=SiteSettings(archive=tmp_path), program=node_program("gpu_burn 60"))
    with pytest.raises(UsageError, match="cannot start programs"):
        run_program(settings)
    assert not list(tmp_path.iterdir())


SMI = """#!/bin/sh
case $1 in
  --query-gpu=clocks_event*) exit 2 ;;
  --query-gpu=pci*)
    echo '00000000:11:00.0, 91, 1200, 655.10, 0x0000000000000040'
    echo '00000000:11:00.0, 40, 345, 70.00, 0x0000000000000001'
    echo '00000000:12:00.0, 60, 1980, [N/A], 0x0000000000000004' ;;
esac
"""


def with_smi(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a stand-in for nvidia-smi in front of the path of programs."""
    (folder / "nvidia-smi").write_text(SMI)
    (folder / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@pytest.mark.parametrize("has_smi", [True, False])
def test_a_program_whose_node_is_sampled_ends_as_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_smi: bool
) -> None:
    if has_smi:
        with_smi(tmp_path, monkeypatch)
    file = tmp_path / "samples"
    lasts = f"until grep -qs 11:00 {file}; do sleep 0.05; done" if has_smi else "sleep 0.2"
    words = ["sh", "-c", SAMPLED, "sh", str(file), "n1 1", "1", "sh", "-c", f"{lasts}; echo out; echo err >&2; exit 3"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n")
    first, *samples = file.read_text().splitlines() if has_smi else ["n1 1"]
    assert first == "n1 1"
    assert bool(samples) is has_smi


def test_gpus_are_sampled_while_a_program_is_repeated_and_a_hot_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_smi(tmp_path, monkeypatch)
    text = gpu_burn(1.0, gpus=8)

    def does(name: str, number: int) -> str:
        return f"sleep 1.5; {prints(text)}"

    outcome, _ = tried(tmp_path, does, names(3), 5.0, length_s=5.0)
    (finding,) = outcome.result.findings
    assert finding.kind is FindingKind.GPU_SLOWED
    assert "GPU 0000:11:00.0: the hardware lowers its clock for its temperature" in finding.statement
    assert {(each.node, each.gpu, each.celsius, each.hertz, each.watts) for each in outcome.result.gpus} == {
        (name, gpu, *rest)
        for name in names(3)
        for gpu, *rest in (("GPU 0000:11:00.0", 91.0, 1.2e9, 655.1), ("GPU 0000:12:00.0", 60.0, 1.98e9, None))
    }
    assert outcome.result.gpus[1].slowdowns == {"sw_power_cap": 1.0}
    report = program_report(outcome.recorded.info, outcome.result, {})
    assert report.sentence.endswith("; hottest n1 GPU 0000:11:00.0: 91 °C, 1.2 GHz")
    (table,) = [
        block for block in report.terminal(100)
        if isinstance(block, Table) and block.columns[0].title == "GPU"
    ]  # fmt: skip
    assert len(table.rows) == 6
    assert table.rows[0][2:] == ("91", "1.20", "655", "hw_thermal_slowdown 100 %")


def test_samples_of_another_form_are_left_out_and_those_of_idle_gpus_say_nothing() -> None:
    text = "No devices were found\n00000000:11:00.0, 91, 12\n00000000:11:00.0, 40, 345, 70.00, 0x1\n"
    assert [(sample.address, sample.celsius) for sample in gpu_samples(text)] == [("0000:11:00.0", 40.0)]
    assert loaded_gpus([("n1", text)], {}) == ()


def test_nodes_of_each_model_of_gpu_are_compared_with_each_other(tmp_path: Path) -> None:
    """Four nodes of a fast model beside four of a slow one made two populations: no node could be judged."""
    models = {name: "A100" if int(name[1:]) <= 4 else "H100" if int(name[1:]) <= 8 else "L40" for name in names(9)}

    def does(name: str, number: int) -> str:
        share = {"A100": 0.4, "H100": 1.0, "L40": 0.1}[models[name]] * (0.7 if name == "n2" else 1.0)
        rate = 400.0 * share * (1 + 0.001 * number)
        return prints(nccl(hosts=(name,), gpus=8, most=rate))

    outcome, _ = tried(tmp_path, does, tuple(models), program=node_program("all_reduce_perf -g 8"))
    recorded = outcome.recorded
    facts = {
        name: msgspec.structs.replace(known, gpus=(Gpu(address="0000:11:00.0", name=models[name]),))
        for name, known in recorded.facts.items()
    }
    result = judge_program(msgspec.structs.replace(recorded, facts=facts, facts_after=facts))
    (finding,) = result.findings
    assert (finding.kind, finding.subject) == (FindingKind.PROGRAM_SLOW, node("n2"))
    assert "30 % below its peers" in finding.statement
    assert "n9: compared with no other node, since few are of this model: L40." in result.notes
    (table,) = result.tables.values()
    assert [stratum.conditions for stratum in table.strata] == [(("model", "A100"),), (("model", "H100"),)]
    report = program_report(recorded.info, result, facts)
    assert {case.name: case.verdict for case in report.cases}["node:n9"] is Verdict.NOTE
    assert {finding.subject for finding in judge_program(recorded).findings} == {node("n2"), node("n9")}  # not known


@pytest.mark.parametrize(("wrong", "verdict"), [("0", Verdict.PASS), ("N/A", Verdict.MEASURED)])
def test_data_that_were_not_checked_do_not_pass(tmp_path: Path, wrong: str, verdict: Verdict) -> None:
    def does(name: str, number: int) -> str:
        return prints(nccl(hosts=(name,), gpus=8, most=400 + 0.2 * number + 0.1 * int(name[1:]), wrong=wrong))

    result = tried(tmp_path, does, program=node_program("all_reduce_perf -g 8"))[0].result
    assert (result.verdict, result.findings, result.exit_code) == (verdict, (), ExitCode.PASS)
