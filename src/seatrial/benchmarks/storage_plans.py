"""Runs of IOR and mdtest in the scratch folder: as much data as requested, if the file system has room for it."""

from seatrial.benchmarks.declaration import Launch, Parameter
from seatrial.benchmarks.parameters import size_bytes, whole
from seatrial.model.benchmark_run import Plan, Request, Step
from seatrial.model.errors import UsageError

APIS = ("POSIX", "MPIIO", "HDF5", "NCMPI")
LEFT_FREE = 0.1
"""Share of the free space that a run leaves alone."""


def ior_plan(request: Request) -> Plan:
    """Write and read one block for each rank, read by another node than wrote it. Raises UsageError."""
    parameters = request.parameters
    if parameters["api"] not in APIS:
        raise UsageError(
            f"--set api={parameters['api']} is not an interface of IOR.", f"Choose from {', '.join(APIS)}."
        )
    block, transfer = size_bytes(parameters, "block"), size_bytes(parameters, "transfer")
    if block % transfer:
        raise UsageError(f"--set block={block} is not a multiple of transfer={transfer}.", "Give 1GiB and 1MiB.")
    _room(request, block * request.ranks, f"{request.ranks} blocks of {block / 1e9:.2f} GB")
    repetitions = whole(parameters, "repetitions", 1, 1000)
    own = ("-F",) if whole(parameters, "own_files", 0, 1) else ()
    words = ("-a", parameters["api"], "-w", "-r", "-e", "-C", *own, "-b", str(block), "-t", str(transfer),
             "-i", str(repetitions), "-o", "ior.data")  # fmt: skip
    cached = block * request.ranks_per_node < request.memory_bytes
    doubt = " It fits into the memory: what is read may come from caches of servers." if cached else ""
    return Plan(
        steps=(Step(name="ior", argv=(request.program, *words)),),
        expected={"ranks": str(request.ranks), "repetitions": str(repetitions)},
        notes=(f"{block * request.ranks / 1e9:.2f} GB in {transfer} byte transfers, {repetitions} times.{doubt}",),
    )


def mdtest_plan(request: Request) -> Plan:
    """Create, stat, read and remove files and directories. Raises UsageError for a parameter."""
    items = whole(request.parameters, "items", 1, 10_000_000)
    iterations = whole(request.parameters, "iterations", 1, 1000)
    own = ("-u",) if whole(request.parameters, "own_directories", 0, 1) else ()
    words = ("-n", str(items), "-i", str(iterations), *own, "-d", "mdtest.files")
    return Plan(
        steps=(Step(name="mdtest", argv=(request.program, *words)),),
        expected={"ranks": str(request.ranks), "items": str(items * request.ranks)},
        notes=(f"{items * request.ranks} files and directories, {iterations} times.",),
    )


def _room(request: Request, wanted: int, what: str) -> None:
    """Raises UsageError where the scratch folder has too little space."""
    if wanted > (1 - LEFT_FREE) * request.free_bytes:
        raise UsageError(
            f"{what} do not fit: the scratch folder has {request.free_bytes / 1e9:.1f} GB free, and a tenth of it is "
            "left alone.",
            "Give smaller ones (--set block=64MiB), or another --scratch.",
        )


IOR = Launch(
    programs=("ior",),
    package="",
    plan=ior_plan,
    grows=True,
    parameters=(
        Parameter(name="block", default="1GiB", meaning="that each rank writes and reads"),
        Parameter(name="transfer", default="1MiB", meaning="bytes of one operation"),
        Parameter(name="api", default="POSIX", meaning=", ".join(APIS)),
        Parameter(name="own_files", default="1", meaning="1: a file for each rank, 0: one for all"),
        Parameter(name="repetitions", default="3", meaning="how often it writes and reads"),
    ),
)
MDTEST = Launch(
    programs=("mdtest",),
    package="",
    plan=mdtest_plan,
    grows=True,
    parameters=(
        Parameter(name="items", default="1000", meaning="files and directories of each rank"),
        Parameter(name="iterations", default="3", meaning="how often"),
        Parameter(name="own_directories", default="1", meaning="1: a directory for each rank, 0: one for all"),
    ),
)
