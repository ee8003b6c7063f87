"""A check in a user's own job: is it the machine, is it the job, and what does a ticket say."""

from typing import Any

import msgspec
import pytest

from seatrial.commands.check.headline import headline
from seatrial.commands.check.judge import judge
from seatrial.driver.past import ITS_PAST
from seatrial.model.facts import NodeFacts
from seatrial.model.hca import Hca
from seatrial.model.measurement import Kernel, RankPlace
from seatrial.model.past import EarlierRun, JobStep, OwnJob, Past
from seatrial.model.run import RecordedRun
from seatrial.model.verdict import FindingKind, Verdict
from tests.support.builders import HEALTHY, Cluster, names, sail, slow_part
from tests.support.facts_examples import port
from tests.support.reports import check_json, check_text
from tests.support.rule_cases import ranks_on

FOUR = Cluster(nodes=names(4))
STEP = JobStep(number="0", name="app", nodes="n[1-4]")


def in_job(cluster: Cluster = FOUR, earlier: tuple[EarlierRun, ...] = (), **own: Any) -> RecordedRun:
    """A check in job 7, whose ranks are well placed unless `own` says otherwise."""
    recorded = sail(cluster)
    past = Past(name=",".join(run.run for run in earlier), label=ITS_PAST, runs=earlier) if earlier else None
    info = msgspec.structs.replace(recorded.info, job="7", own_job=OwnJob(**{"job": "7", **own}), past=past)
    return msgspec.structs.replace(recorded, info=info)


def earlier(run: str = "old", factor: float = 1.0, latency_s: float = 20e-6, nodes: int = 4) -> EarlierRun:
    rates = dict.fromkeys(names(nodes), HEALTHY * factor)
    late = dict.fromkeys(names(nodes), latency_s)
    return EarlierRun(
        run=run, started="2026-11-20T10:00:00Z", out_bytes_per_s=rates, in_bytes_per_s=rates, latency_s=late
    )


def said(recorded: RecordedRun) -> str:
    return headline(recorded.info, judge(recorded)).what


def kinds(recorded: RecordedRun) -> list[tuple[str, str]]:
    return [(str(finding.kind), finding.subject.text) for finding in judge(recorded).findings]


def test_a_good_machine_is_as_it_should_be() -> None:
    recorded = in_job(earlier=(earlier("b"), earlier("a")))
    judgement = judge(recorded)
    assert (judgement.verdict, judgement.findings) == (Verdict.PASS, ())
    assert said(recorded).startswith("the machine is as it should be: 4 nodes, 12 ordered pairs: the worst")
    text = check_text(recorded.info, judgement, recorded.facts)
    assert "2 runs of its past, 2026-11-20: " in " ".join(text.split())
    assert "Text for a ticket" not in text
    assert check_json(recorded.info, judgement)["own_job"]["machine"] == "good"


def test_outside_of_a_job_nothing_of_it_is_said() -> None:
    recorded = sail(FOUR)
    judgement = judge(recorded)
    assert "the machine" not in said(recorded)
    assert check_json(recorded.info, judgement)["own_job"] is None


def test_a_bad_machine_is_named_with_a_text_for_a_ticket() -> None:
    recorded = in_job(Cluster(nodes=names(4), parts=slow_part("node", "n3", 0.6)), steps=(STEP,))
    assert said(recorded).startswith("the machine is not as it should be: n3: link at 6")
    judgement = judge(recorded)
    text = check_text(recorded.info, judgement, recorded.facts)
    found = check_json(recorded.info, judgement)["own_job"]
    assert found["machine"] == "bad"
    ticket = "\n".join(found["ticket"])
    for part in ("Job 7 on test, 4 nodes: n[1-4]", "node:n3", "proved by", "seatrial report run --json"):
        assert part in ticket
        assert part in text
    assert "Ran beside it: step 0 (app) on n[1-4]" in ticket
    assert "to do" not in ticket


def test_ranks_that_share_a_core_are_the_jobs_fault_and_not_the_machines() -> None:
    recorded = in_job(ranks=ranks_on("n1", (0,), (0,)), steps=(STEP,))
    judgement = judge(recorded)
    assert kinds(recorded) == [("ranks-share-core", "job:7")]
    assert said(recorded) == "the machine is as it should be, but the job is not: ranks 0-1 share only processor 0"
    assert judgement.findings[0].statement.startswith("Ranks of step 0 (app) on n[1-4]: Node n1: ")
    assert (judgement.verdict, judgement.exit_code) == (Verdict.MISCONFIGURED, 1)
    assert {node.verdict for node in judgement.nodes} == {Verdict.PASS}


def test_threads_without_cores_are_named() -> None:
    ranks, variables = ranks_on("n1", (0,), (1,)), {"OMP_NUM_THREADS": "4,2"}
    assert kinds(in_job(ranks=ranks, variables=variables)) == [("threads-share-core", "job:7")]
    assert kinds(in_job(ranks=ranks, variables={"OMP_NUM_THREADS": "many"})) == []


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("UCX_TLS", "tcp,self,sm", FindingKind.JOB_TRANSPORT),
        ("UCX_TLS", "rc_x,self", None),
        ("UCX_TLS", "all", None),
        ("UCX_TLS", "^ib", FindingKind.JOB_TRANSPORT),
        ("UCX_TLS", "^tcp", None),
        ("UCX_NET_DEVICES", "eth0", FindingKind.JOB_TRANSPORT),
        ("UCX_NET_DEVICES", "mlx5_0:1,eth0", None),
        ("FI_PROVIDER", "tcp;ofi_rxm", FindingKind.JOB_TRANSPORT),
        ("FI_PROVIDER", "verbs;ofi_rxm", None),
        ("I_MPI_FABRICS", "shm:tcp", FindingKind.JOB_TRANSPORT),
        ("OMPI_MCA_btl", "^openib", None),
        ("I_MPI_PIN", "off", FindingKind.JOB_BINDING),
        ("I_MPI_PIN", "1", None),
        ("SLURM_CPU_BIND", "quiet,mask_cpu:0x1", None),
        ("OMPI_MCA_hwloc_base_binding_policy", "none:if-supported", FindingKind.JOB_BINDING),
    ],
)
def test_variables_that_make_a_job_slow(name: str, value: str, kind: FindingKind | None) -> None:
    recorded = with_adapters(in_job(ranks=ranks_on("n1", (0,), (1,)), variables={name: value}))
    found = [finding for finding in judge(recorded).findings if finding.kind in (kind, FindingKind.JOB_TRANSPORT)]
    assert [finding.kind for finding in found] == ([kind] if kind else [])
    assert all(finding.statement.startswith(f"{name}={value}: ") for finding in found)


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"OMP_PROC_BIND": "master", "OMP_NUM_THREADS": "4"}, True),
        ({"OMP_PROC_BIND": "PRIMARY,close", "OMP_NUM_THREADS": "4,2", "OMP_PLACES": "cores(4)"}, True),
        ({"OMP_PROC_BIND": "master", "OMP_NUM_THREADS": "4", "OMP_PLACES": "sockets"}, False),
        ({"OMP_PROC_BIND": "master", "OMP_NUM_THREADS": "1"}, False),
        ({"OMP_PROC_BIND": "master"}, False),
        ({"OMP_PROC_BIND": "close", "OMP_NUM_THREADS": "4"}, False),
        ({"OMP_PROC_BIND": "false", "OMP_NUM_THREADS": "4"}, False),
    ],
)
def test_threads_that_all_get_the_first_threads_core(variables: dict[str, str], *, named: bool) -> None:
    recorded = in_job(ranks=ranks_on("n1", (0, 1, 2, 3)), variables=variables)
    found = [one.statement for one in judge(recorded).findings if one.kind is FindingKind.JOB_BINDING]
    value = variables["OMP_PROC_BIND"]
    why = f"OMP_PROC_BIND={value}: all threads of a rank share the core of its first thread."
    assert found == ([why] if named else [])


def test_ethernet_alone_has_no_faster_way() -> None:
    assert kinds(in_job(variables={"UCX_TLS": "tcp", "FI_PROVIDER": "tcp", "OMPI_MCA_btl": "tcp,self"})) == []


def test_shared_memory_that_is_left_out_matters_to_several_ranks_of_a_node() -> None:
    variables = {"OMPI_MCA_btl": "tcp,self"}
    assert kinds(in_job(ranks=ranks_on("n1", (0,), (1,)), variables=variables)) == [("job-transport", "job:7")]
    assert kinds(in_job(ranks=ranks_on("n1", (0,)), variables=variables)) == []
    with_it = {"OMPI_MCA_btl": "tcp,self,vader"}
    assert kinds(in_job(ranks=ranks_on("n1", (0,), (1,)), variables=with_it)) == []


def with_adapters(recorded: RecordedRun, share: float | None = None) -> RecordedRun:
    """Each node gets an adapter; with `share`, its port counts that share of what the node sends."""
    sent = dict.fromkeys(recorded.info.nodes, 0)
    for one in recorded.measurements:
        if one.shape.kernel is Kernel.ONEWAY:
            windows = len(one.times_s) + len(one.warmup_times_s)
            sent[one.source] += windows * one.shape.window * one.shape.message_bytes

    def having(facts: NodeFacts, words: int) -> NodeFacts:
        counters = {} if share is None else {"port_xmit_data": 10**9 + words}
        hca = Hca(name="mlx5_0", ports=(port(counters=counters, interfaces=()),))
        return msgspec.structs.replace(facts, hcas=(hca,))

    after = {name: having(facts, int(sent[name] * (share or 0) / 4)) for name, facts in recorded.facts.items()}
    before = {name: having(facts, 0) for name, facts in recorded.facts.items()}
    return msgspec.structs.replace(recorded, facts=before, facts_after=after)


@pytest.mark.parametrize(("share", "named"), [(0.0, True), (0.4, True), (1.05, False), (None, False)])
def test_an_adapter_that_counts_nothing_does_not_carry_the_messages(share: float | None, *, named: bool) -> None:
    found = [one for one in judge(with_adapters(in_job(), share)).findings if one.kind is FindingKind.JOB_TRANSPORT]
    assert bool(found) is named
    assert all("mlx5_0" in finding.statement for finding in found)


def test_a_node_that_was_faster_in_every_earlier_run_is_slower_than_before() -> None:
    fast = msgspec.structs.replace(earlier(), out_bytes_per_s=dict.fromkeys(names(4), HEALTHY) | {"n2": 1.3 * HEALTHY})
    recorded = in_job(earlier=(fast,))
    (finding,) = judge(recorded).findings
    assert (finding.kind, finding.subject.text, finding.verdict) == ("slower-than-before", "node:n2", Verdict.SLOW)
    assert said(recorded).startswith("the machine is not as it should be: n2: bandwidth out 2")
    assert kinds(in_job(earlier=(fast, earlier("other")))) == []


def test_a_machine_that_was_faster_as_a_whole_is_one_finding() -> None:
    assert kinds(in_job(earlier=(earlier(factor=1.3),))) == [("slower-than-before", "cluster:all")]
    assert kinds(in_job(earlier=(earlier(factor=1.05),))) == []


def test_a_latency_that_rose_is_slower_than_before() -> None:
    assert kinds(in_job(earlier=(earlier(latency_s=10e-6),))) == [("slower-than-before", "cluster:all")]
    assert kinds(in_job(earlier=(earlier(latency_s=19e-6),))) == []


def test_nodes_that_no_earlier_run_has_are_not_compared() -> None:
    judgement = judge(in_job(earlier=(earlier(nodes=2),)))
    assert {one.node for one in judgement.past} == {"n1", "n2"}
    assert "Not compared with the past, for its past has no value of them: n3, n4." in judgement.notes


def test_ranks_of_unknown_places_are_no_fault() -> None:
    ranks = (RankPlace(rank=0, place="n1:0", node="n1"), RankPlace(rank=1, place="n1:1", node="n1"))
    assert kinds(in_job(ranks=ranks)) == []
