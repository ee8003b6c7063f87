"""Verdicts on runs of known truth."""

import msgspec
import pytest

from seatrial.commands.link.transports.effects import times_text
from seatrial.model.errors import ExitCode
from seatrial.model.transport import Carrier, Declared
from seatrial.model.verdict import FindingKind, Verdict
from tests.support.transport_series import OFI, STOCK, judged

SLOW_OFI = {"hobbled OFI": (8.0, 1.2)}
TCP = Declared(carriers=(Carrier.TCP,), words=("pml ob1", "btl tcp"))
WITHIN = msgspec.structs.replace(STOCK, within=True)
SHARED = Declared(carriers=(Carrier.SHARED_MEMORY,), words=("pml ob1", "btl vader"))


def test_what_becomes_slower_when_it_is_slowed_carried_the_data() -> None:
    found = judged(SLOW_OFI)
    assert (found.verdict, found.carried_by, found.exit_code) == (Verdict.PASS, Carrier.OFI, ExitCode.PASS)
    assert found.reason.startswith("OFI carried the data, and eth0 counted its bytes; declared OFI; slowing it raises")
    assert found.reason.endswith("latency from 10.0 µs to 80.2 µs")
    others = {one.carrier: (one.carried, one.statement) for one in found.carriers}
    assert others[Carrier.TCP] == (False, "slowing it changed nothing")
    assert found.findings == ()


@pytest.mark.parametrize("seed", range(20))
def test_the_control_shows_nothing_where_starts_differ_by_a_tenth(seed: int) -> None:
    found = judged(SLOW_OFI, noise=0.1, seed=seed)
    assert found.carried_by is Carrier.OFI
    assert found.findings == ()


def test_ofi_is_hobbled_in_latency_and_others_in_bandwidth() -> None:
    assert judged({"hobbled OFI": (1.0, 8.0)}).carried_by is None
    assert judged({"hobbled TCP": (8.0, 1.0)}).carried_by is None


def test_the_experiment_is_believed_and_not_the_declaration() -> None:
    found = judged({"hobbled TCP": (1.2, 5.0)}, declared=OFI)
    assert found.carried_by is Carrier.TCP
    said = {one.carrier: one for one in found.carriers}
    assert said[Carrier.OFI].carried is False
    assert found.reason.startswith("TCP carried the data, and eth0 counted its bytes; declared OFI; ")


def test_a_transport_as_fast_as_the_alternative_is_not_proved_by_its_absence() -> None:
    found = judged({}, declared=OFI)
    assert (found.verdict, found.carried_by) == (Verdict.INCONCLUSIVE, None)
    assert "not proved; OFI: slowing it changed nothing" in found.reason
    assert found.exit_code is ExitCode.INCOMPLETE


def test_more_bytes_on_the_wire_prove_it_where_timing_is_lost_in_noise() -> None:
    found = judged({}, noise=1.0, devices={"hobbled OFI": {"eth0": 1.1}})
    assert found.carried_by is Carrier.OFI


def test_bytes_that_move_to_another_device_prove_it() -> None:
    devices = {"": {"lo": 0.001}, "without shared memory": {"lo": 1.002}, "forced TCP": {"lo": 1.002}}
    found = judged({}, pair=("n1:0", "n1:1"), declared=SHARED, stock=WITHIN, devices=devices)
    assert found.within
    assert found.carried_by is Carrier.SHARED_MEMORY
    assert "moves the bytes from no device that counts to lo" in found.reason
    assert found.reason.partition("; ")[0].endswith("and no device counted its bytes")


def test_counters_that_say_otherwise_leave_it_open() -> None:
    devices = {"": {"eth0": 1.0}}
    found = judged({"hobbled shared memory": (1, 6)}, pair=("n1:0", "n1:1"), stock=WITHIN, devices=devices)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "yet eth0 counted the bytes" in found.reason


def test_a_control_that_shows_an_effect_spoils_the_run() -> None:
    found = judged({**SLOW_OFI, "control": (1.5, 1.3)})
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "disturbed" in found.reason


def test_a_control_that_does_not_start_spoils_it_too() -> None:
    assert judged(SLOW_OFI, failures={"control": "no such thing"}).verdict is Verdict.INCONCLUSIVE


def test_two_that_show_an_effect_leave_it_open() -> None:
    found = judged({**SLOW_OFI, "hobbled TCP": (1, 4)})
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "OFI: " in found.reason
    assert "TCP: " in found.reason


def test_a_variant_that_does_not_start_is_invalid_and_proves_nothing() -> None:
    failures = {"without TCP": "ob1 has no transport", "hobbled TCP": "ob1 has no transport"}
    found = judged({}, declared=TCP, failures=failures)
    assert found.verdict is Verdict.INCONCLUSIVE
    (tcp,) = (one for one in found.carriers if one.carrier is Carrier.TCP)
    assert tcp.carried is None
    assert "proves nothing: ob1 has no transport" in tcp.statement


def test_a_forced_device_that_is_not_there_is_invalid_with_the_reason() -> None:
    found = judged(SLOW_OFI, failures={"forced InfiniBand verbs": "no device"})
    (forced,) = (one for one in found.effects if one.variant.name == "forced InfiniBand verbs")
    assert (forced.failure, forced.starts, forced.latency_times) == ("no device", 0, None)
    assert found.carried_by is Carrier.OFI


def test_a_default_faster_than_physics_is_invalid() -> None:
    found = judged(dict.fromkeys(("default", "control", "forced TCP"), (1.0, 0.1)))
    assert found.verdict is Verdict.INVALID
    assert "more than physics permits" in found.reason
    assert found.findings == ()


def test_memory_of_one_kernel_has_no_limit_of_the_network() -> None:
    found = judged({"default": (1.0, 0.1)}, devices={"": {"eth0": 0.0}}, boot_id="one")
    assert found.verdict is not Verdict.INVALID


@pytest.mark.parametrize(("late", "found"), [(0.6, True), (0.97, False), (1.0, False), (1.5, False)])
def test_slower_than_alternative_if_and_only_if_the_interval_says_so(late: float, found: bool) -> None:
    kinds = [one.kind for one in judged({**SLOW_OFI, "forced TCP": (late, 1.0)}).findings]
    assert kinds == ([FindingKind.SLOWER_THAN_ALTERNATIVE] if found else [])


def test_a_gain_that_noise_could_be_is_no_finding() -> None:
    assert judged({**SLOW_OFI, "forced TCP": (0.7, 1.0)}, noise=0.5).findings == ()


def test_the_finding_prints_the_setting_and_what_it_costs() -> None:
    result = judged({**SLOW_OFI, "forced TCP": (0.5, 1.4)})
    (finding,) = result.findings
    assert "export OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self" in finding.remedy
    assert "pml = ob1; btl = tcp,self" in finding.remedy
    assert "slower by another metric" in finding.statement
    assert result.exit_code is ExitCode.FINDINGS


def test_two_starts_are_not_enough_to_be_complete() -> None:
    assert not judged(SLOW_OFI, blocks=2).complete


def test_ofi_that_is_taken_only_for_the_slow_provider_is_not_proved() -> None:
    """Open MPI 5.0 on one machine: ob1 by default, and cm with OFI once the provider sockets is named."""
    found = judged({"hobbled OFI": (8.0, 5.0), "hobbled TCP": (1.2, 5.0)}, declared=TCP)
    assert (found.verdict, found.carried_by) == (Verdict.PASS, Carrier.TCP)
    (ofi,) = [one for one in found.carriers if one.carrier is Carrier.OFI]
    assert ofi.carried is None and "makes the MPI select it" in ofi.statement


def test_an_interval_without_an_end_is_told_in_few_letters() -> None:
    assert [times_text(one) for one in (1e-39, 0.004, 43.0, 9999.0, 26123032496491491845888.0)] == [
        "1e-39", "0.004", "43.00", "9999", "3e+22",
    ]  # fmt: skip
