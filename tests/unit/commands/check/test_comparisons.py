"""A PASS says what it rests on: limits, peers, earlier runs, and how much data was verified."""

import msgspec
import pytest

from seatrial.commands.check.headline import NOTHING, comparisons_text, verified_bytes
from seatrial.commands.check.judge import judge
from seatrial.commands.check.view import check_report
from seatrial.model.judgement import VerdictBasis
from seatrial.model.measurement import Kernel, Measurement, Phase, Shape
from seatrial.model.verdict import Verdict
from seatrial.render.text import as_text
from tests.support.builders import Cluster, names, sail


@pytest.mark.parametrize(("kernel", "ways"), [(Kernel.ONEWAY, 1), (Kernel.PINGPONG, 2)])
def test_verified_bytes_are_those_of_both_directions(kernel: Kernel, ways: int) -> None:
    shape = Shape(kernel=kernel, message_bytes=1000, window=3, warmup=1, iterations=5)
    one = Measurement(phase=Phase.SURVEY, repetition=0, shape=shape, source="a", target="b", times_s=(1.0,), verified=2)
    assert verified_bytes(one) == 6000 * ways


@pytest.mark.parametrize(
    ("compared", "text"),
    [
        (
            VerdictBasis(pairs=12, with_limit=12, with_peers=12, verified_bytes=3 << 20),
            "all pairs with their limits, all pairs with their peers; 3 MiB of data with what was sent",
        ),
        (
            VerdictBasis(pairs=12, with_limit=1, earlier_runs=2),
            "1 of 12 ordered pairs with their limits, nodes with 2 earlier runs",
        ),
        (VerdictBasis(pairs=2), NOTHING),
        (VerdictBasis(), ""),
        (None, ""),
    ],
)
def test_the_line_names_each_reference(compared: VerdictBasis | None, text: str) -> None:
    assert comparisons_text(compared) == text


@pytest.mark.parametrize(("megabits", "limits"), [(1000, "all pairs with their limits, "), (None, "")])
def test_the_report_of_a_healthy_cluster_says_what_was_compared(megabits: int | None, limits: str) -> None:
    recorded = sail(Cluster(nodes=names(4), megabits=megabits))
    several = [msgspec.structs.replace(one, verified=2) for one in recorded.measurements]
    recorded = msgspec.structs.replace(recorded, measurements=tuple(several))
    judgement = judge(recorded)
    assert judgement.verdict is Verdict.PASS
    compared = judgement.compared
    assert compared is not None
    assert (compared.pairs, compared.with_peers, compared.earlier_runs) == (12, 12, 0)
    assert compared.verified_bytes == sum(map(verified_bytes, several)) > 0
    text = as_text(check_report(recorded.info, judgement, recorded.facts))
    assert f"{limits}all pairs with their peers; " in " ".join(text.split())
