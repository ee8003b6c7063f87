"""A comparison of rails in words and rows, for every form of its report alike."""

from seatrial.commands.curve.rails.judge import RailComparison
from seatrial.model import units
from seatrial.model.limit import Limit
from seatrial.render.curve_plot import Row

RAILS_HEAD: Row = ("over", "latency", "plateau", "of its limit", "verdict")


def headline(found: RailComparison) -> tuple[str, str]:
    """The verdict's word, and the sentence."""
    return found.word, found.reason if found.findings else f"{found.pair[0]} to {found.pair[1]}: {found.reason}"


def summary(found: RailComparison) -> list[tuple[str, str]]:
    """Label and text of each line."""
    rows: list[tuple[str, str]] = []
    for finding in found.findings:
        rows += [(str(finding.kind), finding.statement), ("", finding.remedy)]
    for curve in found.curves:
        latency = f"; latency {units.estimate(curve.latency_s, units.LATENCY)}" if curve.latency_s else ""
        measured = units.estimate(curve.bandwidth, units.BANDWIDTH) if curve.bandwidth else "not measured"
        rows.append((curve.variant, f"{measured}: {curve.reason}{latency}"))
    for ratio in (*found.ratios, *([found.gain] if found.gain else [])):
        one = ratio.ratio
        permitted = f"; physics permits {ratio.permitted:.2f}" if ratio.permitted else ""
        runs = f"{one.runs} runs, {units.share(one.confidence)}"
        said = f"{one.value:.2f} times [{one.low:.2f}-{one.high:.2f}] what {ratio.beside} carries, {runs}{permitted}"
        rows.append(("gain" if ratio is found.gain else ratio.variant, f"{ratio.variant}: {said}"))
    for curve in found.curves:
        if isinstance(curve.limit, Limit):
            what = f"{units.bandwidth(curve.limit.limit_bytes_per_s)}, set by {curve.limit.binding}"
            rows.append(("limit", f"{curve.variant}: {what}"))
    return rows + [("note", note) for note in found.notes]


def table(found: RailComparison) -> list[Row]:
    """One row a variant, under `RAILS_HEAD`."""
    rows: list[Row] = []
    for curve in found.curves:
        limit = curve.limit.limit_bytes_per_s if isinstance(curve.limit, Limit) else None
        part = units.share(curve.bandwidth.value / limit) if curve.bandwidth and limit else ""
        rows.append(
            (
                curve.variant,
                units.duration(curve.latency_s.value) if curve.latency_s else "",
                units.bandwidth(curve.bandwidth.value) if curve.bandwidth else "",
                part,
                curve.verdict.value if curve.verdict else "",
            )
        )
    return rows
