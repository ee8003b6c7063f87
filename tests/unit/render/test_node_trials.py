"""Tables of node trials: each once, and those of a trial also where no node has figures of its own."""

import pytest

from seatrial.commands.nodes.judge import judge_nodes
from seatrial.model.settings import Trial
from seatrial.render.node_trials import trial_tables
from tests.support.builders import names
from tests.support.node_series import GOOD, recorded

COLLECTIVES = "Collective operations"
CLOCKS = "Clocks, and who comes last to a barrier after a millisecond of work"


def titles(*trials: Trial) -> list[str]:
    result = judge_nodes(recorded(dict.fromkeys(names(5), GOOD), trials=trials))
    return [table.title for table in trial_tables(result.trials, "Nodes")]


def test_each_table_is_printed_once() -> None:
    every = titles(*Trial)
    assert sorted(every) == sorted(set(every))
    assert {"Nodes", "Scheduler", "Storage", "Limits", COLLECTIVES, CLOCKS} <= set(every)


@pytest.mark.parametrize(
    ("trial", "title"), [(Trial.COLLECTIVES, COLLECTIVES), (Trial.STORAGE, "Storage"), (Trial.SCHEDULER, "Scheduler")]
)
def test_a_trial_by_itself_has_its_table(trial: Trial, title: str) -> None:
    assert title in titles(trial)
