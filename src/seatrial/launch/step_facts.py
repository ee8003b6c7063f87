"""Facts of nodes through steps of a job: all nodes by one, and those that stay silent once more."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from seatrial.failures.start_failure import explain
from seatrial.launch.collector import Patience, collector
from seatrial.launch.contract import FactsReading
from seatrial.node.frame import OPENING
from seatrial.process.process import run
from seatrial.slurm import argv as slurm_argv
from seatrial.slurm import text as slurm_text
from seatrial.slurm.job import refuse_over

RETRIED_ONE_BY_ONE = 8
DUMB = "no answer"


class StepReader:
    """Reads facts in a job; `arguments`: the site's own for srun; `environment`: of the collector."""

    def __init__(
        self, job: str, arguments: Sequence[str], environment: Mapping[str, str], *, hurried: bool = False
    ) -> None:
        self._job, self._arguments, self._environment = job, tuple(arguments), environment
        self._patience = Patience(hurried=hurried)

    def read(self, nodes: Sequence[str]) -> FactsReading:
        """All nodes by one step; those that stay silent once more, few one by one and many in halves."""
        texts, silent = self._once(nodes)
        if not texts:
            refuse_over(self._job)
        if silent and len(nodes) > 1:
            missing, half = list(silent), (len(silent) + 1) // 2
            one_by_one = len(missing) <= RETRIED_ONE_BY_ONE
            groups = [[node] for node in missing] if one_by_one else [missing[:half], missing[half:]]
            with ThreadPoolExecutor(max_workers=len(groups)) as pool:
                again = list(pool.map(self.read, groups))
            for reading in again:
                texts |= reading.texts
            silent = {node: why for reading in again for node, why in reading.silent.items()}
        return FactsReading(texts=texts, silent=silent)

    def _once(self, nodes: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
        began = time.monotonic()
        patience = self._patience
        done = run(
            slurm_argv.facts_step(self._job, nodes, self._arguments),
            stdin=collector(),
            timeout_s=patience.longest_s(len(nodes)),
            extra_environment=self._environment,
            give_up=lambda said: patience.over(len(nodes), time.monotonic() - began, said),
        )
        seconds = time.monotonic() - began
        texts: dict[str, str] = {}
        strange: list[str] = []
        by_name = {name.partition(".")[0]: name for name in nodes}
        for text in slurm_text.unlabelled(done.stdout, OPENING):
            host = text.partition("\n")[0].rpartition(" ")[2]
            node = by_name.get(host.partition(".")[0])
            if not text.rstrip().endswith(f"#end {host}"):
                continue
            if node is None:
                strange.append(host)
            else:
                texts[node] = text
        if len(texts) == len(nodes):
            patience.took(seconds)
        failures = slurm_text.launch_failures(done.stderr)
        otherwise = f"{DUMB} within {seconds:.0f} s{patience.compared()}" if done.timed_out else DUMB
        failure = explain(done.stderr)
        if strange and len(strange) + len(texts) <= len(nodes):
            otherwise = f"a node answered that calls itself {', '.join(strange)}, which is not Slurm's name for it"
        elif not texts and not failure.silent:
            otherwise = failure.meaning.rstrip(".")
        return texts, {node: failures.get(node, otherwise) for node in nodes if node not in texts}
