"""The ablation driven against a scripted launcher whose default is OFI."""

import itertools
import re
from pathlib import Path

import pytest

from seatrial.archive.reader import read_run
from seatrial.commands.link.transports import run
from seatrial.commands.link.transports.view import headline
from seatrial.model.errors import ProbeLost, SeatrialError, UsageError
from seatrial.model.measurement import Phase
from seatrial.model.subject import node
from seatrial.model.transport import Carrier
from seatrial.model.verdict import FindingKind, Verdict
from tests.support.clocks import use_clock
from tests.support.reports import transports_json, transports_page, transports_text
from tests.support.transport_launcher import Launcher, carry_out, plain

HANGS = ProbeLost("The probe did not answer in time.", "timeout")


def test_the_default_is_proved_and_the_absent_is_invalid(tmp_path: Path) -> None:
    launcher = Launcher()
    outcome = carry_out(launcher, tmp_path)
    found = plain(outcome)
    assert (found.verdict, found.carried_by, found.complete) == (Verdict.PASS, Carrier.OFI, True)
    broken = {one.variant.name: one.failure for one in found.effects if one.failure}
    assert set(broken) == {"forced UCX", "forced PSM2", "forced InfiniBand verbs"}
    assert all("no device" in why for why in broken.values())
    assert launcher.closed
    default = next(one for one in found.effects if one.variant.name == "default")
    assert (default.starts, default.devices) == (3, ("eth0",))
    assert len(launcher.manners) == 1 + 3 + 3 * (len(found.effects) - 3)
    assert transports_text(found, width=80).startswith(
        "PASS  n1 to n2: OFI carried the data, and eth0 counted its bytes; declared OFI\n"
    )
    (row,) = [row for row in headline(found).split("; ") if row.startswith("forced, of the default's time: ")]
    assert re.search(r"TCP 1\.0\d, OFI (0\.99|1\.0\d), not .*PSM2", row), row
    assert '"carried_by": "OFI"' in transports_json(outcome.recorded.info, found)
    page = transports_page(outcome.recorded.info, found)
    drawn = [one for one in found.effects if one.latency_times is not None and not one.failure]
    assert page.count('class="value"') >= len(drawn) > 0
    assert page.count('<span class="invalid">INVALID</span>') == 2 * len(broken)
    assert "OFI carried the data" in page and "default-src 'none'" in page


def test_it_is_judged_the_same_from_the_archive(tmp_path: Path) -> None:
    outcome = carry_out(Launcher(), tmp_path)
    again = run.judged_again(outcome.folder)
    assert again.result == outcome.result
    assert {one.variant for one in read_run(outcome.folder).measurements if one.phase is Phase.VARIANT} >= {"default"}


def test_a_variant_that_hangs_costs_itself_alone(tmp_path: Path) -> None:
    found = plain(carry_out(Launcher(losses={"forced TCP": [HANGS]}), tmp_path))
    assert found.carried_by is Carrier.OFI
    (hung,) = (one for one in found.effects if one.variant.name == "forced TCP")
    assert "did not answer in time" in hung.failure


def test_a_default_that_hangs_ends_the_run(tmp_path: Path) -> None:
    found = plain(carry_out(Launcher(losses={"default": [HANGS]}), tmp_path))
    assert found.verdict is Verdict.INVALID
    assert not found.complete


def test_within_a_node_two_ranks_share_it(tmp_path: Path) -> None:
    launcher = Launcher()
    found = plain(carry_out(launcher, tmp_path, within="n1"))
    assert found.pair == ("n1:0", "n1:1")
    assert {one.ranks_per_node for one in launcher.manners} == {2}
    assert set(launcher.starts) == {("n1",)}


def test_a_node_that_is_none_and_two_ways_at_once_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SeatrialError, match="n9 cannot be measured"):
        carry_out(Launcher(), tmp_path, within="n9")
    with pytest.raises(UsageError, match="cannot be given together"):
        carry_out(Launcher(), tmp_path, within="n1", ends=("n1", "n2"))


def test_a_run_of_another_kind_is_refused(tmp_path: Path) -> None:
    folder = carry_out(Launcher(), tmp_path).folder
    info = folder / "run.json"
    info.write_text(info.read_text().replace('"kind": "transports"', '"kind": "curve"'))
    with pytest.raises(SeatrialError, match="not a run of seatrial link --transports, but of seatrial link"):
        run.judged_again(folder)


DIED = ProbeLost("The probe ended.", "died")


def test_a_probe_that_died_once_is_started_again(tmp_path: Path) -> None:
    losses: dict[str, list[ProbeLost | None]] = {"default": [None, DIED], "forced TCP": [DIED, DIED]}
    outcome = carry_out(Launcher(losses=losses), tmp_path)
    found = plain(outcome)
    assert found.carried_by is Carrier.OFI
    assert found.complete
    (tcp,) = (one for one in found.effects if one.variant.name == "forced TCP")
    assert tcp.failure == "The probe ended."
    assert [one.wire_share for one in found.effects if one.variant.name == "default"] == [1.0]
    assert found.notes[0].startswith("A start as default failed and was repeated: The probe ended.")
    assert run.judged_again(outcome.folder).result == found


def test_a_node_that_is_gone_ends_the_run_and_is_named(tmp_path: Path) -> None:
    found = plain(carry_out(Launcher(dies_at={"n2": 20}), tmp_path))
    assert (found.verdict, found.complete) == (Verdict.INCONCLUSIVE, False)
    assert "the default was measured once, and 3 are needed. Nodes that still answer: 1 of 2" in found.reason
    assert "n2: stopped answering in mid-run" in found.reason
    assert not [one for one in found.effects if one.variant.name == "hobbled TCP" and one.failure]
    (finding,) = found.findings
    assert (finding.kind, finding.subject, found.word) == (FindingKind.NODE_DOWN, node("n2"), "DOWN")
    assert not any("stopped answering" in note for note in found.notes)


def test_a_budget_that_is_spent_ends_in_mid_block(tmp_path: Path) -> None:
    launcher = Launcher()
    seconds = itertools.count()
    use_clock(lambda: float(next(seconds)))
    found = plain(carry_out(launcher, tmp_path, budget_s=60))
    assert {one.repetition for one in launcher.asked if one.variant} == {0}
    assert len(found.effects) < 12
    assert "The budget of 60 s was spent in block 1 of 3" in found.reason
    assert not found.complete


def test_what_was_interrupted_before_the_first_start_is_told(tmp_path: Path) -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    outcome = carry_out(Launcher(on_round=interrupt), tmp_path)
    found = plain(outcome)
    assert found.reason == "seatrial link --transports was interrupted before it measured anything"
    assert found.notes[0].startswith("Interrupted")
    assert run.judged_again(outcome.folder).result == found
