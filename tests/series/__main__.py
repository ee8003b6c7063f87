"""python -m tests.series [FILE...]: runs scenarios many times on virtual clusters, prints how often check was right."""

import argparse
import json
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seatrial.lab.trial.scenario import read_scenario
from tests.support.json_objects import parsed

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "series"
SCENARIOS = (
    "node-link-97",
    "node-link-95",
    "node-link-93",
    "node-link-85",
    "one-way-out-95",
    "uplink-50-three-leaves",
    "uplink-90-three-leaves",
    "link-drop-50",
    "link-flapping-2s",
    "uplink-90-one-way-95",
    "loss-5",
    "loss-and-mtu-10",
    "data-corrupt",
    "uplink-40-ten-nodes",
    "trunk-50-loaded",
    "trunk-50-sparse",
    "healthy-4",
    "healthy-8",
    "healthy-4-hog",
)
HIDDEN = (
    "link-falls-late",
    "faults-begin-late",
    "loss-beside-slow-link",
    "uplink-90-one-way-95",
    "memory-hog-8-nodes",
    "core-hog-6-nodes",
    "cpu-hog-3",
    "cpu-quota-70",
)
"""Faults that a check may overlook: late ones, one behind another, and those of nodes where the machine is busy."""
NAMES = "[[faults]]"
UNSURE = ("SLOW", "UNSTABLE", "MISCONFIGURED", "DOWN", "INCONCLUSIVE")
"""Verdicts on a fault beside other programs: a check may be unable to decide, and must then say so."""
REPLACED = ("exit_code", "verdicts", "hogs", "within_s", "arguments")
"""Settings of a scenario that differ on a busy machine."""


class TerminatedError(KeyboardInterrupt):
    """SIGTERM came, which only this process got."""


def end(number: int, _: object) -> None:
    """End as on Ctrl-C."""
    raise TerminatedError(number)


def main() -> int:
    """Exit code 0: every run was right."""
    parser = argparse.ArgumentParser(prog="python -m tests.series", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="scenarios; none given: those of the series")
    parser.add_argument("--repeat", type=int, default=20, help="runs of each scenario")
    parser.add_argument("--healthy", type=int, default=50, help="runs of each scenario without faults or hogs")
    parser.add_argument("--hidden", action="store_true", help="the scenarios of faults that a check may overlook")
    parser.add_argument("--beside", type=int, default=0, help="programs that take the cores: a check may be unsure")
    parser.add_argument("--json", type=Path, default=FOLDER / "series.json", help="where to write the table")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, end)
    wanted = HIDDEN if given.hidden else SCENARIOS
    files = given.files or [ROOT / "tests" / "scenarios" / f"{name}.toml" for name in wanted]
    if given.beside:
        files = [unsure(path, FOLDER / "beside", given.beside) for path in files]
    rows: list[dict[str, Any]] = []
    all_right = True
    for path in files:
        scenario = read_scenario(path)
        healthy = not scenario.faults and not scenario.hogs
        repeat = given.healthy if healthy else given.repeat
        found = trial(path, repeat)
        wrong = found.get("wrong", [])
        right = len(found.get("results", ())) - len(wrong)
        all_right = all_right and right == repeat
        rows.append({"name": path.stem, **found})
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps({"format": 2, "scenarios": rows}, indent=1) + "\n", encoding="utf-8")
        verdicts = ", ".join(f"{word} {count}" for word, count in found.get("verdicts", {}).items())
        print(
            f"{path.stem}: {right} of {repeat} right, {found.get('median_seconds', 0.0):.1f} s; {verdicts}", flush=True
        )
        for one in wrong:
            print(f"    run {one['run']}: {'; '.join(one['complaints'])} {one['kept']}", flush=True)
    return int(not all_right)


def unsure(path: Path, folder: Path, programs: int, arguments: Sequence[str] = ()) -> Path:
    """The scenario on a busy machine, in a file of `folder`: less may be named, but nobody else, and no fault passes.

    `programs`: how many run beside the check. `arguments`: of the check, beside its own.
    """
    text = path.read_text(encoding="utf-8")
    lines, own = text.splitlines(), tomllib.loads(text).get("arguments", ())
    kept = [line.replace("[[expect]]", "[[also_allowed]]") for line in lines]
    kept = [line for line in kept if line.split(" =")[0] not in REPLACED]
    allowed = UNSURE if NAMES in kept else ("PASS", "INCONCLUSIVE")
    first = [f"hogs = {programs}", f"verdicts = {json.dumps(allowed)}", f"arguments = {json.dumps([*own, *arguments])}"]
    folder.mkdir(parents=True, exist_ok=True)
    busy = folder / path.name
    busy.write_text("\n".join([*first, *kept]), encoding="utf-8")
    return busy


def trial(path: Path, repeat: int) -> dict[str, Any]:
    """What `lab trial --json` says of a scenario; nothing where it failed. Progress goes to standard error."""
    keep = FOLDER / path.stem
    shutil.rmtree(keep, ignore_errors=True)
    argv = [sys.executable, "-m", "seatrial", "lab", "trial", str(path), "--json", "--repeat", str(repeat)]
    with subprocess.Popen([*argv, "--keep", str(keep)], stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            stdout, _ = process.communicate()
        except KeyboardInterrupt as ended:  # of a terminal it was interrupted as well; it takes its lab down
            if isinstance(ended, TerminatedError):
                process.terminate()
            process.wait()
            raise
    found: dict[str, Any] = {}
    if process.returncode in (0, 1) and stdout:
        (found,) = parsed(stdout)["scenarios"]
    return found


if __name__ == "__main__":
    sys.exit(main())
