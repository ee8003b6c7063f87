"""Outputs of programs for GPUs, made up in the forms that they print: complete, and they pass all gates."""

import json

from seatrial.limits.collectives import bus_factor


def nccl(
    test: str = "all_reduce",
    hosts: tuple[str, ...] = ("n1", "n2"),
    gpus: int = 4,
    most: float = 40.0,
    *,
    announced: bool = True,
    columns: str = "redop    root",
    wrong: str = "0",
    failed: int = 0,
    largest: int = 1 << 28,
) -> str:
    """One run of nccl-tests; `announced`: a version that says which collective starts. `most`: 10⁹ bytes/s."""
    ranks = [(host, gpu) for host in hosts for gpu in range(gpus)]
    factor = bus_factor(test, len(ranks)) or 0.0
    rows = ""
    size = 1 << 20
    while size <= largest:
        time_us = 30 + size / (most * 1e3)
        rate = size / time_us / 1e3
        shown = f"{time_us:.2f}" if time_us < 1e5 else f"{time_us:.0f}"
        cells = "".join(f" {shown:>8} {rate:>7.2f} {rate * factor:>7.2f} {word:>7}" for word in (wrong, "N/A"))
        words = "float     sum      -1" if "root" in columns else "float     sum" if "redop" in columns else "float"
        rows += f"{size:>12d} {size // 4:>13d} {words} {cells}\n"
        size *= 4
    devices = "".join(
        f"#  Rank {rank:>2} Group  0 Pid {4000 + rank} on {host} device {gpu:>2} [0000:1b:00] NVIDIA H100 80GB HBM3\n"
        for rank, (host, gpu) in enumerate(ranks)
    )
    groups = "   time   algbw   busbw  #wrong" * 2
    return (
        ("# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807\n"
         f"# Collective test starting: {test}_perf\n" if announced else "")
        + f"# nThread 1 nGpus 1 minBytes 1048576 maxBytes {largest} step: 4(factor) warmup iters: 5 iters: 20 "
        f"agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n{devices}#\n"
        "#                                                              out-of-place                       in-place\n"
        f"#       size         count      type   {columns} {groups}\n"
        "#        (B)    (elements)                   (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)\n"
        f"{rows}# Out of bounds values : {failed} {'FAILED' if failed else 'OK'}\n"
        f"# Avg bus bandwidth    : {most / 2:g} \n#\n"
        + (f"# Collective test concluded: {test}_perf\n" if announced else "")
    )  # fmt: skip


def nccl_old() -> str:
    """A version without the name of the collective and without a root."""
    return nccl("all_gather", ("n1",), 8, announced=False, columns="redop")


def _matrix(test: str, description: str, rows: list[list[float | None]], latency: str = "") -> str:
    cells = "".join(
        f" {row}   " + "".join(f"{'N/A' if value is None else f'{value:.2f}':>10}" for value in values) + "\n"
        for row, values in enumerate(rows)
    )
    heads = "".join(f"{column:>10}" for column in range(len(rows[0])))
    total = sum(value or 0 for values in rows for value in values)
    return f"Running {test}.\n{description} {latency or 'bandwidth'}\n    {heads}\n{cells}\nSUM {test} {total:.2f}\n\n"


def nvbandwidth(slow: float = 1.0, gpus: int = 4) -> str:
    """Three tests on GPUs of one node; `slow`: the share of its rate that GPU 2 reaches with the host."""
    rates: list[float | None] = [55.2 + 0.03 * gpu for gpu in range(gpus)]
    rates[2 % gpus] = 55.3 * slow
    peers: list[list[float | None]] = [
        [None if row == column else 360.0 + row for column in range(gpus)] for row in range(gpus)
    ]
    latency: list[list[float | None]] = [[612.0 + gpu for gpu in range(gpus)]]
    return (
        "nvbandwidth Version: v0.6\nBuilt from Git version: v0.6\n\nCUDA Runtime Version: 12040\n"
        "CUDA Driver Version: 12040\nDriver Version: 550.54.15\n\nn1\n"
        + "".join(f"Device {gpu}: NVIDIA H100 80GB HBM3 (00000000:{gpu + 27:x}:00)\n" for gpu in range(gpus))
        + "\n"
        + _matrix("host_to_device_memcpy_ce", "memcpy CE CPU(row) -> GPU(column)", [rates], "bandwidth (GB/s)")
        + _matrix("device_to_device_memcpy_read_ce", "memcpy CE GPU(row) -> GPU(column)", peers, "bandwidth (GB/s)")
        + "Waived: \n"
        + _matrix("host_device_latency_sm", "memory latency SM CPU(row) <-> GPU(column)", latency, "(ns)")
        + "NOTE: The reported results may not reflect the full capabilities of the platform.\n"
        "Performance can vary with software drivers, hardware clocks, and system topology.\n"
    )


def nvbandwidth_json(status: str = "Passed") -> str:
    """The same as JSON, with a test that was waived; `status`: that of the second test."""
    cases = [
        {"name": "host_to_device_memcpy_ce", "status": "Passed", "sum": 165.9,
         "bandwidth_description": "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)",
         "bandwidth_matrix": [["55.2", "55.3", "55.4"]]},
        {"name": "device_to_device_memcpy_write_ce", "status": status, "sum": 720.0,
         "bandwidth_description": "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)",
         "bandwidth_matrix": [["N/A", "360.0"], ["360.0", "N/A"]]},
        {"name": "multinode_device_to_device_memcpy_read_ce", "status": "Waived"},
    ]  # fmt: skip
    report = {"nvbandwidth": {"version": "v0.7", "Driver Version": "550.54.15", "testcases": cases}}
    return json.dumps(report, indent=2) + "\n"


def gpu_burn(slow: float = 1.0, errors: int = 0, gpus: int = 4) -> str:
    """A run of ten seconds; `slow`: the share of its rate that GPU 1 reaches, `errors`: of GPU 2."""
    text = "Burning for 10 seconds.\n"
    text += "".join(
        f"Initialized device {gpu} with 81251 MB of memory (80493 MB available, using 72443 MB of it), using FLOATS\n"
        for gpu in range(gpus)
    )
    for step in range(1, 6):
        rates = [(0.4 if step == 1 else 1.0) * (17000 + 5 * gpu + 3 * step) * (slow if gpu == 1 else 1)
                 for gpu in range(gpus)]  # fmt: skip
        wrong = [f"{errors}  (WARNING!)" if errors and gpu == 2 else "0 " for gpu in range(gpus)]
        text += f"{20 * step:.1f}%  proc'd: " + " - ".join(f"{2261 * step} ({rate:.0f} Gflop/s)" for rate in rates)
        text += "   errors: " + "- ".join(wrong) + "  temps: " + " - ".join(f"{50 + step} C" for _ in rates) + " \n"
        text += "\tSummary at:   Thu Mar 10 19:21:17 UTC 2022\n\n"
    text += f"Killing processes.. done\n\nTested {gpus} GPUs:\n"
    return text + "".join(f"\tGPU {gpu}: {'FAULTY' if errors and gpu == 2 else 'OK'}\n" for gpu in range(gpus))


def cuda_bandwidth() -> str:
    """bandwidthTest in quick mode."""
    parts = "".join(
        f" {title} Bandwidth, 1 Device(s)\n PINNED Memory Transfers\n   Transfer Size (Bytes)\tBandwidth(GB/s)\n"
        f"   32000000\t\t\t{rate}\n\n"
        for title, rate in (("Host to Device", 12.3), ("Device to Host", 13.2), ("Device to Device", 1157.5))
    )
    head = "[CUDA Bandwidth Test] - Starting...\nRunning on...\n\n Device 0: NVIDIA A100-SXM4-40GB\n Quick Mode\n\n"
    return f"{head}{parts}Result = PASS\n"


def cuda_bandwidth_csv() -> str:
    """bandwidthTest in shmoo mode as CSV."""
    rows = "".join(
        f"bandwidthTest-H2D-Pinned, Bandwidth = {size / (1e-6 + size / 13e9) / 1e9:.1f} GB/s, "
        f"Time = {size / 13e9:.5f} s, Size = {size} bytes, NumDevsUsed = 1\n"
        for size in (1000, 20000, 400000, 68000000)
    )
    head = (
        "[CUDA Bandwidth Test] - Starting...\nRunning on...\n\n Device 0: Tesla V100-PCIE-32GB\n Shmoo Mode\n\n....\n"
    )
    return f"{head}{rows}Result = PASS\n"


def hip_bandwidth() -> str:
    """hipBusBandwidth, host to device."""
    sizes = (("+064By", 0.0), ("1kB", 0.0414), ("1024kB", 16.3342), ("524288kB", 24.7523))
    rates = "".join(
        f"   H2D_Bandwidth_pinned {size:>12}       GB/sec        {rate}  {rate}  0.0017  {rate}  {rate}\n"
        for size, rate in sizes
    )
    times = "".join(
        f"         H2D_Timepinned {size:>12}           ms        {0.024 + place:.4f}  0.0253  0.0240  0.0232  0.7821\n"
        for place, (size, _) in enumerate(sizes)
    )
    return (
        "Device:Device 738c Mem=32.0GB #CUs=120 Freq=1502Mhz  MallocMode=pinned\n"
        "                   test        atts        units        median  mean    stddev  min     max\n"
        f"{rates}{times}\nNote: results marked with (*) had missing values such as\n"
        "might occur with a mixture of architectural capabilities.\n"
    )


def gpu_copy() -> str:
    """SuperBench's gpu_copy on two GPUs."""
    return (
        "cpu_to_gpu0_by_sm_under_numa0 26.2409\ngpu0_to_cpu_by_dma_under_numa0 25.8516\n"
        "gpu0_to_gpu0_by_sm 682.667\ngpu0_to_gpu1_write_by_sm 258.397\ncpu_to_gpu1_by_sm_under_numa0 26.2401\n"
        "cpu_and_gpu0_by_dma_under_numa0 49.4624\n"
        "gpu0_to_gpu_all_write_by_sm 55.6522\ngpu_all_to_gpu_all_write_by_sm 55.6522\n"
    )


def rocm_bandwidth() -> str:
    """rocm_bandwidth_test of two processors and two GPUs."""
    rows = (("N/A", "N/A", "28.120", "28.161"), ("N/A", "N/A", "28.134", "28.152"),
            ("28.337", "28.339", "1014.2", "35.870"), ("28.340", "28.334", "35.871", "1015.0"))  # fmt: skip
    table = "          D/D       0           1           2           3           \n\n" + "".join(
        f"          {place}         " + "".join(f"{cell:<12}" for cell in row) + "\n\n"
        for place, row in enumerate(rows)
    )
    return (
        "....................\n          RocmBandwidthTest Version: 2.6.0\n\n"
        "          Launch Command is: rocm-bandwidth-test (rocm_bandwidth -a + rocm_bandwidth -A)\n\n\n"
        "          Device: 0,  AMD EPYC 7763 64-Core Processor\n          Device: 1,  AMD EPYC 7763 64-Core Processor\n"
        "          Device: 2,  AMD Instinct MI250X,  GPU-5b2d6c0e5e9d31b1,  c1:0.0\n"
        "          Device: 3,  AMD Instinct MI250X,  GPU-5b2d6c0e5e9d31b2,  c6:0.0\n\n"
        f"          Unidirectional copy peak bandwidth GB/s\n\n{table}\n"
        f"          Bidirectional copy peak bandwidth GB/s\n\n{table}"
    )


def transferbench() -> str:
    """TransferBench with a list of transfers."""
    return (
        "TransferBench v1.64.00 (with NIC support)\n\nTest 1:\n"
        " Executor: DMA 00 \u2502 14.299 GB/s \u2502   75.091 ms \u2502 1073741824 bytes \u2502 14.351 GB/s (sum)\n"
        " Transfer 0       \u2502 14.351 GB/s \u2502   74.822 ms \u2502 1073741824 bytes \u2502 C0 -> D0:1 -> G0\n"
        " Transfer 1       \u2502 48.301 GB/s \u2502   22.230 ms \u2502 1073741824 bytes \u2502 G0 -> D0:2 -> G1\n"
        " Aggregate (CPU)  \u2502 14.261 GB/s \u2502   75.290 ms \u2502 1073741824 bytes \u2502 Overhead 0.199 ms\n"
    )


def transferbench_matrix() -> str:
    """TransferBench p2p: both matrices with their averages."""
    heads = "    CPU 00    GPU 00    GPU 01"
    rows = (("CPU 00", "92.21     45.11     45.16"), ("GPU 00", "55.47   2132.28     57.39"),
            ("GPU 01", "55.59     57.41   2152.51"))  # fmt: skip
    one = "".join(f"  {name}  ->     {cells}\n" for name, cells in rows)
    both = "".join(
        f"  {name}  {arrow}     {cells}\n"
        for name, cells in (("CPU 00", "N/A   43.20   43.10"), ("GPU 00", "52.47   N/A     54.39"))
        for arrow in ("->", "<-", "<->")
    )
    averages = "      CPU->CPU  CPU->GPU  GPU->CPU  GPU->GPU\nAverages (During {}Dir):  N/A  45.1  55.4  57.4\n"
    return (
        "TransferBench v1.50\nBytes Per Direction 268435456\n"
        f"Unidirectional copy peak bandwidth GB/s [Local read / Remote write]\n SRC+EXE\\DST{heads}\n"
        f"{one}{averages.format('Uni')}\nBidirectional copy peak bandwidth GB/s [Local read / Remote write]\n"
        f"     SRC\\DST{heads}\n{both}{averages.format('Bi')}"
    )


def transferbench_all() -> str:
    """TransferBench a2a: all GPUs to all others at once."""
    return (
        "TransferBench v1.50\nGPU-GFX All-To-All benchmark:\n==========================\n"
        "SRC\\DST   GPU 00    GPU 01    GPU 02       STotal      Actual\n"
        "GPU 00      N/A     51.126    51.041      102.167     102.082\n"
        "GPU 01   51.277        N/A    51.099      102.376     102.198\n"
        "GPU 02   51.145    51.263        N/A      102.408     102.290\n\n"
        "RTotal  102.422   102.389    102.140      306.951     102.082     102.290\n\n"
        "Average   bandwidth (GPU Timed):   51.158 GB/s\nAggregate bandwidth (GPU Timed):  306.951 GB/s\n"
        "Aggregate bandwidth (CPU Timed):  300.564 GB/s\n"
    )


def diagnostic(version: int = 4, status: str = "Pass", severity: int = 2) -> str:
    """`dcgmi diag -j` on two GPUs; `status`: that of the memory test on GPU 1, with a warning unless it passed."""
    text = "GPU 1 has pending page retirements."
    warning = {"error_category": 10, "error_id": 20, "error_severity": severity, "warning": text}
    results = []
    for gpu in (0, 1):
        of = {"entity_group": "GPU", "entity_group_id": 1, "entity_id": gpu} if version > 3 else {"gpu_ids": str(gpu)}
        word = status if gpu == 1 else "Pass"
        warnings = {"warnings": [warning if version > 3 else text]} if word in ("Fail", "Warn") else {}
        results.append({**of, "status": word if version > 3 else word.upper(), **warnings})
    tests = [{"name": "memory", "results": results}, *([None] if version == 3 else [])]
    root = {"test_categories": [{"category": "Hardware", "tests": tests}], "version": "3.1.8"}
    name = "DCGM Diagnostic" if version > 3 else "DCGM GPU Diagnostic"
    return json.dumps({name: root, **({"metadata": {"version": "4.2.3"}} if version > 3 else {})}, indent=2) + "\n"


GPU_OUTPUTS = {
    "nccl-tests": (nccl, nccl_old, lambda: nccl("sendrecv"), lambda: nccl("alltoall", ("n1",), 8)),
    "nvbandwidth": (nvbandwidth, nvbandwidth_json),
    "gpu-burn": (gpu_burn,),
    "cuda-bandwidth-test": (cuda_bandwidth, cuda_bandwidth_csv),
    "hip-bus-bandwidth": (hip_bandwidth,),
    "gpu-copy": (gpu_copy,),
    "rocm-bandwidth-test": (rocm_bandwidth,),
    "transferbench": (transferbench, transferbench_matrix, transferbench_all),
    "dcgm-diagnostic": (diagnostic, lambda: diagnostic(3)),
}
"""Name of the benchmark -> complete outputs that pass all gates."""
