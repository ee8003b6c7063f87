"""Builds the probe with the site's own mpicc, once for each MPI and source, and runs no program of other users."""

import contextlib
import hashlib
import os
import re
import tempfile
from pathlib import Path

from seatrial.files.owners import cache_folder, distrust, is_own_alone
from seatrial.launch.collector import source_folder
from seatrial.launch.environments.environment import NO_ENVIRONMENT, Environment
from seatrial.launch.mpi import Mpi
from seatrial.model.errors import LaunchError, UsageError
from seatrial.process.process import run

FLAGS = ("-std=c11", "-O2", "-pthread")
LIBRARIES = ("-ldl",)
"""Behind the sources, as linkers want it; part of the C library from glibc 2.34 on."""
NAME = "seatrial-probe"
HOMELESS = "nable to get the user home directory"
"""What programs of Open MPI 5 and later print without HOME."""
SET_HOME = "Set HOME in the environment in which it is built: no env -i, or one that passes HOME on."
OTHER_FOLDER = "Name a folder that you may write to and that all nodes see with --probe-dir."
UNTRUSTED = (
    "Only you and root may be able to write to the probe and to the folders above it: remove that right from others, "
    "name another folder with --probe-dir, or a program that you trust with --probe."
)


def default_folder() -> Path:
    """$SEATRIAL_PROBE_DIR, or the user's cache: home is what nodes of a cluster usually share."""
    named = os.environ.get("SEATRIAL_PROBE_DIR")
    if named:
        return Path(named)
    return cache_folder() / "seatrial" / "probe"


def prebuilt(path: Path) -> Path:
    """A probe that somebody built, and that the user has named; whose it is does not matter then.

    Raises UsageError where it cannot be run.
    """
    if not path.is_file() or not os.access(path, os.X_OK):
        raise UsageError(f"--probe {path} is not an executable program.")
    return path.resolve()


def key(mpi: Mpi, sources: list[Path], environment: Environment = NO_ENVIRONMENT) -> str:
    """16 hexadecimal digits that change with the sources, the flags, the environment, the compiler and its MPI."""
    digest = hashlib.sha256(repr((mpi.mpicc, FLAGS, LIBRARIES, environment.spec)).encode())
    for question in ("-show", "--version"):
        digest.update(run(environment.wrap([mpi.mpicc, question]), timeout_s=30).stdout.encode())
    for source in sources:
        digest.update(f"{source.parent.name}/{source.name}".encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:16]


def probe_sources() -> list[Path]:
    """The probe's C files and headers, without its tests."""
    folder = source_folder("probe")
    return sorted(path for path in folder.rglob("*.[ch]") if "tests" not in path.relative_to(folder).parts)


def build(mpi: Mpi, folder: Path, environment: Environment = NO_ENVIRONMENT) -> Path:
    """The probe's path, built inside `environment` if it is not there yet.

    `folder` may be shared: a probe in it is used if only this user or root can have built it, and else one in a folder
    of this user's own below. Raises LaunchError with the compiler's words, or why the folder cannot be trusted.
    """
    sources = probe_sources()
    name = key(mpi, sources, environment)
    shared = folder / name / NAME
    if not distrust(shared):
        return shared
    try:
        _make_folders(folder)
        own = folder if is_own_alone(folder) else _own_folder(folder)
        target = own / name / NAME
        if not distrust(target):
            return target
        for path in (own, target.parent):
            with contextlib.suppress(FileExistsError):
                path.mkdir(mode=0o755)
            if why := distrust(path):
                raise LaunchError(f"The probe is not built in {folder}: {why}.", UNTRUSTED)
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            new = Path(scratch) / NAME
            _compile(mpi, sources, new, folder, environment.seeing(str(target.parent.resolve()), _headers()))
            new.chmod(0o755)
            new.replace(target)
    except OSError as error:
        raise LaunchError(f"The probe cannot be put into {folder}: {error.strerror}.", OTHER_FOLDER) from error
    return target


def _own_folder(folder: Path) -> Path:
    """A folder of this user's alone in one that others share; what others put under such a name is passed over.

    Raises OSError.
    """
    prefix = f"user-{os.geteuid()}-"
    own = (path for path in sorted(folder.glob(f"{prefix}*")) if is_own_alone(path))
    return next(own, None) or Path(tempfile.mkdtemp(prefix=prefix, dir=folder))


def _make_folders(folder: Path) -> None:
    """Make a folder and those above that are missing; nobody but this user may write there. Raises OSError."""
    for path in reversed((folder, *folder.parents)):
        if not path.is_dir():
            path.mkdir(mode=0o755, exist_ok=True)


def _headers() -> str:
    return str(source_folder("probe").resolve())


def _compile(mpi: Mpi, sources: list[Path], new: Path, folder: Path, inside: Environment) -> None:
    """Build the probe as `new`. Raises LaunchError; `folder`: as the user named it."""
    units = [str(source) for source in sources if source.suffix == ".c"]
    done = run(
        inside.wrap([mpi.mpicc, *FLAGS, "-o", str(new), "-I", _headers(), *units, *LIBRARIES]), timeout_s=120
    )  # fmt: skip
    full = re.search(r"No space left on device|Disk quota exceeded", done.stderr)
    if full:
        raise LaunchError(f"The probe cannot be put into {folder}: {full.group()}.", OTHER_FOLDER)
    if not done.ok and HOMELESS in done.stderr:
        raise LaunchError(f"{mpi.mpicc} could not build the probe: HOME is not set, which Open MPI needs.", SET_HOME)
    if not done.ok:
        raise LaunchError(
            f"{mpi.mpicc} could not build the probe: {_first_error(done.stderr)}",
            "Repair the compiler, name another with --mpicc, or a prebuilt probe with --probe.",
        )


def _first_error(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), lines[0] if lines else "it said nothing")
