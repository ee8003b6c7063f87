"""`compare --side-by-side`: labels, the answer in the first line, limits, scatter, tables, and what is refused."""

import random
from pathlib import Path

import pytest

from seatrial.commands.compare import configurations
from seatrial.commands.compare.configurations import labels_of
from seatrial.importers.configuration_tables import column_unit
from seatrial.model.unit_text import Unit
from tests.support.benchmark_outputs import hpcc, perftest
from tests.support.builders import Cluster, names, record, slow_part
from tests.support.command_line import Seatrial, Text

SIZES = tuple(1 << power for power in range(23))


def osu(test: str, column: str, value: "dict[int, float]") -> str:
    rows = "".join(f"{size:<12d}{number:.2f}\n" for size, number in value.items())
    return f"# OSU MPI {test} Test v5.6.3\n# Size      {column}\n{rows}"


def bandwidth(peak: float, small: float = 0.0) -> str:
    """A curve with another peak up to 8 KiB."""
    return osu(
        "Bandwidth",
        "Bandwidth (MB/s)",
        {size: size / (0.4e-6 + size / (small if small and size <= 8192 else peak)) / 1e6 for size in SIZES},
    )


def latency(start: float, noise: random.Random, deviation: float) -> str:
    values = {size: (start + size / 6e3) * noise.gauss(1, deviation) for size in SIZES}
    return osu("Latency", "Latency (us)", values)


@pytest.fixture
def rails(tmp_path: Path) -> Path:
    """A folder of a configuration each."""
    (tmp_path / "results_bw_QDR_single.txt").write_text(bandwidth(3.2e9))
    (tmp_path / "results_bw_FDR_single.txt").write_text(bandwidth(6e9))
    (tmp_path / "results_bw_FDR_dual.txt").write_text(bandwidth(11.6e9, small=6e9))
    return tmp_path


def test_the_first_line_says_which_is_best_and_from_which_size_on(rails: Path, seatrial: Seatrial) -> None:
    ran = seatrial("compare", "--side-by-side", rails)
    assert ran.out.startswith("MEASURED  FDR dual: 11.6 GB/s at 4 MiB, 1.93 times FDR single, from 16 KiB on\n")
    data = seatrial("compare", "--side-by-side", rails, "--json").object["data"]
    (figure,) = data["figures"]
    assert (figure["figure"]["name"], figure["curves"][0]["label"], figure["size"]) == (
        "bandwidth",
        "FDR dual",
        4194304,
    )
    assert figure["others"][0]["better_at"][0] == 16384
    assert [each["label"] for each in figure["curves"]] == ["FDR dual", "FDR single", "QDR single"]


def test_limits_follow_labels_and_more_than_physics_permits_is_invalid(rails: Path, seatrial: Seatrial) -> None:
    words = ("compare", "--side-by-side", str(rails), "--limit", "FDR=FDR", "--limit", "QDR=32Gbit/s")
    ran = seatrial(*words, code=1)
    assert ran.out.startswith("INVALID  FDR dual: ")
    assert "faster than physics permits" in ran.out.partition("\n")[0]
    page = rails.parent / "page.html"
    ran = seatrial(*words, "--limit", "FDR dual=FDR+FDR", "--html", str(page))
    assert ran.out.startswith("MEASURED  FDR dual: ")
    assert {"13.6 GB/s", "6.82 GB/s", "4.00 GB/s"} <= {cell.strip() for cell in ran.out.replace("  ", "\t").split("\t")}
    assert page.read_text().count('class="curve"') == 3
    assert "limit of FDR dual" in page.read_text()


@pytest.mark.parametrize(("above", "verdict"), [(1.2, "MEASURED"), (1.6, "INVALID")])
def test_a_small_window_may_be_a_little_faster_than_the_link(
    above: float, verdict: str, tmp_path: Path, seatrial: Seatrial
) -> None:
    for name, peak in (("old", 1.5e9), ("new", 3e9)):
        values = {size: peak * (above if size == 1024 else 1) / 1e6 for size in SIZES}
        (tmp_path / f"{name}.txt").write_text(osu("Bandwidth", "Bandwidth (MB/s)", values))
    limits = ("--limit", "old=1.5e9", "--limit", "new=24gbit")
    ran = seatrial("compare", "--side-by-side", tmp_path, *limits, code=1 if verdict == "INVALID" else 0)
    assert ran.out.startswith(f"{verdict}  new: ")


def test_of_alike_configurations_the_one_that_scatters_more_is_named(tmp_path: Path, seatrial: Seatrial) -> None:
    noise = random.Random(1)
    for run in range(6):
        (tmp_path / f"osu_latency_mpich_run{run}.out").write_text(latency(1.5, noise, 0.01))
        (tmp_path / f"osu_latency_openmpi_run{run}.out").write_text(latency(1.5, noise, 0.06))
    ran = seatrial("compare", "--side-by-side", tmp_path, code=2)
    line = ran.out.partition("\n")[0]
    assert line.startswith("INCONCLUSIVE  ")
    assert line.endswith("no difference shown at 1 B; openmpi varies more")


def test_repetitions_show_a_difference(tmp_path: Path, seatrial: Seatrial) -> None:
    noise = random.Random(2)
    for name, start in (("old", 1.5), ("new", 1.3)):
        for run in range(4):
            (tmp_path / f"{name}-{run}.out").write_text(latency(start, noise, 0.01))
    ran = seatrial("compare", "--side-by-side", tmp_path)
    assert ran.out.startswith("FASTER  new: 1.3")
    assert "lower than old, up to" in ran.out.partition("\n")[0]


def test_values_are_divided_by_a_column(tmp_path: Path, seatrial: Seatrial) -> None:
    table = tmp_path / "hs06.csv"
    table.write_text(
        "machine,processes,hs06,dollar\nxeon,64,208,5200\nxeon,256,320,5200\nknl,64,190,3100\nknl,256,451,3100\n"
    )
    ran = seatrial("compare", "--side-by-side", str(table), "--column", "hs06", "--per", "dollar")
    assert ran.out.startswith("MEASURED  knl: 0.1455 at 256 processes, 2.36 times xeon, at all sizes\n")
    ran = seatrial("compare", "--side-by-side", str(table), "--column", "hs06")
    assert ran.out.startswith("MEASURED  knl: 451 at 256 processes, 1.41 times xeon, only there\n")


def test_a_unit_behind_each_number_holds_whatever_the_head_says(tmp_path: Path, seatrial: Seatrial) -> None:
    table = tmp_path / "times.csv"
    table.write_text("config,time_s\na,1.2 ms\na,1.3 ms\na,0.00125 s\nb,1.31 ms\nb,1.3 ms\nb,1.33 ms\n")
    done = seatrial("compare", "--side-by-side", str(table), code=None)
    assert "1.25 ms" in done.out and "1.31 ms" in done.out, done.out


def test_columns_of_a_table_for_a_plot_are_configurations(seatrial: Seatrial) -> None:
    ran = seatrial("compare", "--side-by-side", Text("#bytes QDR FDR\n1 2.5 3.1\n1024 800 1400\n", "w.dat"))
    assert ran.out.startswith("MEASURED  FDR: 1400 at 1 KiB, 1.75 times QDR, at all sizes\n")


def test_four_kernels_are_in_one_table_even_if_their_names_are_numbers(tmp_path: Path, seatrial: Seatrial) -> None:
    rows = {"327": (761, 765, 760), "327.36": (612, 620, 611), "7.3": (640, 641, 639), "4.8.10": (700, "", 705)}
    lines = [f"{kernel},{run},{value}" for kernel, values in rows.items() for run, value in enumerate(values)]
    ran = seatrial("compare", "--side-by-side", Text("\n".join(["kernel,run,hpl_Gflops", *lines, ""]), "k.csv"))
    assert ran.out.startswith("FASTER  327: 761.0 Gflop/s, 8.5 % higher than 4.8.10\n")
    page = tmp_path / "page.html"
    seatrial("compare", "--side-by-side", tmp_path / "k.csv", "--html", str(page))
    assert 'aria-label="327.36: 612.0 Gflop/s, n = 3"' in page.read_text()


THREE = {"a": (10.1, 10.2, 10.1, 10.3), "b": (10.1, 10.15, 10.2, 10.25), "c": (14.0, 14.1, 14.2, 14.1)}
"""Seconds of four runs of three configurations, of which two are alike."""


@pytest.mark.parametrize("clock", ["minute", "date", "time", "ppn", "elapsed_min"])
def test_neither_times_nor_conditions_nor_sensors_are_the_figure(
    clock: str, tmp_path: Path, seatrial: Seatrial
) -> None:
    rows = []
    for place, (label, times) in enumerate(THREE.items()):
        for run, time in enumerate(times):
            number = 4 * place + run
            whens = {
                "minute": f"{run + 1}", "date": f"2026-11-{number + 1:02d}", "time": f"{10 + number}:00:01", "ppn": "4",
                "elapsed_min": f"{5 * number}",
            }  # fmt: skip
            rows.append(f"{label},{whens[clock]},{90 - 10 * place + (run > 0)},{time}\n")
    (tmp_path / "t.csv").write_text(f"variant,{clock},temp_C,run_time_s\n{''.join(rows)}")
    ran = seatrial("compare", "--side-by-side", str(tmp_path / "t.csv"))
    assert ran.out.startswith("SAME  a and b: alike; c: 38.6 % higher\n")
    data = seatrial("compare", "--side-by-side", str(tmp_path / "t.csv"), "--json").object["data"]
    figures = {each["figure"]["name"]: each["figure"]["better"] for each in data["figures"]}
    assert figures == {"run time": "less", "temp_C": "less"}


def test_a_run_that_failed_has_no_value_and_its_state_is_no_label(tmp_path: Path, seatrial: Seatrial) -> None:
    rows = [("old", "ok", 12.1), ("old", "ok", 12.2), ("old", "FAILED", 0.1), ("new", "ok", 13.1), ("new", "ok", 13.2)]
    text = "".join(f"{label},{state},{value}\n" for label, state, value in rows)
    (tmp_path / "t.csv").write_text(f"config,status,GB/s\n{text}")
    data = seatrial("compare", "--side-by-side", str(tmp_path / "t.csv"), "--json").object["data"]
    (figure,) = data["figures"]
    assert (figure["figure"]["unit"], [each["label"] for each in figure["curves"]]) == ("B/s", ["new", "old"])
    assert figure["curves"][1]["runs"] == {"0.0": [12.1e9, 12.2e9]}


def test_outputs_of_perftest_have_labels_of_the_command_line(tmp_path: Path, seatrial: Seatrial) -> None:
    files = []
    for name, most in (("a", 6e9), ("b", 12e9)):
        (tmp_path / name).write_text(perftest(most=most))
        files.append(str(tmp_path / name))
    labels = ("--label", "firmware 16.2", "--label", "firmware 16.3")
    ran = seatrial("compare", "--side-by-side", *files, *labels)
    assert ran.out.startswith("MEASURED  firmware 16.3: 11.9 GB/s at 1 MiB, 1.99 times firmware 16.2")
    assert "message rate" in ran.out


def test_the_main_part_of_a_benchmark_comes_first(tmp_path: Path, seatrial: Seatrial) -> None:
    for name, rate in (("old", "0.0533"), ("new", "0.0423")):
        (tmp_path / f"{name}.out").write_text(hpcc().replace("HPL_Tflops=0.0533", f"HPL_Tflops={rate}"))
    ran = seatrial("compare", "--side-by-side", tmp_path)
    assert ran.out.startswith("MEASURED  old: 53.3 Gflop/s, 1.26 times new\n")


def test_single_runs_that_hardly_differ_have_no_best_one(seatrial: Seatrial) -> None:
    ran = seatrial("compare", "--side-by-side", Text("config,time_s\na,1.200\nb,1.201\n", "t.csv"))
    assert ran.out.startswith("MEASURED  a and b: less than 2.0 % apart, single runs\n")


def test_runs_of_the_archive_are_configurations_beside_files(
    rails: Path, tmp_path: Path, seatrial: Seatrial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEATRIAL_ARCHIVE", str(tmp_path / "archive"))
    own, published = rails / "results_bw_QDR_single.txt", rails / "results_bw_FDR_dual.txt"
    seatrial("import", str(own), "--name", "own")
    words = ("compare", "--side-by-side", "own-0001", str(published), "--label", "ours", "--label", "published")
    assert seatrial(*words).out.startswith("MEASURED  published: 11.6 GB/s at 4 MiB, 3.6")
    cluster = Cluster(nodes=names(4))
    slower = Cluster(nodes=names(4), parts=slow_part("node", "n2", 0.6))
    for run, made in {"a1": cluster, "a2": cluster, "b1": slower, "b2": slower}.items():
        record(made, tmp_path / "archive", run)
    data = seatrial("compare", "--side-by-side", "a1,a2", "b1,b2", "--json", code=None).object["data"]
    assert {each["label"] for each in data["figures"][0]["curves"]} == {"a1,a2", "b1,b2"}
    assert {value["runs"] for value in data["figures"][0]["curves"][0]["points"].values()} == {2}


@pytest.mark.parametrize(
    ("files", "labels"),
    [
        (("bw_QDR_run1.txt", "bw_QDR_run2.txt", "bw_FDR_run1.txt"), ["QDR", "QDR", "FDR"]),
        (("mpich-1.out", "mpich-2.out", "openmpi-1.out", "openmpi-2.out"), ["mpich", "mpich", "openmpi", "openmpi"]),
        (("hpl-64.out", "hpl-256.out"), ["64", "256"]),
        (("QDR/osu_bw.out", "FDR/osu_bw.out"), ["QDR", "FDR"]),
        (("k-3.10.0-327.txt", "k-4.8.10.txt"), ["3.10.0 327", "4.8.10"]),
    ],
)
def test_labels_are_what_distinguishes_names_of_files(files: tuple[str, ...], labels: list[str]) -> None:
    assert list(labels_of([Path("runs") / name for name in files]).values()) == labels


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("bandwidth_MB/s", ("bandwidth", Unit("B/s", 1e6))),
        ("bandwidth_MB_s", ("bandwidth", Unit("B/s", 1e6))),
        ("rate [GB/s]", ("rate", Unit("B/s", 1e9))),
        ("hpl_Gflops", ("hpl", Unit("flop/s", 1e9))),
        ("t_min", ("t_min", Unit("", 1.0))),
        ("rate_gb_s", ("rate_gb_s", Unit("", 1.0))),  # 12 % lower was FASTER
        ("gb_s", ("gb_s", Unit("", 1.0))),
        ("GB_s", ("GB_s", Unit("B/s", 1e9))),
        ("web_job_s", ("web job", Unit("s", 1.0))),
        ("bandwidth_bytes_per_s", ("bandwidth", Unit("B/s", 1.0))),
        ("message_rate_per_s", ("message rate", Unit("1/s", 1.0))),
        ("mean_images_per_sec", ("mean images", Unit("1/s", 1.0))),
        ("hpl_Gflop_per_s", ("hpl", Unit("flop/s", 1e9))),
        ("frames per hour", ("frames per hour", Unit("", 1.0))),
        ("hs06", ("hs06", Unit("", 1.0))),
        ("GB/s", ("GB/s", Unit("B/s", 1e9))),
        ("Temperatur °C", ("Temperatur", Unit("°C", 1.0))),
    ],
)
def test_units_are_in_the_names_of_columns(name: str, found: tuple[str, Unit]) -> None:
    assert column_unit(name) == found


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        ("config,figure\na,1.2 s\nb,1.3 MB\n", (), "has units in its cells"),
        ("config,time_s\na,1.2\nb,fast\n", (), "'fast' in row 2"),
        ("config,time_s\na,1.2\na,1.3\n", (), "There is 1 configuration."),
        ("config,time_s\na,1.2\nb,1.3\n", ("--column", "x"), "no column 'x'"),
        ("config,time_s\na,1.2\nb,1.3\n", ("--limit", "c=FDR"), "no such configuration"),
        ("config,time_s\na,1.2\nb,1.3\n", ("--limit", "fast"), "not a rate"),
        ("config,time_s\na,1.2\nb,1.3\n", ("--label", "x", "--label", "y"), "2 labels and 1 file"),
        ("JOBID PARTITION NAME USER ST TIME NODES NODELIST(REASON)\n1 main a b R 1:00 2 n[1-2]\n", (), "looks like"),
    ],
)
def test_what_cannot_be_compared_is_refused(text: str, words: tuple[str, ...], said: str, seatrial: Seatrial) -> None:
    assert said in seatrial("compare", "--side-by-side", Text(text, "table.csv"), *words, code=64).err


@pytest.mark.parametrize(("columns", "rows"), [(600, 2), (2, 600)])
def test_more_figures_or_values_than_are_read_in_seconds_are_refused(
    columns: int, rows: int, seatrial: Seatrial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(configurations, "MOST_VALUES", 1199)  # 250,000 values take ten seconds to be read
    lines = [",".join(("label", *(f"v{column}" for column in range(columns))))]
    lines += [f"c{row % 2}{',1.5' * columns}" for row in range(rows)]
    ran = seatrial("compare", "--side-by-side", Text("\n".join(lines), "t.csv"), code=64)
    assert "can be compared" in ran.err
