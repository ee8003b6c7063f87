"""A launch line (`srun -n 4 --cpu-bind=none ./app -x`) taken apart: launcher, its options, the program."""

import enum
import re
from collections.abc import Iterable, Sequence

import msgspec

from seatrial.model.errors import UsageError


class Dialect(enum.StrEnum):
    """Who starts the ranks."""

    SRUN = "srun"
    OPEN_MPI = "Open MPI"
    HYDRA = "Hydra"


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a launcher's options."""

    values: dict[str, int]
    """Name -> how many words follow it."""
    binds: frozenset[str]
    """They choose cores, or lay ranks out, and would contradict a binding that is given rank by rank."""
    pipes: frozenset[str]
    """They send standard input or output elsewhere, or write into it."""
    count: frozenset[str]
    """How many ranks."""
    cores_each: frozenset[str]
    """How many processors for each rank."""


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _one(words: str) -> dict[str, int]:
    return dict.fromkeys(words.split(), 1)


SRUN = Options(
    values=_one(
        "A account B extra-node-info C constraint D chdir G gpus J job-name L licenses M clusters N nodes S core-spec "
        "T threads a b begin c cpus-per-task cpus-per-gpu d dependency e error export F nodefile gid gpu-bind "
        "gpu-freq gpus-per-node gpus-per-socket gpus-per-task gres gres-flags hint i input jobid m distribution "
        "mail-type mail-user mcs-label mem mem-bind mem-per-cpu mem-per-gpu mincpus mpi n ntasks network "
        "ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket ntasks-per-tres o output open-mode p "
        "partition power priority prolog epilog profile q qos R r relative reservation signal slurmd-debug "
        "sockets-per-node cores-per-socket threads-per-core spread t time time-min task-epilog task-prolog "
        "thread-spec tmp tres-per-task U u-id uid use-min-nodes w nodelist W wait wckey x exclude bb bbf bcast-exclude "
        "cluster-constraint comment compress-with container cpu-bind cpu_bind cpu-freq deadline delay-boot "
        "accel-bind acctg-freq het-group pack-group kill-after thread-spec switches treewidth"
    ),
    binds=_names("cpu-bind cpu_bind hint"),
    pipes=_names("i input o output e error l label pty"),
    count=_names("n ntasks"),
    cores_each=_names("c cpus-per-task"),
)
OPEN_MPI = Options(
    values=_one(
        "np n c N H host hostfile machinefile default-hostfile map-by rank-by bind-to cpu-set cpu-list rf rankfile "
        "npernode npersocket ppr prefix path wdir wd x am tune app output-filename output-proc output stdin timeout "
        "report-pid report-uri max-restarts cpus-per-proc cpus-per-rank slot-list preload-files personality "
        "ompi-server dvm launch-agent xterm debugger max-vm-size server-wait-time set-cwd-to-session-dir rd"
    )
    | dict.fromkeys(("mca", "gmca", "omca", "pmixmca", "prtemca"), 2),
    binds=_names(
        "map-by rank-by bind-to cpu-set cpu-list rf rankfile npernode pernode npersocket ppr N bycore bynode "
        "byslot bind-to-core bind-to-socket bind-to-none cpus-per-proc cpus-per-rank slot-list use-hwthread-cpus "
        "nolocal nooversubscribe"
    ),
    pipes=_names("output-filename output stdin tag-output timestamp-output xml xml-file merge-stderr-to-stdout"),
    count=_names("np n c"),
    cores_each=_names("cpus-per-proc cpus-per-rank"),
)
HYDRA = Options(
    values=_one(
        "n np hosts host f hostfile machinefile ppn perhost wdir envlist genvlist path gpath launcher bootstrap "
        "launcher-exec bootstrap-exec rmk bind-to binding map-by membind topolib iface outfile-pattern errfile-pattern "
        "prepend-pattern demux nameserver usize s configfile arch pmi-port-range localhost gpus-per-proc "
        "gpu-subdevs-per-proc profile-args"
    )
    | dict.fromkeys(("env", "genv"), 2),
    binds=_names("bind-to binding map-by"),
    pipes=_names("s l prepend-rank prepend-pattern outfile-pattern errfile-pattern"),
    count=_names("n np"),
    cores_each=_names(""),
)
OPTIONS = {Dialect.SRUN: SRUN, Dialect.OPEN_MPI: OPEN_MPI, Dialect.HYDRA: HYDRA}


LAUNCHERS = re.compile(r"(srun|mpirun|mpiexec|orterun|prterun)([._-][\w.+-]*)?", re.ASCII)
SHELLS = re.compile(r"(ba|da|z|k|c|tc)?sh|sbatch")
PLAIN_WORDS = "Write -- srun -n 4 ./app, or -- mpirun -np 4 ./app."
ONE_THREAD = ("hint", "threads-per-core")
"""Options by which Slurm counts one processor of each core."""


class Wrapper(msgspec.Struct, frozen=True, kw_only=True):
    """One of them with its own words. `binds`: it chooses processors, or memory to go with them."""

    words: tuple[str, ...]
    binds: bool = False


class _OptionStyle(msgspec.Struct, frozen=True, kw_only=True):
    """How an option is written. `values`: options that take the next word; `places`: other words before the program."""

    values: frozenset[str] = frozenset()
    places: int = 0
    binding: frozenset[str] | None = frozenset()
    """Options by which it binds; None: it always does."""


def _manner(values: str = "", places: int = 0, binding: str | None = "") -> _OptionStyle:
    chosen = None if binding is None else frozenset(binding.split())
    return _OptionStyle(values=frozenset(values.split()), places=places, binding=chosen)


_PROCESSORS = "N C cpunodebind physcpubind"
_WRAPPERS = {
    "env": _manner("u C S unset chdir split-string"),
    "nice": _manner("n adjustment"),
    "ionice": _manner("c n class classdata"),
    "nohup": _manner(),
    "time": _manner("f o format output"),
    "stdbuf": _manner("i o e input output error"),
    "timeout": _manner("k s kill-after signal", places=1),
    "salloc": _OptionStyle(values=frozenset(SRUN.values)),
    "numactl": _manner(f"{_PROCESSORS} m p i w P membind preferred interleave", binding=_PROCESSORS),
    "taskset": _manner(places=1, binding=None),
    "likwid-pin": _manner("c s", binding=None),
    "hwloc-bind": _manner("mempolicy pid", binding=None),
}
"""The options of env(1), nice(1), taskset(1), numactl(8), hwloc-bind(1) and their like; salloc takes srun's options."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.ASCII | re.DOTALL)
_LOCATION = re.compile(r"~?\^?(all|root|0x[0-9a-fA-F]+|[a-zA-Z]+[0-9]{0,9}:[0-9a-z:.=-]+)")


def unwrapped(words: Sequence[str]) -> tuple[tuple[Wrapper, ...], tuple[str, ...]]:
    """What comes before the program that the words start in the end, one after the other; and the rest."""
    wrappers: list[Wrapper] = []
    rest = tuple(words)
    while rest and (manner := _WRAPPERS.get(rest[0].rpartition("/")[2])):
        taken, binds = _taken(rest, manner)
        wrappers.append(Wrapper(words=rest[:taken], binds=binds))
        rest = rest[taken:]
    return tuple(wrappers), rest


def words_of(wrappers: Iterable[Wrapper], *, bound: bool) -> list[str]:
    """All their words; without `bound` those that bind are left out."""
    return [word for one in wrappers if bound or not one.binds for word in one.words]


def assigned(words: Sequence[str]) -> tuple[str, ...]:
    """`A=1 srun app`, which a shell would understand, as `env A=1 srun app`."""
    return ("env", *words) if words and _ASSIGNMENT.fullmatch(words[0]) else tuple(words)


def _taken(words: Sequence[str], manner: _OptionStyle) -> tuple[int, bool]:
    """How many words are the wrapper's, and whether it binds."""
    name = words[0].rpartition("/")[2]
    binds, places, at = manner.binding is None, manner.places, 1
    while at < len(words):
        word = words[at]
        if word == "--":
            return at + 1, binds
        if word.startswith("-") and len(word) > 1:
            option = word.lstrip("-").partition("=")[0]
            short = option[:1] if not word.startswith("--") else option
            binds = binds or (manner.binding is not None and not manner.binding.isdisjoint((option, short)))
            at += 2 if option in manner.values and "=" not in word else 1
        elif places:
            places, at = places - 1, at + 1
        elif (name == "env" and _ASSIGNMENT.fullmatch(word)) or (name == "hwloc-bind" and _LOCATION.fullmatch(word)):
            at += 1
        else:
            break
    return min(at, len(words)), binds


class LineOption(msgspec.Struct, frozen=True, kw_only=True):
    """One option with its values, as it was written; `name` without dashes."""

    name: str
    words: tuple[str, ...]
    value: str = ""


class LaunchLine(msgspec.Struct, frozen=True, kw_only=True):
    """`before`: what comes before the launcher (`env A=1`); `wrappers`: in front of the program (`numactl`)."""

    dialect: Dialect
    before: tuple[Wrapper, ...]
    launcher: str
    options: tuple[LineOption, ...]
    wrappers: tuple[Wrapper, ...] = ()
    program: tuple[str, ...]
    cores: int | None = None
    """Cores for each rank, by --cores."""

    @property
    def ranks(self) -> int | None:
        """The number of ranks that the line asks for; None if it leaves that to the launcher."""
        return self._number(OPTIONS[self.dialect].count)

    @property
    def cores_each(self) -> int | None:
        """Cores that the line asks for each rank, be it by its number of threads; None where it does not."""
        if self.cores:
            return self.cores
        bind = " ".join(one.value for one in self.options if one.name in ("map-by", "bind-to"))
        match = re.search(r"(?i)\bPE=(\d{1,4})|^core:(\d{1,4})", bind)
        if match:
            return int(match[1] or match[2]) or None
        asked = self._number(OPTIONS[self.dialect].cores_each)
        if asked:
            return asked if self.dialect is not Dialect.SRUN or self._one_thread else None
        return self.threads

    @property
    def processors_each(self) -> int | None:
        """Processors that srun is asked for each rank, where it counts all threads of a core; else None."""
        if self.cores or self.dialect is not Dialect.SRUN or self._one_thread:
            return None
        return self._number(OPTIONS[self.dialect].cores_each) or None

    @property
    def threads(self) -> int | None:
        """OMP_NUM_THREADS, where the line sets it."""
        words = [*words_of((*self.before, *self.wrappers), bound=True), *(each.value for each in self.options)]
        counts = [match[1] for word in words for match in re.finditer(r"\bOMP_NUM_THREADS[= ](\d{1,4})", word)]
        return int(counts[-1]) or None if counts else None

    @property
    def _one_thread(self) -> bool:
        return any(one.name in ONE_THREAD and one.value in ("nomultithread", "1") for one in self.options)

    def _number(self, names: frozenset[str]) -> int | None:
        values = [one.value for one in self.options if one.name in names and one.value.isascii()]
        return int(values[-1]) if values and values[-1].isdigit() and 0 < len(values[-1]) < 8 else None

    def option(self, *names: str) -> str:
        """The value of the last option of these names; empty without one."""
        return next((one.value for one in reversed(self.options) if one.name in names), "")

    def argv(
        self, program: Sequence[str], *, add: Sequence[str] = (), bound: bool = True, piped: bool = True
    ) -> list[str]:
        """The line with another program, and `add` after its options, in front of them where one hides its value.

        `bound`: with the options and wrappers that bind; `piped`: with those that turn standard input and output
        elsewhere.
        """
        known = OPTIONS[self.dialect]
        left = [
            word
            for one in self.options
            if (bound or one.name not in known.binds) and (piped or one.name not in known.pipes)
            for word in one.words
        ]
        options = [*add, *left] if any(not one.name for one in self.options) else [*left, *add]
        before, wrappers = words_of(self.before, bound=bound), words_of(self.wrappers, bound=bound)
        return [*before, self.launcher, *options, *wrappers, *program]


def launcher_place(words: Sequence[str]) -> int:
    """The place of the launcher in the line. Raises UsageError if there is none."""
    wrapped = len(words) - len(unwrapped(words)[1])
    for place, word in enumerate(words[wrapped:], start=wrapped):
        if LAUNCHERS.fullmatch(word.rpartition("/")[2]):
            return place
    shown = " ".join(words) or "nothing"
    if any(SHELLS.fullmatch(word.rpartition("/")[2]) for word in words) or (len(words) == 1 and " " in words[0]):
        raise UsageError(
            f"{shown!r} is a script or one word for a shell, not a launch line.",
            f"Give the line of it that starts the ranks, word by word. {PLAIN_WORDS}",
        )
    raise UsageError(
        f"{shown!r} is not a launch line: srun, mpirun, mpiexec, orterun and prterun are understood.", PLAIN_WORDS
    )


def launcher_of(words: Sequence[str]) -> str:
    """The word that starts the ranks. Raises UsageError where there is none."""
    words = assigned(words)
    return words[launcher_place(words)]


def is_srun(launcher: str) -> bool:
    """Whether the word that starts the ranks is Slurm's, whatever its folder and suffix."""
    return launcher.rpartition("/")[2].startswith("srun")


def parse_line(words: Sequence[str], dialect: Dialect, program: str = "", cores: int | None = None) -> LaunchLine:
    """The line taken apart. `program`: the word that is the program, where options or a script hide it.

    `cores`: cores for each rank, whatever the line says. Raises UsageError for a line without a launcher or a
    program, and for one that starts several programs.
    """
    words = assigned(words)
    place = launcher_place(words)
    rest = tuple(words[place + 1 :])
    if program and program not in rest:
        raise UsageError(
            f"--program {program!r} is not a word of the launch line.", "Write it as it appears in the line."
        )
    options, first = _options(rest, OPTIONS[dialect], rest.index(program) if program else None)
    names = {one.name for one in options}
    if "multi-prog" in names or "configfile" in names or "app" in names or ":" in rest[first:]:
        raise UsageError("The launch line starts several programs.", "Give one that starts a single one.")
    wrappers, started = unwrapped(rest[first:])
    if not started:
        raise UsageError(f"The launch line {' '.join(words)!r} has no program.", "Write -- srun -n 4 ./app.")
    before, others = unwrapped(words[:place])
    return LaunchLine(
        dialect=dialect,
        before=(*before, Wrapper(words=others)) if others else before,
        launcher=words[place],
        options=options,
        wrappers=wrappers,
        program=started,
        cores=cores,
    )


def _options(rest: Sequence[str], dialect_options: Options, program: int | None) -> tuple[tuple[LineOption, ...], int]:
    """The options, and where the program, or what is wrapped around it, begins."""
    parsed: list[LineOption] = []
    place = 0
    while place < len(rest) and (program is None or place < program):
        word = rest[place]
        if word == "--":
            return tuple(parsed), place + 1
        if not word.startswith("-") or word == "-":
            if program is None or not unwrapped(rest[place:program])[1]:
                return tuple(parsed), place
            parsed.append(LineOption(name="", words=(word,)))
            place += 1
            continue
        option, taken = _option(rest[place:], dialect_options)
        end = place + taken
        if program is not None and end > program:
            end = program
            option = msgspec.structs.replace(option, words=tuple(rest[place:end]))
        parsed.append(option)
        place = end
    return tuple(parsed), place if program is None else program


def _option(rest: Sequence[str], dialect_options: Options) -> tuple[LineOption, int]:
    """The option that `rest` begins with, and how many words it takes."""
    word = rest[0]
    name, equals, value = word.lstrip("-").partition("=")
    if equals:
        return LineOption(name=name, words=(word,), value=value), 1
    if (
        name not in dialect_options.values
        and dialect_options is OPTIONS[Dialect.SRUN]
        and not word.startswith("--")
        and len(name) > 1
    ):
        return LineOption(name=name[0], words=(word,), value=name[1:] if name[0] in dialect_options.values else ""), 1
    values = dialect_options.values.get(name, 0)
    words = tuple(rest[: 1 + values])
    return LineOption(name=name, words=words, value=" ".join(words[1:])), len(words)
