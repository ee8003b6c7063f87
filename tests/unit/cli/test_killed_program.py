"""A run of a program of the site whose driver is killed: what was printed is kept, judged and tidied up."""

import subprocess
import sys
from pathlib import Path

import pytest

from seatrial.archive import working_folder
from seatrial.archive.journal import StepEnded, of_type
from seatrial.archive.reader import read_entries, read_run
from seatrial.cli.report import report_of
from seatrial.model.run import Ending
from tests.lab.waiting import eventually
from tests.support.command_line import Seatrial
from tests.support.paths import ROOT

DRIVER = """
import sys
from seatrial.commands.nodes import program_run
from seatrial.frame.command_line import run
from seatrial.launch.contract import ProgramCommand
from tests.support.builders import Cluster, names
from tests.support.gpu_outputs import gpu_burn
from tests.support.launchers import use_launcher
from tests.support.node_programs import NodeProgramLauncher, prints
from tests.support.pair_programs import PairProgramLauncher

program_run.LEAST_START_S = 60.0  # or a start that waits is over before the driver is killed
marker, kind = sys.argv[1:3]
waits = f"touch {marker}; exec sleep 60"
cluster = Cluster(nodes=names(8))


class Pairs(PairProgramLauncher):
    def program_command(self, *words, **options):
        command = super().program_command(*words, **options)
        return ProgramCommand(argv=("sh", "-c", waits)) if len(self.pairs) == 13 else command


if kind == "check":
    use_launcher(Pairs(cluster))
else:
    use_launcher(NodeProgramLauncher(cluster, lambda node, run: waits if run == 3 else prints(gpu_burn(gpus=8))))
sys.exit(run(sys.argv[2:]))
"""


@pytest.mark.parametrize(
    ("words", "fewest", "word"),
    [
        (("check", "--pair-program", "osu_bw -m 4194304:4194304", "--design", "complete"), 9, "NOT_RUN"),
        (("nodes", "--program", "gpu_burn 60"), 16, "INCOMPLETE"),
    ],
    ids=["pairs", "nodes"],
)
def test_what_was_printed_is_kept_and_judged_after_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial, words: tuple[str, ...], fewest: int, word: str
) -> None:
    monkeypatch.setenv("SEATRIAL_ARCHIVE", str(tmp_path / "archive"))
    marker = tmp_path / "waits"
    argv = [sys.executable, "-c", DRIVER, str(marker), *words, "--run", "killed"]
    with (tmp_path / "driver.err").open("wb") as errors:
        driver = subprocess.Popen(argv, cwd=ROOT, stdout=errors, stderr=errors)
    eventually(marker.exists, every_s=0.02)
    driver.kill()
    driver.wait()
    assert marker.exists(), (tmp_path / "driver.err").read_text()
    assert "killed" in seatrial("runs", "recover").out
    folder = tmp_path / "archive" / "killed"
    recorded = read_run(folder)
    steps = [entry.step for entry in of_type(read_entries(folder), StepEnded)]
    assert recorded.info.ending is Ending.RECOVERED
    assert len(steps) >= fewest
    assert all(step.output for step in steps)
    measured = len(recorded.measurements)
    assert measured in ((len(steps) - 1, len(steps)) if words[0] == "check" else (0,)), "one was being read at most"
    report = report_of(folder)
    assert (report.word, report.findings) == (word, ())
    left = working_folder.scratch_parent(tmp_path / "archive").iterdir()
    assert not [path for path in left if working_folder.OURS.fullmatch(path.name)]
