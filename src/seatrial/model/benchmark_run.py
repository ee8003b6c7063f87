"""A benchmark to be run: what its plan is made from, the plan, and what each of its programs did."""

import msgspec


class BenchmarkRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan is made from: the nodes, what one of them has, and what the user asked for."""

    program: str
    """The main program, by its path or name."""
    nodes: int
    ranks_per_node: int
    memory_bytes: int = 0
    """Memory of the node that has least, shared by the nodes of one kernel; 0: unknown."""
    cache_bytes: int = 0
    """Last-level caches of a node together; 0: not known."""
    budget_s: float = 0.0
    """Time limit of all programs together; 0: none."""
    peak_flops_per_s: float = 0.0
    """Peak of one node; 0: unknown."""
    sharing: int = 1
    """Nodes that share the processors of one kernel."""
    largest_nodes: int = 0
    """Nodes of the largest point of its weak scaling series; 0: it is of none."""
    free_bytes: int = 0
    """Free space of the scratch folder."""
    parameters: dict[str, str] = {}
    """All that the benchmark declares, with their defaults."""
    case: dict[str, str] = {}
    """Files of the user's case by their path in it; the text of those below `system`, others empty."""

    @property
    def ranks(self) -> int:
        """The number of ranks on all nodes together."""
        return self.nodes * self.ranks_per_node


class BenchmarkStep(msgspec.Struct, frozen=True, kw_only=True):
    """One program of a run, in the order in which they are started."""

    name: str
    argv: tuple[str, ...]
    mpi: bool = True
    """Started on all ranks by the launcher; else once, on the first node."""
    single: bool = False
    """An MPI program that is started as one rank on the first node. Without the launcher it could not initialise MPI.
    """
    output: str = ""
    """The file in the scratch folder that has its results, as a pattern: the newest one; empty: standard output."""
    judged: bool = True
    """Whether its output is part of the benchmark's output."""


class BenchmarkPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The programs, the input files that are written for them, and the work that the output must show."""

    steps: tuple[BenchmarkStep, ...]
    files: dict[str, str] = {}
    """Path in the scratch folder -> text."""
    expected: dict[str, str] = {}
    """Name of evidence -> value."""
    largest_bytes: int = 0
    """Largest message that was requested; for outputs without a closing line."""
    inputs: str = ""
    """Hash of the user's case, names and contents; empty: there is none."""
    notes: tuple[str, ...] = ()
    """What was chosen, and from what."""


class StepResult(msgspec.Struct, frozen=True, kw_only=True):
    """One program that was started, and how it ended."""

    name: str
    argv: tuple[str, ...]
    """The words of the command, the launcher's own among them."""
    returncode: int
    """Negative: the signal that ended the launcher."""
    seconds: float
    timed_out: bool = False
    interrupted: bool = False
    output: str = ""
    errors: str = ""
    """The end of standard error."""
    judged: bool = True

    @property
    def ok(self) -> bool:
        """Whether it ended by itself, with success."""
        return self.returncode == 0 and not self.timed_out and not self.interrupted
