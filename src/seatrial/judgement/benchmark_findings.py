"""Breaches of a benchmark's validity gates as findings, and the word for one output."""

from seatrial.model.benchmark import Breach, Output
from seatrial.model.subject import Subject
from seatrial.model.verdict import Finding, FindingKind, Verdict, worst

INCOMPLETE = "INCOMPLETE"
REMEDIES = {
    FindingKind.NOT_A_NUMBER: "Do not use this run. Look for the first such line: the solution diverged, or a field "
    "was never set.",
    FindingKind.ZERO_RESULT: "Do not use this run: a rate of 0 or a negative time means that nothing was measured.",
    FindingKind.CONSTANT_RESULTS: "Check that the program computes this number; compare with a run on one node.",
    FindingKind.ABOVE_LIMIT: "Check the unit, the amount of work and the clock; the limit itself is yours.",
    FindingKind.FAR_BELOW_LIMIT: "Give it enough work first (a larger problem); then look at the placement of "
    "ranks, the library, clocks and transport: seatrial placement, nodes and link --transports.",
    FindingKind.GPU_BELOW_PEERS: "Run it three times on this node, and judge the outputs together (seatrial judge "
    "FILE...): only a low number that returns is a finding. Then look at its clocks, power and link (nvidia-smi -q).",
    FindingKind.UNEVEN_NUMBERS: "Run it again: noise does not return in the same place. What returns is a setting: for "
    "a message size an eager limit, registration or tuning tables; for STREAM arrays within caches or threads that are "
    "not pinned; for HPL block size and grid. A repetition was disturbed (other jobs, a throttled node) or served by a "
    "cache. Give runs on other nodes or with other settings as a file each.",
    FindingKind.DIAGNOSTIC_FAILED: "Drain the node, and follow the text of the diagnostic; keep its output for the "
    "vendor (nvidia-bug-report.sh).",
    FindingKind.DIAGNOSTIC_SETTING: "Correct the setting that the text names, and run the diagnostic again: the "
    "hardware is not at fault.",
    FindingKind.DIAGNOSTIC_SKIPPED: "Find out why they were skipped (the text of the diagnostic, other programs on the "
    "GPU, an unsupported model), and run it again: a test that did not run shows nothing.",
    FindingKind.RESIDUAL_FAILED: "The result is wrong: look for faulty memory or processors (run it on each node "
    "alone), and for an unsuitable build of the libraries.",
    FindingKind.RESIDUAL_MISSING: "Run it again with its own check enabled.",
    FindingKind.WORK_SKIPPED: "Compare with the log of a correct case: mesh, patches and functions must all be there.",
    FindingKind.RUN_TOO_SHORT: "Run it with more work, so that it takes many ticks of its clock.",
    FindingKind.NUMBERS_DISAGREE: "Do not use this number: check its unit, and whether the output was edited or mixed.",
    FindingKind.ITERATIONS_DIFFER: "Check the end time and the convergence criteria of the case.",
    FindingKind.RANKS_DIFFER: "Check the launch line: a program without MPI runs once for each rank.",
    FindingKind.CLOCK_BACKWARDS: "Check the clock of the node (chronyc tracking), and run it again.",
    FindingKind.PROGRAM_FAILED: "Look at the lines above it in the output.",
    FindingKind.OUTPUT_TRUNCATED: "Give the whole output, or run it again.",
    FindingKind.MESH_DIFFERS: "Mesh and decompose the case again, and compare the logs of checkMesh.",
    FindingKind.WORK_DIFFERS: "Compare its input with that of a correct run; all sizes of a curve need the same one.",
    FindingKind.SUPERLINEAR: "Prove that each size did the same work: give the outputs instead of a table, and compare "
    "iterations, cells and results.",
    FindingKind.SLOWER_WITH_MORE: "Use the smaller size, or find what the larger one waits for: seatrial placement, "
    "nodes and link show ranks, memory and network.",
    FindingKind.BIMODAL: "Find what differs between the runs of the two kinds (nodes, placement, other jobs), and do "
    "not average them.",
    FindingKind.DATA_CORRUPT: "Test memory and network of these nodes: seatrial check --verify names the pair.",
}


def word_of_output(output: Output) -> str:
    """INCOMPLETE before INVALID; MEASURED where nothing was compared, or the program did not check its data."""
    if not output.complete:
        return INCOMPLETE
    if output.breaches:
        return worst([breach.kind.verdict for breach in output.breaches]).value
    return (Verdict.PASS if output.references and not output.unchecked else Verdict.MEASURED).value


def breach_finding(breach: Breach, subject: Subject) -> Finding:
    """The gate that is not passed, with the line that shows it."""
    where = f"line {breach.line}: " if breach.line else ""
    return Finding(
        kind=breach.kind,
        subject=subject,
        verdict=breach.kind.verdict,
        statement=f"{where}{breach.reason}." + (f" The line: {breach.text}" if breach.text else ""),
        brief=f"{breach.kind.value}: {breach.brief or where + breach.reason}",
        printed=breach.text,
        remedy=REMEDIES.get(breach.kind, "Do not use this run."),
    )
