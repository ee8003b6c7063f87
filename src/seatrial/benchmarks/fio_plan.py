"""A run of fio: a file larger than what the page cache would hide, if the file system has room for it."""

from seatrial.benchmarks.declaration import Launch, Parameter
from seatrial.benchmarks.parameters import AUTO, size_bytes, whole
from seatrial.model.benchmark_run import Plan, Request, Step
from seatrial.model.errors import UsageError

MODES = ("write", "read", "randwrite", "randread", "rw", "randrw")
LEFT_FREE = 0.1
"""Share of the free space that a run leaves alone."""
MIB = 1 << 20


def fio_plan(request: Request) -> Plan:
    """One job in the scratch folder, past the page cache where `direct` says so. Raises UsageError for a parameter."""
    parameters = request.parameters
    mode = parameters["mode"]
    if mode not in MODES:
        raise UsageError(f"--set mode={mode} is not a valid mode.", f"Choose from {', '.join(MODES)}.")
    direct = whole(parameters, "direct", 0, 1)
    jobs = whole(parameters, "jobs", 1, 1024)
    block = size_bytes(parameters, "block")
    size, note = _size(request, direct=bool(direct))
    if size * jobs > (1 - LEFT_FREE) * request.free_bytes:
        raise UsageError(
            f"{jobs} files of {size / 1e9:.1f} GB do not fit: the scratch folder has {request.free_bytes / 1e9:.1f} "
            "GB free, and a tenth of it is left alone.",
            "Give a smaller --set size, or another --scratch.",
        )
    words = [
        f"--name={mode}", f"--rw={mode}", f"--size={size}", f"--bs={block}", f"--direct={direct}",
        f"--numjobs={jobs}", "--group_reporting", "--directory=.", "--end_fsync=1", "--output-format=json",
        f"--runtime={whole(parameters, 'seconds', 1, 86400)}",
    ]  # fmt: skip
    return Plan(steps=(Step(name="fio", argv=(request.program, *words), mpi=False),), notes=(note,))


def _size(request: Request, *, direct: bool) -> tuple[int, str]:
    """Bytes of a file, and a sentence on it. Through the page cache it is twice the memory."""
    if request.parameters["size"] != AUTO:
        size = size_bytes(request.parameters, "size")
        cached = not direct and 0 < size < 2 * request.memory_bytes
        doubt = " It is less than twice the memory: the page cache may serve it." if cached else ""
        return size, f"A file of {size / 1e9:.2f} GB as requested.{doubt}"
    size = (4096 * MIB) if direct else 2 * request.memory_bytes
    if not size:
        raise UsageError("The memory of the node is not known.", "Give the size: --set size=64GiB.")
    why = "past the page cache" if direct else "twice the memory, so that the page cache cannot serve it"
    return size, f"A file of {size / 1e9:.2f} GB: {why}."


FIO = Launch(
    programs=("fio",),
    package="fio",
    plan=fio_plan,
    ranks_per_node=1,
    parameters=(
        Parameter(name="mode", default="write", meaning=", ".join(MODES)),
        Parameter(name="size", default=AUTO, meaning="of the file; auto: 4GiB, twice the memory with direct=0"),
        Parameter(name="block", default="1MiB", meaning="bytes of one operation"),
        Parameter(name="jobs", default="1", meaning="processes at once, each with its own file"),
        Parameter(name="direct", default="1", meaning="1: past the page cache, 0: through it"),
        Parameter(name="seconds", default="60", meaning="longest time"),
    ),
)
