"""Phrases that readers stumble over, and where the project's texts contain them."""

import ast
import functools
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tests.support.paths import ROOT


class Phrase(msgspec.Struct, frozen=True, kw_only=True):
    """A phrase to avoid, with an example of it and of what to write instead."""

    name: str
    pattern: str
    avoid: str
    better: str

    def count(self, text: str) -> int:
        """How often a text contains it; line breaks count as spaces."""
        return self.count_spaced(" ".join(text.split()))

    def count_spaced(self, text: str) -> int:
        """The same for a text whose words are separated by single spaces."""
        return len(re.findall(self.pattern, text))


def _word(pattern: str) -> str:
    return rf"(?i)\b{pattern}\b"


PHRASES = (
    Phrase(
        name="is no",
        pattern=r"(?i)(?<!there )\b(?:is|are|was|were) no (?!longer\b|more\b|less\b|fewer\b)[\w{]",
        avoid="'3x' is no length of time",
        better="'3x' is not a valid duration; there is no lab and no longer a node",
    ),
    Phrase(name="told", pattern=_word("(?:told|tells?)"), avoid="what the node told", better="what the node reported"),
    Phrase(name="held against", pattern=_word("(?:held|hold|holds) against"), avoid="held against peers",
           better="compared with peers"),
    Phrase(name="of one make", pattern=_word("of (?:one|the same|another) make"), avoid="nodes of one make",
           better="nodes of the same model"),
    Phrase(name="so many", pattern=_word("so (?:many|much|long|often|few)") + "(?! as)", avoid="silent for so long",
           better="silent for longer than this; as long as it runs"),
    Phrase(name="in vain", pattern=_word("in vain"), avoid="It waited in vain", better="It waited without result"),
    Phrase(name="anew", pattern=_word("anew"), avoid="measured anew", better="measured again"),
    Phrase(name="befall", pattern=_word("bef[ae]ll(?:s|en)?"), avoid="the node that it befalls", better="target node"),
    Phrase(name="sisters", pattern=_word("sisters?"), avoid="below its sisters", better="below the other cables"),
    Phrase(name="stands", pattern=_word("(?:stands?|stood)") + "(?! for)", avoid="No lab stands",
           better="No lab is running; ms stands for millisecond"),
    Phrase(name="of which, those that", pattern=r"(?:^|[.:;!?|] )(?:Of which|Those that|Those who)\b",
           avoid="It has six. Those that fail are named", better="It names those that fail"),
    Phrase(name="look whether", pattern=_word("looks? whether"), avoid="Look whether it runs",
           better="Check whether it runs"),
    Phrase(name="left no word", pattern=_word("(?:no|a) word of"), avoid="without a word of Slurm's",
           better="without output of Slurm"),
    Phrase(name="acquit", pattern=_word("(?:un)?acquit\\w*"), avoid="would stay unacquitted",
           better="would remain unverified"),
    Phrase(name="wander", pattern=_word("wander(?:s|ed|ing)?"), avoid="Unbound ranks wander", better="ranks migrate"),
    Phrase(name="in turn", pattern=_word("good and bad in turn"), avoid="is good and bad in turn",
           better="is unstable"),
    Phrase(name="waiting helps", pattern=_word("waiting helps"), avoid="No waiting helps",
           better="This job can never start"),
    Phrase(name="relied on", pattern=_word("not to be relied on"), avoid="Not to be relied on",
           better="Unstable pairs"),
)  # fmt: skip


@functools.cache
def parsed(source: str) -> ast.Module:
    """The syntax tree of a Python source, for all tests that read it."""
    return ast.parse(source)


@functools.cache
def counts() -> dict[str, int]:
    """How often each phrase occurs in the sources' literals and comments, the documents and the README."""
    texts = [" ".join(text.split()) for _, text in project_texts()]
    return {phrase.name: sum(map(phrase.count_spaced, texts)) for phrase in PHRASES}


def project_texts() -> Iterator[tuple[Path, str]]:
    """Every text that a reader sees, with the file that it comes from."""
    for path in sorted(ROOT.glob("src/seatrial/**/*.py")):
        for text in source_texts(path.read_text()):
            yield path, text
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md"))]:
        yield path, path.read_text()


def source_texts(source: str) -> Iterator[str]:
    """String literals, docstrings and comments of a Python file; `{}` replaces the values in an f-string."""
    yield from _literals(parsed(source))
    block: list[str] = []
    last_line = -1
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if block and token.start[0] != last_line + 1:
                yield " ".join(block)
                block = []
            block.append(token.string.lstrip("#: "))
            last_line = token.start[0]
    yield " ".join(block)


def _literals(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                yield from _literals(part.value)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _literals(child)
