"""No text decides: with every meaning, remedy and reason replaced, the program does the same."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from seatrial.commands.check.judge import judge
from seatrial.failures import cause
from seatrial.failures.start_failure import explain
from seatrial.launch.session import PipeSession
from seatrial.model.errors import LaunchError
from seatrial.model.run import Ending, NodeCause, NodeState
from seatrial.slurm.queue import parse_queue
from tests.support.builders import Cluster, names, sail

SCRAMBLED = "Zyx wvu tsr."
OUTPUTS = (
    "",
    "The moon is full",
    "[n1:7] Local abort before MPI_INIT completed completed",
    "srun: fatal: SLURM_MEM_PER_CPU and SLURM_MEM_PER_NODE are mutually exclusive",
    "UCX  ERROR no usable transports/devices (asked rc_x on all devices)",
    "srun: error: Couldn't find the specified plugin name for mpi/pmix looking at all files",
    "srun: error: Unable to create step for job 7: Job/step already completing or completed",
    "/p: error while loading shared libraries: libmpi.so.40: cannot open shared object file: No such file or directory",
)
REASONS = (
    "None",
    "Resources",
    "Priority",
    "PartitionDown",
    "PartitionTimeLimit",
    "QOSMaxCpuPerUserLimit",
    "AssocGrpCpuLimit",
    "JobHeldUser",
    "ReqNodeNotAvail, UnavailableNodes:n3",
    "DependencyNeverSatisfied",
    "A_reason_of_tomorrow",
)


@pytest.fixture
def scrambled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Other texts in every table of causes."""
    tables, reasons = cause.parse_table, cause.reasons()

    def scrambled(entries: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(
            msgspec.structs.replace(entry, meaning=SCRAMBLED, remedy=entry.remedy and SCRAMBLED) for entry in entries
        )

    monkeypatch.setattr(cause, "parse_table", lambda text: scrambled(tables(text)))
    monkeypatch.setattr(cause, "reasons", lambda: scrambled(reasons))
    cause.causes.cache_clear()
    yield
    monkeypatch.undo()
    cause.causes.cache_clear()


def decisions(folder: Path) -> dict[str, Any]:
    """What is decided by causes, without any of their words."""
    found: dict[str, Any] = {}
    for number, output in enumerate(OUTPUTS):
        known = explain(output)
        found[f"explained {output}"] = (known.transient, known.other_mpi_type, known.silent, bool(known.remedy))
        file = folder / f"{len(list(folder.iterdir()))}-{number}"
        file.write_text(output)
        with pytest.raises(LaunchError) as caught:
            PipeSession(["sh", "-c", f"cat {file} >&2; exit 1"], ("n1", "n2"), folder / "err", timeout_s=60)
        (folder / "err").unlink()
        found[f"started {output}"] = (caught.value.transient, caught.value.other_mpi_type)
    for reason in REASONS:
        (line,) = parse_queue(f"7|PENDING|n1|{reason}")
        found[f"pending {reason}"] = (line.ended, bool(line.hopeless))
    return found


def test_decisions_about_failed_starts_and_waiting_jobs_do_not_depend_on_words(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    before, words = decisions(tmp_path), [explain(output).meaning for output in OUTPUTS]
    request.getfixturevalue("scrambled")
    assert any(explain(output).meaning.startswith(SCRAMBLED) for output in OUTPUTS)
    assert [explain(output).meaning for output in OUTPUTS] != words
    assert decisions(tmp_path) == before
    assert len(set(map(str, before.values()))) > 4, "there are different decisions"


@pytest.mark.parametrize("node_cause", list(NodeCause))
@pytest.mark.parametrize("fault", [True, False])
def test_the_judgement_does_not_depend_on_the_words_of_a_reason(node_cause: NodeCause, fault: bool) -> None:
    judged = []
    for reason in ("Slurm says down (Not responding)", "did not answer: ResumeTimeout reached", SCRAMBLED):
        state = NodeState(node="n4", reason=reason, fault=fault, cause=node_cause)
        recorded = sail(Cluster(nodes=names(4)), lost=(state,))
        info = msgspec.structs.replace(recorded.info, ending=Ending.FAILED, reason=reason)
        judgement = judge(msgspec.structs.replace(recorded, info=info))
        found = [(one.kind, one.subject, one.verdict) for one in judgement.findings]
        judged.append((judgement.verdict, judgement.exit_code, judgement.complete, found))
    assert judged[0] == judged[1] == judged[2]
