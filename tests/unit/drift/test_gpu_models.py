"""Which model of GPU a node has, where some do not say."""

import pytest

from seatrial.drift.peer_groups import gpu_models
from seatrial.model.facts import Gpu, NodeFacts


@pytest.mark.parametrize(
    ("of_nodes", "models"),
    [
        ({"n1": "H100", "n2": "H100", "n3": ""}, {"n1": "", "n2": "", "n3": ""}),
        ({"n1": "H100", "n2": "A100", "n3": ""}, {"n1": "H100", "n2": "A100", "n3": ""}),
    ],
)
def test_nodes_without_a_model_of_gpu_are_of_the_only_one(of_nodes: dict[str, str], models: dict[str, str]) -> None:
    facts = {
        name: NodeFacts(hostname=name, complete=True, gpus=(Gpu(address="0000:11:00.0", name=gpu),) if gpu else ())
        for name, gpu in of_nodes.items()
    }
    assert gpu_models(facts) == models
