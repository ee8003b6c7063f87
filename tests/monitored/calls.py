"""Calls of `seatrial metrics` whose outputs of Slurm's commands are kept, and what these outputs say by themselves."""

import re
import shutil
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from prometheus_client.parser import text_string_to_metric_families

from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.process.process import Completed, run
from tests.support.stores import Graphite, Prometheus

Key = TypeVar("Key", str, tuple[str, ...])
Numbers = Mapping[tuple[str, ...], float]
"""The numbers by name and label values."""

COMMANDS = ("sinfo", "squeue", "sdiag", "sshare", "scontrol")
RECORD = '#!/bin/sh\n{real} "$@" >{folder}/{name}.txt; status=$?; cat {folder}/{name}.txt; exit $status\n'
REPLAY = "#!/bin/sh\nexec cat {folder}/{name}.txt\n"
PATIENCE_S = 60.0
SINCE_MIDNIGHT = ("submitted", "started", "completed", "canceled", "failed")
CLOCKED = "_seconds"
"""End of the names of numbers that grow with time, or are one call's own; two calls differ in them by seconds."""
MOST_APART_S = 10.0


class Calls:
    """Calls in a folder that the lab sees. The hourly answer of sshare is asked for in the first only."""

    def __init__(self, plan: LabPlan, folder: Path, prometheus: Prometheus, graphite: Graphite) -> None:
        self.plan, self.folder = plan, folder
        self.prometheus, self.graphite = prometheus, graphite
        for kind, script in (("record", RECORD), ("replay", REPLAY)):
            (folder / kind).mkdir()
            for name in COMMANDS:
                path = folder / kind / name
                path.write_text(script.format(real=shutil.which(name), folder=folder, name=name))
                path.chmod(0o755)

    def seatrial(self, *words: str, commands: str = "record", cache: str = "cache") -> Completed:
        """A command on the login node, with Slurm's commands recorded or replayed."""
        path = f"PATH={self.folder / commands}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        places = [f"SEATRIAL_ARCHIVE={self.folder / 'archive'}", f"XDG_CACHE_HOME={self.folder / cache}"]
        argv = ["env", path, *places, sys.executable, "-m", "seatrial", *words]
        return run(as_user(self.plan, argv), timeout_s=300)

    def textfile(self, cache: str = "cache") -> tuple[Completed, Numbers]:
        """One call for Prometheus, and the numbers that it wrote."""
        target = f"textfile:{self.prometheus.textfile}"
        done = self.seatrial("metrics", "--slurm", "always", "--interval", "1s", "--to", target, cache=cache)
        return done, numbers(self.prometheus.textfile.read_text()) if done.ok else {}

    def pushed(self, cache: str) -> Completed:
        """One call for Graphite, to which Slurm's commands answer what they answered last."""
        target = f"graphite:127.0.0.1:{self.graphite.line}"
        return self.seatrial("metrics", "--slurm", "always", "--to", target, commands="replay", cache=cache)

    def recorded(self) -> dict[str, str]:
        """What Slurm's commands printed in the last call."""
        return {name: (self.folder / f"{name}.txt").read_text() for name in COMMANDS if name != "scontrol"}


def numbers(text: str) -> Numbers:
    """What a file for Prometheus holds."""
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(sample.name, *sample.labels.values()): sample.value for sample in samples}


def scraped(prometheus: Prometheus) -> Numbers:
    """The numbers that the store has."""
    return {
        (str(name), *(pair[1] for pair in labels)): value for (name, *labels), value in prometheus.numbers().items()
    }


def as_paths(text: str) -> dict[str, float]:
    """The numbers of a file for Prometheus under Graphite's paths."""
    paths = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            words = [re.sub(r"[^\w-]", "_", word, flags=re.ASCII) for pair in sample.labels.items() for word in pair]
            paths[".".join([sample.name, *words])] = sample.value
    return paths


def recount(said: Mapping[str, str]) -> dict[tuple[str, ...], float]:
    """What the outputs say, counted without seatrial's readers."""
    found: dict[tuple[str, ...], float] = defaultdict(float)
    jobs = [line.split("|") for line in said["squeue"].splitlines()]
    states = Counter(job[1] for job in jobs)
    found["slurm_jobs",] = len(jobs)
    for state in ("RUNNING", "PENDING", "COMPLETING"):
        found[f"slurm_jobs_{state.lower()}",] = states[state]
    found["slurm_jobs_cpus_alloc",] = sum(int(job[3]) for job in jobs if job[1] == "RUNNING")
    for column, kind in ((2, "partition"), (6, "user"), (7, "account")):
        for state in ("running", "pending"):
            counts = Counter(job[column].strip() for job in jobs if job[1] == state.upper())
            for name in {job[column].strip() for job in jobs}:
                found[f"slurm_{kind}_jobs_{state}", name] = counts[name]
    nodes = {
        line.split("|")[0].strip(): [field.strip() for field in line.split("|")] for line in said["sinfo"].splitlines()
    }
    found["slurm_nodes",] = len(nodes)
    bases = Counter(re.split(r"[+*~#!%$@^-]", fields[1])[0] for fields in nodes.values())
    for word, base in (("alloc", "allocated"), ("mixed", "mixed"), ("idle", "idle"), ("down", "down")):
        found[f"slurm_nodes_{word}",] = bases[base]
    for node, fields in nodes.items():
        found["slurm_node_cpus_alloc", node] = int(fields[3].split("/")[0])
    for word in SINCE_MIDNIGHT:
        found[f"slurm_sdiag_jobs_{word}",] = int(re.findall(rf"^Jobs {word}:\s*(\d+)", said["sdiag"], re.M)[0])
    for line in said["sshare"].splitlines():
        account, user, used, _ = line.split("|")
        if not user:
            found["seatrial_account_used_hours", account.strip()] = int(used) / 3600
    return found


def differences(what: str, found: Mapping[Key, float], wanted: Mapping[Key, float]) -> list[str]:
    """A line on each number of `wanted` that differs; those of clocks may differ by seconds."""

    def apart(key: Key) -> float:
        name = key.partition(".")[0] if isinstance(key, str) else key[0]
        return MOST_APART_S if name.endswith(CLOCKED) else 1e-6

    absent = float("nan")
    keys = [key for key in wanted if not abs(found.get(key, absent) - wanted[key]) <= apart(key)]
    return [f"{what}: {key} is {found.get(key)}, not {wanted[key]}" for key in keys]
