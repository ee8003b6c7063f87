"""Checks that were drawn at random and named a good part, or passed: each by its family and seed."""

import pytest
from bench.ablation import answer
from bench.random_classes import drawn


@pytest.mark.parametrize(
    ("family", "seed", "named"),
    [
        pytest.param("jobs", 157, (), id="traffic across leaves, and no pair of the node within its leaf"),
        pytest.param("all kinds", 122, (), id="all pairs among others were below their limit, and none alone"),
        pytest.param("waits", 104, (), id="all pairs were slow while all ranks waited, which nobody knew"),
        pytest.param("waits", 100, (), id="a node was slow in five of six runs whose waits nobody knew"),
        pytest.param("waits", 111, (), id="a node was late whose waits nobody knew"),
        pytest.param(
            "waits", 137, ("slow-link node:n2 0",), id="one was slow, and another late, whose waits nobody knew"
        ),
        pytest.param(
            "loss",
            130,
            ("packet-loss uplink:leaf3 0",),
            id="pairs of the node within its leaf lost nothing after the last look",
        ),
        pytest.param(
            "all kinds",
            111,
            ("slow-link node:n2 0", "slow-link node:n4 0", "slow-pair pair:n1>n2 0"),
            id="a node became slow while its leaf was under load",
        ),
        pytest.param("loss", 100, ("packet-loss uplink:leaf1 1",), id="two of four cables were not crossed"),
        pytest.param("loss", 115, ("packet-loss link:leaf1[6]-spine1[2] 3",), id="the cable was not crossed"),
        pytest.param("loss", 132, ("packet-loss link:leaf1[17]-spine3[1] 2",), id="both directions of a cable"),
        pytest.param(
            "all kinds", 133, ("packet-loss node:n1 0", "packet-loss node:n5 0"), id="a leaf behind two lossy nodes"
        ),
        pytest.param("latency", 19, ("high-latency node:n2 0",), id="the only pair within a leaf is late"),
        pytest.param(
            "jobs", 129, ("slow-link node:n22 0", "slow-link node:n32 0"), id="an absent node has a cable to itself"
        ),
        pytest.param(
            "jobs",
            7031,
            ("packet-loss node:n23 0", "slow-uplink uplink:router1-1 0"),
            id="streams of leaves one by one meet those of some partners",
        ),
        pytest.param("all kinds", 155, (), id="faults that had not begun when the check ended"),
    ],
)
def test_nothing_good_is_named_and_nothing_passes_that_was_seen(family: str, seed: int, named: tuple[str, ...]) -> None:
    answered = answer(drawn(family, seed), seed)
    assert answered.named == named
    assert (answered.wrong, answered.false_pass) == (0, False)
