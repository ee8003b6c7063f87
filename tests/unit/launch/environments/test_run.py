"""MPI found, built for and started in an environment, by what is really installed here."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from seatrial.archive.reader import read_info
from seatrial.commands.check.run import run_check
from seatrial.commands.placement.run import run_placement
from seatrial.driver.detached import settings_within
from seatrial.driver.site import choose_launcher, environment_of
from seatrial.driver.submitted import read_settings, write_settings
from seatrial.launch import probe_build
from seatrial.launch.environments.environment import Where
from seatrial.launch.environments.kinds import parse_environment
from seatrial.launch.local import LocalLauncher
from seatrial.launch.mpi import Family, find_mpi
from seatrial.launch.probe_build import NAME, build, default_folder, key, probe_sources
from seatrial.model.errors import LaunchError, UsageError
from seatrial.model.settings import CheckSettings, PlacementSettings
from seatrial.process.process import run
from tests.support import wrapper_programs
from tests.support.command_line import Seatrial
from tests.support.made_once import made_once

MPIS = {"openmpi": Family.OPEN_MPI, "mpich": Family.MPICH}


def folder_of(mpi: str, home: Path) -> Path:
    """A folder whose mpicc and mpiexec are those of one MPI. Skips where that is not installed."""
    for name in ("mpicc", "mpiexec"):
        program = shutil.which(f"{name}.{mpi}")
        if program is None:
            pytest.skip(f"{name}.{mpi} is not installed")
        wrapper_programs.put(home / mpi / "bin", name, f'#!/bin/sh\nexec {program} "$@"\n')
    return home / mpi / "bin"


@pytest.fixture(scope="module")
def probe() -> Path:
    """Built outside of any environment."""
    return build(find_mpi(), default_folder())


@pytest.fixture
def modules(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Modules openmpi and mpich, each of which makes mpicc another one; the folder of the probes built with them."""
    if not Path("/usr/share/modules/init/sh").exists():
        pytest.skip("environment modules are not installed")

    def make(folder: Path) -> None:
        files = folder / "modulefiles" / "mpi"
        files.mkdir(parents=True)
        for mpi in MPIS:
            programs = folder_of(mpi, folder).relative_to(folder)
            (files / mpi).write_text(f"#%Module\nprepend-path PATH {folder.with_name('modules') / programs}\n")

    made = made_once(tmp_path_factory, "modules", make)
    monkeypatch.setenv("MODULEPATH", str(made / "modulefiles"))
    return made.with_name("modules-probes")


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("mpi", MPIS)
def test_a_module_decides_which_mpi_is_found(mpi: str) -> None:
    found = find_mpi("", parse_environment(f"module:mpi/{mpi}"))
    assert found.family is MPIS[mpi]
    assert Path(found.mpicc).parts[-3:] == (mpi, "bin", "mpicc")
    assert Path(found.mpirun).parts[-3:] == (mpi, "bin", "mpiexec")


def test_a_module_decides_which_mpi_is_built_with_and_measured(tmp_path: Path, modules: Path) -> None:
    settings = CheckSettings(
        archive=tmp_path, launcher="local", budget_s=1, environment="module:mpi/mpich", probe_dir=modules
    )
    outcome = run_check(settings)
    info = read_info(outcome.folder)
    assert (info.environment, info.wrap) == ("module:mpi/mpich", "outside")
    assert info.mpi_library.startswith("MPICH")
    assert outcome.recorded.measurements


@pytest.mark.usefixtures("modules")
def test_what_is_not_in_a_module_is_said() -> None:
    with pytest.raises(LaunchError, match=r"module:nope cannot be entered here: .*nope"):
        find_mpi("", parse_environment("module:nope"))
    with pytest.raises(UsageError, match="no MPI compiler 'mpicc-of-nowhere' in module:mpi/mpich"):
        find_mpi("mpicc-of-nowhere", parse_environment("module:mpi/mpich"))


@pytest.fixture
def in_nix_store(tmp_path: Path) -> Iterator[str]:
    """MPICH's folder as a path of Nix's store, which needs no network."""
    if shutil.which("nix-store") is None:
        pytest.skip("Nix is not installed")
    folder_of("mpich", tmp_path)
    added = run(["nix-store", "--add", str(tmp_path / "mpich")], timeout_s=60)
    if not added.ok:
        pytest.skip(f"Nix has no store to write to: {added.stderr.strip()}")
    path = added.stdout.strip()
    yield path
    run(["nix-store", "--delete", path], timeout_s=60)


def test_nix_really_enters(in_nix_store: str, tmp_path: Path) -> None:
    environment = parse_environment(f"nix:{in_nix_store}")
    mpi = find_mpi("", environment)
    assert mpi.mpicc == f"{in_nix_store}/bin/mpicc"
    assert mpi.mpirun == f"{in_nix_store}/bin/mpiexec"
    assert mpi.family is Family.MPICH
    recorder = wrapper_programs.put(tmp_path, "recorder", wrapper_programs.RECORDER)
    words = ["a b", "$(x)", "'\"", "line\nfeed", ""]
    done = run(environment.wrap([str(recorder), *words]), timeout_s=60)
    assert done.ok, done.stderr
    assert wrapper_programs.written(recorder) == words


def test_a_script_wraps_launcher_or_ranks(tmp_path: Path, probe: Path) -> None:
    """Local, so the environment is around mpirun, and inside where that is asked for."""
    record = tmp_path / "started"
    wrap = wrapper_programs.put(tmp_path, "wrap", f'#!/bin/sh\nprintf "%s\\n" "$1" >>{record}\nexec "$@"\n')
    settings = CheckSettings(archive=tmp_path, launcher="local", environment=f"script:{wrap}", probe=probe)
    started = {}
    for where in ("auto", "inside"):
        launcher = choose_launcher(msgspec.structs.replace(settings, wrap=where))
        assert isinstance(launcher, LocalLauncher)
        record.unlink()
        launcher.start(launcher.hosts().nodes, tmp_path / "log").close()
        started[where] = [Path(line).name for line in record.read_text().splitlines()]
    assert started == {"auto": ["mpiexec"], "inside": ["seatrial-probe", "seatrial-probe"]}


def test_a_probe_belongs_to_its_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "main.c").write_text("int main(void) { return 0; }\n")
    monkeypatch.setattr(probe_build, "source_folder", lambda _: sources)
    record = tmp_path / "started"
    wrap = wrapper_programs.put(tmp_path, "wrap", f'#!/bin/sh\nprintf "%s\\n" "$2" >>{record}\nshift\nexec "$@"\n')
    one, other = (parse_environment(f"script:{wrap} {value}") for value in "bc")
    mpi = find_mpi("", one)
    assert len({key(mpi, []), key(mpi, [], one), key(mpi, [], other)}) == 3
    record.unlink()
    folder = tmp_path / "probes"
    assert build(mpi, folder, one) == folder / key(mpi, probe_sources(), one) / NAME
    assert record.read_text().splitlines()[:3] == [mpi.mpicc] * 3


def test_pmi_lost_in_a_script_ends_a_check_before_it_measures(tmp_path: Path, probe: Path) -> None:
    bare = wrapper_programs.put(tmp_path, "bare", '#!/bin/sh\nexec env -i PATH="$PATH" "$@"\n')
    settings = CheckSettings(
        archive=tmp_path, launcher="local", environment=f"script:{bare}", wrap="inside", probe=probe
    )
    with pytest.raises(LaunchError, match=r"loses PMI.* each rank is a world of its own") as caught:
        run_check(settings)
    assert "env -i" in caught.value.remedy
    (folder,) = tmp_path.glob("*-check-*/run.json")
    assert json.loads(folder.read_text())["environment"] == f"script:{bare}"


def test_a_detached_check_takes_its_environment_along(tmp_path: Path) -> None:
    settings = CheckSettings(archive=tmp_path, environment="module:a 'b c'", wrap="inside")
    given = read_settings(write_settings(tmp_path, settings_within(settings, "x")))
    assert (given.environment, given.wrap) == ("module:a 'b c'", "inside")


def test_the_command_line_and_the_site_name_an_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial
) -> None:
    options = ["check", "--launcher", "local", "--archive", str(tmp_path)]
    assert "conda:x" in seatrial(*options, "--environment", "conda:x", code=64).err
    monkeypatch.setenv("SEATRIAL_ENVIRONMENT", "script:/gone")
    monkeypatch.setenv("SEATRIAL_WRAP", "outside")
    assert "script:/gone cannot be entered here" in seatrial(*options, code=2).err
    assert "--wrap 'x' is not one of auto, inside, outside" in seatrial(*options, "--wrap", "x", code=64).err


def test_a_launch_line_finds_its_mpirun_in_the_environment(tmp_path: Path, modules: Path) -> None:
    """Debian's own mpiexec is that of Open MPI."""
    site = CheckSettings(archive=tmp_path, environment="module:mpi/mpich", probe_dir=modules, run="line")
    found = run_placement(PlacementSettings(site=site, words=("mpiexec", "-n", "1", "/bin/true"), starts=0))
    info = read_info(found.folder)
    assert (info.environment, info.wrap) == ("module:mpi/mpich", "outside")
    assert info.command[:3] == ("placement", "--environment", "module:mpi/mpich")
    assert info.mpi_library.startswith("MPICH")
    absent = PlacementSettings(
        site=CheckSettings(archive=tmp_path, environment="module:mpi/mpich"),
        words=("mpirun.nowhere", "/bin/true"),
        starts=0,
    )
    with pytest.raises(UsageError, match=r"no mpirun\.nowhere in module:mpi/mpich"):
        run_placement(absent)


def test_a_replay_enters_nothing(tmp_path: Path) -> None:
    settings = CheckSettings(archive=tmp_path, replay=tmp_path, environment="script:/w")
    assert not environment_of(settings, local=False)
    here = CheckSettings(archive=tmp_path, environment="guix:openmpi")
    assert environment_of(here, local=True).where is Where.OUTSIDE
    assert environment_of(here, local=False).where is Where.INSIDE
