"""The ablation for each rail apart, against a scripted launcher."""

from pathlib import Path

import pytest

from seatrial.commands.link.transports import run
from seatrial.commands.link.transports.carriers import strayed
from seatrial.model.errors import ExitCode, ProbeLost, SeatrialError, UsageError
from seatrial.model.transport import Carrier, Counted, Role, Variant, VariantNote
from seatrial.model.verdict import Verdict
from tests.support import scripted
from tests.support.json_objects import parsed
from tests.support.reports import transports_json, transports_page, transports_text
from tests.support.transport_launcher import Launcher, by_rail, carry_out, two_rails

HANGS = ProbeLost("The probe did not answer in time.", "timeout")


def test_each_rail_has_its_own_verdict(tmp_path: Path) -> None:
    launcher = two_rails()
    outcome = carry_out(launcher, tmp_path, rails=())
    found = by_rail(outcome)
    assert (found.verdict, found.exit_code) == (Verdict.PASS, ExitCode.PASS)
    assert found.reason == "eth0: OFI carried the data; eth1: OFI carried the data"
    assert [(one.rail, one.carried_by) for one in found.rails] == [("eth0", Carrier.OFI), ("eth1", Carrier.OFI)]
    assert found.rails[1].reason.partition("; ")[0].endswith("and eth1 counted its bytes")
    assert found.rails[1].held["FI_NET_IFACE"] == "eth1"
    assert launcher.sent["eth0"] == launcher.sent["eth1"] > 0


def test_it_is_judged_the_same_from_the_archive(tmp_path: Path) -> None:
    outcome = carry_out(two_rails(), tmp_path, rails=("eth1", "eth0"))
    assert run.judged_again(outcome.folder).result == outcome.result
    assert [one.rail for one in by_rail(outcome).rails] == ["eth1", "eth0"]


def test_rails_take_turns_within_each_block(tmp_path: Path) -> None:
    launcher = two_rails()
    carry_out(launcher, tmp_path, rails=())
    seen = [(one.repetition, one.variant.rpartition(" ")[2]) for one in launcher.asked if one.variant]
    assert list(dict.fromkeys(seen)) == [(0, "eth0"), (0, "eth1"), (1, "eth1"), (1, "eth0"), (2, "eth0"), (2, "eth1")]


def test_a_setting_that_is_not_obeyed_is_no_proof(tmp_path: Path) -> None:
    found = by_rail(carry_out(two_rails(strays={"eth0": "eth1"}), tmp_path, rails=()))
    assert [one.verdict for one in found.rails] == [Verdict.INVALID, Verdict.PASS]
    assert found.rails[0].carried_by is None
    assert (found.verdict, found.exit_code) == (Verdict.INVALID, ExitCode.INCOMPLETE)
    assert "the setting did not restrict the MPI to eth0: eth1 counted 100 % of the bytes, eth0 0 %" in found.reason


def test_a_rail_over_which_nothing_starts_costs_itself_alone(tmp_path: Path) -> None:
    found = by_rail(carry_out(two_rails(unstartable="eth1"), tmp_path, rails=()))
    assert [one.verdict for one in found.rails] == [Verdict.PASS, Verdict.INVALID]
    assert "eth1: the default did not run: The probe did not start on 2 ranks: no route to host" in found.reason
    assert not found.complete


def test_a_default_that_hangs_costs_its_rail_alone(tmp_path: Path) -> None:
    launcher = two_rails(losses={"default over eth0": [HANGS]})
    found = by_rail(carry_out(launcher, tmp_path, rails=()))
    assert [one.carried_by for one in found.rails] == [None, Carrier.OFI]
    assert not [one for one in launcher.asked if one.variant.endswith("over eth0") and one.repetition > 0]


def test_an_alternative_is_found_on_the_rail_on_which_it_is_one(tmp_path: Path) -> None:
    found = by_rail(carry_out(two_rails(late={"forced TCP over eth1": 0.5}), tmp_path, rails=()))
    (finding,) = found.findings
    assert "TCP (pml=ob1 btl=tcp,self) beats the default over eth1: latency" in finding.statement
    assert finding.remedy.startswith("For a job: export OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self.")
    assert (found.verdict, found.exit_code) == (Verdict.PASS, ExitCode.FINDINGS)
    assert found.rails[0].findings == ()


def test_what_leaves_the_rail_is_no_alternative_on_it(tmp_path: Path) -> None:
    name = "forced TCP over eth1"
    launcher = two_rails(late={name: 0.5}, strays={name: "eth0"})
    found = by_rail(carry_out(launcher, tmp_path, rails=()))
    assert (found.findings, found.exit_code) == ((), ExitCode.PASS)


def test_what_cut_the_run_off_is_told_once(tmp_path: Path) -> None:
    found = by_rail(carry_out(two_rails(dies_at={"n2": 60}), tmp_path, rails=()))
    assert (found.verdict, found.complete) == (Verdict.INCONCLUSIVE, False)
    assert found.reason.startswith("eth0: the default was measured once, and 3 are needed; eth1: ")
    assert transports_text(found, width=400).count("n2: stopped answering in mid-run") == 1


def test_it_is_told_rail_by_rail(tmp_path: Path) -> None:
    outcome = carry_out(two_rails(), tmp_path, rails=())
    text = transports_text(outcome.result, width=120)
    assert text.startswith("PASS  n1 to n2, each rail alone: eth0: OFI carried the data\neth1: OFI carried the data")
    assert "\neth1  PASS: OFI carried the data, " in text
    assert "held by" in text
    assert "hobbled OFI over" not in text
    told = parsed(transports_json(outcome.recorded.info, outcome.result))
    assert [(one["rail"], one["verdict"], one["carried_by"]) for one in told["rails"]] == [
        ("eth0", "PASS", "OFI"),
        ("eth1", "PASS", "OFI"),
    ]
    assert (told["verdict"], told["exit_code"], told["source"], told["findings"]) == ("PASS", 0, "n1", [])
    page = transports_page(outcome.recorded.info, outcome.result)
    assert page.index("<h2>Rail eth0: PASS</h2>") < page.index("<h2>Rail eth1: PASS</h2>")


def test_within_a_node_there_are_no_rails(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no rails between them"):
        carry_out(two_rails(), tmp_path, rails=(), within="n1")


def test_nodes_of_one_rail_have_none_to_compare(tmp_path: Path) -> None:
    with pytest.raises(SeatrialError, match="fewer than two rails"):
        carry_out(Launcher(), tmp_path, rails=())


def test_an_mpi_that_cannot_be_held_to_a_rail_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(scripted, "HEADER", {"mpi_library": "NovelMPI 1"})
    with pytest.raises(SeatrialError, match="How NovelMPI 1 is limited to one Ethernet rail is not known"):
        carry_out(two_rails(), tmp_path, rails=())


@pytest.mark.parametrize(
    ("counted", "verdict", "said"),
    [
        ({("n1", "eth1"): 101, ("n2", "eth1"): 100}, None, ""),
        ({("n1", "eth1"): 100, ("n2", "eth1"): 100, ("n2", "eth0"): 40}, None, ""),
        ({("n1", "eth1"): 50, ("n1", "eth0"): 50}, Verdict.INVALID, "eth0 counted 50 % of the bytes, eth1 50 %"),
        ({("n1", "eth1"): 100, ("n2", "eth0"): 100}, Verdict.INVALID, "eth0 counted 100 % of the bytes, eth1 0"),
        ({("n1", "eth1"): 0, ("n1", "eth0"): 1}, Verdict.INCONCLUSIVE, "no other device the rest"),
        ({("n1", "eth0"): 1}, Verdict.INCONCLUSIVE, "it has no byte counter"),
        ({}, Verdict.INCONCLUSIVE, "could not be read"),
    ],
)
def test_the_counters_of_both_nodes_bear_witness(
    counted: dict[tuple[str, str], int], verdict: Verdict | None, said: str
) -> None:
    note = VariantNote(
        variant=Variant(name="default over eth1", role=Role.DEFAULT, rail="eth1"),
        block=0,
        sent_bytes=100,
        counted=tuple(
            Counted(node=node, device=device, counted_bytes=count) for (node, device), count in counted.items()
        ),
    )
    found = strayed("eth1", [note])
    assert (found and found.verdict) is verdict
    assert found is None or said in found.reason


def test_a_port_counts_under_its_own_name() -> None:
    note = VariantNote(
        variant=Variant(name="default over mlx5_0:1", role=Role.DEFAULT, rail="mlx5_0:1"),
        block=0,
        sent_bytes=100,
        counted=(Counted(node="n1", device="mlx5_0/1", counted_bytes=100),),
    )
    assert strayed("mlx5_0:1", [note]) is None
