"""Lmod as it really is: modules below others, its own words for what it cannot load, and the ways it is found."""

import shutil
import sys
from pathlib import Path

import pytest

from seatrial.failures.start_failure import why_not_entered
from seatrial.launch.environments.kinds import parse_environment
from seatrial.launch.mpi import find_mpi
from seatrial.model.errors import LaunchError
from seatrial.process.process import Completed, run
from tests.support import wrapper_programs

PLACES = (Path(sys.prefix) / "lmod/usr/share/lmod/lmod", Path("/usr/share/lmod/lmod"))


def lmod_home() -> Path:
    """Where Lmod is. Skips where it is not."""
    home = next((place for place in PLACES if (place / "libexec/lmod").exists()), None)
    if home is None or shutil.which("lua5.3") is None:
        pytest.skip("Lmod is not installed")
    return home


def put_modules(folder: Path) -> Path:
    """`gcc/12`, and behind it alone `openmpi/4.1`, which talks; the folder for MODULEPATH."""
    core, behind = folder / "Core", folder / "gcc12"
    (core / "gcc").mkdir(parents=True)
    (behind / "openmpi").mkdir(parents=True)
    (core / "gcc" / "12.lua").write_text(f'prepend_path("MODULEPATH", "{behind}")\n')
    (core / "strict.lua").write_text('prereq("gcc/12")\n')
    (core / "private.lua").write_text('LmodError("For members of project X alone.")\n')
    talk = 'io.stdout:write("echo said on standard output;\\n")\nLmodMessage("Read the news")\n'
    (behind / "openmpi" / "4.1.lua").write_text(f'{talk}prepend_path("PATH", "{folder}/bin")\n')
    return core


@pytest.fixture
def core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Such modules, under Lmod."""
    monkeypatch.setenv("MODULESHOME", str(lmod_home()))
    folder = put_modules(tmp_path)
    monkeypatch.setenv("MODULEPATH", str(folder))
    for name in ("mpicc", "mpiexec"):
        program = shutil.which(f"{name}.openmpi") or shutil.which(name)
        wrapper_programs.put(tmp_path / "bin", name, f'#!/bin/sh\nexec {program} "$@"\n')
    return folder


def loaded(spec: str, *argv: str, **around: str) -> Completed:
    return run(
        parse_environment(spec).wrap(argv or ["sh", "-c", "echo $LOADEDMODULES"]),
        timeout_s=60,
        extra_environment=around,
    )


def test_a_module_behind_another_decides_which_mpi_is_found(core: Path) -> None:
    found = find_mpi("", parse_environment("module:gcc/12 openmpi"))
    assert found.mpicc == str(core.parent / "bin" / "mpicc")
    done = loaded("module:gcc openmpi/4.1")
    assert done.stdout == "gcc/12:openmpi/4.1\n"
    assert "said on standard output" in done.stderr
    assert "Read the news" in done.stderr


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize(
    ("spec", "told", "remedy"),
    [
        ("module:nope/1", 'Lmod knows no module "nope/1"', "module spider"),
        ("module:openmpi/4.1", 'Lmod has "openmpi/4.1", and other modules must be loaded before it', "a compiler"),
        ("module:strict", 'load module "strict" without these module(s) loaded: gcc/12.', "Name those modules first"),
        ("module:private", "Lmod says: For members of project X alone.", "by hand"),
    ],
)
def test_what_lmod_cannot_load_is_named(spec: str, told: str, remedy: str) -> None:
    with pytest.raises(LaunchError) as caught:
        find_mpi("", parse_environment(spec))
    assert told in caught.value.what
    assert remedy in caught.value.remedy
    assert not caught.value.what.endswith("..")


def test_lmod_is_found_by_any_of_its_variables(core: Path) -> None:
    home = lmod_home()
    by_command = loaded("module:gcc/12", MODULESHOME="", LMOD_CMD=f"{home}/libexec/lmod")
    by_package = loaded("module:gcc/12", MODULESHOME="/gone", LMOD_PKG=str(home), SLURM_NODELIST="n1")
    assert [done.stdout for done in (by_command, by_package)] == ["gcc/12\n"] * 2
    there = loaded("module:gcc/12", "sh", "-c", "echo $SLURM_NODELIST", SLURM_NODELIST="n1")
    assert there.stdout == "n1\n"
    assert core.exists()


SAID_BY_SRUN = """\
0: Lmod has detected the following error: These module(s) or extension(s) exist
1: Lmod has detected the following error: These module(s) or extension(s) exist
0: but cannot be loaded as requested: "openmpi/4.1"
1: but cannot be loaded as requested: "openmpi/4.1"
0:    Try: "module spider openmpi/4.1" to see how to load the module(s).
srun: error: n1: task 0: Exited with exit code 96
0: seatrial: module load openmpi/4.1 failed
"""


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (SAID_BY_SRUN, 'Lmod has "openmpi/4.1", and other modules must be loaded before it'),
        ("ERROR: Unable to locate a modulefile for 'nope'\n", "there is no module 'nope'"),
        ("ModuleCmd_Load.c(213):ERROR:105: Unable to locate a modulefile for 'x'\n", "there is no module 'x'"),
        (
            "Loading b\n  ERROR: Module cannot be loaded due to a conflict.\n    HINT: Might\n",
            "module b conflicts with a loaded module",
        ),
        (
            "Loading x\n  Module ERROR: invalid command name\n  Please contact <x>\n",
            "modules say: invalid command name",
        ),
        ("==> Error: openmpi matches multiple packages.\n  Matching packages:\n", "Spack says: openmpi matches mul"),
        ("==> Error: Spec 'x' matches no installed packages.\n", "Spack says: Spec 'x' matches no installed packages."),
        ("sh: 11: /bin/spack: not found\n", "Spack is neither on PATH nor in SPACK_ROOT"),
        ("guix shell: error: openmpii: unknown package\n", "Guix says: openmpii: unknown package"),
        ("FATAL:   could not open image /i.sif: no such file\n", "the container does not start: could not open image"),
        ("slurmstepd-n2: error: execve(): guix: No such file or directory\n", "the program guix does not exist on n2"),
    ],
)
def test_what_the_kinds_say_is_known(said: str, told: str) -> None:
    known = why_not_entered(said)
    assert known is not None
    assert known[0].startswith(told)
    assert known[1]


def test_what_nobody_knows_is_nothing() -> None:
    assert why_not_entered("") is None
    assert why_not_entered("hello\n0: \n") is None
