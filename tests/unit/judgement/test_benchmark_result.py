"""Judgements on recorded runs of benchmarks: good ones, and each way to be wrong."""

from pathlib import Path

import msgspec
import pytest

from seatrial.benchmarks.catalogue import BENCHMARKS
from seatrial.commands.run.view import run_report
from seatrial.judgement.benchmark_result import RunResult, judge_run
from seatrial.model.benchmark import BenchmarkPlan, BenchmarkStep, StepResult
from seatrial.model.errors import ExitCode
from seatrial.model.facts import NodeFacts
from seatrial.model.run import Ending, RecordedRun, RunKind
from seatrial.model.settings import RunSettings, SiteSettings
from tests.support.benchmark_outputs import hpl, netpipe
from tests.support.builders import Cluster, info_of
from tests.support.limits_examples import hca, node, port

KILLED = "srun: error: n2: task 1: Killed\nsrun: Terminating StepId=7.0\n"


def recorded(ending: Ending = Ending.COMPLETE, ranks: str = "", **step: object) -> RecordedRun:
    whole = {"name": "hpl", "argv": ("srun", "xhpl"), "returncode": 0, "seconds": 100.0, "output": hpl(), **step}
    plan = BenchmarkPlan(steps=(BenchmarkStep(name="hpl", argv=("xhpl",)),), expected={"ranks": ranks} if ranks else {})
    info = info_of(Cluster(nodes=("n1", "n2")), kind=RunKind.RUN)
    site = SiteSettings(archive=Path("archive"))
    settings = RunSettings(site=site, benchmark="hpl", limits={"rate_flops_per_s": 3e11})
    return RecordedRun(
        info=msgspec.structs.replace(info, ending=ending, settings=settings),
        planned=(),
        facts={},
        facts_after={},
        measurements=(),
        plan=plan,
        steps=(msgspec.convert(whole, StepResult),),
    )


def judged(run: RecordedRun) -> RunResult:
    return judge_run(run, BENCHMARKS["hpl"])


def test_a_good_run_passes_and_shows_its_rate() -> None:
    run = recorded(ranks="32")
    report = run_report(run.info, judged(run))
    assert report.exit_code is ExitCode.PASS
    assert report.headline.startswith("PASS  HPL on 2 nodes: 53.3 Gflop/s, 18 % of its limit 300.0 Gflop/s")


def test_a_rate_far_below_its_limit_is_slow_and_one_without_a_limit_is_measured() -> None:
    for limits, word, code in (
        ({"rate_flops_per_s": 3.5e12}, "SLOW", ExitCode.FINDINGS),
        ({"rate_flops_per_s": 5e11}, "PASS", ExitCode.PASS),
        ({}, "MEASURED", ExitCode.PASS),
    ):
        run = recorded(ranks="32")
        assert isinstance(run.info.settings, RunSettings)
        settings = msgspec.structs.replace(run.info.settings, limits=limits)
        run = msgspec.structs.replace(run, info=msgspec.structs.replace(run.info, settings=settings))
        report = run_report(run.info, judged(run))
        assert (report.word, report.exit_code) == (word, code)
        assert ("far-below-limit" in report.headline) == (word == "SLOW")


@pytest.mark.parametrize(
    ("run", "code", "says"),
    [
        (recorded(output=hpl(residual="1.9e+03", outcome="FAILED")), 1, "residual-failed"),
        (recorded(output=hpl(time=1.0)), 1, "above-limit"),
        (recorded(ranks="8"), 1, "ranks-differ: line "),
        (recorded(returncode=1), 1, "program-failed"),
        (recorded(output=hpl()[:1200]), 2, "has no end (End of Tests.)"),
        (recorded(output=""), 2, "it printed nothing"),
        (recorded(output=hpl()[:1200], returncode=137, errors=KILLED), 2, "hpl was killed by signal 9"),
        (recorded(output=hpl()[:1200], returncode=-15, timed_out=True), 2, "did not finish within --budget"),
        (recorded(Ending.INTERRUPTED, output="", returncode=-15, interrupted=True), 2, "hpl was interrupted after"),
    ],
)
def test_each_way_to_be_wrong_has_its_word_and_code(run: RecordedRun, code: int, says: str) -> None:
    report = run_report(run.info, judged(run))
    assert int(report.exit_code) == code
    assert says in report.headline
    assert report.word == ("INVALID" if code == 1 else "INCOMPLETE")


def test_what_another_program_printed_is_no_result() -> None:
    run = recorded(output="# OSU MPI Latency Test v5.6.2\n# Size          Latency (us)\n0 1.0\n")
    assert "it printed what OSU" in run_report(run.info, judged(run)).headline


def counted(name: str, *data_bytes: int) -> NodeFacts:
    """A node with a rail of EDR for each number of bytes that its port has sent."""
    adapters = tuple(
        hca(port(counters={"port_rcv_data": 0, "port_xmit_data": sent // 4}), name=f"mlx5_{rail}", address="")
        for rail, sent in enumerate(data_bytes)
    )
    return node(name, hcas=adapters)


@pytest.mark.parametrize(
    ("sent", "rails"),
    [((8 << 30, 0), 1), ((8 << 30, 4 << 20), 1), ((4 << 30, 4 << 30), 2), ((1 << 20, 0), 2)],
)
def test_the_limit_is_that_of_the_ports_that_carried_the_data(sent: tuple[int, int], rails: int) -> None:
    """Two rails permit twice as much only where both were used; ports that counted little do not say."""
    run = recorded(output=netpipe())
    run = msgspec.structs.replace(
        run,
        info=msgspec.structs.replace(run.info, settings=None),
        facts={name: counted(name, 0, 0) for name in ("n1", "n2")},
        facts_after={name: counted(name, *sent) for name in ("n1", "n2")},
    )
    limits = judge_run(run, BENCHMARKS["netpipe"]).limits
    assert limits["bandwidth_bytes_per_s"] == pytest.approx(rails * 12.4e9, rel=0.02)
