"""A folder of verdicts, and scripts in the place of sinfo, scontrol and sacctmgr, for `seatrial-gate`."""

import os
import subprocess
import time
from pathlib import Path

from tests.support.paths import ROOT

GATE = ROOT / "gate" / "seatrial-gate"
SINFO = """only=""
for word; do case $word in --nodes=*) only=${word#*=} ;; esac; done
for file in "$CLUSTER"/state/*; do
    [ -z "$only" ] || [ "${file##*/}" = "$only" ] || continue
    IFS= read -r held <"$file"
    while read -r partition; do printf '%s|%s|%s\\n' "${file##*/}" "$partition" "$held"; done <"$CLUSTER/partitions"
done
"""
SCONTROL = """name="" state="" reason="" comment=no
case $1 in
    --oneliner)
        IFS='|' read -r state _ reason <"$CLUSTER/state/$4"
        printf 'NodeName=%s Arch=x86_64%s State=%s Reason=%s\\n' \
            "$4" "$(cat "$CLUSTER/comment/$4" 2>/dev/null)" "$state" "$reason"
        exit ;;
esac
# As it reads a line of its input: words, with quotes around a reason.
[ "$1" != --quiet ] || { read -r line; eval "set -- $line"; shift; set -- update "$@"; }
for word; do
    case $word in
        NodeName=*) name=${word#*=} ;; State=*) state=${word#*=} ;; Reason=*) reason=${word#*=} ;;
        Comment=) rm -f "$CLUSTER/comment/$name" ;;
        Comment=*) printf ' %s' "$word" >"$CLUSTER/comment/$name" ;;
    esac
done
echo "$*" >>"$CLUSTER/asked"
now=$(date +%Y-%m-%dT%H:%M:%S)
meanwhile() {
    [ ! -e "$CLUSTER/meanwhile" ] || echo "$name|$now|DRAIN|$(cat "$CLUSTER/meanwhile")" >>"$CLUSTER/events"
}
case $state in
    DRAIN)
        case $reason in seatrial*) meanwhile ;; esac
        echo "drained|$now|$reason" >"$CLUSTER/state/.$name.$$" && mv "$CLUSTER/state/.$name.$$" "$CLUSTER/state/$name"
        echo "$name|$now|DRAIN|$reason" >>"$CLUSTER/events" ;;
    UNDRAIN)
        meanwhile
        echo "idle|$now|none" >"$CLUSTER/state/$name" ;;
esac
"""
SACCTMGR = """[ ! -e "$CLUSTER/no-accounting" ] || exit 1
cat "$CLUSTER/events"
echo "$(date +n01\\|%Y-%m-%dT%H:%M:%S)|DOWN|Not responding"
"""


def iso(seconds_ago: float) -> str:
    """A time as Slurm prints it for the gate, which wants those of UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() - seconds_ago))


class GateCluster:
    """`count` idle nodes n01, n02, … in one partition, and a policy that lets half of them be drained, 100 an hour."""

    def __init__(self, folder: Path, count: int = 4) -> None:
        self.folder = folder / "gate"
        self.slurm = folder / "slurm"
        for place in ("nodes", "answers"):
            (self.folder / place).mkdir(parents=True)
        for place in ("state", "comment", "bin"):
            (self.slurm / place).mkdir(parents=True)
        for name, script in (("sinfo", SINFO), ("scontrol", SCONTROL), ("sacctmgr", SACCTMGR), ("logger", "exit 0\n")):
            self.replace(name, script)
        (self.slurm / "events").touch()
        (self.slurm / "partitions").write_text("main\n")
        self.nodes = [f"n{place:02}" for place in range(1, count + 1)]
        for node in self.nodes:
            self.state(node, "idle")
        self.policy(share=500, hourly=100)

    def replace(self, program: str, script: str) -> None:
        """Let one of Slurm's commands be this shell script."""
        path = self.slurm / "bin" / program
        path.write_text(f"#!/bin/sh\n{script}")
        path.chmod(0o755)

    def policy(self, share: int, hourly: int, age_s: int = 3600) -> None:
        """`share`: in thousandths."""
        (self.folder / "policy").write_text(f"{age_s} {share} {hourly}\n")

    def state(self, node: str, state: str, reason: str = "none", since: str = "Unknown") -> None:
        """How Slurm has a node."""
        (self.slurm / "state" / node).write_text(f"{state}|{since}|{reason}\n")

    def leave(self, word: str, *nodes: str, ago_s: float = 60, text: str = "link at 60 % of its limit") -> None:
        """A verdict on some nodes."""
        for node in nodes:
            line = f"{word} {time.time() - ago_s:.0f} r1 {text if word != 'good' else ''}".rstrip()
            (self.folder / "nodes" / node).write_text(f"{line}\n")

    def start(self, node: str, step: str = "drain", before: tuple[str, ...] = ()) -> "subprocess.Popen[str]":
        """The gate, running. `before`: a command that starts another one."""
        argv = [*before, str(GATE), f"--{step}", "--from", str(self.folder), "--node", node]
        path = f"{self.slurm / 'bin'}:{os.environ['PATH']}"
        return subprocess.Popen(
            argv, env={**os.environ, "PATH": path, "CLUSTER": str(self.slurm)}, stdout=subprocess.PIPE, text=True
        )

    def ask(self, node: str, step: str = "drain") -> str:
        """What the gate says of a node; it must end with 0."""
        process = self.start(node, step)
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0, out
        assert out.count("\n") == 1, out
        return out.rstrip("\n")

    def reason(self, node: str) -> str:
        """Why Slurm has drained a node; empty if it is not."""
        state, _, reason = (self.slurm / "state" / node).read_text().strip().split("|", 2)
        return reason if state.startswith("drain") else ""

    def counts(self, node: str) -> dict[str, int]:
        """The answers of a node so far."""
        words = (self.folder / "answers" / node).read_text().split()
        return dict(zip(("good", "bad", "unknown", "error"), map(int, words[2:6]), strict=True))
