"""Memory modules and their errors, from a frame."""

from seatrial.model.memory import MemoryFacts
from seatrial.node.dimms import CONTROLLERS, dmi_dimms, edac_controllers, edac_dimms
from seatrial.node.frame import NO_ANSWER, Frame, answer, why_no_answer

DMIDECODE = "dmidecode -t 17"


def read_memory(frame: Frame) -> tuple[MemoryFacts, dict[str, str]]:
    """The memory of a frame. Second: name of a fact, with the group in front of it -> why it is not known.

    dmidecode tells more, the speeds and the empty slots, but asks for root; EDAC asks for a driver of the controller.
    """
    absent: dict[str, str] = {}
    dimms, source = dmi_dimms(answer(frame, DMIDECODE)), "dmidecode"
    if not dimms:
        dimms, source = edac_dimms(frame), "EDAC"
    if not dimms:
        source = ""
        absent["memory.dimms"] = f"{_why_no_dmi(frame)}; EDAC: no memory controller in {CONTROLLERS}*"
    counts = {
        field: _sum(frame, file)
        for field, file in (("corrected_errors", "ce_count"), ("uncorrected_errors", "ue_count"))
    }
    absent.update(
        {f"memory.{field}": "EDAC: no controller tells them all" for field, count in counts.items() if count is None}
    )
    return MemoryFacts(dimms=dimms, source=source, **counts), absent


def _why_no_dmi(frame: Frame) -> str:
    """dmidecode says nothing of the reason on its standard output; without root it cannot open the tables."""
    output = frame.commands.get(DMIDECODE)
    if output is None or output.status == NO_ANSWER:
        return why_no_answer(frame, DMIDECODE)
    return f"{DMIDECODE}: exit status {output.status} and no memory device: it needs root, and a firmware with DMI"


def _sum(frame: Frame, file: str) -> int | None:
    """Over all controllers; None where there is none, or one of them does not tell."""
    counts = [frame.integer(f"{CONTROLLERS}{controller}/{file}") for controller in edac_controllers(frame)]
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None
