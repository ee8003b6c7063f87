"""Runs of HPCG and STREAM: the grid of each rank, hpcg.dat, and threads."""

from seatrial.benchmarks.declaration import Launch, Parameter
from seatrial.benchmarks.parameters import AUTO, whole
from seatrial.model.benchmark_run import Plan, Request, Step
from seatrial.model.errors import UsageError

HPCG_DAT = "HPCG benchmark input file\nwritten by seatrial\n{nx} {nx} {nx}\n{seconds}\n"
EQUATION_BYTES = 1000
"""Memory for one equation with all levels of the grid, about: 104³ equations take 1 GB."""
USUAL_EDGE, EDGE_STEP, LEAST_EDGE = 104, 8, 16
MOST_OF_MEMORY = 0.5


def hpcg_plan(request: Request) -> Plan:
    """xhpcg with hpcg.dat. Raises UsageError for a parameter, and where the grids do not fit into the memory."""
    seconds = whole(request.parameters, "seconds", 1, 86_400)
    edge = _edge(request)
    step = Step(name="hpcg", argv=(request.program,), output="HPCG-Benchmark*.txt")
    return Plan(
        steps=(step,),
        files={"hpcg.dat": HPCG_DAT.format(nx=edge, seconds=seconds)},
        expected={"ranks": str(request.ranks), "equations": str(edge**3 * request.ranks)},
        notes=(
            f"{edge} x {edge} x {edge} equations for each rank, about "
            f"{edge**3 * EQUATION_BYTES * request.ranks_per_node / 1e9:.1f} GB of each node; {seconds} s.",
        ),
    )


def _edge(request: Request) -> int:
    """Of the grid of each rank, a multiple of 8: HPCG has four levels."""
    room = request.memory_bytes / request.ranks_per_node
    if request.parameters["edge"] != AUTO:
        edge = whole(request.parameters, "edge", LEAST_EDGE, 2048)
        if edge % EDGE_STEP:
            raise UsageError(f"--set edge={edge} is not a multiple of {EDGE_STEP}.", f"Give {edge // 8 * 8 or 16}.")
        if room and edge**3 * EQUATION_BYTES > room:
            raise UsageError(
                f"--set edge={edge}: a rank takes about {edge**3 * EQUATION_BYTES / 1e9:.1f} GB, and has "
                f"{room / 1e9:.1f} GB.",
                "Give a smaller one.",
            )
        return edge
    if not room:
        return USUAL_EDGE
    fitting = int((MOST_OF_MEMORY * room / EQUATION_BYTES) ** (1 / 3)) // EDGE_STEP * EDGE_STEP
    return max(min(fitting, USUAL_EDGE), LEAST_EDGE)


def stream_plan(request: Request) -> Plan:
    """Its arrays are as it was compiled; the ranks of the node are its threads."""
    threads = request.ranks_per_node
    argv = ("env", f"OMP_NUM_THREADS={threads}", request.program)
    expected = {"threads": str(threads)} if threads > 1 else {}
    return Plan(
        steps=(Step(name="stream", argv=argv, mpi=False),),
        expected=expected,
        notes=(f"{threads} threads. The arrays should be four times as large as the caches: "
               f"{4 * request.cache_bytes / 1e6:.0f} MB each.",) if request.cache_bytes else (f"{threads} threads.",),
    )  # fmt: skip


HPCG = Launch(
    programs=("xhpcg",),
    package="",
    plan=hpcg_plan,
    grows=True,
    parameters=(
        Parameter(name="edge", default=AUTO, meaning="of each rank's grid, a multiple of 8; auto: 104, less if needed"),
        Parameter(name="seconds", default="60", meaning="time of the measurement; 1800 for an official run"),
    ),
)
STREAM = Launch(programs=("stream", "stream_c", "stream_c.exe", "stream_omp", "stream.exe"), package="",
                plan=stream_plan)  # fmt: skip
