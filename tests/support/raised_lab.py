"""Labs of tests and of long trials: raised once, with a folder that their hosts see, and taken down in any case."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from seatrial.lab.cluster import stop
from seatrial.lab.cluster.plan import LabPlan, make_plan
from seatrial.lab.cluster.start import needed_folders, raise_lab


@contextmanager
def raised_lab(letter: str, folder: Path, *, nodes: int, **of_plan: Any) -> Iterator[LabPlan]:
    """A lab called by a letter and this process, whose hosts see `folder`."""
    plan = make_plan(name=f"{letter}{os.getpid()}", nodes=nodes, folders=(*needed_folders(), str(folder)), **of_plan)
    try:
        raise_lab(plan)
        yield plan
    finally:
        stop.raze(plan.name)


@contextmanager
def trial_lab(
    letter: str, name: str, *, nodes: int, keep: bool = False, **of_plan: Any
) -> Iterator[tuple[LabPlan, Path]]:
    """A lab and a new folder for a program that SIGTERM ends as Ctrl-C does; `keep`: the folder stays."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix=f"seatrial-{name}-"))
    folder.chmod(0o755)
    try:
        with raised_lab(letter, folder, nodes=nodes, **of_plan) as plan:
            yield plan, folder
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
