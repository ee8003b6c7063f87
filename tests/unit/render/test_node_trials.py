"""Tables of node trials: each once, and those of a trial also where no node has figures of its own."""

import pytest

from seatrial.commands.nodes.judge import judge_nodes
from seatrial.model.settings import Trial
from seatrial.render.node_trials import trial_tables
from seatrial.render.report import Report
from seatrial.render.text import as_text
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


@pytest.mark.parametrize("width", [80, 120])
def test_each_head_of_the_scheduler_is_explained_below_it_in_one_line(width: int) -> None:
    """`timer`, `slice` and `stint` say nothing to a reader who sees them for the first time."""
    result = judge_nodes(recorded(dict.fromkeys(names(5), GOOD), trials=tuple(Trial)))
    report = Report(payload=dict, terminal=lambda _: trial_tables(result.trials, "Nodes"))
    text = as_text(report, width=width)
    table = text.partition("Scheduler\n")[2].partition("\n\n")[0].splitlines()
    heads = table[0].split()[1:]
    assert {"timer", "slice", "stint"} <= {*heads}
    legend = [line.split(maxsplit=1) for line in table[-len(heads) :]]
    assert [head for head, _ in legend] == heads
    assert dict(legend)["timer"] == "how late a process wakes up from a sleep of 1 ms"
    assert max(map(len, table)) <= width
