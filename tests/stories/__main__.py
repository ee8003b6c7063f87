"""python -m tests.stories [NAME...]: the field reports as stories, end to end on virtual clusters, lines pinned."""

import argparse
import os
import re
import shutil
import signal
import sys
import time
from pathlib import Path

import msgspec

from seatrial.lab.cluster import stop
from seatrial.process.process import Completed, run
from tests.lab.waiting import decided, inconclusive
from tests.stories.reports import STORIES
from tests.stories.story import Place, Step, Story
from tests.stories.table import MOST_S, Told, text
from tests.support.paths import ROOT
from tests.support.summary import repetition_counter

FOLDER = ROOT / "build" / "stories"
LINE_S = 600.0
RUN_NAME = re.compile(r"--run (\S+)")
LAB = f"story{os.getpid()}"


class Telling:
    """One story in a lab of its own, in a folder of its own; `log` has every line and what it printed.

    `took_s`: seconds of the last line; an attempt that was repeated counts for nothing.
    """

    def __init__(self, story: Story) -> None:
        self.story = story
        self.folder = FOLDER / story.name
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.archive = self.folder / "runs"
        self.log = self.folder / "told.txt"
        self.took_s = 0.0

    def told(self) -> Told:
        """The whole story, also where a line is not as pinned: later ones often do not depend on it."""
        seconds = 0.0
        complaints = []
        repetition_counter.take()
        try:
            self.shell(Step(line=f"seatrial lab up --name $LAB {self.story.lab}", place=Place.MACHINE))
            for step in self.story.steps:
                done = self.carried_out(step)
                seconds += self.took_s * step.counts
                if complaint := step.complaint(done.returncode, done.stdout):
                    complaints.append(f"{step.line}: {complaint}")
        finally:
            stop.raze(LAB)
        if seconds > MOST_S:
            complaints.append(f"it took more than {MOST_S:.0f} s")
        return Told(
            story=self.story.name,
            steps=len(self.story.steps),
            seconds=seconds,
            repeated=repetition_counter.take(),
            complaints=tuple(complaints),
            stands_in=self.story.stands_in,
        )

    def carried_out(self, step: Step) -> Completed:
        """Repeated where the product itself says that it could not decide, unless that is what the story is about."""
        undecided = (lambda _: False) if step.first.startswith("INCONCLUSIVE") else inconclusive
        return decided(lambda: self.shell(step), undecided)

    def shell(self, step: Step) -> Completed:
        """The line in a shell; runs of an earlier attempt make room."""
        for name in RUN_NAME.findall(step.line):
            shutil.rmtree(self.archive / name, ignore_errors=True)
        inside = [] if step.place is Place.MACHINE else ["seatrial", "lab", "run", "--name", LAB, "--"]
        environment = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "SEATRIAL_ARCHIVE": str(self.archive if step.place is Place.LOGIN else self.folder / "elsewhere"),
            "XDG_STATE_HOME": str(self.folder / "state"),
            "LAB": LAB,
            "ROOT": str(ROOT),
            "DATA": str(ROOT / "tests" / "data"),
        }
        began = time.monotonic()
        done = run(
            [*inside, "sh", "-c", step.line], timeout_s=LINE_S, extra_environment=environment, cwd=str(self.folder)
        )
        self.took_s = time.monotonic() - began
        with self.log.open("a", encoding="utf-8") as log:
            log.write(f"$ {step.line}\n{done.stdout}{done.stderr}")
            log.write(f"[exit code {done.returncode}, {self.took_s:.1f} s]\n\n")
        return done


def main() -> int:
    """Exit code 0: every story was told as pinned."""
    parser = argparse.ArgumentParser(prog="python -m tests.stories", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"stories; none given: {', '.join(story.name for story in STORIES)}")
    names = parser.parse_args().names
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    unknown = set(names) - {story.name for story in STORIES}
    if unknown:
        parser.error(f"there is no story {', '.join(sorted(unknown))}")
    results = []
    for story in STORIES:
        if not names or story.name in names:
            results.append(Telling(story).told())
            print(text(results[-1:]), flush=True)
    (FOLDER / "stories.json").write_bytes(msgspec.json.format(msgspec.json.encode(results)))
    if len(results) > 1:
        print(f"\n{text(results)}")
    return int(any(each.complaints for each in results))


if __name__ == "__main__":
    sys.exit(main())
