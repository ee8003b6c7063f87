"""What measures again for a proof, and by whose word: what an archive says is never executed for somebody else.

A command, a launcher and the options of Slurm come from the command line or from a run that the caller owns.
"""

import os
import shlex
from pathlib import Path

import msgspec

from seatrial.archive import layout
from seatrial.archive.reader import read_info
from seatrial.driver.custody import OWN
from seatrial.files.owners import is_own_alone, user_name
from seatrial.files.writing import opened_folder
from seatrial.model.errors import UsageError
from seatrial.model.run import RunInfo
from seatrial.model.settings import CheckSettings, Settings, SiteSettings, SlurmRequest
from seatrial.slurm.presence import is_here

LEFT_OUT = frozenset({"--archive", "--run", "--html", "--markdown", "--junit", "--plot"})
"""Options of the earlier command that name files; each has a value."""
LEFT_OUT_FLAGS = frozenset({"--json", "--detach"})


def repeatable(folder: Path, words: tuple[str, ...], site: SiteSettings) -> RunInfo:
    """What the run in `folder` says, as far as it may be executed; the rest is from the command line.

    `words`: the benchmark on the command line, or nothing; `site`: the options of a site there. Raises UsageError for
    the command of a run that is not the caller's.
    """
    own = _own_info(folder)
    info = own or read_info(folder)
    if not words and own is None:
        raise UsageError(
            f"The run in {folder} is not yours alone ({_owner(folder)}), so its command is not executed.",
            f"If it is what you want to execute, write compare A B --prove -- {shlex.join(benchmark_of(info))}",
        )
    command = info.command if own else ()
    return msgspec.structs.replace(info, command=command, launcher=_launcher(own, site), settings=_settings(own, site))


def announcement(benchmark: tuple[str, ...]) -> str:
    """What will be executed, and as whom."""
    return f"Executes as {user_name(os.geteuid())}: {shlex.join(benchmark)}"


def _own_info(folder: Path) -> RunInfo | None:
    """run.json of a run that this user owns, and that nobody else may write to; else None.

    The folder is held open: a file in it that is this user's cannot be replaced by others in the meantime. A link is
    not followed: others may have put it in the place of a run of theirs that was looked at before.
    """
    try:
        with opened_folder(folder) as handle:
            held = f"/proc/self/fd/{handle}"
            mine = is_own_alone(f"{held}/.") and is_own_alone(f"{held}/{layout.RUN_FILE}")
            return read_info(Path(held)) if mine else None
    except OSError:
        return None


def _owner(folder: Path) -> str:
    """Whose run it is, for a sentence."""
    owners = {path.stat().st_uid for path in (folder, folder / layout.RUN_FILE)} - {os.geteuid()}
    if folder.is_symlink():
        return "it is a link"
    names = ", ".join(f"it belongs to {user_name(owner)}" for owner in sorted(owners))
    return names or "others may write to it"


def _launcher(own: RunInfo | None, site: SiteSettings) -> str:
    if site.launcher == "ssh" and own is None and not site.hosts:
        raise UsageError("--launcher ssh needs to know the hosts.", "Name them with --hosts or --hostfile.")
    if site.launcher != "auto":
        return site.launcher
    if site.hosts:
        return "ssh"
    if own is not None:
        return own.launcher
    return "slurm" if is_here() else ""


def _settings(own: RunInfo | None, site: SiteSettings) -> Settings:
    """The caller's options for jobs; if none are given, those of the caller's own run."""
    if own is not None and own.settings is not None and not site.partition and site.slurm == SlurmRequest():
        return own.settings
    return CheckSettings(**{name: getattr(site, name) for name in SiteSettings.__struct_fields__})


def benchmark_of(info: RunInfo) -> tuple[str, ...]:
    """The command that measured a run, without the files that it wrote. Raises UsageError for imported values."""
    if info.launcher == "import" or not info.command:
        raise UsageError("These runs do not say how to measure again.", "Write compare A B --prove -- BENCHMARK ...")
    words: list[str] = []
    skip = False
    for word in info.command:
        name, equals, _ = word.partition("=")
        if skip:
            skip = False
        elif name in LEFT_OUT:
            skip = not equals
        elif word not in LEFT_OUT_FLAGS:
            words.append(word)
    return (OWN, *words)
