"""Small outputs in the formats of benchmarks, written here: all numbers are made up, and agree with each other."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta

from tests.support.application_outputs import MORE_OUTPUTS

SIZES = (0, *(1 << power for power in range(23)))


def osu(test: str = "Latency", largest: int = 1 << 22, version: str = "5.6.2") -> str:
    """osu_latency: time rises with size."""
    rows = "".join(f"{size:<10d}{1.5 + size / 1000:>20.2f}\n" for size in SIZES if size <= largest)
    return f"# OSU MPI {test} Test v{version}\n# Size          Latency (us)\n{rows}"


def osu_rates(pairs: int = 4) -> str:
    """osu_mbw_mr."""
    rows = "".join(
        f"{size:<10d}{size * 1e6 / (size + 500):>18.2f}{1e12 / (size + 500):>20.2f}\n" for size in SIZES if size
    )
    head = "# OSU MPI Multiple Bandwidth / Message Rate Test v7.3\n# Datatype: MPI_CHAR.\n"
    return f"{head}# [ pairs: {pairs} ] [ window size: 64 ]\n# Size                  MB/s        Messages/s\n{rows}"


def osu_collective(validation: str = "Pass") -> str:
    """osu_allreduce of version 7 with -f and -c."""
    rows = "".join(
        f"{size:<10d}{10 + size / 500:>16.2f}{9 + size / 500:>16.2f}{12 + size / 500:>16.2f}{1000:>12d}"
        f"{validation if size == 64 else 'Pass':>12s}\n"
        for size in SIZES
        if 4 <= size <= 1 << 20
    )
    names = "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations  Validation\n"
    return f"\n# OSU MPI Allreduce Latency Test v7.3\n# Datatype: MPI_INT.\n{names}{rows}"


def imb(
    version: str = "2019 Update 5",
    megabyte: int = 10**6,
    ranks: int = 2,
    times: Callable[[int], float] = lambda size: 2 + size / 3000,
) -> str:
    """IMB-MPI1 PingPong, in which each size takes that time in microseconds, then Barrier."""
    rows = "".join(
        f"{size:>13d}{1000:>13d}{times(size):>13.2f}{size / times(size) * 1e6 / megabyte:>13.2f}\n" for size in SIZES
    )
    rule = "#" + 51 * "-" + "\n"
    head = f"{rule}#    Intel(R) MPI Benchmarks {version}, MPI-1 part\n{rule}"
    head += "# Maximum message length in bytes:   4194304\n"
    listed = "# List of Benchmarks to run:\n\n# PingPong\n# Barrier\n\n"
    pingpong = (
        f"{rule}# Benchmarking PingPong \n# #processes = {ranks} \n{rule}"
        f"       #bytes #repetitions      t[usec]   Mbytes/sec\n{rows}\n"
    )
    barrier = (
        f"{rule}# Benchmarking Barrier \n# #processes = {ranks} \n{rule}"
        " #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n         1000         1.10         1.30         1.20\n"
    )
    return f"{head}{listed}{pingpong}{barrier}\n\n# All processes entering MPI_Finalize\n\n"


def hpl(residual: str = "1.13e-03", outcome: str = "PASSED", time: float = 100.0, order: int = 20000) -> str:
    """xhpl 2.3, one test."""
    rate = (2 / 3 * order**3 + 1.5 * order**2) / time / 1e9
    rule, line = "=" * 80 + "\n", "-" * 80 + "\n"
    failed = outcome == "FAILED"
    begun = datetime(2020, 9, 15, 9, 55, 22)
    ended = begun + timedelta(seconds=time + 1)
    return (
        f"{rule}HPLinpack 2.3  --  High-Performance Linpack benchmark  --   December 2, 2018\n{rule}"
        f"N      :  {order} \nNB     :     192 \n{rule}"
        f"T/V                N    NB     P     Q               Time                 Gflops\n{line}"
        f"WR11C2R4      {order:6d}   192     4     8      {time:13.2f}         {rate:15.4e}\n"
        f"HPL_pdgesv() start time {begun:%a %b %d %H:%M:%S %Y}\n\n"
        f"HPL_pdgesv() end time   {ended:%a %b %d %H:%M:%S %Y}\n\n"
        f"{line}||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   {residual} ...... {outcome}\n{rule}\n"
        "Finished      1 tests with the following results:\n"
        f"              {int(not failed)} tests completed and passed residual checks,\n"
        f"              {int(failed)} tests completed and failed residual checks,\n"
        f"              0 tests skipped because of illegal input values.\n{line}\nEnd of Tests.\n{rule}"
    )


def hpcc(success: int = 1) -> str:
    """hpccoutf.txt with two parts, HPL and the summary."""
    row = "#" * 72 + "\n"
    return (
        f"{row}This is the DARPA/DOE HPC Challenge Benchmark version 1.5.0 October 2012\n"
        f"Current time (1545118043) is Tue Dec 18 02:27:23 2018\n{row}"
        "Begin of MPIRandomAccess section.\nFound 0 errors in 1024 locations (passed).\n"
        "Current time (1545118109) is Tue Dec 18 02:28:29 2018\n\nEnd of MPIRandomAccess section.\n"
        f"Begin of HPL section.\n{hpl()}Current time (1545118227) is Tue Dec 18 02:30:27 2018\n\nEnd of HPL section.\n"
        f"Begin of Summary section.\nVersionMajor=1\nSuccess={success}\nCommWorldProcs=32\n"
        "HPL_Tflops=0.0533\nHPL_N=20000\n"
        "MPIRandomAccess_ErrorsFraction=0\nMPIRandomAccess_GUPs=0.0622572\nStarSTREAM_Triad=4.7742\n"
        "MPIFFT_maxErr=4.11472e-15\nMaxPingPongLatency_usec=1.38415\nRandomlyOrderedRingBandwidth_GBytes=0.436485\n"
        f"End of Summary section.\n{row}End of HPC Challenge tests.\n"
        f"Current time (1545118227) is Tue Dec 18 02:30:27 2018\n\n{row}"
    )


def hpcg(verdict: str = "VALID") -> str:
    """The report of HPCG 3.1."""
    return (
        "HPCG-Benchmark\nversion=3.1\nRelease date=March 28, 2019\nMachine Summary=\n"
        "Machine Summary::Distributed Processes=16\nMachine Summary::Threads per processes=2\n"
        "Linear System Information::Number of Equations=17984512\n"
        "########## V&V Testing Summary  ##########=\nSpectral Convergence Tests::Result=PASSED\n"
        "Iteration Count Information::Result=PASSED\n"
        "Iteration Count Information::Total number of optimized iterations=500\n"
        "GFLOP/s Summary=\nGFLOP/s Summary::Raw SpMV=20.5\nGFLOP/s Summary::Raw Total=19.5\n"
        f"Final Summary=\nFinal Summary::HPCG result is {verdict} with a GFLOP/s rating of=19.1\n"
        "Final Summary::Results are valid but execution time (sec) is=61.5\n"
        "Final Summary::Official results execution time (sec) must be at least=1800\n"
    )


def hpcg_grids(form: str = "=") -> str:
    """The report of HPCG with its coarse grids; `:`: the form of versions 2.4 and 3.0, indented."""
    sizes = [(1124864, 29791000), (140608, 3581577), (17576, 421875), (2197, 46656)]
    coarse = "".join(
        f"Multigrid Information::Coarse Grids::Grid Level={level}\n"
        f"Multigrid Information::Coarse Grids::Number of Equations={equations}\n"
        f"Multigrid Information::Coarse Grids::Number of Nonzero Terms={nonzeros}\n"
        for level, (equations, nonzeros) in enumerate(sizes[1:], 1)
    )
    text = hpcg().replace(
        "Linear System Information::Number of Equations=17984512\n",
        "Linear System Information=\n"
        f"Linear System Information::Number of Equations={sizes[0][0]}\n"
        f"Linear System Information::Number of Nonzero Terms={sizes[0][1]}\n"
        f"Multigrid Information=\nMultigrid Information::Coarse Grids=\n{coarse}",
    )
    if form == "=":
        return text
    lines = []
    for line in text.splitlines():
        *sections, words = line.replace("=", ": ", 1).rstrip().split("::")
        lines.append("  " * len(sections) + words)
    return "\n".join(lines) + "\n"


def indented(text: str, spaces: int = 4) -> str:
    """The output of a program as Ansible shows it."""
    lines = "".join(f"{' ' * spaces}{line}".rstrip() + "\n" for line in text.splitlines())
    return f"TASK [Output the results.] ***\nok: [127.0.0.1] =>\n  mpirun_output.stdout: |-\n{lines}"


def nvidia_stream(triad: float = 3_127_000.5, rows: int = 4) -> str:
    """NVIDIA-STREAM 25.4: no line about its solution."""
    rates = (("Copy", 3_071_000.25, 0.0052), ("Scale", 3_059_000.5, 0.0052), ("Add", 3_125_000.0, 0.0077))
    table = "".join(
        f"{name + ':':<10s}{rate:>13.4f}{seconds:>13.4f}{seconds:>13.4f}{seconds:>13.4f}\n"
        for name, rate, seconds in (*rates, ("Triad", triad, 0.0077))[:rows]
    )
    return (
        f"{'=' * 86}\nNVIDIA-STREAM 25.4.0  -- NVIDIA accelerated STREAM benchmark -- NVIDIA\n{'=' * 86}\n"
        " STREAM Benchmark implementation in CUDA\n Array size (double)=1000000000*8*8 (61035 MB)\n\n"
        "STREAM tests: COPY SCALE ADD TRIAD\n\n\n"
        f"Function      Rate (MB/s)   Avg time     Min time     Max time\n{table}"
    )


def babelstream(unit: str = "MBytes/sec") -> str:
    """BabelStream 4.0, arrays of 268.4 MB or 256 MiB."""
    scale = 1e6 if unit == "MBytes/sec" else 2**20
    size = "268.4 MB (=0.3 GB)" if unit == "MBytes/sec" else "256.0 MiB (=0.2 GiB)"
    kernels = (
        ("Copy", 2, 0.00062),
        ("Mul", 2, 0.00063),
        ("Add", 3, 0.00092),
        ("Triad", 3, 0.00093),
        ("Dot", 2, 0.00068),
    )
    rows = "".join(
        f"{name:<12s}{arrays * 2**28 / seconds / scale:<12.3f}{seconds:<12.5f}{2 * seconds:<12.5f}{seconds:<12.5f}\n"
        for name, arrays, seconds in kernels
    )
    return (
        "BabelStream\nVersion: 4.0\nImplementation: OpenMP\nRunning kernels 100 times\nPrecision: double\n"
        f"Array size: {size}\nTotal size: 805.3 MB (=0.8 GB)\n"
        f"{'Function':<12s}{unit:<12s}{'Min (sec)':<12s}{'Max':<12s}{'Average':<12s}\n{rows}"
    )


def hpl_mxp(residual: str = "5.189581E-04", outcome: str = "PASSED", rate: float = 193900.0) -> str:
    """HPL-MxP-NVIDIA 25.4, one test of order 100000: 6.667e14 operations in 3.4384 s."""
    rule = "=" * 80 + "\n"
    return (
        f"{rule}HPL-MxP-NVIDIA 25.4.0  -- NVIDIA accelerated HPL-MxP benchmark benchmark -- NVIDIA\n{rule}\n"
        " ****** test 1 of 1 starts ****** \n\n   n      = 100000\n\nGEMM GFLOPS: AVG = 333715.82, MAX = 342168.13\n"
        "LU seconds: AVG = 1.0384, MAX = 1.04 (3->n1), MIN = 1.03 (0->n1)\n\n"
        "Iterative Solver seconds: AVG = 2.4000, MAX = 2.40 (1->n1), MIN = 2.40 (0->n1)\n\n"
        " ****** HPL MxP Result    ****** \n\n    Threshold     . . . . =    1.600000E+01\n"
        f"  ||Ax-b||_oo / (EPS * (||A||_oo * ||x||_oo + ||b||_oo) * N) =    {residual} ...... {outcome}\n\n"
        "    N = 100000, NB = 1024, NPROW = 2, NPCOL = 2, SLOPPY-TYPE = 2\n"
        f"\x1b[0;31m       GFLOPS = {rate:.4e}, per GPU =   {rate / 4:.2f}\x1b[0m ------ The HPL-MxP performance\n"
        "    LU GFLOPS = 6.4200e+05, per GPU =  160500.00 ------ The performance of the factorization\n\n"
        " ****** test 1 of 1 done   ****** \n"
    )


def ior_summary(repetitions: int = 1) -> str:
    """IOR 4.1, which prints no line `Max Write`, but a summary with a row for each operation."""
    rows = "".join(
        f"write     228.30 11.41 14.01    204800     20480      0.1155     13.85      0.0050     14.02      {number}\n"
        for number in range(repetitions)
    )
    names = (
        "access    bw(MiB/s)  IOPS  Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter"
    )
    return (
        "IOR-4.1.0+dev: MPI Coordinated Test of Parallel I/O\nBegan               : Fri May  3 10:52:39 2019\n"
        "Command line        : ior -b 200m -t 20m -w -o f\n\nOptions: \napi                 : POSIX\n"
        f"access              : file-per-process\ntasks               : 16\nrepetitions         : {repetitions}\n"
        "aggregate filesize  : 3.12 GiB\n\nResults: \n\n"
        f"{names}\n{'-' * len(names)}\n"
        f"{rows}\nSummary of all tests:\n"
        "Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev   Max(OPs)   Min(OPs)  Mean(OPs)     StdDev    Mean(s)\n"
        "write         228.30     228.30     228.30       0.00      11.41      11.41      11.41       0.00   14.02000\n"
        f"Finished            : Fri May  3 10:5{2 + repetitions}:53 2019\n"
    )


def stream(
    check: str = "Solution Validates: avg error less than 1.000000e-13 on all three arrays", triad_s: float = 0.0081
) -> str:
    """STREAM 5.10."""
    rule = "-" * 61 + "\n"
    rows = "".join(
        f"{name + ':':<16s}{arrays * 8e7 / seconds / 1e6:>8.1f}{seconds + 1e-4:>13.6f}{seconds:>13.6f}"
        f"{seconds + 2e-4:>13.6f}\n"
        for name, arrays, seconds in (("Copy", 2, 0.004), ("Scale", 2, 0.006), ("Add", 3, 0.008), ("Triad", 3, triad_s))
    )
    return (
        f"{rule}STREAM version $Revision: 5.10 $\n{rule}This system uses 8 bytes per array element.\n{rule}"
        f"Array size = 10000000 (elements), Offset = 0 (elements)\n   (= 6278 clock ticks)\n{rule}"
        f"Function    Best Rate MB/s  Avg time     Min time     Max time\n{rows}{rule}{check}\n{rule}"
    )


def ior(rate: float = 228.30, seconds: float = 14.02) -> str:
    """IOR 3.2, one write of 3200 MiB."""
    head = "access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter\n"
    return (
        "IOR-3.2.0: MPI Coordinated Test of Parallel I/O\nBegan               : Fri May  3 10:52:39 2019\n"
        "Command line        : ior -b 200m -t 20m -w -o f\n\nOptions: \napi                 : POSIX\n"
        "access              : file-per-process\ntasks               : 16\nrepetitions         : 1\n"
        f"aggregate filesize  : 3.12 GiB\n\nResults: \n\n{head}"
        f"------    ---------  ---------- ---------  --------   --------   --------   --------   ----\n"
        f"write     {rate:<11.2f}204800     20480      0.115553   0.365658   13.85      {seconds:<11.2f}0   \n"
        f"Max Write: {rate:.2f} MiB/sec ({rate * 1.048576:.2f} MB/sec)\n\n"
        "Finished            : Fri May  3 10:52:53 2019\n"
    )


def mdtest() -> str:
    """mdtest 3.2."""
    names = ("Directory creation", "Directory stat", "File creation", "File stat", "File removal", "Tree creation")
    rows = "".join(f"   {name:<25s} {900.5 + place:>14.3f} {800.5:>14.3f} {850.5:>14.3f} {25.1:>14.3f}\n"
                   for place, name in enumerate(names))  # fmt: skip
    return (
        "-- started at 05/03/2019 10:52:03 --\n\nmdtest-3.2.0 was launched with 16 total task(s) on 2 node(s)\n"
        "Command line used: mdtest -n 100\n16 tasks, 1600 files/directories\n\nSUMMARY rate: (of 3 iterations)\n"
        f"   Operation                      Max            Min           Mean        Std Dev\n{rows}"
        "-- finished at 05/03/2019 10:52:38 --\n"
    )


def fio_text() -> str:
    """fio 3.33, one job that reads and writes."""
    return (
        "w: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync, iodepth=1\n"
        "fio-3.33\nStarting 1 process\n\nw: (groupid=0, jobs=1): err= 0: pid=6934: Mon Nov 23 04:19:50 2026\n"
        "  read: IOPS=166k, BW=647MiB/s (679MB/s)(3976MiB/6145msec)\n"
        "  write: IOPS=176k, BW=686MiB/s (720MB/s)(4216MiB/6145msec); 0 zone resets\n\n"
        "Run status group 0 (all jobs):\n"
        "   READ: bw=647MiB/s (679MB/s), 647MiB/s-647MiB/s (679MB/s-679MB/s), io=3976MiB (4169MB), run=6145-6145msec\n"
        "  WRITE: bw=686MiB/s (720MB/s), 686MiB/s-686MiB/s (720MB/s-720MB/s), io=4216MiB (4421MB), run=6145-6145msec\n"
        "\nDisk stats (read/write):\n    dm-0: ios=0/8, merge=0/0, ticks=0/4, in_queue=4, util=0.00%, aggrios=0/8\n"
        "  vda: ios=0/8, merge=0/0, ticks=0/4, in_queue=4, util=0.00%\n"
    )


def fio_json(error: int = 0) -> str:
    """The same as JSON."""
    part = {"io_bytes": 1 << 30, "bw_bytes": 1 << 29, "iops": 131072.0, "runtime": 2000, "total_ios": 262144,
            "lat_ns": {"mean": 7346.1}}  # fmt: skip
    job = {"jobname": "w", "error": error, "read": {"io_bytes": 0, "total_ios": 0}, "write": part}
    return json.dumps({"fio version": "fio-3.33", "jobs": [job]}, indent=2) + "\n"


def netpipe(largest: int = 8388611) -> str:
    """NetPIPE 3.7."""
    sizes = [size for size in (1, 2, 3, 4, 64, 4096, 65536, 1048576, 8388608, 8388611) if size <= largest]
    rows = "".join(
        f"{place:3d}: {size:7d} bytes {1000:6d} times --> {size * 8 / (5e-6 + size / 1e9) / 2**20:9.2f} Mbps in"
        f" {(5e-6 + size / 1e9) * 1e6:10.2f} usec\n"
        for place, size in enumerate(sizes)
    )
    return f"Sending output to np.out\n0: n1\n1: n2\nNow starting the main loop\n{rows}"


PERFTEST_HEAD = """\
---------------------------------------------------------------------------------------
                    {title} Test
 Dual-port       : OFF\t\tDevice         : mlx5_0
 Number of qps   : 1\t\tTransport type : IB
 Connection type : RC\t\tUsing SRQ      : OFF
 Mtu             : 4096[B]
 Link type       : IB
---------------------------------------------------------------------------------------
 local address: LID 0x01 QPN 0x0127 PSN 0x9a3a1e RKey 0x1fff00 VAddr 0x007f5bd95e2000
 remote address: LID 0x02 QPN 0x0128 PSN 0x7a35c6 RKey 0x00624f VAddr 0x007f746bc41000
---------------------------------------------------------------------------------------
"""
PERFTEST_RULE = f"{'-' * 87}\n"


def perftest(unit: str = "MB/sec", most: float = 12e9, sizes: tuple[int, ...] = (2, 4096, 65536, 1048576)) -> str:
    """ib_write_bw -a, shortened: it calls 2²⁰ bytes MB, in later versions MiB; --report_gbits prints 10⁹ bits."""
    rows = ""
    for size in sizes:
        rate = size / (0.5e-6 + size / most)
        shown = rate * 8 / 1e9 if unit == "Gb/sec" else rate / 2**20
        rows += f" {size:<10d} 5000  {shown * 1.001:.2f}  {shown:.2f} \t\t   {rate / size / 1e6:.6f}\n"
    columns = f" #bytes     #iterations    BW peak[{unit}]    BW average[{unit}]   MsgRate[Mpps]\n"
    return f"{PERFTEST_HEAD.format(title='RDMA_Write BW')}{columns}{rows}{PERFTEST_RULE}"


def perftest_latency() -> str:
    """ib_send_lat with what it says of the clock of the processor."""
    columns = (
        " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   "
        "99% percentile[usec]   99.9% percentile[usec] \n"
    )
    clock = "Conflicting CPU frequency values detected: 2200.000000 != 1040.353000. CPU Frequency is not max.\n"
    row = " 2       1000          1.76   6.12     1.79     \t  1.80     \t0.06   \t\t1.88    \t\t6.12   \n"
    return f"{PERFTEST_HEAD.format(title='Send Latency')}{columns}{clock}{row}{PERFTEST_RULE}"


def openfoam(
    ranks: int = 4, iterations: int = 20, seconds: float = 2.0, drag: float = 0.4, cells: int = 0, extra: str = ""
) -> str:
    """simpleFoam on the ranks of hosts with two ranks each; `cells`: after checkMesh on that many."""
    slaves = "".join(f'"host{rank // 2}.{100 + rank}"\n' for rank in range(1, ranks))
    parallel = " -parallel" if ranks > 1 else ""
    head = foam_head(f"simpleFoam{parallel}") + f"nProcs : {ranks}\n"
    head += f"Slaves : \n{ranks - 1}\n(\n{slaves})\n" if ranks > 1 else ""
    head += (
        f"Create time\n\n{extra}Starting time loop\n\nforceCoeffs forceCoeffs1:\n    Not including porosity effects\n"
    )
    steps = "".join(
        f"Time = {step}\n\nsmoothSolver:  Solving for Ux, Initial residual = {1 / step:.6g}, Final residual = "
        f"{0.1 / step:.6g}, No Iterations 5\nGAMG:  Solving for p, "
        f"Initial residual = {0.5 / step:.6g}, Final residual = {0.05 / step:.6g}, No Iterations 4\n"
        f"ExecutionTime = {step * seconds / iterations:.2f} s  ClockTime = {int(step * seconds / iterations)} s\n\n"
        f"forceCoeffs forceCoeffs1 write:\n    Cm    = {drag / 2 + 1 / step**2:.6g}\n"
        f"    Cd    = {drag + 1 / step**2:.6g}\n    Cl    = {drag / 9 + 1 / step**3:.6g}\n\n"
        for step in range(1, iterations + 1)
    )
    mesh = f"{foam_head('checkMesh')}Mesh stats\n    cells:            {cells}\n\nMesh OK.\n\nEnd\n\n" if cells else ""
    return mesh + head + steps + "End\n\n" + ("Finalising parallel run\n" if ranks > 1 else "")


def foam_head(words: str) -> str:
    """The banner and the first lines of a log."""
    return (
        "/*---------------------------------------------------------------------------*\\\n"
        "  \\\\      /  F ield         | OpenFOAM: The Open Source CFD Toolbox\n"
        "    \\\\  /    A nd           | Version:  7\n"
        "\\*---------------------------------------------------------------------------*/\n"
        f'Exec   : /opt/openfoam/bin/{words}\nDate   : Sep 11 2020\nHost   : "host0"\n'
    )


OUTPUTS: dict[str, tuple[Callable[[], str], ...]] = {
    "osu": (osu, osu_rates, osu_collective),
    "imb": (imb,),
    "hpl": (hpl,),
    "hpl-mxp": (hpl_mxp,),
    "hpcc": (hpcc,),
    "hpcg": (hpcg, hpcg_grids, lambda: hpcg_grids(":")),
    "stream": (stream, nvidia_stream),
    "babelstream": (babelstream, lambda: babelstream("MiBytes/sec")),
    "ior": (ior, ior_summary, lambda: ior_summary(3)),
    "mdtest": (mdtest,),
    "fio": (fio_text, fio_json),
    "netpipe": (netpipe,),
    "perftest": (perftest, lambda: perftest("Gb/sec"), perftest_latency),
    "openfoam": (openfoam, lambda: openfoam(ranks=1)),
    **MORE_OUTPUTS,
}
"""Name of the benchmark -> complete outputs that pass all gates."""
