"""The ablation driven against a scripted launcher whose default is OFI."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from seatrial.archive.reader import read_run
from seatrial.experiment import transports
from seatrial.experiment.settings import CheckSettings
from seatrial.experiment.start_trouble import with_settings
from seatrial.experiment.transports import TransportsSettings, run_transports
from seatrial.launch.contract import PLAIN, FactsReading, LaunchError, Manner, ProbeLost
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.measurement import Kernel, Measurement, Phase, Round
from seatrial.model.system import SoftwareFacts
from seatrial.model.transport import Carrier
from seatrial.model.verdict import Verdict
from seatrial.pairing.ablation import bytes_of
from seatrial.report.transports_json import transports_as_json
from seatrial.report.transports_text import transports_as_text
from tests.unit.builders import Cluster
from tests.unit.facts_examples import cluster
from tests.unit.scripted import ScriptedLauncher, ScriptedSession

LOG = (Path(__file__).parent / "recorded" / "transports" / "openmpi-cm.err").read_text()
ABSENT = {"ucx", "psm2", "openib,self"}
"""What cannot be forced: values of pml, mtl and btl."""


class Session(ScriptedSession):
    """Eight times slower where OFI is hobbled; lost where the test says so."""

    def __init__(self, launcher: "Launcher", nodes: Sequence[str], environment: dict[str, str]) -> None:
        super().__init__(launcher, nodes)
        self._slow = 8.0 if "OMPI_MCA_mtl_ofi_provider_include" in environment else 1.0
        self._of = launcher

    def measure(self, wanted: Round, timeout_s: float) -> Iterator[Measurement]:
        if self._of.lost_in and wanted.variant == self._of.lost_in:
            raise ProbeLost("The probe did not answer in time.", "timeout")
        self._of.sent += bytes_of(wanted)
        for one in super().measure(wanted, timeout_s):
            factor = self._slow if one.shape.kernel is Kernel.PINGPONG else 1.0
            times = tuple(time_s * factor for time_s in one.times_s)
            yield msgspec.structs.replace(one, times_s=times, variant=wanted.variant)


class Launcher(ScriptedLauncher):
    """OFI by default; what is absent cannot be forced; eth0 counts what is sent."""

    def __init__(self, *, lost_in: str = "") -> None:
        super().__init__(Cluster(nodes=("n1", "n2")))
        self.lost_in = lost_in
        self.sent = 0

    def read_facts(self, nodes: Sequence[str]) -> FactsReading:
        counted = f"@file /proc/net/dev\n|eth0: 0 0 0 0 0 0 0 0 {self.sent} 0\n@end\n#end"
        whole = super().read_facts(nodes)
        return FactsReading(
            texts={node: text.replace("#end", counted, 1) for node, text in whole.texts.items()}, silent=whole.silent
        )

    def start(self, nodes: Sequence[str], log: Path, manner: Manner = PLAIN) -> ScriptedSession:
        log.write_text(LOG)
        self.starts.append(tuple(nodes))
        self.manners.append(manner)
        if ABSENT & set(manner.environment.values()):
            raise LaunchError("The probe did not start on 2 ranks: no device.", "Take another.")
        return Session(self, nodes, manner.environment)


def carry_out(
    launcher: Launcher, monkeypatch: pytest.MonkeyPatch, folder: Path, **changes: Any
) -> transports.TransportsOutcome:
    monkeypatch.setattr(transports, "choose_launcher", lambda _: launcher)
    settings = TransportsSettings(site=CheckSettings(archive=folder, run="t"), starts=3, **changes)
    return run_transports(settings)


def test_the_default_is_proved_and_the_absent_is_invalid(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    launcher = Launcher()
    outcome = carry_out(launcher, monkeypatch, tmp_path)
    found = outcome.found
    assert (found.verdict, found.carried_by, found.complete) == (Verdict.PASS, Carrier.OFI, True)
    broken = {one.variant.name: one.failure for one in found.effects if one.failure}
    assert set(broken) == {"forced UCX", "forced PSM2", "forced InfiniBand verbs"}
    assert all("no device" in why for why in broken.values())
    assert launcher.closed
    default = next(one for one in found.effects if one.variant.name == "default")
    assert (default.starts, default.devices) == (3, ("eth0",))
    assert len(launcher.manners) == 1 + 3 + 3 * (len(found.effects) - 3)
    assert transports_as_text(found, width=80).startswith("PASS  n1 to n2: declared OFI; slowing it raises")
    assert '"carried_by": "OFI"' in transports_as_json(outcome.run, found)


def test_it_is_judged_the_same_from_the_archive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    outcome = carry_out(Launcher(), monkeypatch, tmp_path)
    again = transports.judged_again(outcome.folder)
    assert again.found == outcome.found
    assert {one.variant for one in read_run(outcome.folder).measurements if one.phase is Phase.VARIANT} >= {"default"}


def test_a_variant_that_hangs_costs_itself_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = carry_out(Launcher(lost_in="forced TCP"), monkeypatch, tmp_path).found
    assert found.carried_by is Carrier.OFI
    (hung,) = (one for one in found.effects if one.variant.name == "forced TCP")
    assert "did not answer in time" in hung.failure


def test_a_default_that_hangs_ends_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = carry_out(Launcher(lost_in="default"), monkeypatch, tmp_path).found
    assert found.verdict is Verdict.INVALID
    assert not found.complete


def test_within_a_node_two_ranks_share_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    launcher = Launcher()
    found = carry_out(launcher, monkeypatch, tmp_path, within="n1").found
    assert found.pair == ("n1:0", "n1:1")
    assert {one.ranks_per_node for one in launcher.manners} == {2}
    assert set(launcher.starts) == {("n1",)}


def test_a_node_that_is_none_and_two_ways_at_once_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(SeatrialError, match="n9 cannot be measured"):
        carry_out(Launcher(), monkeypatch, tmp_path, within="n9")
    with pytest.raises(UsageError, match="cannot be given together"):
        carry_out(Launcher(), monkeypatch, tmp_path, within="n1", ends=("n1", "n2"))


def test_a_run_of_another_kind_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = carry_out(Launcher(), monkeypatch, tmp_path).folder
    journal = folder / "journal.jsonl"
    kept = [line for line in journal.read_bytes().splitlines(keepends=True) if b'"note"' not in line]
    journal.write_bytes(b"".join(kept))
    with pytest.raises(SeatrialError, match="none of `seatrial transports`"):
        transports.judged_again(folder)


def test_an_error_at_the_start_names_the_node_whose_settings_differ() -> None:
    facts = cluster(
        every={"software": SoftwareFacts(mpi_settings={"pml": "ob1"})},
        odd={"software": SoftwareFacts(mpi_settings={"pml": "cm"})},
    )
    error = with_settings(LaunchError("The probe did not start."), facts)
    assert "did not start. Node n2: its MPI setting pml is cm, where most of its peers have ob1." in error.what
    assert "openmpi-mca-params.conf" in error.remedy
    same = LaunchError("The probe did not start.")
    assert with_settings(same, cluster()) is same
