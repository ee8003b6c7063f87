"""Runs of HPL and HPCC: the order of the matrix from the node's memory, the process grid, HPL.dat and hpccinf.txt."""

import math

from seatrial.benchmarks.declaration import Launch, Parameter
from seatrial.benchmarks.parameters import AUTO, share, whole
from seatrial.model.benchmark_run import Plan, Request, Step
from seatrial.model.errors import UsageError

WORD_BYTES = 8
LEAST_ORDER, MOST_ORDER = 64, 100_000_000
PARAMETERS = (
    Parameter(name="order", default=AUTO, meaning="order N of the matrix; auto: from memory", grows=0.5),
    Parameter(name="block", default="192", meaning="block size NB; the order is a multiple of it"),
    Parameter(name="memory", default="80%", meaning="share of the nodes' memory that the matrix takes"),
)
# The 31 lines of HPL.dat are positional (TUNING in HPL's sources); each is a value and a comment.
LINES = """HPLinpack benchmark input file
written by seatrial
HPL.out output file name (if any)
{device} device out (6=stdout,7=stderr,file)
1 # of problems sizes (N)
{order} Ns
1 # of NBs
{block} NBs
0 PMAP process mapping (0=Row-,1=Column-major)
1 # of process grids (P x Q)
{p} Ps
{q} Qs
16.0 threshold
1 # of panel fact
2 PFACTs (0=left, 1=Crout, 2=Right)
1 # of recursive stopping criterium
4 NBMINs (>= 1)
1 # of panels in recursion
2 NDIVs
1 # of recursive panel fact.
1 RFACTs (0=left, 1=Crout, 2=Right)
1 # of broadcast
1 BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1 # of lookahead depth
1 DEPTHs (>=0)
2 SWAP (0=bin-exch,1=long,2=mix)
64 swapping threshold
0 L1 in (0=transposed,1=no-transposed) form
0 U  in (0=transposed,1=no-transposed) form
1 Equilibration (0=no,1=yes)
8 memory alignment in double (> 0)
"""
PTRANS = """##### This line (no. 32) is ignored (it serves as a separator). ######
0 Number of additional problem sizes for PTRANS
1200 values of N
0 number of additional blocking sizes for PTRANS
40 values of NB
"""


def grid(ranks: int) -> tuple[int, int]:
    """P and Q with P x Q = ranks, P <= Q and P as large as it can be: HPL is fastest on a grid that is nearly square.

    The source is TUNING of HPL, "How many process grid configurations".
    """
    p = next(p for p in range(math.isqrt(ranks), 0, -1) if ranks % p == 0)
    return p, ranks // p


def order_of(memory_bytes: int, block: int) -> int:
    """The largest order, a multiple of the block, whose matrix of 8-byte words fits into the memory."""
    return math.isqrt(memory_bytes // WORD_BYTES) // block * block


def input_text(order: int, block: int, ranks: int, device: str = "6") -> str:
    """HPL.dat. `device`: 6 for standard output, anything else for the file HPL.out."""
    p, q = grid(ranks)
    return LINES.format(order=order, block=block, p=p, q=q, device=device)


def hpl_plan(request: Request) -> Plan:
    """xhpl with HPL.dat. Raises UsageError for a parameter, and where memory is not known."""
    order, block, notes = _sizes(request)
    step = Step(name="hpl", argv=(request.program,))
    return Plan(
        steps=(step,),
        files={"HPL.dat": input_text(order, block, request.ranks)},
        expected={"ranks": str(request.ranks), "order": str(order), "tests": "1"},
        notes=notes,
    )


def hpcc_plan(request: Request) -> Plan:
    """hpcc with hpccinf.txt; its results are in hpccoutf.txt. Errors as of `hpl_plan`."""
    order, block, notes = _sizes(request)
    step = Step(name="hpcc", argv=(request.program,), output="hpccoutf.txt")
    return Plan(
        steps=(step,),
        files={"hpccinf.txt": input_text(order, block, request.ranks, "8") + PTRANS},
        expected={"ranks": str(request.ranks), "order": str(order)},
        notes=notes,
    )


def _sizes(request: Request) -> tuple[int, int, tuple[str, ...]]:
    """Order, block size, and a sentence on how they were chosen."""
    block = whole(request.parameters, "block", 1, 4096)
    p, q = grid(request.ranks)
    memory = request.memory_bytes * request.nodes
    if request.parameters["order"] != AUTO:
        order = whole(request.parameters, "order", LEAST_ORDER, MOST_ORDER)
        if memory and order**2 * WORD_BYTES > memory:
            raise UsageError(
                f"--set order={order}: its matrix takes {order**2 * WORD_BYTES / 1e9:.1f} GB, and the nodes have "
                f"{memory / 1e9:.1f} GB of memory.",
                f"Give at most {order_of(int(0.9 * memory), block)}.",
            )
        return order, block, (f"Order {order} as requested, process grid {p} x {q}.",)
    if not memory:
        raise UsageError("The memory of the nodes is not known.", "Give the order: --set order=20000.")
    order = order_of(int(share(request.parameters, "memory") * memory), block)
    if order < LEAST_ORDER:
        raise UsageError(f"The memory is too small for blocks of {block}.", "Give a smaller one: --set block=64.")
    taken = order**2 * WORD_BYTES / request.nodes
    sentence = (
        f"Order {order}: {taken / 1e9:.1f} GB of the {request.memory_bytes / 1e9:.1f} GB of each node; "
        f"process grid {p} x {q}."
    )
    return order, block, (sentence,)


HPL = Launch(programs=("xhpl",), package="", plan=hpl_plan, parameters=PARAMETERS)
HPCC = Launch(programs=("hpcc",), package="hpcc", plan=hpcc_plan, parameters=PARAMETERS)
