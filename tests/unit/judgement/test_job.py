"""One job in one view: phases of the application, and what the nodes counted meanwhile."""

from msgspec.structs import replace

from seatrial.benchmarks import gates
from seatrial.benchmarks.catalogue import BENCHMARKS
from seatrial.commands.run.view import job_blocks, phases_text, programs_text
from seatrial.judgement.job import Job, job_of, phases_of
from seatrial.model.benchmark import Output, StepResult
from seatrial.model.facts import MemoryFacts, NetworkInterface, NodeFacts, ProcessorFacts
from seatrial.model.hca import Hca, Port, PortFamily
from seatrial.model.measurement import RankPlace
from seatrial.render.plots import Bars
from seatrial.render.report import Table
from tests.support.application_outputs import gromacs

STEPS = tuple(
    StepResult(name=name, argv=(name,), returncode=0, seconds=seconds)
    for name, seconds in (("grompp", 0.5), ("mdrun", 3.0))
)


def read(text: str) -> Output:
    return gates.judge(BENCHMARKS["gromacs"], BENCHMARKS["gromacs"].parse(text))


def node(*, sent: int, data: int, throttles: int, dropped: int, hertz: float) -> NodeFacts:
    port = Port(number=1, family=PortFamily.INFINIBAND, counters={"port_rcv_data": 5, "port_xmit_data": data})
    return NodeFacts(
        hostname="n1",
        complete=True,
        boot_id="b",
        tcp_segments_sent=sent,
        tcp_segments_resent=2,
        hcas=(Hca(name="mlx5_0", ports=(port,)),),
        interfaces=(NetworkInterface(name="eth0", errors={"rx_dropped": dropped}),),
        processor=ProcessorFacts(throttle_events=throttles, present_hz=(hertz, hertz)),
        memory=MemoryFacts(corrected_errors=4),
        oom_kills=0,
    )


def job(*, throttles: int = 7) -> Job:
    before = node(sent=100, data=1000, throttles=7, dropped=1, hertz=3.0e9)
    after = node(sent=1100, data=3000, throttles=throttles, dropped=4, hertz=2.0e9)
    ranks = {"n1": (RankPlace(rank=0, place="n1:0", node="n1", cpus=(0, 1)),)}
    return job_of(STEPS, read(gromacs()), ranks, {"n1": before}, {"n1": after})


def test_programs_come_first_then_the_phases_that_the_application_reports() -> None:
    phases = list(phases_of(STEPS, read(gromacs())))
    assert [(phase.name, phase.seconds, phase.program) for phase in phases[:3]] == [
        ("grompp", 0.5, True), ("mdrun", 3.0, True), ("Neighbor search", 0.25, False),
    ]  # fmt: skip
    assert programs_text(job()) == "mdrun 3.00 s, grompp 500.0 ms"
    assert phases_text(job()) == "PME mesh 49 %, Force 38 %, Neighbor search 12 %, Rest 1.0 %"


def test_counters_of_the_node_are_what_they_grew_by() -> None:
    (found,) = job(throttles=9).nodes
    assert (found.ranks, found.tcp_sent, found.tcp_resent) == (1, 1000, 0)
    assert found.port_bytes == {"mlx5_0/1": 8000}
    assert (found.throttles, found.memory_errors, found.interface_errors, found.oom_kills) == (2, 0, 3, 0)
    assert found.frequency_hz == (3.0e9, 2.0e9)


def test_a_counter_that_was_reset_is_not_known() -> None:
    (found,) = job(throttles=1).nodes
    assert found.throttles is None
    assert job(throttles=1).nodes[0].throttles is None


def test_a_node_that_did_not_answer_after_the_job_has_no_growth() -> None:
    before = node(sent=100, data=1000, throttles=7, dropped=1, hertz=3.0e9)
    (found,) = job_of(STEPS, read(gromacs()), {}, {"n1": before}, {}).nodes
    assert (found.tcp_sent, found.throttles, found.port_bytes, found.frequency_hz[1]) == (None, None, {}, None)


def test_the_page_has_bars_of_both_and_a_row_for_the_node() -> None:
    blocks = list(job_blocks(job(throttles=9)))
    programs, phases = (block for block in blocks if isinstance(block, Bars))
    assert [bar.name for bar in programs.bars] == ["grompp", "mdrun"]
    assert [bar.value for bar in phases.bars] == [25.51, 76.53, 100.0, 2.04]
    (table,) = (block for block in blocks if isinstance(block, Table))
    (row,) = table.rows
    assert row[:4] == ("n1", "1", "0-1", "not known")
    assert "mlx5_0/1: 0.008 MB" in row[4]
    assert row[5:] == ("3.00 to 2.00 GHz", "2 thermal throttles, 3 errors or drops of interfaces")


def test_a_program_that_is_not_of_mpi_has_no_number_of_ranks() -> None:
    """0 ranks would be wrong: it ran, with threads."""
    facts = node(sent=100, data=1000, throttles=7, dropped=1, hertz=3.0e9)
    blocks = job_blocks(job_of(STEPS, read(gromacs()), {}, {"n1": facts}, {"n1": facts}))
    (table,) = (block for block in blocks if isinstance(block, Table))
    assert table.rows[0][:3] == ("n1", "", "")


def test_a_job_without_phases_and_facts_has_only_its_programs() -> None:
    bare = job_of(STEPS, Output(benchmark="own"), {}, {}, {})
    assert [type(block) for block in job_blocks(bare)] == [Bars]
    assert phases_text(bare) == ""
    assert list(job_blocks(replace(bare, phases=()))) == []
