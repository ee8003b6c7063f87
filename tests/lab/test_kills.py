"""The campaign's short form: one process of each of a few kinds is killed, and nothing delivered is lost."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.lab.cluster.plan import LabPlan
from tests.campaign import torn
from tests.campaign.lane import Lane
from tests.campaign.trial import Campaign
from tests.campaign.victims import Kind
from tests.campaign.witness import lines_written

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def campaign(standing_lab4: LabPlan, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Campaign]:
    lane = Lane(plan=standing_lab4, nodes=standing_lab4.node_names[:3])
    yield Campaign(lane, tmp_path_factory.mktemp("campaign"), seed=11)


@pytest.mark.parametrize("kind", [Kind.DRIVER, Kind.CLOSING, Kind.SRUN, Kind.RECOVER])
def test_a_kill_loses_nothing_that_was_delivered(lab4: LabPlan, campaign: Campaign, kind: Kind) -> None:
    outcome = campaign.trial(list(Kind).index(kind), kind)
    assert outcome.faults == [], outcome.line()


@pytest.mark.skipif(not torn.possible(), reason="needs /dev/fuse and Debian's python3-fusepy")
def test_a_line_cut_in_mid_write_costs_only_itself(lab4: LabPlan, tmp_path: Path, campaign: Campaign) -> None:
    outcome = torn.slow_disk(campaign.lane, tmp_path / "slow", 1, campaign.draw)
    assert outcome.torn == 1, outcome.line()
    assert outcome.faults == [], outcome.line()


def test_the_witness_counts_whole_lines_whose_write_returned() -> None:
    trace = (
        'write(5</a/run.partial/journal.jsonl>, "{\\"entry\\":1}\\n", 12) = 12\n'
        'write(5</a/run.partial/journal.jsonl>, "{\\"entry\\":2}\\n", 12) = 7\n'
        'write(6</a/run.partial/run.json.new>, "{\\"entry\\":3}\\n", 12) = 12\n'
        'write(5</a/run.partial/journal.jsonl>, "{\\"entry\\":4}\\n", 12) = ? <unavailable>\n'
    )
    assert lines_written(trace) == [b'{"entry":1}\n']
