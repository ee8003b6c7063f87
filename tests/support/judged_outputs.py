"""What the gates say of an output that is recognised."""

from seatrial.benchmarks.catalogue import parse_auto
from seatrial.benchmarks.gates import judge
from seatrial.model.benchmark import Output
from seatrial.model.verdict import FindingKind


def judged(text: str, **given: float | str) -> Output:
    """The output of a benchmark, judged; `given`: limits of its metrics, and texts of evidence that are expected."""
    benchmark, output = parse_auto(text)
    assert benchmark is not None
    limits = {name: limit for name, limit in given.items() if not isinstance(limit, str)}
    return judge(benchmark, output, limits, {name: text for name, text in given.items() if isinstance(text, str)})


def breaches(text: str, **limits: float) -> set[FindingKind]:
    """The gates that it does not pass."""
    return {breach.kind for breach in judged(text, **limits).breaches}
