"""The placement to advise, and the options for each launcher."""

import re
from collections.abc import Mapping, Sequence

import msgspec

from seatrial.launch.line_parser import Dialect, LaunchLine
from seatrial.model.facts import Core, NodeFacts
from seatrial.model.measurement import RankPlace
from seatrial.node.rank_places import cores_of, good_order, known_cores, usable_cores

RANKFILE = "rankfile.txt"
Groups = tuple[tuple[int, ...], ...]


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """Which processors each rank should have, by rank; and the options for launchers. Empty: it cannot be expressed."""

    cpus: Mapping[int, tuple[int, ...]]
    srun: tuple[str, ...] = ()
    hydra: tuple[str, ...] = ()
    intel: tuple[str, ...] = ()
    """Intel MPI's Hydra, which ignores the options of MPICH's."""
    rankfile: str = ""
    """Open MPI's, with hwloc's logical numbers of cores."""

    def options(self, line: LaunchLine, rankfile: str, mpi_library: str = "") -> tuple[str, ...]:
        """The options for the launcher of a line; `rankfile`: path of the rankfile. Empty: it cannot be said."""
        if line.dialect is Dialect.SRUN:
            return self.srun
        if line.dialect is Dialect.HYDRA:
            return self.intel if "Intel" in mpi_library else self.hydra
        if not self.rankfile:
            return ()
        number = ("-np", str(len(self.cpus))) if line.ranks is None else ()
        return (*number, *rankfile_options(rankfile, mpi_library))


def rankfile_options(path: str, mpi_library: str) -> tuple[str, ...]:
    """Open MPI 5 uses PRRTE's options."""
    version = re.search(r"Open MPI v?(\d{1,18})", mpi_library)
    if version and int(version[1]) >= 5:
        return "--map-by", f"rankfile:file={path}"
    return "--rankfile", path


def advise(
    facts: Mapping[str, NodeFacts],
    ranks: Mapping[str, tuple[RankPlace, ...]],
    cores_each: int | None = None,
    processors_each: int | None = None,
) -> Advice | None:
    """Near cores first, the wanted number for each rank; None where a node has too few cores.

    `cores_each`, `processors_each`: as the line asks; without them as many as each rank has now, where no two share
    any. If a node has fewer, its cores are shared equally.
    """
    cpus: dict[int, tuple[int, ...]] = {}
    orders: list[Groups] = []
    for node, there in ranks.items():
        known = facts.get(node)
        each, threads = wanted_each(known, there, cores_each, processors_each)
        order = good_order(known, there, each, threads=threads)
        if order is None or not all(rank.cpus for rank in there):
            return None
        cpus.update({rank.rank: group for rank, group in zip(there, order, strict=True)})
        orders.append(order)
    longest = max(orders, key=len, default=())
    alike = all(order == longest[: len(order)] for order in orders)
    return Advice(
        cpus=cpus,
        srun=srun_words(longest) if alike and longest else (),
        hydra=hydra_words(longest) if alike and longest else (),
        intel=intel_words(longest) if alike and longest else (),
        rankfile=rankfile_text(facts, ranks, cpus),
    )


def wanted_each(
    facts: NodeFacts | None, ranks: Sequence[RankPlace], cores_each: int | None, processors_each: int | None
) -> tuple[int, bool]:
    """How many cores each rank of a node should have, and whether with all of their threads."""
    width = max((len(core.processors) for core in known_cores(facts, ranks)), default=1)
    if cores_each:
        each, threads = cores_each, False
    elif processors_each:
        each, threads = -(-processors_each // width), processors_each > 1
    else:
        each, threads = present_each(facts, ranks)
    most = len(usable_cores(facts, ranks)) // max(len(ranks), 1)
    return max(min(each, most), 1), threads


def present_each(facts: NodeFacts | None, ranks: Sequence[RankPlace]) -> tuple[int, bool]:
    """The fewest cores that any of them has, and whether all have several threads of their cores.

    One core where somebody shares one with another, or has the whole node.
    """
    cores = known_cores(facts, ranks)
    masks = [cores_of(cores, rank.cpus) for rank in ranks]
    apart = sum(map(len, masks)) == len(frozenset().union(*masks))
    if not masks or not apart or (len(masks) == 1 and len(masks[0]) == len(cores)):
        return 1, False
    threads = all(len(rank.cpus) > len(mask) for rank, mask in zip(ranks, masks, strict=True))
    return max(min(map(len, masks)), 1), threads


def already(facts: Mapping[str, NodeFacts], ranks: Mapping[str, tuple[RankPlace, ...]], advice: Advice) -> bool:
    """Whether every rank has the advised cores now, even if with other threads of them."""
    for node, there in ranks.items():
        cores = known_cores(facts.get(node), there)
        if any(cores_of(cores, rank.cpus) != cores_of(cores, advice.cpus[rank.rank]) for rank in there):
            return False
    return True


def srun_words(order: Groups) -> tuple[str, ...]:
    """map_cpu for one processor a rank, mask_cpu for several; processors by the kernel's numbers."""
    if all(len(group) == 1 for group in order):
        return (f"--cpu-bind=map_cpu:{','.join(str(group[0]) for group in order)}",)
    return (f"--cpu-bind=mask_cpu:{_masks(order)}",)


def hydra_words(order: Groups) -> tuple[str, ...]:
    """Processors by the kernel's numbers; those of one rank joined by +."""
    return "-bind-to", f"user:{','.join('+'.join(map(str, group)) for group in order)}"


def intel_words(order: Groups) -> tuple[str, ...]:
    """Processors by the kernel's numbers, as masks that must begin with 0x (tried with 2021.18)."""
    return "-genv", "I_MPI_PIN", "1", "-genv", "I_MPI_PIN_DOMAIN", f"[{_masks(order)}]"


def _masks(order: Groups) -> str:
    return ",".join(f"{sum(1 << cpu for cpu in group):#x}" for group in order)


def rankfile_text(
    facts: Mapping[str, NodeFacts], ranks: Mapping[str, tuple[RankPlace, ...]], cpus: Mapping[int, tuple[int, ...]]
) -> str:
    """`rank 0=n1 slot=3` for each rank: cores by hwloc's logical numbers, which is how Open MPI counts them.

    Where a job has a part of the node, Open MPI sees and counts that part alone.
    """
    lines: dict[int, str] = {}
    for node, there in ranks.items():
        known = known_cores(facts.get(node), there)
        cores = logical_order(facts.get(node), [known[place] for place in usable_cores(facts.get(node), there)])
        for rank in there:
            slots = ",".join(map(str, sorted(cores_of(cores, cpus[rank.rank]))))
            lines[rank.rank] = f"rank {rank.rank}={rank.host or node} slot={slots}\n"
    return "".join(lines[rank] for rank in sorted(lines))


def logical_order(facts: NodeFacts | None, cores: Sequence[Core]) -> tuple[Core, ...]:
    """The cores as hwloc numbers them; if its order is unknown by their package, NUMA node and first processor."""
    told = {number: place for place, number in enumerate(facts.topology.order)} if facts else {}

    def least(of: str, core: Core) -> int:
        mine = getattr(core, of)
        return min(one.processors[0] for one in cores if getattr(one, of) == mine)

    if all(core.processors[0] in told for core in cores):
        return tuple(sorted(cores, key=lambda core: told[core.processors[0]]))
    return tuple(sorted(cores, key=lambda core: (least("package", core), least("numa_node", core), core.processors)))


def advised_line(line: LaunchLine, advice: Advice, program: Sequence[str], rankfile: str, mpi: str) -> list[str]:
    """The user's line with its own binding taken out and the advised one in; empty where it cannot be said."""
    options = advice.options(line, rankfile, mpi)
    return line.argv(program, add=options, bound=False) if options else []
