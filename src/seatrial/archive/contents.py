"""The last steps of every run: what it held is counted, hashed and kept as it closes, and compared when it is read."""

import contextlib
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from seatrial.archive import layout
from seatrial.archive.journal import Delivered, Entry, GroupDelivered, decode
from seatrial.archive.layout import DamagedRun, damage, read_inside
from seatrial.archive.samples import SPILL_FOLDER, NotInstalled, write_samples
from seatrial.files import writing
from seatrial.files.inputs import ALL_FACTS_BYTES, DESCRIPTION_BYTES, WIRING_BYTES, Allowance
from seatrial.files.owners import entries, is_own
from seatrial.files.writing import OwnFolder, new_folder, opened_directory, own_folder, rename_folder, unfinished
from seatrial.model.errors import SeatrialError
from seatrial.model.run import Contents, RunInfo, RunKind
from seatrial.model.words import count, some

MOST_NAMED = 5
"""Damaged files that are named; more are counted."""


class Tally:
    """Counts and hashes what a run consists of, as it is written or read."""

    def __init__(self) -> None:
        self.journal_bytes = 0
        self.entries = 0
        self.measurements = 0
        self.samples = 0
        self.files: dict[str, str] = {}
        """SHA-256 of facts and fabric.json, by their path in the folder."""
        self.error = ""
        """Why the first invalid line is invalid."""
        self._journal = hashlib.sha256()

    def add_line(self, line: bytes, entry: Entry | None) -> None:
        """One line of the journal; `entry` None: the line is invalid."""
        self._journal.update(line)
        self.journal_bytes += len(line)
        self.entries += entry is not None
        if isinstance(entry, Delivered | GroupDelivered):
            self.measurements += 1
            self.samples += len(entry.measurement.times_s)

    def add_file(self, name: str, content: bytes) -> None:
        """A file, or what replaces it."""
        self.files[name] = hashlib.sha256(content).hexdigest()

    @property
    def journal_sha256(self) -> str:
        """The SHA-256 of the journal's lines so far."""
        return self._journal.hexdigest()

    def files_text(self) -> bytes:
        """The content of files.sha256, which `sha256sum -c` reads. No name in it has a line break or a backslash."""
        return "".join(f"{digest}  {name}\n" for name, digest in sorted(self.files.items())).encode()

    def contents(self) -> Contents:
        """The record for run.json."""
        return Contents(
            journal_bytes=self.journal_bytes,
            journal_entries=self.entries,
            journal_sha256=self.journal_sha256,
            measurements=self.measurements,
            samples=self.samples,
            files=len(self.files),
            files_sha256=hashlib.sha256(self.files_text()).hexdigest(),
        )


def record(folder: OwnFolder, tally: Tally) -> Contents:
    """Write files.sha256 and return the record for run.json. Raises OSError."""
    folder.replace(layout.FILES_FILE, tally.files_text())
    return tally.contents()


def add_files(folder: Path, tally: Tally) -> None:
    """Hash the facts and fabric.json that are in a run's folder. Raises OSError."""
    for name, path in _evidence(folder):
        tally.add_file(name, read_inside(folder, path, WIRING_BYTES))


def tolerant(lines: Iterable[bytes], tally: Tally) -> Iterator[Entry]:
    """The entries of a journal; `tally` gets all lines; invalid lines are left out."""
    for line in lines:
        try:
            entry = next(decode([line]), None)
        except msgspec.DecodeError as error:
            entry = None
            tally.error = tally.error or str(error)
        tally.add_line(line, entry)
        if entry is not None:
            yield entry


def journal_damage(recorded: Contents, found: Tally) -> tuple[str, ...]:
    """How the journal that was read differs from the one with which the run was closed."""
    if found.journal_sha256 == recorded.journal_sha256:
        return ()
    numbers = (
        (found.measurements, recorded.measurements, "measurements"),
        (found.entries, recorded.journal_entries, "entries"),
        (found.journal_bytes, recorded.journal_bytes, "bytes"),
    )
    differ = [f"{now} of {then} {what}" for now, then, what in numbers if now != then]
    if not differ:
        return (f"{layout.JOURNAL_FILE} was changed: its checksum differs",)
    return (f"{layout.JOURNAL_FILE} has {', '.join(differ)}",)


def files_damage(folder: Path, recorded: Contents) -> tuple[str, ...]:
    """Which facts, and whether fabric.json, are missing, were changed or were added since the run was closed."""
    listed = _listed(folder, recorded)
    if listed is None:
        return (f"{layout.FILES_FILE} is missing or was changed: it listed {count(recorded.files, 'file')}",)
    evidence = dict(_evidence(folder))
    lost = [name for name in listed if name not in evidence]
    digests = _digests(folder, {name: path for name, path in evidence.items() if name in listed})
    changed = [name for name, digest in digests.items() if digest != listed[name]]
    added = [name for name in evidence if name not in listed]
    problems = (
        (lost, "missing"),
        (changed, "changed after the run was closed"),
        (added, "added after the run was closed"),
    )
    return tuple(f"{some(names, MOST_NAMED)}: {what}" for names, what in problems if names)


def shorter(folder: Path, info: RunInfo) -> bool:
    """Whether the length of the journal alone shows that it is not the one with which the run was closed."""
    if info.contents is None or layout.is_open(folder):
        return False
    try:
        return (folder / layout.JOURNAL_FILE).stat().st_size != info.contents.journal_bytes
    except OSError:
        return True


def _listed(folder: Path, recorded: Contents) -> Mapping[str, str] | None:
    try:
        text = read_inside(folder, folder / layout.FILES_FILE, DESCRIPTION_BYTES)
        if hashlib.sha256(text).hexdigest() != recorded.files_sha256:
            return None
        return {line[66:]: line[:64] for line in text.decode().splitlines()}
    except (DamagedRun, UnicodeDecodeError):
        return None


def _evidence(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted((folder / layout.FACTS_FOLDER).glob("*.txt")):
        if path.is_file() and not path.is_symlink():
            yield f"{layout.FACTS_FOLDER}/{path.name}", path
    if (folder / layout.FABRIC_FILE).is_file():
        yield layout.FABRIC_FILE, folder / layout.FABRIC_FILE


def _digests(folder: Path, evidence: Mapping[str, Path]) -> Mapping[str, str]:
    """SHA-256 of each file by its name; empty where it cannot be read, or more than all of them may have was read."""
    digests = {}
    together = Allowance(ALL_FACTS_BYTES + WIRING_BYTES, folder)
    for name, path in evidence.items():
        try:
            with damage():
                content = together.take(read_inside(folder, path, WIRING_BYTES))
        except DamagedRun:
            digests[name] = ""
            continue
        digests[name] = hashlib.sha256(content).hexdigest()
    return digests


CLOSED_AS = "closed"
"""Appended to the name of a run that its driver closes where that is taken."""
NO_SAMPLES = f"{layout.SAMPLES_FILE} was left out; `seatrial runs show` makes it from the journal."
CLOSED: list[Path] = []
"""The runs that this process closed: the command line judges them at its end, so that no reader need do it."""
Refusals = tuple[type[SeatrialError], ...]


def close_folder(folder: Path, info: RunInfo, tally: Tally, another: str, without: Refusals) -> tuple[Path, RunInfo]:
    """Write the last files into the folder of an open run and rename it; the folder, and run.json as it is there.

    `another`: what is appended to the run's name where that is taken. `without`: errors for which samples.parquet is
    left out, which the run's reason then states; without DuckDB it is left out silently. Raises OSError and what
    `write_samples` raises.
    """
    for name in _names(layout.run_of(folder), another):
        final = folder.with_name(name)
        if not _is_free(final):
            continue
        with own_folder(folder) as own:
            described = _with_samples(own, _named(info, name), without)
            described = msgspec.structs.replace(described, contents=record(own, tally))
            write_run_file(own, described)
            sweep(own)
            try:
                rename_folder(folder, name)
            except OSError:
                if os.path.lexists(final) and folder.exists():
                    continue  # another run was closed under this name meanwhile, or others made something of it
                raise
            with contextlib.suppress(OSError):
                own.remove(layout.LEASE_FILE)
        CLOSED.append(final)
        return final, described
    raise AssertionError  # there are names without end


def take_in(folder: Path, archive: Path) -> Path:
    """Put a run that was closed elsewhere on the same file system into an archive; its folder.

    Raises UsageError where there is a run of that name, OSError.
    """
    place = archive / folder.name
    layout.refuse_taken(archive, folder.name)
    with opened_directory(archive) as into:
        rename_folder(folder, folder.name, into)
    CLOSED[CLOSED.index(folder)] = place
    return place


def own_run(archive: Path, run: str) -> Path | None:
    """Folder in which a program that this process started closed a run: others may have taken its name before that.

    None where no such run is this user's.
    """
    return next(iter(own_among(closed_as(archive, run))), None)


def closed_as(archive: Path, run: str, repeated: str = "") -> list[Path]:
    """What has the name of a run, or one under which its driver closes it where that is taken.

    `repeated`: a pattern of what may be appended to the name where the run is made again.
    """
    names = re.compile(rf"{re.escape(run)}{repeated}(-{CLOSED_AS}(-[0-9a-f]{{8}})?)?")
    return [folder for folder in sorted(entries(archive)) if names.fullmatch(folder.name)]


def own_among(folders: Sequence[Path]) -> list[Path]:
    """Runs of an archive that are this user's, also where a file server gives them to another (root_squash)."""
    if folders and not any(map(is_own, folders)):
        made = folders[0].with_name(unfinished())
        with contextlib.suppress(OSError), new_folder(made, mode=0o700, parents=False):  # which shows to whom
            made.rmdir()
    return [*filter(is_own, folders)]


def sweep(folder: OwnFolder) -> None:
    """Remove what processes left that were killed while they wrote."""
    writing.sweep(folder.handle)
    shutil.rmtree(SPILL_FOLDER, ignore_errors=True, dir_fd=folder.handle)


def write_run_file(folder: OwnFolder, info: RunInfo) -> None:
    """run.json, replaced in one step. Raises OSError."""
    content = msgspec.json.format(msgspec.json.encode(info, enc_hook=str), indent=2) + b"\n"
    folder.replace(layout.RUN_FILE, content)


def _names(run: str, another: str) -> Iterator[str]:
    """RUN, RUN-another, then names that nobody else can choose before."""
    yield run
    yield f"{run}-{another}"
    while True:
        yield f"{run}-{another}-{secrets.token_hex(4)}"


def _is_free(final: Path) -> bool:
    """Whether a folder can get this name: nothing has it, or an empty folder of this user's."""
    return not os.path.lexists(final) or (is_own(final) and final.is_dir() and not any(final.iterdir()))


def _named(info: RunInfo, name: str) -> RunInfo:
    if name == info.run:
        return info
    taken = f"The name {info.run} was taken when this run was closed."
    return msgspec.structs.replace(info, run=name, reason=f"{info.reason} {taken}".strip())


def _with_samples(folder: OwnFolder, info: RunInfo, without: Refusals) -> RunInfo:
    if info.kind is RunKind.IMPORT:
        return info  # it has no samples
    try:
        write_samples(folder.path, info.run)
    except NotInstalled:
        return info  # whoever chose an installation without DuckDB needs no remark on every run
    except without as error:
        return msgspec.structs.replace(info, reason=f"{info.reason} {NO_SAMPLES} {error}".strip())
    return info
