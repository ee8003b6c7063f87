"""One real check in a lab: its driver in the foreground or in a job, what it printed, what it left in its archive."""

import subprocess
import sys
import time
from pathlib import Path

from seatrial.archive import layout
from seatrial.driver.submitted import SUBMITTED
from seatrial.process.process import Completed
from tests.campaign.lane import Lane
from tests.campaign.victims import Kind, victims
from tests.campaign.witness import Witness, whole_lines
from tests.support.json_objects import parsed

SEATRIAL = (sys.executable, "-m", "seatrial")
END_S = 150.0
START_S = 20.0
BUDGET = "6s"


class CheckRun:
    """A check of a lane's nodes under the name `trial`."""

    def __init__(self, lane: Lane, folder: Path, *, detached: bool = False, archive: Path | None = None) -> None:
        self.lane = lane
        self.archive = archive or folder / "archive"
        self.folder = folder
        self.detached = detached
        folder.mkdir(parents=True, exist_ok=True)
        self._began = time.monotonic()
        argv = [
            "check",
            "--nodes",
            ",".join(lane.nodes),
            "--archive",
            str(self.archive),
            "--run",
            "trial",
            "--budget",
            BUDGET,
        ]
        if detached:
            self.seatrial(*argv, "--detach")
            self.process = None
            pid = self._await_driver(Kind.JOB_DRIVER)
        else:
            with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
                command = lane.argv([*SEATRIAL, *argv])
                self.process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
                )
            pid = self.process.pid
            self._await_driver(Kind.DRIVER)
        self.witness = Witness(pid, folder / "strace") if pid else None

    def seatrial(self, *argv: str) -> Completed:
        """Another seatrial command by the same user."""
        return self.lane.run([*SEATRIAL, *argv])

    def start(self, *argv: str) -> "subprocess.Popen[bytes]":
        """The same in the background."""
        return subprocess.Popen(
            self.lane.argv([*SEATRIAL, *argv]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def seconds(self) -> float:
        """Since its start."""
        return time.monotonic() - self._began

    def over(self) -> bool:
        """Whether its driver has ended."""
        if self.process is not None:
            return self.process.poll() is not None
        return not victims(Kind.JOB_DRIVER, self.lane)

    def wait(self) -> bool:
        """Until the driver has ended; False where it hangs."""
        deadline = time.monotonic() + END_S
        while not self.over():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True

    def folders(self) -> list[Path]:
        """All folders of the run, open, closed or rescued."""
        found = self.archive.glob("trial*") if self.archive.is_dir() else ()
        return sorted(folder for folder in found if folder.suffix != SUBMITTED)

    def open_folders(self) -> list[Path]:
        """Those that nobody has closed."""
        return [folder for folder in self.folders() if folder.suffix in (layout.PARTIAL, ".closing")]

    def journal_lines(self) -> list[bytes]:
        """The whole lines of all its journals."""
        return [line for folder in self.folders() for line in whole_lines(folder / layout.JOURNAL_FILE)]

    def trace(self) -> str:
        """What strace noted of its driver so far."""
        path = self.folder / "strace"
        return path.read_text(encoding="latin-1") if path.exists() else ""

    def measured(self, journal: Path | None = None) -> int:
        """How many measurements were delivered so far, by that journal or else by the trace."""
        text = journal.read_bytes() if journal is not None and journal.exists() else self.trace().encode("latin-1")
        return text.count(b'"entry":"measurement"') + text.count(rb"\"entry\":\"measurement\"")

    def last_words(self) -> str:
        """The last line on standard error, else on standard output."""
        for name in ("stderr", "stdout"):
            path = self.folder / name
            lines = path.read_text(encoding="utf-8", errors="replace").split("\n") if path.exists() else []
            if said := [line for line in lines if line.strip()]:
                return said[-1].rpartition("\r")[2]
        return ""

    def said(self) -> str:
        """All that the driver printed."""
        paths = [self.folder / "stdout", self.folder / "stderr", self.archive / f"trial{SUBMITTED}" / "output.txt"]
        return "".join(path.read_text(encoding="utf-8", errors="replace") for path in paths if path.exists())

    def listed(self) -> list[dict[str, object]]:
        """What `runs list` says of the archive."""
        rows: list[dict[str, object]] = parsed(
            self.seatrial("runs", "list", "--json", "--archive", str(self.archive)).stdout
        )["runs"]
        return rows

    def _await_driver(self, kind: Kind) -> int:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and (self.detached or not self.over()):
            if found := victims(kind, self.lane):
                return found[0]
            time.sleep(0.005)
        return 0
