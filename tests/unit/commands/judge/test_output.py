"""seatrial judge on one output of a benchmark, and seatrial bench, on the command line."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from seatrial.frame.command_line import run
from seatrial.model.errors import ExitCode
from tests.support.benchmark_outputs import babelstream, hpcc, hpl, hpl_mxp, imb, netpipe, openfoam, osu, stream
from tests.support.builders import Cluster, names
from tests.support.command_line import Seatrial
from tests.support.gpu_outputs import gpu_burn
from tests.support.paths import ROOT


def write(folder: Path, text: str, name: str = "run.out") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_a_good_output(tmp_path: Path, seatrial: Seatrial) -> None:
    text = seatrial("judge", write(tmp_path, hpl())).out
    assert text.startswith("MEASURED  run.out: HPL")
    assert "53.3 Gflop/s" in text


@pytest.mark.parametrize("text", [hpl() + hpl(time=10, order=4000), hpl(time=10, order=4000) + hpl()])
def test_the_best_of_the_orders_that_hpl_tried_is_its_number(text: str, tmp_path: Path, seatrial: Seatrial) -> None:
    text = re.sub("HPL_pdgesv.*", "", text)  # both begin at one time
    assert seatrial("judge", write(tmp_path, text)).out.startswith("MEASURED  run.out: HPL 53.3 Gflop/s")


def test_an_output_of_latencies_begins_with_that_of_the_smallest_message(tmp_path: Path, seatrial: Seatrial) -> None:
    text = seatrial("judge", write(tmp_path, osu())).out
    assert text.startswith("MEASURED  run.out: OSU micro-benchmarks 1.50 µs at 1 B")


@pytest.mark.parametrize(
    ("made", "name"), [(hpcc, "hpcc"), (hpl_mxp, "hpl-mxp"), (hpl, "hpl"), (babelstream, "babelstream")]
)
def test_the_output_of_another_benchmark_in_the_same_file_is_judged_as_well(
    made: Callable[[], str], name: str, tmp_path: Path, seatrial: Seatrial
) -> None:
    whole, good = seatrial("judge", write(tmp_path, made())).out, gpu_burn()
    assert "--benchmark" not in whole  # HPL within HPCC and HPL-MxP is a part of theirs
    both = seatrial("judge", write(tmp_path, made() + good)).out
    assert both.splitlines()[0] == whole.splitlines()[0]
    assert "--benchmark gpu-burn" in both
    bad = write(tmp_path, made() + good.replace("GPU 1: OK", "GPU 1: FAULTY"))
    assert "line" in seatrial("judge", bad, code=ExitCode.FINDINGS).out.partition("\n")[0]
    assert seatrial("judge", "--benchmark", name, bad).out.startswith("MEASURED  ")
    cut = write(tmp_path, made() + good[: good.index("Tested")])
    assert seatrial("judge", cut, code=ExitCode.INCOMPLETE).out.startswith("INCOMPLETE  ")


def test_a_truncated_one_is_incomplete_even_if_a_gate_is_not_passed(tmp_path: Path, seatrial: Seatrial) -> None:
    text = hpl(outcome="FAILED")
    ran = seatrial("judge", "--benchmark", "hpl", write(tmp_path, text[:-20]), code=ExitCode.INCOMPLETE)
    assert ran.out.startswith("INCOMPLETE  run.out: HPL")


def test_an_invalid_one_names_the_gate_and_shows_the_line(tmp_path: Path, seatrial: Seatrial) -> None:
    text = seatrial("judge", write(tmp_path, hpl("9.9e+01", "FAILED")), code=ExitCode.FINDINGS).out
    assert text.startswith("INVALID  run.out: residual-failed: line")
    assert "9.9e+01 ...... FAILED" in text


@pytest.mark.parametrize("pair", ["", "# n1 n2\n"])
@pytest.mark.parametrize(("word", "code"), [("Pass", ExitCode.PASS), ("Fail", ExitCode.FINDINGS)])
def test_a_table_of_osu_whose_check_of_the_data_failed_is_corrupt(
    word: str, code: ExitCode, pair: str, tmp_path: Path, seatrial: Seatrial
) -> None:
    title, heading, *rows = osu().splitlines()
    checked = [f"{row}  {word if number == 9 else 'Pass'}" for number, row in enumerate(rows)]
    file = write(tmp_path, pair + "\n".join([title, f"{heading}  Validation", *checked, ""]))
    printed = seatrial("judge", file, "--json", code=code).object
    assert printed["verdict"] == ("INVALID" if code else "MEASURED")
    assert [finding["kind"] for finding in printed["findings"]] == (["data-corrupt"] if code else [])


def test_json_has_numbers_in_base_units_with_their_lines(tmp_path: Path, seatrial: Seatrial) -> None:
    printed = seatrial("judge", "--benchmark", "imb", write(tmp_path, imb("4.1", 2**20)), "--json").object
    report = printed["data"]
    (last,) = (
        result
        for result in report["results"]
        if result["metric"] == "bandwidth_bytes_per_s" and result["labels"]["bytes"] == 1 << 22
    )
    assert last["value"] == pytest.approx((1 << 22) / ((2 + (1 << 22) / 3000) * 1e-6), rel=1e-3)
    assert last["printed"] in Path(tmp_path / "run.out").read_text().splitlines()[last["line"] - 1]
    assert (report["benchmark"], report["complete"], printed["verdict"]) == ("imb", True, "MEASURED")
    assert printed["headline"].startswith("MEASURED  ")


@pytest.mark.parametrize(
    ("options", "gate"),
    [
        (["--limit", "rate_flops_per_s=1e10"], "above-limit"),
        (["--expect", "ranks=64"], "ranks-differ"),
        (["--expect", "iterations=10"], "iterations-differ"),
        (["--expect", "tests=2"], "work-differs"),
    ],
)
def test_limits_and_expectations(tmp_path: Path, seatrial: Seatrial, options: list[str], gate: str) -> None:
    ran = seatrial("judge", write(tmp_path, hpl()), *options, "--json", code=ExitCode.FINDINGS)
    assert [item["kind"] for item in ran.object["data"]["breaches"]] == [gate]


def recording(folder: Path, megabits: int, nodes: int = 2) -> str:
    place = folder / f"cluster-{megabits}"
    place.mkdir()
    made = Cluster(nodes=names(nodes), megabits=megabits)
    for node in made.nodes:
        (place / f"{node}.facts").write_text(made.facts_text(node))
    return str(place)


@pytest.mark.parametrize(
    ("megabits", "code", "headline"),
    [
        (10_000, 0, "PASS  np.out: NetPIPE 999.4 MB/s, 85 % of its limit 1.18 GB/s"),
        (1000, 1, "INVALID  np.out: above-limit: line "),
        (100_000, 1, "SLOW  np.out: NetPIPE 999.4 MB/s, 8.5 % of its limit 11.8 GB/s: far-below-limit"),
    ],
)
def test_facts_of_the_nodes_give_the_limit(
    tmp_path: Path, seatrial: Seatrial, megabits: int, code: int, headline: str
) -> None:
    file = write(tmp_path, netpipe(), "np.out")
    found = seatrial("judge", file, "--facts", recording(tmp_path, megabits), "--json", code=code).data
    assert found["headline"].startswith(headline)
    assert found["limits"]["bandwidth_bytes_per_s"] == pytest.approx(megabits * 117.67e3, rel=1e-3)


@pytest.mark.parametrize(
    ("limit", "headline"),
    [
        ("10Gb/s", "PASS  run.out: NetPIPE 999.4 MB/s, 80 % of its limit 1.25 GB/s"),
        ("1.25 GB/s", "PASS  run.out: NetPIPE 999.4 MB/s, 80 % of its limit 1.25 GB/s"),
        ("4 Gbit/s", "INVALID  run.out: above-limit: "),
    ],
)
def test_a_limit_may_be_the_rate_of_a_link(tmp_path: Path, seatrial: Seatrial, limit: str, headline: str) -> None:
    words = ["judge", write(tmp_path, netpipe()), "--limit", f"bandwidth_bytes_per_s={limit}"]
    assert seatrial(*words, "--json", code=None).data["headline"].startswith(headline)


@pytest.mark.parametrize("limit", ["5s", "10 nodes", "Gb/s", "1_000", "inf", "10GB", "1e400"])
def test_a_limit_of_another_kind_is_refused(tmp_path: Path, seatrial: Seatrial, limit: str) -> None:
    words = ["judge", write(tmp_path, netpipe()), "--limit", f"bandwidth_bytes_per_s={limit}"]
    assert "is not a number" in seatrial(*words, code=64).err


def test_facts_of_more_nodes_than_ran_are_no_limit(tmp_path: Path, seatrial: Seatrial) -> None:
    cluster = recording(tmp_path, 10_000, nodes=4)
    refused = seatrial("judge", write(tmp_path, netpipe()), "--facts", cluster, code=64).err
    assert "The facts are of 4 nodes" in refused
    chosen = seatrial("judge", write(tmp_path, netpipe()), "--facts", f"{cluster}:n[2-3]").out
    assert chosen.startswith("PASS  run.out: NetPIPE 999.4 MB/s, 85 % of its limit")
    assert "has no node 'n9'" in seatrial("judge", write(tmp_path, hpl()), "--facts", f"{cluster}:n9", code=64).err


def test_a_test_of_both_directions_may_have_twice_the_limit(tmp_path: Path, seatrial: Seatrial) -> None:
    text = imb("2019 Update 5").replace("Benchmarking PingPong", "Benchmarking Biband")
    assert "Biband" in text
    found = seatrial("judge", write(tmp_path, text), "--limit", "bandwidth_bytes_per_s=2e9", "--json", code=None).data
    assert "above-limit" not in [gate["kind"] for gate in found["breaches"]]


def test_what_was_requested_and_done_passes(tmp_path: Path) -> None:
    options = ["--expect", "ranks=4", "--expect", "nodes=2", "--expect", "iterations=20"]
    assert run(["judge", write(tmp_path, openfoam()), *options]) == ExitCode.PASS


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["hpl"], "looks like the output of STREAM"),
        (["linpack"], "not a known benchmark"),
        (["stream", "--limit", "speed=1"], "has no such metric"),
        (["stream", "--limit", "time_s=nan"], "is not a number"),
        (["stream", "--limit", "time_s=٣"], "is not a number"),
        (["stream", "--expect", "ranks"], "is not NAME=VALUE"),
        (["stream", "--largest", "3 apples"], "is not a size"),
        (["stream", "--largest", "64KiB"], "--largest is not for stream"),
    ],
)
def test_wrong_use(tmp_path: Path, seatrial: Seatrial, words: list[str], said: str) -> None:
    assert (
        said
        in seatrial("judge", "--benchmark", words[0], write(tmp_path, stream()), *words[1:], code=ExitCode.USAGE).err
    )


def test_the_largest_message(tmp_path: Path) -> None:
    file = write(tmp_path, osu(largest=65536))
    assert run(["judge", file]) == ExitCode.INCOMPLETE
    assert run(["judge", file, "--largest", "64KiB"]) == ExitCode.PASS


def test_an_expression_that_never_ends_is_interrupted(
    tmp_path: Path, seatrial: Seatrial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seatrial.commands.judge.single_file.PARSE_S", 0.2)
    spec = write(tmp_path, "name = 'x'\n[metrics.a]\npattern = '(a+)+b(.)'\n", "x.toml")
    assert (
        "took more than 0.2 s"
        in seatrial("judge", "--benchmark", spec, write(tmp_path, "a" * 60 + "\n"), code=ExitCode.USAGE).err
    )


def test_the_tutorial_of_the_documentation(tmp_path: Path, seatrial: Seatrial) -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text().partition("## A benchmark of your own")[2]
    spec = re.search(r"```toml\n(.*?)```", page, re.DOTALL)
    output, printed = re.findall(r"```text\n(.*?)```", page, re.DOTALL)[:2]
    assert spec is not None
    assert len(spec[1].splitlines()) <= 10
    file, out = write(tmp_path, spec[1], "heat.toml"), write(tmp_path, output, "heat.out")
    assert seatrial("judge", "--benchmark", file, out, code=ExitCode.FINDINGS).out.startswith(printed.strip())
    good = write(tmp_path, output.replace("WRONG", "right"), "heat.out")
    assert seatrial("judge", "--benchmark", file, good, "--json").object["data"]["results"][0]["value"] == 1.2505
    seatrial("bench", "show", file)


def test_benchmarks_are_listed_and_shown(seatrial: Seatrial) -> None:
    listed = seatrial("bench", "list", "--json").object["data"]["benchmarks"]
    rows = (ROOT / "docs" / "benchmarks.md").read_text().partition("## Gates")[0]
    for benchmark in listed:
        assert f"| `{benchmark['name']}` |" in rows
        assert benchmark["main_metric"] in [metric["name"] for metric in benchmark["metrics"]]
        shown = seatrial("bench", "show", benchmark["name"]).out
        assert benchmark["gates"][0] in shown
    seatrial("bench", "show", "nothing", code=ExitCode.USAGE)
