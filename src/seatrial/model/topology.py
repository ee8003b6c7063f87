"""Where processors, caches and memory lie in a node."""

import msgspec


class Core(msgspec.Struct, frozen=True, kw_only=True):
    """One physical core. `processors`: the logical processors (SMT siblings) on it, by the kernel's numbers, sorted."""

    processors: tuple[int, ...]
    package: int | None = None
    numa_node: int | None = None


class NumaNode(msgspec.Struct, frozen=True, kw_only=True):
    """One NUMA node; one without processors is memory alone (HBM, CXL)."""

    index: int
    processors: tuple[int, ...] = ()
    memory_bytes: int | None = None
    distances: tuple[int, ...] = ()
    """The kernel's relative distances (10: local) to the nodes of the topology, in their order."""


class Cache(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of cache: `count` of them, each `size_bytes` and shared by `shared_by` logical processors."""

    level: int
    kind: str
    """data, instruction or unified."""
    size_bytes: int | None
    shared_by: int | None
    count: int


class Topology(msgspec.Struct, frozen=True, kw_only=True):
    """All of it. `source`: "hwloc XML" or "sysfs"."""

    cores: tuple[Core, ...] = ()
    numa_nodes: tuple[NumaNode, ...] = ()
    caches: tuple[Cache, ...] = ()
    source: str = ""
    order: tuple[int, ...] = ()
    """The first processors of the cores as hwloc numbers these: of its core 0, its core 1, and so on."""

    @property
    def packages(self) -> tuple[int, ...]:
        """The distinct packages (sockets) that are known, sorted."""
        return tuple(sorted({core.package for core in self.cores if core.package is not None}))

    @property
    def processors(self) -> tuple[int, ...]:
        """All logical processors, sorted."""
        return tuple(sorted(number for core in self.cores for number in core.processors))

    def package_of(self, numa_node: int) -> int | None:
        """The package whose cores are on a NUMA node; None where none, or more than one, is."""
        found = {core.package for core in self.cores if core.numa_node == numa_node}
        return next(iter(found)) if len(found) == 1 else None
