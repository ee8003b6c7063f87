"""What `seatrial site` takes: the first rendering of an archive, one new run after it, and the index in a browser.

    .venv/bin/python -m bench.site_of_many_runs [RUNS NODES]

The archive is made up: each run is a check of 16 nodes, drawn in turn from all, one in eight of them with a slow node.
Each rendering is a process of its own, and its time that of the processor. The index is usable once Chromium has loaded
and drawn it; where there is no Chromium this is left out. Exits with 1 where 1,000 runs of 10,000 nodes take more than
5 minutes or 1 GB, one new run more than 10 s, or the index has more than 2 MB or takes more than 2 s; smaller archives
must keep to the same.
"""

import itertools
import os
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec.structs import replace
from tests.support import browser, builders
from tests.support.builders import Cluster, names, record, sail, slow_part

from seatrial.model.run import RecordedRun

RUNS, NODES = 1_000, 10_000
OF_RUN, OF_LEAF, SLOW_EVERY = 16, 40, 8
MOST_S, MOST_BYTES, MOST_NEW_S, MOST_INDEX_BYTES, MOST_USABLE_S = 300.0, 1e9, 10.0, 2e6, 2.0
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


class Maker:
    """Writes runs of a made-up cluster; what is measured is made once for a good and for a sick one."""

    def __init__(self, archive: Path, nodes: int) -> None:
        self.archive, self.nodes = archive, nodes
        self.templates = [self._template(parts) for parts in ({}, slow_part("node", "n3", 0.6))]
        self.numbers = itertools.count()

    def _template(self, parts: dict) -> RecordedRun:  # type: ignore[type-arg]
        return sail(Cluster(nodes=names(OF_RUN), parts=parts))

    def add(self) -> None:
        """One more run, three hours after the last."""
        number = next(self.numbers)
        chosen = [f"n{(number * OF_RUN + place) % self.nodes:05d}" for place in range(OF_RUN)]
        name_of = dict(zip(names(OF_RUN), chosen, strict=True))
        template = self.templates[number % SLOW_EVERY == 0]
        leaf_of = {name: f"leaf{int(name[1:]) // OF_LEAF:03d}" for name in chosen}
        cluster = Cluster(nodes=tuple(chosen), leaf_of=leaf_of)
        began = BEGAN + timedelta(hours=3 * number)
        recorded = replace(
            template,
            info=replace(template.info, nodes=cluster.nodes, fabric=cluster.fabric),
            planned=tuple((name_of[source], name_of[target]) for source, target in template.planned),
            measurements=tuple(
                replace(one, source=name_of[one.source], target=name_of[one.target]) for one in template.measurements
            ),
        )
        times = {
            "started": f"{began:%Y-%m-%dT%H:%M:%SZ}",
            "ended": f"{began + timedelta(minutes=5):%Y-%m-%dT%H:%M:%SZ}",
        }
        record(cluster, self.archive, f"run{number:05d}", recorded, **times)
        builders._SAMPLES.clear()  # a process that is started counts the memory of the one that starts it as its own


def render(archive: Path, site: Path) -> tuple[float, float]:
    """Seconds of the processor and bytes of memory of one rendering, in a process of its own."""
    argv = [sys.executable, "-m", "seatrial", "site", str(site), "--archive", str(archive)]
    process = os.posix_spawn(sys.executable, argv, os.environ)
    _, status, used = os.wait4(process, 0)
    if status:
        sys.exit("seatrial site failed")
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def usable_s(page: Path, profile: Path) -> float:
    """Seconds until a Chromium that has started has loaded and drawn a page; 0 without Chromium."""
    if browser.CHROMIUM is None:
        return 0.0
    with browser.chromium(profile) as window:
        window.open("about:blank")
        window.open(page.as_uri())
        return float(window.value("performance.now()")) / 1000


def main() -> int:
    """Print a row for each rendering."""
    runs, nodes = (int(word) for word in sys.argv[1:3]) if len(sys.argv) > 2 else (RUNS, NODES)
    with tempfile.TemporaryDirectory() as name:
        archive, site = Path(name) / "archive", Path(name) / "site"
        maker = Maker(archive, nodes)
        for _ in range(runs):
            maker.add()
        first_s, memory = render(archive, site)
        maker.add()
        new_s, _ = render(archive, site)
        index = (site / "index.html").stat().st_size
        drawn_s = usable_s(site / "index.html", Path(name) / "profile")
        pages = sum(1 for _ in site.rglob("*.html"))
        whole = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    print(f"{runs} runs, {nodes} nodes, {pages} pages, {whole / 1e6:.0f} MB")
    print(
        f"first rendering {first_s:.1f} s, {memory / 1e6:.0f} MB; one new run {new_s:.1f} s; "
        f"index {index / 1e3:.0f} kB, in a browser after {drawn_s:.2f} s"
    )
    measured = (first_s, memory, new_s, index, drawn_s)
    bounds = (MOST_S, MOST_BYTES, MOST_NEW_S, MOST_INDEX_BYTES, MOST_USABLE_S)
    return int(any(value > most for value, most in zip(measured, bounds, strict=True)))


if __name__ == "__main__":
    sys.exit(main())
