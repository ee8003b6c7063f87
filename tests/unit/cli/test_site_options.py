"""The options that commands share: offered alike, own ones first, and turned into settings in one place."""

from pathlib import Path

import click
import pytest

from seatrial import __version__
from seatrial.cli.main import SUMMARIES
from seatrial.cli.main import seatrial as program
from seatrial.cli.options import seconds, time_text
from seatrial.cli.site import HOSTS, JOB, SHARED, SiteCommand, site_options
from seatrial.driver.node_selection import allocation_s
from seatrial.model.errors import UsageError
from seatrial.model.launching import Examination
from seatrial.model.settings import DEFAULTS, CheckSettings, SiteSettings
from seatrial.slurm.argv import minutes
from tests.support.command_line import Seatrial, call, commands, default_of

LEAVES = dict(commands())
COMMANDS = {path[0]: command for path, command in LEAVES.items() if len(path) == 1}
OFFERED = set(SHARED)
NEEDS = {
    "check": OFFERED,
    "link": OFFERED,
    "placement": OFFERED - {"launcher", "partition", "mpi", "start", "replay", *JOB, "mpirun_options"},
    "doctor": OFFERED - {"budget", "archive", "round_timeout", "replay", "run", "seed", "verify"},
    "facts": {"archive", "launcher", "run", *HOSTS, "partition", *JOB, "wait", "idle_only", "node_hours"},
    "limits": {*HOSTS, "partition", *JOB, "wait", "idle_only", "node_hours"},
}


@pytest.mark.parametrize("command", NEEDS)
def test_each_command_offers_what_it_needs_behind_its_own(command: str) -> None:
    names = [option.name for option in COMMANDS[command].params]
    shared = [name in OFFERED for name in names]
    assert {name for name in names if name in OFFERED} == NEEDS[command]
    assert shared == sorted(shared)
    assert "site" not in names


@pytest.mark.parametrize(
    ("command", "option", "default"), [("check", "budget", "10m"), ("link", "budget", "5m"), ("doctor", "wait", "60s")]
)
def test_defaults_differ_where_they_should(command: str, option: str, default: str) -> None:
    assert next(default_of(one) for one in COMMANDS[command].params if one.name == option) == default


def test_the_doctor_judges_the_time_that_a_check_asks_slurm_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[CheckSettings] = []

    def examine(settings: CheckSettings, progress: object) -> Examination:
        asked.append(settings)
        return Examination(remarks=())

    monkeypatch.setattr("seatrial.commands.doctor.run.examine", examine)
    call("doctor")
    budget = next(default_of(one) for one in COMMANDS["check"].params if one.name == "budget")
    assert minutes(allocation_s(asked[0].budget_s)) == minutes(allocation_s(seconds(budget, "--budget"))) == 30
    assert asked[0].wait_s == 60


@pytest.mark.parametrize("command", NEEDS)
def test_every_default_is_that_of_the_settings(command: str) -> None:
    follow_the_noise = {"effect", "latency_effect"}
    differ = {
        "archive",
        "replay",
        "nodes",
        "hosts",
        "mpirun_options",
        "node_hours",
        *follow_the_noise,
        *(() if command == "check" else ("ranks",)),
    }
    assert not DEFAULTS.node_hours, "no limit, which no value of --node-hours stands for: it refuses 0"
    for option in COMMANDS[command].params:
        if option.name not in differ and hasattr(DEFAULTS, option.name):
            default = getattr(DEFAULTS, option.name)
            shown = default_of(option)
            assert (shown or None) in (default or None, str(default)), option.name


@pytest.mark.parametrize(("text", "value"), [("60s", 60), ("90s", 90), ("2m", 120), ("10m", 600), ("20s", 20)])
def test_a_default_is_shown_as_it_is_read(text: str, value: float) -> None:
    assert time_text(value) == text
    assert seconds(text, "--budget") == value


def test_what_is_given_becomes_settings_and_the_rest_its_default(tmp_path: Path) -> None:
    seen: list[SiteSettings] = []

    def function(site: SiteSettings, word: str) -> int:
        seen.append(site)
        return len(word)

    options = site_options(without=("launcher",), wait="60s")
    command = click.command(cls=SiteCommand)(click.option("--word")(options(function)))
    words = ["--word", "four", "--archive", str(tmp_path), "--node-hours", "2", "--idle-only"]
    with command.make_context("command", words) as context:
        assert command.invoke(context) == 4
    (site,) = seen
    assert (site.archive, site.node_hours, site.idle_only, site.wait_s) == (tmp_path, 2.0, True, 60.0)
    assert site.launcher == "auto"


def test_commands_do_not_share_their_defaults() -> None:
    """The minute of one must not become the default of the next."""
    for options, default in ((site_options(wait="60s"), "60s"), (site_options(), "10m")):
        command = click.command()(options(lambda **_: 0))
        assert next(default_of(one) for one in command.params if one.name == "wait") == default


def test_no_option_shows_two_defaults() -> None:
    parent = program.make_context("seatrial", [], resilient_parsing=True)
    for command in LEAVES.values():
        with command.make_context(command.name, [], parent, resilient_parsing=True) as context:
            rows = [option.get_help_record(context) for option in command.params]
        assert [row[1] for row in rows if row and row[1].count("default: ") > 1] == []


@pytest.mark.parametrize("words", [["-h"], ["check", "-h"], ["lab", "-h"], ["lab", "fault", "add", "-h"]])
def test_short_help_is_help(words: list[str], seatrial: Seatrial) -> None:
    short = seatrial(*words).out
    assert short == seatrial(*words[:-1], "--help").out
    assert "-h, --help" in short


def test_short_version_is_version(seatrial: Seatrial) -> None:
    assert seatrial("-V").out == seatrial("--version").out == f"seatrial {__version__}\n"


def test_the_list_of_commands_has_whole_summaries(seatrial: Seatrial) -> None:
    shown = " ".join(seatrial("--help").out.split())
    for summary in SUMMARIES.values():
        assert summary in shown


class TestHosts:
    """--hosts, --hostfile and --mpirun-options become settings, or are refused with the value."""

    def site(self, monkeypatch: pytest.MonkeyPatch, *words: str) -> SiteSettings:
        found: list[CheckSettings] = []

        def measured(settings: CheckSettings, _: object) -> int:
            found.append(settings)
            return 0

        monkeypatch.setattr("seatrial.cli.check.measure", measured)
        call("check", *words)
        return found[0]

    def test_names_are_expanded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.site(monkeypatch, "--hosts", "n[1-3],n7").hosts == ("n1", "n2", "n3", "n7")

    def test_a_file_is_read(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        (tmp_path / "hosts").write_text("n1 slots=2\nn2:4 # here\n")
        assert self.site(monkeypatch, "--hostfile", str(tmp_path / "hosts")).hosts == ("n1", "n2")

    def test_options_of_mpirun_are_split_as_in_a_shell(self, monkeypatch: pytest.MonkeyPatch) -> None:
        words = self.site(monkeypatch, "--hosts", "n[1-2]", "--mpirun-options", "--bind-to none -x 'A=1 2'")
        assert words.mpirun_options == ("--bind-to", "none", "-x", "A=1 2")

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            (["--hosts", "n[1-"], "--hosts 'n[1-' is not a valid list of nodes"),
            (["--hosts", "n1,n2", "--hostfile", "FILE"], "cannot be given together"),
            (["--hostfile", "FILE"], "line 2 ('n2 n3'): 'n3' is not of the form name=value"),
            (["--hostfile", "/nowhere"], "/nowhere"),
            (["--hosts", "n1,n2", "--mpirun-options", "'open"], "No closing quotation"),
            (["--hosts", "n1,n2", "--launcher", "local"], "not by --launcher local"),
            (["--hosts", "n1,n2", "--detach"], "--detach needs Slurm"),
        ],
    )
    def test_what_does_not_fit_is_refused(
        self, words: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SEATRIAL_ARCHIVE", str(tmp_path / "archive"))
        (tmp_path / "hosts").write_text("n1\nn2 n3\n")
        with pytest.raises(UsageError) as refusal:
            call("check", *(str(tmp_path / "hosts") if word == "FILE" else word for word in words))
        assert says in refusal.value.what
