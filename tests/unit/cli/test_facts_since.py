"""seatrial facts --since: what is a change between two readings, and what only was not read or not asked for."""

from pathlib import Path

import msgspec
import pytest

from seatrial.commands.facts.drift import look_for_drift
from seatrial.driver import facts_reading
from seatrial.model.errors import UsageError
from tests.support.builders import Cluster, names, record, sail
from tests.support.command_line import Seatrial
from tests.unit.cli.test_facts import write_cluster


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """A recording of four nodes; n3 has another MTU."""
    return write_cluster(tmp_path / "cluster", odd="n3")


def test_nodes_that_nobody_asked_about_are_not_changes(seatrial: Seatrial, cluster: Path, tmp_path: Path) -> None:
    made = Cluster(nodes=names(2))
    record(made, tmp_path / "archive", "two", sail(made))
    whole = str(write_cluster(tmp_path / "earlier"))
    one = tmp_path / "one"
    one.mkdir()
    (one / "n1.facts").write_text(Cluster(nodes=("n1",)).facts_text("n1"))
    for words, lacking in (
        (("n1", "--from", str(cluster), "--since", whole), []),
        (("n1,n2", "--from", str(cluster), "--since", str(one)), ["n2"]),
        (("--from", str(one), "--since", whole), []),
        (("n1", "--from", str(cluster), "--since", "two"), []),
        (("n1,n2,n4", "--from", str(cluster), "--since", "two"), ["n4"]),
    ):
        ran = seatrial("facts", *words, "--archive", tmp_path / "archive", "--json")
        found = ran.data
        assert (found["changes"], found["not_compared"]) == ([], lacking)
    text = seatrial("facts", "n1,n2", "--from", cluster, "--since", str(one)).out
    assert "Not compared with the earlier reading, which does not have them: n2" in text


def test_of_two_recordings_of_a_cluster_a_node_that_went_is_a_change(seatrial: Seatrial, tmp_path: Path) -> None:
    then, now = (write_cluster(tmp_path / name) for name in ("then", "now"))
    (now / "n4.facts").unlink()
    found = seatrial("facts", "--from", str(now), "--since", str(then), "--json").data
    assert [(each["fact"], each["nodes"], each["after"]) for each in found["changes"]] == [("node", ["n4"], None)]


def test_what_was_not_read_at_the_time_is_not_a_change(seatrial: Seatrial, tmp_path: Path) -> None:
    then, now = (write_cluster(tmp_path / name) for name in ("then", "now"))
    for folder, lines in (
        (then, "@absent /proc/vmstat|no such file\n@absent /proc/sys/kernel/osrelease|empty or not readable\n"),
        (now, "@value /proc/sys/kernel/osrelease|5.14.0\n"),
    ):
        for path in folder.glob("*.facts"):
            path.write_text(path.read_text().replace("#end", f"{lines}#end"))
    for pair in ((then, now), (now, then)):
        found = seatrial("facts", "--from", str(pair[1]), "--since", str(pair[0]), "--json").data
        assert found["changes"] == []


def test_equal_names_of_two_clusters_are_different_machines(tmp_path: Path) -> None:
    made = Cluster(nodes=names(2))
    folder = record(made, tmp_path / "archive", "old", sail(made))
    earlier = facts_reading.read_earlier(str(folder), tmp_path)
    read = msgspec.structs.replace(earlier, cluster="another")
    with pytest.raises(UsageError, match="of the cluster test, and these are of another"):
        look_for_drift(read, earlier, None)
    assert look_for_drift(earlier, earlier, None).changes == ()
