"""The tables of causes as data: every entry is whole, and searching takes a time in proportion to the text."""

import re
import time
from collections.abc import Iterator
from importlib import resources

import msgspec
import pytest

from seatrial.failures.cause import FailureCause, Speaker, bounded, causes, one_of, parse_table, reasons
from seatrial.failures.printed_text import in_english
from seatrial.failures.start_failure import OF_JOBS, REFUSALS, TABLES, explain
from tests.support.failure_texts import texts

parser = pytest.importorskip("re._parser")
NAMES = (*TABLES, REFUSALS, *OF_JOBS, "environments", "complaints")
ALL = [cause for name in NAMES for cause in causes(name)]
FALLS_BACK = re.compile(r"\b(?:tcp|TCP)\b|\^ofi|\^ucx|\bob1\b|I_MPI_FABRICS")


def expressions(cause: FailureCause) -> list[str]:
    lists = (cause.look, cause.also, cause.unless, *cause.where, *cause.peer)
    return [one_of(expression) for expression in lists if expression]


def test_every_file_of_causes_is_read_by_somebody() -> None:
    files = {path.name for path in (resources.files("seatrial.failures") / "causes").iterdir()}
    assert files == {f"{name}.toml" for name in (*NAMES, "pending", "translations", "words")}


@pytest.mark.parametrize("name", NAMES)
def test_the_entries_of_a_table_are_whole(name: str) -> None:
    for cause in causes(name):
        for expression in expressions(cause):
            re.compile(expression)
        for expression in (*cause.where, *cause.peer):
            assert re.compile(expression).groups == 1, expression
        assert "{1}" not in cause.meaning or re.compile(one_of(cause.look)).groups, cause
        assert "{peer}" not in cause.meaning or cause.peer, cause
        assert not re.findall(
            r"<[a-z-]+>|\{(?!(?:nodes|peer|1|has|does|admits|allows)\})\w*\}", cause.meaning + cause.remedy
        )
        assert cause.remedy.endswith((".", "?")), cause


def test_a_remedy_that_may_end_on_a_slower_network_says_so() -> None:
    remedies = [cause.remedy for name in TABLES for cause in causes(name) if FALLS_BACK.search(cause.remedy)]
    assert len(remedies) > 5
    assert [remedy for remedy in remedies if "slower" not in remedy] == []


def test_a_job_that_cannot_start_without_a_change_has_a_remedy() -> None:
    assert all(reason.remedy for reason in reasons() if reason.hopeless)


def repeats(parsed: object) -> Iterator[tuple[str, int, object]]:
    """Kind, bound and contents of each repeat within a parsed expression."""
    for operation, argument in parsed:  # type: ignore[attr-defined]
        name = str(operation)
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            yield name, int(argument[1]), argument[2]
            yield from repeats(argument[2])
        elif name in ("SUBPATTERN", "ASSERT", "ASSERT_NOT", "ATOMIC_GROUP"):
            yield from repeats(argument if name == "ATOMIC_GROUP" else argument[-1])
        elif name == "BRANCH":
            for branch in argument[1]:
                yield from repeats(branch)


MOST = 4096


def test_every_repeat_is_bounded_with_those_in_it() -> None:
    for expression in (expression for cause in ALL for expression in expressions(cause)):
        for kind, most, contents in repeats(parser.parse(expression)):
            assert most <= MOST or kind == "POSSESSIVE_REPEAT", expression
            assert most * max((bound for _, bound, _ in repeats(contents)), default=1) <= MOST, expression


def test_the_check_of_bounds_can_fail() -> None:
    assert [bound for _, bound, _ in repeats(parser.parse(r"(?:a|\d+)\w*"))] == [int(parser.MAXREPEAT)] * 2


@pytest.mark.parametrize(
    ("expression", "same"),
    [
        (r"a*b+?", "a{0,400}b{1,400}?"),
        (r"\*[*+]\+", r"\*[*+]\+"),
        (r"[^]*]+x", r"[^]*]{1,400}x"),
        (r"a{2,3}b*+", "a{2,3}b{0,400}+"),
        (r"\\+", r"\\{1,400}"),
    ],
)
def test_stars_and_pluses_of_a_table_are_bounded(expression: str, same: str) -> None:
    assert bounded(expression) == same


def test_an_entry_with_an_unknown_field_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        parse_table(b'[[cause]]\nlook = "x"\nmeaning = "y"\nremedy = "z."\ncolour = "red"\n')
    (cause,) = parse_table(b'speaker = "pmi"\n[[cause]]\nlook = "x+"\nmeaning = "y"\nremedy = "<limits>"\n')
    assert (cause.speaker, cause.look) == (Speaker.PMI, "x{1,400}")
    assert "sacctmgr" in cause.remedy


def test_the_order_of_speakers() -> None:
    order = [Speaker.NODE, Speaker.DRIVER, Speaker.TRANSPORT, Speaker.PMI, Speaker.MPI, Speaker.LAUNCHER, Speaker.SLURM]
    assert sorted(order, key=lambda speaker: speaker.rank) == order


@pytest.mark.parametrize("name", ["devices", "several", "transports", "pmi", "mpirun"])
def test_a_line_of_the_text_is_quoted(name: str) -> None:
    for text, _, _ in texts(name):
        said = explain(text).meaning
        words = " ".join(in_english(text).split())
        quote = said.partition(" It says: ")[2] or said
        pieces = re.split(r" \.\.\. | / |[()]", quote)
        assert any(len(piece) >= 10 and piece.strip() in words for piece in pieces), said


GROWING = ("a", "ab ", "1", "[1.1] [n1:1:0] UCX  ERROR ibv_create_ah(", "srun: error: lua: ", "OFI ", "execve(): a")


@pytest.mark.parametrize("piece", GROWING)
def test_a_text_four_times_as_long_takes_about_four_times_the_time(piece: str) -> None:
    def seconds(length: int) -> float:
        before = time.process_time()
        explain(f"{piece * 20}\n" * (length // len(piece) // 20))
        return time.process_time() - before

    seconds(1_000)
    few, many = (min(seconds(length) for _ in range(2)) for length in (4_000, 16_000))
    assert many < 10 * max(few, 0.01)
