"""Files and folders that are judged: each is read once, since a pipe cannot be read again."""

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from seatrial.files.inputs import (
    MATRIX_BYTES,
    TABLES_BYTES,
    Allowance,
    argument_text,
    as_text,
    entries_in,
    files_in,
    open_argument,
    read_text,
    read_up_to,
)
from seatrial.importers.line_prefixes import untagged
from seatrial.model.errors import UsageError
from seatrial.model.words import name_form

MOST_FILES = 50_000
"""All ordered pairs of more than 200 nodes; a folder of more files is hardly one of results."""


class Sources:
    """What the command line names. `waiting` is called with a sentence while a pipe delivers nothing."""

    def __init__(self, paths: Sequence[Path], waiting: Callable[[str], None]) -> None:
        self.paths = tuple(paths)
        self.waiting = waiting
        self._streams: dict[Path, IO[bytes]] = {}
        self._texts: dict[Path, str] = {}
        self._folders: dict[Path, dict[str, str]] = {}

    def only(self, sentence: str) -> Path:
        """The one file or folder. Raises UsageError, which begins with the sentence, where there are several."""
        if len(self.paths) != 1:
            raise UsageError(sentence, "Give one file or folder, or name another kind with --as.")
        return self.paths[0]

    @property
    def one_file(self) -> bool:
        """Whether it is one file or pipe, and neither a folder nor several files."""
        return len(self.paths) == 1 and not self.paths[0].is_dir()

    @property
    def files(self) -> tuple[Path, ...]:
        """The files, also those in folders. Raises UsageError with the reason."""
        inner = ([path / name for name in self.folder(path)] if path.is_dir() else [path] for path in self.paths)
        return tuple(itertools.chain.from_iterable(inner))

    def together(self) -> Mapping[str, str]:
        """Name -> text of the files of the only folder, or of several files. Raises UsageError with the reason."""
        if len(self.paths) == 1:
            return self.folder(self.paths[0])
        names = Counter(path.name for path in self.paths)
        several = len({path.parent for path in self.paths}) > 1 or names.total() > len(names)
        return {
            str(Path(path.parent.name, path.name)) if several else path.name: self.text(path)
            for path in self.paths
            if not path.is_dir()
        }

    def stream(self, path: Path) -> IO[bytes]:
        """A file or pipe from its beginning. Raises UsageError with the reason."""
        if path not in self._streams:
            self._streams[path] = open_argument(path, MATRIX_BYTES, self.waiting)
        self._streams[path].seek(0)
        return self._streams[path]

    def text(self, path: Path) -> str:
        """The whole text of a file or pipe, without what mails put before lines. Raises UsageError with the reason."""
        if path not in self._texts:
            if path in self._streams:
                text = as_text(read_up_to(self.stream(path), path, TABLES_BYTES), path)
            else:
                text = argument_text(path, TABLES_BYTES, self.waiting)
            self._texts[path] = untagged(text)
        return self._texts[path]

    def folder(self, path: Path) -> Mapping[str, str]:
        """The files in a folder, of one that has folders alone those in these, hidden ones aside: name -> text.

        Raises UsageError with the reason.
        """
        if path not in self._folders:
            self._folders[path] = _texts_of(path)
            self._texts |= {path / name: text for name, text in self._folders[path].items()}
        return self._folders[path]


def _texts_of(folder: Path) -> dict[str, str]:
    together = Allowance(TABLES_BYTES, folder)
    files = files_in(folder, MOST_FILES)
    entries = () if files else entries_in(folder, MOST_FILES)
    inner = [path.name for path in entries if path.is_dir() and not path.name.startswith(".")]
    for name in inner:
        files += files_in(folder / name, MOST_FILES - len(files))
    texts = {
        str(path.relative_to(folder)): untagged(together.take(read_text(path, TABLES_BYTES, folder))) for path in files
    }
    if len({*map(name_form, inner)}) == 1:  # what most have is missing in the others, as if it were empty
        times = Counter(path.name for path in files)
        usual = [name for name, count in times.items() if 2 * count > len(inner)]
        texts = {str(Path(one, name)): "" for one in inner for name in usual} | texts
    return texts
