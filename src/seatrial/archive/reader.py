"""Reads runs back."""

import os
import stat
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from seatrial.archive import layout
from seatrial.archive.contents import Tally, files_damage, journal_damage, tolerant
from seatrial.archive.journal import (
    GROUPS,
    PAIRS,
    BenchmarkPlanned,
    DefaultStarted,
    Delivered,
    Entry,
    GroupDelivered,
    GroupRoundStarted,
    RoundEnded,
    RoundStarted,
    SessionLost,
    SessionStarted,
    StartFailed,
    StepEnded,
    StoredMeasurements,
    SurveyPlanned,
    decode,
    of_type,
)
from seatrial.archive.layout import (
    DamagedRun,
    damage,
    opened_inside,
    read_inside,
    read_record,
    refuse_later,
    refuse_many,
)
from seatrial.fabric import routed_fabric as routed
from seatrial.files.inputs import (
    ALL_FACTS_BYTES,
    DESCRIPTION_BYTES,
    FACTS_BYTES,
    JOURNAL_BYTES,
    WIRING_BYTES,
    Allowance,
    as_text,
    decoded,
    journal_lines,
    read_up_to,
)
from seatrial.files.owners import entries, is_own, is_own_or_roots
from seatrial.model import formats
from seatrial.model.errors import NoRun, SeatrialError
from seatrial.model.facts import NodeFacts
from seatrial.model.measurement import DefaultStart, GroupMeasurement, Measurement, ProbeStart
from seatrial.model.run import Ending, RecordedRun, RunInfo, RunKind, with_kinds
from seatrial.node.node import AlikeParser
from seatrial.node.rank_places import rank_places

OF_ROUNDS = (RoundStarted, GroupRoundStarted, Delivered, GroupDelivered, RoundEnded)
"""Entries of which a soak of days has more than memory holds; its measurements are read when they are needed."""
LAST = "last"
"""Names the last run: of this user's own if there is one, and not one that is yet to begin."""
AHEAD_S = 600.0
"""A clock that is this much ahead is wrong: time services keep clocks within seconds, and a time zone is more."""
RESTORE = "Restore the files from a copy; `seatrial runs export` writes the samples that are left."


class _Heading(msgspec.Struct, frozen=True):
    """What every format of run.json has."""

    format: int
    started: str = ""


def read_info(folder: Path) -> RunInfo:
    """run.json of the run in `folder`, which has the name of the folder: a copy, and whoever made a run for others to
    read, may say that of another run. Raises DamagedRun.
    """
    return msgspec.structs.replace(info_as_written(folder), run=_run_in(folder))


def _run_in(folder: Path) -> str:
    """The name of a run by its folder's; a link is another name for a run that is in the same archive."""
    place = Path(os.path.abspath(folder))  # noqa: PTH100 - `./` and `..` have no name
    real = Path(os.path.realpath(place))
    return layout.run_of(real if real.parent == Path(os.path.realpath(place.parent)) else place)


def info_as_written(folder: Path) -> RunInfo:
    """run.json of the run in `folder`, with the name of the run as it says. Raises DamagedRun."""
    path = folder / layout.RUN_FILE
    content = _description(folder)
    with damage():
        refuse_later(path, decoded(content, _Heading, path).format, formats.RUN)
        return decoded(content, RunInfo, path)


def _description(folder: Path) -> bytes:
    """The text of run.json. Raises DamagedRun, also for large ones of a user who has too many of them."""
    path = folder / layout.RUN_FILE
    with opened_inside(folder, path, DESCRIPTION_BYTES) as stream, damage():
        refuse_many(stream, path)
        return read_up_to(stream, path, DESCRIPTION_BYTES)


def read_entries(folder: Path, left_out: tuple[type[Entry], ...] = ()) -> list[Entry]:
    """The journal of the run in `folder`, a torn last line and some kinds of entries left out. Raises DamagedRun."""
    path = folder / layout.JOURNAL_FILE
    try:
        with opened_inside(folder, path, JOURNAL_BYTES) as journal, damage():
            return [entry for entry in decode(journal_lines(journal, path)) if not isinstance(entry, left_out)]
    except (OSError, msgspec.DecodeError) as error:
        raise DamagedRun(f"{path} cannot be read: {error}.", "seatrial runs recover gives back what it can.") from error


def read_journal(
    folder: Path, info: RunInfo, left_out: tuple[type[Entry], ...] = ()
) -> tuple[list[Entry], tuple[str, ...]]:
    """The journal, and how a closed run differs from what was recorded when it was closed, a sentence each.

    Of a changed journal every readable line is returned. `left_out`: entries that are checked, but not returned.
    Raises DamagedRun.
    """
    if info.contents is None or layout.is_open(folder):
        return read_entries(folder, left_out), ()
    path = folder / layout.JOURNAL_FILE
    tally = Tally()
    entries: list[Entry] = []
    if os.path.lexists(path):
        try:
            with opened_inside(folder, path, JOURNAL_BYTES) as journal, damage():
                readable = tolerant(journal_lines(journal, path), tally)
                entries = [entry for entry in readable if not isinstance(entry, left_out)]
        except OSError as error:
            raise DamagedRun(f"{path} cannot be read: {error}.") from error
    differences = journal_damage(info.contents, tally)
    if tally.error and not differences:
        raise DamagedRun(
            f"{path} cannot be read: {tally.error}.", "A newer seatrial may have written it; use that one."
        )
    return entries, (*differences, *files_damage(folder, info.contents))


def damage_of(folder: Path, info: RunInfo) -> tuple[str, ...]:
    """How a closed run differs from what was recorded when it was closed; empty: not at all. Raises DamagedRun."""
    return read_journal(folder, info)[1] if info.contents is not None else ()


def refuse_damaged(folder: Path) -> None:
    """Raise DamagedRun where the files of a closed run are not those with which it was closed."""
    if differences := damage_of(folder, read_info(folder)):
        raise DamagedRun(f"The run in {folder} is damaged: {'; '.join(differences)}.", RESTORE)


def read_facts_texts(folder: Path, reading: str) -> dict[str, str]:
    """Raw facts by node, of one reading (`before` or `after`). Raises DamagedRun."""
    texts = {}
    together = Allowance(ALL_FACTS_BYTES, folder / layout.FACTS_FOLDER)
    for path in sorted((folder / layout.FACTS_FOLDER).glob(f"*.{reading}.txt")):
        node, _ = layout.node_of(path)
        with damage():
            texts[node] = as_text(together.take(read_inside(folder, path, FACTS_BYTES)), path)
    return texts


def parse_all(
    texts: dict[str, str], features: Mapping[str, tuple[str, ...]] = MappingProxyType({})
) -> dict[str, NodeFacts]:
    """Facts by node, with the kinds that `features` declare; a text without facts is left out."""
    parsed = {}
    parser = AlikeParser()
    for node, text in texts.items():
        try:
            parsed[node] = parser.parse(text)
        except SeatrialError:
            continue
    return with_kinds(parsed, features)


def header_of(entries: Iterable[Entry]) -> dict[str, object]:
    """What the probe reported about itself in the run's first session; empty without a session."""
    sessions = of_type(entries, SessionStarted)
    return sessions[0].header if sessions else {}


def ranks_of(entries: Iterable[Entry]) -> dict[str, dict[str, Any]]:
    """What the rank on each node or place reported about itself in the run's first session."""
    sessions = of_type(entries, SessionStarted)
    return dict(zip(sessions[0].nodes, sessions[0].ranks, strict=False)) if sessions else {}


def starts_of(entries: Iterable[Entry], nodes: Iterable[str]) -> tuple[ProbeStart, ...]:
    """The launches of the probe whose ranks reported their place, then those that failed; `nodes`: those of the run."""
    entries, nodes = list(entries), tuple(nodes)
    variants = {one.session: one.round.variant for one in of_type(entries, RoundStarted)}
    came_up = tuple(
        ProbeStart(
            session=one.session, ranks=rank_places(one.nodes, one.ranks, nodes), variant=variants.get(one.session, "")
        )
        for one in of_type(entries, SessionStarted)
        if one.ranks
    )
    failed = of_type(entries, StartFailed)
    return came_up + tuple(ProbeStart(session=0, ranks=(), variant=one.variant, failure=one.failure) for one in failed)


def measurements_of(entries: Iterable[Entry]) -> tuple[Measurement, ...]:
    """All measurements in order."""
    return tuple(entry.measurement for entry in of_type(entries, Delivered))


def group_measurements_of(entries: Iterable[Entry]) -> tuple[GroupMeasurement, ...]:
    """All measurements of kernels that are not pairs, in order."""
    return tuple(entry.measurement for entry in of_type(entries, GroupDelivered))


def default_start_of(entries: Iterable[Entry]) -> DefaultStart | None:
    """The last launch with the binding of the MPI's own launcher; None without one."""
    starts = of_type(entries, DefaultStarted)
    return starts[-1].start if starts else None


def read_run(folder: Path) -> RecordedRun:
    """Everything that verdicts and reports are made from. Raises DamagedRun."""
    info = read_info(folder)
    is_long = info.kind is RunKind.SOAK
    entries, differences = read_journal(folder, info, OF_ROUNDS if is_long else ())
    if differences:
        info = msgspec.structs.replace(info, ending=Ending.DAMAGED, reason=f"{'; '.join(differences)}.")
    planned = [pair for entry in of_type(entries, SurveyPlanned) for pair in entry.pairs]
    return RecordedRun(
        info=info,
        planned=tuple(planned),
        facts=parse_all(read_facts_texts(folder, layout.BEFORE), info.features),
        facts_after=parse_all(read_facts_texts(folder, layout.AFTER), info.features),
        measurements=StoredMeasurements(folder, PAIRS) if is_long else measurements_of(entries),
        group_measurements=StoredMeasurements(folder, GROUPS) if is_long else group_measurements_of(entries),
        starts=starts_of(entries, info.nodes),
        default_start=default_start_of(entries),
        losses=tuple(entry.loss for entry in of_type(entries, SessionLost)),
        sessions=len(of_type(entries, SessionStarted)),
        wiring=read_wiring(folder),
        plan=next((entry.plan for entry in of_type(entries, BenchmarkPlanned)), None),
        steps=tuple(entry.step for entry in of_type(entries, StepEnded)),
        damage=differences,
    )


def read_wiring(folder: Path) -> "routed.RoutedFabric | None":
    """The fabric's cables and routes that were given to the run in `folder`; None without any. Raises DamagedRun."""
    path = folder / layout.FABRIC_FILE
    if not os.path.lexists(path):
        return None
    try:
        return routed.RoutedFabric(read_record(folder, path, routed.Routing, WIRING_BYTES))
    except LookupError as error:
        raise DamagedRun(f"{path} cannot be read: {error}.", "Without that file, leaves alone are known.") from error


def run_folders(archive: Path) -> list[Path]:
    """All runs of an archive, those still growing or cut off included, oldest first."""
    if not archive.is_dir():
        return []
    return [folder for *_, folder in _dated(archive)]


def trusted_runs(archive: Path) -> list[Path]:
    """Runs of this user and of root, the newest first: anybody may put others into a shared archive."""
    return [folder for folder in reversed(run_folders(archive)) if is_own_or_roots(folder)]


def _dated(archive: Path) -> list[tuple[str, str, Path]]:
    """When each run began, its name and its folder, in this order."""
    return sorted((_started(path), path.name, path) for path in entries(archive) if has_run_file(path))


def is_ahead(started: str) -> bool:
    """Whether a run began later than it is now by this machine's clock, so that one of the clocks is wrong."""
    latest = datetime.now(UTC) + timedelta(seconds=AHEAD_S)
    return started > latest.strftime("%Y-%m-%dT%H:%M:%S")


def has_run_file(folder: Path) -> bool:
    """Whether anything of that name exists; an unreadable folder counts, since it may hold a run.

    A link of somebody else counts only if it leads to that user's own run: others would show this user's as theirs.
    """
    try:
        link = folder.lstat()
        if stat.S_ISLNK(link.st_mode) and link.st_uid not in (0, os.geteuid(), folder.stat().st_uid):
            return False
        os.lstat(folder / layout.RUN_FILE)
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return True


def _started(folder: Path) -> str:
    """When it began, as text that sorts by time: with or without a fraction of the second."""
    try:
        with damage():
            return decoded(_description(folder), _Heading, folder / layout.RUN_FILE).started.removesuffix("Z")
    except DamagedRun:
        return ""


def where_now(folder: Path) -> Path:
    """The present folder of a run that was found in `folder`: an open run is renamed when a process begins to close it,
    and again afterwards.
    """
    if has_run_file(folder):
        return folder
    run = layout.run_of(folder)
    others = [path for path in entries(folder.parent) if layout.run_of(path) == run and has_run_file(path)]
    return min(others, key=lambda path: len(path.name), default=folder)


def find_run(archive: Path, name: str) -> Path:
    """The folder of a run: a path, a run's name or the beginning of one, or `last`.

    Only a path with a slash is looked for outside the archive: others may write to the current folder, and a folder
    `last` there would be taken for the newest run. Raises NoRun for no match, or several.
    """
    if "/" in name and has_run_file(Path(name)):
        return Path(name)
    if not archive.is_dir():
        what = f"There is no folder {archive} of runs, and so no run {name!r}."
        raise NoRun(what, "Measure first, or name another folder with --archive.")
    if name == LAST:  # others may have put a run there that begins in a hundred years
        dated = _dated(archive)
        if not dated:
            raise NoRun(f"The folder {archive} has no runs.", "Measure first, or name another folder with --archive.")
        return max(dated, key=lambda run: (run[0] != "", is_own(run[2]), not is_ahead(run[0]), run))[2]
    folders = sorted(path for path in entries(archive) if has_run_file(path))
    closed = [folder for folder in folders if folder.name == name]  # whatever others call an open run of theirs
    exact = closed or [folder for folder in folders if layout.run_of(folder) == name]
    matching = exact or [folder for folder in folders if folder.name.startswith(name)]
    if len(matching) == 1:
        return matching[0]
    if not matching:
        beside = f"For the one in the current folder write ./{name}." if has_run_file(Path(name)) else ""
        raise NoRun(f"There is no run {name!r} in {archive}.", beside or "seatrial runs list shows those there are.")
    raise NoRun(f"{name!r} could be {len(matching)} runs: {', '.join(folder.name for folder in matching[:5])}.")
