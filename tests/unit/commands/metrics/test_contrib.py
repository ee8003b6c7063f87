"""What sites copy: each query of a dashboard gives numbers in a real store, and 0 where nothing is wrong.

Grafana itself cannot be installed from Debian: fields are compared with what it publishes of them, in
grafana-foundation-sdk for Grafana 10.1.
"""

import json
import math
import re
import runpy
import shutil
from datetime import UTC, datetime
from typing import Any

import pytest
from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import units
from grafana_foundation_sdk.models.dashboard import Dashboard

from seatrial.commands.metrics.figures import node_figures
from seatrial.commands.metrics.run import deliver
from seatrial.driver.custody import RESTORE_PAUSE_S, RESTORE_TRIES
from seatrial.driver.restoration import PAUSES_S
from seatrial.model.monitoring import Target
from seatrial.process.process import run
from tests.lab.waiting import eventually
from tests.support.paths import ROOT
from tests.support.stores import Graphite, Prometheus
from tests.unit.commands.metrics.test_stores import all_figures

CONTRIB = ROOT / "contrib"
NOTHING = [*node_figures({}, 0, 0, datetime(2026, 11, 27, tzinfo=UTC))]
"""The numbers of an archive without runs, where Slurm was not asked."""


def dashboard(name: str) -> dict[str, Any]:
    """One of ours."""
    read: dict[str, Any] = json.loads((CONTRIB / "grafana" / name).read_text())
    return read


def queries(name: str, field: str) -> dict[str, list[str]]:
    """Title of a panel -> its queries."""
    return {panel["title"]: [one[field] for one in panel["targets"]] for panel in dashboard(name)["panels"]}


def missing_fields(wanted: object, found: object, place: str = "") -> list[str]:
    """Places of values that are not the same in what Grafana's own types keep."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return [
            each for key, value in wanted.items() for each in missing_fields(value, found.get(key), f"{place}.{key}")
        ]
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        pairs = enumerate(zip(wanted, found, strict=True))
        return [each for i, pair in pairs for each in missing_fields(*pair, f"{place}[{i}]")]
    return [] if wanted == found else [place]


@pytest.mark.parametrize("name", ["qualification.json", "slurm.json"])
def test_dashboards_are_as_the_script_makes_them_and_have_only_fields_of_grafana(name: str) -> None:
    made = runpy.run_path(str(ROOT / "scripts" / "dashboards.py"))["texts"]()
    assert (CONTRIB / "grafana" / name).read_text() == made[name]
    plugins.register_default_plugins()
    written = dashboard(name)
    kept = json.loads(JSONEncoder().encode(Dashboard.from_json(written)))
    assert missing_fields(written, kept) == []
    assert {panel["fieldConfig"]["defaults"]["unit"] for panel in written["panels"]} <= {
        one for one in vars(units).values() if isinstance(one, str)
    }
    assert missing_fields({**written, "pannels": []}, kept) == [".pannels"]


def test_every_query_of_prometheus_gives_numbers(scraped: Prometheus) -> None:
    panels = queries("qualification.json", "expr")
    deliver(all_figures(), Target(textfile=scraped.textfile))
    scraped.wait()
    found = {title: [scraped.query(query) for query in each] for title, each in panels.items()}
    for title, answers in found.items():
        assert all(answer and all(map(math.isfinite, answer.values())) for answer in answers), title
    wanted = {"Nodes that are not good": 1, "Open findings": 2, "Oldest verdict": 660, "Runs that cannot be read": 0}
    assert {title: [*found[title][0].values()] for title in wanted} == {
        title: [value] for title, value in wanted.items()
    }
    assert sorted(found["Lowest shares of the limit"][0].values()) == [0.6, 0.97]
    assert len(found["How long findings are open"][0]) == 2
    assert (
        sum(found["Nodes by verdict"][0].values())
        == sum(found["Nodes by the last answer of their gate"][0].values())
        == 2
    )


def test_without_runs_every_query_of_prometheus_gives_nought_and_nothing_where_nothing_is_written(
    scraped: Prometheus,
) -> None:
    panels = queries("qualification.json", "expr")
    deliver(NOTHING, Target(textfile=scraped.textfile))
    scraped.wait()
    for title, each in panels.items():
        assert [set(scraped.query(query).values()) for query in each] == [{0.0}] * len(each), title
    scraped.textfile.unlink()
    scraped.wait()
    assert [title for title, each in panels.items() if any(map(scraped.query, each))] == []


def test_every_query_of_graphite_gives_numbers(carbon: Graphite) -> None:
    figures = all_figures()
    deliver(figures, Target(graphite=("127.0.0.1", carbon.line)))
    assert eventually(lambda: len(carbon.numbers()) >= sum(len(figure.rows) for figure in figures))
    found = {title: carbon.query(*each) for title, each in queries("slurm.json", "target").items()}
    assert [title for title, answer in found.items() if not answer] == []
    assert found["Nodes"] == {
        f"slurm_nodes_{word}": number
        for word, number in {"alloc": 0, "mixed": 1, "idle": 2, "down": 1, "unknown": 0}.items()
    }
    assert found["Processors in use"] == {"in use": pytest.approx(37.5)}
    assert found["Processors by account"]["physics"] == 2
    assert found["Longest wait of pending jobs"] == {"main": 1060, "debug": 60}
    assert found["Their limits"] == {"physics": 10}


def test_without_slurm_every_query_of_graphite_gives_nought(carbon: Graphite) -> None:
    deliver(NOTHING, Target(graphite=("127.0.0.1", carbon.line)))
    assert eventually(lambda: "seatrial_runs_read" in carbon.numbers())
    for title, each in queries("slurm.json", "target").items():
        assert carbon.query(*each) == {"none": 0}, title


@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool")
@pytest.mark.parametrize("words", ["check rules seatrial.rules.yml", "test rules seatrial.tests.yml"])
def test_alerts_are_raised_when_they_should(words: str) -> None:
    done = run(["promtool", *words.split()], timeout_s=60, cwd=str(CONTRIB / "prometheus"))
    assert done.ok, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
def test_the_timer_of_systemd_is_valid() -> None:
    done = run(["systemd-analyze", "verify", *map(str, (CONTRIB / "systemd").iterdir())], timeout_s=60)
    assert (done.returncode, [line for line in done.stderr.splitlines() if "seatrial" in line]) == (0, [])


def test_a_stopped_requalification_leaves_its_keeper_the_time_that_it_may_need() -> None:
    """systemd kills what is left of a service after 90 s: the node would be in service, not qualified."""
    service = (CONTRIB / "systemd" / "seatrial-requalify.service").read_text()
    found = re.search(r"^TimeoutStopSec=(\d+)min$", service, re.MULTILINE)
    assert found and 60 * int(found[1]) >= RESTORE_TRIES * (RESTORE_PAUSE_S + sum(PAUSES_S))
