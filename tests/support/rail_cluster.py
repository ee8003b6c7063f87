"""Synthetic nodes with two rails, whose truth is known."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from seatrial.launch.contract import PLAIN, StartManner
from seatrial.model.errors import JobOver, LaunchError
from seatrial.model.measurement import Kernel, Measurement, Round
from tests.support.builders import HEALTHY, Cluster
from tests.support.scripted import Pair, ScriptedLauncher, ScriptedSession

INCLUDE = "OMPI_MCA_btl_tcp_if_include"


@dataclass(frozen=True, kw_only=True)
class Railed(Cluster):
    """Each rail carries its share of `HEALTHY`; messages over both are split evenly, so the slowest sets the pace."""

    shares: Mapping[str, float] = field(default_factory=lambda: {"eth0": 1.0, "eth1": 1.0})
    ends: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """The share that is left of one node's rail, by (node, rail)."""
    slower: Mapping[str, float] = field(default_factory=dict)
    """Factor on a rail's latency."""
    striping: bool = True
    """False: over several rails no more than the first is used."""
    deaf: bool = False
    """The MPI heeds no setting and uses all rails."""
    down: str = ""
    """A rail that the facts of the last node show as down."""
    wobble: float = 0.0
    """Spread of a run's own pace."""

    def _measurement(self, wanted: Round, pair: Pair, draw: random.Random) -> Measurement:
        pace = draw.gauss(1.0, self.wobble) if self.wobble else 1.0
        one = super()._measurement(wanted, pair, draw)
        times = tuple(time * pace for time in one.times_s)
        return msgspec.structs.replace(one, variant=wanted.variant, times_s=times)

    def _times(self, wanted: Round, pair: Pair, draw: random.Random) -> list[float]:
        rails = wanted.variant.split("+") if wanted.variant and not self.deaf else list(self.shares)
        used = rails if self.striping else rails[:1]
        worst = min(self.shares[rail] * self.ends.get((node, rail), 1.0) for rail in used for node in pair)
        rate = HEALTHY * len(used) * worst
        shape = wanted.shape
        usual = 20e-6 + shape.window * shape.message_bytes / rate
        if shape.kernel is Kernel.PINGPONG:
            late = max(self.slower.get(rail, 1.0) for rail in used)
            usual = 2 * (20e-6 * late + shape.message_bytes / rate)
        return [usual * draw.gauss(1.0, 0.003) for _ in range(shape.iterations)]

    def facts_text(self, node: str) -> str:
        host = quote(node)
        lines = [
            f"#seatrial-facts 1 {host}",
            f"@value /proc/sys/kernel/random/boot_id|boot-of-{host}",
            f"@list /sys/class/net/*|{' '.join(self.shares)}",
        ]
        for rail in self.shares:
            here = f"/sys/class/net/{rail}"
            state = "down" if rail == self.down and node == self.nodes[-1] else "up"
            speed = -1 if self.megabits is None else self.megabits
            lines += [f"@value {here}/type|1", f"@value {here}/operstate|{state}", f"@value {here}/mtu|1500"]
            lines.append(f"@value {here}/speed|{speed}")
        return "\n".join([*lines, f"#end {host}", ""])


class RailedLauncher(ScriptedLauncher):
    """`unstartable`: a rail over which alone no probe starts; `silent_over`: one over which none answers.

    `over_after`: the number of starts after which the job is over; 0: never.
    """

    def __init__(
        self, cluster: Railed, *, unstartable: str = "", silent_over: str = "", over_after: int = 0, **trouble: Any
    ) -> None:
        super().__init__(cluster, **trouble)
        self.over_after = over_after
        self.unstartable = unstartable
        self.silent_over = silent_over

    def start(self, nodes: Sequence[str], log: Path, manner: StartManner = PLAIN) -> ScriptedSession:
        if self.over_after and len(self.manners) == self.over_after:
            raise JobOver("Job 7 is over.")
        rails = manner.environment.get(INCLUDE, "")
        deaf = bool(rails) and rails == self.silent_over
        self.hangs = {frozenset((a, b)) for a in nodes for b in nodes if a != b} if deaf else set()
        if rails and rails == self.unstartable:
            self.manners.append(manner)
            raise LaunchError("The probe did not start on 2 ranks: no route to host")
        return super().start(nodes, log, manner)
