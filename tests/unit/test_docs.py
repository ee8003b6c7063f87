"""Everything that a user can type or read is documented; what the documents promise exists."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer

from seatrial.archive import journal
from seatrial.cli.main import app
from seatrial.diagnosis.rules.catalogue import RULES
from seatrial.model.errors import ExitCode
from seatrial.model.run import Ending, RunInfo
from seatrial.model.verdict import FindingKind, Verdict

ROOT = Path(__file__).resolve().parents[2]
DOCS = "\n".join(path.read_text() for path in sorted(ROOT.glob("docs/*.md")))
EVERYTHING = DOCS + (ROOT / "README.md").read_text()


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    if hasattr(command, "commands"):
        for name, child in command.commands.items():
            yield from commands(child, f"{path} {name}")
    else:
        yield path, command


COMMANDS = dict(commands(typer.main.get_command(app), "seatrial"))


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_and_option_is_documented(path: str) -> None:
    assert path in EVERYTHING or path.removeprefix("seatrial ") in EVERYTHING
    for option in COMMANDS[path].params:
        for name in option.opts:
            if name.startswith("--"):
                assert f"`{name}" in DOCS, f"{path} {name}"


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_and_option_says_what_it_is_for(path: str) -> None:
    assert COMMANDS[path].help
    for option in COMMANDS[path].params:
        if option.param_type_name == "option" and option.name != "help":
            assert option.help, f"{path} {option.name}"


@pytest.mark.parametrize("code", list(ExitCode))
def test_every_exit_code_is_documented(code: ExitCode) -> None:
    assert f"| {code.value} | {code.name} |" in (ROOT / "docs/exit-codes.md").read_text()


@pytest.mark.parametrize("word", [*FindingKind, *Verdict])
def test_every_finding_and_verdict_is_documented(word: str) -> None:
    assert re.search(rf"^#+ {word}$|`{word}`", (ROOT / "docs/findings.md").read_text(), re.MULTILINE)


@pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md"])
def test_the_number_of_rules_is_told_right(name: str) -> None:
    assert re.findall(r"(\d+) rules", (ROOT / name).read_text()) == [str(len(RULES))]


def test_every_field_of_the_archive_is_documented() -> None:
    text = (ROOT / "docs/archive.md").read_text()
    for field in msgspec.structs.fields(RunInfo):
        assert f"`{field.name}`" in text, field.name
    for ending in Ending:
        assert f"`{ending}`" in text
    for entry in journal.Entry.__args__:
        assert f"`{entry.__struct_config__.tag}`" in text
    from seatrial.archive.samples import QUERY

    columns = re.findall(r"AS (\w+)[,\n]", QUERY.partition("SELECT run_name()")[2])
    assert len(columns) >= 5
    for column in columns:
        assert f"`{column}`" in text, column


@pytest.mark.parametrize("path", [*sorted(ROOT.glob("docs/*.md")), ROOT / "README.md"], ids=lambda path: path.name)
def test_every_link_between_documents_leads_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text()):
        assert (path.parent / target).exists(), target


def test_every_variable_of_the_environment_is_documented() -> None:
    for source in ROOT.glob("src/seatrial/**/*.py"):
        for name in re.findall(r"\"(SEATRIAL_\w+)\"", source.read_text()):
            assert f"`{name}`" in DOCS, name
