"""One generated table of pairs in every format: each is recognised, and gives the same numbers."""

import numpy as np
import pytest

from seatrial.importers.formats import FORMATS as READ
from seatrial.importers.formats import read_matrix
from tests.support.matrices import FORMATS, matrix

OF = matrix("6 nodes, 12.2 GB/s, 1.1 us, 3+3 on leaves, 1.6 us between leaves", seed=3)
NO_LATENCY = {"mpigraph", "linktest"}


def test_every_format_that_is_read_is_generated() -> None:
    assert set(FORMATS) == set(READ) - {"nccl"}, "which prints one number of two decimals for both directions"


@pytest.mark.parametrize("chosen", ["auto", "named"])
@pytest.mark.parametrize("form", FORMATS)
def test_a_format_gives_every_pair_its_numbers(form: str, chosen: str) -> None:
    table = read_matrix(FORMATS[form](OF), form if chosen == "named" else chosen)
    hosts = {name: name if form != "nxnlatbw" else f"n{name}" for name in table.nodes}
    ends = [
        (hosts[table.nodes[a]], hosts[table.nodes[b]]) for a, b in zip(table.source, table.target, strict=True)
    ]  # fmt: skip
    bandwidth = dict(zip(ends, table.bandwidth_bytes_per_s.tolist(), strict=True))
    assert set(bandwidth) >= set(OF.bandwidth_bytes_per_s)
    for pair, rate in OF.bandwidth_bytes_per_s.items():
        assert bandwidth[pair] == pytest.approx(rate, rel=1e-6)
    if form in NO_LATENCY:
        assert np.isnan(table.latency_s).all()
    else:
        latency = dict(zip(ends, table.latency_s.tolist(), strict=True))
        if form == "osu":  # one ping-pong measures both directions
            assert set(map(frozenset, latency)) == set(map(frozenset, OF.latency_s))
        else:
            assert latency == pytest.approx(dict(OF.latency_s), rel=1e-3)


def test_two_leaves_have_two_latencies() -> None:
    assert sorted({round(1e6 * value, 1) for value in OF.latency_s.values()}) == [1.1, 1.6]


@pytest.mark.parametrize("text", ["6 nodes, 3 bananas", "six nodes"])
def test_another_description_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=text.rpartition(", ")[2]):
        matrix(text)
