"""The columns of jobs: which names of nodes are believed, and how many; and which jobs count."""

import pytest

from seatrial.commands.jobs.families import Names
from seatrial.commands.jobs.job_table import MOST_EXPANDED, job_table
from seatrial.importers.accounting import read_accounting
from seatrial.model.errors import UsageError

HEAD = "JobID|User|NodeList|ElapsedRaw|State"


def lines(*nodes: str) -> list[bytes]:
    rows = (f"{job}|u|{text}|60|COMPLETED" for job, text in enumerate(nodes, 1))
    return [f"{line}\n".encode() for line in (HEAD, *rows)]


@pytest.mark.parametrize("name", ["n1;id", "n$(id)", "n`id`", "-x", "n1 --y", "n1,-x", "n[1-2]&n3", ".n1"])
def test_what_a_shell_would_act_on_is_no_node(name: str) -> None:
    """Reports tell the names in commands, which people paste."""
    assert job_table(read_accounting(lines(name, "n[1-2]")), Names()).nodes == ("n1", "n2")


def test_more_nodes_than_a_memory_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundredth of the limit shows it as well."""
    monkeypatch.setattr("seatrial.commands.jobs.job_table.MOST_EXPANDED", MOST_EXPANDED // 100)
    longest = 600
    texts = [f"n[{first}-{longest}]" for first in range(MOST_EXPANDED // 100 // longest + 2)]
    assert job_table(read_accounting(lines(*texts[:-2])), Names()).jobs
    with pytest.raises(UsageError, match="shorter period"):
        job_table(read_accounting(lines(*texts)), Names())


def test_the_time_of_nodes_counts_that_of_all_their_jobs() -> None:
    """n1 ran 60 of the 60 + 2 * 60 + 60 s that nodes spent."""
    table = job_table(read_accounting(lines("n1", "n[2-3]", "", "n3")), Names())
    assert table.node_time({"n1"}) == pytest.approx(0.25)
    assert table.node_time({"n1", "n3"}) == pytest.approx(0.75)
    assert table.without_nodes == 1


@pytest.mark.parametrize(
    ("elapsed", "nodes", "used"), [("0", "n1", 1), ("0", "", 0), ("1", "", 1), ("", "n1", 0), ("00:00:00", "n1", 1)]
)
def test_a_job_that_a_node_ends_within_a_second_counts_and_one_without_a_run_time_does_not(
    elapsed: str, nodes: str, used: int
) -> None:
    table = job_table(read_accounting([f"{HEAD}\n".encode(), f"1|u|{nodes}|{elapsed}|FAILED\n".encode()]), Names())
    assert (len(table.jobs), sum(table.left_out.values())) == (used, 1 - used)
