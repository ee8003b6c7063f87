"""Settings that can be changed and restored while a node works: where they are, and for whom a change takes effect.

A setting is one or more files that the kernel provides (their content is the setting), or the environment of a job.
What is not in the table is never changed.
"""

import enum
import re
from collections.abc import Mapping, Sequence

import msgspec

from seatrial.drift.comparison import Value
from seatrial.judgement.comparison import quota
from seatrial.judgement.comparison.job_settings import MCA, job_variable
from seatrial.judgement.comparison.records import ChangedFact, FileSetting, Suspect
from seatrial.model.facts import NodeFacts
from seatrial.node.mpi import is_variable


class Scope(enum.StrEnum):
    """The nodes on which a setting must be changed to show its effect."""

    NODE = "node"
    ALL = "all"
    """Both ends of a message: every node on which it changed."""
    JOB = "job"
    """A setting of one job's environment; no node is changed, and no privilege is needed."""


class Reversible(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of setting."""

    pattern: str
    """Pattern of the dotted name of the fact; its group names the setting in `paths`."""
    scope: Scope
    paths: tuple[str, ...] = ()
    """Files in which kernels keep it; the first that exists counts."""
    per_processor: bool = False
    """`paths` have a number, one file for each processor."""


SOFTWARE = "software.mpi_settings."
REVERSIBLE = (
    Reversible(pattern=r"interfaces\.([\w-]+)\.mtu_bytes", scope=Scope.ALL, paths=("/sys/class/net/{name}/mtu",)),
    Reversible(
        pattern=r"settings\.scheduler\.(\w+)",
        scope=Scope.NODE,
        paths=("/sys/kernel/debug/sched/{name}", "/proc/sys/kernel/sched_{name}"),
    ),
    Reversible(
        pattern=r"processor\.(governors)",
        scope=Scope.NODE,
        paths=("/sys/devices/system/cpu/cpu{number}/cpufreq/scaling_governor",),
        per_processor=True,
    ),
    Reversible(
        pattern=r"settings\.(transparent_huge_pages)",
        scope=Scope.NODE,
        paths=("/sys/kernel/mm/transparent_hugepage/enabled",),
    ),
    Reversible(
        pattern=r"settings\.sysctls\.(net\.[\w.-]+|vm\.(?:swappiness|zone_reclaim_mode|dirty_\w+)"
        r"|kernel\.(?:numa_balancing|sched_\w+|watchdog|nmi_watchdog))",
        scope=Scope.NODE,
        paths=("/proc/sys/{name}",),
    ),
    Reversible(pattern=quota.FACT, scope=Scope.NODE),
    Reversible(pattern=rf"{re.escape(SOFTWARE)}([\w.-]+)", scope=Scope.JOB),
)
"""The settings that can be taken back; only sysctls whose change harms nothing: not reserved memory, not what the
kernel starts."""
EQUAL_PROCESSORS = re.compile(r"(\S+) × (\d{1,9})")
"""How facts show a value that all processors have."""
MPI_FILES = f"{MCA}mca_base_param_files"
"""Names the files that Open MPI reads in place of the system's and the user's."""
NO_FILE = "/dev/null"


class Reversal(msgspec.Struct, frozen=True, kw_only=True):
    """How a suspect is taken back."""

    facts: tuple[ChangedFact, ...]
    """The facts of the suspect that are taken back."""
    nodes: tuple[str, ...]
    """The nodes on which they are; all nodes of the job if only its environment changes."""
    files: tuple[FileSetting, ...] = ()
    environment: dict[str, str] = {}
    """The environment of the job, with the values before the change."""


def reversal_of(
    suspect: Suspect, before: Mapping[str, NodeFacts], after: Mapping[str, NodeFacts], slowest: str
) -> Reversal | str:
    """What takes a suspect back, or why that is not possible. `slowest`: the node to change, where one is enough."""
    kind_of = {
        each.fact: kind for each in suspect.facts for kind in REVERSIBLE if re.fullmatch(kind.pattern, each.fact)
    }
    if not kind_of:
        return f"{suspect.facts[0].fact} cannot be changed and restored while the node works"
    of_job = [each for each in suspect.facts if each.fact in kind_of and kind_of[each.fact].scope is Scope.JOB]
    of_node = [each for each in suspect.facts if each.fact in kind_of and each not in of_job]
    node = _chosen(suspect, slowest)
    settings_of = {each: _file_setting(each, kind_of[each.fact], before.get(node), after.get(node)) for each in of_node}
    files = {each: setting for each, setting in settings_of.items() if isinstance(setting, FileSetting)}
    if not files and not of_job:
        return next(setting for setting in settings_of.values() if isinstance(setting, str))
    everywhere = any(kind_of[each.fact].scope is Scope.ALL for each in files)
    nodes = suspect.nodes if everywhere or of_job else (node,)
    environment = _environment(of_job, before[nodes[0]].software.mpi_settings) if of_job else {}
    if isinstance(environment, str):
        return environment
    return Reversal(
        facts=(*files, *of_job),
        nodes=nodes,
        files=tuple(files.values()),
        environment=environment,
    )


def _environment(changes: Sequence[ChangedFact], settings: Mapping[str, str]) -> dict[str, str] | str:
    """The environment of a job with the values before the changes, or why there is none.

    `settings`: all those before the change. Where a parameter of Open MPI was added, the job reads no file of
    parameters, and gets all earlier ones by its environment.
    """
    wanted = {changed.fact.removeprefix(SOFTWARE): changed.before for changed in changes}
    environment: dict[str, str] = {}
    if any(value is None and not is_variable(name) for name, value in wanted.items()):
        wanted = {**{name: value for name, value in settings.items() if not is_variable(name)}, **wanted}
        environment[MPI_FILES] = NO_FILE
    for name, value in wanted.items():
        if value is None and is_variable(name):
            return f"the variable {name}, which the node sets, cannot be taken out of a job's environment"
        if value is None:
            continue
        variable = job_variable(name, value)
        if variable is None:
            return f"{name} is not one of the settings that are taken from recorded facts, since others load programs"
        environment[variable[0]] = variable[1]
    return environment


def _chosen(suspect: Suspect, slowest: str) -> str:
    return slowest if slowest in suspect.nodes else suspect.nodes[0]


def _file_setting(
    changed: ChangedFact, kind: Reversible, before: NodeFacts | None, after: NodeFacts | None
) -> FileSetting | str:
    """`before`, `after`: of the node to change. Why it is left alone, where a value is unknown or processors differ."""
    if kind.pattern == quota.FACT:
        return quota.quota_setting(changed, before, after)
    match = re.fullmatch(kind.pattern, changed.fact)
    present, earlier = _content(changed.after, kind), _content(changed.before, kind)
    if match is None or not present[0] or not earlier[0] or present[1] != earlier[1]:
        return f"the values of {changed.fact} cannot be written back"
    places = _places(kind, match[1], present[1])
    return FileSetting(fact=changed.fact, places=places, present=present[0], earlier=earlier[0])


def _places(kind: Reversible, name: str, files: int) -> tuple[tuple[str, ...], ...]:
    """Alternatives of where a setting of that name is, with that many files each."""
    name = name if "/proc/sys/{name}" not in kind.paths else name.replace(".", "/")
    return tuple(tuple(path.format(name=name, number=number) for number in range(files)) for path in kind.paths)


def is_reversible(fact: str, paths: Sequence[str]) -> bool:
    """Whether these files, and no others, are where a setting of the table is kept."""
    for kind in REVERSIBLE:
        match = re.fullmatch(kind.pattern, fact)
        if match and kind.pattern == quota.FACT:
            return len(paths) == 1 and quota.is_changeable(paths[0])
        if match:
            return tuple(paths) in _places(kind, match[1], len(paths) if kind.per_processor else 1)
    return False


def _content(value: Value, kind: Reversible) -> tuple[str, int]:
    """What the file has for the value of a fact, and how many files; an empty text where that is not known."""
    if value is None or isinstance(value, bool):
        return "", 0
    if not kind.per_processor:
        return str(value), 1
    match = EQUAL_PROCESSORS.fullmatch(str(value))
    return (match[1], int(match[2])) if match else ("", 0)
