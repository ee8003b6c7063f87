"""Pictures from the command line: which commands draw, what a picture shows, and what is refused."""

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from seatrial.cli.parameters import refuse_endless_settings
from seatrial.commands.check.view import check_report
from seatrial.model.errors import UsageError
from seatrial.render import matrix, node_map, plots
from seatrial.render.forest import Forest
from seatrial.render.plot_file import DRAWN, as_plot
from seatrial.render.plot_style import FORMS, HATCHES, colours, words_on
from seatrial.render.report import Block
from tests.support.command_line import Seatrial, commands
from tests.support.paths import ROOT
from tests.support.report_examples import big, facts, run_info, slow_node
from tests.support.run_archives import healthy_run, slow_run

SVG = "{http://www.w3.org/2000/svg}"
CASES = ROOT / "tests" / "data" / "cases"
NO_PICTURE = {
    "doctor": "steps of a launch, in words",
    "runs": "lists runs and moves them; `report RUN --plot` draws one",
    "import": "puts values into the archive; `history --plot` draws them",
    "requalify": "decides on nodes; the check that it makes is a run, which report draws",
    "metrics": "numbers for Prometheus and Graphite, which draw them",
    "completion": "a script for a shell",
    "site": "pages, which have the pictures in them",
    "baseline": "keeps names of runs; `compare --plot` draws them",
    "bench list": "words about benchmarks",
    "bench show": "words about a benchmark",
    "lab": "a virtual cluster; commands on it draw, and so does `lab simulate`",
}
"""Commands without --plot, and why."""


def test_every_command_draws_or_says_why_not() -> None:
    by_name = {" ".join(path): command for path, command in commands()}
    without = {name for name, command in by_name.items() if not any("--plot" in one.opts for one in command.params)}
    unexplained = {name for name in without if name not in NO_PICTURE and name.split()[0] not in NO_PICTURE}
    assert unexplained == set()
    assert {name for name in NO_PICTURE if not any(one.split()[0] == name or one == name for one in without)} == set()


def test_every_kind_of_picture_on_pages_is_drawn_in_files() -> None:
    rooms = (plots, matrix, node_map)
    kinds = {one for room in rooms for one in vars(room).values() if isinstance(one, type) and issubclass(one, Block)}
    kinds = {one for one in kinds if one.__module__ != "seatrial.render.report"} | {Forest}
    assert {one.kind for one in kinds} - {one.kind for one in DRAWN} == {"panels", "corekey"}


def svg_of(path: Path) -> ElementTree.Element:
    """The picture, which is XML without an entity or a script."""
    text = path.read_text()
    assert "<script" not in text and "<!ENTITY" not in text
    return ElementTree.fromstring(text)  # noqa: S314 - our own file


def words_of(path: Path) -> list[str]:
    """All words of a picture, in the order of drawing."""
    return ["".join(one.itertext()).strip() for one in svg_of(path).iter(f"{SVG}text")]


def test_a_check_is_drawn_as_maps_and_distributions(tmp_path: Path, seatrial: Seatrial) -> None:
    slow_run(tmp_path / "runs", 1)
    file = tmp_path / "map.svg"
    ran = seatrial("report", "s1", "--archive", tmp_path / "runs", "--plot", str(file), code=1)
    assert f"Plot: {file}" in ran.out
    words = words_of(file)
    assert words[0] == ran.out.splitlines()[0]
    captions = [re.sub(r"\d+", "N", word) for word in words if word.startswith(("Bandwidth", "One-way latency"))]
    maps = ["Bandwidth in % of the limit", "One-way latency in µs"]
    assert captions == [*maps, "Bandwidth of N ordered pairs", "One-way latency of N pairs"]
    assert [words.count(f"n{number}") for number in range(1, 6)] == [4] * 5  # row and column of both maps
    assert words.count("S") >= 8  # both directions of four pairs, by a letter
    assert {"sends", "receives", "pairs"} <= set(words)
    assert any(re.fullmatch(r"limit [\d.]+ [MG]B/s", word) for word in words)
    assert any(re.fullmatch(r"peers [\d.]+ [MG]B/s", word) for word in words)


def test_curves_have_units_limits_and_numbers_of_runs(tmp_path: Path, seatrial: Seatrial) -> None:
    file = tmp_path / "rails.svg"
    files = [str(CASES / f"results_bw_FDR_{rails}.txt") for rails in ("single", "dual")]
    seatrial(
        "compare", "--side-by-side", *files, "--limit", "single=FDR", "--limit", "dual=FDR+FDR", "--plot", str(file)
    )
    words = words_of(file)
    assert {"message size", "bandwidth; n = 1 run", "4 MiB", "10.0 GB/s"} <= set(words)
    limits = "; ".join(word for word in words if "limit" in word)
    assert limits == "limit of dual 13.6 GB/s; limit of single 6.82 GB/s"
    assert words.count("dual") == words.count("single") == 1


def test_intervals_are_drawn_and_read_from_their_axis(tmp_path: Path, seatrial: Seatrial) -> None:
    archive = tmp_path / "runs"
    for number in range(1, 4):
        healthy_run(archive, number)
        slow_run(archive, number)
    file = tmp_path / "both.svg"
    words = ["compare", "h1,h2,h3", "s1,s2,s3", "--archive", str(archive), "--across", "mpi-library"]
    first = seatrial(*words, "--plot", str(file), code=1).out.splitlines()[0]
    drawn = words_of(file)
    assert drawn[0].startswith(first)
    assert {"after over before", "1"} <= set(drawn)
    assert any(re.search(r"% lower \(95 % CI", word) for word in drawn)


def test_all_forms_and_the_same_bytes_for_the_same_report(tmp_path: Path, seatrial: Seatrial) -> None:
    begins = {"svg": b"<?xml", "png": b"\x89PNG\r\n", "pdf": b"%PDF-"}
    assert begins.keys() == set(FORMS)
    for form, bytes_ in begins.items():
        made = []
        for number in (1, 2):
            file = tmp_path / f"{number}.{form.upper() if number == 2 else form}"
            seatrial("judge", str(CASES / "weak.csv"), "--weak", "--plot", str(file))
            made.append(file.read_bytes())
        assert made[0].startswith(bytes_)
        assert made[0] == made[1], form


def test_names_are_only_text(tmp_path: Path, seatrial: Seatrial) -> None:
    table = tmp_path / "t.csv"
    evil = "$\\frac{1}{0}$<script>&\x1b[31m"
    table.write_text("configuration,hpl_Gflops\n" + "".join(f'"{name}",{v}\n' for name, v in ((evil, 700), ("b", 600))))
    file = tmp_path / "t.svg"
    seatrial("compare", "--side-by-side", str(table), "--plot", str(file))
    assert "$\\frac{1}{0}$<script>&" in words_of(file)


@pytest.mark.parametrize("name", ["map.jpg", "map", ".svg"])
def test_other_endings_are_refused(name: str, tmp_path: Path, seatrial: Seatrial) -> None:
    refused = seatrial("judge", str(CASES / "weak.csv"), "--plot", tmp_path / name, code=64)
    assert ".svg, .png, .pdf" in refused.err
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_nothing_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    words = ("check", "--launcher", "local", "--archive", str(tmp_path / "runs"), "--plot", str(tmp_path / "map.svg"))
    refused = seatrial(*words, code=64)
    assert "--plot needs matplotlib, which is not installed." in refused.err
    assert "pip install matplotlib" in refused.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("broken", ["library", "backend"])
def test_with_a_matplotlib_that_fails_nothing_is_measured(broken: str, tmp_path: Path) -> None:
    package = tmp_path / "broken" / "matplotlib"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('numpy fails')\n")
    change = {"PYTHONPATH": str(package.parent)} if broken == "library" else {"MPLBACKEND": "nonsense"}
    archive = tmp_path / "runs"
    words = ["check", "--launcher", "local", "--archive", str(archive), "--plot", str(tmp_path / "map.svg")]
    refused = subprocess.run(
        [sys.executable, "-m", "seatrial", *words],
        env={**os.environ, **change},
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 64
    assert "seatrial: --plot needs matplotlib, which fails (" in refused.stderr
    assert {"library": "numpy fails", "backend": "'nonsense'"}[broken] in refused.stderr
    assert not archive.exists()


def test_settings_in_the_current_folder_change_nothing(tmp_path: Path, seatrial: Seatrial) -> None:
    settings = "figure.facecolor: red\nsavefig.bbox: tight\ntext.usetex: True\nlines.linewidth: 40\nnonsense\n"
    (tmp_path / "matplotlibrc").write_text(settings)
    words = ["judge", str(CASES / "weak.csv"), "--weak", "--plot"]
    argv = [sys.executable, "-m", "seatrial", *words, "changed.svg"]
    ran = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    seatrial(*words, tmp_path / "plain.svg")
    assert (tmp_path / "changed.svg").read_bytes() == (tmp_path / "plain.svg").read_bytes()


@pytest.mark.parametrize("named", ["/dev/zero", "large", "pipe"])
def test_settings_without_end_are_refused(named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process read /dev/zero for ever."""
    path = Path(named) if named.startswith("/") else tmp_path / named
    if named == "large":
        with path.open("wb") as file:
            file.truncate(1 << 30)
    elif named == "pipe":
        os.mkfifo(path)
    monkeypatch.setenv("MATPLOTLIBRC", str(path))
    with pytest.raises(UsageError, match=f"reads its settings from {path}"):
        refuse_endless_settings()


def test_a_result_without_a_picture_is_printed_and_the_file_is_not_written(tmp_path: Path, seatrial: Seatrial) -> None:
    file = tmp_path / "map.svg"
    ran = seatrial("status", "--archive", tmp_path / "runs", "--plot", str(file), code=2)
    assert ran.out.startswith("NOT_RUN")
    assert "There is nothing to draw" in ran.err
    assert not file.exists()


def test_colours_are_those_of_pages_and_differ_in_grey() -> None:
    palette = colours()
    assert palette.verdicts["PASS"] == palette.names["pass"] == "#1d5f8a"  # noqa: S105 - a colour
    assert len(palette.curves) == plots.COLOURS
    assert words_on(palette.of("PASS")) == "#ffffff" != words_on(palette.of("SLOW"))
    assert set(matrix.PATTERNS.values()) == set(HATCHES)


def test_a_large_map_has_no_numbers_and_is_a_small_file() -> None:
    small = as_plot(check_report(run_info(), slow_node(), facts()), "svg").decode()
    large = as_plot(check_report(run_info(), big(64, 16, 63), {}), "svg").decode()
    assert small.count("<text") < large.count("<text") < 400
    assert len(large) < 3_000_000
