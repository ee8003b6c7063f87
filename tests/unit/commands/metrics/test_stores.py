"""What a real Prometheus and a real Graphite hold after a call is what the call handed over, number by number."""

import re
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from prometheus_client.parser import text_string_to_metric_families

from seatrial.commands.metrics.figures import Figure, SlurmState, gate_figures, node_figures, slurm_figures
from seatrial.commands.metrics.run import deliver, exposition
from seatrial.model.gate import GateTally
from seatrial.model.monitoring import Condition, Fault, NodeStanding, OpenFault, Target
from seatrial.model.verdict import Verdict
from seatrial.slurm import census
from tests.lab.waiting import eventually
from tests.support.stores import Graphite, Prometheus
from tests.unit.commands.metrics.test_metrics import NOW_S, SDIAG, SINFO, SQUEUE, SSHARE

HOSTILE = ("x y", 'q"}1', "new\\nline", "back\\slash", "bytes\udcff", "ü", "a.b", "a_b", "{x=1}", "*", "../up", "a,b;c")
JUDGED = "2026-11-27T03:00:00Z"


def slurm_state(names: Sequence[str] = ()) -> SlurmState:
    """A made-up Slurm, with jobs of users, accounts and partitions of these names."""
    lines = "".join(
        f"{i}|RUNNING|p{name.replace(',', '')}|{i}|1|1795749000|{name}|{name}\n" for i, name in enumerate(names)
    )
    return SlurmState(
        nodes=census.parse_nodes(SINFO)[0],
        jobs=census.parse_jobs(SQUEUE + lines)[0],
        scheduler=census.parse_scheduler(SDIAG),
        shares=census.parse_shares(SSHARE)[0],
        seconds={"sinfo": 0.1},
        answered={"sinfo": True, "squeue": True, "sdiag": True},
        unread={"squeue": 1},
    )


def standings() -> dict[str, NodeStanding]:
    """A good node, a slow one, and a slow uplink."""
    fault = OpenFault(
        fault=Fault(kind="slow-link", verdict=Verdict.SLOW, text="link at 60 %"), run="b", since="2026-11-26T03:00:00Z"
    )
    condition = Condition(read=JUDGED, clocks_hz=(0.8e9, 2.4e9, 3.1e9), hottest_celsius=61.0, throttle_events=3)
    good = NodeStanding(node="n1", verdict=Verdict.PASS, run="b", judged=JUDGED, of_limit=0.97, condition=condition)
    slow = NodeStanding(node="n2", verdict=Verdict.SLOW, run="b", judged=JUDGED, of_limit=0.6, faults=(fault,))
    uplink = NodeStanding(node="uplink:leaf1", verdict=Verdict.SLOW, run="b", judged=JUDGED, faults=(fault,))
    return {one.node: one for one in (good, slow, uplink)}


def all_figures(names: Sequence[str] = ()) -> list[Figure]:
    """Everything that a call hands over."""
    at = datetime.fromtimestamp(NOW_S, UTC)
    gates = gate_figures(GateTally(answers={"good": 5, "bad": 1}, nodes={"good": 1, "bad": 1, "silent": 0}))
    return [*node_figures(standings(), 2, 0, at), *gates, *slurm_figures(slurm_state(names), 50, NOW_S)]


def test_prometheus_holds_what_was_written(scraped: Prometheus) -> None:
    figures = all_figures(HOSTILE)
    deliver(figures, Target(textfile=scraped.textfile))
    scraped.wait()
    families = text_string_to_metric_families(exposition(figures).decode())
    written = {(sample.name, *sorted(sample.labels.items())): sample.value
               for family in families for sample in family.samples}  # fmt: skip
    assert scraped.numbers() == written
    assert len(written) > 100


def test_graphite_holds_what_was_pushed_under_paths_that_no_name_can_choose(carbon: Graphite) -> None:
    """Users who are spelled alike in a path are one series, and their jobs are added."""
    figures = all_figures(HOSTILE)
    deliver(figures, Target(graphite=("127.0.0.1", carbon.line)))
    wanted: dict[str, float] = defaultdict(float)
    for family in text_string_to_metric_families(exposition(figures).decode()):
        for sample in family.samples:
            words = [word for pair in sample.labels.items() for word in pair]
            wanted[".".join([sample.name, *(re.sub(r"[^\w-]", "_", word, flags=re.ASCII) for word in words)])] += (
                sample.value
            )
    assert eventually(lambda: carbon.numbers().keys() >= wanted.keys())
    assert carbon.numbers() == pytest.approx(wanted)
    assert wanted["slurm_user_jobs_running.username.a_b"] == 2
