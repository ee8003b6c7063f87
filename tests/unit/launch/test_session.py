"""A session that does not come up says why, by all that was printed."""

from pathlib import Path

import pytest

from seatrial.launch.session import PipeSession
from seatrial.model.errors import LaunchError

UCX = "UCX  ERROR no usable transports/devices (asked rc_x on all devices)"


def failed(script: str, folder: Path) -> LaunchError:
    with pytest.raises(LaunchError) as caught:
        PipeSession(["sh", "-c", script], ("n1", "n2"), folder / f"{abs(hash(script))}.err", timeout_s=60)
    return caught.value


def test_what_is_said_on_standard_output_counts(tmp_path: Path) -> None:
    error = failed(f"echo '{UCX}'; echo 'MPI_Init: no luck' >&2; exit 1", tmp_path)
    assert "UCX finds none of the devices that it may use (asked rc_x on all devices)" in error.what
    assert "UCX_TLS" in error.remedy
    assert not error.transient


def test_a_start_that_failed_for_no_known_reason_may_pass_by_itself(tmp_path: Path) -> None:
    assert failed("echo 'The moon is full' >&2; exit 1", tmp_path).transient
    guessed = failed("echo '[n1:7] Local abort before MPI_INIT completed completed' >&2; exit 1", tmp_path)
    assert "MPI_Init failed on n1" in guessed.what
    assert (bool(guessed.remedy), guessed.transient) == (True, True)
    assert not failed(
        "echo 'srun: fatal: SLURM_MEM_PER_CPU and SLURM_MEM_PER_NODE are mutually exclusive' >&2; exit 1", tmp_path
    ).transient


def test_endless_banter_is_not_kept(tmp_path: Path) -> None:
    error = failed("yes 'not a record' | head -100000; exit 1", tmp_path)
    assert len(error.what) < 400
