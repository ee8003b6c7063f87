"""Meshes and decompositions in OpenFOAM logs: cells, patches, cells of each subdomain, and whether they agree."""

import re

from seatrial.benchmarks.openfoam_log import Step
from seatrial.benchmarks.reading import Line, Reading
from seatrial.model.number_text import whole_number
from seatrial.model.verdict import FindingKind

CELLS = (
    re.compile(r"^\s*nCells: (?P<cells>\d{1,15})"),  # blockMesh
    re.compile(r"^\s*cells:\s+(?P<cells>\d{1,15})\s*$"),  # checkMesh
    re.compile(r"(?:Snapped|Layer|Refined) mesh : cells:(?P<cells>\d{1,15})"),  # snappyHexMesh
)
COUNT = "ells:"
"""All of these have it: most lines have not, and are passed over quickly."""
PATCH = re.compile(r"^\s*patch \d{1,18} \(start: \d{1,18} size: (?P<faces>\d{1,15})\) name: (?P<name>\S+)")
PATCH_TABLE = re.compile(r"^\s*Patch\s+Faces\s+Points\b")
PATCH_ROW = re.compile(r"^\s+(?P<name>\S+)\s+(?P<faces>\d{1,15})\s+(?P<points>\d{1,15})\s+\S")
PROCESSOR = re.compile(r"^Processor (?P<place>\d{1,9})\s*$")
PROCESSOR_CELLS = re.compile(r"^\s+Number of cells = (?P<cells>\d{1,15})")
MESHED = re.compile(r"^Finished meshing")
UNSOUND = re.compile(r"^Failed (?P<checks>\d{1,6}) mesh checks")
MESHERS = ("blockMesh", "snappyHexMesh", "checkMesh", "renumberMesh")


def _cell_count(text: str) -> re.Match[str] | None:
    return next((match for pattern in CELLS if (match := pattern.search(text))), None)


def read_mesh(reading: Reading, step: Step) -> None:
    """Evidence of the mesh in one log: cells, patches with faces, subdomains."""
    table = False
    patches: dict[str, int] = {}
    subdomains: list[tuple[Line, int]] = []
    inside = False
    for line in step.lines:
        if unsound := UNSOUND.match(line.text):
            reading.note(f"Line {line.number}: checkMesh failed {unsound['checks']} checks of the mesh.")
        if COUNT in line.text and (counted := _cell_count(line.text)):
            reading.evidence("cells", whole_number(counted["cells"]), line)
        elif patch := PATCH.match(line.text):
            patches[patch["name"]] = whole_number(patch["faces"])
        elif table and (row := PATCH_ROW.match(line.text)):
            patches[row["name"]] = whole_number(row["faces"])
        elif PROCESSOR.match(line.text):
            inside = True
        elif inside and (part := PROCESSOR_CELLS.match(line.text)):
            subdomains.append((line, whole_number(part["cells"])))
            inside = False
        table = bool(PATCH_TABLE.match(line.text)) or (table and bool(line.text.strip()))
    _patches(reading, step, patches)
    if subdomains:
        reading.evidence("subdomains", len(subdomains), subdomains[-1][0])
        total = sum(cells for _, cells in subdomains)
        reading.evidence("cells_of_subdomains", total, subdomains[-1][0])
        largest = max(cells for _, cells in subdomains)
        if largest:
            reading.evidence("balance", round(total / len(subdomains) / largest, 6), subdomains[-1][0])
        for line, part_cells in subdomains:
            if part_cells == 0:
                reading.breach(FindingKind.MESH_DIFFERS, "a subdomain has no cells", line)
    if step.program == "snappyHexMesh" and not any(MESHED.match(line.text) for line in step.lines):
        reading.lack("the log of snappyHexMesh has no closing line (Finished meshing)")


def _patches(reading: Reading, step: Step, patches: dict[str, int]) -> None:
    if not patches:
        return
    reading.evidence("patches", ",".join(sorted(patches)), step.lines[-1])
    empty = [name for name, faces in patches.items() if faces == 0 and not name.startswith("procBoundary")]
    for name in empty:
        if step.program != "blockMesh" and name != "defaultFaces":
            reading.note(f"The patch {name} has no faces in the mesh of {step.program}.")


def judge_meshes(reading: Reading, steps: list[Step]) -> None:
    """The subdomains have the cells of the mesh, and the solver runs on all of them."""
    cells, parts = reading.value("cells"), reading.value("cells_of_subdomains")
    order = [step.program for step in steps]
    decomposed = [place for place, name in enumerate(order) if name == "decomposePar"]
    if not decomposed:
        return
    before = [name for name in order[: decomposed[-1]] if name in MESHERS]
    later = [name for name in order[decomposed[-1] :] if name in MESHERS]
    if before and not later and isinstance(cells, int) and isinstance(parts, int) and cells != parts:
        reading.breach(
            FindingKind.MESH_DIFFERS,
            f"the mesh has {cells} cells, its subdomains together {parts}",
            steps[decomposed[-1]].start,
        )
    subdomains = reading.value("subdomains")
    for step in steps[decomposed[-1] + 1 :]:
        if step.parallel and isinstance(subdomains, int) and step.ranks != subdomains:
            reading.breach(
                FindingKind.RANKS_DIFFER,
                f"{step.program} runs on {step.ranks} ranks, the mesh is decomposed for {subdomains}",
                step.ranks_line,
            )
