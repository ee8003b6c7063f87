"""Random inputs for every reader of text from outside; `make fuzz` tries a million."""

import random

import pytest

from seatrial.model.errors import UsageError
from tests.fuzz.mutations import seeds_of
from tests.fuzz.readers import Reader, readers
from tests.fuzz.trial import content_of, tried

INPUTS_EACH = 12


@pytest.mark.parametrize("reader", readers(), ids=lambda reader: reader.name)
def test_any_input_is_read_or_refused_with_a_sentence(reader: Reader) -> None:
    named = (f"0:{reader.name}:{number}" for number in range(INPUTS_EACH))
    failures = [failure for seed in named if (failure := tried(reader, seed, content_of(reader.name, seed)))]
    assert not failures, failures[0].reason


def test_known_readers_are_found() -> None:
    names = {reader.name for reader in readers()}
    assert {"benchmark imb", "matrix csv", "node.node.parse_facts", "slurm.text.parse_sinfo", "run.json"} <= names
    assert len(names) > 100


@pytest.mark.parametrize("name", ["benchmark imb", "matrix csv", "fabric.ibnetdiscover.parse_fabric"])
def test_some_unchanged_inputs_are_read(name: str) -> None:
    """Else only refusals would be tried."""
    reader = next(reader for reader in readers() if reader.name == name)
    assert any(_is_read(reader, content) for content in seeds_of(name))


def _is_read(reader: Reader, content: bytes) -> bool:
    try:
        reader.read(content)
    except UsageError:
        return False
    return True


def test_a_crash_and_a_slow_reader_are_failures() -> None:
    def crash(content: bytes) -> int:
        return int(content)

    def spin(content: bytes) -> None:
        while True:
            random.random()

    crashed = tried(Reader("crash", crash), "1", b"x")
    assert crashed is not None and "invalid literal" in crashed.reason
    assert tried(Reader("crash", crash, (ValueError,)), "1", b"x") is None
    spun = tried(Reader("spin", spin), "1", b"", hang_s=0.05)
    assert spun is not None and "no end" in spun.reason


def test_inputs_depend_on_the_seed_only() -> None:
    assert content_of("journal", "1:5") == content_of("journal", "1:5")
    assert len({content_of("benchmark imb", f"1:{number}") for number in range(20)}) > 15
