"""Whether the points of a curve did the same work, and whether that explains one that is faster than linear."""

import math
from collections.abc import Iterator, Sequence

from seatrial.commands.scale.points import ScaleCurve, ScaleRun
from seatrial.model.benchmark import Breach, Label
from seatrial.model.units import share
from seatrial.model.verdict import FindingKind, Verdict

SAME = ("program", "inputs", "iterations", "steps", "order", "equations", "elements", "items", "atoms", "k_points")
"""Evidence that is equal at all sizes of a strong curve. Columns of a table are compared as well."""
CELLS_AGREE, RESULTS_AGREE, SOLVERS_AGREE = 0.01, 0.2, 0.25
"""Relative differences between sizes: of cells (a parallel mesher is not exact), of coefficients, of iterations of the
linear solvers, which depend on the decomposition.
"""
GROWS = {"order": 0.5}
"""Evidence that grows with less than the work: to this power."""
GROWN_AGREE = 0.05
"""Relative difference between the work that was to grow and what grew: sizes are rounded to blocks."""
MOST_BY_CACHE = 2.0
"""Efficiency that caches can explain: data in caches are read up to several times faster, computing is not."""
SMALL = 1e-6

COUNTED = ("steps", "atoms", "order", "equations", "elements", "items", "k_points", "cutoff_ry")
"""Evidence that shows the same work, besides that of OpenFOAM."""

Breaches = list[tuple[str, Breach]]


def work_breaches(curve: ScaleCurve, *, weak: bool) -> Breaches:
    """Gates of each output, and differences of work between the points; with the name of the file or size."""
    breaches: Breaches = []
    for run in curve.runs:
        if run.output is None:
            continue
        breaches += [(run.source, breach) for breach in run.output.breaches if breach.kind.verdict is not Verdict.NOTE]
        if run.output.missing:
            breach = Breach(kind=FindingKind.OUTPUT_TRUNCATED, reason=run.output.missing[0])
            breaches.append((run.source, breach))
    first = min(curve.runs, key=lambda run: run.size, default=None)
    for run in curve.runs:
        if first is not None and run is not first:
            breaches += [(run.source, breach) for breach in _differences(first, run, weak)]
    return breaches


def differing_work(first: ScaleRun, run: ScaleRun) -> tuple[Breach, ...]:
    """What differs between the work of two runs of the same size, of two curves."""
    return tuple(_differences(first, run, weak=False))


def _differences(first: ScaleRun, run: ScaleRun, weak: bool) -> Iterator[Breach]:
    grown = run.size / first.size if weak else 1.0
    for name, expected in first.work.items():
        value = run.work.get(name)
        if value is None or name in ("cells", "patches"):
            continue
        if (
            (name in SAME or run.output is None)
            and not _agree(expected, value, GROWN_AGREE if weak else 0.0, grown ** GROWS.get(name, 1.0))
            and not (weak and _agree(expected, value, 0.0, 1.0))
        ):
            kind = FindingKind.ITERATIONS_DIFFER if name == "iterations" else FindingKind.WORK_DIFFERS
            yield Breach(kind=kind, reason=f"{name} is {value}, and {expected} in {first.source}")
    yield from _mesh_differences(first, run, grown)
    yield from _result_differences(first, run)


def _mesh_differences(first: ScaleRun, run: ScaleRun, grown: float) -> Iterator[Breach]:
    cells, expected = run.work.get("cells"), first.work.get("cells")
    if cells is not None and expected is not None and not _agree(expected, cells, CELLS_AGREE, grown):
        yield Breach(kind=FindingKind.MESH_DIFFERS, reason=f"{cells} cells, and {expected} in {first.source}")
    patches, wanted = (
        {name for name in str(item.work.get("patches", "")).split(",") if name and not name.startswith("proc")}
        for item in (run, first)
    )
    if patches and wanted and patches != wanted:
        lost = ", ".join(sorted(wanted - patches)) or "none"
        more = ", ".join(sorted(patches - wanted)) or "none"
        yield Breach(
            kind=FindingKind.MESH_DIFFERS, reason=f"patches missing: {lost}; additional: {more}; as in {first.source}"
        )


def _result_differences(first: ScaleRun, run: ScaleRun) -> Iterator[Breach]:
    """Force coefficients: the same flow has the same forces."""
    expected, values = _coefficients(first), _coefficients(run)
    for name, value in expected.items():
        if name not in values:
            yield Breach(kind=FindingKind.WORK_SKIPPED, reason=f"{name} is missing, and {value:g} in {first.source}")
        elif name in ("Cd", "Cl", "Cm") and abs(value) > SMALL and not _near(name, expected, values):
            yield Breach(
                kind=FindingKind.WORK_DIFFERS, reason=f"{name} is {values[name]:g}, and {value:g} in {first.source}"
            )


def _near(name: str, expected: dict[str, float], values: dict[str, float]) -> bool:
    """Relative to the largest coefficient: lift can be near zero."""
    scale = max(abs(value) for value in expected.values())
    return abs(values[name] - expected[name]) <= RESULTS_AGREE * max(scale, SMALL)


def _coefficients(run: ScaleRun) -> dict[str, float]:
    if run.output is None:
        return {}
    return {
        str(result.labels.get("coefficient")): result.value
        for result in run.output.results
        if result.metric == "coefficient" and math.isfinite(result.value)
    }


def _agree(expected: Label, value: Label, tolerance: float, grown: float) -> bool:
    if isinstance(expected, int | float) and isinstance(value, int | float):
        return abs(value - expected * grown) <= tolerance * abs(expected * grown) + 1e-9 * abs(expected)
    return expected == value


def cache_explanation(base: Sequence[ScaleRun], runs: Sequence[ScaleRun], efficiency: float) -> tuple[str, str]:
    """Why a point is faster than linear, or why that cannot be explained; one of the two is empty.

    Each node has less data at a larger size, and a larger part of them fits into its caches. That explains it only
    where the outputs show that the work was the same.
    """
    if any(run.output is None for run in (*base, *runs)):
        return "", "nothing in the table shows that the same work was done"
    if efficiency > MOST_BY_CACHE:
        return "", f"caches cannot explain more than {share(MOST_BY_CACHE)}"
    first, run = base[0], runs[0]
    if any(output is not None and (output.breaches or output.missing) for output in (first.output, run.output)):
        return "", "an output does not pass its gates"
    proofs = list(_proofs(first, run))
    doubts = [text for good, text in proofs if not good]
    if doubts:
        return "", "; ".join(doubts)
    if len(proofs) < 2:
        return "", "the outputs do not show enough of the work that was done"
    shown = "; ".join(text for _, text in proofs)
    return f"consistent with caches, since the work was the same: {shown}", ""


def _proofs(first: ScaleRun, run: ScaleRun) -> Iterator[tuple[bool, str]]:
    """What shows that both did the same work: whether it agrees, and a sentence."""
    iterations, expected = run.work.get("iterations"), first.work.get("iterations")
    if iterations is not None and expected is not None:
        yield iterations == expected, f"{iterations} iterations"
    for name in COUNTED:
        value, before = run.work.get(name), first.work.get(name)
        if value is not None and before is not None:
            yield value == before, f"{name} {value}"
    names = [name for name in first.work if name.startswith("solver_iterations_") and name in run.work]
    totals = [sum(float(item.work[name]) for name in names) for item in (first, run)]
    if names and totals[0]:
        difference = totals[1] / totals[0] - 1
        yield abs(difference) <= SOLVERS_AGREE, f"iterations of linear solvers {difference:+.1%}"
    cells, wanted = run.work.get("cells"), first.work.get("cells")
    if cells is not None and wanted is not None:
        yield _agree(wanted, cells, CELLS_AGREE, 1.0), f"{cells} cells"
    forces, after = _coefficients(first), _coefficients(run)
    if forces and after:
        near = [name for name in forces if name in after and _near(name, forces, after)]
        yield len(near) == len(forces), "force coefficients agree" if len(near) == len(forces) else "forces differ"
