"""What the benches that repeat something on a lab share: the lab, the loop, and the lines that it prints."""

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from seatrial.lab.cluster import stop
from seatrial.lab.cluster.plan import LabPlan, make_plan
from seatrial.lab.cluster.start import needed_folders, raise_lab


@contextmanager
def four_nodes(name: str, *, rate: str = "1gbit", ssh: bool = False, folders: Sequence[str] = ()) -> Iterator[LabPlan]:
    """A lab of four nodes while the body runs. `folders`: what its nodes see of this machine's."""
    seen = (*needed_folders(), *folders)
    plan = make_plan(name=f"{name}{os.getpid()}", nodes=4, rate=rate, ssh=ssh, folders=seen)
    raise_lab(plan)
    try:
        yield plan
    finally:
        stop.raze(plan.name)


def own_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for archives that the nodes see too; below build/, since a bench that is killed leaves it behind."""
    home = Path.cwd() / "build"
    home.mkdir(exist_ok=True)
    return tempfile.TemporaryDirectory(dir=home)


def count_wrong(title: str, runs: int, one_run: Callable[[int], dict[str, Any]]) -> int:
    """Print what each run found, as JSON with its seconds, and how many were right; return how many were not.

    `one_run` gets the number of the run, from 1; what it returns has a list `faults`, empty where all was right.
    """
    right = 0
    for number in range(1, runs + 1):
        began = time.monotonic()
        found = one_run(number)
        right += not found["faults"]
        print(number, title, json.dumps(found | {"s": round(time.monotonic() - began, 1)}), flush=True)
    print(f"{title}: {right} of {runs} right", flush=True)
    return runs - right
