"""Phrases that readers stumble over may only become fewer."""

import pytest

from tests.support.house import BOUNDS
from tests.support.wording import PHRASES, Phrase, counts, project_texts, source_texts


def test_phrases_to_avoid_do_not_spread() -> None:
    """One test, since each process would count them again."""
    spread = [phrase for phrase in PHRASES if counts()[phrase.name] > BOUNDS.phrases.get(phrase.name, 0)]
    texts = [*project_texts()] if spread else []
    where = {phrase.avoid: sorted({path.name for path, text in texts if phrase.count(text)}) for phrase in spread}
    assert not spread, [
        f"write {phrase.better!r} instead of {phrase.avoid!r}: {where[phrase.avoid]}" for phrase in spread
    ]


@pytest.mark.parametrize("phrase", PHRASES, ids=lambda phrase: phrase.name)
def test_each_pattern_finds_its_example_and_not_the_better_text(phrase: Phrase) -> None:
    assert phrase.count(phrase.avoid) == 1
    assert phrase.count(phrase.avoid.replace(" ", "\n    ")) == 1
    assert phrase.count(phrase.better) == 0


def test_bounds_are_for_phrases_that_exist() -> None:
    assert set(BOUNDS.phrases) <= {phrase.name for phrase in PHRASES}


def test_literals_docstrings_and_comments_are_read_and_code_is_not() -> None:
    source = '''"""Doc."""
told = "one " "two"  # first
# second
value = f"{told!r} is no {'unit' if told else 'x'}"
'''
    assert list(source_texts(source)) == ["Doc.", "one two", "{} is no {}", "unit", "x", "first second"]
