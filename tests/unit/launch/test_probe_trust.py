"""A shared folder of probes: no program of another user is run, whoever the victim is, and each user gets a probe."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.launch import probe_build
from seatrial.launch.mpi import Family, Mpi
from seatrial.launch.probe_build import NAME, build, key, probe_sources
from seatrial.model.errors import LaunchError
from seatrial.process.process import run
from tests.support.second_user import OTHER, THIRD, as_user, folder_for_all, needs_root

PROBE = "#!/bin/sh\necho good\n"
PLANTED = "#!/bin/sh\necho evil\n"
COMPILER = f"""#!/bin/sh
case "$1" in -show|--version) echo gcc 12; exit;; esac
while [ "$1" != -o ]; do shift; done
printf '{PROBE.encode("unicode_escape").decode()}' > "$2"; chmod 0777 "$2"
"""
pytestmark = needs_root


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Mpi, Path]]:
    """A compiler that everybody has, and a shared folder with the mode of /tmp."""
    with folder_for_all() as folder:
        sources = folder / "sources"
        sources.mkdir(mode=0o755)
        (sources / "main.c").write_text("int main(void) { return 0; }\n")
        (folder / "mpicc").write_text(COMPILER)
        (folder / "mpicc").chmod(0o755)
        monkeypatch.setattr(probe_build, "source_folder", lambda _: sources)
        shared = folder / "probes"
        shared.mkdir()
        shared.chmod(0o1777)
        yield Mpi(mpicc=str(folder / "mpicc"), mpirun="", family=Family.UNKNOWN), shared


def printed(mpi: Mpi, shared: Path) -> tuple[str, str]:
    """The probe of this user, and what it prints."""
    os.environ["TMPDIR"] = str(shared)
    probe = build(mpi, shared)
    return str(probe), run([str(probe)], timeout_s=60).stdout.strip()


def plant(mpi: Mpi, shared: Path, where: str) -> None:
    """What another user leaves under the name that the victim will look for."""
    folder = shared / where / key(mpi, probe_sources())
    folder.mkdir(parents=True)
    for path in (folder, folder.parent):
        if path != shared:
            path.chmod(0o777)
    (folder / NAME).write_text(PLANTED)
    (folder / NAME).chmod(0o777)


@pytest.mark.parametrize("victim", [0, THIRD])
def test_a_planted_program_is_not_run_and_a_probe_is_built_elsewhere(site: tuple[Mpi, Path], victim: int) -> None:
    as_user(OTHER, lambda: plant(*site, ""))
    probe, text = as_user(victim, lambda: printed(*site))
    assert text == "good"
    assert Path(probe).parent.parent.name.startswith(f"user-{victim}-")
    assert as_user(victim, lambda: printed(*site)) == (probe, "good")


@pytest.mark.parametrize("victim", [0, THIRD])
def test_a_planted_link_is_not_followed(site: tuple[Mpi, Path], victim: int) -> None:
    mpi, shared = site
    as_user(OTHER, lambda: plant(mpi, shared, "aside"))
    name = key(mpi, probe_sources())
    as_user(OTHER, lambda: (shared / name).symlink_to(shared / "aside" / name))
    assert as_user(victim, lambda: printed(*site))[1] == "good"


@pytest.mark.parametrize("victim", [0, THIRD])
def test_planted_folders_of_this_user_are_passed_over_and_nothing_is_written_into_them(
    site: tuple[Mpi, Path], victim: int
) -> None:
    mpi, shared = site
    private = shared / "private"
    private.mkdir(mode=0o700)
    os.chown(private, victim, victim)
    as_user(OTHER, lambda: (shared / f"user-{victim}-a").symlink_to(private))
    as_user(OTHER, lambda: plant(mpi, shared, f"user-{victim}-b"))
    probe, text = as_user(victim, lambda: printed(mpi, shared))
    assert text == "good"
    assert Path(probe).parent.parent.stat().st_uid == victim
    assert Path(probe).parent.parent.stat().st_mode & 0o777 == 0o700
    assert list(private.iterdir()) == []


def test_in_a_folder_of_a_group_nothing_is_built(site: tuple[Mpi, Path]) -> None:
    """Its members could put another folder in the place of any."""
    mpi, shared = site
    shared.chmod(0o2775)
    os.chown(shared, 0, THIRD)
    with pytest.raises(LaunchError, match=rf"others than root may write to {shared} \(mode 2775\).*--probe-dir"):
        build(mpi, shared)


def test_each_user_builds_one_and_all_take_that_of_root(site: tuple[Mpi, Path]) -> None:
    mpi, shared = site
    first, second = (as_user(user, lambda: printed(mpi, shared)) for user in (OTHER, THIRD))
    assert first != second
    assert (first[1], second[1]) == ("good", "good")
    shared.chmod(0o755)
    ours = printed(mpi, shared)
    assert Path(ours[0]).parent.parent == shared
    assert as_user(OTHER, lambda: printed(mpi, shared)) == ours


def test_root_takes_no_probe_of_a_user(site: tuple[Mpi, Path]) -> None:
    mpi, shared = site
    os.chown(shared, OTHER, OTHER)
    shared.chmod(0o755)
    probe, _ = as_user(OTHER, lambda: printed(mpi, shared))
    assert Path(probe).parent.parent == shared
    with pytest.raises(LaunchError, match=rf"{shared} belongs to {OTHER}"):
        build(mpi, shared)
    assert [list(path.iterdir()) for path in shared.glob("user-0-*")] == [[]], "nothing is written where others decide"


@pytest.mark.parametrize("mask", [0, 0o002, 0o077])
def test_nobody_else_may_write_to_it_whatever_the_umask(site: tuple[Mpi, Path], mask: int) -> None:
    mpi, shared = site
    before = os.umask(mask)
    try:
        probe = build(mpi, shared / "new" / "deep")
    finally:
        os.umask(before)
    paths = [path for path in (probe, *probe.parents) if shared in path.parents]
    assert [path for path in paths if path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)] == []
    assert build(mpi, shared / "new" / "deep") == probe
