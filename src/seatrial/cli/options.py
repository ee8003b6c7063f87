"""Options that several commands share, and how their values are parsed."""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from seatrial.archive.inputs import MAP_BYTES, TABLES_BYTES, argument_text, read_input
from seatrial.cli.values import path_trouble
from seatrial.driver import left_settings
from seatrial.files.home_folders import state_folder
from seatrial.launch.hosts.host_file import parse_host_file
from seatrial.model.errors import UsageError
from seatrial.model.node_list import expand
from seatrial.model.settings import Start
from seatrial.model.words import count
from seatrial.render.escape import clean

MOST_FILES = 50_000
"""All ordered pairs of more than 200 nodes; a folder of more files is hardly one of results."""
UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
LONGEST_S = 366 * 86400.0
LONGEST_RUN = 100
"""Characters of a run's name; names of files and jobs are made from it."""


Archive = Annotated[
    Path | None,
    typer.Option(
        "--archive",
        help="Folder of runs.  [default: $SEATRIAL_ARCHIVE or ~/.local/state/seatrial/runs]",
        metavar="DIR",
    ),
]
EnvironmentSpec = Annotated[
    str,
    typer.Option(
        "--environment", help="Environment to build and start the probe in: module:gcc openmpi.", metavar="SPEC",
        envvar="SEATRIAL_ENVIRONMENT",
    ),
]  # fmt: skip
FabricFile = Annotated[
    str, typer.Option("--fabric", help="The fabric's cables: output of ibnetdiscover, or live.", metavar="FILE")
]
FabricDevice = Annotated[
    str,
    typer.Option("--device", help="Adapter to use on each node: mlx5_1.  [default: the first]", metavar="NAME"),
]
Storage = Annotated[
    Path | None,
    typer.Option(
        help="Folder in which storage is tried; all nodes must see it.  [default: the archive]", metavar="DIR"
    ),
]
Baseline = Annotated[
    str,
    typer.Option(help="Also compare with these runs: a baseline, or runs as compare takes them.", metavar="NAME"),
]
RoutesFile = Annotated[
    str,
    typer.Option("--routes", help="The fabric's forwarding tables: output of dump_fts, or live.", metavar="FILE"),
]


def report_file(option: typer.CallbackParam, path: Path | None) -> Path | None:
    """Where a report is to be written. Raises UsageError before anything is measured if it cannot be written there."""
    if path is None:
        return None
    given = f"{option.opts[0]} {str(path)!r}"
    if path.is_dir():
        raise UsageError(f"{given} is a folder.", "Name a file in it.")
    if path.is_socket() or path.is_block_device():
        raise UsageError(f"{given} is {'a socket' if path.is_socket() else 'a disk'}.", "Name another file.")
    if not path.parent.is_dir():
        raise UsageError(f"{given}: there is no folder {str(path.parent)!r}.", "Make it, or name another file.")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"{given} cannot be written: permission denied.", "Name another file.")
    return path


Html = Annotated[
    Path | None, typer.Option(help="Also write the report as an HTML page.", metavar="FILE", callback=report_file)
]
Markdown = Annotated[
    Path | None,
    typer.Option(
        help="Also write the report as Markdown, for a ticket or a wiki.", metavar="FILE", callback=report_file
    ),
]
Runs = Annotated[
    str,
    typer.Option("--runs", help="Instead of files: runs of the archive, as compare takes them.", metavar="RUNS"),
]
Junit = Annotated[
    Path | None,
    typer.Option(help="Also write the findings as JUnit XML, for a CI system.", metavar="FILE", callback=report_file),
]
IdleOnly = Annotated[bool, typer.Option("--idle-only", help="Only nodes that are free now; never wait in the queue.")]
Hosts = Annotated[
    str, typer.Option("--hosts", help="Hosts to measure over ssh, without Slurm: n[1-4] or n1,n3.", metavar="HOSTS")
]
HostFile = Annotated[
    Path | None,
    typer.Option("--hostfile", help="The same from a host file of Open MPI or MPICH.", metavar="FILE"),
]
LauncherName = Annotated[str, typer.Option(help="auto, slurm, local or ssh.", metavar="NAME")]
Mpicc = Annotated[str, typer.Option(help="MPI compiler to build the probe with.", metavar="FILE")]
StartedBy = Annotated[
    Start,
    typer.Option(
        help="What starts ranks through Slurm: srun, mpiexec (the MPI's own launcher inside the allocation), or auto: "
        "srun, and mpiexec where none of its --mpi works.",
    ),
]
MpiType = Annotated[str, typer.Option(help="srun's --mpi.  [default: the site's]", metavar="TYPE")]
MpirunOptions = Annotated[
    str,
    typer.Option(
        help="More options for the MPI's own launcher: '--bind-to none'.",
        metavar="WORDS",
        envvar="SEATRIAL_MPIRUN_OPTIONS",
    ),
]
NodeHours = Annotated[
    float | None,
    typer.Option(
        help="Node-hour limit; nodes or time are reduced to stay within it.  [default: no limit]", metavar="N"
    ),
]
Partition = Annotated[str, typer.Option(help="Slurm partition.  [default: the cluster's]", metavar="NAME")]
Probe = Annotated[Path | None, typer.Option(help="A prebuilt probe.", metavar="FILE")]
ProbeDir = Annotated[Path | None, typer.Option(help="Where to build the probe; all nodes must see it.", metavar="DIR")]
Replay = Annotated[str, typer.Option(help="Play a recorded run instead of measuring.", metavar="RUN")]
RoundTimeout = Annotated[
    str, typer.Option(help="Treat a round as hung after this long without output.", metavar="TIME")
]
RunName = Annotated[str, typer.Option(help="Name of the run.  [default: time and four digits]", metavar="NAME")]
Seed = Annotated[int, typer.Option(help="Seed for the random order of rounds.", min=0, metavar="N")]
Verify = Annotated[
    bool,
    typer.Option(
        "--verify", help="Compare the data of as many iterations as are timed, not only of the first and the last."
    ),
]
Wait = Annotated[str, typer.Option(help="Maximum time to wait in the Slurm queue.", metavar="TIME")]
Wrap = Annotated[
    str,
    typer.Option(
        help="Where the environment is entered: inside or outside of srun; auto: as its kind needs.",
        metavar="WHERE",
        envvar="SEATRIAL_WRAP",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


Nagios = Annotated[
    bool,
    typer.Option("--nagios", help="Print one line as a monitoring plugin, and exit with its code: 0 to 3."),
]


def archive_folder(given: Path | None) -> Path:
    """The folder of runs as given, else $SEATRIAL_ARCHIVE, else XDG state; absolute, since jobs may start elsewhere."""
    named = given or os.environ.get("SEATRIAL_ARCHIVE")
    return Path(named).absolute() if named else state_folder() / "seatrial" / "runs"


def say_first_use(given: Path | None) -> None:
    """Say on standard error where runs will be kept, if nobody named the folder and it does not exist yet."""
    if given or os.environ.get("SEATRIAL_ARCHIVE"):
        return
    folder = archive_folder(None)
    if not folder.exists():
        other = "--archive DIR or SEATRIAL_ARCHIVE names another folder"
        print(clean(f"seatrial: Runs are kept in {folder}; {other}."), file=sys.stderr)


def say_left_settings() -> None:
    """Say on standard error which settings a killed command left changed, and what to type."""
    for settings in left_settings.left_settings():
        print(clean(f"seatrial: {left_settings.warning(settings)}"), file=sys.stderr)


def seconds(text: str, option: str) -> float:
    """`90`, `90s`, `2m`, `1h` in seconds. Raises UsageError that shows the value."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(s|m|min|h|)", text.strip())
    length_s = float(match.group(1)) * UNITS[match.group(2)] if match else 0.0
    if not length_s > 0:
        raise UsageError(f"{option} {text!r} is not a valid duration.", "Write 90s, 2m or 1h.")
    if length_s > LONGEST_S:
        raise UsageError(f"{option} {text!r} is longer than a year.", "Give a shorter time: 90s, 2m or 1h.")
    return length_s


def node_hours_limit(given: float | None) -> float:
    """Node-hours as given; 0 where there is no limit. Raises UsageError for a limit that allows no run."""
    if given is not None and not given > 0:
        raise UsageError(f"--node-hours {given:g} allows no run at all.", "Give more than 0, or leave it out.")
    return given or 0.0


def time_text(seconds_: float) -> str:
    """600 -> 10m, 90 -> 90s, as `seconds` reads it: a default as an option shows it."""
    whole = seconds_ % UNITS["m"] == 0 and seconds_ > UNITS["m"]
    return f"{seconds_ / UNITS['m']:g}m" if whole else f"{seconds_:g}s"


def share_of(text: str, option: str) -> float:
    """`3%`, `0.4 %` or `0.03` as a share of one. Raises UsageError that shows the value."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+) *(%?)", text.strip())
    value = float(match.group(1)) / (100 if match.group(2) else 1) if match else 0.0
    if not 0 < value < 1:
        raise UsageError(f"{option} {text!r} is not a share between 0 and 100 %.", "Write 0.4% or 0.004.")
    return value


def run_name(text: str) -> str:
    """The name of a run as given. Raises UsageError for an invalid one."""
    if text and (not text.replace("-", "").replace("_", "").isalnum() or not text.isascii()):
        raise UsageError(f"--run {text!r} is not a valid name for a run.", "Use letters, digits, - and _.")
    if len(text) > LONGEST_RUN:
        raise UsageError(f"--run {text!r} is too long.", f"Use at most {LONGEST_RUN} characters.")
    return text


OURS = (
    "nodes", "N", "nodelist", "w", "ntasks", "n", "ntasks-per-node", "time", "t", "partition", "p", "job-name", "J",
    "jobid", "account", "A", "qos", "q", "reservation", "constraint", "C", "exclude", "x", "gres", "immediate", "I",
    "output", "o", "parsable", "overlap", "label", "l", "input", "i", "mpi", "export",
)  # fmt: skip
"""Options of salloc, sbatch and srun that seatrial sets itself, or has an option of its own for."""


def slurm_arguments(given: Sequence[str]) -> tuple[str, ...]:
    """Arguments for Slurm's commands as given. Raises UsageError for one that seatrial sets itself, or that is none."""
    for word in given:
        name = re.match(r"--([^=]+)", word) or re.match(r"-([A-Za-z])", word)
        if name is None:
            raise UsageError(f"--slurm-arg {word!r} is not an option.", "Write --slurm-arg=--comment=acceptance.")
        if name.group(1) in ("clusters", "M"):
            remedy = "Set SLURM_CLUSTERS to that cluster: then its nodes are also those that are chosen."
            raise UsageError(f"--slurm-arg {word!r} asks another cluster, which may have nodes of equal names.", remedy)
        if name.group(1) in OURS:
            remedy = "Use the option of seatrial, or leave it out."
            raise UsageError(f"--slurm-arg {word!r}: seatrial sets this option of Slurm itself.", remedy)
    return tuple(given)


def file_or_live(text: str) -> str:
    """`live`, or a file's absolute path, since jobs may start elsewhere; empty stays empty."""
    if text in ("", "live"):
        return text
    return str(real_path(text).absolute())


def real_path(text: str) -> Path:
    """A path given as text. Raises UsageError for one that no file system takes."""
    if wrong := path_trouble(text):
        raise UsageError(f"{text!r} cannot be read.", wrong)
    return Path(text)


def read_text(path: Path, most_bytes: int = MAP_BYTES) -> str:
    """A file or pipe that the command line names, foreign bytes replaced. Raises UsageError with the reason."""
    return argument_text(path, most_bytes, say_waiting)


def say_waiting(sentence: str) -> None:
    """Say on standard error what the command waits for."""
    print(f"seatrial: {clean(sentence)}", file=sys.stderr)


def read_texts(folder: Path) -> dict[str, str]:
    """The files right in a folder, hidden ones aside, name -> text. Raises UsageError with the reason."""
    try:
        files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error.strerror}.") from error
    if len(files) > MOST_FILES:
        raise UsageError(f"{folder} has {count(len(files), 'file')}; at most {MOST_FILES} are read.")
    texts: dict[str, str] = {}
    left_bytes = TABLES_BYTES
    for path in files:
        content = read_input(path, left_bytes, folder)
        left_bytes -= len(content)
        texts[path.name] = content.decode("utf-8", errors="replace")
    return texts


def width_and_colour() -> tuple[int, bool]:
    """Columns of the terminal, and whether it wants colour (NO_COLOR is heeded)."""
    terminal = sys.stdout.isatty()
    return shutil.get_terminal_size((100, 40)).columns, terminal and not os.environ.get("NO_COLOR")


def parse_nodes(text: str, what: str = "--nodes") -> tuple[str, ...]:
    """n[1-3],n7 -> its nodes. `what`: the option that gave them. Raises UsageError that shows the text."""
    if not text:
        return ()

    try:
        nodes = expand(text)
    except ValueError as error:
        raise UsageError(f"{what} {text!r} is not a valid list of nodes: {error}.", "Write n[1-4] or n1,n3.") from error
    if not nodes:
        raise UsageError(f"{what} {text!r} names no node.", "Write n[1-4] or n1,n3.")
    return nodes


BRACKETED = re.compile(r"\[([0-9A-Fa-f.]*:[0-9A-Fa-f:.%\w]*)\]")
"""An IPv6 address as URLs have it, which would be read as a range of numbers."""


def hosts_of(names: str, file: Path | None) -> tuple[str, ...]:
    """What --hosts and --hostfile name. Raises UsageError for both at once, and for what is not valid."""
    if file is None:
        if address := BRACKETED.search(names):
            raise UsageError(
                f"--hosts {names!r}: the IPv6 address {address[1]} cannot be given to mpirun.",
                "Give the host a name in DNS or /etc/hosts.",
            )
        return parse_nodes(names, "--hosts")
    if names:
        raise UsageError("--hosts and --hostfile cannot be given together.", "Give only one of them.")
    try:
        hosts = parse_host_file(read_text(file))
    except ValueError as error:
        raise UsageError(
            f"--hostfile {str(file)!r}: {error}.", "Write one host on each line: n1, n1:2 or n1 slots=2."
        ) from error
    if not hosts:
        raise UsageError(f"--hostfile {str(file)!r} names no host.", "Write one host on each line: n1 or n1 slots=2.")
    return hosts


def mpirun_words(text: str) -> tuple[str, ...]:
    """`--bind-to none` -> its words, quoted as in a shell. Raises UsageError for quotes that do not end."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"--mpirun-options {text!r}: {error}.", "Close each quote.") from error


def rail_names(text: str) -> tuple[str, ...]:
    """`eth0,eth1` -> eth0, eth1; `auto`: none. Raises UsageError that shows the value."""
    if text == "auto":
        return ()
    names = tuple(word.strip() for word in text.split(","))
    if len(names) < 2 or not all(re.fullmatch(r"[\w.-]+(:\d+)?", name, re.ASCII) for name in names):
        raise UsageError(
            f"--rails {text!r} is not a list of two or more rails.", "Write eth0,eth1, mlx5_0:1,mlx5_1:1 or auto."
        )
    return names
