"""Other forms of outputs that versions and options of the benchmarks print: made up, complete, and they pass."""

import json

SIZES = tuple(1 << power for power in range(23))
RULE = "#" + "-" * 51 + "\n"


def osu_windows() -> str:
    """osu_mbw_mr -V: a column for each window size, then message rates."""
    heads = "# OSU MPI Multiple Bandwidth / Message Rate Test v5.9\n# [ pairs: 2 ] [ window size: varied ]\n\n"
    columns = "#           8         16\n"
    rates = "".join(f"{size:<10d}{size / (1 + size / 1e4):>12.2f}{size / (2 + size / 1e4):>12.2f}\n" for size in SIZES)
    counts = "".join(f"{size:<10d}{1e6 / (1 + size / 1e4):>14.2f}{1e6 / (2 + size / 1e4):>14.2f}\n" for size in SIZES)
    return f"{heads}# Uni-directional Bandwidth (MB/sec)\n{columns}{rates}\n# Message Rate Profile\n{columns}{counts}"


def osu_put() -> str:
    """A one-sided test, whose name is in the place of MPI."""
    rows = "".join(f"{size:<10d}{1 + size / 1e4:>16.2f}\n" for size in SIZES)
    head = "# OSU MPI_Put Latency Test v5.9\n# Window creation: MPI_Win_create\n"
    return f"{head}# Size          Latency (us)\n{rows}"


def osu_non_blocking() -> str:
    """A non-blocking collective: overall, computation, communication, overlap."""
    rows = "".join(
        f"{size:<10d}{9 + size / 500:>14.2f}{5 + size / 900:>14.2f}{4 + size / 1e3:>14.2f}{80.0:>14.2f}\n"
        for size in SIZES
        if size <= 1 << 20
    )
    head = "\n# OSU MPI Non-blocking Allreduce Latency Test v7.3\n# Overall = Coll. Init + Compute + MPI_Wait\n\n"
    return f"{head}# Size         Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)\n{rows}"


def imb_modes() -> str:
    """IMB-RMA: each benchmark in two modes."""
    rows = {
        start: "".join(
            f"{size:>13d}{1000:>13d}{start + size / 1e4:>13.2f}{size / (start + size / 1e4):>13.2f}\n" for size in SIZES
        )
        for start in (1, 3)
    }
    head = f"{RULE}#    Intel(R) MPI Benchmarks 2021.3, MPI-RMA part\n{RULE}"
    head += "# Maximum message length in bytes:   4194304\n"
    title = f"{RULE}# Benchmarking Unidir_put \n# #processes = 2 \n{RULE}"
    heading = "#\n       #bytes #repetitions      t[usec]   Mbytes/sec\n"
    return (
        f"{head}{title}#\n#    MODE: AGGREGATE \n{heading}{rows[1]}\n"
        f"#\n#    MODE: NON-AGGREGATE \n{heading}{rows[3]}\n\n# All processes entering MPI_Finalize\n\n"
    )


def stream_fortran() -> str:
    """stream.f: capital Version, another head of the table."""
    rule = "-" * 52 + "\n"
    rows = "".join(
        f"{name + ':':<12}16000.0000      0.{part}1      0.{part}0      0.{part}2\n"
        for name, part in (("Copy", "002"), ("Scale", "002"), ("Add", "003"), ("Triad", "003"))
    )
    return (
        f"{rule} STREAM Version $Revision: 5.6 $\n{rule} Array size =    2000000\n Offset     =          0\n"
        f"{rule}Number of Threads =            4\n{rule}"
        f"Function     Rate (MB/s)  Avg time     Min time  Max time\n{rows}{rule} Solution Validates!\n{rule}"
    )


def ior_3_0() -> str:
    """IOR 3.0: options are indented by tabs, ranks are clients."""
    options = {"api": "POSIX", "access": "single-shared-file", "clients": "4 (2 per node)", "repetitions": "1",
               "xfersize": "262144 bytes", "aggregate filesize": "4 GiB"}  # fmt: skip
    summary = "".join(f"\t{name:<18s} = {value}\n" for name, value in options.items())
    return (
        "IOR-3.0.1: MPI Coordinated Test of Parallel I/O\n\nBegan: Mon Nov 23 10:00:00 2026\n"
        f"Command line used: ior -b 1g\nSummary:\n{summary}\n"
        "access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter\n"
        "------    ---------  ---------- ---------  --------   --------   --------   --------   ----\n"
        "write     1024.00    1048576    256.00     0.000100   4.00       0.000010   4.00       0   \n"
        "read      2048.00    1048576    256.00     0.000100   2.00       0.000010   2.00       0   \n\n"
        "Max Write: 1024.00 MiB/sec (1073.74 MB/sec)\nMax Read:  2048.00 MiB/sec (2147.48 MB/sec)\n\n"
        "Finished: Mon Nov 23 10:00:07 2026\n"
    )


def ior_json() -> str:
    """IOR with -O summaryFormat=JSON."""
    rows = [
        {"access": access, "bwMiB": rate, "blockKiB": 1048576.0, "xferKiB": 256.0, "totalTime": 4096 / rate}
        for access, rate in (("write", 1024.0), ("read", 2048.0))
    ]
    options = {"api": "POSIX", "nodes": 2, "tasks": "4", "repetitions": 1}
    whole = {
        "Version": "4.0.0",
        "Began": "Mon Nov 23 10:00:00 2026",
        "Command line": "ior -O summaryFormat=JSON",
        "tests": [{"TestID": 0, "Options": options, "Results": rows}],
        "Finished": "Mon Nov 23 10:00:07 2026",
    }
    return json.dumps(whole, indent=2) + "\n"


def mdtest_4() -> str:
    """mdtest 4.0: rates of a rank, then of an iteration."""
    rows = "".join(
        f"   {name}            250.5        240.5       245.5        1000.5        900.5        950.5   25.5\n"
        for name in ("Directory creation", "File creation", "File stat", "File removal", "Tree creation")
    )
    return (
        "-- started at 11/23/2026 10:00:00 --\n\nmdtest-4.0.0 was launched with 4 total task(s) on 2 node(s)\n"
        "Command line used: mdtest '-n' '100'\n4 tasks, 400 files/directories\n\n"
        f"SUMMARY rate (in ops/sec): (of 3 iterations)\n{rows}-- finished at 11/23/2026 10:00:30 --\n"
    )


def fio_terse() -> str:
    """fio --output-format=terse: a line for each job; only what is read has numbers."""
    lines = []
    for name, first in (("a", 46), ("b", 5)):
        fields = ["3", "fio-3.33", name, "0", "0", *["0"] * 116]
        fields[first : first + 4] = ["2097152", "1048576", "1024", "2000"]
        fields[first + 34] = "975.5"
        lines.append(";".join(fields))
    return "a: (g=0): rw=write, bs=1M\nb: (g=0): rw=read, bs=1M\n" + "\n".join(lines) + "\n"


def fio_2() -> str:
    """fio 2.x, whose KB are 1024 bytes."""
    return (
        "test: (g=0): rw=randwrite, bs=4K-4K/4K-4K/4K-4K, ioengine=libaio, iodepth=32\nfio-2.2.10\n"
        "Starting 1 process\n\ntest: (groupid=0, jobs=1): err= 0: pid=12345: Mon Jan  1 00:00:00 2018\n"
        "  write: io=1024.0MB, bw=104857KB/s, iops=26214, runt= 10000msec\n\nRun status group 0 (all jobs):\n"
        "  WRITE: io=1024.0MB, aggrb=104857KB/s, minb=104857KB/s, maxb=104857KB/s, mint=10000msec, maxt=10000msec\n\n"
        "Disk stats (read/write):\n  sda: ios=0/262144, merge=0/0, ticks=0/100, in_queue=100, util=99.00%\n"
    )


def mdtest_of_creation() -> str:
    """mdtest with -C: rows of what was not requested are zero."""
    zeros = "0.000          0.000          0.000          0.000"
    return (
        "-- started at 11/23/2026 10:00:00 --\n\nmdtest-3.3.0 was launched with 4 total task(s) on 2 node(s)\n"
        "Command line used: mdtest '-n' '100' '-FC' '-d' '/scratch/Tr'\n4 tasks, 400 files\n\n"
        "SUMMARY rate: (of 1 iterations)\n"
        "   File creation        1000.500       1000.500       1000.500          0.000\n"
        f"   File stat         {zeros}\n   File read         {zeros}\n   File removal      {zeros}\n"
        "   Tree creation          50.500         50.500         50.500          0.000\n"
        f"   Tree removal      {zeros}\n-- finished at 11/23/2026 10:00:30 --\n"
    )


def ior_stonewall() -> str:
    """IOR with -D: it writes for a time, and moves less than the file has."""
    text = ior_3_0().replace("1024.00    1048576", "512.00     1048576").replace("Max Write: 1024", "Max Write: 512")
    moved = "WARNING: Using actual aggregate bytes moved = 2147483648.\n"
    return text.replace("Summary:\n", "Summary:\n\tstonewallingTime = 4\n").replace(
        "write     512", f"{moved}write     512"
    )


def omb_py(what: str = "Bandwidth", unit: str = "MB/s", largest: int = 1 << 22) -> str:
    """OMB-Py's osu_bw, which names the unit of sizes."""
    rows = "".join(f"{1 << power:<10d}{20 + 3 * power:>18.2f}\n" for power in range(largest.bit_length()))
    return f"# OMB-Py MPI {what} Test\n# {'Size (B)':<8s}{f'{what} ({unit})':>18s}\n{rows}"


def osu_single(what: str = "Barrier", row: str = "             3.17\n", size: str = "Avg Latency(us)") -> str:
    """A test that prints one row."""
    return f"# OSU MPI{'' if what[0] == '_' else ' '}{what} Latency Test v7.3\n# {size}\n{row}"


def perftest_json(unit: float = 1 << 20, **numbers: float) -> str:
    """ib_write_bw --out_json, or what another test writes with these numbers."""
    rate = 12e9
    results = numbers or {"BW_peak": round(rate / unit, 2), "BW_average": round(rate / unit, 2),
                          "MsgRate": round(rate / 65536e6, 6)}  # fmt: skip
    test = "Send_Latency" if numbers else "RDMA_Write_BW"
    info = ['"Dual_port": "OFF"', '"Device": "mlx5_0"', '"Number_of_qps": 1', '"Link_type": "IB"']
    rows = ",\n".join(f'"{name}": {value}' for name, value in results.items())
    return (
        f'{{\n"test_info": {{\n"test": "{test}_Test",\n{",".join(info)}\n}},\n'
        f'"results": {{\n"MsgSize": 65536,\n"n_iterations": 5000,\n{rows}\n}}\n}}\n'
    )


def perftest_json_latency() -> str:
    """ib_send_lat --out_json."""
    return perftest_json(t_min=1.76, t_max=6.12, t_typical=1.79, t_avg=1.8, t_stdev=0.06, percentile_99=1.88)


VARIANTS = {
    "osu": (
        osu_windows,
        osu_put,
        osu_non_blocking,
        omb_py,
        lambda: omb_py("Latency", "us"),
        osu_single,
        lambda: osu_single("_Compare_and_swap", "8             3.17\n", "Size          Latency (us)"),
    ),
    "perftest": (perftest_json, lambda: perftest_json(125e6), perftest_json_latency),
    "imb": (imb_modes,),
    "stream": (stream_fortran,),
    "ior": (ior_3_0, ior_json, ior_stonewall),
    "mdtest": (mdtest_4, mdtest_of_creation),
    "fio": (fio_terse, fio_2),
}
"""Name of the benchmark -> complete outputs that pass all gates."""
