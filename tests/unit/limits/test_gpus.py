"""Limits of the links of GPUs: PCIe by generation and lanes, NVLinks by number and rate, and outputs beside them."""

import pytest

from seatrial.benchmarks.catalogue import BENCHMARKS
from seatrial.benchmarks.gpu_rates import HOST, PEER, most_of_link
from seatrial.benchmarks.nccl_tests import BUS
from seatrial.judgement.benchmark_result import limits_of_nodes
from seatrial.limits.gpus import gpu_limits, host_term
from seatrial.limits.node import node_limits
from seatrial.limits.path import path_limits
from seatrial.model.facts import NodeFacts, PciKind
from seatrial.model.limit import Limit
from tests.support.facts_examples import CARD, device, hop, server
from tests.support.gpu_machines import gpu, gpus


def test_each_gpu_has_a_limit_to_the_host_and_one_to_the_others() -> None:
    limits = {limit.path: limit.limit_bytes_per_s for limit in gpu_limits(server(gpus=gpus(number=2)))}
    assert list(limits) == ["n1 GPU 0 > host", "n1 GPU 0 > other GPUs", "n1 GPU 1 > host", "n1 GPU 1 > other GPUs"]
    assert limits["n1 GPU 0 > host"] == pytest.approx(63.0e9, rel=1e-3)
    assert limits["n1 GPU 1 > other GPUs"] == 100e9


def test_an_idle_gpu_has_the_limit_of_what_its_link_can_do() -> None:
    term = host_term(gpu(0, link_generation=1, link_width=8), "n1")
    assert term is not None
    assert term.name == "n1 GPU 0: PCIe generation 5 x16"


@pytest.mark.parametrize(
    "changes",
    [{"name": "GH200 480GB"}, {"link_generation_max": None}, {"link_width_max": None}, {"link_generation_max": 9}],
)
def test_links_that_are_not_known_have_no_limit(changes: dict[str, object]) -> None:
    assert host_term(gpu(0, **changes), "n1") is None


def test_outputs_are_compared_with_the_links_of_the_nodes() -> None:
    facts = {"n1": server(gpus=gpus())}
    assert limits_of_nodes(BENCHMARKS["nvbandwidth"], facts) == {HOST: pytest.approx(63.0e9, rel=1e-3), PEER: 100e9}
    assert limits_of_nodes(BENCHMARKS["nccl-tests"], facts) == {BUS: 100e9}
    pair = {name: server(name, gpus=gpus()) for name in ("n1", "n2")}
    assert 0 < limits_of_nodes(BENCHMARKS["nccl-tests"], pair)[BUS] < 50e9
    unknown = {"n1": server(gpus=gpus(1, nvlinks=(), link_width_max=None))}
    assert limits_of_nodes(BENCHMARKS["nvbandwidth"], unknown) == {}
    assert limits_of_nodes(BENCHMARKS["gpu-burn"], facts) == {}


@pytest.mark.parametrize(
    ("labels", "limit"),
    [
        ({"test": "host_to_device_memcpy_ce", "gpu": 1}, 50.0),
        ({"test": "host_to_device_bidirectional_memcpy_ce", "gpu": 1}, 100.0),
        ({"from": "gpu0", "to": "gpu1", "ways": "both ways"}, 100.0),
        ({"from": "gpu_all", "to": "gpu1"}, None),
        ({"test": "all_to_host_memcpy_ce", "gpu": 0}, None),
        ({"from": "GPU 0", "to": "GPU 1", "ways": "one way"}, 50.0),
    ],
)
def test_both_ways_have_twice_the_limit_and_copies_of_all_have_none(
    labels: dict[str, str | int | float], limit: float | None
) -> None:
    assert most_of_link(labels, 50.0) == limit


def switched(name: str, uplink: int = 16, own: int = 16, **changes: object) -> NodeFacts:
    """A node whose GPU 0 is below one switch with its adapter, and whose GPU 1 is not."""
    above = (hop("0000:40:01.0", width=uplink), hop("0000:41:00.0", width=uplink))
    adapter = device(CARD, *above, hop("0000:42:00.0", width=own), own=hop(CARD, width=own))
    near = device(gpu(0).address, *above, hop("0000:42:01.0"), kind=PciKind.GPU)
    far = device(gpu(1).address, hop("0000:60:01.0"), kind=PciKind.GPU)
    return server(name, pci=(adapter, near, far), gpus=(gpu(0, **changes), gpu(1)))


@pytest.mark.parametrize(
    ("node", "binding", "bytes_per_s"),
    [
        ({"link_generation_max": 3}, "GPU 0: PCIe generation 3 x16", 15.75e9),
        ({"link_generation_max": 1, "link_width_max": 8}, "GPU 0: PCIe generation 1 x8", 2e9),
        ({"own": 4}, "mlx5_0: PCIe link 0000:42:00.0 to 0000:41:00.0 at 16.0 GT/s x4", 7.2e9),
        ({"uplink": 2}, "mlx5_0", 24.5e9),
        ({"link_generation_max": None}, "mlx5_0", 24.5e9),
    ],
    ids=["GPU", "narrow GPU", "adapter", "above the switch", "not known"],
)
def test_what_a_gpu_sends_passes_its_link_and_the_adapter_and_nothing_above_their_switch(
    node: dict[str, int], binding: str, bytes_per_s: float
) -> None:
    facts = {"n1": switched("n1", **node), "n2": switched("n2")}
    limit = path_limits([("n1", "n2")], facts, of_gpus=True)["n1", "n2"]
    assert isinstance(limit, Limit)
    assert binding in limit.binding
    assert limit.limit_bytes_per_s == pytest.approx(bytes_per_s, rel=0.03)
    assert limit.gate_bytes_per_s >= limit.limit_bytes_per_s
    of_host = path_limits([("n1", "n2")], facts)["n1", "n2"]
    assert isinstance(of_host, Limit)
    assert not any("GPU" in term.name for term in of_host.terms)
    assert ("uplink" in node) is (of_host.limit_bytes_per_s < 5e9)


def test_the_way_from_a_gpu_to_its_adapter_names_what_they_share_and_what_binds() -> None:
    limits = {limit.path: limit for limit in node_limits(switched("n1", own=4)) if "GPU" in limit.path}
    near, far = limits["n1 GPU 0 > mlx5_0 below switch 0000:41:00.0"], limits["n1 GPU 1 > mlx5_0 through the processor"]
    assert isinstance(near, Limit) and isinstance(far, Limit)
    assert "PCIe link 0000:42:00.0" in near.binding
    assert not any("0000:40:01.0" in term.name for term in near.terms)
    assert any("0000:40:01.0" in term.name for term in far.terms)
    assert near.limit_bytes_per_s == pytest.approx(7.2e9, rel=0.03)
    slow = switched("n1", link_generation_max=1, link_width_max=8)
    (own,) = [limit for limit in node_limits(slow) if limit.path.startswith("n1 GPU 0 > mlx5_0")]
    assert isinstance(own, Limit) and own.binding == "n1 GPU 0: PCIe generation 1 x8"
    assert not any(" > mlx5_0" in limit.path and "GPU" in limit.path for limit in node_limits(server(gpus=gpus())))


def test_nodes_without_known_gpus_have_the_limit_of_main_memory() -> None:
    facts = {name: server(name) for name in ("n1", "n2")}
    assert path_limits([("n1", "n2")], facts, of_gpus=True) == path_limits([("n1", "n2")], facts)
