"""Defaults of a site: files below the command line and above the program's own defaults."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
import msgspec
import pytest

from seatrial.cli.site import OF_A_SITE, SHARED, SiteCommand, site_options
from seatrial.cli.site_file import site_files
from seatrial.driver.node_selection import described
from seatrial.frame.command_line import run
from seatrial.model.errors import UsageError
from seatrial.model.settings import CheckSettings, SiteSettings
from tests.support.command_line import Seatrial
from tests.support.paths import ROOT
from tests.support.second_user import OTHER, as_user, folder_for_all, needs_root


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.delenv("SEATRIAL_SITE", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr("seatrial.cli.site_file.SYSTEM", tmp_path / "system.toml")
    before = os.umask(0o022)
    (tmp_path / "seatrial").mkdir()
    yield tmp_path
    os.umask(before)


def settings(*words: str, only: Sequence[str] = tuple(SHARED)) -> SiteSettings:
    found: list[SiteSettings] = []

    def function(site: SiteSettings) -> int:
        found.append(site)
        return 0

    command = click.command(cls=SiteCommand)(site_options(only=only)(function))
    with command.make_context("command", list(words)) as context:
        command.invoke(context)
    return found[0]


def test_the_users_file_comes_after_that_of_the_system_and_before_the_command_line(home: Path) -> None:
    (home / "system.toml").write_text('account = "everyone"\nqos = "low"\nwait = "3m"\nidle-only = true\n')
    (home / "seatrial" / "site.toml").write_text('account = "ops"\nslurm-arg = ["--comment=x", "--mail-type=END"]\n')
    given = settings("--qos", "high")
    assert (given.slurm.account, given.slurm.qos, given.wait_s, given.idle_only) == ("ops", "high", 180.0, True)
    assert given.slurm.arguments == ("--comment=x", "--mail-type=END")
    assert set(given.from_site) == {"--account", "--wait", "--idle-only", "--slurm-arg"}


@needs_root
def test_a_home_that_this_user_may_not_enter_has_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """HOME is kept by `su` and `sudo -E`; a closed folder of the system's own file is still an error."""
    with folder_for_all() as folder:
        closed = folder / "closed"
        closed.mkdir(mode=0o700)
        (closed / "seatrial").mkdir()
        (closed / "seatrial" / "site.toml").write_text('account = "ops"\n')
        monkeypatch.setenv("XDG_CONFIG_HOME", str(closed))
        monkeypatch.setattr("seatrial.cli.site_file.SYSTEM", folder / "none.toml")
        assert as_user(OTHER, site_files) == ()
        monkeypatch.setattr("seatrial.cli.site_file.SYSTEM", closed / "seatrial" / "site.toml")
        assert "PermissionError" in as_user(OTHER, lambda: repr(_raised(site_files)))


def _raised(action: Callable[[], object]) -> BaseException:
    with pytest.raises(BaseException) as raised:
        action()
    return raised.value


def test_a_file_that_others_can_have_written_names_no_programs(home: Path) -> None:
    file = home / "seatrial" / "site.toml"
    file.write_text('account = "ops"\n')
    file.chmod(0o666)
    assert settings().slurm.account == "ops", "it only says what a job asks for"
    for line in ('mpicc = "/tmp/evil"', 'probe = "/tmp/evil"', 'slurm-arg = ["--task-prolog=/tmp/evil"]'):
        file.write_text(f"{line}\n")
        with pytest.raises(UsageError, match=rf"{line.split()[0]}\), and others can have written it.*may write to"):
            settings()
    file.chmod(0o644)
    assert settings().slurm.arguments == ("--task-prolog=/tmp/evil",)


@needs_root
def test_root_takes_no_programs_from_the_file_of_a_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """As under `sudo -E`, where the home is still that of the user."""
    with folder_for_all() as folder:
        os.chown(folder, OTHER, OTHER)
        (folder / "seatrial").mkdir()
        (folder / "seatrial" / "site.toml").write_text(f'mpicc = "{folder}/evil"\n')
        for path in (folder / "seatrial", folder / "seatrial" / "site.toml"):
            os.chown(path, OTHER, OTHER)
        monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
        monkeypatch.setenv("XDG_STATE_HOME", str(folder))
        monkeypatch.setattr("seatrial.cli.site_file.SYSTEM", folder / "none.toml")
        with pytest.raises(UsageError, match=f"belongs to {OTHER}"):
            settings()
        assert as_user(OTHER, lambda: settings().mpicc) == f"{folder}/evil"


def test_the_environment_comes_before_the_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "system.toml").write_text('archive = "/filed"\nwrap = "inside"\n')
    monkeypatch.delenv("SEATRIAL_ARCHIVE", raising=False)
    assert (settings().archive, settings().wrap) == (Path("/filed"), "inside")
    monkeypatch.setenv("SEATRIAL_ARCHIVE", "/there")
    monkeypatch.setenv("SEATRIAL_WRAP", "outside")
    assert (settings().archive, settings().wrap) == (Path("/there"), "outside")


def test_a_command_ignores_what_it_does_not_have(home: Path) -> None:
    (home / "system.toml").write_text('account = "ops"\nwait = "3m"\n')
    given = settings(only=("wait",))
    assert (given.slurm.account, given.wait_s) == ("", 180.0)


def test_another_file_is_named_by_a_variable_and_an_empty_one_names_none(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "system.toml").write_text('account = "ops"\n')
    (home / "other.toml").write_text('account = "other"\n')
    monkeypatch.setenv("SEATRIAL_SITE", str(home / "other.toml"))
    assert settings().slurm.account == "other"
    monkeypatch.setenv("SEATRIAL_SITE", "")
    assert settings().slurm.account == ""
    monkeypatch.setenv("SEATRIAL_SITE", str(home / "none.toml"))
    with pytest.raises(UsageError, match="which is not a file"):
        settings()


def test_the_leaf_switches_of_a_site(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An option of one command only, which other commands ignore."""
    asked: list[CheckSettings] = []

    def measure(settings: CheckSettings, _: object) -> int:
        asked.append(settings)
        return 0

    monkeypatch.setattr("seatrial.cli.check.measure", measure)
    (home / "system.toml").write_text('leaves = "/etc/seatrial/leaves"\n')
    assert run(["check"]) == 0
    assert run(["check", "--leaves", "/home/mine"]) == 0
    assert [one.leaves for one in asked] == ["/etc/seatrial/leaves", "/home/mine"]
    assert [one.from_site for one in asked] == [("--leaves",), ()]
    assert settings().from_site == ()


def test_kinds_of_nodes(home: Path) -> None:
    (home / "system.toml").write_text('account = "ops"\n[kinds]\nthin = "n[1-2]"\nfat = "n3"\n')
    (home / "seatrial" / "site.toml").write_text('[kinds]\nfat = "n[3-4]"\n')
    given = settings()
    assert given.kinds == {"thin": ("n1", "n2"), "fat": ("n3", "n4")}
    assert described({"n1": ("hdr",), "n9": ("hdr",)}, given) == {
        "n1": ("hdr", "kind=thin"), "n9": ("hdr",), "n2": ("kind=thin",), "n3": ("kind=fat",), "n4": ("kind=fat",)
    }  # fmt: skip
    replayed = msgspec.structs.replace(given, replay=home)
    assert described({"n1": ("kind=old",)}, replayed) == {"n1": ("kind=old",)}, "those of the recording"


def test_every_key_is_documented() -> None:
    text = (ROOT / "docs" / "commands.md").read_text().split("### Defaults of a site")[1].split("## seatrial lab")[0]
    keys = {name.replace("_", "-") for name in OF_A_SITE}
    assert set(re.findall(r"`([a-z-]+)`", "".join(line for line in text.splitlines() if line.startswith("|")))) == keys


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("account = ", "is not valid TOML"),
        (f"account = {'[' * 5000}", "is not valid TOML"),
        (f"account = {'9' * 5000}", "is not valid TOML"),
        ('kinds = "n1"', "kinds is not a table"),
        ('[kinds]\nthin = ["n1"]', "is not a kind of nodes"),
        ('[kinds]\n"a b" = "n1"', "is not a kind of nodes"),
        ('[kinds]\nthin = "n[1"', "thin ="),
        ('[kinds]\nthin = "n1"\nfat = "n[1-2]"', "kinds have node n1 in thin and in fat"),
        ('accuont = "ops"', "'accuont' is not an option for sites"),
        ('idle-only = "yes"', "is neither true nor false"),
        ('slurm-arg = "--comment=x"', "is not a list of texts"),
        ("account = [1]", "is not a text or a number"),
        ("account = true", "is not a text or a number"),
        ('slurm-arg = ["--nodes=3"]', "seatrial sets this option of Slurm itself"),
        ('slurm-arg = ["comment"]', "is not an option"),
        ('wait = "3x"', "--wait '3x' is not a valid duration"),
    ],
)
def test_a_wrong_file_is_a_usage_error(home: Path, text: str, message: str, seatrial: Seatrial) -> None:
    (home / "system.toml").write_text(text)
    assert message in seatrial("limits", code=64).err


def test_what_only_the_file_says_does_not_forbid_to_read_this_machine(
    home: Path, monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial
) -> None:
    from seatrial.cli.node_sources import refuse_for_this_machine

    (home / "system.toml").write_text('account = "ops"\npartition = "main"\n')
    refuse_for_this_machine(settings())
    with pytest.raises(UsageError, match="--qos needs nodes from Slurm"):
        refuse_for_this_machine(settings("--qos", "low"))
