"""What terminals, launchers, loggers and scripts add to an output does not change how it is judged."""

import quopri
from collections.abc import Callable

import pytest

from seatrial.benchmarks import gates
from seatrial.benchmarks.catalogue import BENCHMARKS, detected, parse_as, parse_auto, undented
from seatrial.benchmarks.generic import generic_benchmark
from seatrial.importers.printed_text import plain
from seatrial.judgement.benchmark_result import word_of_output
from seatrial.model.verdict import INCOMPLETE
from tests.support import benchmark_outputs as outputs
from tests.support import gpu_outputs as gpu
from tests.support.application_outputs import espresso, gromacs

PREFIXES = (
    "0: ", "07: ", "[1,0]<stdout>: ", "[1,0]<stdout>:", "[prterun-n1-123@1,0]<stdout>: ", "[0] ",
    "Nov 23 17:00:01 ", "Mon Nov 23 17:00:01 2026<stdout>: ", "2026-11-23T17:00:01.123Z ", "[2026-11-23 17:00:01] ",
    "17:00:01 ", "2026-11-23 17:00:01 [1,3]<stdout>: ", "> ", "> > ", ">> ", "> 0: ",
    "2026-01-16T09:54:30.534567890Z stdout F ", "12:06:53 DEBUG| [stdout] ", "Sat Nov 17 00:20:52 2018[1,0]<stdout>:",
    "09:32:25 - DEBUG - stdout: ", "2026-11-23 17:00:01,123 INFO: ",
)  # fmt: skip
MADE = (outputs.osu, outputs.hpl, outputs.netpipe, outputs.fio_json, outputs.imb, outputs.stream, outputs.hpcg,
        outputs.openfoam, outputs.mdtest, outputs.fio_text)  # fmt: skip
OF_GPUS = (gpu.nccl, gpu.nccl_old, gpu.nvbandwidth, gpu.gpu_burn, gpu.rocm_bandwidth, gpu.transferbench,
           gpu.cuda_bandwidth)  # fmt: skip
WARNINGS = (
    "[1700000000.123456] [n1:1234:0]  parser.c:1885 UCX  WARN  unused env variable: UCX_IB\n"
    "srun: warning: can't run 1 processes on 2 nodes, setting nnodes to 1\n"
    "[n1:12345] 3 more processes have sent help message help-mpi-btl-openib.txt / no device params found\n"
)


def word(text: str) -> str:
    benchmark, output = parse_auto(text)
    return word_of_output(gates.judge(benchmark, output) if benchmark else output)


def prefixed(text: str, prefix: str) -> str:
    return "".join(f"{prefix}{line}\n" for line in text.split("\n")[:-1])


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("made", MADE[:4])
def test_ranks_and_times_before_each_line_are_passed_over(made: Callable[[], str], prefix: str) -> None:
    text = prefixed(made(), prefix)
    assert word(text) == "MEASURED"
    assert word(text[: text.rindex("\n", 0, len(text) * 3 // 4) + 1]) == INCOMPLETE
    assert word(text[: len(prefix) + 1]) == INCOMPLETE


@pytest.mark.parametrize("prefix", ["0: ", "[1,0]<stdout>: ", "2026-11-23T17:00:01.123Z ", "    ", "\t", "\x1b[31m"])
@pytest.mark.parametrize("made", [*OF_GPUS, outputs.osu, outputs.stream, outputs.hpl])
def test_what_is_before_each_line_changes_no_number(made: Callable[[], str], prefix: str) -> None:
    text = prefixed(made(), prefix)
    assert detected(text) is detected(made()) is not None
    assert word(text) == word(made()) in ("PASS", "MEASURED")
    numbers = ([(one.value, one.labels) for one in parse_auto(each)[1].results] for each in (text, made()))
    assert next(numbers) == next(numbers)


@pytest.mark.parametrize("made", [gpu.nccl, gpu.nccl_old])
def test_a_table_of_nccl_from_which_a_renderer_took_each_comment_mark(made: Callable[[], str]) -> None:
    text = "\n".join(line.removeprefix("#") for line in made().split("\n"))
    assert word(text) == word(made())
    numbers = ([(one.value, one.labels) for one in parse_auto(each)[1].results] for each in (text, made()))
    assert next(numbers) == next(numbers)
    begin, average, _ = text.partition("Avg bus")
    assert word(begin) == INCOMPLETE
    assert word(f"{begin}{average} bandwidth    : 12.3 \n") == INCOMPLETE  # nothing below the average


@pytest.mark.parametrize("name", ["cn07: ", "cn07  | ", "\x1b[0;33mcn07\x1b[0m | "])
@pytest.mark.parametrize("made", MADE[:4])
def test_the_name_of_a_node_before_each_line_is_passed_over(made: Callable[[], str], name: str) -> None:
    text = prefixed(made(), name)
    assert word(text) == "MEASURED"
    assert word(text[: text.rindex("\n", 0, len(text) * 3 // 4) + 1]) == INCOMPLETE


@pytest.mark.parametrize("made", [*MADE, *OF_GPUS])
def test_marks_colours_and_warnings_are_passed_over(made: Callable[[], str]) -> None:
    text = made()
    usual = word(text)
    assert usual in ("PASS", "MEASURED")
    assert word("\ufeff" + text) == usual
    assert word(text.replace("\n", "\r\n")) == usual
    assert word("".join(f"\x1b[1;32m{line}\x1b[0m\n" for line in text.split("\n")[:-1])) == usual
    assert word(WARNINGS + text + WARNINGS) == usual
    assert word(WARNINGS + text[: text.rindex("\n", 0, len(text) * 3 // 4) + 1] + WARNINGS) == INCOMPLETE


def quoted_printable(text: str) -> str:
    """The text as a mail program encodes it: no line has more than 76 characters."""
    return quopri.encodestring(prefixed(text, "> ").encode()).decode()


@pytest.mark.parametrize("made", [*MADE, *OF_GPUS])
def test_what_a_mail_program_encoded_has_the_same_numbers(made: Callable[[], str]) -> None:
    assert word(quoted_printable(made())) == word(made())
    numbers = (
        [(one.value, one.labels) for one in parse_auto(each)[1].results] for each in (quoted_printable(made()), made())
    )
    assert next(numbers) == next(numbers)


@pytest.mark.parametrize("prefix", ["[1,0]<stdout>:", "> "])
def test_other_lines_may_stand_around_those_with_a_mark_unless_it_is_a_difference(prefix: str) -> None:
    marked = prefixed(outputs.osu(), prefix)
    others = "gcc was loaded\n" * 2 * marked.count("\n")
    assert word(others + marked + others) == "MEASURED"
    difference = prefixed(outputs.osu(), "< ") + marked
    assert plain(difference) == difference


@pytest.mark.parametrize(("marked", "others", "quoted"), [(2, 0, True), (2, 1, False), (3, 9, True), (0, 3, False)])
def test_of_a_long_text_three_lines_have_a_mark(marked: int, others: int, quoted: bool) -> None:
    text = "> 3\n" * marked + "4\n" * others
    assert (plain(text) != text) is quoted


@pytest.mark.parametrize("margin", ["   ", "\t", "        "])
@pytest.mark.parametrize("made", [outputs.hpl, outputs.ior, outputs.hpcg, outputs.stream, gpu.nccl, gromacs])
def test_an_indented_output_within_other_text_is_read(made: Callable[[], str], margin: str) -> None:
    text = (
        f"ok: [127.0.0.1] =>\n  out: |-\n{prefixed(made(), margin)}```\n\n* Results\n    total: 10.0028s\n* 12\n* 3\n"
    )
    assert detected(text) is detected(made()) is not None
    assert word(text) == word(made())
    numbers = ([(one.value, one.labels) for one in parse_auto(each)[1].results] for each in (text, made()))
    assert next(numbers) == next(numbers)


def test_what_is_indented_behind_an_output_keeps_its_margin() -> None:
    lines = undented(BENCHMARKS["hpl"], "  HPLinpack 2.3\n  T/V\n\n  End of Tests.\n* a\n* b\n  c\n").split("\n")
    assert lines == ["HPLinpack 2.3", "T/V", "", "End of Tests.", "* a", "* b", "  c", ""]
    assert undented(BENCHMARKS["perftest"], outputs.perftest()) == outputs.perftest()  # its title is indented
    assert undented(BENCHMARKS["hpl"], "HPLinpack 2.3\n  T/V\n  End of Tests.\n") == (
        "HPLinpack 2.3\n  T/V\n  End of Tests.\n"
    )


def test_a_sign_of_equality_at_the_end_of_a_line_continues_none() -> None:
    for text in ("a =\n3 b=20\n", "mesh=3D, ranks=64, bw=25.1\n", f"{'x' * 58} =\nb=4\n", f"{'x' * 70} ==\nb=20\n"):
        assert plain(text) == text
    assert plain(f"{'x' * 69} =\nb=3D4 =E2=82=AC\n") == f"{'x' * 69} b=4 €\n"


def test_sizes_and_rows_are_no_prefixes() -> None:
    for made in (*MADE, outputs.ior, outputs.hpcc, gromacs, espresso):
        assert plain(made()) == made()


def test_times_before_lines_are_left_to_the_patterns_of_a_site() -> None:
    own = generic_benchmark("name = 'x'\n[metrics.s_s]\npattern = '^\\d\\d:\\d\\d:\\d\\d solved in (\\S+)'\n", "x.toml")
    assert parse_as(own, "17:00:01 solved in 5.0\n").values("s_s") == [5.0]
