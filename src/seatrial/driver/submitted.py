"""What was submitted to Slurm: `<archive>/<run>.submitted/`, and how it is found again."""

import hashlib
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from seatrial.archive import layout
from seatrial.archive.layout import DamagedRun, damage, read_inside, read_record
from seatrial.archive.reader import find_run
from seatrial.archive.writer import sentences
from seatrial.files.inputs import DESCRIPTION_BYTES, decoded
from seatrial.files.owners import entries, is_own, temporary_folder
from seatrial.files.writing import own_folder, tentative_folder
from seatrial.model.errors import NoRun, UsageError
from seatrial.model.settings import CheckSettings
from seatrial.slurm.queue import cancel_named

SUBMITTED = ".submitted"
JOB_FILE = "job.json"
SETTINGS_FILE = "settings-{}.json"
"""A name with the SHA-256 of the content: the file says what is executed, and may lie where others can write."""
SCRIPT_FILE = "batch.sh"
CLOSING_S = 3.0
CANCELLED = "CANCELLED"
JOB, JOB_NAME, USER = re.compile(r"\d*"), re.compile(r"(seatrial-[\w-]+)?", re.ASCII), re.compile(r"\d*")
"""What is written to job.json; a list of jobs or of names would be taken for all of them."""


class Submitted(msgspec.Struct, frozen=True, kw_only=True):
    """job.json: what was handed to the queue."""

    run: str
    what: str = "check"
    """Or `facts`: a job for each node."""
    job: str = ""
    """The number of a check's only job."""
    name: str = ""
    """The name of its jobs; no other jobs have it."""
    user: str = ""
    """Whose they are, by number."""
    at: str
    nodes: tuple[str, ...]
    left_out: dict[str, str] = {}
    """Node for which no job was handed in -> why."""
    cut: str = ""
    """What --node-hours cut away, in a sentence."""


@contextmanager
def submission(archive: Path, run: str, called: str, user: str) -> Iterator[Path]:
    """An empty folder for what is to be submitted; where that fails it is removed, and the jobs are cancelled.

    `called`, `user`: the name of the jobs, and whose they are; their numbers may not be known, since Slurm may have
    accepted them without reporting so. Raises UsageError for a name that is taken, ArchiveError.
    """
    folder = archive / f"{run}{SUBMITTED}"
    with ExitStack() as held:
        with sentences(archive):
            taken = next((one for one in (archive / run, archive / f"{run}{layout.PARTIAL}") if one.exists()), folder)
            try:
                if taken != folder:
                    raise FileExistsError
                held.enter_context(tentative_folder(folder))
            except FileExistsError as error:
                remedy = "Choose another name with --run."
                raise UsageError(f"There is a run {run!r} already: {taken}.", remedy) from error
        try:
            yield folder
        except BaseException:
            cancel_named(called, user)
            raise


@contextmanager
def batch_script(text: str) -> Iterator[Path]:
    """A file with a batch script that nobody else can replace before sbatch has read it; Slurm keeps its own copy."""
    with temporary_folder() as folder:
        script = folder / SCRIPT_FILE
        script.write_text(text, encoding="ascii")
        yield script


def write_submitted(folder: Path, submitted: Submitted) -> None:
    """Write job.json, at once or not at all. Raises ArchiveError."""
    _write(folder, JOB_FILE, submitted)


def write_settings(folder: Path, settings: CheckSettings) -> Path:
    """Write the settings with which the job starts; the path of the file. Raises ArchiveError."""
    digest = hashlib.sha256(_encoded(settings)).hexdigest()
    return _write(folder, SETTINGS_FILE.format(digest), settings)


def read_settings(path: Path) -> CheckSettings:
    """The settings in such a file. Raises DamagedRun, also where it is not what was written under that name."""
    content = read_inside(path.parent, path, DESCRIPTION_BYTES)
    if path.name != SETTINGS_FILE.format(hashlib.sha256(content).hexdigest()):
        raise DamagedRun(f"{path} is not what was submitted.", "Somebody has changed it. Submit the check again.")
    with damage():
        return decoded(content, CheckSettings, path)


def _encoded(record: msgspec.Struct) -> bytes:
    return msgspec.json.encode(record, enc_hook=str)


def _write(folder: Path, name: str, record: msgspec.Struct) -> Path:
    write_files(folder, {name: _encoded(record)})
    return folder / name


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files by their path in the folder of what is submitted, each whole or not at all. Raises ArchiveError."""
    with sentences(folder.parent), own_folder(folder) as own:
        for name, content in files.items():
            own.replace(name, content)


def await_the_last_file() -> None:
    """Wait for the last rename of a job that is over, which may still be on its way on a network file system."""
    time.sleep(CLOSING_S)


def find_submitted(archive: Path, name: str) -> tuple[Path, Submitted]:
    """The folder of what was submitted under a name, the beginning of one, or `last`.

    Raises NoRun where there is none, or several; DamagedRun for a damaged job.json.
    """
    folders = [path for path in entries(archive) if path.name.endswith(SUBMITTED) and os.path.lexists(path / JOB_FILE)]
    if name == "last" and folders:
        return _last(folders)
    given = name.removesuffix(SUBMITTED)
    exact = [folder for folder in folders if folder.name == f"{given}{SUBMITTED}"]
    found = exact or [folder for folder in folders if folder.name.startswith(given)]
    if len(found) > 1:
        names = ", ".join(sorted(folder.name.removesuffix(SUBMITTED) for folder in found)[:5])
        raise NoRun(f"{name!r} could be {len(found)} runs: {names}.")
    if not found:
        find_run(archive, name)
        raise NoRun(f"{name!r} was not submitted by --detach.", "`seatrial report` shows other runs.")
    return found[0], _read(found[0])


def _last(folders: Sequence[Path]) -> tuple[Path, Submitted]:
    """What this user submitted last, or else anybody; damaged ones are passed over. Raises DamagedRun where all are."""
    found, damaged = [], []
    for folder in [*filter(is_own, folders)] or folders:
        try:
            found.append((folder, _read(folder)))
        except DamagedRun as error:
            damaged.append(error)
    if not found:
        raise damaged[0]
    return max(found, key=lambda one: (one[1].at, one[0].name))


def _read(folder: Path) -> Submitted:
    try:
        submitted = read_record(folder, folder / JOB_FILE, Submitted, DESCRIPTION_BYTES)
        if f"{submitted.run}{SUBMITTED}" != folder.name:
            raise DamagedRun(f"{folder / JOB_FILE} names another run: {submitted.run!r}.")
        for form, word in ((JOB, submitted.job), (JOB_NAME, submitted.name), (USER, submitted.user)):
            if not form.fullmatch(word):
                raise DamagedRun(f"{folder / JOB_FILE} has {word[:40]!r}, which no job of seatrial's has.")
    except DamagedRun as error:
        raise DamagedRun(error.what, "The jobs themselves go on; squeue --me lists them.") from error
    return submitted
