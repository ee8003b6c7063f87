"""What run.json says of a run when it starts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from seatrial.archive.reader import read_info
from seatrial.driver.clock import new_run_name, now_text
from seatrial.driver.settings import CheckSettings
from seatrial.driver.site import environment_of
from seatrial.launch.contract import Hosts, Launcher
from seatrial.model import formats
from seatrial.model.run import RunInfo, RunKind

if TYPE_CHECKING:
    pass


def describe(
    settings: CheckSettings, launcher: Launcher, hosts: Hosts, nodes: Sequence[str], kind: RunKind = RunKind.CHECK
) -> RunInfo:
    """run.json as it is at the start."""
    from seatrial import __version__

    seed = read_info(settings.replay).seed if settings.replay else settings.seed
    environment = environment_of(settings, local=launcher.name == "local")
    return RunInfo(
        format=formats.RUN,
        run=settings.run or new_run_name(kind.value),
        kind=kind,
        seatrial=__version__,
        command=settings.command,
        started=now_text(),
        launcher=launcher.name,
        cluster=hosts.cluster,
        nodes=tuple(nodes),
        fabric=hosts.fabric,
        features={node: hosts.features[node] for node in nodes if node in hosts.features},
        lost=hosts.left_out,
        seed=seed,
        environment=environment.spec,
        wrap=environment.where.value if environment else "",
        effect=settings.effect,
        latency_effect=settings.latency_effect,
    )
