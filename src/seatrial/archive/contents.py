"""What a run held when it was closed: counted and hashed while it is written, compared when it is read."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from seatrial.archive import layout
from seatrial.archive.journal import Delivered, Entry, GroupDelivered, decode
from seatrial.archive.layout import DamagedRun, damage, read_inside
from seatrial.files.inputs import ALL_FACTS_BYTES, DESCRIPTION_BYTES, WIRING_BYTES, Allowance
from seatrial.files.writing import OwnFolder
from seatrial.model.run import Contents, RunInfo
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
