"""The commands that the documents promise, and the files that these name."""

import itertools
import re
from pathlib import Path

from tests.support import benchmark_outputs
from tests.support.documents import table
from tests.support.job_histories import History, sacct_text
from tests.support.paths import ROOT

ELSEWHERE = ("--hosts", "run hpcc", "doctor --from")
"""test_hosts.py runs what needs an sshd, tests/applications what needs a benchmark's package, and the tests of doctor
what needs a job that failed."""
ON_A_CLUSTER = re.compile(
    r"seatrial (doctor|check(?! --launcher local)|requalify|qualify|limits|facts --scrub|runs collect|link|placement"
    r"|nodes --(for|program))\b| n\[| --from cluster"
)
"""What measures or reads nodes, and what reads their recording."""
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAIRS = enumerate(itertools.permutations([f"n{number}" for number in range(1, 9)], 2))
RESULTS = "source,target,latency_us,bandwidth_mb_s\n" + "".join(
    f"{one},{two},1.5,{1000 + 7 * place % 5}\n" for place, (one, two) in PAIRS
)
"""Of eight nodes: two have no peers, and their table does not pass."""
FABRIC = """\
Switch\t36 "S-1"\t# "leaf1" enhanced port 0 lid 3 lmc 0
[1]\t"H-1"[1]\t# "n1 mlx5_0" lid 7 4xEDR
[2]\t"H-2"[1]\t# "n2 mlx5_0" lid 8 4xEDR

Ca\t1 "H-1"\t# "n1 mlx5_0"
[1](1)\t"S-1"[1]\t# lid 7 lmc 0 "leaf1" lid 3 4xEDR

Ca\t1 "H-2"\t# "n2 mlx5_0"
[1](2)\t"S-1"[2]\t# lid 8 lmc 0 "leaf1" lid 3 4xEDR
"""
NAMED_FILES = {
    "results.out": RESULTS,
    "fabric.txt": FABRIC,
    "stream.csv": "node,run,value\n" + "".join(f"n{k % 8},{k // 8},{1000 + k * 7 % 5}\n" for k in range(40)),
    "hpl.csv": "time,value\n" + "".join(f"{2000 + k},{100 + k * 7 % 5}\n" for k in range(40)),
    "sacct.txt": sacct_text(History(jobs=4000, families=6)),
    "history.csv": "time,value\n" + "".join(f"{2000 + k},{100 + k * 7 % 5}\n" for k in range(40)),
    "policy.toml": "minutes = 5\n",
    "slurm-4711.out": benchmark_outputs.osu(),
    "results_QDR.txt": benchmark_outputs.osu(),
    "results_FDR.txt": benchmark_outputs.osu(),
    **{f"run-{nodes}.out": benchmark_outputs.openfoam(ranks=2 * nodes, seconds=40.0 / nodes) for nodes in (1, 2)},
}
SEARCH = ("swap", "start", "gpu", "node=n1,card=c1", "node=n2,card=c2")
"""The search for a faulty part whose state the table prints."""
OSU_BW = (
    r"sh -c 'test ${PMIX_RANK:-${SLURM_PROCID:-0}} != 0 || "
    r"printf \"\043 OSU MPI Bandwidth Test v7.3\n\043 Size Bandwidth (MB/s)\n4194304 117.00\n\"'"
)
"""Prints on rank 0 what osu_bw would over the links of a lab, where osu_bw is not installed; the command itself, which
is read before its output, must not look like a table."""
AS_TESTED = {
    "--for 60m": "--for 6s",
    "requalify n1": "requalify n1 --budget 10s --no-nodes",
    "seatrial nodes n": "seatrial nodes --repetitions 1 --trials memory,noise n",
    "seatrial nodes --l": "seatrial nodes --repetitions 1 --trials noise --l",
    "'osu_bw -m 4194304:4194304'": rf'"{OSU_BW}"',
    "'gpu_burn 60'": rf'"{OSU_BW}"',
    "link n1 n2 --budget 30s": "link n1 n2 --budget 15s --per-octave 1",
    "link n1 n2 --ranks-per-node auto --budget 10s": "link n1 n2 --ranks-per-node auto --budget 5s",
}
"""Less of what takes an hour or a minute, and a curve whose points all have several round trips."""


def promised_in(page: str, *, on_a_cluster: bool) -> list[str]:
    """The commands of its table of what one can type, and those of the README's text: each once, in their order."""
    text = (ROOT / page).read_text()
    cells = [row[1] for row in table(text, "you want to", "type")]
    typed = BLOCK.findall(text) if page == "README.md" else []
    commands = re.findall(r"`(seatrial [^`]+)`", " ".join(cells)) + re.findall(r"^seatrial .*$", "".join(typed), re.M)
    last = reversed(dict.fromkeys(reversed(commands)))  # the last of two equal ones follows what it needs
    wanted = [command for command in last if not any(word in command for word in ELSEWHERE)]
    return [command for command in wanted if bool(ON_A_CLUSTER.search(command)) is on_a_cluster]


def as_tested(command: str) -> str:
    """The command with the options of the test."""
    for written, tested in AS_TESTED.items():
        command = command.replace(written, tested)
    return command


def write_named_files(folder: Path) -> None:
    """All files that promised commands read."""
    for name, text in NAMED_FILES.items():
        (folder / name).write_text(text)
