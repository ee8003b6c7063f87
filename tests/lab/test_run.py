"""A program on two nodes through Slurm: a benchmark of the site's own, good and bad."""

import sys
from pathlib import Path

import pytest

from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.process.process import run
from tests.support.gpu_outputs import gpu_burn
from tests.support.json_objects import parsed

pytestmark = pytest.mark.lab
OWN = """
name = "names"
[metrics.time_s]
pattern = 'took (\\S+) s'
unit = "s"
better = "less"
[evidence.ranks]
pattern = 'rank \\d of (\\d+)'
[run]
command = ["sh", "-c", "{text}"]
nodes = 2
ranks_per_node = 1
"""
GOOD = "echo rank $SLURM_PROCID of $SLURM_NTASKS on $(hostname) took 1.5 s"
# Rank 1 is killed once rank 0 is done: srun ends the other tasks at once, also one that has yet to print.
KILLED = (
    f"{GOOD}; if [ $SLURM_PROCID = 0 ]; then touch done; "
    "else until [ -e done ]; do sleep 0.1; done; sleep 1; kill -9 $$; fi"
)


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [(GOOD, 0, "MEASURED  names on 2 nodes: 1.50 s"), (KILLED, 1, "program-failed: run was killed by signal 9")],
)
def test_it_runs_on_both_nodes(lab4: LabPlan, tmp_path: Path, text: str, code: int, says: str) -> None:
    file = tmp_path / "names.toml"
    file.write_text(OWN.replace('"{text}"', f"'{text}'"))
    asked = ["bench", "run", str(file), "--nodes", "n1,n2", "--archive", str(tmp_path / "archive"), "--json"]
    done = run(as_user(lab4, [sys.executable, "-m", "seatrial", *asked]), timeout_s=150)
    report = parsed(done.stdout)
    assert (done.returncode, report["nodes"]) == (code, ["n1", "n2"]), done.stderr
    assert says in report["headline"]
    logs = "".join(path.read_text() for path in (tmp_path / "archive").glob("*/logs/run.out"))
    assert "on n1 took" in logs
    assert "rank 0 of 2" in logs
    if not code:
        assert "on n2 took" in logs


def test_a_program_on_each_node_is_judged_gpu_by_gpu(lab4: LabPlan, tmp_path: Path) -> None:
    """On n3 GPU 1 does 70 % of its work in every start; on n2 the program finds no GPU."""
    for number, name in enumerate(lab4.node_names):
        text = gpu_burn(0.7 if name == "n3" else 1.0, gpus=8).replace("17000", str(17000 + number))
        (tmp_path / f"{name}.out").write_text(text)
    (tmp_path / "n2.out").unlink()
    script = tmp_path / "burn.sh"
    script.write_text(
        'cat "$(dirname "$0")/$(hostname).out" || { echo no CUDA-capable device is detected >&2; exit 3; }'
    )
    asked = ["nodes", "--program", f"sh {script}", "--archive", str(tmp_path / "archive"), "--json"]
    done = run(as_user(lab4, [sys.executable, "-m", "seatrial", *asked]), timeout_s=150)
    report = parsed(done.stdout)
    assert done.returncode == 1, done.stderr
    assert report["headline"].startswith("SLOW  n3: GPU 1 30 % below its peers in gpu-burn")
    assert report["reason"].startswith("n2 not measured: ")
    assert "no CUDA-capable device is detected" in report["reason"]
    assert {start["node"] for start in report["starts"] if start["failure"]} == {"n2"}
    assert [part["subject"] for part in report["fleet"]["named"]] == ["n3 GPU 1"]
