"""What a host is asked about the probe there, by its own shell: whether others can have written it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.launch.hosts.reach import ASK, COPY, answer_of
from seatrial.process.process import Completed, run
from tests.support.second_user import OTHER, as_user, folder_for_all, needs_root


@pytest.fixture
def probe() -> Iterator[Path]:
    """A program below a folder with the mode of /tmp, as it is on every host by itself."""
    with folder_for_all() as folder:
        folder.chmod(0o1777)
        path = folder / "user 1" / "probe"
        path.parent.mkdir(mode=0o755)
        path.parent.chmod(0o755)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
        yield path


def foreign(path: Path) -> tuple[str, ...]:
    """What the host answers that others can have written."""
    done = run(["/bin/sh", "-c", ASK], stdin=f"{path}\n", timeout_s=60)
    assert done.ok, done.stderr
    return answer_of("n1", done).foreign


def copied(path: Path) -> Completed:
    return run(["/bin/sh", "-c", COPY], stdin=f"{path}\naGVsbG8K\n", timeout_s=60)


def test_what_this_user_alone_can_have_written(probe: Path) -> None:
    assert foreign(probe) == ()
    (probe.parent.parent / "link").symlink_to("user 1")
    assert foreign(probe.parent.parent / "link" / "probe") == ()


@pytest.mark.parametrize("mode", [0o757, 0o777])
@pytest.mark.parametrize("depth", [0, 1])
def test_what_others_can_write_to(probe: Path, depth: int, mode: int) -> None:
    (probe, probe.parent)[depth].chmod(mode)
    assert foreign(probe) == (str(probe),)


@needs_root
@pytest.mark.parametrize("depth", [0, 1])
def test_what_others_own(probe: Path, depth: int) -> None:
    os.chown((probe, probe.parent)[depth], OTHER, OTHER)
    assert foreign(probe) == (str(probe),)
    os.chown(probe, OTHER, OTHER)
    os.chown(probe.parent, OTHER, OTHER)
    assert as_user(OTHER, lambda: foreign(probe)) == ()


@needs_root
def test_a_copy_in_a_folder_of_others_is_not_used(probe: Path) -> None:
    assert copied(probe).ok
    assert probe.read_text() == "hello\n"
    before = probe.stat()
    os.chown(probe.parent, OTHER, OTHER)
    done = copied(probe)
    assert not done.ok
    assert "others can write to its folders" in done.stderr
    assert os.path.samestat(probe.stat(), before), "nothing was written where others could exchange it"
