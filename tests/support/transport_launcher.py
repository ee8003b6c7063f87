"""A launcher whose MPI chooses OFI, and runs of `seatrial link --transports` over it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from seatrial.commands.link.transports import run
from seatrial.commands.link.transports.ablation import bytes_of
from seatrial.commands.link.transports.judge import Transports, TransportsByRail
from seatrial.launch.contract import PLAIN, FactsReading, StartManner
from seatrial.model.errors import LaunchError, ProbeLost
from seatrial.model.measurement import Kernel, Measurement, Round
from seatrial.model.settings import SiteSettings, TransportsSettings
from tests.support.builders import Cluster
from tests.support.launchers import use_launcher
from tests.support.paths import DATA
from tests.support.rail_cluster import INCLUDE, Railed
from tests.support.scripted import ScriptedLauncher, ScriptedSession

LOG = (DATA / "transports" / "openmpi-cm.err").read_text()
ABSENT = {"ucx", "psm2", "openib,self"}
"""What cannot be forced: values of pml, mtl and btl."""
RAILS = ("eth0", "eth1")


class Session(ScriptedSession):
    """Eight times slower where OFI is hobbled; lost where the test says so."""

    def __init__(self, launcher: "Launcher", nodes: Sequence[str], environment: dict[str, str]) -> None:
        super().__init__(launcher, nodes)
        self._slow = 8.0 if "OMPI_MCA_mtl_ofi_provider_include" in environment else 1.0
        self._of = launcher
        self._rail = environment.get(INCLUDE, RAILS[0])

    def measure(self, wanted: Round, timeout_s: float) -> Iterator[Measurement]:
        lost = self._of.losses.get(wanted.variant, [])
        if lost and (how := lost.pop(0)) is not None:
            raise how
        strays = self._of.strays
        self._of.sent[strays.get(wanted.variant) or strays.get(self._rail, self._rail)] += bytes_of(wanted)
        self._of.asked.append(wanted)
        for one in super().measure(msgspec.structs.replace(wanted, variant=self._rail), timeout_s):
            slow = self._slow * self._of.late.get(wanted.variant, 1.0)
            factor = slow if one.shape.kernel is Kernel.PINGPONG else 1.0
            times = tuple(time_s * factor for time_s in one.times_s)
            yield msgspec.structs.replace(one, times_s=times, variant=wanted.variant)


class Launcher(ScriptedLauncher):
    """OFI by default; what is absent cannot be forced; each interface counts what is sent over it.

    `losses`: by variant, how its first rounds end, None: well. `strays`: rail, or variant -> the rail taken instead.
    `late`: factors on the latency, by variant. `unstartable`: a rail over which no probe starts.
    """

    def __init__(
        self,
        cluster: Cluster | None = None,
        *,
        losses: dict[str, list[ProbeLost | None]] | None = None,
        strays: dict[str, str] | None = None,
        late: dict[str, float] | None = None,
        unstartable: str = "",
        **trouble: Any,
    ) -> None:
        super().__init__(cluster or Cluster(nodes=("n1", "n2")), **trouble)
        self.losses = losses or {}
        self.strays = strays or {}
        self.late = late or {}
        self.unstartable = unstartable
        self.asked: list[Round] = []
        self.sent = dict.fromkeys(RAILS, 0)

    def read_facts(self, nodes: Sequence[str]) -> FactsReading:
        rows = "".join(f"|{rail}: 0 0 0 0 0 0 0 0 {count} 0\n" for rail, count in self.sent.items())
        counted = f"@file /proc/net/dev\n{rows}@end\n#end"
        whole = super().read_facts(nodes)
        return FactsReading(
            texts={node: text.replace("#end", counted, 1) for node, text in whole.texts.items()}, silent=whole.silent
        )

    def start(self, nodes: Sequence[str], log: Path, manner: StartManner = PLAIN) -> ScriptedSession:
        log.write_text(LOG)
        super().start(nodes, log, manner)
        if ABSENT & set(manner.environment.values()):
            raise LaunchError("The probe did not start on 2 ranks: no device.", "Take another.")
        if self.unstartable and manner.environment.get(INCLUDE) == self.unstartable:
            raise LaunchError("The probe did not start on 2 ranks: no route to host.", "See the rail.")
        return Session(self, nodes, manner.environment)


def two_rails(**trouble: Any) -> Launcher:
    """Nodes with eth0 and eth1."""
    return Launcher(Railed(nodes=("n1", "n2")), **trouble)


def carry_out(launcher: Launcher, folder: Path, *, budget_s: float = 600, **changes: Any) -> run.TransportsRun:
    """The whole run, of three starts."""
    use_launcher(launcher)
    site = SiteSettings(archive=folder, run="t", budget_s=budget_s)
    settings = TransportsSettings(site=site, **{"starts": 3, **changes})
    return run.run_transports(settings)


def plain(outcome: run.TransportsRun) -> Transports:
    """What was found where the MPI was left the choice."""
    assert isinstance(outcome.result, Transports)
    return outcome.result


def by_rail(outcome: run.TransportsRun) -> TransportsByRail:
    """What was found over each rail."""
    assert isinstance(outcome.result, TransportsByRail)
    return outcome.result
