"""Everything that a user can type or read is documented in its place; what the documents promise exists."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from seatrial.archive import journal
from seatrial.archive.samples import QUERY
from seatrial.model.errors import ExitCode
from seatrial.model.judgement import Judgement
from seatrial.model.run import Ending, RunInfo, RunKind
from seatrial.model.verdict import Finding, FindingKind, Verdict
from tests.support.command_line import commands
from tests.support.documents import anchors, compared, headings, named_rows, option_problems, section, sections, table
from tests.support.paths import ROOT

PAGES = {path.name: path.read_text() for path in sorted(ROOT.glob("docs/*.md"))}
README = (ROOT / "README.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()


COMMANDS = {" ".join(("seatrial", *path)): command for path, command in commands()}


def test_every_command_has_a_section_with_a_row_for_each_of_its_options_and_no_other() -> None:
    for path, command in COMMANDS.items():
        assert option_problems(PAGES["commands.md"], path, command.params) == []


def test_no_section_is_about_a_command_that_does_not_exist() -> None:
    groups = {path.rpartition(" ")[0] for path in COMMANDS}
    titles = [title for _, title, _, _ in headings(PAGES["commands.md"]) if title.startswith("seatrial ")]
    for title in titles:
        words = re.split(r" (?=\[|--|[A-Z])", title)[0]
        assert words in COMMANDS or words in groups, title


def test_every_command_and_option_says_what_it_is_for() -> None:
    for path, command in COMMANDS.items():
        assert command.help, path
        assert [option.name for option in command.params if not option.help] == [], path


def test_every_exit_code_has_its_row() -> None:
    rows = table(PAGES["exit-codes.md"], "code", "name", "meaning")
    assert [(row[0], row[1]) for row in rows] == [(str(code.value), code.name) for code in ExitCode]


def finding_problems(text: str) -> list[str]:
    """Each kind of finding has one heading of the third level, and no heading is of another kind."""
    kinds = [kind for kind in FindingKind if kind.page == "findings"]
    return compared([title for level, title, _, _ in headings(text) if level == 3], kinds)


def test_every_finding_has_its_heading() -> None:
    assert finding_problems(PAGES["findings.md"]) == []


def verdict_problems(text: str) -> list[str]:
    """Each verdict has a row, from the least grave to the gravest."""
    rows = named_rows(section(text, "Verdicts"), "verdict", "what it means", "what to do")
    rising = sorted(Verdict, key=lambda one: one.gravity)
    return compared(rows, rising) or ([] if rows == rising else ["not in the order of gravity"])


def test_every_verdict_has_its_row() -> None:
    assert verdict_problems(PAGES["findings.md"]) == []


def archive_problems(text: str) -> list[str]:
    """Fields of run.json, entries of the journal and columns of the samples each have a row of their own."""
    fields = [field.name for field in msgspec.structs.fields(RunInfo)]
    entries = [str(entry.__struct_config__.tag) for entry in journal.Entry.__args__]
    selected = QUERY.partition("SELECT run_name()")[2].partition("FROM")[0]
    columns = list(dict.fromkeys(re.findall(r"(\w+)[,\n]", selected)))
    return [
        *compared(named_rows(section(text, "run.json"), "field", "meaning"), fields),
        *compared(named_rows(section(text, "journal.jsonl"), "entry", "fields"), entries),
        *compared(named_rows(section(text, "samples.parquet"), "column", "meaning"), columns),
    ]


def test_every_field_of_the_archive_has_its_row() -> None:
    assert archive_problems(PAGES["archive.md"]) == []


@pytest.mark.parametrize(("field", "words"), [("ending", Ending), ("kind", RunKind)])
def test_every_word_of_run_json_is_in_the_row_of_its_field(field: str, words: Any) -> None:
    rows = {row[0]: row[1] for row in table(section(PAGES["archive.md"], "run.json"), "field", "meaning")}
    for word in words:
        assert f"`{word.value}`" in rows[f"`{field}`"], word


def test_every_journal_entry_names_its_fields() -> None:
    rows = {row[0]: row[1] for row in table(section(PAGES["archive.md"], "journal.jsonl"), "entry", "fields")}
    for entry in journal.Entry.__args__:
        for field in msgspec.structs.fields(entry):
            assert f"`{field.name}`" in rows[f"`{entry.__struct_config__.tag}`"], (entry, field.name)


@pytest.mark.parametrize("struct", [Finding, Judgement])
def test_every_field_of_a_finding_and_a_judgement_is_in_the_json_report(struct: type) -> None:
    rows = [row for rows in _json_tables() for row in rows]
    documented = set(re.findall(r"`(\w+)`", " ".join(row[0] for row in rows)))
    left = {field.name for field in msgspec.structs.fields(struct)} - documented
    assert left == set()


def _json_tables() -> Iterator[list[list[str]]]:
    from tests.support.documents import tables

    for rows in tables(section(PAGES["report.md"], "The JSON report")):
        yield rows[1:]


def link_problems(pages: dict[str, str]) -> list[str]:
    """Links that lead to no page, or to no heading of it; by name of the page; those of docs lie there."""
    problems = []
    for name, text in pages.items():
        folder = ROOT if name in ("README.md", "CONTRIBUTING.md") else ROOT / "docs"
        for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)", text):
            there = (folder / target).resolve() if target else None
            if there is not None and not there.exists():
                problems.append(f"{name}: {target} does not exist")
            page = text if there is None else pages.get(there.name, "")
            if anchor and anchor not in anchors(page):
                problems.append(f"{name}: {target} has no heading {anchor}")
    return problems


def test_every_link_between_documents_leads_somewhere() -> None:
    assert link_problems({**PAGES, "README.md": README, "CONTRIBUTING.md": CONTRIBUTING}) == []


def test_contributors_know_every_package_that_the_tests_install() -> None:
    script = (ROOT / "scripts" / "setup.sh").read_text()
    lists = re.findall(r'wanted="([^"]*)"', script)[:2]  # the others are of `make applications`
    lists += re.findall(r'packages="(\$packages [^"]*)"', script)
    installed = {one.rpartition(":")[2] for one in " ".join(lists).split() if "$" not in one}
    assert len(installed) > 30
    rows = table(CONTRIBUTING, "target", "packages")
    named = re.findall(r"`([^`]+)`", " ".join(row[1] for row in rows))
    assert compared([name for name in named if name != ".venv"], installed) == []


def test_every_variable_of_the_environment_is_documented() -> None:
    rows = named_rows(PAGES["commands.md"].partition("\n## ")[0], "variable", "meaning")
    assert len(rows) == len(set(rows))
    for source in ROOT.glob("src/seatrial/**/*.py"):
        for name in re.findall(r"\"(SEATRIAL_\w+)\"", source.read_text()):
            assert name in rows or f"| `{name}` |" in PAGES["facts-system.md"], name


class TestTheseTestsCanFail:
    """Each check finds what is taken out of a document, put into it, or changed in it."""

    @pytest.mark.parametrize("path", [path for path in COMMANDS if path != "seatrial completion"])  # has no option
    def test_options(self, path: str) -> None:
        text, parameters = PAGES["commands.md"], COMMANDS[path].params
        body = section(text, path)
        rows = [line for line in body.partition("\n#")[0].splitlines() if line.startswith("| `--")]
        assert rows
        for row in rows:
            assert any(": no row" in one for one in option_problems(without(text, body, row), path, parameters)), row
        last = rows[-1]
        renamed = text.replace(body, body.replace(last, re.sub(r"`--[\w-]+", "`--no-such", last)))
        assert any("--no-such: does not exist" in one for one in option_problems(renamed, path, parameters))
        twice = text.replace(body, body.replace(last, f"{last}\n{last}"))
        assert any("2 rows" in one for one in option_problems(twice, path, parameters))
        cells = last.split("|")
        wrong = text.replace(body, body.replace(last, "|".join([*cells[:2], " `4711` ", *cells[3:]])))
        assert any("its default is" in one for one in option_problems(wrong, path, parameters))

    def test_sections(self) -> None:
        for path, command in COMMANDS.items():
            heading = re.compile(rf"^(#+ ){path}( |$)", re.MULTILINE)
            renamed = heading.sub(r"\1seatrial nothing ", PAGES["commands.md"], count=1)
            assert option_problems(renamed, path, command.params) == [f"{path}: 0 sections"]

    def test_an_option_of_another_command_does_not_count(self) -> None:
        body = section(PAGES["commands.md"], "seatrial link")
        row = next(line for line in body.splitlines() if line.startswith("| `--budget"))
        text = without(PAGES["commands.md"], body, row)
        assert "`--budget TIME`" in text
        problems = option_problems(text, "seatrial link", COMMANDS["seatrial link"].params)
        assert problems == ["seatrial link: --budget: no row"]

    @pytest.mark.parametrize("kind", [FindingKind.NODE_DOWN, FindingKind.SLOW_CABLE, FindingKind.GOVERNOR])
    def test_findings(self, kind: FindingKind) -> None:
        text = PAGES["findings.md"]
        assert finding_problems(text.replace(f"### {kind}\n", "")) == [f"{kind}: no row"]
        assert finding_problems(f"{text}\n### no-such-finding\n") == ["no-such-finding: does not exist"]

    def test_verdicts(self) -> None:
        text = PAGES["findings.md"]
        row = next(line for line in text.splitlines() if line.startswith("| `MISCONFIGURED`"))
        assert verdict_problems(text.replace(f"{row}\n", "")) == ["MISCONFIGURED: no row"]
        lower = text.replace(f"{row}\n", "").replace("| `PASS`", f"{row}\n| `PASS`", 1)
        assert verdict_problems(lower) == ["not in the order of gravity"]

    @pytest.mark.parametrize("name", ["kind", "lost", "plan", "pair-hung", "iteration", "warm"])
    def test_the_archive(self, name: str) -> None:
        text = PAGES["archive.md"]
        (row,) = (line for line in text.splitlines() if line.startswith(f"| `{name}` |"))
        assert archive_problems(text.replace(f"{row}\n", "")) == [f"{name}: no row"]
        assert archive_problems(text.replace(row, row.replace(name, "nothing", 1))) == [
            f"{name}: no row",
            "nothing: does not exist",
        ]

    def test_links(self) -> None:
        pages = {
            "commands.md": "# A b\n[x](report.md#no-such)",
            "report.md": "# Here\n[y](nowhere.md) [z](commands.md#a-b)",
        }
        assert link_problems(pages) == [
            "commands.md: report.md has no heading no-such",
            "report.md: nowhere.md does not exist",
        ]

    def test_a_heading_in_a_listing_is_none(self) -> None:
        assert sections("# a\n```\n# b\n```\n# c\n", "b") == []


def without(text: str, body: str, row: str) -> str:
    """The document without that row of that section."""
    return text.replace(body, body.replace(f"{row}\n", ""))
