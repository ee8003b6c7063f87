"""Complete outputs pass; every shorter one is incomplete; nothing else crashes a parser."""

import random
import re
from collections.abc import Callable, Iterator

import pytest

from seatrial.benchmarks import gates
from seatrial.benchmarks.catalogue import BENCHMARKS, detected, parse_as, parse_auto
from seatrial.model.errors import UsageError
from tests.support.benchmark_outputs import OUTPUTS, hpl, openfoam, osu, osu_collective, stream
from tests.support.format_variants import VARIANTS
from tests.support.gpu_outputs import GPU_OUTPUTS

CASES = [(name, made) for forms in (OUTPUTS, VARIANTS, GPU_OUTPUTS) for name, texts in forms.items() for made in texts]
WILD = ("nan", "-inf", "1e999", "1e-320", "9" * 400, "\n", "٣", "²", "1_000", "1.2.3", "-1", "{", "\0", "= ", ".")
"""What numbers are not."""
MOST_PREFIXES = 100
"""Of a long output: cuts at the ends and a sample of the others."""


OPEN = "or the text was cut off there"
"""Note on an output whose results are complete, if nothing shows whether what follows them is."""


def cuts(text: str, seed: int = 1) -> Iterator[int]:
    """Where to cut: everywhere in short texts; else near both ends, and at some lines and bytes between."""
    if len(text) <= MOST_PREFIXES:
        yield from range(len(text))
        return
    ends = [place + 1 for place, letter in enumerate(text) if letter == "\n"]
    chosen = random.Random(seed)
    near = [*range(0, 40, 5), *range(len(text) - 30, len(text)), *(end for end in ends[-6:] if end < len(text))]
    yield from sorted({*near, *chosen.choices(ends[:-1], k=12), *chosen.choices(range(len(text)), k=6)})


def whole_without_newline(text: str, end: int) -> bool:
    """Whether nothing but newlines and spaces is cut off, as an editor does: both verdicts are right, and no other."""
    return text[:end].rstrip() == text.rstrip()


@pytest.mark.parametrize(("name", "made"), CASES)
def test_a_complete_output_is_recognised_and_passes_all_gates(name: str, made: Callable[[], str]) -> None:
    benchmark, output = parse_auto(made())
    assert benchmark is not None
    assert benchmark.name == name
    output = gates.judge(benchmark, output)
    assert (output.missing, output.breaches) == ((), ())
    assert output.results
    assert {result.metric for result in output.results} <= {metric.name for metric in benchmark.metrics}


@pytest.mark.parametrize(("name", "made"), CASES)
def test_every_proper_prefix_is_incomplete(name: str, made: Callable[[], str]) -> None:
    text = made()
    for place, end in enumerate(cuts(text)):
        if whole_without_newline(text, end):
            continue
        output = parse_as(BENCHMARKS[name], text[:end])
        assert not output.complete or any(OPEN in note for note in output.notes), text[max(end - 60, 0) : end]
        if place % 3:
            continue  # what recognises a benchmark takes longer than what reads it
        if name != "fio" or "\n" in text[:end]:  # the first line of fio's text begins with the name of a job
            assert parse_auto(text[:end])[1].complete is output.complete


OPEN_ENDS = {"gpu-copy", "rocm-bandwidth-test", "transferbench", "fio"}
"""Some outputs of these end in a number that could go on."""


@pytest.mark.parametrize(("name", "made"), CASES)
def test_an_output_that_lost_only_its_last_newline_is_complete(name: str, made: Callable[[], str]) -> None:
    """Lines that show by themselves that they are whole: closing lines, rules, rows of aligned columns."""
    text = made().rstrip()
    complete = parse_auto(text)[1].complete
    assert complete or name in OPEN_ENDS
    assert parse_auto(text + "\r\n")[1].complete or name in OPEN_ENDS


def test_tables_of_osu_end_where_the_earlier_ones_ended() -> None:
    small = osu(largest=65536)
    assert not parse_as(BENCHMARKS["osu"], small).complete
    assert parse_as(BENCHMARKS["osu"], small, 65536).complete
    assert parse_as(BENCHMARKS["osu"], f"+ srun osu_latency -m 65536\n{small}").complete
    assert "ends at 1024 bytes" in parse_as(BENCHMARKS["osu"], small + osu(largest=1024)).missing[0]


@pytest.mark.parametrize(
    ("tables", "missing"),
    [
        ((osu(largest=65536), osu(largest=65536)), ()),
        ((osu(largest=65536), osu("Bandwidth", largest=65536)), (1, 2)),  # nothing shows that both had -m 65536
        ((osu(largest=65536), osu(largest=65536), osu("Bandwidth")), ()),
        ((osu(largest=65536), osu("Bandwidth")), (1,)),
        ((osu(largest=2 << 20), osu()), (1,)),
        ((osu(), osu()), ()),
        ((osu(largest=65536), osu_collective()), (1,)),
        ((osu_collective(), osu(largest=65536), osu("Bandwidth"), osu_collective()), (2,)),
    ],
)
def test_a_table_of_osu_that_ends_before_others_was_cut_off(tables: tuple[str, ...], missing: tuple[int, ...]) -> None:
    """`missing`: which tables are, counted from 1, each by the line of its title."""
    starts = [1 + "".join(tables[:place]).count("\n") for place in range(len(tables))]
    said = " ".join(parse_as(BENCHMARKS["osu"], "".join(tables)).missing)
    assert [f"(line {start})" in said for start in starts] == [place in missing for place in range(1, len(tables) + 1)]


def test_a_late_line_of_a_device_begins_no_other_run_of_gpu_burn() -> None:
    """A slow device is initialised when others have reported work; another time to burn begins a run."""
    (made,) = GPU_OUTPUTS["gpu-burn"]
    before, rest = made().split("40.0%", 1)
    for line, complete in (
        ("Initialized device 1 with 81251 MB, using FLOATS", True),
        ("Burning for 9 seconds", False),
    ):
        assert parse_auto(f"{before}{line}\n40.0%{rest}")[1].complete is complete


def test_a_log_that_ends_within_the_banner_of_the_next_one_is_incomplete() -> None:
    text = openfoam(cells=1000)
    second = text.index("/*---", 10)
    assert parse_auto(text)[1].complete
    assert parse_auto(text[:second])[1].complete  # checkMesh alone: nothing shows that another log should follow
    for end in (second + 6, second + 90, second + 120):
        assert not parse_auto(text[:end])[1].complete


def test_a_missing_row_in_the_middle_is_noticed() -> None:
    lines = osu().splitlines(keepends=True)
    assert not parse_as(BENCHMARKS["osu"], "".join(lines[:9] + lines[10:])).complete


@pytest.mark.parametrize("text", ["hello\n", "a,b,c\n1,2,3\n", "{}\n", "\x7fELF\0\0\0", "Machine (64GB)\n", "x" * 5000])
def test_a_text_of_something_else_is_refused(text: str) -> None:
    for benchmark in BENCHMARKS.values():
        with pytest.raises(UsageError):
            parse_as(benchmark, text)
    with pytest.raises(UsageError):
        parse_auto(text)


def test_the_refusal_names_the_benchmark_that_it_is_of() -> None:
    with pytest.raises(UsageError, match="looks like the output of STREAM"):
        parse_as(BENCHMARKS["hpl"], stream())


def test_hpl_and_stream_within_hpcc_do_not_hide_it() -> None:
    texts = [made() for made in OUTPUTS["hpcc"]]
    assert {benchmark.name for text in texts if (benchmark := detected(text))} == {"hpcc"}
    assert detected(hpl()) is BENCHMARKS["hpl"]


@pytest.mark.parametrize(("name", "made"), CASES)
def test_no_number_of_an_output_can_crash_its_parser(name: str, made: Callable[[], str]) -> None:
    """One number of each form in the text; each is replaced by a third of the wild ones, and all three by all."""
    text = made()
    forms = {re.sub(r"\d", "0", match[0]): match for match in re.finditer(r"\d+(?:\.\d+)?", text)}
    for place, match in enumerate(list(forms.values())[:40]):
        for number in WILD[place % 3 :: 3]:
            changed = text[: match.start()] + number + text[match.end() :]
            gates.judge(BENCHMARKS[name], BENCHMARKS[name].parse(changed))


def test_numbers_of_any_length_are_read() -> None:
    text = openfoam().replace("Time = 7\n", f"Time = {'9' * 400}\n").replace("= 0.16\n", f"= {'1' * 9000}e{'9' * 30}\n")
    assert BENCHMARKS["openfoam"].parse(text).results


@pytest.mark.parametrize(("name", "made"), CASES)
def test_a_second_run_that_was_cut_off_hides_behind_no_complete_one(name: str, made: Callable[[], str]) -> None:
    """Job scripts append one run to the other; the second one has begun once its head is there."""
    text = made()
    twice = gates.judge(BENCHMARKS[name], parse_as(BENCHMARKS[name], text + text))
    assert (twice.complete, twice.breaches) == (True, ())
    lines = text.splitlines(keepends=True)
    for share in (0.4, 0.6, 0.8):
        begun = "".join(lines[: int(len(lines) * share)])
        assert not parse_as(BENCHMARKS[name], text + begun).complete


@pytest.mark.parametrize(("name", "made"), CASES)
def test_a_run_that_was_cut_off_hides_before_no_complete_one(name: str, made: Callable[[], str]) -> None:
    """A job that died was started again, and its script appends."""
    text = made()
    lines = text.splitlines(keepends=True)
    for share in (0.3, 0.6, 0.9):
        begun = "".join(lines[: int(len(lines) * share)])
        if detected(begun) is not None and not parse_as(BENCHMARKS[name], begun).complete:
            output = parse_as(BENCHMARKS[name], begun + text)
            assert not output.complete or output.breaches, (share, begun[-80:])
