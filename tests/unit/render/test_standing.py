"""How nodes are after one report: with their clocks and heat, whether a finding names them or not."""

import msgspec
import pytest

from seatrial.commands.check.view import check_report
from seatrial.commands.nodes.judge import judge_nodes
from seatrial.commands.nodes.view import nodes_report
from seatrial.model.facts import NodeFacts, ProcessorFacts
from seatrial.model.monitoring import Condition, Standing
from seatrial.model.node_trials import Measure
from seatrial.model.system import Sensor, SystemFacts
from seatrial.render.finding_text import standings_of
from tests.support.builders import names
from tests.support.node_series import CORE_FLOPS_PER_S, CORES, GOOD, LOAD_S, MEMORY_BYTES_PER_S, recorded
from tests.support.report_examples import run_info, slow_node

SENSORS = (
    Sensor(name="coretemp Package id 0", unit="degC", value=61.0),
    Sensor(name="nvme temp1", unit="degC", value=38.0),
    Sensor(name="acpi power", unit="W", value=412.0),
    Sensor(name="fan1", unit="rpm", value=9000.0),
)


def test_nodes_with_facts_have_their_clocks_and_heat() -> None:
    processor = ProcessorFacts(present_hz=(0.8e9, 3.0e9, 2.0e9), throttle_events=4)
    facts = NodeFacts(hostname="n3", complete=True, processor=processor, system=SystemFacts(sensors=SENSORS))
    bare = NodeFacts(hostname="n1", complete=True)
    run = run_info()
    by_name = {one.node: one for one in standings_of(check_report(run, slow_node(), {"n3": facts, "n1": bare}))}
    assert by_name["n3"].faults
    assert by_name["n3"].condition == Condition(
        read=run.started, clocks_hz=(0.8e9, 2.0e9, 3.0e9), hottest_celsius=61.0, power_w=412.0, throttle_events=4
    )
    assert by_name["n1"].condition == Condition(read=run.started)
    assert by_name["n2"].condition is None


def test_the_main_figures_of_trials_go_with_each_node() -> None:
    run = recorded(dict.fromkeys(names(3), GOOD), noise=0)
    standings = standings_of(nodes_report(run.info, judge_nodes(run), {}))
    assert [standing.node for standing in standings] == [*names(3)]
    for standing in standings:
        assert standing.figures == {
            Measure.TRIAD: pytest.approx(MEMORY_BYTES_PER_S),
            Measure.CHASE: pytest.approx(LOAD_S),
            Measure.FMA: pytest.approx(CORES * CORE_FLOPS_PER_S),
            Measure.NOISE: pytest.approx(0, abs=1e-9),
        }
    assert msgspec.json.decode(msgspec.json.encode(standings), type=tuple[Standing, ...]) == standings


def test_ranks_of_one_machine_are_no_nodes() -> None:
    here = msgspec.structs.replace(slow_node(), nodes=tuple(
        msgspec.structs.replace(node, node=f"{node.node}:0") for node in slow_node().nodes
    ), findings=())  # fmt: skip
    assert standings_of(check_report(run_info(), here, {})) == ()
