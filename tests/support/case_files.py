"""The files that the commands of docs/items.md name: tables and outputs, and recordings that differ from one node."""

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from tests.support import benchmark_outputs, matrices
from tests.support.fabrics import fat_tree, without_cable
from tests.support.job_histories import History, sacct_text
from tests.support.paths import ROOT

DATA = ROOT / "tests" / "data" / "cases"
FAILING = History(jobs=2000, nodes=12, families=6, failing={"n7": 0.5})
SLOWER = History(jobs=3000, nodes=12, families=6, slow_families={0: 4.0, 1: 4.0, 2: 4.0})
SLOW_NODE = History(jobs=3000, nodes=12, families=6, slow_nodes={"n7": 1.5})


def hpcc(rate: float, latency_us: float) -> str:
    """The output of HPCC with this rate of HPL in Tflop/s, and this latency."""
    text = benchmark_outputs.hpcc().replace("HPL_Tflops=0.0533", f"HPL_Tflops={rate}")
    return text.replace("MaxPingPongLatency_usec=1.38415", f"MaxPingPongLatency_usec={latency_us}")


DIMMS = "".join(
    f"|Memory Device\n|\tSize: 16384 MB\n|\tLocator: P{package}_DIMM_{channel}1\n|\tBank Locator: P{package} CHANNEL "
    f"{channel}\n|\tType: DDR4\n|\tSpeed: 2400 MHz\n|\tConfigured Clock Speed: 2133 MHz\n"
    for package in range(2)
    for channel in "ABCD"
)
"""Lines of dmidecode about memory at less than its rate."""


GENERATED: dict[str, Callable[[], str]] = {
    "sacct-failing.txt": lambda: sacct_text(FAILING),
    "sacct-slower.txt": lambda: sacct_text(SLOWER),
    "sacct-slow-node.txt": lambda: sacct_text(SLOW_NODE),
    "nxnlatbw.txt": lambda: matrices.nxnlatbw(slow_sender(matrices.matrix("16 nodes, 3.045 GB/s, 1.37 us"))),
    "fabric.txt": lambda: without_cable(fat_tree(4, 8, 2, cables=4), "leaf2", "spine1"),
    **{
        f"foam-{ranks}.out": partial(benchmark_outputs.openfoam, ranks=ranks, seconds=64 / ranks) for ranks in (2, 4, 8)
    },
    "foam-lost.out": (ROOT / "tests/data/benchmarks/openfoam-1912-lost-patches.out").read_text,
    **{f"hpcc-before-{n}.out": partial(hpcc, 0.763 + n / 1000, 1.9) for n in (1, 2, 3)},
    **{f"hpcc-after-{n}.out": partial(hpcc, 0.609 + n / 1000, 1.6) for n in (1, 2, 3)},
}
"""File -> its text: outputs of programs that are too long to be kept."""


def slow_sender(of: matrices.PairMatrix) -> matrices.PairMatrix:
    """The matrix with a node that sends and receives 10 % slower."""
    rates = {pair: rate * (0.9 if "n5" in pair else 1) for pair, rate in of.bandwidth_bytes_per_s.items()}
    return msgspec.structs.replace(of, bandwidth_bytes_per_s=rates)


NODES = ("n1", "n2", "n3", "n4")


def write_case_files(folder: Path) -> None:
    """All of them."""
    for path in DATA.iterdir():
        if path.suffix not in (".facts", ".toml"):
            (folder / path.name).write_text(path.read_text())
    for name, text_of in GENERATED.items():
        (folder / name).write_text(text_of())
    for name, described in tomllib.loads((DATA / "recordings.toml").read_text()).items():
        write_recording(folder / name, described)


def write_recording(folder: Path, described: Mapping[str, Any]) -> None:
    """A recording of `nodes` whose streams have the changed lines."""
    folder.mkdir()
    nodes = described.get("nodes", NODES)
    for place, node in enumerate(nodes):
        changes = {**described.get("all", {}), **described.get(node, {})}
        (folder / f"{node}.facts").write_text(stream(node, changes).replace("0xLID", hex(place + 7)))
    if features := described.get("features"):
        words = features if isinstance(features, dict) else dict.fromkeys(nodes, features)
        gathered = {"format": 1, "nodes": nodes, "features": {node: text.split(",") for node, text in words.items()}}
        (folder / "gather.json").write_text(json.dumps(gathered))


def stream(node: str, changes: Mapping[str, str]) -> str:
    """What facts.sh would print on such a node."""
    text = (DATA / "node.facts").read_text()
    for key, value in changes.items():
        if key == "lines":
            added = value.strip("\n") + "\n"
        else:
            pattern = re.compile(rf"^(@\w+ {re.escape(key)})\|.*\n", re.MULTILINE)
            found = pattern.search(text)
            added = "" if found else f"@value {key}|{value}\n"
            text = pattern.sub(lambda one, value=value: f"{one.group(1)}|{value}\n", text)  # type: ignore[misc]
        text = text.replace("#end NODE", f"{added}#end NODE")
    return text.replace("NODE", node).replace("DIMMS", DIMMS)
