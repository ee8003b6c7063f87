"""The question about an environment that each task answers: how it is asked, and the parser of the answers."""

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from seatrial.launch.environments.environment import SHELL
from seatrial.model.system import MpiFile
from seatrial.node.mpi import parse_file
from seatrial.process.process import Completed, run

HEARD = "seatrial-heard"
"""The line that the first task gets on standard input, as the probe gets its commands there."""


def ask(argv: Sequence[str], tasks: int, *, timeout_s: float, variables: Mapping[str, str] | None = None) -> Completed:
    """Run it; output beyond the length of this many answers is not kept, whatever else an environment prints."""
    kept_bytes = (1 << 20) + (tasks << 16)
    return run(argv, timeout_s=timeout_s, stdin=f"{HEARD}\n", extra_environment=variables, kept_bytes=kept_bytes)


MARK = "seatrial-report"
TEXT = r"""
host=unknown
read -r host </proc/sys/kernel/hostname
say() { printf 'seatrial-report %s %s %s %s\n' "$host" "$$" "$1" "$2"; }
say begin ""
case ${SLURM_PROCID:-${PMIX_RANK:-${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-}}}} in
    0)
        heard=
        IFS= read -r heard
        say heard "$heard"
        ;;
esac
export -p | while IFS= read -r line; do
    name=${line#export }
    name=${name%%=*}
    case $name in
        SLURM_* | PMI* | OMPI_* | PRTE_* | MPICH_* | HYDRA_* | HYDI_* | MPI_LOCAL* | UCX_* | FI_*)
            say variable "$name"
            ;;
    esac
done
say job "${SLURM_JOB_ID:-}"
say task "${SLURM_PROCID:-}"
say path "${PATH:-}"
say libraries "${LD_LIBRARY_PATH:-}"
[ -x "$1" ] && say program "$1"
count=0
while read -r _ place kind _; do
    case $kind in
        proc | sysfs | cgroup* | dev* | *fs_pipefs | rpc_pipefs | mqueue | securityfs | debugfs | tracefs | pstore) ;;
        bpf | configfs | fusectl | hugetlbfs | binfmt_misc | autofs | nsfs | efivarfs | selinuxfs | ramfs | squashfs) ;;
        *)
            case $place in
                / | /run/* | /sys/* | /proc/* | /etc/*) ;;
                *) [ "$((count = count + 1))" -gt 200 ] || say mount "$place" ;;
            esac
            ;;
    esac
done 2>/dev/null </proc/self/mounts
for place in /dev/infiniband /dev/dri /dev/kfd /dev/nvidia[0-9]* /dev/hfi1* /dev/cxi* /dev/knem /dev/xpmem; do
    [ -e "$place" ] && say device "$place"
done
if command -v ldd >/dev/null; then
    ldd "$1" 2>/dev/null | while read -r name _ path rest; do
        case "$path $rest" in
            "not found"*) say missing "$name" ;;
            *)
                case $name in
                    libmpi.so* | libmpich.so* | libmpi_* | libmpich-*)
                        sum=unknown
                        command -v cksum >/dev/null && sum=$(cksum <"$path")
                        say library "$sum $path"
                        ;;
                esac
                ;;
        esac
    done
fi
say end ""
"""
"""Nothing but the shell's own commands, as a pure environment may hold nothing else; ldd and cksum where they are."""


class TaskReport(msgspec.Struct, frozen=True, kw_only=True):
    """One task's answer. Empty: not set, not there, or not to be found out."""

    host: str
    variables: frozenset[str]
    """Names of those that launchers, PMI, MPI and its transports use."""
    job: str = ""
    task: str = ""
    path: str = ""
    libraries: str = ""
    """LD_LIBRARY_PATH."""
    program: bool = False
    """Whether the probe is there and may be run."""
    library: MpiFile | None = None
    """The MPI library that the probe would load."""
    missing: tuple[str, ...] = ()
    """Libraries that the probe needs and that are nowhere."""
    mounts: tuple[str, ...] = ()
    """Mount points of file systems, those of the kernel and of the system itself left out."""
    devices: tuple[str, ...] = ()
    """Devices of adapters and accelerators."""
    heard: str | None = None
    """What came on standard input; only the first task is asked, and some launchers leave the others waiting."""


def question(program: str) -> list[str]:
    """The argv that answers about `program`."""
    return [SHELL, "-c", TEXT, "sh", program]


def parse_reports(text: str) -> tuple[TaskReport, ...]:
    """Whole answers in `text`, by host; srun's labels and other programs' lines among them do not matter."""
    answers: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for line in text.splitlines():
        if MARK not in line:
            continue
        match = re.match(rf"(?:\s*\d{{1,9}}: ?)?{MARK} (\S++) (\d{{1,9}}+) (\w++) ?+(.*)$", line)
        if match:
            host, process, key, value = match.groups()
            answers.setdefault((host, process), []).append((key, value))
    whole = [
        _report(host, answer)
        for (host, _), answer in sorted(answers.items())
        if answer[0][0] == "begin" and answer[-1][0] == "end"
    ]
    return tuple(whole)


def _report(host: str, answer: Sequence[tuple[str, str]]) -> TaskReport:
    fields = dict(answer)
    return TaskReport(
        host=host,
        variables=frozenset(_all(answer, "variable")),
        job=fields.get("job", ""),
        task=fields.get("task", ""),
        path=fields.get("path", ""),
        libraries=fields.get("libraries", ""),
        program="program" in fields,
        library=parse_file(fields.get("library", "")),
        missing=tuple(_all(answer, "missing")),
        mounts=tuple(_all(answer, "mount")),
        devices=tuple(_all(answer, "device")),
        heard=fields.get("heard"),
    )


def _all(answer: Sequence[tuple[str, str]], key: str) -> Iterable[str]:
    return [value for word, value in answer if word == key]
