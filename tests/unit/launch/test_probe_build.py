"""The probe is built once for each MPI and source, and a compiler that cannot says so."""

import shutil
import subprocess
from pathlib import Path

import pytest

from seatrial.launch import probe_build
from seatrial.launch.mpi import Family, Mpi, family_of, find_mpi, launcher_beside
from seatrial.launch.probe_build import build, default_folder, key, prebuilt
from seatrial.model.errors import LaunchError, UsageError


@pytest.fixture(scope="session")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real probe, built by the real mpicc."""
    if shutil.which("mpicc") is None:
        pytest.skip("no mpicc on PATH")
    return build(find_mpi(), tmp_path_factory.mktemp("probes"))


def test_the_real_mpicc_builds_the_real_probe(probe: Path) -> None:
    listed = subprocess.run([probe, "--list"], capture_output=True, text=True, check=True).stdout
    assert {"pingpong", "oneway"} <= set(listed.replace('"', " ").split())
    assert [path.name for path in probe.parent.iterdir()] == [probe_build.NAME]


def compiler(folder: Path, body: str = "") -> Mpi:
    """A stand-in for mpicc that keeps count of what it was asked to compile."""
    script = folder / "mpicc"
    lines = [
        "#!/bin/sh",
        'case "$1" in -show|--version) echo gcc 12; exit;; esac',
        f'echo "$@" >> {folder}/asked',
        body or 'while [ "$1" != -o ]; do shift; done; printf probe > "$2"; chmod +x "$2"',
    ]
    script.write_text("\n".join(lines) + "\n")
    script.chmod(0o755)
    return Mpi(mpicc=str(script), mpirun="", family=Family.UNKNOWN)


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "main.c").write_text("int main(void) { return 0; }\n")
    (folder / "one.h").write_text("/* nothing */\n")
    monkeypatch.setattr(probe_build, "source_folder", lambda _: folder)
    return folder


def test_it_is_not_built_twice(tmp_path: Path, sources: Path) -> None:
    mpi = compiler(tmp_path)
    first = build(mpi, tmp_path / "probes")
    assert build(mpi, tmp_path / "probes") == first
    (asked,) = (tmp_path / "asked").read_text().splitlines()
    assert asked.startswith("-std=c11 -O2 -pthread -o ")
    assert asked.endswith("/main.c -ldl")


@pytest.mark.parametrize("name", ["main.c", "one.h", "new.c"])
def test_another_source_is_another_probe(tmp_path: Path, sources: Path, name: str) -> None:
    mpi = compiler(tmp_path)
    first = build(mpi, tmp_path / "probes")
    (sources / name).write_text("/* changed */\n")
    assert build(mpi, tmp_path / "probes") != first
    assert first.exists()


def test_another_compiler_is_another_key(tmp_path: Path, sources: Path) -> None:
    files = sorted(sources.iterdir())
    mpi = compiler(tmp_path)
    first = key(mpi, files)
    assert key(mpi, files) == first
    script = Path(mpi.mpicc)
    script.write_text(script.read_text().replace("gcc 12", "gcc 13"))
    assert key(mpi, files) != first


def test_a_compile_error_is_a_sentence_with_the_compilers_words(tmp_path: Path, sources: Path) -> None:
    mpi = compiler(tmp_path, "echo 'In file included from x' >&2; echo 'main.c:1: error: no mpi.h' >&2; exit 1")
    with pytest.raises(LaunchError, match=r"could not build the probe: main\.c:1: error: no mpi\.h.*--mpicc"):
        build(mpi, tmp_path / "probes")
    assert [path for path in (tmp_path / "probes").rglob("*") if path.is_file()] == []


def test_a_full_disk_is_no_fault_of_the_compiler(tmp_path: Path, sources: Path) -> None:
    mpi = compiler(tmp_path, "echo 'ld: final link failed: No space left on device' >&2; echo 'ld error' >&2; exit 1")
    with pytest.raises(LaunchError, match=r"cannot be put into .*: No space left on device.*--probe-dir"):
        build(mpi, tmp_path / "probes")


def test_an_environment_without_home_is_no_fault_of_the_compiler(tmp_path: Path, sources: Path) -> None:
    mpi = compiler(tmp_path, "echo '[n1:7] Error: Unable to get the user home directory' >&2; exit 1")
    with pytest.raises(LaunchError, match=r"HOME is not set.*no env -i"):
        build(mpi, tmp_path / "probes")


def test_a_compiler_that_says_nothing_is_a_sentence_too(tmp_path: Path, sources: Path) -> None:
    with pytest.raises(LaunchError, match="it said nothing"):
        build(compiler(tmp_path, "exit 1"), tmp_path / "probes")


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path, sources: Path) -> None:
    (tmp_path / "probes").write_text("a file")
    with pytest.raises(LaunchError, match=r"cannot be put into .*probes.*--probe-dir"):
        build(compiler(tmp_path), tmp_path / "probes")


def test_where_probes_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEATRIAL_PROBE_DIR", "/shared/probes")
    assert default_folder() == Path("/shared/probes")
    monkeypatch.delenv("SEATRIAL_PROBE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert default_folder() == Path("/cache/seatrial/probe")


def test_a_prebuilt_probe_must_be_a_program(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("")
    plain.chmod(0o644)
    for path in (plain, tmp_path / "missing", tmp_path):
        with pytest.raises(UsageError, match=f"--probe {path} is not an executable program"):
            prebuilt(path)
    plain.chmod(0o755)
    assert prebuilt(plain) == plain.resolve()


@pytest.mark.parametrize(
    ("text", "family"),
    [("mpirun (Open MPI) 4.1.4", Family.OPEN_MPI), ("mpiexec (OpenRTE) 4.1.4", Family.OPEN_MPI),
     ("HYDRA build details:", Family.MPICH), ("Intel(R) MPI Library for Linux* OS", Family.MPICH),
     ("mpirun (PRRTE) 3", Family.OPEN_MPI), ("", Family.UNKNOWN), ("Vendor MPI 1", Family.UNKNOWN)],
)  # fmt: skip
def test_families(text: str, family: Family) -> None:
    assert family_of(text) is family


def test_the_launcher_of_the_same_mpi_is_taken(tmp_path: Path) -> None:
    for name in ("mpicc.east", "mpirun.east", "mpiexec.west", "mpirun"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    assert launcher_beside(tmp_path / "mpicc.east", "") == str(tmp_path / "mpirun.east")
    assert launcher_beside(tmp_path / "mpicc.north", str(tmp_path)) == str(tmp_path / "mpirun")
    assert launcher_beside(tmp_path / "mpicc.north", "/nowhere") == ""


def test_a_named_compiler_that_is_not_there_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no MPI compiler 'mpicc-of-nowhere'"):
        find_mpi("mpicc-of-nowhere")
