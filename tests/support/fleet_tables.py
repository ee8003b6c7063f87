"""Tables of benchmarks over nodes, conditions, parts and runs in the forms that tools and sites write."""

import itertools
import random
from collections.abc import Callable, Iterable, Mapping, Sequence

Row = Mapping[str, str]
Factor = Callable[[Row], float]


def healthy(_: Row) -> float:
    """No row differs from its peers."""
    return 1.0


def nodes(number: int) -> list[str]:
    """n01, n02, ..."""
    return [f"n{place:02d}" for place in range(1, number + 1)]


def long_table(
    keys: Mapping[str, Sequence[str]],
    level: Callable[[Row], float],
    factor: Factor = healthy,
    *,
    value: str = "value",
    scatter: float = 0.004,
    seed: int = 1,
    more: Callable[[Row], Row] = lambda _: {},
    left_out: Iterable[Mapping[str, str]] = (),
) -> str:
    """CSV with a row for each combination of cells, but those `left_out`. `more`: further columns of a row."""
    draw = random.Random(seed)
    rows = []
    for cells in itertools.product(*keys.values()):
        row = dict(zip(keys, cells, strict=True))
        if any(all(row[name] == cell for name, cell in gap.items()) for gap in left_out):
            continue
        number = level(row) * draw.gauss(1, scatter) * factor(row)
        rows.append({**row, **more(row), value: f"{number:.5g}"})
    return "\n".join([",".join(rows[0]), *(",".join(row.values()) for row in rows)]) + "\n"


TESTS = {"all_gather_perf": 360.0, "all_reduce_perf": 370.0, "alltoall_perf": 350.0, "sendrecv_perf": 365.0}


def nccl_summary(factor: Factor = healthy) -> str:
    """The form of a site's summary of nccl-tests: one row for each node, test and number of GPUs, and constants."""
    return long_table(
        {"test": list(TESTS), "N": ["1"], "G": ["4", "8"], "nodes": nodes(10)},
        lambda row: TESTS[row["test"]] * (1.2 if row["G"] == "8" else 1),
        factor,
        value="peak_busbw_GBs",
        scatter=0.001,
        more=lambda row: {
            "file": f"nccl_N1_G{row['G']}_{row['nodes']}.log",
            "minBytes": "33554432",
            "avg_bus_bw_GBs": f"{300 + len(row['test']) + int(row['nodes'][1:]) / 7:.3f}",
        },
    )


def per_gpu(factor: Factor = healthy, *, gpu: str = "gpu", value: str = "h2d_GB_s", runs: int = 3) -> str:
    """Rates of each GPU of each node, as checks of GPU nodes print them."""
    return long_table(
        {"node": nodes(12), gpu: list("01234567"), "run": [str(run) for run in range(1, runs + 1)]},
        lambda row: 25.5 + int(row[gpu]) % 3 / 4,
        factor,
        value=value,
    )


def osu_sizes(factor: Factor = healthy) -> str:
    """Latency in µs by message size: OSU's tables of several nodes below each other."""
    return long_table(
        {"host": nodes(9), "size": ["1", "1024", "65536", "1048576"], "iter": ["1", "2", "3"]},
        lambda row: 1.2 + int(row["size"]) / 1e4,
        factor,
        value="latency_us",
    )


def fio_rows(factor: Factor = healthy) -> str:
    """Read and write rows of each node with a column of units that differ between rows."""
    unit = {"read": "GB/s", "write": "MB/s"}
    return long_table(
        {"hostname": nodes(8), "rw": ["read", "write"], "rep": ["1", "2", "3"]},
        lambda row: 6.1 if row["rw"] == "read" else 2900.0,
        factor,
        value="bw",
        more=lambda row: {"unit": unit[row["rw"]]},
    )


def metrics(factor: Factor = healthy) -> str:
    """Bandwidths and latencies in one column of values: which values are good depends on the row."""
    unit = {"latency": "us", "bandwidth": "GB/s"}
    return long_table(
        {"node": nodes(8), "metric": list(unit), "run": ["1", "2", "3"]},
        lambda row: 1.9 if row["metric"] == "latency" else 24.0,
        factor,
        more=lambda row: {"unit": unit[row["metric"]]},
    )


def hpl_sizes(factor: Factor = healthy) -> str:
    """HPL at several N, the run is a date."""
    return long_table(
        {"node": nodes(10), "N": ["20000", "40000", "80000"], "date": ["2026-03-01", "2026-03-02", "2026-03-03"]},
        lambda row: 2.1 + int(row["N"]) / 1e5,
        factor,
        value="tflops",
    )


def stream_kernels(factor: Factor = healthy, *, kernel: bool = True, iteration: bool = True) -> str:
    """The kernels of STREAM below each other: with or without the column that names them, and that of the runs."""
    levels = {"Copy": 180.0, "Scale": 120.0, "Add": 140.0, "Triad": 141.0}
    text = long_table(
        {"node": nodes(10), "iteration": ["1", "2", "3", "4", "5"], "kernel": list(levels)},
        lambda row: levels[row["kernel"]],
        factor,
        value="GB_s",
    )
    kept = [place for place, there in enumerate((True, iteration, kernel, True)) if there]
    rows = (line.split(",") for line in text.splitlines())
    return "\n".join(",".join(row[place] for place in kept) for row in rows) + "\n"
