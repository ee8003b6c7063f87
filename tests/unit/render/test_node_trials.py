"""Tables of node trials: each once, and those of a trial also where no node has figures of its own."""

import msgspec
import pytest

from seatrial.commands.nodes.judge import judge_nodes
from seatrial.model.settings import Trial
from seatrial.render.node_trials import trial_tables
from seatrial.render.report import Lines, Report, Table
from seatrial.render.text import as_text
from tests.support.builders import names
from tests.support.node_series import GOOD, recorded

COLLECTIVES = "Collective operations"
CLOCKS = "Clocks, and who comes last to a barrier after a millisecond of work"


def titles(*trials: Trial) -> list[str]:
    result = judge_nodes(recorded(dict.fromkeys(names(5), GOOD), trials=trials))
    return [block.title for block in trial_tables(result.trials, "Nodes") if isinstance(block, Table)]


def test_each_table_is_printed_once() -> None:
    every = titles(*Trial)
    assert sorted(every) == sorted(set(every))
    assert {"Nodes", "Scheduler", "Storage", "Limits", COLLECTIVES, CLOCKS} <= set(every)


@pytest.mark.parametrize(
    ("trial", "title"), [(Trial.COLLECTIVES, COLLECTIVES), (Trial.STORAGE, "Storage"), (Trial.SCHEDULER, "Scheduler")]
)
def test_a_trial_by_itself_has_its_table(trial: Trial, title: str) -> None:
    assert title in titles(trial)


@pytest.mark.parametrize(("title", "unknown"), [("Scheduler", {"timer", "slice", "stint"}), ("Storage", {"file"})])
@pytest.mark.parametrize("width", [80, 120])
def test_each_head_is_explained_below_its_table_in_one_line(title: str, unknown: set[str], width: int) -> None:
    """`timer`, `slice` and `stint` say nothing to a reader who sees them for the first time."""
    result = judge_nodes(recorded(dict.fromkeys(names(5), GOOD), trials=tuple(Trial)))
    tables = list(trial_tables(result.trials, "Nodes"))
    place = next(number for number, block in enumerate(tables) if block.title == title)
    table, legend = tables[place], tables[place + 1]
    assert isinstance(table, Table)
    assert isinstance(legend, Lines)
    assert [column.title for column in table.columns[1:]] == [head for head, _ in legend.rows]
    assert unknown <= {head for head, _ in legend.rows}
    text = as_text(Report(payload=msgspec.Struct, terminal=lambda _: (table, legend)), width=width).splitlines()
    assert len(text) == 1 + 1 + len(table.rows) + len(legend.rows), "title, one line of heads, nodes and peers, legend"
    assert max(map(len, text)) <= width
