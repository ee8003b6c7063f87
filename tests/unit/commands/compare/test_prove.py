"""`compare --prove`: a suspect is taken back, measured and restored, whatever happens. Files are the node here."""

import sys
from pathlib import Path

import msgspec
import pytest

from seatrial.archive.changed_settings import ChangedByCommand
from seatrial.archive.run_sets import find_runs, load_tables
from seatrial.commands.compare.prove import ProofRequest, Proved, benchmark_of, plan_text, prove_suspects
from seatrial.commands.compare.toggle import Toggle, toggle_settings
from seatrial.commands.compare.view import comparison_report
from seatrial.commands.compare.wording import proof_text
from seatrial.driver.progress import Silent
from seatrial.judgement.comparison.judge import RunSet, compare
from seatrial.judgement.comparison.records import Comparison, FileSetting, ProofOutcome
from seatrial.judgement.comparison.reversible import Reversal
from seatrial.model import formats
from seatrial.model.errors import UsageError
from seatrial.model.facts import NetworkInterface, NodeFacts
from seatrial.model.imported import Sense
from seatrial.model.run import Ending, RunInfo, RunKind
from seatrial.model.settings import SiteSettings
from tests.support.facts_examples import server

RATE = """
import pathlib, sys
state = pathlib.Path(sys.argv[1]).read_text().strip()
count = pathlib.Path(sys.argv[1] + ".count")
count.write_text((count.read_text() if count.exists() else "") + "x")
print("rate", (90.0 if state == sys.argv[2] else 100.0) * (1 + 0.001 * (len(count.read_text()) % 3)))
sys.exit(state == sys.argv[3])
"""
BEFORE, AFTER = 1500, 600


def with_mtu(mtu: int, name: str = "eth0") -> dict[str, NodeFacts]:
    interfaces = (NetworkInterface(name=name, mtu_bytes=mtu),)
    return {"n2": msgspec.structs.replace(server("n2"), interfaces=interfaces)}


class Node:
    """A node whose files are below a folder, and a benchmark whose rate depends on its MTU."""

    def __init__(self, folder: Path) -> None:
        self.archive = folder / "archive"
        self.mtu = folder / "here/sys/class/net/eth0/mtu"
        self.mtu.parent.mkdir(parents=True)
        (folder / "rate.py").write_text(RATE)
        self.program = str(folder / "rate.py")

    def benchmark(self, slow_at: str, fails_at: str = "-") -> tuple[str, ...]:
        return (sys.executable, self.program, str(self.mtu), slow_at, fails_at)

    def comparison(self, name: str = "eth0") -> Comparison:
        """Runs before and after a change of the MTU that made everything 10 % slower."""
        usual, changed = (("sh", "-c", f"echo {value} >{self.mtu}") for value in (BEFORE, AFTER))
        change = ChangedByCommand(usual=usual, changed=changed, folder="/")
        toggle = Toggle(changes=(change,), benchmark=self.benchmark(str(AFTER)), blocks=1, sense=Sense.HIGHER)
        toggled = toggle_settings(self.archive, toggle, 60.0, Silent())
        sets = [find_runs(self.archive, ",".join(runs)) for runs in (toggled.first, toggled.second)]
        self.mtu.write_text(f"{AFTER}\n")
        before, after = (
            RunSet(name=each.name, runs=each.summaries, facts=with_mtu(mtu, name))
            for each, mtu in zip(sets, (BEFORE, AFTER), strict=True)
        )
        return compare(before, after, load_tables(sets))

    def prove(self, comparison: Comparison, benchmark: tuple[str, ...], *, dry_run: bool = False) -> Proved:
        request = request_of(self.archive, benchmark, dry_run=dry_run)
        return prove_suspects(request, comparison, (with_mtu(BEFORE), with_mtu(AFTER)), info(), Silent())


def request_of(archive: Path, benchmark: tuple[str, ...], *, dry_run: bool = False) -> ProofRequest:
    site = SiteSettings(archive=archive)
    return ProofRequest(
        archive=archive, first="a", second="b", benchmark=benchmark, blocks=1, dry_run=dry_run, site=site
    )  # fmt: skip


def info(launcher: str = "local", *command: str) -> RunInfo:
    return RunInfo(
        format=formats.RUN, run="b", kind=RunKind.CHECK, seatrial="1", command=command,
        started="2026-11-21T10:00:00Z", ending=Ending.COMPLETE, launcher=launcher,
    )  # fmt: skip


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    monkeypatch.setenv("SEATRIAL_SYSROOT", f"{tmp_path}/here:{tmp_path}/base")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Node(tmp_path)


@pytest.mark.parametrize(
    ("slow_at", "outcome"), [(str(AFTER), ProofOutcome.CONFIRMED), ("never", ProofOutcome.REFUTED)]
)
def test_a_cause_is_confirmed_and_an_innocent_change_refuted(node: Node, slow_at: str, outcome: ProofOutcome) -> None:
    comparison = node.comparison()
    assert comparison.suspects[0].facts[0].fact == "interfaces.eth0.mtu_bytes"
    proved = node.prove(comparison, node.benchmark(slow_at))
    (proof,) = proved.comparison.proofs
    assert (proof.outcome, proof.nodes, proved.unrestored) == (outcome, ("n2",), "")
    assert len(proof.with_change) == len(proof.without_change) == 2
    assert node.mtu.read_text().strip() == str(AFTER), "it was not restored"
    report = comparison_report(proved.comparison)
    assert f"{outcome.value}: interfaces.eth0.mtu_bytes 1500 B → 600 B on n2" in report.headline
    assert proof.ratio is not None
    assert proof.subject is not None
    assert proof.metric is not None
    (text,) = (proof_text(each) for each in proved.comparison.proofs)
    assert f"; with it {proof.metric.whose(proof.subject)}: {proof.metric.name} " in text
    assert (proof.ratio.low < 0.9 < proof.ratio.high) is (outcome is ProofOutcome.CONFIRMED)


def test_a_dry_run_says_what_it_would_change_and_changes_nothing(node: Node) -> None:
    comparison = node.comparison()
    benchmark = node.benchmark("never")
    (proof,) = node.prove(comparison, benchmark, dry_run=True).comparison.proofs
    assert proof.outcome is ProofOutcome.PLANNED
    assert "interfaces.eth0.mtu_bytes from 600 to 1500 on n2 (/sys/class/net/eth0/mtu; needs root" in proof.statement
    assert "for 2 of 4 runs" in proof.statement
    assert len(list(node.archive.iterdir())) == 4, "it measured"


def test_a_benchmark_that_fails_proves_nothing_and_the_change_is_restored(node: Node) -> None:
    comparison = node.comparison()
    proved = node.prove(comparison, node.benchmark("never", fails_at=str(BEFORE)))
    assert proved.comparison.proofs[0].outcome is ProofOutcome.UNTESTABLE
    assert "ended with exit code 1" in proved.comparison.proofs[0].statement
    assert (node.mtu.read_text().strip(), proved.unrestored) == (str(AFTER), "")


def test_a_setting_that_has_moved_on_is_not_touched(node: Node) -> None:
    comparison = node.comparison()
    node.mtu.write_text("9000\n")
    (proof,) = node.prove(comparison, node.benchmark("never")).comparison.proofs
    assert proof.outcome is ProofOutcome.UNTESTABLE
    assert proof.statement == "interfaces.eth0.mtu_bytes of n2 is 9000 now, and was 600 in the runs."
    assert node.mtu.read_text() == "9000\n"


def test_a_setting_that_all_nodes_share_is_not_touched(node: Node, tmp_path: Path) -> None:
    comparison = node.comparison()
    shared = tmp_path / "base/sys/class/net/eth0/mtu"
    shared.parent.mkdir(parents=True)
    node.mtu.rename(shared)
    (proof,) = node.prove(comparison, node.benchmark("never")).comparison.proofs
    assert "simulated for all nodes" in proof.statement
    assert shared.read_text().strip() == str(AFTER)


def test_what_cannot_be_reached_or_measured_again(node: Node) -> None:
    comparison = node.comparison()
    request = request_of(node.archive, ("x",))
    proved = prove_suspects(request, comparison, (with_mtu(BEFORE), with_mtu(AFTER)), info("import"), Silent())
    assert "do not say how their nodes are reached" in proved.comparison.proofs[0].statement
    with pytest.raises(UsageError, match="do not say how to measure"):
        benchmark_of(info("import"))
    again = benchmark_of(info("slurm", "check", "--run", "x", "--json", "--html=a", "--nodes", "n[1-4]"))
    assert again == ("seatrial", "check", "--nodes", "n[1-4]")


def test_the_plan_names_the_first_of_many_files() -> None:
    setting = FileSetting(fact="f", places=(("/a/0", "/a/1"),), present="x", earlier="y")
    reversal = Reversal(facts=(), nodes=("n1", "n2"), files=(setting,))
    assert "f from x to y on n1, n2 (/a/0, ...; needs root there)" in plan_text(reversal, ("b",), 2)


def test_only_hosts_that_the_caller_names_are_reached(node: Node) -> None:
    comparison = node.comparison()
    site = SiteSettings(archive=node.archive, hosts=("n7", "n8"))
    request = msgspec.structs.replace(request_of(node.archive, node.benchmark("never")), site=site)
    proved = prove_suspects(request, comparison, (with_mtu(BEFORE), with_mtu(AFTER)), info("ssh"), Silent())
    assert proved.comparison.proofs[0].statement == "n2 is not one of the hosts of --hosts."
