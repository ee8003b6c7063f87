"""An archive with healthy runs and runs after a change, as tests of comparisons need it, and runs that are cut off."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from seatrial.archive import layout
from seatrial.archive.journal import GroupDelivered
from seatrial.archive.writer import RunWriter, ended
from seatrial.model.run import Ending, RecordedRun
from tests.support.builders import Cluster, fill, info_of, names, record, sail, slow_part

MTU = "/sys/class/net/eth0/mtu|"


@dataclass(frozen=True, kw_only=True)
class ChangedCluster(Cluster):
    """A cluster some of whose nodes have another MTU."""

    mtu_of: Mapping[str, int] = field(default_factory=dict)

    def facts_text(self, node: str) -> str:
        text = super().facts_text(node)
        return text.replace(f"{MTU}1500", f"{MTU}{self.mtu_of.get(node, 1500)}")


def healthy_run(archive: Path, number: int, nodes: int = 5, **changes: Any) -> Path:
    """Run h1, h2, ... of the first days of November."""
    cluster = Cluster(nodes=names(nodes), seed=number)
    return record(cluster, archive, f"h{number}", **_dated(number, 1), **changes)


def slow_run(archive: Path, number: int, nodes: int = 5, share: float = 0.8) -> Path:
    """Run s1, s2, ... of later days: n3 has a small MTU and is slow."""
    cluster = ChangedCluster(
        nodes=names(nodes), seed=100 + number, mtu_of={"n3": 576}, parts=slow_part("node", "n3", share)
    )
    return record(cluster, archive, f"s{number}", **_dated(number, 11))


def _dated(number: int, first_day: int) -> dict[str, Any]:
    day = f"2026-11-{first_day + number - 1:02d}"
    return {"started": f"{day}T10:00:00Z", "ended": f"{day}T10:01:00Z"}


def cut_off(archive: Path, cluster: Cluster) -> RunWriter:
    """A run that nobody closed."""
    writer = RunWriter(archive, info_of(cluster, ending=Ending.RUNNING, ended=""))
    fill(writer, cluster, sail(cluster))
    return writer


@contextmanager
def killed_before_the_last_name(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whoever closes a run within the block ends before its folder gets its last name."""
    real = os.rename

    def killed(name: str, new: str, **where: int) -> None:
        if name.endswith(layout.PARTIAL):
            raise KeyboardInterrupt
        real(name, new, **where)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(os, "rename", killed)
        yield


def archived_groups(archive: Path, series: RecordedRun, nodes: Sequence[str] = (), **changes: Any) -> None:
    """A closed run of measurements of groups, with facts of `nodes`, and these changes in its description."""
    info = replace(series.info, ending=Ending.COMPLETE, **changes)
    writer = RunWriter(archive, info)
    for number, measurement in enumerate(series.group_measurements, 1):
        writer.append(GroupDelivered(number=number, measurement=measurement))
    for name in nodes:
        lines = [f"#seatrial-facts 1 {name}", f"@value /proc/sys/kernel/random/boot_id|boot-of-{name}", f"#end {name}"]
        writer.write_facts("before", {name: "\n".join(lines) + "\n"})
    writer.close(ended(info, Ending.COMPLETE, info.ended))
