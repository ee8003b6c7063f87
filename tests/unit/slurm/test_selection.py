"""Which nodes a request selects, and what of it reaches Slurm's commands."""

import pytest

from seatrial.model.errors import UsageError
from seatrial.model.settings import SlurmRequest
from seatrial.slurm import argv
from seatrial.slurm.census import WantedNodes, satisfies, select
from seatrial.slurm.text import parse_sinfo

LINES = parse_sinfo("".join(f"n{place}|idle|{part}|none\n" for place in range(1, 5) for part in ("main*", "debug")))
FEATURES = {"n1": ("hdr", "rome"), "n2": ("hdr", "milan"), "n3": ("ndr", "milan"), "n4": ()}
HOSTILE = "x; reboot $(id)"


def selected(wanted: WantedNodes) -> list[str]:
    return [line.node for line in select(LINES, FEATURES, wanted)]


@pytest.mark.parametrize(
    ("constraint", "nodes"),
    [
        ("hdr", ["n1", "n2"]),
        ("hdr&milan", ["n2"]),
        ("hdr,milan", ["n2"]),
        ("hdr|ndr", ["n1", "n2", "n3"]),
        ("ndr|rome&hdr", ["n1"]),
        ("ndr|(rome&hdr)", ["n1", "n3"]),
        (" hdr & ( rome | milan ) ", ["n1", "n2"]),
    ],
)
def test_a_constraint_selects_the_nodes_that_have_the_features(constraint: str, nodes: list[str]) -> None:
    assert selected(WantedNodes(request=SlurmRequest(constraint=constraint))) == nodes


@pytest.mark.parametrize("constraint", ["[rome|milan]", "hdr*2", "hdr&", "(hdr", "hdr)", "&", "hdr hdr", "()"])
def test_a_constraint_that_selects_no_nodes_by_themselves_is_refused(constraint: str) -> None:
    with pytest.raises(UsageError, match="cannot be used to select nodes"):
        satisfies(constraint, ("hdr",))


def test_a_constraint_that_nothing_or_a_named_node_does_not_satisfy_is_an_error() -> None:
    with pytest.raises(UsageError, match="None of 4 nodes satisfies --constraint edr"):
        selected(WantedNodes(request=SlurmRequest(constraint="edr")))
    with pytest.raises(UsageError, match="Node n3 does not satisfy --constraint hdr"):
        selected(WantedNodes(nodes=("n1", "n3"), request=SlurmRequest(constraint="hdr")))


def test_excluded_nodes_and_those_outside_the_reservation_are_not_selected() -> None:
    assert selected(WantedNodes(request=SlurmRequest(exclude=("n2", "n4")))) == ["n1", "n3"]
    assert selected(WantedNodes(nodes=("n1", "n2"), request=SlurmRequest(exclude=("n2",)))) == ["n1"]
    assert selected(WantedNodes(reserved=("n3", "n4"))) == ["n3", "n4"]
    with pytest.raises(UsageError, match="--exclude: Slurm knows no node 'n9'"):
        selected(WantedNodes(request=SlurmRequest(exclude=("n9",))))


def test_what_a_site_wants_is_asked_of_every_job_word_by_word() -> None:
    request = SlurmRequest(
        account="ops", qos=HOSTILE, reservation="maint", constraint="a&b", gres="gpu:4", arguments=("--comment=a b",)
    )
    words = [
        "--account=ops", f"--qos={HOSTILE}", "--reservation=maint", "--constraint=a&b", "--gres=gpu:4", "--comment=a b",
    ]  # fmt: skip
    alone = argv.sbatch_alone("n1", "", "x", "script", [], memory=False, request=request)
    for command in (
        argv.salloc(["n1"], 60, "", "x", request=request),
        argv.sbatch(["n1"], 60, "", "x", "out", "script", [], request),
        alone,
    ):
        at = command.index(words[0])
        assert command[at : at + len(words)] == words
    for step in (
        argv.facts_step("7", ["n1"], request.arguments),
        argv.probe_step("7", ["n1"], "", "probe", arguments=request.arguments),
        argv.report_step("7", ["n1"], "", ["true"], request.arguments),
    ):
        assert "--comment=a b" in step
        assert "--account=ops" not in step, "the account is that of the job"
