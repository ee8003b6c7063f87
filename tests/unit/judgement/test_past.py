"""`check --baseline`: a node that is slower than it was is SLOW, even where limits and peers are satisfied."""

import json
from pathlib import Path

import msgspec
import pytest

from seatrial.commands.check.headline import headline
from seatrial.commands.check.judge import judge
from seatrial.frame.command_line import run
from seatrial.model.judgement import Doubt
from seatrial.model.past import EarlierRun, FactChange, Past
from seatrial.model.run import RecordedRun, RunInfo
from seatrial.model.settings import CheckSettings
from seatrial.model.verdict import FindingKind, Verdict
from tests.support.builders import HEALTHY, Cluster, names, record, sail
from tests.support.reports import check_json, check_text
from tests.support.run_archives import ChangedCluster, healthy_run

SIX = Cluster(nodes=names(6))
MTU = FactChange(fact="interfaces.eth0.mtu_bytes", before=1500, after=576, nodes=("n3",))


def then(number: int, factor: float = 1.0, **of_node: float) -> EarlierRun:
    """Values of a run, a few thousandths apart from those of others."""
    level = HEALTHY * factor * (1 + 0.001 * (number % 3))
    rates = {name: level * of_node.get(name, 1.0) * (1 + 0.0005 * place) for place, name in enumerate(names(6))}
    late = dict.fromkeys(rates, 20e-6)
    return EarlierRun(
        run=f"h{number}", started=f"2026-11-0{number}T10:00:00Z", out_bytes_per_s=rates, in_bytes_per_s=rates,
        latency_s=late,
    )  # fmt: skip


def with_past(*runs: EarlierRun, of: Cluster = SIX, **changes: object) -> RecordedRun:
    recorded = sail(of)
    past = Past(name="good", runs=runs, facts_run=runs[-1].run, **changes)  # type: ignore[arg-type]
    return msgspec.structs.replace(recorded, info=msgspec.structs.replace(recorded.info, past=past))


def with_info(recorded: RecordedRun, info: RunInfo) -> RecordedRun:
    return msgspec.structs.replace(recorded, info=info)


FIVE = tuple(range(1, 6))


def test_a_pass_says_that_it_was_compared_with_the_past() -> None:
    recorded = with_past(*map(then, FIVE))
    judgement = judge(recorded)
    assert (judgement.verdict, judgement.findings) == (Verdict.PASS, ())
    assert "and the past (5 runs of good, 2026-11-01 to 2026-11-05: " in headline(recorded.info, judgement).what
    assert len(judgement.past) >= 12
    assert not any(one.slower for one in judgement.past)


def test_a_node_that_was_faster_is_slow_with_size_runs_and_changed_facts() -> None:
    recorded = with_past(*(then(number, n3=1.08) for number in FIVE), changed=(MTU,))
    judgement = judge(recorded)
    assert [(str(one.kind), one.subject.text) for one in judgement.findings] == [("slower-than-before", "node:n3")]
    assert judgement.verdict is Verdict.SLOW
    statement = judgement.findings[0].statement
    assert "5 runs of good, 2026-11-01 to 2026-11-05" in statement
    assert "Changed since h5: interfaces.eth0.mtu_bytes: 1500 B → 576 B." in statement
    found = next(one for one in judgement.past if one.slower)
    assert found.ratio.low < 1 / 1.08 * 1.01 and found.ratio.high < 1
    assert "n3: bandwidth" in headline(recorded.info, judgement).what
    assert "than in good" in headline(recorded.info, judgement).what
    fields = check_json(recorded.info, judgement)["past"]
    assert (fields["name"], fields["facts_run"], fields["changed"][0]["nodes"]) == ("good", "h5", ["n3"])
    assert "slower than it was" in check_text(recorded.info, judgement, recorded.facts)


@pytest.mark.parametrize(("wait", "verdict"), [(0.2, Verdict.INCONCLUSIVE), (0.02, Verdict.SLOW)])
def test_nothing_is_slower_than_before_that_waited_for_a_processor_for_as_long(wait: float, verdict: Verdict) -> None:
    """The waits explain a tenth of the bandwidth, or a fifth of that."""
    busy = Cluster(nodes=names(6), waits=dict.fromkeys(names(6), wait))
    judgement = judge(with_past(*(then(number, 1.1) for number in FIVE), of=busy))
    assert judgement.verdict is verdict
    doubted = [(one.doubt, one.subjects) for one in judgement.withheld]
    assert doubted == ([(Doubt.PAST_IN_WAITS, tuple(names(6)))] if wait > 0.1 else [])


def test_all_nodes_that_were_faster_are_one_finding_although_peers_are_alike() -> None:
    judgement = judge(with_past(*(then(number, 1.1) for number in FIVE)))
    assert [(one.kind, one.subject.text) for one in judgement.findings] == [
        (FindingKind.SLOWER_THAN_BEFORE, "cluster:all")
    ]
    assert "6 nodes of 6" in judgement.findings[0].statement
    assert "No recorded fact changed since h5." in judgement.findings[0].statement


def test_a_loss_that_runs_vary_by_anyway_is_not_one() -> None:
    factors = (0.9, 1.2, 1.0, 1.25, 0.95)
    assert judge(with_past(*(then(n, factor) for n, factor in zip(FIVE, factors, strict=True)))).findings == ()


def test_one_run_shows_a_large_loss_only() -> None:
    assert judge(with_past(then(1, n3=1.08))).findings == ()
    large = judge(with_past(then(1, n3=1.4)))
    assert [one.subject.text for one in large.findings] == ["node:n3"]
    assert any(note.startswith("Compared with good, one run, ") for note in large.notes)


def test_hardware_that_changed_on_a_returning_node_keeps_it_out_unless_a_partner_changed_alike() -> None:
    def changed(*nodes: str, fact: str = "memory_bytes", returning: tuple[str, ...] = ("n3",)) -> list[str]:
        change = FactChange(fact=fact, before=256 << 30, after=240 << 30, nodes=nodes)
        recorded = with_past(*map(then, FIVE), changed=(change,))
        info = msgspec.structs.replace(recorded.info, settings=CheckSettings(archive=Path("x"), returning=returning))
        return [f"{one.kind} {one.subject.name}: {one.brief}" for one in judge(with_info(recorded, info)).findings]

    assert changed("n3") == ["hardware-changed n3: memory_bytes: 256 GiB → 240 GiB since h5"]
    assert len(changed("n3", "n4", returning=("n3", "n4"))) == 2
    assert changed("n3", "n4") == changed("n4") == changed("n3", returning=()) == []
    assert changed("n3", fact="settings.modules.nfs") == [], "another version is no other hardware"


def test_a_node_that_the_past_does_not_have_is_noted() -> None:
    rates = [{name: rate for name, rate in each.out_bytes_per_s.items() if name != "n6"} for each in map(then, FIVE)]
    runs = [
        EarlierRun(run=f"h{place}", started="2026-11-01T10:00:00Z", out_bytes_per_s=each)
        for place, each in enumerate(rates)
    ]
    judgement = judge(with_past(*runs, mpi_library="MPICH 4.1"))
    assert any(note.startswith("Not compared with the past") and note.endswith("n6.") for note in judgement.notes)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Healthy runs as the baseline `good`; `today`, in which all nodes are 8 % slower and n3 has another MTU."""
    folder = tmp_path_factory.mktemp("archive")
    for number in (1, 2, 3):
        healthy_run(folder, number, nodes=4)
    slower = ChangedCluster(nodes=names(4), seed=77, everything=0.92, mtu_of={"n3": 576})
    record(slower, folder, "today", started="2026-11-12T10:00:00Z", ended="2026-11-12T10:01:00Z")
    assert run(["baseline", "set", "good", "h1", "h2", "h3", "--archive", str(folder)]) == 0
    return folder


def check(archive: Path, replay: str, *words: str) -> int:
    return run(["check", "--replay", str(archive / replay), "--archive", str(archive), *words])


def test_a_replay_is_judged_against_a_baseline_and_keeps_it(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(archive, "today", "--baseline", "good", "--run", "again", "--json") == 1
    found = json.loads(capsys.readouterr().out)
    finding = next(one for one in found["findings"] if one["kind"] == "slower-than-before")
    assert finding["subject"] == "cluster:all"
    assert "bandwidth" in finding["statement"] and "3 runs of good" in finding["statement"]
    assert "Changed since h3: interfaces.eth0.mtu_bytes: 1500 B → 576 B" in finding["statement"]
    assert run(["baseline", "drop", "good", "--archive", str(archive)]) == 0
    capsys.readouterr()
    assert run(["report", "again", "--archive", str(archive), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["data"]["past"] == found["data"]["past"]
    assert run(["baseline", "set", "good", "h1", "h2", "h3", "--archive", str(archive)]) == 0


def test_what_cannot_be_a_reference_is_refused_before_anything_is_measured(
    archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(archive, "today", "--baseline", "bad") == 64
    assert "There is no run 'bad'" in capsys.readouterr().err
    healthy_run(archive, 9, nodes=4, environment="module:mpich")
    assert check(archive, "today", "--baseline", "h9") == 64
    assert "environment: module:mpich and none" in capsys.readouterr().err
    record(Cluster(nodes=("m1", "m2", "m3", "m4")), archive, "elsewhere")
    assert check(archive, "today", "--baseline", "elsewhere") == 64
    assert "has none of the nodes of this run" in capsys.readouterr().err


def test_a_site_names_a_baseline_that_counts_from_the_moment_it_is_set(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    site = tmp_path / "site.toml"
    monkeypatch.setenv("SEATRIAL_SITE", str(site))
    site.write_text('baseline = "usual"\n')
    check(archive, "h1", "--json")
    printed = capsys.readouterr()
    assert "The site's baseline 'usual' is not set" in printed.err
    assert json.loads(printed.out)["data"]["past"] is None
    site.write_text('baseline = "good"\n')
    check(archive, "h1", "--json")
    assert json.loads(capsys.readouterr().out)["data"]["past"]["name"] == "good"
