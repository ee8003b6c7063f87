"""The options that commands share: offered alike, own ones first, and turned into settings in one place."""

from inspect import signature
from pathlib import Path

import pytest
import typer

from seatrial.cli.main import app
from seatrial.cli.site_options import site_settings, with_site_options
from seatrial.experiment.settings import CheckSettings

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
OFFERED = set(signature(site_settings).parameters)
NEEDS = {
    "check": OFFERED,
    "curve": OFFERED,
    "transports": OFFERED,
    "saturate": OFFERED - {"launcher"},
    "placement": OFFERED - {"launcher", "partition", "mpi", "replay"},
    "doctor": OFFERED - {"budget", "archive", "round_timeout", "replay", "run", "seed"},
    "facts": {"archive", "run", "partition", "wait", "idle_only", "node_hours"},
    "limits": {"partition", "wait", "idle_only", "node_hours"},
    "gather": {"launcher", "partition", "wait", "idle_only", "node_hours"},
}


@pytest.mark.parametrize("command", NEEDS)
def test_each_command_offers_what_it_needs_behind_its_own(command: str) -> None:
    names = [option.name for option in COMMANDS[command].params]
    shared = [name in OFFERED for name in names]
    assert {name for name in names if name in OFFERED} == NEEDS[command]
    assert shared == sorted(shared)
    assert "site" not in names


@pytest.mark.parametrize(
    ("command", "option", "default"), [("check", "budget", "10m"), ("curve", "budget", "5m"), ("doctor", "wait", "60s")]
)
def test_defaults_differ_where_they_should(command: str, option: str, default: str) -> None:
    assert next(one.default for one in COMMANDS[command].params if one.name == option) == default


def test_what_is_given_becomes_settings_and_the_rest_its_default(tmp_path: Path) -> None:
    seen: list[CheckSettings] = []

    @with_site_options("launcher", wait="60s")
    def command(word: str = "", *, site: CheckSettings) -> int:
        seen.append(site)
        return len(word)

    assert command("four", archive=tmp_path, node_hours=2.0, idle_only=True) == 4
    (site,) = seen
    assert (site.archive, site.node_hours, site.idle_only, site.wait_s) == (tmp_path, 2.0, True, 60.0)
    assert site.launcher == "auto"
