"""Runs of the OSU micro-benchmarks and of the Intel MPI Benchmarks: one test each, with its ranks and sizes."""

import re

from seatrial.benchmarks.declaration import Launch, Parameter
from seatrial.benchmarks.parameters import AUTO, size_bytes, whole
from seatrial.model.benchmark_run import Plan, Request, Step
from seatrial.model.errors import UsageError

OSU_TEST = re.compile(r"osu_[a-z0-9_]{1,40}")
OSU_PAIR = re.compile(r"osu_(?:i?bi?bw|latency|bw|put|get|acc|cas|fop|multi_lat|mbw_mr)")
OSU_MULTIPLE = ("osu_mbw_mr", "osu_multi_lat")
OSU_ONE_ROW = re.compile(r"osu_(?:i?barrier|init|hello|cas_latency|fop_latency)")
IMB_TEST = re.compile(r"[A-Za-z][A-Za-z_]{1,40}")
IMB_PAIR = ("pingpong", "pingping", "pingpongspecificsource", "pingpingspecificsource", "pingponganysource",
            "pinganysource", "unidir_put", "unidir_get", "bidir_put", "bidir_get")  # fmt: skip
"""Tests that always run on two ranks, while others wait."""
PAIR_BYTES, COLLECTIVE_BYTES = 1 << 22, 1 << 20
PAIR = 2


def osu_plan(request: Request) -> Plan:
    """One OSU test up to a largest message. Raises UsageError for a parameter, and for ranks that it cannot use."""
    test = request.parameters["test"]
    if not OSU_TEST.fullmatch(test):
        raise UsageError(f"--set test={test} is not a test of OSU.", "Give osu_bw, osu_latency, osu_allreduce, ...")
    pair = bool(OSU_PAIR.match(test))
    if pair and test not in OSU_MULTIPLE and request.ranks != PAIR:
        raise UsageError(f"{test} runs on two ranks, and {request.ranks} were requested.", "Give --ranks 2.")
    if test in OSU_MULTIPLE and request.ranks % PAIR:
        raise UsageError(f"{test} needs pairs, and {request.ranks} ranks were requested.", "Give an even number.")
    words = ["-c"] if whole(request.parameters, "verify", 0, 1) else []
    expected = {"pairs": str(request.ranks // PAIR)} if test in OSU_MULTIPLE else {}
    if OSU_ONE_ROW.match(test):
        return Plan(steps=(Step(name=test, argv=(request.program, *words)),), expected=expected)
    largest = _largest(request, PAIR_BYTES if pair else COLLECTIVE_BYTES)
    step = Step(name=test, argv=(request.program, "-m", str(largest), *words))
    return Plan(steps=(step,), expected=expected, largest_bytes=largest)


def imb_plan(request: Request) -> Plan:
    """One test of an IMB program, on all ranks at once. Raises UsageError for a parameter."""
    test = request.parameters["test"]
    if not IMB_TEST.fullmatch(test):
        raise UsageError(f"--set test={test} is not a test of IMB.", "Give PingPong, Allreduce, Sendrecv, ...")
    ranks = PAIR if test.lower() in IMB_PAIR else request.ranks
    if request.ranks < PAIR:
        raise UsageError("IMB needs two ranks at least.", "Give --ranks 2.")
    largest = _largest(request, PAIR_BYTES)
    power = largest.bit_length() - 1
    if largest != 1 << power:
        raise UsageError(f"--set largest={largest}: IMB's sizes are powers of two.", "Give 4MiB.")
    step = Step(
        name=test, argv=(request.program, test, "-npmin", str(request.ranks), "-msglog", str(power)),
    )  # fmt: skip
    return Plan(steps=(step,), expected={"ranks": str(ranks)})


def _largest(request: Request, default: int) -> int:
    return default if request.parameters["largest"] == AUTO else size_bytes(request.parameters, "largest")


OSU = Launch(
    programs=("osu_bw",),
    program_parameter="test",
    package="",
    plan=osu_plan,
    nodes=2,
    ranks_per_node=1,
    parameters=(
        Parameter(name="test", default="osu_bw", meaning="the program: osu_latency, osu_mbw_mr, osu_allreduce, ..."),
        Parameter(name="largest", default=AUTO, meaning="largest message; auto: 4MiB, of collectives 1MiB"),
        Parameter(name="verify", default="0", meaning="1: compare the received data (-c, from version 6)"),
    ),
)
IMB = Launch(
    programs=("IMB-MPI1",),
    program_parameter="program",
    package="",
    plan=imb_plan,
    nodes=2,
    ranks_per_node=1,
    parameters=(
        Parameter(name="program", default="IMB-MPI1", meaning="IMB-MPI1, IMB-P2P, IMB-NBC, IMB-RMA, ..."),
        Parameter(name="test", default="PingPong", meaning="PingPong, Allreduce, Biband, ..."),
        Parameter(name="largest", default=AUTO, meaning="largest message; auto: 4MiB"),
    ),
)
